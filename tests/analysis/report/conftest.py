"""The study of teas, made once for the tests of a module that ask for it."""

import pytest

from surveys.models import Study
from tests.analysis.report.report_samples import make_teas
from tests.lasting import lasting_world

world = lasting_world(make_teas)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)
