"""Looks in a plan: where studies stop, with how many people, and that all looks together keep alpha."""

from dataclasses import replace

import pytest
from scipy.stats import binom

from analysis.plans.scenarios import HOPEFUL, NOTHING
from analysis.plans.simulating import Setting, simulate, simulate_size
from analysis.plans.texts import looks_lines
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys
from tests.factories import make_definition

PAIR = {"a": "field/gemini", "b": "field/chatgpt", "prompts": ("teas",)}
ASSAM = Hypothesis("assam", "", "item_share", **PAIR, expected="more", smallest=0.2, item="assam")
GREEN = replace(ASSAM, slug="green", item="green")
LOOKED_AT = replace(make_definition(50), hypotheses=(ASSAM, GREEN), plan=PlanKeys(0.05, (100, 150)))


def test_where_much_differs_most_stop_early_and_where_nothing_does_hardly_any() -> None:
    setting = Setting((200,), 200)
    much, nothing = (
        simulate_size(LOOKED_AT, LOOKED_AT.hypotheses, scenario, 200, setting) for scenario in (HOPEFUL, NOTHING)
    )
    stops = much["looks"]["stops"]
    assert [stop["people"] for stop in stops] == [100, 150, 200]
    assert sum(stop["chance"] for stop in stops) == pytest.approx(1)
    assert stops[0]["chance"] + stops[1]["chance"] > 0.5 and much["looks"]["expected"] < 180
    assert nothing["looks"]["stops"][-1]["chance"] > 0.95 and nothing["looks"]["expected"] > 195
    assert nothing["claims"]["claimed"] <= binom.ppf(0.99, 200, 0.05) / 200


def test_the_plan_tells_looks_and_has_none_where_the_file_has_none() -> None:
    found = simulate(LOOKED_AT, Setting((100, 200), 20))
    assert {(row["scenario"], row["people"]) for row in found["looks"]} >= {("middle", 100), ("cautious", 200)}
    assert found["looks"][0]["stops"][0]["people"] == 50  # half of the people, whatever their number
    lines = looks_lines(found)
    assert (
        lines[0].startswith("hopeful: of 20 studies ")
        and "stop at 150 people" in lines[0]
        and lines[-1].startswith("Where nothing differs, ")
    )
    without = simulate(replace(LOOKED_AT, plan=None), Setting((100,), 20))
    assert (without["looks"], without["nothing"]) == ([], None)
