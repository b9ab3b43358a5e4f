"""The columns that every table has: a contract with everybody who reads the files.

Those of exports stand in the goldens, those of bundles here.
"""

import csv
from pathlib import Path

from analysis.exports.annotation_tables import annotation_tables
from analysis.exports.answer_tables import answer_tables
from analysis.exports.codebook import ExportTable, Version
from analysis.exports.exports import ANNOTATION_TABLES, TABLES
from analysis.exports.model_tables import model_tables
from analysis.exports.people_tables import people_tables
from analysis.report.bundle.tables import UNIVERSES, own_tables
from surveys.models import Study
from tests.factories import make_definition

TABLES_KEPT = Path(__file__).parents[2] / "goldens" / "tables"
OF_THE_STUDY = ("answer_", "attention_")  # what participants were asked
IN_BUNDLES = {
    "answers": (
        "participant chatbot cell memory plan model_shown version origin state prompt language flagged flags excluded "
        "counted rating letter items doubt rules_version decided text"
    ),
    "askings": (
        "participant chatbot cell memory plan model_shown version origin state prompt language flagged flags excluded "
        "counted rating arm occasion unreached letter items doubt rules_version decided text"
    ),
    "completions": (
        "run user repeat prompt item status prompt_tokens cached_tokens completion_tokens latency_ms usd user_name "
        "recipe letter items doubt rules_version decided text"
    ),
    "runs": (
        "run source model benchmark label imported simulated temperature history_size memory_size per_user corpus "
        "personas users repeats seed first_run began_at settings"
    ),
    "prompts": "prompt kind options correct variant_of variant",
    "benchmark_items": "benchmark item answer",
    "aliases": "prompt spelling item",
    "alias_decisions": "number prompt action spellings item undoes decided_at",
    "answer_decisions": "participant run asked letter items is_undo decided_at",
    "multiverse": (
        "hypothesis prompts universe exclusions flagged doubtful spellings reader language temperature pilot people "
        "value low high p n_a n_b same_sign significant simulated"
    ),
}


def names_of(tables: list[ExportTable]) -> dict[str, list[str]]:
    return {table.name: [column.name for column in table.columns] for table in tables}


def test_exports_have_the_columns_that_were_published() -> None:
    version = Version(1, "", "", "", make_definition())
    people = people_tables((version,), imported=[])
    tables = [*people, *answer_tables((version,)), *model_tables(), *annotation_tables()]
    assert [table.name for table in tables] == [*TABLES, *ANNOTATION_TABLES]
    published = {}
    for path in TABLES_KEPT.glob("*.csv"):
        with path.open(newline="") as file:
            published[path.stem.rpartition("-")[2]] = next(csv.reader(file))
    assert without_own(names_of(tables)) == without_own(published)


def without_own(tables: dict[str, list[str]]) -> dict[str, list[str]]:
    return {table: [name for name in names if not name.startswith(OF_THE_STUDY)] for table, names in tables.items()}


def test_bundles_have_the_columns_that_were_published() -> None:
    tables = [*(table for table, _ in own_tables(Study(), texts=True)), UNIVERSES]
    assert names_of(tables) == {table: names.split() for table, names in IN_BUNDLES.items()}
