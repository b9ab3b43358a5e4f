"""Members and roles: an owner is always left, and every change is in the audit trail."""

import pytest

from surveys.models import AuditEvent, Membership, Study
from surveys.studies.lifecycle import StudyError
from surveys.studies.members import MemberError, add_member, change_role, create_study, remove_member
from tests.factories import make_account, make_definition, make_study

pytestmark = pytest.mark.django_db
Role = Membership.Role


def last_event(study: Study) -> AuditEvent:
    return AuditEvent.objects.filter(study=study).latest("number")


def test_creator_of_a_study_owns_it() -> None:
    account = make_account("ada")
    study = create_study(make_definition(), account)
    assert (study.state, study.memberships.get().role, study.memberships.get().user) == ("draft", "owner", account)
    assert [event.action for event in study.audit_events.all()] == ["created", "member added"]


def test_taken_slug_makes_no_study_and_changes_none() -> None:
    study = make_study("draft")
    with pytest.raises(StudyError, match="already a study called `teas`"):
        create_study(make_definition(title="Others"), make_account())
    study.refresh_from_db()
    assert (study.title, Study.objects.count(), Membership.objects.count()) == ("Teas", 1, 0)


def test_members_are_added_changed_and_removed_on_the_record() -> None:
    study = make_study("draft")
    add_member(study, make_account("ada"), Role.OWNER, "root")
    bob = add_member(study, make_account("bob"), Role.VIEWER, "ada")
    change_role(bob, Role.RESEARCHER, "ada")
    assert last_event(study).detail == {"before": "viewer", "role": "researcher"}
    bob.refresh_from_db()
    remove_member(bob, "ada")
    assert (last_event(study).action, last_event(study).actor, last_event(study).subject) == (
        "member removed",
        "ada",
        "bob",
    )
    assert study.memberships.count() == 1


def test_nobody_is_a_member_twice() -> None:
    study = make_study("draft")
    bob = make_account("bob")
    add_member(study, bob, Role.VIEWER, "ada")
    with pytest.raises(MemberError, match="already works"):
        add_member(study, bob, Role.OWNER, "ada")
    assert study.memberships.get().role == "viewer"


def test_last_owner_can_neither_go_nor_step_down() -> None:
    study = make_study("draft")
    ada = add_member(study, make_account("ada"), Role.OWNER, "root")
    add_member(study, make_account("bob"), Role.RESEARCHER, "ada")
    for change in (lambda: remove_member(ada, "ada"), lambda: change_role(ada, Role.VIEWER, "ada")):
        with pytest.raises(MemberError, match="needs an owner"):
            change()
    add_member(study, make_account("eve"), Role.OWNER, "ada")
    remove_member(ada, "eve")
    assert sorted(study.memberships.values_list("user__username", "role")) == [("bob", "researcher"), ("eve", "owner")]
