"""A study whose answers the tests read and review."""

import pytest

from tests.factories import make_study

study = pytest.fixture(lambda db: make_study(places=20))
