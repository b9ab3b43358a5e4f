"""What many of these tests begin with."""

import pytest

from surveys.models import Participant
from tests.factories import make_participant


@pytest.fixture
def participant(db: None) -> Participant:
    """Somebody who has all prompts before them."""
    return make_participant()
