"""Money is set aside before a call is sent and settled after it, so that lanes cannot overrun the budget."""

from decimal import Decimal

import pytest

from analysis.models import Run
from analysis.runs.lanes import runs
from analysis.runs.lanes.lanes import run_lane
from tests.analysis.runs.servers import make_fake, make_planned, work_off
from tests.factories import make_study
from tests.surveys.participation.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
PRICES = {"price_in": Decimal(0), "price_out": Decimal(1000), "max_tokens": 100}


def with_budget(budget: str, **changes: object) -> Run:
    """A run of calls that cost at most $0.10 each, and really less; the plan expects them to cost nothing."""
    run = make_planned(make_study(), make_fake(**PRICES | changes), repeats=200)
    Run.objects.filter(pk=run.pk).update(budget=Decimal(budget))
    run.refresh_from_db()
    return run


def test_spent_is_the_sum_of_what_the_calls_cost() -> None:
    run = work_off(make_planned(make_study(), make_fake(**PRICES), repeats=20))
    costs = run.completions.values_list("cost", "completion_tokens")
    assert all(cost == Decimal(tokens) / 1000 for cost, tokens in costs)
    assert run.spent == sum(cost for cost, _ in costs) and run.reserved == 0


def test_run_that_turns_out_dearer_stops_within_its_budget() -> None:
    run = work_off(with_budget("1.50"))
    assert run.state == "stopped" and "budget of $1.50 is used up" in run.reason
    assert Decimal("1.40") - Decimal("0.1") < run.spent <= Decimal("1.50") and run.reserved == 0
    assert set(run.completions.values_list("status", flat=True)) == {"done", "pending"}


def test_two_lanes_together_stay_within_the_budget() -> None:
    run = runs.start(with_budget("2.00", concurrency=16, extra={"latency_ms": 5}))
    at_once([lambda: run_lane(run.pk)] * 3, 30)
    run.refresh_from_db()
    assert run.state == "stopped" and Decimal("1.8") < run.spent <= Decimal("2.00") and run.reserved == 0


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_longest_reply_that_the_endpoint_s_own_fields_allow_is_set_aside(field: str) -> None:
    run = work_off(with_budget("0.30", max_tokens=1, extra={field: 100, "latency_ms": 5}))
    assert run.state == "stopped" and 0 < run.spent <= Decimal("0.30") and run.reserved == 0


def test_raised_budget_lets_it_go_on() -> None:
    run = work_off(with_budget("0.50"))
    before = run.completions.filter(status="done").count()
    runs.resume(run, Decimal("1.00"))
    list(runs.run_inline(run))
    run.refresh_from_db()
    assert run.completions.filter(status="done").count() > before
    assert Decimal("0.5") < run.spent <= Decimal("1.00")
