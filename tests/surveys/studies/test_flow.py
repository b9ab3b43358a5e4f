"""The participant flow: everybody is in exactly one place, and the figure's boxes add up."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from fieldstudy.embedded.servers import ROOT
from surveys.console.collect_views import draw_flow, table_rows
from surveys.console.monitoring.people import reason_name
from surveys.models import AnonymousExit, Participant, Place, Study
from surveys.participation import recruitment
from surveys.participation.forms import TROUBLE_WORDS
from surveys.participation.places import release_expired
from surveys.studies.files.schema import Exclusion
from surveys.studies.flow import OUTCOMES, TROUBLES, count_could_not, flow_counts
from surveys.studies.lifecycle import definition_of, load_definition
from tests.factories import make_definition, make_participant, make_response, make_study

pytestmark = pytest.mark.django_db
State, Step = Participant.State, Participant.Step


def let_time_out(participant: Participant) -> None:
    Place.objects.filter(participant=participant).update(expires_at="2020-01-01T00:00Z")
    Participant.objects.filter(pk=participant.pk).update(last_seen_at="2020-01-01T00:00Z")
    release_expired(participant.study)


def make_mixed_study() -> Study:
    """Somebody for each outcome; two each are in progress and withdrawn, one of them before getting a place."""
    study = make_study(places=20)
    recruitment.refuse_consent(study)
    make_participant(study, Step.QUESTIONS)
    make_participant(study)
    for state in (State.COMPLETED, State.RETURNED, State.TECHNICAL, State.MISUNDERSTOOD):
        make_participant(study, state)
    make_participant(study, answers={"adult": "No", "milk": "Milk", "cups": "1"})
    let_time_out(make_participant(study))
    recruitment.withdraw(make_participant(study))
    recruitment.withdraw(make_participant(study, Step.QUESTIONS))
    return study


def test_every_way_in_which_a_part_stands_is_counted_once() -> None:
    counts = flow_counts(make_mixed_study())
    assert {outcome: counts[outcome] for outcome in OUTCOMES} == {
        "no_consent": 1,
        "screened_out": 1,
        "over_quota": 0,
        "misunderstood": 1,
        "technical": 1,
        "returned": 1,
        "timed_out": 1,
        "withdrawn": 2,
        "in_progress": 2,
        "completed": 1,
    }
    assert (counts["started"], counts["consented"], counts["overflow"]) == (11, 10, 0)


def test_boxes_add_up() -> None:
    counts = flow_counts(make_mixed_study())
    assert counts["started"] == sum(counts[outcome] for outcome in OUTCOMES)
    before, after = counts["before_place"], counts["after_place"]
    # Beside the arrows: no consent; screened out, at the questions, withdrawn there; and all that came after.
    assert sum(before.values()) == 4 and sum(after.values()) == counts["placed"] == 7
    assert counts["consented"] - (sum(before.values()) - before["no_consent"]) == counts["placed"]
    assert all(before[outcome] + after[outcome] == counts[outcome] for outcome in OUTCOMES)


def test_over_quota_and_late_finishers_are_told_apart() -> None:
    study = make_study(places=1)
    late = make_participant(study, Step.DEBRIEF)
    Place.objects.filter(participant=late).update(expires_at="2020-01-01T00:00Z")
    make_participant(study, State.COMPLETED)
    assert make_participant(study).state == State.OVER_QUOTA
    recruitment.complete(late)
    counts = flow_counts(study)
    assert (counts["completed"], counts["overflow"], counts["over_quota"]) == (2, 1, 1)
    assert counts["reasons"]["over_quota"] == {"cells-full": 1}


def test_reasons_name_the_question_and_the_step_but_no_free_words() -> None:
    study = make_mixed_study()
    recruitment.stop(make_participant(study), State.TECHNICAL, "My cat sat on the keyboard")
    reasons = flow_counts(study)["reasons"]
    assert reasons["screened_out"] == {"adult": 1}
    assert reasons["timed_out"] == {"at prompts": 1}
    assert reasons["withdrawn"] == {"at prompts": 1, "at questions": 1}
    assert "technical" not in reasons


def test_every_reason_to_stop_has_its_words() -> None:
    calls = [node for path in ROOT.glob("surveys/**/*.py") for node in ast.walk(ast.parse(path.read_text()))]
    stops = [
        call for call in calls if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("recruitment.stop")
    ]
    reasons = {call.args[2].value for call in stops if isinstance(call.args[2], ast.Constant)}
    assert {"not-invited", "returned-at-prolific"} <= reasons
    assert {reason for reason in reasons if reason_name(reason).startswith("question")} == set()


@pytest.mark.parametrize("reason", ["comprehension-failed-twice", "training-failed-twice"])
def test_a_reason_neither_repeats_nor_contradicts_its_outcome(reason: str) -> None:
    assert "failed" not in reason_name(reason)  # beside "Comprehension check failed twice"


def test_who_could_not_take_part_is_counted_by_reason_of_all_who_agreed() -> None:
    study = make_study(places=40)
    for reason in ("no-access: the list is read twice", "no-access: no words", "other: x: y", "My cat: it sat there"):
        recruitment.stop(make_participant(study), State.TECHNICAL, reason)
    for _ in range(6):
        make_participant(study, State.COMPLETED)
    counts = flow_counts(study)
    assert counts["reasons"]["technical"] == {"no-access": 2, "other": 1}
    found = {(outcome, reason): rest for outcome, reason, *rest in count_could_not(counts)}
    assert {key: people for key, (people, *_) in found.items()} == {
        ("technical", "no-access"): 2,
        ("technical", "other"): 1,
        ("technical", ""): 1,
    }
    # R: binom::binom.confint(2, 10, methods = "wilson")
    assert found["technical", "no-access"][1:] == pytest.approx([0.2, 0.05668, 0.50983], abs=1e-4)
    assert count_could_not(flow_counts(make_study(definition=replace(make_definition(), slug="empty")))) == []


def test_words_on_the_page_are_those_of_the_reasons_that_are_counted() -> None:
    assert tuple(TROUBLE_WORDS) == TROUBLES


def test_each_version_has_its_own_flow() -> None:
    study = make_study(places=9)
    make_participant(study, State.COMPLETED)
    definition = replace(definition_of(study.current_id), title="Teas, again")
    study, _ = load_definition(definition, "tests", "a clearer title")
    make_participant(study)
    recruitment.refuse_consent(study)
    versions = flow_counts(study)["versions"]
    assert [(row["version"], row["started"], row["completed"]) for row in versions] == [(1, 1, 1), (2, 2, 0)]
    assert sum(row["started"] for row in versions) == flow_counts(study)["started"]


def test_pilots_previews_and_imported_people_are_no_part_of_the_main_flow() -> None:
    study = make_study("pilot", places=9)
    make_participant(study)
    recruitment.refuse_consent(study)
    make_participant(study, origin="preview")
    Participant.objects.filter(pk=make_participant(study).pk).update(pilot=False, origin="imported")
    assert flow_counts(study)["started"] == 0
    assert flow_counts(study, "pilot")["started"] == 2
    assert AnonymousExit.objects.get().pilot


def test_flow_of_nobody_is_all_zero() -> None:
    counts = flow_counts(make_study())
    assert counts["started"] == counts["completed"] == 0
    assert counts["versions"] == [] and counts["reasons"] == {}


def test_figure_says_the_same_numbers_as_the_table() -> None:
    counts = flow_counts(make_mixed_study())
    words = [text for box in draw_flow(counts).boxes for _, _, text, _ in box.rows]
    assert [text for text in words if text.startswith("n = ")] == ["n = 11", "n = 10", "n = 7", "n = 1", "n = 1"]
    assert [int(text.split(": ")[1]) for text in words if text.startswith("Stopped here")] == [1, 2, 5]
    assert [text for text in words if text.startswith("Still working")] == ["Still working: 1"] * 2
    assert sum(row["n"] for row in table_rows(counts)) == 11


def test_boxes_of_the_figure_do_not_overlap_and_stay_inside() -> None:
    figure = draw_flow(flow_counts(make_mixed_study()))
    for column in (True, False):
        boxes = [box for box in figure.boxes if box.side is column]
        assert all(a.y + a.height < b.y for a, b in zip(boxes, boxes[1:], strict=False))
    assert all(box.x + box.width <= figure.width and box.y + box.height <= figure.height for box in figure.boxes)


def test_svg_is_well_formed_whatever_the_study_is_called() -> None:
    study = make_mixed_study()
    study.title = '<script>alert(1)</script> & "tea" ]]>'
    drawn = render_to_string(
        "console/_flow.svg", {"figure": draw_flow(flow_counts(study)), "study": study, "file": True}
    )
    root = ElementTree.fromstring(drawn)
    assert root.find("{http://www.w3.org/2000/svg}title").text == f"Participant flow of {study.title}"
    assert not re.search(r"<script|\sstyle=|\son\w+=", drawn)


# --- the analysis -------------------------------------------------------------

INATTENTIVE = Exclusion("inattentive", "People who failed an attention check.", attention_fails=1)
FAST = Exclusion("fast", "People who took less than five minutes.", minutes_under=5.0)
REFUSALS = Exclusion("refusals", "Refusals that were kept.", flags=("refusal",))
PROMISE = Exclusion("promise", "Responses that we cannot read.")


def make_completed(study: Study, minutes: float = 9, attentive: bool = True, refusal: bool = False) -> Participant:
    person = make_participant(study, Step.DEBRIEF)
    if refusal:
        make_response(person, "teas", "I'm sorry, but I can't help with that request.", keep=True)
    person = recruitment.complete(person)
    Participant.objects.filter(pk=person.pk).update(
        consented_at=person.finished_at - timedelta(minutes=minutes),
        checks={"attention": {"leaf": {"answer": "x", "passed": attentive}}},
    )
    return person


def make_excluding_study(*later: Exclusion) -> Study:
    """Five people who completed: two failed an attention check, two were fast, two kept a refusal."""
    before = (INATTENTIVE, REFUSALS, PROMISE)
    study = make_study(definition=make_definition(places=20, exclusions=before))
    make_completed(study)
    make_completed(study, refusal=True)
    make_completed(study, attentive=False)
    make_completed(study, minutes=2)
    make_completed(study, minutes=2, attentive=False, refusal=True)
    if later:
        definition = make_definition(places=20, exclusions=(*before, *later))
        study, _ = load_definition(definition, "tests", "some were too fast")
    return study


def test_flow_ends_with_those_who_are_analysed() -> None:
    study = make_excluding_study()
    fast = make_participant(study)  # still working, so neither completed nor left out
    Participant.objects.filter(pk=fast.pk).update(checks={"attention": {"leaf": {"answer": "x", "passed": False}}})
    counts = flow_counts(study)
    assert (counts["completed"], counts["excluded"], counts["analysed"]) == (5, 2, 3)
    # A refusal does not count again if its author is left out as a whole.
    assert (counts["excluded_responses"], counts["excluded_later"]) == (1, 0)
    assert {rule["rule"]: rule["n"] for rule in counts["excluded_by"]} == {
        "inattentive": 2,
        "refusals": 1,
        "promise": None,
    }


def test_rules_declared_later_are_counted_and_named_apart() -> None:
    counts = flow_counts(make_excluding_study(FAST))
    assert (counts["excluded"], counts["excluded_later"], counts["analysed"]) == (3, 1, 2)
    *before, fast = counts["excluded_by"]
    assert all(rule["declared"] == "before launch" and not rule["later"] for rule in before)
    today = timezone.localdate()
    assert fast == {
        "rule": "fast",
        "text": "People who took less than five minutes.",
        "condition": "less than 5 minutes in all",
        "declared": f"later: version 2, {today.day} {today:%B %Y}",
        "later": True,
        "leaves_out": "person",
        "n": 2,
    }


def test_imported_people_and_pilots_are_no_part_of_those_left_out() -> None:
    study = make_excluding_study()
    imported, pilot = (make_completed(study, attentive=False) for _ in range(2))
    Participant.objects.filter(pk=imported.pk).update(origin="imported")
    Participant.objects.filter(pk=pilot.pk).update(pilot=True)
    assert flow_counts(study)["excluded"] == 2
    counts = flow_counts(study, "pilot")
    assert (counts["completed"], counts["excluded"], counts["analysed"]) == (1, 1, 0)


def test_everybody_is_analysed_where_there_is_no_rule() -> None:
    study = make_study(definition=make_definition(places=9, exclusions=()))
    make_completed(study, minutes=0, attentive=False)
    counts = flow_counts(study)
    assert (counts["excluded"], counts["analysed"], counts["excluded_by"]) == (0, 1, [])
    words = [text for box in draw_flow(counts).boxes for _, _, text, _ in box.rows]
    assert not any("Left out" in text for text in words)
    assert words[-2:] == ["In the analysis", "n = 1"]


def test_figure_says_what_each_rule_leaves_out_and_which_came_later() -> None:
    figure = draw_flow(flow_counts(make_excluding_study(FAST)))
    side = next(box for box in reversed(figure.boxes) if box.side)
    today = timezone.localdate()
    assert [text for _, _, text, _ in side.rows] == [
        "Left out of the analysis: 3",
        "1 of them only by rules declared later",
        "1 or more attention checks failed: 2",
        "Less than 5 minutes in all: 2",
        f"declared later: version 2, {today.day} {today:%B %Y}",
        "Single responses, flag kept (refusal): 1",
    ]
    assert [text for _, _, text, _ in figure.boxes[-1].rows] == [
        "In the analysis",
        "n = 2",
        "without 1 of their responses",
    ]


def test_long_condition_stays_inside_its_box() -> None:
    context = {
        "plan": ("free", "paid", "work", "unknown"),
        "chat": ("same", "temporary"),
        "device": ("phone", "tablet"),
    }
    rule = Exclusion("settings", "Settings.", context=context)
    study = make_study(definition=make_definition(places=9, exclusions=(rule,)))
    make_completed(study)
    side = next(box for box in reversed(draw_flow(flow_counts(study)).boxes) if box.side)
    _, *lines = [text for _, _, text, _ in side.rows]
    assert len(lines) > 1 and max(map(len, lines)) <= 48
    assert " ".join(lines).endswith("device phone or tablet: 0")


@pytest.mark.parametrize("rows", [1, 9])
def test_flow_takes_as_many_statements_for_many(rows: int, django_assert_num_queries: Callable) -> None:
    study = make_study(definition=make_definition(places=20, exclusions=(INATTENTIVE, REFUSALS, FAST)))
    for _ in range(rows):
        make_completed(study, refusal=True)
    with django_assert_num_queries(7):  # people, exits, rules, completed, people with checks, flags, responses
        assert flow_counts(study)["excluded_responses"] == rows
