"""No page of the console sends many statements: counted on every page of a filled study, opened by its owner."""

import pytest

from analysis.report.pages import views
from analysis.report.pages.sections import PageFigure
from analysis.report.reports import DRAWS, report
from benchmarks.pages import MOST_STATEMENTS, open_pages
from benchmarks.report_world import make_world


@pytest.mark.django_db
def test_every_page_of_a_filled_study_takes_few_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    # Drawing asks the database nothing and takes most of the time.
    monkeypatch.setattr(views, "draw", lambda places, name: PageFigure(name, *[name] * 6))
    study = make_world(people=6, repeats=2)
    report(study, draws=DRAWS)
    found = {address: page["statements"] for address, page in open_pages(study, rounds=1).items()}
    assert len(found) > 60
    assert {address: count for address, count in found.items() if count > MOST_STATEMENTS} == {}
