"""Studies that an account creates and therefore owns."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import transaction

from surveys.models import Membership, Study
from surveys.studies.lifecycle import StudyError
from surveys.studies.members import MemberError, change_role, create_study, remove_member
from tests.factories import make_account, make_definition, make_study
from tests.surveys.participation.threads import PATIENCE, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db


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


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "change", [lambda eve: remove_member(eve, "bob"), lambda eve: change_role(eve, "researcher", "bob")]
)
def test_who_became_the_only_owner_a_moment_ago_stays_it(change: Callable[[Membership], None]) -> None:
    ada = create_study(make_definition(), make_account("ada")).memberships.get()
    make_account("eve", ada.study, "viewer")
    eve = ada.study.memberships.get(user__username="eve")
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            change_role(ada.study.memberships.get(pk=eve.pk), "owner", "ada")
            change_role(ada, "viewer", "ada")
            waiting = beside(lambda: change(eve), pool)
            wait_until_somebody_waits()
        with pytest.raises(MemberError, match="needs an owner"):
            waiting.result(PATIENCE)
    assert [each.user.username for each in ada.study.memberships.filter(role="owner")] == ["eve"]


@pytest.mark.parametrize(
    "change", [lambda eve: remove_member(eve, "bob"), lambda eve: change_role(eve, "owner", "bob")]
)
def test_member_who_was_removed_a_moment_ago_is_not_changed_again(change: Callable[[Membership], None]) -> None:
    study = create_study(make_definition(), make_account("ada"))
    make_account("eve", study, "viewer")
    eve = study.memberships.get(user__username="eve")
    remove_member(study.memberships.get(pk=eve.pk), "ada")
    with pytest.raises(MemberError, match="eve no longer works on this study."):
        change(eve)
    assert study.audit_events.latest("number").actor == "ada"
