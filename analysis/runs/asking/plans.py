"""Runs of tasks: one call for each task that this model or judge has not been asked, planned in one pass.

Tasks about a corpus are ordered as a step of it, and sent unless it is a dry run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Max, Q, QuerySet

from analysis.endpoints.endpoints import EndpointError, check_endpoint, find_endpoint, most_tokens
from analysis.endpoints.owners.sharing import NotShared, lend, require_role, require_sending
from analysis.models import Completion, Corpus, Endpoint, Run, Task
from analysis.models.conditions import ConditionError
from analysis.people.funnel import conversations_to_ask
from analysis.people.stages.prompt_lists import ListedPrompt, prompts_in, prompts_of
from analysis.people.steps import NAMES, PeopleError, step_of
from analysis.runs.asking.conversations import LEAST_CHUNK, longest_chunk
from analysis.runs.asking.judges import (
    CHARACTERS_PER_TOKEN,
    PROMPTS,
    SHOWN,
    message_room,
    newest_instruction,
    rater_name,
    rater_of,
)
from analysis.runs.asking.kinds import NewTask, TaskKind
from analysis.runs.asking.registry import JUDGE, TASKS, VERSIONS, find_kind, kind_of, longest_reply
from analysis.runs.asking.replies import read_again
from analysis.runs.asking.stages import candidate_tasks
from analysis.runs.lanes.runs import UNFINISHED, RunError, planned_before, resume
from analysis.runs.recipes.fitting import counter_for
from analysis.runs.recipes.messages import hash_messages
from analysis.runs.recipes.plans import (
    Plan,
    RunPlanError,
    check_budget,
    check_number,
    check_plan,
    cost_of,
    find_or_create,
    keep_plan,
    mean_tokens,
)
from surveys.models import Annotation, AnnotationItem, Study, locks
from surveys.studies.files.kinds import KINDS, SIDES
from surveys.studies.imports.files import batches
from surveys.studies.lifecycle import annotation_of, definition_of
from surveys.studies.wording import RaisedAs

BATCH = 50
Status = Completion.Status


def plan_conversations(
    kind: TaskKind, corpus: Corpus, endpoint: str, actor: str, **how: Any
) -> tuple[Run, dict[str, Any]]:
    """Plan tasks about the conversations of a corpus; `how` and the result are those of `plan_tasks`."""
    assert kind.conversations is not None, f"{kind.name} is not asked about conversations"
    asked = find_endpoint(endpoint)
    reply = most_tokens(asked, kind.most_tokens)
    most = longest_chunk(asked, reply, CHARACTERS_PER_TOKEN)
    if most < LEAST_CHUNK:
        raise RunPlanError(
            f"{asked.name} has a window of {asked.context_window:,} tokens, and {reply:,} of them for the "
            "reply: nothing of a conversation fits beside the question. Choose a model with a larger window."
        )
    return plan_tasks(asked, kind, kind.conversations(corpus, most), actor, corpus=corpus, **how)


def plan_tasks(
    endpoint: Endpoint,
    kind: TaskKind,
    wanted: Iterable[NewTask],
    actor: str,
    *,
    temperature: float | None = None,
    limit: int | None = None,
    budget: Decimal | None = None,
    again: bool = False,
    dry_run: bool = False,
    **more: Any,
) -> tuple[Run, dict[str, Any]]:
    """Write one row for each new task about a corpus or a study; return the run and what its calls will cost.

    A run of the same plan is extended, so that later tasks are asked too. `limit` is the most calls that are then open.
    `again` reads unreadable replies once more and makes a separate run for tasks still without a readable one. With
    `dry_run` nothing is kept. `more` is the `corpus`, or the `version` of the study, and any other field of a Plan.
    """
    plan = Plan(
        endpoint=endpoint,
        condition=kind.condition,
        instruction=kind.label,
        temperature=kind.temperature if temperature is None else temperature,
        **more,
    )
    check_plan(plan, 1, budget)
    if again and not dry_run:
        read_again(same_runs(plan))
    with transaction.atomic():
        locks.hold("tasks", endpoint.pk)  # the second of two orders sees what the first planned
        if again and dry_run:
            read_again(same_runs(plan))
        run = find_or_create(plan, actor, again)
        room = None if limit is None else max(0, limit - run.completions.filter(status__in=UNFINISHED).count())
        asked = write_tasks(run, kind, wanted, again, room, keep=not dry_run)
        if not asked["calls"] and not run.completions.exists():
            raise RunPlanError(say_nothing_left(run, again))
        estimate = cost_of(run, asked["calls"], asked["tokens"], asked["calls"] * usual_tokens(run, kind))
        check_budget(run, estimate, budget)
        if dry_run:
            transaction.set_rollback(True)
        else:
            keep_plan(run, 1, estimate, budget)
    return run, estimate


def write_tasks(
    run: Run, kind: TaskKind, wanted: Iterable[NewTask], again: bool, room: int | None, *, keep: bool
) -> dict[str, int]:
    """Write new tasks and their calls, if `keep`; return the number of calls and the tokens of their messages."""
    counter, done = counter_for(run.endpoint), {"calls": 0, "tokens": 0}
    latest = run.completions.aggregate(position=Max("position"))["position"]
    after = 0 if latest is None else latest + 1
    for batch in batches(wanted, BATCH):
        if room is not None and done["calls"] >= room:
            break
        new = leave_out_asked(run, batch, again)[: None if room is None else room - done["calls"]]
        rows = []
        for entry in new:
            task = Task(run=run, **entry._asdict())
            messages = kind.write(task)
            task.sha256 = hash_messages(messages)
            done["tokens"] += counter.messages(messages)
            rows.append(task)
        if keep:
            Task.objects.bulk_create(rows)
            calls = [
                Completion(run=run, task=task, repeat=0, position=after + place) for place, task in enumerate(rows)
            ]
            Completion.objects.bulk_create(calls)
        after += len(rows)
        done["calls"] += len(rows)
    check_number(done["calls"])
    return done


def leave_out_asked(run: Run, batch: Sequence[NewTask], again: bool) -> list[NewTask]:
    """The tasks not asked yet, each key once: two models may have given the same response."""
    wanted = {entry.key: entry for entry in batch}
    known = set(asked_tasks(run, again).filter(key__in=wanted).values_list("key", flat=True))
    return [entry for key, entry in wanted.items() if key not in known]


def same_runs(asked: Run | Plan) -> QuerySet[Run]:
    """Runs about the same corpus or study that ask the same model in the same way."""
    same = {name: getattr(asked, name) for name in ("corpus", "endpoint", "condition", "instruction", "temperature")}
    study = asked.study if isinstance(asked, Run) else asked.version and asked.version.study
    return Run.objects.filter(study=study, **same)


CANCELLED = Q(run__state=Run.State.CANCELLED)
WAITING = Q(completions__status__in=UNFINISHED) & ~CANCELLED
ANSWERED = Q(values__isnull=False) | Q(read_at__isnull=True, completions__status=Status.DONE)


def asked_tasks(run: Run, again: bool) -> QuerySet[Task]:
    """Tasks asked before; with `again`, and of cancelled runs always, only those that were read, or may still be."""
    return Task.objects.filter(ANSWERED | (WAITING if again else ~CANCELLED), run__in=same_runs(run))


def usual_tokens(run: Run, kind: TaskKind) -> int:
    said = mean_tokens(run.endpoint, Q(run__instruction=kind.label), kind.usual_tokens)
    return min(said, longest_reply(run))


RESTS_ON = {"category": "reason", "mentions": "respond"}  # tasks about the answers to another one


def answers_first(study: Study, first: str) -> bool:
    """Whether the study has answers to the task that comes first, or does without it."""
    answers = Task.objects.filter(annotation_item__study=study, run__instruction__startswith=f"{first}-")
    kind = definition_of(study.current_id).annotation.kind
    return kind not in TASKS[first].studies or answers.filter(values__isnull=False).exists()


def say_nothing_left(run: Run, again: bool) -> str:
    judge = rater_of(run) if run.condition == Run.Condition.JUDGE else ""
    waiting = Task.objects.filter(~CANCELLED, run__in=same_runs(run), read_at__isnull=True)
    waiting = waiting.filter(completions__status__in=[*UNFINISHED, Status.DONE]).order_by("run")
    if planned := waiting.values_list("run", flat=True).first():
        left = f"What is left for {judge}" if judge else "What is left"
        return f"{left} is already planned: continue with `manage.py run {planned} resume --inline`."
    if judge:
        done = f"{judge} has labelled every item, or was asked about it"
        return f"Nothing is left to ask: {done} (see `manage.py run list`)."
    what = "every reply could be read" if again else "all of it was asked before, or there is nothing to ask about"
    name = kind_of(run).name
    if (first := RESTS_ON.get(name)) and not answers_first(run.study, first):
        what = f"{name} is about answers to {first}, and there are none yet. First `ask {run.study.slug} {first}`"
    return f"{run.corpus or run.study}: nothing is left to ask of {run.endpoint}: {what}."


# --- judges


def plan_judging(
    study: Study,
    endpoint: str,
    prompt: str,
    actor: str,
    *,
    both_orders: bool = True,
    pilot: bool = False,
    temperature: float | None = None,
    **how: Any,
) -> tuple[Run, dict[str, Any]]:
    """Plan a judge's tasks about the items that people work on; `how` and the result are those of `plan_tasks`.

    Raises RunPlanError, EndpointError.
    """
    work = annotation_of(study)
    if work is None or work.kind not in KINDS:
        raise RunPlanError(f"{study.slug} has no items to judge: it is not an annotation study.")
    if work.kind not in SHOWN:
        raise RunPlanError(
            f"Nothing says yet how the kind {work.kind} is shown to a model; see SHOWN in runs.asking.judges."
        )
    items = items_of(study, pilot)
    if not items.exists():
        raise RunPlanError(f"{study} has no {'pilot ' if pilot else ''}items to judge. Import some with import_items.")
    asked, sided = find_endpoint(endpoint), KINDS[work.kind].sided
    shipped = prompt in PROMPTS
    kind = VERSIONS[choose_instruction(prompt, items, study, asked)] if shipped else find_brought(prompt)
    warmth = kind.temperature if temperature is None else temperature
    orders = ("",) if not sided else SIDES if both_orders else SIDES[:1]
    wanted = judge_tasks(items, rater_name(asked.name, kind.label, warmth), orders, message_room(asked))
    about = {"version": study.current, "both_orders": both_orders and sided, "pilot": pilot}
    return plan_tasks(asked, kind, wanted, actor, temperature=warmth, **about, **how)


def find_brought(name: str) -> TaskKind:
    try:
        return find_kind(JUDGE, name)
    except ConditionError as error:
        raise RunPlanError(f"There is no instruction {name!r}; there are {', '.join(PROMPTS)}. {error}") from None


def choose_instruction(name: str, items: QuerySet[AnnotationItem], study: Study, endpoint: Endpoint) -> str:
    """The newest version, with the profile if items have one and the study's judge did not begin without it."""
    plain = newest_instruction(name, with_profile=False)
    began = Run.objects.filter(study=study, endpoint=endpoint, condition=Run.Condition.JUDGE, instruction=plain)
    has_profile = items.filter(payload__has_key="profile").exists()
    return newest_instruction(name, with_profile=has_profile and not began.exists())


