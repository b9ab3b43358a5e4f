"""Passes attributes that annotators doubt to others who say what is wrong with them, and brings revisions back."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from analysis.models import Task
from analysis.people.corpora.records import short_hash
from analysis.people.sensitive import mark_sensitive
from analysis.people.steps import ACTOR, require_kind
from surveys.annotation.items import GENERATOR, REJECTED_BY, Pushed, push_items
from surveys.models import AnnotationItem, Study
from surveys.reading.privacy import remove_personal
from surveys.studies.files.kinds import KINDS
from surveys.studies.labels import ModelRater, iter_labels, labels_by

FROM, INTO = "attribute", "error"
QUALITY = KINDS[FROM].main
NO, MAYBE, YES = QUALITY.values


# When an attribute counts as rejected.
RULES: dict[str, Callable[[Counter[str]], bool]] = {
    "majority": lambda votes: votes[NO] > max(votes[MAYBE], votes[YES]),
    "one": lambda votes: votes[NO] > 0,
    "doubt": lambda votes: votes[NO] + votes[MAYBE] > 0,
}


def push_rejected(
    study: Study, into: Study, actor: str, rule: str = "majority", *, pilot: bool = False, revised: bool = False
) -> Pushed:
    """Push the attributes that people reject into `into`; those that it already has are left alone.

    Include models' revisions only with `revised`, since their mistakes are not those of extraction. Raises
    PeopleError, ImportFault.
    """
    require_kind(study, FROM)
    require_kind(into, INTO)
    keys = find_rejected(study, rule, pilot, revised=revised)
    return push_items(
        into, make_items(study, into, keys, rule, pilot), actor, pilot=pilot, subject=f"rejected in {study.slug}"
    )


def find_rejected(study: Study, rule: str, pilot: bool, *, revised: bool = False) -> set[str]:
    """Keys of the attributes that this rule rejects, by the labels of people that count."""
    votes: dict[str, Counter[str]] = {}
    for label in iter_labels(study, pilot=pilot):
        if label.question == QUALITY.name and not label.is_model and (revised or not label.revises):
            votes.setdefault(label.item, Counter())[label.value] += 1
    return {key for key, counted in votes.items() if RULES[rule](counted)}


def find_doubts(study: Study, rule: str, models: Iterable[ModelRater]) -> dict[str, list[ModelRater | None]]:
    """Who doubts each item, by its key: people (None) by the rule, if there is one, and models that do not say yes."""
    found: dict[str, list[ModelRater | None]] = {}
    for key in find_rejected(study, rule, pilot=False, revised=True) if rule else ():
        found[key] = [None]
    for model in models:
        for key, value in labels_by(study, model, QUALITY).items():
            if value != YES:
                found.setdefault(key, []).append(model)
    return found


def make_items(study: Study, into: Study, keys: set[str], rule: str, pilot: bool) -> Iterator[dict[str, Any]]:
    """Yield what was shown, nothing about who said what: later labels or another rule leave the items as they are."""
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


KIND = "attribute"
TASK = "refine-"  # how the instruction of its runs begins
LEFT_BEHIND = ("sensitive",)  # tags that describe the old words
FLAGGED_BY = "flagged by"  # tag of attributes that models chose for revision
LONGEST_KEY = 180  # characters of the revised item's key


@dataclass
class RevisedItems:
    """The items of revisions. Everything is read once the study is locked."""

    study: Study
    asked: int = 0  # attributes, once for each model that was asked about them
    withdrawn: int = 0
    unchanged: int = 0  # revisions that change nothing
    already_there: int = 0
    personal: int = 0  # personal details taken out

    def items(self) -> Iterator[dict[str, Any]]:
        known = set(AnnotationItem.objects.filter(study=self.study, pilot=False).values_list("key", flat=True))
        for pk, author in newest_replies(self.study).items():
            task = Task.objects.select_related("annotation_item__history").get(pk=pk)
            item, text = task.annotation_item, remove_personal(task.values["attribute"])
            key = f"{item.key[:LONGEST_KEY]}-{short_hash(item.key, author)}"
            self.asked += 1
            if task.values["action"] == "withdraw":
                self.withdrawn += 1
            elif text[0].split() == item.payload["attribute"].split():
                self.unchanged += 1
            elif key in known:
                self.already_there += 1
            else:
                self.personal += sum(text[1].values())
                yield revise(item, key, text[0], author, task)


def revise(item: AnnotationItem, key: str, text: str, author: str, task: Task) -> dict[str, Any]:
    """Make an item from the old one with the new words; nobody is shown that they are new."""
    tags = {name: value for name, value in item.tags.items() if name not in LEFT_BEHIND} | {GENERATOR: author}
    if models := task.payload.get("flagged_by"):
        tags[FLAGGED_BY] = ", ".join(each["rater"] for each in models)
    marks = mark_sensitive(text)
    return {
        **{"key": key, "attribute": text, "before": item.key, "evidence": item.payload["evidence"]},
        **{"history": item.history.conversations, "cluster": item.cluster, "corpus": item.corpus},
        **{"source": str(task.pk), "tags": tags | ({"sensitive": " ".join(marks)} if marks else {})},
    }


def newest_replies(study: Study) -> dict[int, str]:
    """The newest readable task of each item and author, in the items' order."""
    rows = Task.objects.filter(
        annotation_item__study=study, annotation_item__pilot=False, run__instruction__startswith=TASK
    )
    newest: dict[tuple[int, str], int] = {}
    for task in rows.filter(values__isnull=False).select_related("run__endpoint").order_by("pk").defer("payload"):
        newest[task.annotation_item_id, task.run.author] = task.pk
    places = dict(rows.values_list("annotation_item", "annotation_item__position"))
    ordered = sorted(newest.items(), key=lambda entry: (places[entry[0][0]], entry[0][1]))
    return {pk: author for (_, author), pk in ordered}


def push_refined(study: Study, actor: str = ACTOR) -> dict[str, Any]:
    """Push the revisions of a study's attributes to its own annotators, each with the item `before` it.

    Those that are there already are left alone. Raises PeopleError, ImportFault.
    """
    require_kind(study, KIND)
    pushing = RevisedItems(study)
    done = push_items(study, pushing.items(), actor, subject="revisions")
    counted = ("asked", "withdrawn", "unchanged", "already_there", "personal")
    return {"study": study.slug, **asdict(done), **{name: getattr(pushing, name) for name in counted}}
