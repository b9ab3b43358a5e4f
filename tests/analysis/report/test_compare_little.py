"""The comparing pages with little to compare, with nothing yet, or at an address that does not exist."""

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from html import unescape
from operator import attrgetter

import pytest
from django.urls import reverse
from django.utils import timezone

from analysis.answers.readings import read_new, read_new_texts
from analysis.models import Answer, Completion
from analysis.report.claims.enough import too_few
from analysis.report.dataset import FIELD
from analysis.report.pages.shown import PAGES
from analysis.report.parts import FIGURES
from surveys.models import Study
from surveys.studies.files.schema import Exclusion
from tests.analysis.report.asked_twice import Truth, make_asked_twice
from tests.analysis.report.compare_samples import address, heading, table
from tests.analysis.report.field_benchmark_world import make_sums_in_field
from tests.analysis.report.report_samples import NOTHING, listed, make_model_run, make_teas, reply, tell
from tests.analysis.runs.baseline_factories import make_call, make_run
from tests.factories import make_study
from tests.lasting import copied_world
from tests.surveys.console.console_pages import lines_of, log_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_draws")]


@copied_world
def teas() -> Study:
    return make_teas()


def test_overview_says_so_when_too_few_have_answered(teas: Study) -> None:
    client = log_in(teas, "viewer")
    assert heading(client.get(address())) == "Fewer than 20 people have answered a prompt: too few to compare."
    half = {"source": FIELD, "prompt": "teas", "n": 10, "units": 10}
    assert too_few([half | {"model": model} for model in ("chatgpt", "gemini")]) == (
        "No chatbot has answers of 20 people to a prompt: too few to compare."
    )


def test_a_page_about_other_prompts_than_people_answered_says_which(teas: Study) -> None:
    client = log_in(teas, "viewer")
    to_choices = heading(client.get(address("choices", "prompt=teas")))
    assert to_choices == "No answers of people to questions with options are counted: there is nothing to compare."
    for name in ("items", "heterogeneity"):
        to_lists = heading(client.get(address(name, "prompt=water")))
        assert (
            to_lists == "No answers of people to prompts for recommendations are counted: there is nothing to compare."
        )
    hidden = heading(client.get(address("heterogeneity", "source=offline")))
    assert hidden == "How varied are the answers of each source?"
    few = "Fewer than 20 people have answered a prompt: too few to compare."
    assert [heading(client.get(address("overview", f"prompt={slug}"))) for slug in ("teas", "water")] == [few, few]


def test_pages_about_people_say_that_their_answers_are_not_read_yet() -> None:
    study = make_study(places=20)
    client = log_in(study, "viewer")
    assert heading(client.get(address("sensitivity"))).startswith("No answers of people are counted")
    tell(study, ["Assam"], "C")
    for name in ("sensitivity", "precision", "explanations", "heterogeneity"):
        assert heading(client.get(address(name))) == "Nothing is compared yet: 2 texts still to be read."


def test_without_runs_the_page_says_what_comes_next() -> None:
    study = make_study(places=20)
    tell(study, ["Assam"], "C")
    read_new(study)
    researcher, viewer = log_in(study, "researcher"), log_in(study, "viewer", "bob")
    new_run = reverse("baselines:new-run", args=["teas"])
    assert "No baseline yet" in lines_of(researcher.get(address()))
    assert new_run in text_of(researcher.get(address()))
    for page in ("overview", "heterogeneity"):
        assert heading(viewer.get(address(page))) == "Fewer than 20 people have answered a prompt: too few to compare."
    assert new_run not in text_of(viewer.get(address()))


def test_without_answers_of_models_the_page_says_whether_they_are_to_come() -> None:
    run = make_run("offline", make_study(places=20), state="done")
    client = log_in(run.study, "viewer")
    make_call(run)
    assert "No answer of a model has come yet." in lines_of(client.get(address()))
    Completion.objects.filter(run=run).update(status="failed", done_at=timezone.now(), cost=Decimal("0.5"))
    assert "No answer of a model has come, and calls have failed." in lines_of(client.get(address()))
    assert heading(client.get(address("costs"))) == "No run has answered yet; calls that failed cost $0.50."


def test_beside_a_finished_run_stands_that_its_texts_are_being_read() -> None:
    run = make_run("offline", make_study(places=20))
    client = log_in(run.study, "viewer")
    Completion.objects.filter(pk=make_call(run).pk).update(status="done", done_at=timezone.now(), reply="1. Assam")
    before = lines_of(client.get(address()))
    assert "No baseline yet" not in before and "No runs yet" not in before
    assert "What the models answered is being read" in before and "1 text is not read yet" in before
    read_new_texts()
    after = lines_of(client.get(address()))
    assert "not read yet" not in after and "No baseline" not in after
    filtered = lines_of(client.get(address("overview", "source=field")))
    assert "No baseline yet" not in filtered and "None matches these filters" in filtered


def test_where_rules_leave_everybody_out_nobody_reads_that_nobody_has_completed() -> None:
    client = log_in(make_teas(exclusions=(Exclusion("fast", "Too fast.", minutes_under=200),)), "viewer")
    response = client.get(address())
    words = lines_of(response)
    assert "rules of exclusion leave all answers of people out" in words
    assert 'href="?excluded=with"' in text_of(response)
    assert "Nobody has completed" not in words and "of people yet" not in words
    response = client.get(address("pair", "compare=field&compare=offline/gpt-4o-mini"))
    assert "compare=field&amp;compare=offline%2Fgpt-4o-mini&amp;excluded=with" in text_of(response)
    pair = lines_of(response)
    assert "rules of exclusion leave all answers of people out" in pair and "None matches" not in pair
    for page in filter(attrgetter("of_people"), PAGES.values()):
        said = heading(client.get(address(page.name)))
        assert said == "The study’s rules of exclusion leave all answers of people out.", page.name


