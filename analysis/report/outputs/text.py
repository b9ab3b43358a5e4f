"""A report as tables of words, and as text for a terminal: findings as sentences, then aligned tables."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from analysis.charts.figure import Options, Report, Row
from analysis.charts.tables import NOTHING, Table
from analysis.report.claims.gate import opening_of
from analysis.report.columns import TableSpec
from analysis.report.parts import PARTS
from analysis.report.reports import findings
from surveys.studies.wording import plural


def tables_of(report: Report, parts: Iterable[str] | None = None) -> list[tuple[str, Table]]:
    """The tables of these parts that have rows, each with its part's name, in the order of PARTS."""
    wanted = PARTS.keys() if parts is None else set(parts)
    chosen = [(part.name, spec) for part in PARTS.values() if part.name in wanted for spec in part.tables]
    return [(name, make_table(spec, rows)) for name, spec in chosen if (rows := spec.rows(report, Options()))]


def make_table(spec: TableSpec, rows: list[Row]) -> Table:
    """Makes a table without its empty columns, with the reasons for what is undefined."""
    table = spec.table(rows, Options())
    shown = [at for at in range(len(table.columns)) if any(row[at].line != NOTHING for row in table.rows)]
    undefined = [row[key] for row in rows for key in ("why", "why_references", "why_nearest") if row.get(key)]
    unsure = [why for at in shown for row in table.rows if (why := row[at].unsure)]
    return replace(
        table,
        columns=[table.columns[at] for at in shown],
        rows=[[row[at] for at in shown] for row in table.rows],
        reasons=list(dict.fromkeys([*undefined, *unsure])),
    )


# What is printed unless parts are named.
SHORT = tuple(part.name for part in PARTS.values() if part.is_brief)
PLANNED = "as_planned"  # comes before all that was explored


def write_text(report: Mapping[str, Any], parts: Iterable[str] | None = None, width: int | None = None) -> str:
    columns = width or shutil.get_terminal_size((120, 40)).columns
    tables = tables_of(report, SHORT if parts is None else parts)
    blocks = [
        "\n".join(heading(report, columns)),
        *("\n".join(table_lines(table, report["definitions"], columns)) for part, table in tables if part == PLANNED),
        "\n".join(found_lines(report, columns)),
        *("\n".join(table_lines(table, report["definitions"], columns)) for part, table in tables if part != PLANNED),
    ]
    return "\n\n".join(block for block in blocks if block)


def heading(report: Mapping[str, Any], columns: int) -> Iterator[str]:
    yield f"{report['title']} · {report['study']}, version {report['version']} ({report['version_sha256'][:8]})"
    for sentence in basis(report):
        yield from textwrap.wrap(sentence, columns)


def basis(report: Mapping[str, Any]) -> Iterator[str]:
    """Says in sentences what the numbers rest on."""
    answers, simulated = report["answers"], report["simulated"]
    yield (
        f"{answers['field']:,} answers of {plural(answers['people'], 'person', 'people')} and {answers['models']:,} of "
        f"models. {report['filters']['words']}"
    )
    if simulated["is_any"]:
        models = f" of {', '.join(simulated['models'])}" if simulated["models"] else ""
        yield (
            f"SIMULATED: {simulated['people']:,} of {simulated['people_in_all']:,} people and "
            f"{simulated['completions']:,} answers{models} are made up."
        )
    if sentence := report["languages"]["sentence"]:
        yield sentence
    if answers["unread"]:
        yield f"{plural(answers['unread'], 'answer')} not read yet."
    if answers["outdated"]:
        yield f"{plural(answers['outdated'], 'reading')} by earlier rules."
    if report["reading_error"]:
        yield report["reading_error"]
    if answers["reworded"]:
        yield f"{plural(answers['reworded'], 'answer')} to choices in an earlier wording left out."
    for rule in report["exclusions"]:
        if rule["kind"]:
            yield (
                f"Rule {rule['slug']} ({rule['rule']}; declared {rule['declared']}): "
                f"{plural(rule['people'], 'person', 'people')}, {plural(rule['answers'], 'answer')}."
            )
    yield f"{report['draws']:,} draws, seed {report['seed']}; computed {moment(report['generated_at'])}."


def moment(written: str) -> str:
    at = datetime.fromisoformat(written).astimezone(UTC)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def found_lines(report: Mapping[str, Any], columns: int) -> Iterator[str]:
    page = "pair" if report.get("pair") else "overview"
    found = findings(report, page)
    opening = opening_of(report, page) or "There is too little to compare yet."
    if found or report.get(PLANNED):
        yield found_title(report).upper()
    if not found:
        yield from textwrap.wrap(opening, columns)
    for number, finding in enumerate(found, 1):
        lead = f"{number:2}. "
        yield from textwrap.wrap(finding["sentence"], columns, initial_indent=lead, subsequent_indent=" " * len(lead))


def found_title(report: Mapping[str, Any]) -> str:
    """The heading of findings; in a study with a plan these are explored, as no hypothesis asked for them."""
    return "Explored: what stands out" if report.get(PLANNED) else "What stands out"


def table_lines(table: Table, definitions: Mapping[str, str], columns: int) -> Iterator[str]:
    yield table.title.upper()
    for name in table.definitions:
        if name in definitions:
            yield from textwrap.wrap(f"{name}: {definitions[name]}", columns, subsequent_indent="  ")
    yield ""
    yield from table.aligned()
    for reason in table.reasons:
        yield from textwrap.wrap(f"– {reason}", columns, subsequent_indent="  ")
