"""Judges for tests: an endpoint that always says the same, its runs, and what they judge."""

from decimal import Decimal
from typing import Any

from analysis.models import Endpoint, Run
from analysis.runs.asking.plans import plan_judging
from analysis.runs.asking.replies import read_replies
from analysis.runs.lanes.runs import resume, run_inline
from analysis.runs.recipes.messages import messages_for
from surveys.models import Study
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.factories import make_annotation_study, make_items

BOTH = '{"preference/milk": 4, "preference/budget": "No difference"}'


def make_judge(reply: str, **changes: Any) -> Endpoint:
    """A model that always says the same; `latency_ms` and `faults` go into its script."""
    script = {"reply": reply} | {name: changes.pop(name) for name in ("latency_ms", "faults") if name in changes}
    given = {"name": "judge", "model": "judge-1", "price_in": 1, "price_out": 1} | changes
    return make_endpoint(extra=script, **given)


def plan(study: Study, prompt: str = "same", endpoint: str = "judge", **changes: Any) -> Run:
    return plan_judging(study, endpoint, prompt, "tests", **changes)[0]


def judge(study: Study, prompt: str = "same", **changes: Any) -> Run:
    """Plan, ask and read, as the command does."""
    return work_off(plan(study, prompt, **changes))


def work_off(run: Run, budget: Decimal | None = None) -> Run:
    run = resume(run, budget)
    list(run_inline(run))
    read_replies(run)
    return run


def study_of(kind: str, count: int = 3) -> Study:
    study = make_annotation_study(kind=kind)
    make_items(study, count)
    return study


def contents(run: Run) -> list[str]:
    calls = run.completions.order_by("position")
    return [messages_for(call).messages[0]["content"] for call in calls]
