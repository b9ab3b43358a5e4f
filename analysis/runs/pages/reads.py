"""What pages and API read: runs, and one run's completions with their messages rebuilt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, QuerySet, TextField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from analysis.models import Completion, Endpoint, Run
from analysis.models.conditions import DRAWN, ConditionError
from analysis.runs.asking.replies import unreadable
from analysis.runs.lanes.runs import STANDING
from analysis.runs.recipes.messages import Built, forget_users, messages_for
from surveys.models import Study

Status = Completion.Status
ANSWERS = {"embeddings": False}  # endpoints that can be asked a prompt
OWN = ("endpoint", "version", *DRAWN)


def any_answers(usable: QuerySet[Endpoint]) -> bool:
    return usable.filter(**ANSWERS).exists()


def runs_of(study: Study) -> QuerySet[Run]:
    """The study's runs, newest first, with all that a row shows."""
    return Run.objects.filter(study=study).select_related(*OWN).order_by("-id")


def runs_about_corpora(account: Any, study: Study) -> QuerySet[Run]:
    """Runs of tasks without a study that the account may see here, newest first; for researchers."""
    shown = Run.objects.shown_to(account, study).filter(study=None, condition=Run.Condition.TASK)
    return shown.select_related(*OWN).order_by("-id")


def count_unread(runs: Sequence[Run]) -> int:
    """Number of calls whose answer to a prompt or an item was not read yet.

    Skips runs without a new reply since all of theirs were read.
    """
    done = Completion.objects.filter(run__in=runs, status=Status.DONE).order_by()
    replies = dict(done.values_list("run").annotate(count=Count("*")))
    open_runs = [run for run in runs if replies.get(run.pk) and not run.texts_read.endswith(f":{replies[run.pk]}")]
    return done.filter(run__in=open_runs, task=None, answer=None).count() if open_runs else 0


# --- one run's completions

MOST_MESSAGES = 12  # shown at first: a history of a hundred conversations is a megabyte
FILTERS = ("prompt", "status", "user", "lost", "unlabelled", "unreadable", "order")
ORDERS = {"answered": "Newest answers first", "sent": "In the order of sending"}
# Which response a judge sees on the left.
LEFT = Coalesce(KeyTextTransform("left", "task__payload"), Value(""), output_field=TextField())


@dataclass(frozen=True)
class RebuiltMessages:
    """A call's messages as rebuilt today, or why they can't be."""

    built: Built | None
    problem: str = ""
    stored: str = ""

    @property
    def is_same(self) -> bool:
        return self.built is not None and self.built.sha256 == self.stored


def find_completions(run: Run, wanted: dict[str, str]) -> QuerySet[Completion]:
    """Calls that match the filters, as sent or newest answers first; texts are left in the database."""
    order = [F("done_at").desc(nulls_last=True)] if wanted.get("order") == "answered" else []
    rows = run.completions.select_related("prompt", "item", "user", "task__annotation_item")
    rows = rows.annotate(standing=STANDING).order_by(*order, "position")
    if wanted.get("prompt"):
        named = {Run.Condition.JUDGE: "task__annotation_item__key", Run.Condition.TASK: "task__key"}
        column = named.get(run.condition, "item__item" if run.benchmark else "prompt__slug")
        rows = rows.filter(**{column: wanted["prompt"]})
    if wanted.get("status") in Completion.Status.values:
        rows = rows.filter(standing=wanted["status"])
    if wanted.get("user", "").isdecimal():
        rows = rows.filter(user__index=min(int(wanted["user"]), 2**31 - 1))
    if wanted.get("lost"):
        rows = rows.filter(lost_answers__gt=0)
    if wanted.get("unreadable") or wanted.get("unlabelled"):
        rows = rows & unreadable(run)
    texts = ("prompt__text", "prompt__choices", "user__recipe", "item__question", "item__choices")
    return rows.annotate(left=LEFT).defer(*texts, "task__payload", "task__values", "task__annotation_item__payload")


def read_messages(completion: Completion) -> RebuiltMessages:
    if completion.run.condition == Run.Condition.IMPORTED:
        return RebuiltMessages(None, "the answer was imported, and what was sent to get it is not known here.")
    forget_users()
    try:
        return RebuiltMessages(messages_for(completion), stored=completion.messages_sha256)
    except ConditionError as error:
        return RebuiltMessages(None, str(error), completion.messages_sha256)
