"""Agreement in each group of labels as a file."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.agreement.tables import GROUP_MEASURES, GROUP_TITLES
from analysis.exports.formats import csv_cell

Shape = Mapping[str, Any]


def write_groups(question: Shape, labels: Sequence[str]) -> str:
    """A row for each number of each group, with its n, interval, and the reason where one is undefined."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["grouping", "group", "measure", "n", "value", "low", "high", "why"])
    for name in GROUP_TITLES:
        for row in question.get(f"by_{name}", ()):
            writer.writerows([name, csv_cell(row[name]), *map(csv_cell, cells)] for cells in numbers_of(row, labels))
    return out.getvalue()


def numbers_of(row: Shape, labels: Sequence[str]) -> Iterator[list[Any]]:
    for measure in GROUP_MEASURES:
        found = row[measure]
        yield [measure, found["n"], found["value"], *(found["ci"] or ("", "")), found.get("why", "")]
    why = row["ci"].get("why", {}).get("shares", "")
    for label in labels:
        ci = row["ci"]["shares"][label]
        yield [f"share of {label}", row["n"], row["shares"][label], *(ci or ("", "")), "" if ci else why]
