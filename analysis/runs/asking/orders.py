"""Ordering tasks about a corpus: planned as a step of it, and sent unless it is a dry run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db import transaction

from analysis.endpoints.endpoints import EndpointError, check_endpoint, find_endpoint
from analysis.endpoints.owners.sharing import NotShared, lend, require_role, require_sending
from analysis.models import Corpus, Run
from analysis.models.conditions import ConditionError
from analysis.people.funnel import conversations_to_ask
from analysis.people.stages.prompt_lists import ListedPrompt, prompts_in, prompts_of
from analysis.people.steps import NAMES, PeopleError, step_of
from analysis.runs.asking.kinds import NewTask, TaskKind
from analysis.runs.asking.plans import plan_conversations, plan_tasks
from analysis.runs.asking.registry import TASKS
from analysis.runs.asking.stages import candidate_tasks
from analysis.runs.lanes.runs import RunError, resume
from analysis.runs.recipes.fitting import TokenizerError
from analysis.runs.recipes.plans import RunPlanError
from surveys.models import Study

ORDERED = (NAMES.LANGUAGE, NAMES.ASSISTANT_USE, NAMES.EXTRACT, NAMES.CANDIDATES)
CANNOT_BE_ORDERED = (RunPlanError, RunError, EndpointError, ConditionError, TokenizerError, NotShared)
OPTIONS = ("limit", "batch", "again")


def order_asking(
    corpus: Corpus, name: str, settings: Mapping[str, Any], actor: str, account: Any = None, study: Study | None = None
) -> Run | None:
    """Plan the tasks as a step of the corpus and start their run; return it, None after a dry run. Raises PeopleError.

    The run belongs to the account and is shared with the study whose means it uses; without an account, to the server.

    `settings` has `endpoint`, and may have `budget` (dollars as text), `limit`, `batch`, `again`, `dry_run`, and for
    candidates `texts`, a list of prompts, one a line, or `prompts`, the study that has them. The step's report is the
    estimate with `run` and `dry_run`.
    """
    dry_run = bool(settings.get("dry_run"))
    with step_of(corpus, name, dict(settings), actor) as step:
        try:
            if not dry_run:
                kind, endpoint = TASKS[name], find_endpoint(settings["endpoint"])
                check_endpoint(endpoint, kind.temperature)
            planned, estimate = _plan(corpus, name, settings, actor, step.show, account)
            run = None if dry_run else _begin(planned, account, study)
        except CANNOT_BE_ORDERED as error:
            raise PeopleError(str(error)) from None
        step.report = estimate | {"run": run and run.pk, "dry_run": dry_run}
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
        told = replace(kind, conversations=_counted(kind, conversations_to_ask(corpus, name).count(), show))
        return plan_conversations(told, corpus, settings["endpoint"], actor, **how)
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
