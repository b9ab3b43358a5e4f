"""Every part of the report, and every measure, has all that pages, documents, exports and docs need."""

import inspect
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from analysis.charts.figure import Options, Report
from analysis.report.claims.gate import KINDS
from analysis.report.claims.gate import PAGES as WEIGHTS
from analysis.report.columns import ASKED, DEFAULT, IN_ROWS, OF_CHOICES, OF_LISTS, Measure, Part, TableSpec
from analysis.report.outputs import SHORT, tables_of
from analysis.report.pages.shown import MEASURES as IN_ADDRESSES
from analysis.report.pages.shown import PAGE_OF_FIGURE, PAGE_OF_KIND, PAGES
from analysis.report.parts import DEFINITIONS, FIGURES, INTERVALS, PART_OF_FIGURE, PARTS
from analysis.report.reports import code_files
from analysis.report.reports import report as make_whole
from analysis.stats import heterogeneity
from analysis.stats.intervals import share_interval
from tests.analysis.report.figure_rows import make_report
from tests.analysis.report.report_samples import make_teas
from tests.analysis.report.test_bundle import add_world
from tests.test_architecture import imports_of, modules_of, sources, whole

ONE_OBJECT = ("about", "flow", "as_planned")  # one object each, shown in words or on cards
MEASURES = (*OF_LISTS, *OF_CHOICES)
SHOWN = [part for part in PARTS.values() if part.name not in ONE_OBJECT]


@pytest.fixture(scope="module")
def report() -> Report:
    return make_report()


def by_name(entry: Part | Measure) -> str:
    return entry.name


def test_a_part_has_words_definitions_tables_a_figure_and_a_page() -> None:
    assert all(part.words and (part.definitions or part.name == "flow") for part in PARTS.values())
    specs = [spec for part in PARTS.values() for spec in (*part.tables, *part.pages)]
    assert {name for spec in specs for name in spec.definitions} <= DEFINITIONS.keys()
    for part in SHOWN:
        assert part.tables and part.pages and part.draw and all(table.definitions for table in part.tables), part.name
        assert part.name in PAGE_OF_FIGURE[part.drawn_as].parts


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_needs_no_other_parts_than_it_names(name: str, report: Report) -> None:
    part = PART_OF_FIGURE[name]
    needed = (part.name, *part.draws_from)
    alone = {key: value for key, value in report.items() if key not in PARTS or key in needed}
    assert FIGURES[name](alone, Options()).spec == FIGURES[name](dict(report), Options()).spec


@pytest.mark.parametrize("name", ["heterogeneity", "pair", "choices"])
def test_where_a_table_has_several_differences_each_head_says_of_what(name: str) -> None:
    for spec in PARTS[name].tables:
        columns = spec.columns([], Options()) if callable(spec.columns) else spec.columns
        heads = [column.head for column in columns if column.head != "p (Holm)"]
        assert len({head.removesuffix(", points") for head in heads}) == len(heads), spec.name


def test_anchors_of_tables_are_their_own() -> None:
    names = [spec.name for part in PARTS.values() for spec in part.pages]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_a_page_opens_with_a_sentence(page: object) -> None:
    assert PARTS[page.parts[0]].say  # type: ignore[attr-defined]


def test_every_kind_of_claim_has_its_part_and_its_page() -> None:
    assert {page.kind for page in PAGES.values() if page.kind} == {kind.page for kind in KINDS.values()}
    assert {kind.page for kind in KINDS.values()} == PAGE_OF_KIND.keys()
    assert all(kind.part in PARTS for kind in KINDS.values())
    for page, weights in WEIGHTS.items():
        assert {KINDS[kind].part for kind in weights} <= {*PAGES[page].parts}


def test_terminal_and_paper_know_the_parts() -> None:
    assert set(SHORT) == {part.name for part in PARTS.values() if part.is_brief}
    assert not [part.name for part in SHOWN if part.is_brief and part.is_long]


# --- measures


@pytest.mark.parametrize("measure", MEASURES, ids=by_name)
def test_a_measure_is_named_defined_and_asked_for(measure: Measure) -> None:
    assert measure.label and measure.title and measure.spoken and measure.unit
    assert DEFINITIONS[measure.name] == measure.definition
    assert measure.key in DEFINITIONS and IN_ROWS[measure.key].key == measure.key
    assert measure.name in IN_ADDRESSES and ASKED[measure.name] is measure


