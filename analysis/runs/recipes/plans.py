"""Plans: one row per call before anything is sent, with what the calls will cost."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import Avg, Count, Max, Q

from analysis.endpoints.endpoints import most_tokens, price
from analysis.models import Completion, Endpoint, Run, SimulatedUser
from analysis.models.conditions import BY_NAME, CONDITIONS, STORED, with_fields
from analysis.runs.asking.registry import longest_reply
from analysis.runs.recipes.memory import say_remembered
from analysis.runs.recipes.messages import estimate_prompt_tokens, make_users
from analysis.runs.recipes.questions import questions_of
from analysis.runs.recipes.recipes import say_unsearched
from surveys.models import Prompt, StudyVersion, asked_of_all, locks
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import exact_dollars, plural

State = Run.State

BATCH_PRICE = Decimal("0.5")  # of the price of the same call sent live
# Expected tokens of an answer, until the endpoint has given enough of its kind.
EXPECTED_TOKENS = {"recommendation": 300, "choice": 60}
OF_KIND = {
    "recommendation": Q(prompt__kind="recommendation"),
    "choice": Q(prompt__kind="choice") | Q(item__isnull=False),
}
ENOUGH_ANSWERS = 20
ENOUGH_USERS = 20  # simulated users; with fewer, a note warns about many repeats of each
MOST_CALLS = 5_000_000
ANY_LANGUAGE = "any"


class RunPlanError(Exception):
    """An impossible plan; the message says why and what to do."""


PlanSettings: Any = with_fields("PlanSettings", {setting.name: setting.default for setting in STORED})


@dataclass(frozen=True)
class Plan(PlanSettings):
    """Everything that makes two runs the same, except the number of repeats.

    A `language` of None becomes the study's if the condition takes one; "any" and "" become none.
    """

    endpoint: Endpoint
    condition: str
    version: StudyVersion | None = None
    benchmark: str = ""
    prompts: tuple[str, ...] = ()  # their slugs; empty: all of the version
    temperature: float = 1.0
    seed: int = 0
    prompt_form: str = "helm"
    worked_examples: bool = False
    instruction: str = ""
    both_orders: bool = False
    pilot: bool = False
    batch: bool = False
    owner: Any = None  # of a run without a study: another account's run is another run

    def __post_init__(self) -> None:
        object.__setattr__(self, "language", self._language())
        object.__setattr__(self, "prompts", tuple(self.prompts))

    def _language(self) -> str:
        condition = CONDITIONS.get(self.condition)
        if condition is None or "language" not in condition.takes or self.language == ANY_LANGUAGE:
            return ""
        if self.language is not None:
            return self.language
        return definition_of(self.version.pk).language if self.version else ""


def plan_run(
    plan: Plan, repeats: int, actor: str, *, budget: Decimal | None = None, again: bool = False,
    dry_run: bool = False, first_run: Run | None = None,
) -> tuple[Run, dict[str, Any]]:  # fmt: skip
    """Write one row for each call that is missing; return the run and what the new calls will cost.

    A run of the same plan is extended: its repeats are data, so 400 after 100 are 300 new rows. `again`
    makes a separate run instead, linked to the first of its kind. With `dry_run` nothing is kept.
    """
    check_plan(plan, repeats, budget)
    with transaction.atomic():
        if not dry_run:
            locks.hold("runs", plan.endpoint.pk)  # the second of two orders sees what the first planned
        run = find_or_create(plan, actor, again, first_run)
        new = max(0, repeats - (run.repeats if run.completions.exists() else 0))
        make_users(run)
        estimate = estimate_cost(run, new)
        check_budget(run, estimate, budget)
        if dry_run:
            transaction.set_rollback(True)
        else:
            write_calls(run, new)
            keep_plan(run, repeats, estimate, budget)
    return run, estimate


def check_plan(plan: Plan, repeats: int, budget: Decimal | None) -> None:
    if repeats < 1 or plan.users < 1:
        raise RunPlanError("Repeats and users must be at least 1.")
    if not 0 <= plan.temperature <= 2:
        raise RunPlanError(f"Temperature {plan.temperature:g} is outside 0 to 2.")
    if budget is not None and budget <= 0:
        raise RunPlanError("The budget must be above 0 dollars.")
    if plan.endpoint.embeddings:
        raise RunPlanError(f"{plan.endpoint.name} makes embeddings and answers no prompt. Choose another endpoint.")
    condition = CONDITIONS.get(plan.condition)
    for name in condition.needs if condition else ():
        if not getattr(plan, name):
            raise RunPlanError(f"{plan.condition} needs a {BY_NAME[name].noun} ({BY_NAME[name].flag} NAME).")
    if condition and not condition.is_puppet and plan.users > 1:
        raise RunPlanError(f"{condition.label} has no simulated users: ask for more repeats instead (--repeats).")


def choose_prompts(version: StudyVersion | None, slugs: Collection[str]) -> tuple[str, ...]:
    """The chosen prompts in the version's order; empty if these are all. Raises RunPlanError if it lacks one."""
    rows = version.prompts.filter(asked_of_all()).order_by("position").values_list("slug", flat=True) if version else ()
    own = list(rows)
    if unknown := sorted(set(slugs) - set(own)):
        raise RunPlanError(
            f"{', '.join(unknown)[:100]}: no such prompt. The prompts are {', '.join(own) or 'none yet'}."
        )
    chosen = tuple(slug for slug in own if slug in slugs)
    return () if len(chosen) == len(own) else chosen


