"""Every condition has all that plans, forms, pages, exports, figures, styles and docs ask of it."""

import pytest

from analysis.charts.theme import shape_of
from analysis.management.demo import RUNS
from analysis.models import Run
from analysis.models.conditions import CONDITIONS, PUPPETS, SOURCES, Condition
from analysis.models.settings import BY_NAME
from analysis.runs.recipes.recipes import BUILDERS
from fieldstudy.embedded.servers import ROOT
from tests.styles import SHEET, write_sheet

RECORDS = pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)


def test_sock_puppets_are_the_conditions_with_a_builder() -> None:
    assert set(BUILDERS) == set(PUPPETS)


def test_runs_may_have_every_condition() -> None:
    assert [*CONDITIONS, Run.Condition.IMPORTED, Run.Condition.JUDGE, Run.Condition.TASK] == Run.Condition.values
    assert max(map(len, CONDITIONS)) <= Run._meta.get_field("condition").max_length


@RECORDS
def test_record_says_all_that_forms_and_plans_need(condition: Condition) -> None:
    assert set(condition.takes) <= BY_NAME.keys()
    assert set(condition.needs) <= set(condition.takes)
    assert all(BY_NAME[name].missing and BY_NAME[name].noun for name in condition.needs)
    assert condition.sentence.endswith(".") and condition.prose
    assert bool(condition.counted) == condition.is_puppet


def test_sources_are_told_apart_by_their_words_and_looks() -> None:
    looks = [(source.label, source.prose, shape_of(name)) for name, source in SOURCES.items()]
    assert all(len(set(column)) == len(SOURCES) for column in zip(*looks, strict=True))


def test_style_sheet_is_what_follows_from_the_records() -> None:
    assert SHEET.read_text() == write_sheet(), "make styles"


@RECORDS
def test_docs_show_what_a_model_is_sent(condition: Condition) -> None:
    assert f"\n| `{condition.slug}` | " in (ROOT / "docs/runs.md").read_text()


def test_demo_asks_in_known_conditions() -> None:
    assert {asked.condition for asked in RUNS} <= set(CONDITIONS)
