"""Each condition and setting is one record: pages, forms, exports, figures, styles and docs have all of them."""

import ast
import inspect
from typing import Any

import pytest
from django.core.management import load_command_class

from analysis.charts.theme import shape_of
from analysis.exports.model_tables import RUNS
from analysis.management.demo import RUNS as DEMO_RUNS
from analysis.models import Corpus, Endpoint, PersonaSet, Run
from analysis.models.conditions import BY_NAME, CONDITIONS, PUPPETS, SETTINGS, SOURCES, STORED, Condition, RunSetting
from analysis.report.samples import source_of
from analysis.runs.api import ORDER, RunSerializer
from analysis.runs.pages.new_run import RunForm
from analysis.runs.pages.words import compare_settings
from analysis.runs.recipes.plans import Plan
from analysis.runs.recipes.recipes import BUILDERS
from fieldstudy.embedded.servers import ROOT
from tests.factories import make_definition
from tests.styles import SHEET, write_sheet

RECORDS = pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
EACH = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
TOLD = [setting for setting in STORED if setting.name != "users"]
VALUES: dict[Any, Any] = {int: 7, bool: True, str: "de", Corpus: Corpus(name="a"), PersonaSet: PersonaSet(name="a")}


def option_strings(command: str) -> set[str]:
    parser = load_command_class("analysis", command).create_parser("manage.py", command)
    return set(parser._option_string_actions)


@EACH
def test_every_way_to_ask_for_a_run_has_it(setting: RunSetting) -> None:
    assert any(setting.name in condition.takes for condition in CONDITIONS.values())
    assert setting.flag in option_strings("run_baseline") & option_strings("run_benchmark")
    assert setting.name in RunForm.base_fields.keys() & ORDER.fields.keys()
    assert setting.is_stored == (setting.name in Plan.__dataclass_fields__)
    assert setting.is_stored == (setting.name in RunSerializer.Meta.fields)
    assert bool(setting.column) == (setting.name in {column.name for column in RUNS})


def test_settings_take_no_name_of_another_field() -> None:
    declared = ast.parse(inspect.getsource(Run)).body[0]
    assert isinstance(declared, ast.ClassDef)
    assigned = [target for line in declared.body if isinstance(line, ast.Assign) for target in line.targets]
    own = {target.id for target in assigned if isinstance(target, ast.Name)}
    assert own & BY_NAME.keys() == set(), "runs have a field of this name; call the setting something else"


@pytest.mark.parametrize("setting", STORED, ids=lambda setting: setting.name)
def test_runs_that_do_not_say_it_can_be_stored(setting: RunSetting) -> None:
    plan = Plan(Endpoint(name="gpt", model="gpt-4o-mini"), "offline")
    is_open = getattr(plan, setting.name) is None
    assert Run._meta.get_field(setting.name).null or not is_open, 'its column is never null: a text has the default ""'


@pytest.mark.parametrize("setting", TOLD, ids=lambda setting: setting.name)
def test_runs_that_differ_in_it_are_different_sources(setting: RunSetting) -> None:
    condition = next(slug for slug, each in CONDITIONS.items() if setting.name in each.takes)
    plain = Run(condition=condition, endpoint=Endpoint(name="gpt", model="gpt-4o-mini"))
    other = Run(condition=condition, endpoint=plain.endpoint, **{setting.name: VALUES[setting.kind]})
    one, two = (source_of(run, make_definition()) for run in (plain, other))
    assert one.settings != two.settings and one != two
    assert [row.label for row in compare_settings([plain, other]) if row.differ] == [setting.label]


# --- conditions


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
    assert {asked.condition for asked in DEMO_RUNS} <= set(CONDITIONS)
