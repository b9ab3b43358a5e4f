"""The comparing pages where there is little to compare, nothing yet, or nothing under the address."""

from functools import partial
from html import unescape

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.answers.tasks import read_new_texts
from analysis.models import Completion
from analysis.report.pages import shown
from analysis.report.pages.shown import PAGES
from analysis.report.parts import FIGURES
from analysis.report.reports import views_for
from surveys.models import Participant, Study
from tests.analysis.report.compare_samples import FEW, address, heading
from tests.analysis.report.report_samples import make_teas, tell
from tests.analysis.runs.baseline_factories import make_call, make_run
from tests.factories import make_study
from tests.surveys.console.console_pages import lines_of, log_in, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "views_for", partial(views_for, draws=FEW))
    cache.clear()


def test_overview_says_so_when_nothing_is_sure() -> None:
    client = log_in(make_teas(), "viewer")
    assert heading(client.get(address())) == "No difference between the field and the models is significant yet."


def test_simulated_people_are_named_on_the_page() -> None:
    study = make_teas()
    client = log_in(study, "viewer")
    assert "Simulated, not real" not in lines_of(client.get(address("choices")))
    Participant.objects.filter(study=study).update(origin="simulated")
    assert "Simulated, not real: 4 of 4 people" in lines_of(client.get(address("choices")))


def test_without_runs_the_page_says_what_comes_next() -> None:
    study = make_study(places=20)
    tell(study, ["Assam"], "C")
    read_new(study)
    researcher, viewer = log_in(study, "researcher"), log_in(study, "viewer", "bob")
    new_run = reverse("baselines:new-run", args=["teas"])
    assert "No baseline yet" in lines_of(researcher.get(address()))
    assert new_run in text_of(researcher.get(address()))
    assert new_run not in text_of(viewer.get(address()))


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


def test_a_study_without_any_answer_has_every_page() -> None:
    client = log_in(make_study(), "viewer")
    for name in PAGES:
        response = client.get(address(name))
        assert (name, response.status_code) == (name, 200)
        assert "No answers of people yet" in lines_of(response)
    for name in FIGURES:
        drawn = client.get(address("figure-part", "", name)).content
        # Instead of empty axes there is a sentence.
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
        ("promt=teas", "promt is not a filter"),
        ("flagged=perhaps", "flagged is one of with, without"),
        ("values=cooked", "values is one of rarefied, raw"),
        ("measure=weight", "measure is one of"),
        ("version=one", "version takes whole numbers"),
        ("prompt=%00", "prompt"),
        ("answer=x", "answer"),
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
