"""How tables write numbers: intervals, signs, p-values, undefined values, and the order of rows."""

from dataclasses import replace
from unittest.mock import Mock

import pytest

from analysis.charts.figure import Options
from analysis.charts.tables import CHANGE, COUNT, ENDS, PLAIN, SHARE, Cell, Column, NumberFormat, P, Row, Table, cells
from analysis.report.pages.contents import mark_names
from analysis.report.pages.sections import PageFigure, Places, setting_words
from analysis.report.parts import PARTS

THIN = "\u202f"


NAME, NUMBER = Column("name", "Name"), Column("n", "n", COUNT)


def write(form: NumberFormat, value: object, ci: list[float] | None = None, why: str = "") -> Cell:
    return Column("value", "", form, "ci", why="why").cell({"value": value, "ci": ci, "why": why})


def table_of(columns: list[Column], *rows: Row) -> Table:
    return Table(columns, cells(rows, columns), "T", "t")


def test_shares_are_per_cent_with_their_interval() -> None:
    cell = write(SHARE, 0.354, [0.3, 0.4])
    assert (cell.text, cell.interval, cell.key) == (f"35{THIN}%", "30–40", 0.354)
    assert (cell.line, cell.range) == (f"35{THIN}% (30 to 40)", f"30{THIN}% to 40{THIN}%")


def test_equal_ends_are_written_once() -> None:
    assert [write(ENDS, ends).text for ends in ([0.3, 0.4], [0.3, 0.3], None)] == [f"30–40{THIN}%", f"30{THIN}%", "–"]


def test_behind_nothing_there_is_nothing_to_read() -> None:
    column = Column("n", "n", COUNT, texts=lambda row: {"item": "assam"})
    row = {"prompt": "teas", "source": "field", "model": "all"}
    places = Mock(spec=Places, texts=lambda row, **more: f"/texts?item={more['item']}")
    found = [Places.cell(places, column, row | {"n": n}).href for n in (3, 0, None)]
    assert found == ["/texts?item=assam", "", ""]


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), True, "3"])
def test_what_is_no_number_is_a_dash_with_its_reason(value: object) -> None:
    cell = write(PLAIN, value, [0, 1], why="Nobody answered.")
    assert (cell.text, cell.interval, cell.why, cell.key) == ("–", "", "Nobody answered.", None)


def test_differences_have_a_sign_and_zero_has_none_before_it() -> None:
    assert write(CHANGE, 0.123, [-0.5, 0.7]).text == "+0.12"
    assert write(CHANGE, 0.123, [-0.5, 0.7]).interval == "−0.50 to 0.70"
    assert write(PLAIN, -0.001).text == "0.00"
    assert write(NumberFormat(digits=0), -1234.5).text == "−1,234"


def test_p_values_are_never_zero() -> None:
    assert [write(P, p).text for p in (0, 0.0004, 0.03, 1, None)] == [
        f"<{THIN}0.001",
        f"<{THIN}0.001",
        "0.030",
        "1.000",
        "–",
    ]


def test_rows_are_sorted_with_undefined_ones_last() -> None:
    table = table_of([NAME, NUMBER], {"name": "b", "n": 2}, {"name": "A", "n": None}, {"name": "c", "n": 10})
    assert [row[0].text for row in table.sorted("-t.1").rows] == ["c", "b", "A"]
    assert [row[0].text for row in table.sorted("t.1").rows] == ["b", "c", "A"]
    assert [row[0].text for row in table.sorted("t.0").rows] == ["A", "b", "c"]


@pytest.mark.parametrize("wanted", ["", "t.9", "t.-1", "t.²", "other.1", "--", "t", ".1"])
def test_an_order_that_means_nothing_changes_nothing(wanted: str) -> None:
    table = table_of([NUMBER], {"n": 2}, {"n": 1})
    assert [row[0].text for row in table.sorted(wanted).rows] == ["2", "1"]


def test_a_second_click_turns_the_order_round() -> None:
    table = table_of([NAME, NUMBER], {"name": "b", "n": 2})
    assert [header["sort"] for header in table.headers] == ["t.0", "-t.1"]
    _, turned = table.sorted("-t.1").headers
    assert (turned["sort"], turned["sorted"]) == ("t.1", "descending")


def test_names_are_marked_inside_escaped_text() -> None:
    assert mark_names("<i>A&B</i>, a&b", ["A&B"]) == "&lt;i&gt;<mark>A&amp;B</mark>&lt;/i&gt;, <mark>a&amp;b</mark>"
    assert mark_names("tea <b>", []) == "tea &lt;b&gt;"
    assert mark_names("black tea, tea", ["tea", "black tea"]) == "<mark>black tea</mark>, <mark>tea</mark>"


def test_what_a_description_says_is_not_said_twice_below_its_figure() -> None:
    alt = "Not told apart: A; B."
    drawn = PageFigure("far", "Far", "", own=f"{alt} Lines are intervals.", alt=alt, wide="", narrow="")
    assert drawn.said == "Not told apart: A; B. Lines are intervals."


def test_a_table_explains_only_the_dashes_that_it_has() -> None:
    why = Column("n", "n", PLAIN, "ci", why="why")
    assert (
        table_of([replace(why, nothing="")], {"why": "This prompt has no option E."}, {"n": 2, "ci": [1, 3]}).whys == []
    )
    assert table_of([why], {"why": "Nobody answered."}).whys == ["Nobody answered."]
    assert table_of([why], {"n": 0.5, "ci_why": "One independent unit."}).whys == ["One independent unit."]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("helm, histories in en", "as HELM puts it, histories in English"),
        ("bare", "question and choices only"),
        ("top_p=0.9, toxic ones too", "top_p=0.9, toxic ones too"),
        ("histories in Elvish", "histories in Elvish"),
        ("", ""),
    ],
)
def test_settings_are_said_in_words(settings: str, said: str) -> None:
    assert setting_words({"source": "offline", "settings": settings}) == said


@pytest.mark.parametrize("part", ["calibration", "benchmarks"])
def test_models_stand_in_the_order_of_their_chatbots(part: str) -> None:
    groups = [{"chatbot": "chatgpt", "models": ["gpt"]}, {"chatbot": "gemini", "models": ["flash"]}]
    rows = [{"benchmark": name, "model": model} for model in ("flash", "gpt") for name in ("mmlu", "sums")]
    found = PARTS[part].pages[0].rows({"groups": groups, part: rows}, Options())
    of_one = [row["model"] for row in found if row["benchmark"] == "mmlu"]
    assert of_one == ["gpt", "flash"]
