"""Figures of a computed report: the rows that they expect are the rows that exist."""

import pytest

from analysis.charts.figure import Options
from analysis.charts.rendering import render
from analysis.report.parts import FIGURES
from analysis.report.reports import report
from tests.analysis.report.compare_samples import FEW, add_people, make_compared

pytestmark = pytest.mark.django_db

# Two prompts are too few for a correlation, neither is a variant, one chatbot has no mix, and no pair is named.
NOTHING = {
    *("contexts", "mixes", "pair", "scores", "blend", "variants", "person_or_dice", "field_benchmark", "arms"),
    "taken",
}


def test_every_figure_is_drawn_from_a_computed_report() -> None:
    study = make_compared()
    add_people(study, 6)
    found = report(study, draws=FEW)
    empty: set[str] = set()
    for name, draw in FIGURES.items():
        made = draw(found, Options())
        assert render(made, "svg").startswith(b"<svg")
        assert "nan" not in made.alt.lower().split() and "None" not in made.alt
        if made.alt == made.caption:
            empty.add(name)
        else:
            assert f"Study {study.slug}, version {study.current.number}." in made.caption
    assert empty == NOTHING
