"""Figures at the sizes of journals: as wide as a column, with letters that can be read there."""

import re
from xml.etree import ElementTree as ET

import pytest

from analysis.charts.figure import Options, for_column
from analysis.charts.rendering import render
from analysis.charts.theme import COLUMN_PX
from analysis.report.glance import GLANCES
from analysis.report.parts import FIGURES
from tests.analysis.report.figure_rows import make_report

DRAWN_BY = FIGURES | {name: glance.draw for name, glance in GLANCES.items()}
POINTS = 72 / 25.4  # of a mm
SMALLEST = 7  # points


@pytest.mark.parametrize("column", COLUMN_PX)
@pytest.mark.parametrize("name", DRAWN_BY)
def test_a_figure_is_as_wide_as_a_column_and_its_letters_have_seven_points(name: str, column: int) -> None:
    made = DRAWN_BY[name](make_report(), for_column(Options(rarefied=True), column))
    root = ET.fromstring(render(made, "svg", "print", column))
    assert root.get("width") == f"{column}mm"
    _, _, width, height = map(float, root.get("viewBox", "").split())
    # Nothing is stretched: the height goes with the width.
    assert float(root.get("height", "").removesuffix("mm")) == pytest.approx(column * height / width, abs=0.01)
    sizes = [
        float(element.get("font-size", "").removesuffix("px")) for element in root.iter() if element.get("font-size")
    ]
    assert sizes and min(sizes) * column * POINTS / width >= SMALLEST


def test_pdf_and_png_have_the_same_size() -> None:
    made = FIGURES["distances"](make_report(), for_column(Options(), 85))
    box = re.search(rb"MediaBox ?\[0 0 ([\d.]+)", render(made, "pdf", "print", 85))
    assert box and float(box[1]) == pytest.approx(85 * POINTS, abs=0.1)
    png = render(made, "png", "print", 85)
    assert int.from_bytes(png[16:20], "big") == pytest.approx(85 / 25.4 * 300, abs=2)


HIGHEST = {  # mm at 85 mm, for two models; those that are higher than a page are as high as their rows
    **{"distances": 135, "demographics": 135, "sensitivity": 135, "items": 117, "contexts": 165, "mixes": 175},
    **{"heterogeneity": 195, "drift": 200},
}


@pytest.mark.parametrize("name", HIGHEST)
def test_a_figure_of_one_column_fits_a_page(name: str) -> None:
    made = DRAWN_BY[name](make_report(), for_column(Options(rarefied=True), 85))
    height = float(ET.fromstring(render(made, "svg", "print", 85)).get("height", "").removesuffix("mm"))
    assert height <= HIGHEST[name]
