"""Fixtures that many of these tests share."""

import pytest

from surveys.models import Participant
from tests.factories import make_participant


@pytest.fixture
def participant(db: None) -> Participant:
    """A participant at the first prompt."""
    return make_participant()