def say_notes(plan: Plan, repeats: int) -> str:
    """What to know about a plan before anything is sent."""
    run = Run(**fields_of(plan))
    said = say_few_users(plan, repeats), say_same_users(plan), say_unsearched(run), say_remembered(run)
    return " ".join(filter(None, said))


def say_same_users(plan: Plan) -> str:
    condition = CONDITIONS.get(plan.condition)
    if not condition or not condition.is_puppet or condition.users_differ(plan.per_user) or plan.users == 1:
        return ""
    own = BY_NAME["per_user"]
    return (
        f"{condition.label} puts the same in front of all {plan.users:,} simulated users: their answers differ by "
        f"chance alone, like repeats of one. {own.flag} (“{own.label}”) gives each a history of their own."
    )


def say_few_users(plan: Plan, repeats: int) -> str:
    """What few simulated users with many repeats cannot show, and what to do instead; empty if users are enough."""
    condition = CONDITIONS.get(plan.condition)
    if not condition or not condition.users_differ(plan.per_user) or plan.users >= ENOUGH_USERS or repeats < 2:
        return ""
    answers = plan.users * repeats
    whose = "one simulated user" if plan.users == 1 else f"{plan.users} simulated users, {repeats:,} from each"
    return (
        f"All {answers:,} answers to each prompt come from {whose}. They show how answers after the same "
        f"{condition.counted}s vary, not how users differ: intervals and tests count "
        f"{plural(plan.users, 'simulated user')}, not {answers:,}. The other way round, {answers:,} users with 1 "
        "repeat each are as many calls."
    )


def find_or_create(plan: Plan, actor: str, again: bool, first_run: Run | None = None) -> Run:
    """The run of the same plan, locked; or a new one, linked to the first of its kind."""
    earlier = find_run(plan)
    if earlier and not again:
        return Run.objects.select_for_update(of=("self",)).get(pk=earlier.pk)
    first = first_run or earlier
    first, study = first and (first.first_run or first), plan.version and plan.version.study
    return Run.objects.create(study=study, created_by=actor, first_run=first, repeats=1, **fields_of(plan))


def fields_of(plan: Plan) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in plan.__dataclass_fields__}


def find_run(plan: Plan) -> Run | None:
    """The newest run of the same plan that was not cancelled."""
    return Run.objects.filter(**fields_of(plan)).exclude(state=State.CANCELLED).order_by("-id").first()


def plan_of(run: Run) -> Plan:
    return Plan(**{name: getattr(run, name) for name in Plan.__dataclass_fields__})


def users_of(run: Run) -> list[SimulatedUser | None]:
    return list(run.simulated_users.order_by("index")) or [None]


def estimate_cost(run: Run, repeats: int) -> dict[str, Any]:
    """Calls, tokens and dollars of this many more repeats; `usd_most` if all answers have full length."""
    endpoint, subjects = run.endpoint, list(questions_of(run).values())
    if not subjects:
        raise RunPlanError(f"There is nothing to ask: {run.benchmark or run.study} has no prompts.")
    users = users_of(run)
    calls = repeats * len(users) * len(subjects)
    check_number(calls)
    asked = sum(estimate_prompt_tokens(run, subject, user) for user in users for subject in subjects) * repeats
    kinds = [subject.kind if isinstance(subject, Prompt) else "choice" for subject in subjects]
    expected = {  # the mean of what this endpoint has answered so far, or a usual length
        kind: min(mean_tokens(endpoint, OF_KIND[kind], EXPECTED_TOKENS[kind]), most_tokens(endpoint))
        for kind in set(kinds)
    }
    return cost_of(run, calls, asked, sum(expected[kind] for kind in kinds) * len(users) * repeats)


