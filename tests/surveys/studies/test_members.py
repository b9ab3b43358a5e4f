"""Studies that an account creates and therefore owns."""

import pytest

from surveys.models import Membership, Study
from surveys.studies.lifecycle import StudyError
from surveys.studies.members import create_study
from tests.factories import make_account, make_definition, make_study

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
