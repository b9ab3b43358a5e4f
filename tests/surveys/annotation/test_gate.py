"""The gate: decided once, frozen with the reason for each verdict; the slots of those not kept reopen."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from surveys.annotation.labels import LabelSubmission, submit
from surveys.annotation.qualification import GateError, Verdict, decide_gate, list_invited
from surveys.annotation.work import admit, has_work, next_tasks, open_task, seal_task
from surveys.models import Annotation, AuditEvent, GateDecision, GateVerdict, Participant, Slot, Study
from surveys.participation import recruitment
from surveys.participation.places import release_slots
from surveys.studies.labels import annotators_of, counted, kept_people
from tests.factories import (
    annotate,
    finish_annotating,
    is_surplus,
    make_annotation_study,
    make_annotator,
    make_items,
    make_visit,
)

pytestmark = pytest.mark.django_db
RULE = {"rule": "κ of at least 0.4 with the others.", "thresholds": {"kappa": 0.4}, "reason": "After the pilot."}


def decide(study: Study, kept: list[Participant], excluded: list[Participant], pilot: bool = False) -> GateDecision:
    verdicts = {person.pseudonym: Verdict(True, {"kappa": 0.5, "n": 20}) for person in kept}
    verdicts |= {person.pseudonym: Verdict(False, {"kappa": 0.1, "n": 20}, "Always yes.") for person in excluded}
    return decide_gate(study, "owner", verdicts, pilot=pilot, **RULE)


@pytest.fixture
def study() -> Study:
    return make_annotation_study(overlap=2, items=3)


def worked(study: Study) -> Participant:
    person = make_annotator(study)
    while annotate(person):
        pass
    return person


def test_decision_is_frozen_with_its_rule_figures_and_reason(study: Study) -> None:
    good, bad = worked(study), worked(study)
    decision = decide(study, [good], [bad])
    assert (decision.number, decision.pilot, decision.decided_by) == (1, False, "owner")
    assert (decision.rule, decision.thresholds, decision.reason) == (RULE["rule"], {"kappa": 0.4}, "After the pilot.")
    verdict = decision.verdicts.get(participant=bad)
    assert (verdict.kept, verdict.note, verdict.figures) == (False, "Always yes.", {"kappa": 0.1, "n": 20})
    event = AuditEvent.objects.get(action="annotators chosen")
    assert event.detail == {"kept": 1, "excluded": [bad.pseudonym], "reopened": 3, "reason": "After the pilot."}
    for rows, change in (
        (GateDecision.objects.all(), {"reason": "x"}),
        (GateVerdict.objects.filter(participant=bad), {"kept": True}),
    ):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            rows.update(**change)


def test_excluded_peoples_slots_reopen_and_their_labels_stay_uncounted(study: Study) -> None:
    good, bad = worked(study), worked(study)
    decide(study, [good], [bad])
    assert Annotation.objects.filter(participant=bad).count() == 3
    assert set(counted(study).values_list("participant", flat=True)) == {good.pk}
    replacement = worked(study)
    assert set(counted(study).values_list("participant", flat=True)) == {good.pk, replacement.pk}
    assert counted(study).count() == 6


def test_labels_of_imported_people_count_without_slots_until_they_are_excluded(study: Study) -> None:
    person = worked(study)
    Participant.objects.filter(pk=person.pk).update(origin=Participant.Origin.IMPORTED)
    release_slots([person])
    assert counted(study).count() == 3
    decide(study, [], [person])
    assert not counted(study).exists()
    decide(study, [person], [])
    assert counted(study).count() == 3


def test_excluded_person_gets_no_more_work_and_is_paid(study: Study) -> None:
    person = make_annotator(study)
    annotate(person)
    (task,) = next_tasks(person)
    shown = open_task(person, seal_task(person, task))
    decide(study, [], [person])
    assert next_tasks(person) == [] and not has_work(person)
    assert is_surplus(submit(person, shown, LabelSubmission({"relevance": "yes"})))
    assert not Slot.objects.filter(participant=person).exists()
    assert finish_annotating(person).code == "CODE1"


def test_later_decision_stands_above_the_earlier(study: Study) -> None:
    person = make_annotator(study)
    annotate(person)
    decide(study, [], [person])
    assert decide(study, [person], []).number == 2 and list(kept_people(study)) == [person]
    assert has_work(person) and annotators_of(study, pilot=False).get().kept is True


def test_annotators_are_listed_with_what_was_decided_about_them(study: Study) -> None:
    good, bad, new = worked(study), worked(study), make_annotator(study, origin="simulated")
    decide(study, [good], [bad])
    annotate(new)
    make_annotator(study)
    annotate(make_annotator(study, origin="preview"))
    assert {person.pk: person.kept for person in annotators_of(study, pilot=False)} == {
        good.pk: True,
        bad.pk: False,
        new.pk: None,
    }


@pytest.mark.parametrize(
    ("pseudonyms", "changes", "says"),
    [
        ([], {}, "needs people"),
        (["nobody"], {}, "nobody: no annotator in the main study"),
        (["nobody"], {"reason": " "}, "a reason"),
        (["nobody"], {"rule": ""}, "the rule in words"),
    ],
)
def test_decision_about_nobody_or_without_a_reason_is_refused(
    study: Study, pseudonyms: list[str], changes: dict[str, str], says: str
) -> None:
    with pytest.raises(GateError, match=says):
        decide_gate(study, "owner", {name: Verdict(True) for name in pseudonyms}, pilot=False, **RULE | changes)
    assert not GateDecision.objects.exists()


def test_pilots_people_are_decided_about_apart() -> None:
    study = make_annotation_study("pilot")
    make_items(study, 2, pilot=True)
    person = worked(study)
    with pytest.raises(GateError, match="main study"):
        decide(study, [person], [])
    assert decide(study, [person], [], pilot=True).pilot


def test_withdrawal_erases_the_figures_about_the_person_too(study: Study) -> None:
    person, other = worked(study), worked(study)
    decide(study, [other], [person])
    recruitment.withdraw(person)
    assert list(GateVerdict.objects.values_list("participant", flat=True)) == [other.pk]
    assert GateDecision.objects.count() == 1


def test_only_kept_people_of_the_pilot_enter_the_study_they_are_invited_to(study: Study) -> None:
    good, bad = worked(study), worked(study)
    decide(study, [good], [bad])
    main = make_annotation_study(slug="main", invited_from="teas", items=2)
    states = {}
    for name, before in (("good", good), ("bad", bad), ("stranger", None)):
        visit = make_visit(**({"pid": before.pid} if before else {}))
        person = admit(recruitment.screen(recruitment.give_consent(main, visit), "", {}))
        states[name] = (person.state, person.reason, person.code)
    assert states == {
        "good": ("active", "", ""),
        "bad": ("screened_out", "not-invited", "CODE3"),
        "stranger": ("screened_out", "not-invited", "CODE3"),
    }


def test_list_for_the_participant_group_is_recorded(study: Study) -> None:
    good, bad, played = worked(study), worked(study), make_annotator(study, origin="simulated")
    annotate(played)
    decide(study, [good, played], [bad])
    assert list_invited(study, "owner") == [good.pid]
    event = AuditEvent.objects.get(action="Prolific ids exported")
    assert (event.actor, event.detail) == ("owner", {"people": 1})


def test_decision_while_somebody_holds_an_item_reopens_it(study: Study) -> None:
    person = make_annotator(study)
    next_tasks(person)
    decide(study, [], [person])
    assert not Slot.objects.filter(participant__isnull=False).exists()
    assert Slot.objects.filter(held_until__gt=timezone.now() - timedelta(days=1)).count() == 0