def items_of(study: Study, pilot: bool) -> QuerySet[AnnotationItem]:
    """Items for a judge: those that people work on, without training and gold items."""
    return AnnotationItem.objects.filter(study=study, pilot=pilot, purpose=AnnotationItem.Purpose.WORK)


def judge_tasks(items: QuerySet[AnnotationItem], rater: str, orders: Sequence[str], room: int) -> Iterator[NewTask]:
    """Yield tasks item by item, both orders adjacent, except those that the rater has labelled, in any run.

    A message's `room`, in characters, is kept with the task, so that the message is rebuilt the same.
    """
    labels = Annotation.objects.filter(item__in=items, judge=rater)
    labelled = set(labels.values_list("item", "left"))
    for item in items.prefetch_related("history").order_by("position").iterator(chunk_size=20):
        for left in orders:
            if (item.pk, left) not in labelled:
                yield NewTask(f"item {item.pk} {left}".strip(), {"left": left, "room": room}, annotation_item=item)


# --- steps of a corpus

ORDERED = (NAMES.LANGUAGE, NAMES.ASSISTANT_USE, NAMES.EXTRACT, NAMES.CANDIDATES)
CANNOT_BE_ORDERED = (RunPlanError, RunError, EndpointError, ConditionError, NotShared)
OPTIONS = ("limit", "batch", "again")