@pytest.mark.parametrize(
    ("make", "name"),
    [(partial(make_asked_twice, Truth(people=8, calls=10)), "person-or-dice"), (make_sums_in_field, "field-benchmark")],
)
def test_where_rules_leave_everybody_out_nobody_reads_that_nobody_was_asked(
    make: Callable[..., Study], name: str
) -> None:
    study = make(slug="teas", exclusions=(Exclusion("fast", "Too fast.", minutes_under=200),))
    page = log_in(study, "viewer").get(address(name))
    assert heading(page) == "The study’s rules of exclusion leave all answers of people out."


def test_figures_without_anything_found_do_not_say_that_an_answer_is_still_to_come() -> None:
    study = make_study(places=20)
    tell(study, [], "")
    run = make_model_run(study)
    for prompt in ("teas", "water"):
        reply(run, prompt, NOTHING)
    read_new(study)
    client = log_in(study, "viewer")
    for name in ("far", "distances", "calibration", "precision"):
        drawn = client.get(address("figure-part", "", name)).content.decode()
        assert 'class="soft"' in drawn and " yet" not in drawn, name


def test_a_study_without_any_answer_has_every_page() -> None:
    client = log_in(make_study(), "viewer")
    for name in PAGES:
        response = client.get(address(name))
        assert (name, response.status_code) == (name, 200)
        assert "None has come yet" in lines_of(response)
    for name in FIGURES:
        drawn = client.get(address("figure-part", "", name)).content
        # A sentence replaces empty axes.
        assert b"<figure" in drawn and b"<svg" not in drawn and b'<p class="soft">' in drawn, name


def test_a_study_without_definition_says_so() -> None:
    study = Study.objects.create(slug="teas", title="Teas")
    response = log_in(study, "owner").get(address())
    assert response.status_code == 200
    assert "no definition yet" in lines_of(response)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("prompt=tees", "Did you mean teas?"),
        ("values=cooked", "values is one of rarefied, raw"),
        ("measure=weight", "measure is one of"),
        ("prompt=%00", "prompt"),
    ],
)
def test_a_filter_that_means_nothing_is_answered_with_a_sentence(query: str, sentence: str) -> None:
    response = log_in(make_study("draft"), "viewer").get(address("heterogeneity", query))
    assert response.status_code == 400
    assert sentence in unescape(lines_of(response))


@pytest.mark.parametrize("query", ["scheme=neon", "prompt=tees"])
def test_a_figure_for_a_wrong_address_is_a_sentence(query: str) -> None:
    client = log_in(make_study("draft"), "viewer")
    assert client.get(address("figure", query, "choices", "svg")).status_code == 400


def test_unknown_figures_and_pages_are_not_there() -> None:
    client = log_in(make_study("draft"), "viewer")
    for path in ("figures/nothing.svg", "figures/items.exe", "nothing/", "overview/"):
        assert client.get(f"{address()}{path}").status_code == 404


ENOUGH = ("too few to compare", "too few to tell", "No answers of people")
DIFFERENCE = ("sure; from", "is sure", "points apart", "Also sure", "No finding yet", "No score surely moves")


@pytest.mark.parametrize("people", [0, 1, 3, 12])
def test_of_too_few_people_a_page_says_so_and_nothing_else(people: int) -> None:
    """The page says neither that something differs nor that nothing does, and shows no p."""
    study = make_study(places=20)
    for _ in range(people):
        tell(study, ["Assam"], "A")
    run = make_model_run(study)
    for repeat in range(people + 1):
        reply(run, "teas", listed(["Sencha"]), repeat)
        reply(run, "water", "C", repeat)
    read_new(study)
    client = log_in(study, "viewer")
    for name in ("overview", "heterogeneity", "items", "choices"):
        words = lines_of(client.get(address(name)))
        assert sum(sentence in words for sentence in ENOUGH) == 1, (name, words[:600])
        assert [sentence for sentence in DIFFERENCE if sentence in words] == [], name
    for name in ("against", "choices-against"):
        page = "heterogeneity" if name == "against" else "choices"
        assert all(row[-1].split()[0] == "–" for row in table(client.get(address(page)), name))


def test_pages_say_how_many_answers_wait_and_lead_to_them(teas: Study) -> None:
    study = teas
    Answer.objects.filter(response__isnull=False).update(doubt="short")
    Answer.objects.filter(response=None).update(doubt="")
    client = log_in(study, "viewer")
    for name in PAGES:
        response = client.get(address(name))
        assert "8 answers wait to be checked" in lines_of(response), name
        assert reverse("answers:review", args=["teas"]) in text_of(response)


def test_unread_answers_are_not_compared() -> None:
    """Nothing was found in what thirty people pasted: 0 % right, or 100 %, against 83 %."""
    study = make_study(places=40)
    for _ in range(30):
        tell(study, [], "")
    run = make_model_run(study)
    for repeat in range(30):
        reply(run, "teas", listed(["Sencha"]), repeat)
        reply(run, "water", "C" if repeat % 6 else "A", repeat)
    read_new(study)
    client = log_in(study, "viewer")
    response = client.get(address("choices"))
    assert heading(response) == "Nothing is compared: in too many answers nothing was found."
    assert "held back" in lines_of(response)
    assert [row[4].split()[0] for row in table(response, "choices-against")] == ["–"]
    assert "Held back: in 30 of 60 answers nothing was found." in lines_of(response)
