"""How figures look: distinguishable colours, hatching, labels that do not collide, and the SVG on pages."""

from collections.abc import Sequence
from itertools import combinations
from math import dist
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.charts.figure import Options, split_evenly
from analysis.charts.marks import hatch_lines, hatch_path
from analysis.charts.panels import FINEST, Grid, Panel, count_columns, panel_width
from analysis.charts.ranges import LABEL, place_labels
from analysis.charts.rendering import clean_svg, render
from analysis.charts.theme import (
    LIGHT,
    PALETTES,
    TOKENS,
    printable,
    recolour,
    series_of_groups,
    series_of_sources,
    text_width,
)
from analysis.models.conditions import SOURCES
from analysis.report.parts import FIGURES
from tests.analysis.report.figure_rows import make_report

IMPORTED = [f"imported-{number}" for number in range(12)]


Matrix = Sequence[Sequence[float]]


def linear_rgb(colour: str) -> list[float]:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2: the weighted sum of linear red, green and blue."""
    red, green, blue = linear_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_each_source_has_its_own_shape_and_colour() -> None:
    series = series_of_sources([*SOURCES, *IMPORTED[:5]])
    assert len(set(series.colours)) == len(set(series.shapes)) == len(series.names) == len(SOURCES) + 5


def test_no_two_sources_look_the_same_however_many_are_imported() -> None:
    series = series_of_sources([*SOURCES, *IMPORTED])
    assert len(set(zip(series.colours, series.shapes, strict=True))) == len(SOURCES) + len(IMPORTED)


def test_a_source_looks_the_same_whatever_else_is_shown() -> None:
    everything, some = series_of_sources(SOURCES), series_of_sources(["sp-rag", "field"])
    looks = dict(zip(everything.names, zip(everything.colours, everything.shapes, strict=True), strict=True))
    assert [looks[name] for name in some.names] == list(zip(some.colours, some.shapes, strict=True))
    assert some.names == ("Field", "SP-RAG")


def test_an_imported_source_keeps_its_look_when_another_is_not_drawn() -> None:
    series = series_of_sources(["field", "alpha", "beta"])
    assert series.only(["beta"]).colours == series.colours[2:]


def test_groups_take_no_look_of_a_source() -> None:
    groups, sources = series_of_groups(["a", "b", "c"]), series_of_sources(SOURCES)
    assert not set(groups.colours) & set(sources.colours) and not set(groups.shapes) & set(sources.shapes)


@pytest.mark.parametrize("scheme", PALETTES)
def test_marks_and_words_stand_out_from_the_ground(scheme: str) -> None:
    palette = PALETTES[scheme]
    marks = [*SOURCES, *(f"other-{number}" for number in range(1, 6)), "strong-line"]
    assert {token for token in marks if contrast(palette[token], palette["paper"]) < 3} == set()
    assert {token for token in ("ink", "soft") if contrast(palette[token], palette["paper"]) < 4.5} == set()
    options = [*(f"option-{number}" for number in range(1, 9)), "unknown"]
    assert {token for token in options if contrast(palette[token], palette["on-option"]) < 4.5} == set()


# Vision without one kind of cone: Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SEEN = {
    "without red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "without green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "without blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
XYZ = ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0177, 0.1095, 0.8728))  # of linear sRGB, white = 1


def product(matrix: Matrix, vector: Sequence[float]) -> list[float]:
    return [min(1.0, max(0.0, sum(a * b for a, b in zip(row, vector, strict=True)))) for row in matrix]


def lab(linear: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in product(XYZ, linear))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("scheme", PALETTES)
def test_colours_of_sources_differ_for_colour_blind_readers(scheme: str, eyes: str) -> None:
    seen = {token: lab(product(SEEN[eyes], linear_rgb(PALETTES[scheme][token]))) for token in SOURCES}
    near = {pair: dist(seen[pair[0]], seen[pair[1]]) for pair in combinations(seen, 2)}
    assert {pair: far for pair, far in near.items() if far < 10} == {}


def test_every_colour_means_one_thing() -> None:
    assert len(TOKENS) == len(LIGHT)


def test_recolouring_leaves_other_words_alone() -> None:
    spec = {"a": [LIGHT["ink"], "ink", 3], "b": {"c": LIGHT["field"]}}
    dark = PALETTES["dark"]
    assert recolour(spec, "dark") == {"a": [dark["ink"], "ink", 3], "b": {"c": dark["field"]}}
    assert recolour(spec, "light") == spec


def test_printable_is_one_line_without_control_characters() -> None:
    assert printable("a\x00b\n c\td\ud800") == "ab c d"


# Hatching --------------------------------------------------------------------------------------------------


def test_hatching_rises_at_45_degrees_and_ends_at_the_edges() -> None:
    # Ten wide, four high, a line every five px from 2.5 - 4 = -1.5 on: at -1.5, 3.5 and 8.5 on the lower edge.
    assert hatch_lines(0, 10, 0, 4, 5) == [(0, 2.5, 2.5, 0), (3.5, 4, 7.5, 0), (8.5, 4, 10, 2.5)]


@given(
    st.floats(0, 500), st.floats(0, 400), st.floats(0, 50), st.floats(0.5, 40), st.floats(1, 12)
)  # fmt: skip
def test_hatching_stays_inside_its_bar(left: float, width: float, top: float, height: float, spacing: float) -> None:
    for x, y, x2, y2 in hatch_lines(left, left + width, top, top + height, spacing):
        assert left - 1e-6 <= x <= x2 <= left + width + 1e-6
        assert top - 1e-6 <= y2 <= y <= top + height + 1e-6
        assert abs((x2 - x) - (y - y2)) < 1e-6


def test_a_bar_of_no_width_has_no_hatching() -> None:
    assert hatch_lines(5, 5, 0, 10) == [] and hatch_path(0, 10) == ""


def test_narrow_correct_answers_are_hatched_too() -> None:
    assert hatch_path(3, 16).count("M") >= 2


# Labels and layout -----------------------------------------------------------------------------------------


@given(st.lists(st.floats(0.5, 0.9), max_size=8, unique=True))
def test_leaderboard_names_meet_neither_each_other_nor_a_line(accuracies: list[float]) -> None:
    lines = [(f"Model {place}", accuracy) for place, accuracy in enumerate(sorted(accuracies))]
    labels, height = place_labels(lines, (0.5, 0.9), 600)
    for one, other in combinations(labels, 2):  # `other` is further right
        begin = other["x"] - text_width(other["text"], 11) - 5
        assert one["y"] != other["y"] or begin > one["x"]
        # The line of `one` comes down from its name; it may pass `other` only on the way from above it.
        assert one["y"] > other["y"] or begin > one["x"]
    assert all(LABEL / 2 <= label["y"] <= height for label in labels)


def test_prompts_are_split_into_even_rows() -> None:
    assert [len(part) for part in split_evenly("abcdefghi", 8)] == [5, 4]
    assert [len(part) for part in split_evenly("abc", 8)] == [3]
    assert split_evenly("", 8) == []


@pytest.mark.parametrize(("prompts", "models", "narrow", "expected"), [
    (9, 2, False, 2), (9, 4, False, 2), (2, 4, False, 3), (13, 2, False, 2), (30, 2, False, 1), (2, 2, True, 1),
])  # fmt: skip
def test_models_stand_side_by_side_while_marks_have_room(
    prompts: int, models: int, narrow: bool, expected: int
) -> None:
    names = tuple(f"p{number}" for number in range(prompts))
    series = series_of_sources(list(SOURCES)[:5])
    grid = Grid((Panel("a", "A"),), tuple("mnop"[:models]), names, series, Options(narrow=narrow))
    across = count_columns(grid)
    assert across == expected
    assert across == 1 or panel_width(across, grid.options) / (prompts * 6) >= FINEST


def test_labels_of_prompts_turn_only_where_they_would_meet() -> None:
    assert label_angle(("a-rather-long-name", "another-rather-long-name")) == 0
    assert label_angle(tuple(f"a-rather-long-name-{number}" for number in range(9))) == -40


def label_angle(lists: tuple[str, ...]) -> int:
    made = FIGURES["distances"](make_report(lists=lists), Options())
    column = made.spec["vconcat"][0]["hconcat"][0]
    angle: int = column["vconcat"][0]["layer"][0]["encoding"]["x"]["axis"]["labelAngle"]
    return angle


# SVG -------------------------------------------------------------------------------------------------------


def cleaned(inside: str) -> ET.Element:
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{inside}</svg>'
    return ET.fromstring(clean_svg(drawn, "Title", "What is seen"))


def shapes(root: ET.Element) -> list[ET.Element]:
    return [element for element in root if element.tag.rpartition("}")[2] not in ("title", "desc")]


def test_style_becomes_attributes() -> None:
    (path,) = shapes(cleaned('<path d="M0,0" style="stroke: #123456; cursor: pointer" fill="none"/>'))
    assert path.attrib == {"d": "M0,0", "fill": "none", "stroke": "#123456"}


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        "<style>a{}</style>",
        '<image xlink:href="https://example.org/a.png"/>',
        "<foreignObject><p>x</p></foreignObject>",
        '<use href="#a"/>',
    ],
)
def test_what_is_no_drawing_is_dropped(inside: str) -> None:
    assert shapes(cleaned(f"{inside}<g/>"))[0].tag.endswith("}g")
    assert len(shapes(cleaned(f"{inside}<g/>"))) == 1


def test_handlers_and_addresses_are_dropped() -> None:
    (rect,) = shapes(cleaned('<rect width="3" onclick="x()" xlink:href="https://example.org" fill="#123456"/>'))
    assert rect.attrib == {"width": "3", "fill": "#123456"}


def test_colours_of_the_theme_get_a_class() -> None:
    (path,) = shapes(cleaned(f'<path d="M0,0h3" fill="{LIGHT["field"]}" stroke="{LIGHT["paper"]}"/>'))
    assert path.get("class") == "fill-field stroke-paper"
    assert path.get("fill") == LIGHT["field"]


def test_ids_and_references_to_them_move_together() -> None:
    root = cleaned('<defs><clipPath id="clip0"/></defs><g clip-path="url(#clip0)"><path d="M0,0" fill="#123456"/></g>')
    defs, group = shapes(root)
    name = defs[0].get("id", "")
    assert name != "clip0" and name.endswith("-clip0")
    assert group.get("clip-path") == f"url(#{name})"


def test_only_marks_keep_their_labels() -> None:
    label = 'role="graphics-symbol" aria-label="35 of 400"'
    axis, mark = shapes(cleaned(f'<g {label} aria-roledescription="axis"/><g {label} aria-roledescription="point"/>'))
    assert list(axis) == [] and mark[0].text == "35 of 400"


def test_long_fractions_are_cut() -> None:
    (path,) = shapes(cleaned('<path d="M1.23456,2.5h3" fill="#123456"/>'))
    assert path.get("d") == "M1.23,2.5h3"


def test_text_stays_text() -> None:
    root = ET.fromstring(render(FIGURES["latency"](make_report(), Options()), "svg"))
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"SP-History", "gpt-4o-mini", "95th percentile"} <= texts