def test_what_the_statistics_measure_is_what_the_report_shows() -> None:
    assert {measure.key for measure in OF_LISTS} == set(heterogeneity.MEASURES)
    assert next(iter(ASKED.values())) is DEFAULT


@pytest.mark.parametrize("measure", OF_LISTS, ids=by_name)
def test_a_measure_of_lists_stands_in_every_output(measure: Measure, report: Report) -> None:
    def labels(spec: TableSpec, **options: object) -> list[str]:
        rows = spec.rows(report, Options())
        columns = spec.table(rows, Options(**options)).columns  # type: ignore[arg-type]
        return [column.label for column in columns]

    variety, against, pooled = PARTS["heterogeneity"].pages
    groups = PARTS["cells"].pages[0]
    for spec in (variety, groups):
        assert measure.label in labels(spec) and measure.label in labels(spec, rarefied=True)
    for spec in (against, pooled):
        assert any(label.startswith(measure.label) for label in labels(spec))
    assert measure.column().head in {
        column.head for _, table in tables_of(report, ["heterogeneity"]) for column in table.columns
    }
    assert measure.name in {column.name for column in FIGURES["heterogeneity"](report, Options()).columns}
    drawn = FIGURES["demographics"](report, Options(measure=measure.name))
    assert measure.name in {column.name for column in drawn.columns}


def test_kept_results_rest_on_the_code_of_every_part_and_of_the_statistics_that_it_uses() -> None:
    files = {path.resolve() for path in code_files()}
    assert {Path(inspect.getfile(inspect.unwrap(part.compute))) for part in PARTS.values()} - files == set()
    known = modules_of(sources("analysis"))
    used = {known.get(whole(module, known)) for path in files for module, _ in imports_of(path) if ".stats." in module}
    assert used - files - {None} == set()


def test_no_part_takes_the_name_of_another_ones_definition() -> None:
    assert sum(len(part.definitions) for part in PARTS.values()) == len(DEFINITIONS)


def test_every_definition_has_its_place_in_the_docs() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "methods.md").read_text()
    assert DEFINITIONS.keys() - set(re.findall(r'<a id="(\w+)"></a>', text)) == set()


# --- intervals


def intervals_in(row: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The dotted path of every interval, or of the null in its place; `bounds` are not intervals.

    `ci_why` is a sentence that says why there is none.
    """
    if isinstance(row, dict):
        for name, value in row.items():
            yield from intervals_in(value, (*path, name))
    elif isinstance(row, list) and row and isinstance(row[0], dict):
        for value in row:
            yield from intervals_in(value, path)
    elif (row is None or isinstance(row, list)) and any(word == "ci" for name in path for word in name.split("_")):
        yield ".".join(path)


@pytest.mark.django_db
def test_every_interval_of_a_report_has_one_kind_and_one_unit() -> None:
    whole = make_whole(add_world(make_teas()), draws=20)
    said = [(part, entry) for part, entries in whole["intervals"].items() for entry in entries]
    found = {
        (part, column, row.get("kind"))
        for part in (*PARTS, "claims")
        for row in (whole[part] if isinstance(whole.get(part), list) else [])
        for column in intervals_in(row)
    }
    matching = {
        place: [
            entry
            for part, entry in said
            if part == place[0] and depth(entry["column"]) == depth(place[1]) and fnmatch(place[1], entry["column"])
            if entry.get("of") in (None, place[2])
        ]
        for place in found
    }
    assert {place: entries for place, entries in matching.items() if len(entries) != 1} == {}
    assert whole["intervals"] == INTERVALS and len(found) > 50
    words = (Path(settings.BASE_DIR) / "docs" / "methods.md").read_text()
    assert all(f"| `{entry['kind']}` |" in words and f"- `{entry['unit']}`: " in words for _, entry in said)
    for row in (row for row in whole["choices"] if row["n"] > 1):
        for share in row["shares"].values():
            assert share["ci"] == pytest.approx(share_interval(round(share["share"] * row["n"]), row["n"]), abs=1e-8)


def depth(column: str) -> int:
    return column.count(".")