def check_number(calls: int) -> None:
    if calls > MOST_CALLS:
        raise RunPlanError(f"{calls:,} calls are more than one run may have ({MOST_CALLS:,}).")


def cost_of(run: Run, calls: int, asked: int, written: int) -> dict[str, Any]:
    """Estimate from the tokens in and out."""
    endpoint, factor = run.endpoint, BATCH_PRICE if run.batch else Decimal(1)
    return {
        "calls": calls,
        "prompt_tokens": asked,
        "completion_tokens": written,
        "usd": float(price(endpoint, asked, written, factor)),
        "usd_most": float(price(endpoint, asked, calls * longest_reply(run), factor)),
    }


def mean_tokens(endpoint: Endpoint, kind: Q, usual: int) -> int:
    """Mean tokens of an answer; `usual` until there are enough answers."""
    answered = Completion.objects.filter(kind, run__endpoint=endpoint, completion_tokens__isnull=False)
    seen = answered.aggregate(count=Count("id"), mean=Avg("completion_tokens"))
    return round(seen["mean"]) + 1 if seen["count"] >= ENOUGH_ANSWERS else usual


def check_budget(run: Run, estimate: dict[str, Any], budget: Decimal | None) -> None:
    limit = run.budget if budget is None else budget
    if limit is None:
        return
    total = cost_so_far(run) + Decimal(str(estimate["usd"]))
    if total > limit:
        raise RunPlanError(
            f"With {plural(estimate['calls'], 'new call')} the run will cost about {exact_dollars(round(total, 4))}, "
            f"above the budget of {exact_dollars(limit)}. Nothing was planned. Raise the budget, or ask for less."
        )


def cost_so_far(run: Run) -> Decimal:
    """Dollars that the run has spent, and that its calls still to be answered will cost by its last estimate."""
    waiting = run.completions.filter(status__in=[Completion.Status.PENDING, Completion.Status.LEASED]).count()
    calls = run.estimate.get("calls")
    return run.spent + (Decimal(str(run.estimate["usd"])) * waiting / calls if calls else 0)


# Keeps a user's calls together and repeats of a prompt adjacent, since providers cache prefixes.
WRITE_CALLS = """
INSERT INTO analysis_completion (
  run_id, {field}, user_id, repeat, position, status, lane, attempts, lost_answers, reserved, skipped,
  messages_sha256, reply, finish_reason, model_served, fingerprint, request_id, cost, error, error_kind)
SELECT %(run)s, s.id, u.id, r.number, %(after)s + ((u.rank - 1) * %(subjects)s + s.rank - 1) * %(new)s
  + r.number - %(first)s, 'pending', '', 0, 0, 0, 0, '', '', '', '', '', '', 0, '', ''
FROM unnest(%(user_ids)s::bigint[]) WITH ORDINALITY AS u(id, rank),
  unnest(%(subject_ids)s::bigint[]) WITH ORDINALITY AS s(id, rank),
  generate_series(%(first)s, %(first)s + %(new)s - 1) AS r(number)
"""


def write_calls(run: Run, new: int) -> None:
    """Write `new` more repeats of every prompt and user, after the existing ones."""
    if not new:
        return
    subjects = list(questions_of(run).values())
    latest = run.completions.aggregate(repeat=Max("repeat"), position=Max("position"))
    values = {
        "run": run.pk,
        "user_ids": [user and user.pk for user in users_of(run)],
        "subject_ids": [subject.pk for subject in subjects],
        "subjects": len(subjects),
        "new": new,
        "first": 0 if latest["repeat"] is None else latest["repeat"] + 1,
        "after": 0 if latest["position"] is None else latest["position"] + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(WRITE_CALLS.format(field="item_id" if run.benchmark else "prompt_id"), values)


def keep_plan(run: Run, repeats: int, estimate: dict[str, Any], budget: Decimal | None) -> None:
    run.repeats = max(run.repeats, repeats)
    run.estimate = estimate if estimate["calls"] or not run.estimate else run.estimate
    run.budget = run.budget if budget is None else budget
    if estimate["calls"] and run.state == State.DONE:
        run.state, run.ended_at = State.PLANNED, None
    run.save(update_fields=["repeats", "estimate", "budget", "state", "ended_at"])
