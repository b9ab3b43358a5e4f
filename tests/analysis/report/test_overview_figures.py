"""The first screen of Compare: its sentence, its figures, and which two answers are side by side."""

import pytest
from django.test import Client

from analysis.answers.readings import read_new
from analysis.charts.figure import Options
from analysis.charts.rows import line_up, names_in
from analysis.report.overview import DISTANCE_FIGURE, OVERVIEW_FIGURES
from surveys.models import Study
from surveys.studies.wording import FIXED, THIN
from tests.analysis.report.compare_samples import address, heading, links
from tests.analysis.report.figure_rows import make_report
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell
from tests.factories import make_study
from tests.lasting import copied_world
from tests.surveys.console.console_pages import lines_of, log_in, text_of

NAMES = {"chatbots": {"chatgpt": "ChatGPT", "gemini": "Gemini"}}


def spaced(words: str) -> str:
    return words.replace(FIXED, " ").replace(THIN, " ")


def test_the_large_figure_has_each_source_of_each_chatbot_with_interval_and_chance() -> None:
    report = make_report() | NAMES
    made = DISTANCE_FIGURE.draw(report, Options(names=names_in(report)))
    assert len(made.table) == len(report["calibration"])
    marks = made.spec["datasets"]["rows"]
    assert {mark["model"] for mark in marks} == {"ChatGPT · gpt-4o-mini", "Gemini · gemini-2.0-flash"}
    excess = [row["jsd_excess"] for row in report["calibration"]]
    assert sorted(mark["value"] for mark in marks) == sorted(excess)
    assert all(mark["low"] < mark["value"] < mark["high"] for mark in marks)
    # The names include history sizes.
    assert {mark["row"] for mark in marks} >= {"Offline", "SP-Profile", "SP-History, 100 conversations"}


def test_the_field_stands_beside_each_model_that_its_chatbot_is_compared_with() -> None:
    groups = [{"chatbot": "chatgpt", "models": ["mini", "large"]}, {"chatbot": None, "models": ["other"]}]
    rows = [("field", "chatgpt"), ("field", "all"), ("field", "gemini"), ("offline", "mini")]
    found = line_up({"groups": groups}, [{"source": source, "model": model} for source, model in rows])
    assert [(row["source"], row["model"]) for row in found] == [
        *(("field", model) for model in ("mini", "large", "other", "gemini")),
        ("offline", "mini"),
    ]


def test_a_source_without_a_distance_is_left_out_by_name() -> None:
    report = make_report() | NAMES
    row = next(row for row in report["calibration"] if row["source"] == "sp-profile")
    row |= {"jsd_excess": None, "ci": None, "why": "none", "units": 3}
    row |= {"unit": "simulated user"}
    made = DISTANCE_FIGURE.draw(report, Options())
    assert len(made.spec["datasets"]["rows"]) == len(report["calibration"]) - 1
    assert "Left out without a common prompt: SP-Profile with 3 simulated users." in made.own


@pytest.mark.parametrize("name", [name for name in OVERVIEW_FIGURES if name != DISTANCE_FIGURE.name])
def test_small_figures_are_as_wide_on_a_page_as_on_a_phone(name: str) -> None:
    wide, narrow = (OVERVIEW_FIGURES[name].draw(make_report(), Options(narrow=narrow)) for narrow in (False, True))
    assert wide.spec == narrow.spec and wide.table and wide.alt


# --- on the page


@copied_world
def study() -> Study:
    """Twenty people, ten of whom get Assam, and twenty calls that all name it."""
    study: Study = make_study(places=40)
    for number in range(20):
        tell(study, ["Assam", "Sencha"] if number % 2 else ["Sencha", f"Tea {number}"], "C")
    run = make_model_run(study)
    for repeat in range(20):
        reply(run, "teas", listed(["Assam", "Sencha" if repeat else "Oolong"]), repeat)
        reply(run, "water", "C", repeat)
    read_new(study)
    return study


@pytest.fixture
def client(study: Study, few_draws: None) -> Client:
    return log_in(study, "viewer")


@pytest.mark.django_db
def test_compare_opens_with_the_answer_its_figures_and_two_typical_answers(client: Client) -> None:
    response = client.get(address())
    assert spaced(heading(response)) == (
        "Asked for teas, the API names Assam in 100 % of answers. Of ChatGPT’s users, 50 % get it."
    )
    page = text_of(response)
    order = [page.index(part) for part in ('id="filters"', 'id="figure-far"', "How varied are", "Two answers to")]
    assert order == sorted(order) and order[-1] < page.index("Findings:")
    # Calls that name Assam and Sencha have most in common with all others; the one with Oolong has less.
    sides = response.context["pair"]["sides"]
    assert [side["source"] for side in sides] == ["field", "offline"]
    assert [side["text"].names for side in sides] == [["Assam", "Sencha"], ["Assam", "Sencha"]]
    assert page.count("<mark>Assam</mark>") == 2
    assert links(response, "item=assam")  # the finding's; n leads to everybody it counts


@pytest.mark.django_db
def test_figures_of_the_first_screen_come_with_their_sentence(client: Client) -> None:
    for name, drawn in OVERVIEW_FIGURES.items():
        part = client.get(address("figure-part", "", name))
        assert (name, part.status_code) == (name, 200)
        assert client.get(address("figure", "width=85", name, "svg")).content[:4] == b"<svg"
        assert drawn.question
    assert client.get(address("figure", "width=90", "varied", "svg")).status_code == 400
    assert "SP-" not in lines_of(client.get(address("figure-part", "", "far")))
