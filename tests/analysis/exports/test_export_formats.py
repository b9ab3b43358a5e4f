"""What goes into a file comes out of it, read back by the programs that people use."""

import csv
import io
import json
import re
import tracemalloc
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.exports.codebook import ExportColumn
from analysis.exports.formats import FORMATS, WIDEST, csv_cell

MOMENT = datetime(2026, 11, 21, 21, 57, 12, 345000, tzinfo=UTC)
COLUMNS = (
    ExportColumn("number", "integer", "Which row"),
    ExportColumn("text", "text", "What was pasted"),
    ExportColumn("share", "number", "A share", unit="from 0 to 1"),
    ExportColumn("passed", "boolean", "Whether it passed"),
    ExportColumn("at", "datetime", "When"),
    ExportColumn("state", "text", "How far", levels={"completed": "Completed", "x": "Something else"}),
    ExportColumn("html", "text", "Not for SPSS", spss=False),
)
TEXTS = {
    "newlines": "1. Tea\n2. Coffee\n\n\tand more\n",
    "quotes and commas": 'He said, "tea", and left;\'twas late',
    "emoji": "👩🏽‍🔬 tea 🍵 – “good”",
    "right to left": "שלום\u200f 123 مرحبا",
    "200 kB": "Tea für alle. " * 15_000,
    "line separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "formula": '=HYPERLINK("x")',
    "list": "- tea\n- coffee",
    "apostrophe before a formula": "'+1",
    "blank at the ends": "  tea  ",
    "empty": "",
    "html": "<script>alert('tea')</script>",
    "odd characters": "\x01\x7f\ufeff\ufffd\U0010ffff",
}


def make_rows(texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, text in enumerate(texts):
        yield {
            "number": number,
            "text": text,
            "share": number / 7,
            "passed": (True, False, None)[number % 3],
            "at": MOMENT if number % 2 else None,
            "state": ("completed", "x")[number % 2],
            "html": f"<b>{number}</b>",
        }


def write(kind: str, texts: Iterable[str]) -> bytes:
    return b"".join(FORMATS[kind].chunks(COLUMNS, make_rows(texts)))


def read_sav(content: bytes, folder: Path) -> tuple[pd.DataFrame, Any]:
    path = folder / "table.sav"
    path.write_bytes(content)
    return pyreadstat.read_sav(path)


def joined_text(frame: pd.DataFrame, row: int, begin: str = "text") -> str:
    names = [name for name in frame.columns if name == begin or name.startswith(f"{begin}_")]
    return "".join(frame[name][row] for name in names)


def restored(cell: str) -> str:
    """Remove a CSV cell's apostrophe against spreadsheets, as docs/data.md says."""
    return re.sub(r"^'('*[=+\-@\t\r])", r"\1", cell)


def test_csv_is_read_back_by_python_and_by_pandas() -> None:
    content = write("csv", TEXTS.values()).decode()
    assert content.startswith("number,text,") and content.endswith("\r\n")  # no byte order mark
    before = csv.field_size_limit(1_000_000)
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    csv.field_size_limit(before)
    assert [restored(row["text"]) for row in rows] == list(TEXTS.values())
    assert [row["passed"] for row in rows[:3]] == ["true", "false", ""]
    assert rows[1]["at"] == "2026-11-21T21:57:12.345000+00:00"
    frame = pd.read_csv(io.StringIO(content, newline=""), keep_default_na=False, dtype=str)
    assert [restored(text) for text in frame["text"]] == list(TEXTS.values())


@pytest.mark.parametrize("sign", list("=+-@\t\r"))
def test_csv_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(sign: str) -> None:
    assert csv_cell(f"{sign}1+1") == f"'{sign}1+1"
    assert csv_cell(f"'{sign}1") == f"''{sign}1"
    assert csv_cell(f"1{sign}1") == f"1{sign}1"
    assert csv_cell(-1) == -1


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "sav"])
def test_only_csv_has_apostrophes(kind: str, tmp_path: Path) -> None:
    content = write(kind, ["=1+1"])
    read = {
        "jsonl": lambda: json.loads(content)["text"],
        "parquet": lambda: pq.read_table(io.BytesIO(content))["text"][0].as_py(),
        "sav": lambda: read_sav(content, tmp_path)[0]["text"][0],
    }
    assert read[kind]() == "=1+1"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
@settings(max_examples=300)
def test_csv_cell_can_always_be_restored(text: str) -> None:
    assert restored(csv_cell(text)) == text


def test_jsonl_has_one_line_a_row_for_every_reader() -> None:
    content = write("jsonl", TEXTS.values()).decode()
    lines = content.splitlines()
    assert [json.loads(line)["text"] for line in lines] == list(TEXTS.values())
    frame = pd.read_json(io.StringIO(content), lines=True, dtype={"text": str})
    assert list(frame["text"]) == list(TEXTS.values())


