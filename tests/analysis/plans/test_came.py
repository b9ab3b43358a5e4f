"""Assumptions beside what came: what a pilot says about each, and that the page marks what the pilot leaves out."""

from dataclasses import replace

import pytest
from django.urls import reverse

from analysis.answers.readings import read_new
from analysis.answers.reviews import decide
from analysis.models import Answer
from analysis.plans.beside import NAMES, came, came_on_page, find_came, width_beside
from analysis.plans.kept import find_kept, keep_plan
from analysis.plans.simulating import Setting, plan_study
from surveys.models import Participant, Study
from surveys.studies.files.hypotheses import Hypothesis
from tests.analysis.report.report_samples import make_teas, tell
from tests.factories import make_definition
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import log_in

ASSAM = Hypothesis(
    "assam", "Assam more often.", "item_share", "field/chatgpt", "more", "field/gemini", 0.1, ("teas",), item="assam"
)
VARIED = Hypothesis("varied", "Less varied.", "entropy_bits", "field/chatgpt", "less", "field/gemini", 0.3, ("teas",))


def make_pilot() -> Study:
    """A pilot in which nine in ten people with Gemini name Assam; those with ChatGPT are the four of `make_teas`."""
    study = make_teas(definition=replace(make_definition(60), hypotheses=(ASSAM, VARIED)))
    for number in range(30):
        tell(study, ["Assam", "Sencha"] if number % 10 else ["Oolong"], chatbot="gemini")
    read_new(study)
    Participant.objects.filter(study=study).update(pilot=True)
    return study


world = lasting_world(make_pilot)


@pytest.fixture
def study(world: int, db: None) -> Study:
    return Study.objects.select_related("current").get(pk=world)


def test_what_came_stands_beside_what_was_assumed(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_came(study)
    assert (found["people"], found["pilot"]) == (34, True)
    rows = {row["what"]: row for row in found["rows"]}
    people = rows["People who count: Gemini in the field"]
    assert (people["value"], people["n"], people["assumed"]["middle"]) == (pytest.approx(30 / 34), 34, 0.5)
    assert people["excluded"] == ["hopeful", "middle", "cautious"]
    named = rows["Answers with assam: Gemini in the field, teas"]
    assert named["value"] == pytest.approx(27 / 30) and named["assumed"]["middle"] == pytest.approx(0.38 * 0.94)
    assert named["ci"][0] < 0.9 < named["ci"][1] and "middle" in named["excluded"]
    unusable = rows["Answers in which nothing is found: Gemini in the field, teas"]
    assert unusable["value"] == 0 and "hopeful" not in unusable["excluded"]
    gap = rows["a minus b: Assam more often."]
    assert gap["value"] == pytest.approx(3 / 4 - 27 / 30) and gap["n"] == 4
    assert rows["Popularity falls with: Gemini in the field, teas"]["assumed"]["cautious"] == 0.7
    client = log_in(study, "researcher")
    address, planned = reverse("plans:plan", args=[study.slug]), "The scenario “as in the pilot” is planned from what"
    page = client.get(address).content.decode()
    assert "Assumed beside came" in page and ", excluded" in page
    assert page.count(reverse("plans:simulate", args=[study.slug])) == 1 and planned not in page
    monkeypatch.setattr("analysis.plans.kept.Setting", lambda: Setting((100,), 20))
    keep_plan(study)
    page = client.get(address).content.decode()
    assert planned in page and reverse("plans:simulate", args=[study.slug]) not in page
    row = find_kept(study)
    assert row is not None
    row.value["main"] = "middle"
    monkeypatch.setattr("analysis.plans.views.find_kept", lambda study: row)
    assert planned not in client.get(address).content.decode()  # the pilot gave no scenario


def test_a_decision_about_an_answer_changes_what_came(study: Study) -> None:
    named = "Answers with assam: Gemini in the field, teas"

    def value() -> float:
        return next(row["value"] for row in find_came(study)["rows"] if row["what"] == named)

    before, other = value(), Answer.objects.filter(items=["oolong"]).latest("pk")
    decide(study, other.pk, "ada", seen=0, names=["Assam"])
    assert (before, value()) == (pytest.approx(27 / 30), pytest.approx(28 / 30))


def test_made_up_people_are_no_pilot_and_a_small_one_says_nothing(study: Study) -> None:
    assert find_came(study)["people"] == 34 and plan_study(study, Setting((100,), 20))["main"] == "as in the pilot"
    people = Participant.objects.filter(study=study).order_by("-pk")
    for made_up, left, says in ((14, 20, True), (15, 19, False), (34, 0, False)):
        people.filter(pk__in=list(people.values_list("pk", flat=True)[:made_up])).update(origin="simulated")
        found = find_came(study)
        assert (found["people"], found["pilot"], bool(found["rows"])) == (left, True, says)
        assert (came_on_page(study, None) is not None) == says
    assert plan_study(study, Setting((100,), 20))["main"] == "middle"


def test_a_single_excluded_assumption_lies_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    row = came("Answers with assam", "share", dict.fromkeys(NAMES, 0.5), 0.2, (0.1, 0.3), 20, "answers")
    monkeypatch.setattr("analysis.plans.beside.find_came", lambda study: {"people": 20, "pilot": True, "rows": [row]})
    page = came_on_page(Study(), None)
    assert page is not None and "1 of 1 assumption lies outside" in page["answer"]


def test_a_predicted_width_falls_by_the_root_of_the_people() -> None:
    row = {"hypothesis": "assam", "ci": [-0.1, 0.3]}
    plan = {"rows": [{"scenario": "middle", "hypothesis": "assam", "people": 400, "width": 0.1}]}
    assert width_beside(row, plan, 100) == {"predicted": {"middle": pytest.approx(0.2)}, "half": pytest.approx(0.2)}
