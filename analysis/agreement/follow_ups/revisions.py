"""Attributes that a model revised: how many are accepted, before and after, paired."""

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from analysis.agreement.annotations import QuestionLabels, gather
from analysis.agreement.measuring import Measuring
from analysis.models import Run, Task
from analysis.stats.agreement.agreement import Row, write_estimates
from analysis.stats.agreement.estimates import measure_change
from analysis.stats.agreement.labels import choose_voters
from surveys.annotation.shapes import GENERATOR
from surveys.models import AnnotationItem
from surveys.studies.files.kinds import KINDS

KIND = "attribute"
QUALITY = KINDS[KIND].main
ACCEPTED = QUALITY.values[-1]  # makes sense
UNNAMED = ""

Votes = dict[str, Counter[str]]  # by item


class RevisedItem(NamedTuple):
    """An item that revises the one of the key `before`, and what both are independent from."""

    key: str
    before: str
    unit: tuple[str, str]


def measure_revisions(measuring: Measuring, asked: QuestionLabels) -> list[Row]:
    """For each model that revised attributes: what became of them, and acceptance before and after with intervals."""
    if asked.question.name != QUALITY.name:
        return []
    revisions, withdrawn = find_revisions(measuring, asked.by_user), count_withdrawn(measuring)
    if not revisions and not withdrawn:
        return []
    # A tag may choose revisions; what they revise has other tags, and is no revision.
    whole = next(
        each
        for each in gather(measuring.study, replace(measuring.choice, tag="", revised="with"))
        if each.question.name == QUALITY.name
    )
    votes = count_votes(whole)
    flagged, rng = find_flagging(measuring), measuring.rng(asked, "revisions")
    return [
        {"generator": name, "withdrawn": withdrawn[name], "flagged_by": flagged.get(name, []), "unit": asked.unit}
        | measure_model(revisions.get(name, []), votes, rng, measuring.draws)
        for name in sorted(revisions.keys() | withdrawn.keys())
    ]


def measure_model(revisions: list[RevisedItem], votes: Votes, rng: np.random.Generator, draws: int) -> Row:
    """`accepted`: mean share of the labels of an attribute; `majority`: share of attributes that most accept."""
    both = [row for row in revisions if row.key in votes and row.before in votes]
    codes = {unit: code for code, unit in enumerate(dict.fromkeys(row.unit for row in both))}
    units = np.array([codes[row.unit] for row in both], np.intp)
    sides = [[votes[key] for key in keys] for keys in ([row.before for row in both], [row.key for row in both])]
    shape: Row = {"revised": len(revisions), "compared": len(both), "units": len(codes)}
    for name, measure in (("accepted", share_accepted), ("majority", is_accepted)):
        before, after = (np.array([measure(counted) for counted in side], float) for side in sides)
        labels = [sum(counted.total() for counted in side) for side in sides]
        cases = (labels[0], labels[1]) if name == "accepted" else (len(both), len(both))
        found = measure_change(before, after, units, cases, rng, draws)
        shape[name] = write_estimates(found)
    return shape


def share_accepted(counted: Counter[str]) -> float:
    return counted[ACCEPTED] / counted.total()


def is_accepted(counted: Counter[str]) -> bool:
    return counted[ACCEPTED] > max((n for label, n in counted.items() if label != ACCEPTED), default=0)


def find_revisions(measuring: Measuring, by_user: bool) -> dict[str, list[RevisedItem]]:
    """By the model that revised."""
    rows = chosen_items(measuring).filter(payload__has_key="before").order_by("position")
    found: dict[str, list[RevisedItem]] = {}
    for key, before, cluster, tags in rows.values_list("key", "payload__before", "cluster", "tags"):
        if measuring.choice.has_tag(tags):
            unit = ("user", cluster) if by_user and cluster else ("item", before)
            found.setdefault(str(tags.get(GENERATOR, UNNAMED)), []).append(RevisedItem(key, before, unit))
    return found


def chosen_items(measuring: Measuring) -> Any:
    """Of the study, as labels are chosen, but for their tags."""
    choice = measuring.choice
    rows = AnnotationItem.objects.filter(study=measuring.study, pilot=choice.pilot, purpose=AnnotationItem.Purpose.WORK)
    rows = rows.filter(corpus=choice.corpus) if choice.corpus else rows
    return rows.filter(cluster=choice.cluster) if choice.cluster else rows


def count_withdrawn(measuring: Measuring) -> Counter[str]:
    """By model the attributes of which its newest reply says that nothing is left."""
    rows = Task.objects.filter(annotation_item__in=chosen_items(measuring), values__isnull=False)
    rows = rows.filter(run__instruction__startswith="refine-").order_by("pk")
    said = rows.values_list("run", "annotation_item", "values__action")
    authors = {run.pk: run.author for run in Run.objects.filter(tasks__in=rows).select_related("endpoint").distinct()}
    newest = {(authors[run], item): action for run, item, action in said}
    return Counter(author for (author, _), action in newest.items() if action == "withdraw")


def find_flagging(measuring: Measuring) -> dict[str, list[Row]]:
    """By the model that revised the models that chose what, with their versions and of how many attributes."""
    rows = Task.objects.filter(annotation_item__in=chosen_items(measuring))
    rows = rows.filter(run__instruction__startswith="refine-", values__isnull=False, payload__has_key="flagged_by")
    found: dict[str, Counter[tuple[str, str]]] = {}
    for task in rows.select_related("run__endpoint").order_by("pk"):
        counted = found.setdefault(task.run.author, Counter())
        counted.update((each["rater"], each["version"]) for each in task.payload["flagged_by"])
    return {
        author: [{"rater": rater, "version": version, "n": n} for (rater, version), n in sorted(counted.items())]
        for author, counted in found.items()
    }


def count_votes(asked: QuestionLabels) -> Votes:
    """Of people, or of judges where nobody else labels."""
    voting = choose_voters(asked.labels)
    votes: Votes = {}
    for row, rater in zip(asked.rows, asked.labels.raters.tolist(), strict=True):
        if voting[rater]:
            votes.setdefault(row.item, Counter())[row.value] += 1
    return votes