def order_asking(
    corpus: Corpus, name: str, settings: Mapping[str, Any], actor: str, account: Any = None, study: Study | None = None
) -> Run | None:
    """Plan the tasks as a step of the corpus and start their run; return it, None after a dry run. Raises PeopleError.

    The run belongs to the account and is shared with the study whose means it uses; without an account, to the server.

    `settings` has `endpoint`, and may have `budget` (dollars as text), `limit`, `batch`, `again`, `dry_run`, and for
    candidates `texts`, a list of prompts, one a line, or `prompts`, the study that has them. The step's report is the
    estimate with `run`, `dry_run` and `before`, the calls planned before that would be sent too, and their dollars.
    """
    dry_run = bool(settings.get("dry_run"))
    with step_of(corpus, name, dict(settings), actor) as step:
        with RaisedAs(PeopleError, *CANNOT_BE_ORDERED):
            if not dry_run:
                kind, endpoint = TASKS[name], find_endpoint(settings["endpoint"])
                check_endpoint(endpoint, kind.temperature)
            planned, estimate = _plan(corpus, name, settings, actor, step.show, account)
            run = None if dry_run else _begin(planned, account, study)
        waits = dry_run and planned.state != Run.State.RUNNING  # a running one sends them without this step
        before = planned_before(planned, 0) if waits else (0, 0)
        step.report = estimate | {"run": run and run.pk, "dry_run": dry_run, "before": before}
    return run


