"""Rows of a study's tables as its exports have them, and a study of annotators with a row in each of its tables."""

import json
from typing import Any

from analysis.exports.exports import codebook_of, count_rows, stream_rows
from analysis.exports.people_tables import Selection
from surveys.annotation.qualification import Verdict, decide_gate
from surveys.models import Study
from tests.factories import annotate, make_annotation_study, make_annotator, make_items


def rows_of(study: Study, table: str, **selection: bool) -> list[dict[str, Any]]:
    """Return the rows with their JSON parsed; assert that count and columns are the codebook's."""
    chosen = Selection(**selection)
    described = codebook_of(study, chosen.pids).tables[table]
    rows = list(stream_rows(study, described, chosen))
    assert len(rows) == count_rows(study, described, chosen)
    assert all(list(row) == [column.name for column in described.columns] for row in rows)
    as_json = [column.name for column in described.columns if column.kind == "json"]
    return [row | {name: json.loads(row[name]) for name in as_json} for row in rows]


def make_judged() -> Study:
    """Make a study with one item and one annotator, whom the gate kept."""
    study = make_annotation_study(slug="judged")
    make_items(study, 1)
    person = make_annotator(study)
    annotate(person)
    verdict = {person.pseudonym: Verdict(True)}
    decide_gate(study, "owner", verdict, pilot=False, rule="All.", thresholds={}, reason="Good.")
    return study
