"""A study whose answers the tests read and review."""

import pytest

from surveys.models import Study
from tests.factories import make_study


@pytest.fixture
def study(db: None) -> Study:
    return make_study(places=20)
