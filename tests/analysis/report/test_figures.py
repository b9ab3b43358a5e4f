"""Every figure of a full-size and of an empty report: valid specs, clean files, tables that hold the rows."""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import altair as alt
import jsonschema_rs
import pytest

from analysis.charts.figure import Figure, Options
from analysis.charts.rendering import render
from analysis.charts.theme import LIGHT, PALETTES
from analysis.report.parts import FIGURES
from analysis.stats.item_measures import MEASURES
from tests.analysis.report.figure_rows import LISTS, MODELS, QUESTIONS, SOURCES, make_report

OF_ROWS = [name for name in FIGURES if name != "pair"]  # which is drawn from one object
UNNAMED = ("positions",)  # no names from outside, and no undefined value
PART = {"demographics": "cells", "latency": "costs"}
SVG = "{http://www.w3.org/2000/svg}"
# What an image may be made of: nothing that runs, loads or styles.
STRICT = {"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "title", "desc", "defs", "clipPath"}
# References are addresses, in which a name such as `Scale<"x">` has its signs escaped.
ESCAPED = {"object_hook": lambda node: node | ({"$ref": quote(node["$ref"], "#/")} if "$ref" in node else {})}
VALID = jsonschema_rs.Draft7Validator(json.loads(json.dumps(alt.load_schema()), **ESCAPED))
HOSTILE = 'a"]<script>alert(1)</script>&\x00\u202e{{datum}}'


@cache
def figure(name: str, **options: Any) -> Figure:
    return FIGURES[name](make_report(), Options(**options))


@cache
def drawn(name: str, narrow: bool = False) -> ET.Element:
    return ET.fromstring(render(figure(name, narrow=narrow), "svg"))


def tags(root: ET.Element, tag: str) -> list[ET.Element]:
    return list(root.iter(f"{SVG}{tag}"))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_valid_spec_and_a_clean_image_with_a_name(name: str) -> None:
    spec = figure(name).spec
    assert [error.message[:200] for error in VALID.iter_errors(spec)] == []
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec
    for narrow in (False, True):
        made, root = figure(name, narrow=narrow), drawn(name, narrow)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= STRICT
        attributes = {key for element in root.iter() for key in element.attrib}
        assert {key for key in attributes if key == "style" or key.startswith("on") or "href" in key} == set()
        values = " ".join(value for element in root.iter() for value in element.attrib.values())
        assert re.search(r"https?:|data:|blob:|javascript:|url\((?!#)", values) is None
        ids = {element.get("id"): element.text for element in root.iter() if element.get("id")}
        assert (made.name, root.get("role")) == (name, "img")
        assert [ids[part] for part in root.get("aria-labelledby", "").split()] == [made.title, made.alt]
        assert made.width <= float(root.get("width", "0")) <= made.width + 35
        assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


def test_ids_differ_between_figures_and_widths() -> None:
    pictures = [drawn(name, narrow) for name in FIGURES for narrow in (False, True)]
    ids = [element.get("id") for picture in pictures for element in picture.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) == 4 * len(FIGURES)


@pytest.mark.parametrize("name", OF_ROWS)
def test_table_has_every_row_of_the_report(name: str) -> None:
    made, report = figure(name), make_report()
    rows = report[PART.get(name, name)]
    if name == "items":
        rows = [row for row in rows if row["prompt"] == LISTS[0] and row["item"] not in ("siemens", "sony")]
    assert len(made.table) == len(rows) > 0
    assert all(row.keys() == {column.name for column in made.columns} for row in made.table)


def test_table_holds_the_reports_numbers_raw_or_rarefied() -> None:
    report = make_report()
    raw, rarefied = (FIGURES["heterogeneity"](report, Options(rarefied=each)).table[0] for each in (False, True))
    first = report["heterogeneity"][0]
    assert (raw["prompt"], raw["model"], raw["source"]) == (first["prompt"], "gpt-4o-mini", "field")
    assert (raw["n"], raw["unique"], raw["entropy_bits"]) == (first["n"], first["unique"], first["entropy_bits"])
    low, high = first["ci"]["top5_coverage"]
    assert raw["outside_top5"] == 1 - first["top5_coverage"]
    assert (raw["outside_top5_low"], raw["outside_top5_high"]) == (1 - high, 1 - low)
    assert (rarefied["n"], rarefied["entropy_bits"]) == (352, first["rarefied"]["entropy_bits"])


def test_files_are_what_they_say_and_pages_get_one_width() -> None:
    made = FIGURES["distances"](make_report(lists=("books",), models=("gpt-4o-mini",)), Options())
    png, pdf = render(made, "png"), render(made, "pdf", "print")
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and int.from_bytes(png[16:20], "big") < 2 * 400
    assert pdf.startswith(b"%PDF-") and (b"/ToUnicode" in pdf or b"/Font" in pdf)  # letters, not outlines
    root = ET.fromstring(render(made, "svg"))
    assert root.get("width") == "940" and root.get("viewBox", "").startswith("0 0 940 ")
    assert tags(root, "rect")[0].get("width") == "940"
    assert int.from_bytes(png[20:24], "big") == round(2 * float(root.get("height", "0")))


@pytest.mark.parametrize("scheme", PALETTES)
def test_schemes_change_colours_only(scheme: str) -> None:
    made = figure("choices")
    svg = render(made, "svg", scheme).decode()
    root = ET.fromstring(svg)
    used = {element.get(key) for element in root.iter() for key in ("fill", "stroke")} - {None, "none", "transparent"}
    assert used <= set(PALETTES[scheme].values())
    assert len(list(root.iter())) == len(list(drawn("choices").iter()))


def test_unknown_kind_or_scheme_is_refused() -> None:
    for kind, scheme in (("gif", "light"), ("svg", "sepia")):
        with pytest.raises(ValueError, match="svg, png, pdf in light, dark, print"):
            render(figure("latency"), kind, scheme)


@pytest.mark.parametrize("name", FIGURES)
def test_figure_without_rows_says_so(name: str) -> None:
    for report in ({}, make_report(**{PART.get(name, name): []})):
        made = FIGURES[name](report, Options(narrow=True))
        assert made.table == [] and made.columns
        assert made.caption == made.alt and made.alt.endswith(".")
        said = " ".join(text.text or "" for text in tags(ET.fromstring(render(made, "svg")), "text"))
        assert said == made.alt


@pytest.mark.parametrize("name", [name for name in OF_ROWS if name not in UNNAMED])
def test_names_from_outside_stay_text(name: str) -> None:
    report = make_report(models=(HOSTILE,), sources=("field", "offline", HOSTILE))
    rows = [row | ({"model": HOSTILE} if row["source"] != "field" else {}) for row in report[PART.get(name, name)]]
    for row in rows:
        row |= {key: HOSTILE for key in ("name", "label", "variant", "value", "set") if key in row}
    made = FIGURES[name](report | {PART.get(name, name): rows, "study": HOSTILE}, Options())
    root = ET.fromstring(render(made, "svg"))
    assert tags(root, "script") == []
    assert "\x00" not in made.caption + made.alt
    assert any("<script>alert(1)</script>" in (element.text or "") for element in root.iter())


def undefined(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a source with nothing to measure: nulls with a reason."""
    words = "jsd_bits jsd_excess tv effect min max mean spearman accuracy within person taken width usd correct_share"
    keys = [*MEASURES, *words.split(), "ci", "noise_floor", "standardised"]
    changed = {key: None for key in keys if key in row} | {"why": "nothing to measure"}
    return row | changed | ({"runs": []} if "runs" in row else {})


@pytest.mark.parametrize("name", [name for name in OF_ROWS if name not in ("items", "latency", *UNNAMED)])
def test_undefined_values_are_left_out_counted_and_explained(name: str) -> None:
    part = PART.get(name, name)
    report = make_report(lists=LISTS[:2])
    rows = [*report[part][:1], undefined(report[part][1]), *report[part][2:]]
    made = FIGURES[name](report | {part: rows}, Options())
    assert "could not be computed" in made.caption
    assert len(made.table) == len(rows)
    assert "NaN" not in json.dumps(made.spec) and "null" not in made.alt
    render(made, "svg")


def test_table_says_why_when_no_row_has_a_value() -> None:
    rows = [undefined(row) for row in make_report()["heterogeneity"][:2]]
    made = FIGURES["heterogeneity"]({"heterogeneity": rows}, Options())
    assert made.alt.startswith("No answers")
    assert [row["why"] for row in made.table] == ["nothing to measure"] * 2


def test_not_a_number_is_no_number() -> None:
    rows = [variety_row_with(entropy_bits=float("nan"), ci={})]
    made = FIGURES["heterogeneity"]({"heterogeneity": rows}, Options())
    assert made.table[0]["entropy_bits"] is None
    json.dumps(made.spec, allow_nan=False)


def variety_row_with(**changes: Any) -> dict[str, Any]:
    values = {"unique": 12, "top5_coverage": 0.5, "entropy_bits": 3.0, "n": 40}
    return {"prompt": "books", "source": "field", "model": "all", **values, **changes}


def test_correct_answers_are_hatched() -> None:
    rows = figure("choices").spec["datasets"]["rows"]
    hatched = [row for row in rows if row["kind"] == "hatch"]
    assert len(hatched) == len(QUESTIONS) * len(MODELS) * len(SOURCES)
    correct = [row for row in rows if row["kind"] == "segment" and row["text"].endswith("correct")]
    assert {(row["prompt"], row["model"], row["source"], row["start"]) for row in hatched} == {
        (row["prompt"], row["model"], row["source"], row["start"]) for row in correct
    }
    lines = [path for path in tags(drawn("choices"), "path") if path.get("stroke") == LIGHT["on-option"]]
    assert len(lines) == len(hatched) + 1  # and one in the key
    assert all(path.get("fill") in (None, "none", "transparent") for path in lines)


def test_segments_of_a_bar_add_up_to_one() -> None:
    rows = figure("choices").spec["datasets"]["rows"]
    bars: dict[tuple[str, ...], float] = {}
    for row in rows:
        if row["kind"] == "segment":
            bar = (row["prompt"], row["model"], row["source"])
            bars[bar] = bars.get(bar, 0) + row["end"] - row["start"]
    assert len(bars) == 40 and all(abs(total - 1) < 1e-9 for total in bars.values())


def test_marks_tell_their_numbers() -> None:
    told = [title.text for title in tags(drawn("heterogeneity"), "title")]
    made = figure("heterogeneity")
    assert len(told) == 1 + len(made.table) * len(MEASURES)  # its name, and each measure of every row
    row = made.table[0]
    assert f"Field, Haircuts, gpt-4o-mini: entropy {row['entropy_bits']:.2f}" in " ".join(map(str, told))


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
def test_many_models_and_prompts_find_room(narrow: bool) -> None:
    models, lists = (tuple(f"{word}-{number}" for number in range(n)) for word, n in (("model", 4), ("prompt", 13)))
    made = FIGURES["heterogeneity"](make_report(models=models, lists=lists), Options(narrow=narrow))
    assert len(made.spec["datasets"]["rows"]) == 13 * 4 * 5 * len(MEASURES)
    root = ET.fromstring(render(made, "svg"))
    assert float(root.get("width", "0")) <= made.width + 35
    assert len([title for title in tags(root, "title") if title.get("id") is None]) == 13 * 4 * 5 * len(MEASURES)


def test_field_of_a_chatbot_stands_beside_each_of_its_models() -> None:
    rows = [
        variety_row_with(model="chatgpt"),
        *(variety_row_with(source="offline", model=model) for model in ("a", "b")),
    ]
    groups = [{"chatbot": "chatgpt", "models": ["a", "b"]}]
    table = FIGURES["heterogeneity"]({"heterogeneity": rows, "groups": groups}, Options()).table
    found = [(row["model"], row["source"]) for row in table]
    assert found == [("a", "field"), ("b", "field"), ("a", "offline"), ("b", "offline")]


def test_field_that_no_model_is_compared_with_stays() -> None:
    groups = [{"chatbot": "chatgpt", "models": []}, {"chatbot": None, "models": ["llama"]}]
    rows = [variety_row_with(model="chatgpt"), variety_row_with(model="all")]
    table = FIGURES["heterogeneity"]({"heterogeneity": rows, "groups": groups}, Options()).table
    assert [row["model"] for row in table] == ["chatgpt", "llama"]
