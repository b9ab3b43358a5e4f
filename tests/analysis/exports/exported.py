"""The rows of a study's tables, as its exports have them."""

import json
from typing import Any

from analysis.exports.exports import codebook_of, count_rows, stream_rows
from analysis.exports.people_tables import Selection
from surveys.models import Study


def rows_of(study: Study, table: str, **selection: bool) -> list[dict[str, Any]]:
    """As many as are counted, in the columns of the codebook; what is JSON in them is read."""
    chosen = Selection(**selection)
    described = codebook_of(study, chosen.pids).tables[table]
    rows = list(stream_rows(study, described, chosen))
    assert len(rows) == count_rows(study, described, chosen)
    assert all(list(row) == [column.name for column in described.columns] for row in rows)
    as_json = [column.name for column in described.columns if column.kind == "json"]
    return [row | {name: json.loads(row[name]) for name in as_json} for row in rows]
