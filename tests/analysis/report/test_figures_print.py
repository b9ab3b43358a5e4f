"""Figures at journal sizes: as wide as a column, with letters that are readable there."""

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from analysis.charts.figure import Options, for_column
from analysis.charts.rendering import render
from analysis.charts.theme import COLUMN_PX, FONT, LIGHT
from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.parts import FIGURES
from tests.analysis.report.figure_rows import make_report

DRAWN_BY = FIGURES | {name: figure.draw for name, figure in OVERVIEW_FIGURES.items()}
POINTS = 72 / 25.4  # of a mm
SMALLEST = 7  # points


HIGHEST = {85: 110, 114: 112, 174: 110}  # mm for two models, nine lists and four questions


@pytest.mark.parametrize("column", COLUMN_PX)
@pytest.mark.parametrize("name", DRAWN_BY)
@pytest.mark.slow
def test_a_figure_is_as_wide_as_a_column_in_one_font_of_seven_points(name: str, column: int) -> None:
    made = DRAWN_BY[name](make_report(), for_column(Options(rarefied=True), column))
    root = ET.fromstring(render(made, "svg", "print", column))
    assert root.get("width") == f"{column}mm"
    _, _, width, height = map(float, root.get("viewBox", "").split())
    # Nothing is stretched: the height goes with the width, and fits on a page.
    high = float(root.get("height", "").removesuffix("mm"))
    assert high == pytest.approx(column * height / width, abs=0.01) and high <= HIGHEST[column]
    sizes = [float(size.removesuffix("px")) for element in root.iter() if (size := element.get("font-size"))]
    assert sizes and min(sizes) * column * POINTS / width >= SMALLEST
    assert {font for element in root.iter() if (font := element.get("font-family"))} == {FONT}


def test_pdf_and_png_have_the_same_size() -> None:
    made = FIGURES["distances"](make_report(), for_column(Options(), 85))
    box = re.search(rb"MediaBox ?\[0 0 ([\d.]+)", render(made, "pdf", "print", 85))
    assert box and float(box[1]) == pytest.approx(85 * POINTS, abs=0.1)
    png = render(made, "png", "print", 85)
    assert int.from_bytes(png[16:20], "big") == pytest.approx(85 / 25.4 * 300, abs=2)


def test_prompts_are_rows_whose_names_stand_once() -> None:
    made = FIGURES["distances"](make_report(), for_column(Options(), 85))
    root = ET.fromstring(render(made, "svg", "print", 85))
    words = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert words.count("Weekend trips") == 1 and "gemini-2.0-flash" in words


def test_numbers_over_a_grid_have_a_rim() -> None:
    made = OVERVIEW_FIGURES["far"].draw(make_report(), Options())
    layers = [layer["mark"] for layer in found(made.spec, "layer") if layer["mark"]["type"] == "text"]
    assert [mark.get("stroke") for mark in layers] == [LIGHT["paper"], None] * 2


def found(part: Any, key: str) -> list[Any]:
    """The elements of every list named `key`, at any depth."""
    if isinstance(part, list):
        return [one for each in part for one in found(each, key)]
    if not isinstance(part, dict):
        return []
    return [one for name, value in part.items() for one in ([*value] if name == key else found(value, key))]
