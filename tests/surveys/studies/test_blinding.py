"""Blinded members: what they see, when an owner may lift it, and that no other way reveals anything early."""

import pytest
from django.urls import reverse
from django.utils import timezone

from surveys.models import AuditEvent, Participant, Place, Slot, Study
from surveys.studies import audit, lifecycle
from surveys.studies.access import Role, role_in, studies_of
from surveys.studies.audit import END_REACHED
from surveys.studies.files.hypotheses import Hypothesis
from surveys.studies.lifecycle import StudyError
from surveys.studies.members import lift_blinding, why_blinded
from tests import factories
from tests.roles import as_account, make_roles

pytestmark = pytest.mark.django_db
EXPECTED = Hypothesis("varied", "Gemini varies more.", "entropy_bits", "field/gemini", "more", "field/chatgpt")


def make_planned(state: str, places: int = 1) -> Study:
    study = factories.make_study(state, factories.make_definition(places=places, hypotheses=(EXPECTED,)))
    make_roles(study)
    return study


def test_blinded_member_has_the_study_in_the_list_and_in_no_choice_of_data() -> None:
    study = make_planned("live")
    account = study.memberships.get(role="blinded").user
    assert role_in(account, study) == Role.BLINDED
    assert [each.slug for each in studies_of(account, Role.BLINDED)] == ["teas"]
    # Compare offers, and takes from an address, other studies of this list alone.
    assert not studies_of(account).exists()
    refused = as_account("blinded").get(reverse("compare:overview", args=["teas"]))
    assert refused.status_code == 403 and "You are blinded in this study" in refused.content.decode()


@pytest.mark.parametrize(
    ("state", "why"),
    [("pilot", "The plan is not frozen yet."), ("live", "0 of 4 places are filled."), ("paused", "0 of 4 places")],
)
def test_plan_must_be_frozen_and_at_its_end(state: str, why: str) -> None:
    study = make_planned(state)
    with pytest.raises(StudyError, match=why):
        lift_blinding(study, "owner")
    answer = as_account("owner").post(reverse("console:change-state", args=["teas", "unblind"]), follow=True)
    assert why in answer.content.decode()
    assert (
        not Study.objects.get(slug="teas").unblinded_at
        and not AuditEvent.objects.filter(action="blinding lifted").exists()
    )


def test_verdicts_of_a_look_stay_hidden_in_the_audit_trail() -> None:
    study = make_planned("live")
    audit.record(study, "owner", "look taken", at=4, verdicts=[{"hypothesis": "varied", "verdict": "supported"}])
    pages = [as_account(role).get("/console/teas/audit/").content.decode() for role in ("blinded", "owner")]
    assert ["look taken" in page for page in pages] == [True, True]
    assert ["supported" in page for page in pages] == [False, True]


def test_owner_lifts_it_once_and_the_trail_says_for_whom() -> None:
    study = make_planned("live")
    lifecycle.close(study, "owner")
    account, owner = study.memberships.get(role="blinded").user, as_account("owner")
    assert "Lift the blinding" in owner.get("/console/teas/members/").content.decode()
    address = reverse("console:change-state", args=["teas", "unblind"])
    assert as_account("researcher").post(address).status_code == 403
    assert "no longer blinded" in owner.post(address, follow=True).content.decode()
    study.refresh_from_db()
    assert role_in(account, study) == Role.VIEWER and studies_of(account).exists()
    assert not studies_of(account, Role.RESEARCHER).exists()
    with pytest.raises(StudyError, match="lifted before"):
        lift_blinding(study, "owner")
    event = AuditEvent.objects.get(action="blinding lifted")
    assert (event.actor, event.detail) == ("owner", {"members": ["blinded"]})


def test_all_places_filled_is_the_end_of_the_plan_and_without_hypotheses_there_is_none() -> None:
    study = make_planned("live")
    Place.objects.filter(cell__study=study).delete()  # of none, all are filled
    lift_blinding(study, "owner")
    assert Study.objects.get(slug="teas").unblinded_at
    lift_blinding(factories.make_study("draft", slug="herbs"), "owner")
    assert Study.objects.get(slug="herbs").unblinded_at


def test_plan_of_labels_ends_with_the_last_label_or_the_end_that_was_shown() -> None:
    reliable = Hypothesis("reliable", "People agree.", "alpha", "people", "more", reference=0.5)
    study = factories.make_annotation_study(places=3, hypotheses=(reliable,), quota=5, overlap=1)
    assert why_blinded(study).startswith("0 of 15 labels are given. The plan ends when all are")
    factories.make_items(study, 2)
    factories.make_items(study, 1, start=2, pilot=True)
    slots, now = Slot.objects.filter(item__study=study, item__pilot=False), timezone.now()
    held = {"participant": factories.make_annotator(study), "taken_at": now, "held_until": now}
    Place.objects.filter(cell__study=study).delete()  # of none, all are filled
    assert why_blinded(study).startswith("0 of 2 labels")
    slots.update(**held, done_at=now)
    assert not why_blinded(study)
    factories.make_items(study, 1, start=3)
    assert why_blinded(study).startswith("2 of 3 labels")
    audit.record(study, "system", END_REACHED)
    assert not why_blinded(study)


@pytest.mark.parametrize(
    ("changes", "sees"),
    [({}, False), ({"pilot": True}, True), ({"origin": "simulated"}, True), ({"origin": "imported"}, False)],
)
def test_answers_of_the_pilot_and_of_simulated_people_are_open(changes: dict, sees: bool) -> None:
    person = factories.make_participant(make_planned("live", places=9))
    response = factories.make_response(person, "teas", "1. Assam", keep=True)
    Participant.objects.update(**changes)
    client = as_account("blinded")
    page = reverse("console:participant", args=["teas", person.pseudonym])
    text = reverse("console:response-text", args=["teas", person.pseudonym, response.pk])
    assert [client.get(each).status_code for each in (page, text)] == ([200, 200] if sees else [403, 403])
    listed = client.get(f"{reverse('console:participants', args=['teas'])}?who=all").content.decode()
    assert person.pseudonym in listed and (page in listed) == sees


def test_member_who_is_made_blinded_loses_what_they_saw() -> None:
    study = make_planned("live")
    factories.make_account("eve", study, "viewer")
    member = study.memberships.get(user__username="eve")
    assert as_account("eve").get("/console/teas/export/").status_code == 200
    as_account("owner").post(reverse("console:change-member", args=["teas", member.pk]), {"role": "blinded"})
    assert as_account("eve").get("/console/teas/export/").status_code == 403