def test_parquet_keeps_types_and_descriptions() -> None:
    table = pq.read_table(io.BytesIO(write("parquet", TEXTS.values())))
    assert table["text"].to_pylist() == list(TEXTS.values())
    assert table["at"].to_pylist()[:2] == [None, MOMENT]
    assert table["passed"].to_pylist()[:3] == [True, False, None]
    assert table.schema.field("share").metadata[b"description"] == b"A share"


def test_sav_keeps_texts_labels_and_times(tmp_path: Path) -> None:
    frame, meta = read_sav(write("sav", TEXTS.values()), tmp_path)
    for row, text in enumerate(TEXTS.values()):
        # SPSS pads every text with blanks, so a text's own trailing blanks are lost.
        assert joined_text(frame, row) == text.rstrip(" ")
    assert meta.column_names_to_labels["share"] == "A share (from 0 to 1)"
    assert meta.variable_value_labels["state"] == {"completed": "Completed", "x": "Something else"}
    assert meta.variable_value_labels["passed"] == {0.0: "no", 1.0: "yes"}
    assert abs(frame["at"][1].to_pydatetime().replace(tzinfo=UTC) - MOMENT).total_seconds() < 1e-5
    assert pd.isna(frame["at"][0]) and pd.isna(frame["passed"][2])
    assert meta.original_variable_types["at"] == "DATETIME24.3"  # narrower formats have no room for milliseconds
    assert "html" not in frame
    assert meta.number_rows == len(TEXTS)


def test_sav_keeps_texts_of_every_width(tmp_path: Path) -> None:
    sizes = (1, 8, 9, 255, 256, WIDEST - 1, WIDEST, WIDEST + 1, 3 * WIDEST)
    columns = [ExportColumn(f"t{size}", "text", "") for size in sizes]
    texts = [["", *((fill * size).encode()[:size].decode(errors="ignore") for fill in "té€🍵")] for size in sizes]
    rows = [dict(zip([column.name for column in columns], row, strict=True)) for row in zip(*texts, strict=True)]
    frame, _ = read_sav(b"".join(FORMATS["sav"].chunks(columns, rows)), tmp_path)
    for row, wanted in enumerate(rows):
        assert {name: joined_text(frame, row, name) for name in wanted} == wanted
    assert [sum(name.startswith(f"t{size}_") for name in frame) for size in sizes] == [0, 0, 0, 0, 0, 0, 0, 1, 3]


def test_sav_keeps_what_our_columns_may_be(tmp_path: Path) -> None:
    levels = {"é" * 8: "Eight", "nobody's": "x" * 300, "same": "same"}
    columns = [
        ExportColumn("text", "text", "é" * 200),
        ExportColumn("text_2", "text", "Not the rest of the first"),
        ExportColumn("state", "text", "", levels=levels),
        ExportColumn("count", "integer", "", levels={"1": "numbers have none"}),
        ExportColumn("passed", "boolean", "Nobody did anything"),
    ]
    longest = f"{'t' * (WIDEST - 3)}   tea"  # a piece ending in blanks would lose them
    row = {"text": longest, "text_2": "2", "state": "s", "count": 2**53, "passed": None}
    frame, meta = read_sav(b"".join(FORMATS["sav"].chunks(columns, [row])), tmp_path)
    assert list(frame) == ["text", "text_2_", "text_2", "state", "count", "passed"]
    assert frame["text"][0] + frame["text_2_"][0] == longest
    assert frame["count"][0] == 2**53 and pd.isna(frame["passed"][0])
    assert meta.column_names_to_labels["text"] == "é" * 125
    assert meta.variable_value_labels == {"state": {"nobody's": "x" * 120}, "passed": {0.0: "no", 1.0: "yes"}}


@pytest.mark.parametrize("kind", FORMATS)
def test_empty_table_is_a_file_too(kind: str, tmp_path: Path) -> None:
    content = write(kind, [])
    if kind == "sav":
        assert read_sav(content, tmp_path)[0].shape == (0, 6)
    elif kind == "parquet":
        assert pq.read_table(io.BytesIO(content)).num_rows == 0
    else:
        assert content == (b"" if kind == "jsonl" else b"number,text,share,passed,at,state,html\r\n")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(kind: str) -> None:
    few, many = (peak_memory(kind, rows) for rows in (5_000, 25_000))
    assert many < 1.25 * few


def peak_memory(kind: str, rows: int) -> int:
    tracemalloc.start()
    try:
        for _ in FORMATS[kind].chunks(COLUMNS, make_rows("Tea. " * 20 for _ in range(rows))):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
