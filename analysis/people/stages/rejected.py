"""Attributes that annotators of one study reject, handed to annotators of another who say what is wrong with them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from surveys.annotation.counted import iter_labels
from surveys.annotation.items import Pushed, push_items
from surveys.annotation.model_raters import ModelRater, labels_by
from surveys.annotation.shapes import REJECTED_BY
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import KINDS
from surveys.studies.lifecycle import definition_of

FROM, INTO = "attribute", "error"
QUALITY = KINDS[FROM].main
NO, MAYBE, YES = QUALITY.values


class RejectedError(ValueError):
    """Nothing can be handed on; the message says why."""


def most_say_no(votes: Counter[str]) -> bool:
    return votes[NO] > max(votes[MAYBE], votes[YES])


def somebody_says_no(votes: Counter[str]) -> bool:
    return votes[NO] > 0


def somebody_doubts(votes: Counter[str]) -> bool:
    return votes[NO] + votes[MAYBE] > 0


# When an attribute counts as rejected.
RULES: dict[str, Callable[[Counter[str]], bool]] = {
    "majority": most_say_no,
    "one": somebody_says_no,
    "doubt": somebody_doubts,
}


def push_rejected(
    study: Study, into: Study, actor: str, rule: str = "majority", *, pilot: bool = False, revised: bool = False
) -> Pushed:
    """Items for `into` of the attributes that people reject; those that it has already are left alone.

    What models revised only with `revised`: its mistakes are not those of extraction.

    Raises RejectedError, ImportFault.
    """
    check_kind(study, FROM)
    check_kind(into, INTO)
    keys = find_rejected(study, rule, pilot, revised=revised)
    return push_items(
        into, make_items(study, into, keys, rule, pilot), actor, pilot=pilot, subject=f"rejected in {study.slug}"
    )


def check_kind(study: Study, kind: str) -> None:
    work = definition_of(study.current_id).annotation if study.current_id else None
    if work is None or work.kind != kind:
        raise RejectedError(f"{study.slug} is not a study of annotators with the kind `{kind}`.")


def find_rejected(study: Study, rule: str, pilot: bool, *, revised: bool = False) -> set[str]:
    """Keys of the attributes that this rule rejects, by the labels of people that count."""
    votes: dict[str, Counter[str]] = {}
    for label in iter_labels(study, pilot=pilot):
        if label.question == QUALITY.name and not label.is_model and (revised or not label.revises):
            votes.setdefault(label.item, Counter())[label.value] += 1
    return {key for key, counted in votes.items() if RULES[rule](counted)}


def find_doubts(study: Study, rule: str, models: Iterable[ModelRater]) -> dict[str, list[ModelRater | None]]:
    """By the item's key who doubts it: people (None) by the rule where there is one, and each model but by a yes."""
    found: dict[str, list[ModelRater | None]] = {}
    for key in find_rejected(study, rule, pilot=False, revised=True) if rule else ():
        found[key] = [None]
    for model in models:
        for key, value in labels_by(study, model, QUALITY).items():
            if value != YES:
                found.setdefault(key, []).append(model)
    return found


def make_items(study: Study, into: Study, keys: set[str], rule: str, pilot: bool) -> Iterator[dict[str, Any]]:
    """What was shown, nothing about who said what: later labels leave the items as they are, as does another rule."""
    there = AnnotationItem.objects.filter(study=into, pilot=pilot, key__in=keys)
    tags = dict(there.values_list("key", "tags"))
    rows = AnnotationItem.objects.filter(study=study, pilot=pilot, key__in=keys).select_related("history")
    for item in rows.order_by("position").iterator(chunk_size=200):
        yield {
            **{name: getattr(item, name) for name in ("key", "cluster", "corpus")},
            **{name: item.payload[name] for name in ("attribute", "evidence")},
            "history": item.history.conversations,
            "tags": tags.get(item.key, item.tags | {REJECTED_BY: rule}),
            "source": study.slug,
        }
