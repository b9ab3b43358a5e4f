"""A report for a terminal: the findings as sentences, then tables with aligned columns."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from analysis.report.findings import findings
from analysis.report.outputs.tables import Table, tables_of

# What is printed unless parts are named; the others are long.
SHORT = ("heterogeneity", "choices", "distances", "calibration", "benchmarks", "costs", "drift", "variants")
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


def plural(number: int, word: str, many: str = "") -> str:
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def found_lines(report: Mapping[str, Any], columns: int) -> Iterator[str]:
    found = findings(report)
    if not found:
        yield from textwrap.wrap("Nothing stands out yet: no difference that chance does not explain.", columns)
        return
    yield "WHAT STANDS OUT"
    for number, finding in enumerate(found, 1):
        lead = f"{number:2}. "
        yield from textwrap.wrap(finding["sentence"], columns, initial_indent=lead, subsequent_indent=" " * len(lead))


def table_lines(table: Table, definitions: Mapping[str, str], columns: int) -> Iterator[str]:
    yield table.title.upper()
    for name in table.definitions:
        if name in definitions:
            yield from textwrap.wrap(f"{name}: {definitions[name]}", columns, subsequent_indent="  ")
    yield ""
    yield from aligned(table)
    for note in table.notes:
        yield from textwrap.wrap(f"– {note}", columns, subsequent_indent="  ")


def aligned(table: Table) -> Iterator[str]:
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
