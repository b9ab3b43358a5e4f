"""A run's completions to read: found by what is asked, status, user and label, and rebuilt with their messages."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from analysis.corpora.faults import ConditionError
from analysis.models import Completion, Run
from analysis.runs.judging.judgements import without_label
from analysis.runs.recipes.conditions import Built, messages_for

MOST_MESSAGES = 12  # shown at first: a history of a hundred conversations is a megabyte
FILTERS = ("prompt", "status", "user", "lost", "unlabelled")


@dataclass(frozen=True)
class Reading:
    """The messages as they are rebuilt today, or why they can't be."""

    built: Built | None
    problem: str = ""
    stored: str = ""

    @property
    def is_same(self) -> bool:
        return self.built is not None and self.built.sha256 == self.stored


def find_completions(run: Run, wanted: dict[str, str]) -> QuerySet[Completion]:
    """Those that the filters leave, in the order in which they are sent; texts are left in the database."""
    rows = run.completions.select_related("prompt", "item", "user", "annotation_item").order_by("position")
    if wanted.get("prompt"):
        rows = rows.filter(**{asked_by_name(run): wanted["prompt"]})
    if wanted.get("status") in Completion.Status.values:
        rows = rows.filter(status=wanted["status"])
    if wanted.get("user", "").isdecimal():
        rows = rows.filter(user__index=min(int(wanted["user"]), 2**31 - 1))
    if wanted.get("lost"):
        rows = rows.filter(lost_answers__gt=0)
    if wanted.get("unlabelled"):
        rows = rows & without_label(run)
    texts = ("prompt__text", "prompt__choices", "user__recipe", "item__question", "item__choices")
    return rows.defer(*texts, "annotation_item__payload")


def asked_by_name(run: Run) -> str:
    """The column in which the name of what is asked stands."""
    if run.condition == Run.Condition.JUDGE:
        return "annotation_item__key"
    return "item__item" if run.benchmark else "prompt__slug"


def read_messages(completion: Completion) -> Reading:
    if completion.run.condition == Run.Condition.IMPORTED:
        return Reading(None, "the answer was imported, and what was sent to get it is not known here.")
    try:
        return Reading(messages_for(completion), stored=completion.messages_sha256)
    except ConditionError as error:
        return Reading(None, str(error), completion.messages_sha256)


def last_messages(reading: Reading, everything: bool) -> tuple[list[dict[str, Any]], int]:
    """The messages to show, the question last, and how many before them are left out."""
    messages = reading.built.messages if reading.built else []
    left_out = 0 if everything else max(0, len(messages) - MOST_MESSAGES)
    return messages[left_out:], left_out