def _begin(planned: Run, account: Any, study: Study | None) -> Run:
    """Start the run, after checking again that the study may send it, since planning may take long."""
    with transaction.atomic():
        if account and study:
            require_role(account, study)
            require_sending(planned, account, study)
            lend(planned, study, account.get_username())
        return resume(planned)


def _plan(
    corpus: Corpus, name: str, settings: Mapping[str, Any], actor: str, show: Callable[[float], None], owner: Any
) -> tuple[Run, dict[str, Any]]:
    how = {option: settings[option] for option in OPTIONS if settings.get(option)}
    how |= {"budget": Decimal(settings["budget"]) if settings.get("budget") else None}
    how |= {"dry_run": bool(settings.get("dry_run")), "owner": owner}
    kind = TASKS[name]
    if kind.conversations:
        counted = replace(kind, conversations=_counted(kind, conversations_to_ask(corpus, name).count(), show))
        return plan_conversations(counted, corpus, settings["endpoint"], actor, **how)
    return plan_tasks(
        find_endpoint(settings["endpoint"]), kind, _candidates(corpus, settings, show), actor, corpus=corpus, **how
    )


def _counted(kind: TaskKind, total: int, show: Callable[[float], None]) -> Callable[[Corpus, int], Iterator[NewTask]]:
    """A source of the kind's tasks that shows the share of conversations looked at."""
    assert kind.conversations is not None
    found = kind.conversations

    def tasks(corpus: Corpus, most: int) -> Iterator[NewTask]:
        seen, last = 0, None
        for task in found(corpus, most):
            if task.conversation != last:
                seen, last = seen + 1, task.conversation
                show(seen / max(total, 1))
            yield task

    return tasks


def _candidates(corpus: Corpus, settings: Mapping[str, Any], show: Callable[[float], None]) -> Iterable[NewTask]:
    prompts = prompts_in(settings["texts"]) if settings.get("texts") else _prompts_of(settings.get("prompts", ""))
    total = max(1, corpus.users.filter(left_out_by="").count() * len(prompts))
    for number, task in enumerate(candidate_tasks(corpus, prompts), 1):
        show(min(1.0, number / total))
        yield task


def _prompts_of(slug: str) -> list[ListedPrompt]:
    study = Study.objects.select_related("current").filter(slug=slug).first()
    found = prompts_of(study) if study else []
    if not found:
        raise PeopleError("Candidates are asked for prompts: write a list of them, or name the study that has them.")
    return found
