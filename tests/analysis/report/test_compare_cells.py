"""How numbers are written in tables: intervals, signs, p-values, what is undefined, and the order of rows."""

from unittest.mock import Mock

import pytest

from analysis.charts.figure import Options
from analysis.report.columns import CHANGE, COUNT, PLAIN, SHARE, Column, Form, P
from analysis.report.pages.sections import (
    Cell,
    PageFigure,
    Places,
    make_table,
    setting_words,
    sort_table,
    words,
    write,
)
from analysis.report.pages.texts import mark_names
from analysis.report.parts import PARTS

THIN = "\u202f"


def count(n: int | None) -> Cell:
    return write(COUNT, n)


def test_shares_are_per_cent_with_their_interval() -> None:
    cell = write(SHARE, 0.354, [0.3, 0.4])
    assert (cell.text, cell.interval, cell.key) == (f"35{THIN}%", "30–40", 0.354)


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
    assert write(Form(digits=0), -1234.5).text == "−1,234"


def test_p_values_are_never_zero() -> None:
    assert [write(P, p).text for p in (0, 0.0004, 0.03, 1, None)] == [
        f"<{THIN}0.001",
        f"<{THIN}0.001",
        "0.030",
        "1.000",
        "–",
    ]


def test_rows_are_sorted_with_undefined_ones_last() -> None:
    table = make_table(
        "t", "T", ["Name", "n"], [[words("b"), count(2)], [words("A"), count(None)], [words("c"), count(10)]]
    )
    assert [row[0].text for row in sort_table(table, "-t.1").rows] == ["c", "b", "A"]
    assert [row[0].text for row in sort_table(table, "t.1").rows] == ["b", "c", "A"]
    assert [row[0].text for row in sort_table(table, "t.0").rows] == ["A", "b", "c"]


@pytest.mark.parametrize("wanted", ["", "t.9", "t.-1", "t.²", "other.1", "--", "t", ".1"])
def test_an_order_that_means_nothing_changes_nothing(wanted: str) -> None:
    table = make_table("t", "T", ["n"], [[count(2)], [count(1)]])
    assert [row[0].text for row in sort_table(table, wanted).rows] == ["2", "1"]


def test_a_second_click_turns_the_order_round() -> None:
    table = make_table("t", "T", ["Name", "n"], [[words("b"), count(2)]])
    assert [header.sort for header in sort_table(table, "").headers] == ["t.0", "-t.1"]
    turned = sort_table(table, "-t.1").headers[1]
    assert (turned.sort, turned.sorted) == ("t.1", "descending")


def test_names_are_marked_inside_escaped_text() -> None:
    assert mark_names("<i>A&B</i>, a&b", ["A&B"]) == "&lt;i&gt;<mark>A&amp;B</mark>&lt;/i&gt;, <mark>a&amp;b</mark>"
    assert mark_names("tea <b>", []) == "tea &lt;b&gt;"
    assert mark_names("black tea, tea", ["tea", "black tea"]) == "<mark>black tea</mark>, <mark>tea</mark>"


def test_what_a_description_says_is_not_said_twice_below_its_figure() -> None:
    alt = "Not told apart: A; B."
    drawn = PageFigure("far", "Far", "", own=f"{alt} Lines are intervals.", alt=alt, wide="", narrow="")
    assert drawn.said == "Not told apart: A; B. Lines are intervals."


def test_a_table_explains_only_the_dashes_that_it_has() -> None:
    blank = write(PLAIN, None, nothing="", why="This prompt has no option E.")
    assert make_table("t", "T", ["n"], [[blank], [count(2)]]).whys == []
    dash = write(PLAIN, None, why="Nobody answered.")
    assert make_table("t", "T", ["n"], [[dash]]).whys == ["Nobody answered."]
    unsure = write(PLAIN, 0.5, None, unsure="One independent unit.")
    assert make_table("t", "T", ["n"], [[unsure]]).whys == ["One independent unit."]


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
    (page,) = PARTS[part].pages
    found = page.rows({"groups": groups, part: rows}, Options())
    of_one = [row["model"] for row in found if row["benchmark"] == "mmlu"]
    assert of_one == ["gpt", "flash"]
