"""A setting is one record: every way to ask for a run has it, and runs that differ in it are told apart."""

from typing import Any

import pytest
from django.core.management import load_command_class

from analysis.exports.model_tables import RUNS
from analysis.models import Corpus, Endpoint, PersonaSet, Run
from analysis.models.conditions import CONDITIONS
from analysis.models.settings import SETTINGS, STORED, RunSetting
from analysis.report.samples import source_of
from analysis.runs.api import ORDER, RunSerializer
from analysis.runs.pages.forms import RunForm
from analysis.runs.pages.settings import compare_settings
from analysis.runs.recipes.plans import Plan
from tests.factories import make_definition

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


@pytest.mark.parametrize("setting", TOLD, ids=lambda setting: setting.name)
def test_runs_that_differ_in_it_are_different_sources(setting: RunSetting) -> None:
    condition = next(slug for slug, each in CONDITIONS.items() if setting.name in each.takes)
    plain = Run(condition=condition, endpoint=Endpoint(name="gpt", model="gpt-4o-mini"))
    other = Run(condition=condition, endpoint=plain.endpoint, **{setting.name: VALUES[setting.kind]})
    one, two = (source_of(run, make_definition()) for run in (plain, other))
    assert one.settings != two.settings and one != two
    assert [row.label for row in compare_settings([plain, other]) if row.differ] == [setting.label]
