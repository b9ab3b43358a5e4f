"""The plan frozen at the launch stays as it was, and is shown beside today's if something has changed."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.models import MetricValue
from analysis.plans import kept, seen
from analysis.plans.beside import beside_frozen, compare
from analysis.plans.kept import NAME, find_frozen, find_plan, keep_plan
from analysis.plans.registries import page_data
from analysis.plans.simulating import Setting
from surveys.models import Study
from surveys.participation import recruitment
from surveys.studies import lifecycle
from surveys.studies.files.hypotheses import Hypothesis
from tests.analysis.report.report_samples import make_teas
from tests.factories import State, definition_of, make_definition, make_participant, make_study
from tests.surveys.console.console_pages import log_in

ASSAM = Hypothesis(
    "assam", "Assam more often.", "item_share", "field/gemini", "more", "field/chatgpt", 0.1, ("teas",), item="assam"
)
DEFINITION = replace(make_definition(50), hypotheses=(ASSAM,))


def simulate(study: Study, monkeypatch: pytest.MonkeyPatch, replicates: int = 20) -> None:
    """Simulate and keep the plan for the number of places in the file."""
    monkeypatch.setattr(kept, "Setting", lambda: Setting((definition_of(study).planned_people,), replicates))
    keep_plan(study)


def change_analysis(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "plan_version", lambda: version)


def launch(study: Study) -> Study:
    lifecycle.launch(study, "tests")
    return Study.objects.select_related("current").get(pk=study.pk)


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    change_analysis("11111111aaaa", monkeypatch)
    study = make_study("draft", DEFINITION)
    simulate(study, monkeypatch)
    return launch(study)


@pytest.mark.django_db
def test_a_frozen_plan_says_that_the_analysis_has_changed(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    before = find_plan(study)
    client = log_in(study, "researcher")
    address, button = reverse("plans:plan", args=[study.slug]), reverse("plans:simulate", args=[study.slug])
    assert "Frozen beside" not in client.get(address).content.decode()
    change_analysis("22222222bbbb", monkeypatch)
    page = client.get(address).content.decode()
    assert "for version 1 by analysis 11111111, frozen at the launch on " in page and button in page
    assert "; since it was simulated, the analysis has changed to 22222222; today’s numbers are not simulated " in page
    simulate(study, monkeypatch, 40)
    page = client.get(address).content.decode()
    assert "today’s numbers were simulated on " in page and button not in page
    assert "Frozen: 200 people, 20 studies; today: 200 people, 40 studies for each number." in page
    beside = beside_frozen(study, find_plan(study), study.launched_at)
    assert beside is not None and [row["scenario"] for row in beside["rows"]] == ["hopeful", "middle", "cautious"]
    for row, old in zip(beside["rows"], before["rows"] if before else (), strict=True):
        assert row["frozen"] == old and row["today"]["width"] != old["width"]
        assert row["wider"] == pytest.approx(row["today"]["width"] - old["width"])
        assert row["wider_ci"][0] < row["wider"] < row["wider_ci"][1] and row["more_ci"][0] < row["more_ci"][1]
    change_analysis("33333333cccc", monkeypatch)
    simulate(study, monkeypatch)
    row = find_frozen(study)
    assert row is not None and row.value == before and MetricValue.objects.filter(study=study, name=NAME).count() == 2


@pytest.mark.django_db
def test_registration_and_command_have_the_frozen_numbers(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = page_data(study, find_plan(study))
    change_analysis("22222222bbbb", monkeypatch)
    simulate(study, monkeypatch, 40)
    assert page_data(study, find_plan(study)) == paper and " by analysis 11111111. With 200 " in str(paper)
    given, out, told = ["plan", study.slug, "--people", "200", "--replicates", "20"], StringIO(), StringIO()
    call_command(*given, "--json", stdout=out)
    found = json.loads(out.getvalue())["frozen"]
    assert "has changed to 22222222" in found["why"] and [row["wider"] for row in found["rows"]] == [0, 0, 0]
    call_command(*given, stdout=told)
    assert "assam, middle: ± " in told.getvalue() and "difference +0.0 (" in told.getvalue()


@pytest.mark.django_db
def test_an_amendment_is_said_to_be_one(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    more = replace(make_definition(100), hypotheses=(ASSAM, replace(ASSAM, slug="again", text="Again.")))
    study, _ = lifecycle.load_definition(more, "tests", "more people")
    beside = beside_frozen(study, find_plan(study), None)
    assert beside is not None and "since it was simulated, the study was amended to version 2 on " in beside["why"]
    assert "analysis has changed" not in beside["why"]
    simulate(study, monkeypatch)
    beside = beside_frozen(study, find_plan(study), None)
    assert beside is not None and [plan["planned"] for plan in beside["simulated"]] == [200, 400]
    first, last = beside["rows"][0], beside["rows"][-1]
    assert (first["frozen"]["people"], first["today"]["people"]) == (200, 400) and first["wider_ci"][1] < 0
    assert (last["hypothesis"], last["frozen"], last["more"]) == ("again", None, None)


@pytest.mark.django_db
def test_a_draft_that_changed_before_the_launch_is_not_said_to_have_changed_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = make_study("draft", DEFINITION)
    simulate(study, monkeypatch)
    lifecycle.load_definition(replace(make_definition(100), hypotheses=(ASSAM,)), "tests")
    beside = beside_frozen(launch(study), None, None)
    assert beside is not None and "; since it was simulated, the study became version 2 on " in beside["why"]


@pytest.mark.django_db
def test_a_registration_has_nothing_that_was_simulated_after_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    study = launch(make_study("draft", DEFINITION))
    simulate(study, monkeypatch)
    found = find_plan(study)
    paper = page_data(study, found)
    assert found and paper["simulated"] is None and "Simulated" not in str(paper["sections"])
    client = log_in(study, "viewer")
    page = client.get(reverse("plans:plan", args=[study.slug])).content.decode()
    assert "the PDF has only what was simulated before the launch" in page


@pytest.mark.django_db
def test_a_plan_goes_with_the_pilot_on_which_it_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "FEWEST", 3)
    study = make_teas(definition=DEFINITION)
    study.participants.update(pilot=True)
    simulate(study, monkeypatch)
    plan = find_plan(study)
    assert plan is not None and plan["main"] == "as in the pilot"
    recruitment.withdraw(make_participant(study, State.COMPLETED))
    assert find_plan(study) == plan  # somebody outside the pilot takes nothing away from it
    recruitment.withdraw(study.participants.earliest("pk"))
    assert not MetricValue.objects.filter(study=study, name=NAME).exists()


@pytest.mark.django_db
def test_a_plan_without_pilot_rests_on_nobody(study: Study) -> None:
    for pilot in (False, True):
        make_participant(study, State.COMPLETED)
        study.participants.update(pilot=pilot)
        beside = beside_frozen(study, None, None)
        assert (beside is not None and "the pilot has changed; today’s" in beside["why"]) == pilot
        recruitment.withdraw(study.participants.get())
    row = find_frozen(study)
    assert row is not None
    MetricValue.objects.filter(pk=row.pk).update(value={"rows": []})  # from an earlier version, which did not say
    recruitment.withdraw(make_participant(study, State.COMPLETED))
    assert find_frozen(study) is None


@pytest.mark.django_db
def test_a_launch_meanwhile_freezes_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study("draft", DEFINITION)
    simulate(study, monkeypatch)
    before = find_plan(study)
    change_analysis("22222222bbbb", monkeypatch)

    def simulated(*place: Any, **more: Any) -> Any:
        launch(study)
        return {"rows": []}

    monkeypatch.setattr(kept, "plan_study", simulated)
    keep_plan(study)
    row = find_frozen(Study.objects.get(pk=study.pk))
    assert row is not None and row.value == before


def test_what_has_no_width_has_no_difference_of_widths() -> None:
    row = {"width": None, "width_error": None, "supported": 0.0, "supported_ci": [0.0, 0.16]}
    found = compare(("assam", "item_share", "middle"), row, row)
    assert (found["wider"], found["wider_ci"], found["more"]) == (None, None, 0)
    assert found["more_ci"][0] < 0 < found["more_ci"][1]
