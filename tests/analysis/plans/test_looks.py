"""Looks in a plan: where studies stop, with how many people, and that all looks together keep alpha."""

from dataclasses import replace

import pytest
from scipy.stats import binom

from analysis.plans.simulating import Setting, judge_look, judge_looks, simulate, simulate_size, times_of
from analysis.plans.texts import looks_lines
from analysis.plans.worlds import HOPEFUL, NOTHING
from analysis.stats.hypotheses import tested
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


def test_early_looks_claim_only_what_is_far_apart() -> None:
    """A p of 0.02 would be enough by itself; among several looks it is enough only at the end."""
    small, times = tested.Tested(0.3, (0.1, 0.5), 0.02), times_of(LOOKED_AT)
    assert [judge_look((ASSAM,), [small], LOOKED_AT, times, look)[1] for look in (0, 2)] == [[False], [True]]


def test_the_worst_family_is_the_one_that_claims_most_for_its_alpha() -> None:
    """In one family with an alpha of 0.5 all of four studies pass, in another with 0.01 only one."""
    strict, loose = replace(ASSAM, family="strict", alpha=0.01), replace(GREEN, family="loose", alpha=0.5)
    definition = replace(LOOKED_AT, hypotheses=(strict, loose), plan=None)
    far, near = tested.Tested(0.3, (0.1, 0.5), 0.001), tested.Tested(0.3, (0.1, 0.5), 0.1)
    judged = judge_looks(definition.hypotheses, [[[far], [near], [near], [near]], [[near]] * 4], definition)
    assert (judged.family, judged.alpha, list(judged.claims)) == ("strict", 0.01, [True, False, False, False])
    report = {"looks": [], "alphas": {"strict": 0.01, "loose": 0.5}}
    nothing = {"people": 200, "family": "strict", "alpha": 0.01, "claimed": 0.25, "claimed_ci": [0.05, 0.7]}
    assert looks_lines(report | {"nothing": nothing})[-1].endswith(
        "with 200 people claim anything of strict, the worst family, at any look; its alpha is 0.01."
    )


def test_the_plan_tells_looks_and_has_none_where_the_file_has_none() -> None:
    found = simulate(LOOKED_AT, Setting((100, 200), 20))
    assert {(row["scenario"], row["people"]) for row in found["looks"]} >= {("middle", 100), ("cautious", 200)}
    assert found["looks"][0]["stops"][0]["people"] == 50  # half of the people, however many
    lines = looks_lines(found)
    assert (
        lines[0].startswith("hopeful: of 20 studies ")
        and "stop at 150 people" in lines[0]
        and lines[-1].startswith("Where nothing differs, ")
        and lines[-1].endswith(" claim anything at any look; alpha is 0.05.")
    )
    without = simulate(replace(LOOKED_AT, plan=None), Setting((100,), 20))
    assert (without["looks"], without["nothing"]) == ([], None)
