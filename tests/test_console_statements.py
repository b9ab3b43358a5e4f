"""No page of the console asks the database much: statements of every page of a filled study, opened by its owner."""

import pytest

from analysis.report.reports import report
from benchmarks.pages import MOST_STATEMENTS, open_pages
from benchmarks.report_world import make_world


@pytest.mark.django_db
def test_every_page_of_a_filled_study_takes_few_statements() -> None:
    study = make_world(people=16, repeats=4)
    report(study, draws=50)
    found = {address: page["statements"] for address, page in open_pages(study, rounds=1).items()}
    assert len(found) > 40
    assert {address: count for address, count in found.items() if count > MOST_STATEMENTS} == {}
