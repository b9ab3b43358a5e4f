"""A report as tables of words, and for a terminal: findings as sentences, then tables with aligned columns."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from analysis.charts.figure import Options, Report, Row
from analysis.report.columns import Column, Ends, Form, Listing
from analysis.report.parts import PARTS
from analysis.report.reports import findings
from surveys.console.wording import decimal, dollars, p_value, plural, with_unit

NOTHING = "–"


@dataclass(frozen=True)
class TextTable:
    """Cells as they are shown; `right` says which columns hold numbers."""

    part: str
    title: str
    definitions: tuple[str, ...]
    labels: tuple[str, ...]
    right: tuple[bool, ...]
    rows: list[list[str]]
    notes: list[str]  # why values are undefined

    @property
    def heads(self) -> list[dict[str, Any]]:
        return [{"label": label, "right": right} for label, right in zip(self.labels, self.right, strict=True)]

    @property
    def cells(self) -> list[list[dict[str, Any]]]:
        """Each cell with the side it stands on, for templates."""
        return [
            [{"text": cell, "right": right} for cell, right in zip(row, self.right, strict=True)] for row in self.rows
        ]


def tables_of(report: Report, parts: Iterable[str] | None = None) -> list[TextTable]:
    """The tables of these parts that have rows, in the order of the registry; by default of all."""
    wanted = PARTS.keys() if parts is None else set(parts)
    chosen = [(part.name, listing) for part in PARTS.values() if part.name in wanted for listing in part.tables]
    found = [make_table(name, listing, listing.rows(report, Options())) for name, listing in chosen]
    return [table for table in found if table.rows]


def make_table(part: str, listing: Listing, rows: list[Row]) -> TextTable:
    """Columns that hold nothing are left out."""
    written = [(column, [write(column, row) for row in rows]) for column in listing.columns_of(rows, Options())]
    shown = [(column, cells) for column, cells in written if any(cell != NOTHING for cell in cells)]
    undefined = [row[key] for row in rows for key in ("why", "why_references", "why_nearest") if row.get(key)]
    unsure = [why for column, _ in shown for row in rows if (why := column.unsure(row))]
    return TextTable(
        part=part,
        title=str(listing.title),
        definitions=listing.definitions,
        labels=tuple(column.head for column, _ in shown),
        right=tuple(column.form.is_number for column, _ in shown),
        rows=[list(cells) for cells in zip(*(cells for _, cells in shown), strict=True)],
        notes=list(dict.fromkeys([*undefined, *unsure])),
    )


def write(column: Column, row: Row) -> str:
    written = write_value(column.form_in(row), column.of(row), column.around(row))
    written += f" ({NOTHING})" * bool(column.unsure(row))
    soft = column.soft(row) if column.soft and written != NOTHING else ""
    return f"{written}, {soft}" if soft else written


def write_value(form: Form, value: Any, ci: Ends = None) -> str:
    """The value with its interval in brackets."""
    if value is None or value == "":
        return NOTHING
    if form.kind == "p":
        return p_value(value)
    if form.kind == "ends":
        return with_unit(ends(form, value), form.unit)
    if form.kind == "dollars":
        return dollars(value)
    if not form.is_number:
        return str(value)
    shown = decimal(form.scale * value, form.digits, form.unit, form.sign)
    return shown if ci is None else f"{shown} ({ends(form, ci)})"


def ends(form: Form, pair: Sequence[float]) -> str:
    return " to ".join(decimal(form.scale * end, form.digits) for end in pair)


# What is printed unless parts are named.
SHORT = tuple(part.name for part in PARTS.values() if part.is_brief)
GAP = "  "


def write_text(report: Mapping[str, Any], parts: Iterable[str] | None = None, width: int | None = None) -> str:
    columns = width or shutil.get_terminal_size((120, 40)).columns
    tables = tables_of(report, SHORT if parts is None else parts)
    blocks = [
        "\n".join(heading(report, columns)),
        "\n".join(found_lines(report, columns)),
        *("\n".join(table_lines(table, report["definitions"], columns)) for table in tables),
    ]
    return "\n\n".join(block for block in blocks if block)


def heading(report: Mapping[str, Any], columns: int) -> Iterator[str]:
    yield f"{report['title']} · {report['study']}, version {report['version']} ({report['version_sha256'][:8]})"
    for sentence in basis(report):
        yield from textwrap.wrap(sentence, columns)


def basis(report: Mapping[str, Any]) -> Iterator[str]:
    """What the numbers rest on, in sentences."""
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
    found = findings(report)
    if not found:
        yield from textwrap.wrap("Nothing stands out yet: no difference that chance does not explain.", columns)
        return
    yield "WHAT STANDS OUT"
    for number, finding in enumerate(found, 1):
        lead = f"{number:2}. "
        yield from textwrap.wrap(finding["sentence"], columns, initial_indent=lead, subsequent_indent=" " * len(lead))


def table_lines(table: TextTable, definitions: Mapping[str, str], columns: int) -> Iterator[str]:
    yield table.title.upper()
    for name in table.definitions:
        if name in definitions:
            yield from textwrap.wrap(f"{name}: {definitions[name]}", columns, subsequent_indent="  ")
    yield ""
    yield from aligned(table)
    for note in table.notes:
        yield from textwrap.wrap(f"– {note}", columns, subsequent_indent="  ")


def aligned(table: TextTable) -> Iterator[str]:
    """Numbers to the right, words to the left; what repeats the row above is left blank in the first column."""
    lines = [list(table.labels), *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.labels))]
    previous = None
    for line in lines:
        first = line[0]
        shown = ["" if first == previous else first, *line[1:]]
        previous = first
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(shown, widths, table.right, strict=True)
        ]
        yield GAP.join(cells).rstrip()
