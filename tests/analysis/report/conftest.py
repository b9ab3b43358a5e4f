"""The study that a module's tests share, made once: the study of teas, or the module's own `world`."""

from functools import partial

import pytest
from django.core.cache import cache

from analysis.report.pages import shown
from analysis.report.reports import views_for
from surveys.models import Study
from tests.analysis.report.compare_samples import FEW
from tests.analysis.report.report_samples import make_teas
from tests.lasting import lasting_world

world = lasting_world(make_teas)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute pages with the fewest draws that still give every number, and with nothing kept from other tests."""
    monkeypatch.setattr(shown, "views_for", partial(views_for, draws=FEW))
    cache.clear()


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip drawing figures: it takes seconds, and most tests of bundles are about the rest."""
    monkeypatch.setattr("analysis.report.bundle.bundles.figures_of", lambda report: [])
