"""Exhibits as text for a terminal, and as a document for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.papers.exhibits import Exhibit


def write_text(made: Sequence[Exhibit], simulated: Sequence[str]) -> str:
    """For a terminal: each exhibit with its numbers, or why there is none."""
    blocks = [f"Simulated, not real: {', '.join(simulated)}"] if simulated else []
    for each in made:
        where = f" ({each.study})" if each.study else ""
        lines = [f"{each.number.upper()}  {each.title}{where}"]
        lines += [f"  {words}" for words in (each.note, each.why) if words]
        for table in each.tables:
            lines += ["", *([f"  {table.title}"] if table.title else []), *(f"  {line}" for line in table.aligned())]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def as_document(each: Exhibit) -> Mapping[str, Any]:
    """For programs: every number with its interval, n, and the reason where there is none."""
    return {
        "number": each.number,
        "title": each.title,
        "study": each.study,
        "note": each.note,
        "why": each.why,
        "figure": list(each.figure.table) if each.figure else [],
        "tables": [
            {
                "title": table.title,
                "columns": [column.label for column in table.columns],
                "rows": [
                    [{"value": cell.value, "ci": cell.ci, "n": cell.n, "why": cell.why} for cell in row]
                    for row in table.rows
                ],
            }
            for table in each.tables
        ],
    }
