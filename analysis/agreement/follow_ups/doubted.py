"""Doubted attributes: mistakes that models name in them, and how many are accepted after a model's revision."""

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q

from analysis.agreement.annotations import LabelChoice, Measuring, QuestionLabels, code_wholes, fits, gather
from analysis.models import Run, Task
from analysis.stats.agreement.agreement import Row, write_estimates
from analysis.stats.agreement.estimates import estimate_clustered_share, measure_change
from analysis.stats.agreement.labels import choose_voters
from surveys.annotation.items import GENERATOR
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.files.kinds import ERROR, QUALITY
from surveys.studies.labels import iter_labels, record_judgement

ACCEPTED = QUALITY.values[-1]  # makes sense
UNNAMED = ""

Votes = dict[str, Counter[str]]  # by item


class RevisedItem(NamedTuple):
    """A revision's key, the key `before` of the item that it revises, and the user whom both are about."""

    key: str
    before: str
    user: str


def measure_revisions(measuring: Measuring, asked: QuestionLabels) -> list[Row]:
    """Measure each model's revisions and withdrawals of attributes, and acceptance before and after with intervals."""
    if asked.question.name != QUALITY.name:
        return []
    revisions, withdrawn = find_revisions(measuring), count_withdrawn(measuring)
    if not revisions and not withdrawn:
        return []
    # A tag may choose revisions, but the items that they revise have other tags and are not revisions.
    every = gather(measuring.study, replace(measuring.choice, tag="", revised="with"))
    votes = count_votes(next(each for each in every if each.question.name == QUALITY.name))
    flagged, rng = find_flagging(measuring), measuring.rng(asked)
    return [
        {"generator": name, "withdrawn": withdrawn[name], "flagged_by": flagged.get(name, []), "unit": asked.unit}
        | measure_acceptance(revisions.get(name, []), votes, asked.by_user, rng, measuring.draws)
        for name in sorted(revisions.keys() | withdrawn.keys())
    ]


def measure_acceptance(
    revisions: list[RevisedItem], votes: Votes, by_user: bool, rng: np.random.Generator, draws: int
) -> Row:
    """Measure `accepted`, the mean share of accepting labels, and `majority`, the attributes that most accept."""
    both = [row for row in revisions if row.key in votes and row.before in votes]
    units = np.array(code_wholes(((row.user, row.before) for row in both), by_user), np.intp)
    sides = [[votes[key] for key in keys] for keys in ([row.before for row in both], [row.key for row in both])]
    shape: Row = {"revised": len(revisions), "compared": len(both), "units": len(np.unique(units))}
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


def find_revisions(measuring: Measuring) -> dict[str, list[RevisedItem]]:
    """Find the chosen revisions, by the model that made them."""
    rows = chosen_items(measuring).filter(payload__has_key="before").order_by("position")
    found: dict[str, list[RevisedItem]] = {}
    for key, before, cluster, tags in rows.values_list("key", "payload__before", "cluster", "tags"):
        if measuring.choice.has_tag(tags):
            found.setdefault(str(tags.get(GENERATOR, UNNAMED)), []).append(RevisedItem(key, before, cluster))
    return found


def chosen_items(measuring: Measuring) -> Any:
    """Select work items by the choice's pilot, corpus and cluster, but not by its tag or revisions."""
    choice = measuring.choice
    rows = AnnotationItem.objects.filter(study=measuring.study, pilot=choice.pilot, purpose=AnnotationItem.Purpose.WORK)
    rows = rows.filter(corpus=choice.corpus) if choice.corpus else rows
    return rows.filter(cluster=choice.cluster) if choice.cluster else rows


def count_withdrawn(measuring: Measuring) -> Counter[str]:
    """Count the attributes that each model's newest reply withdraws."""
    rows = Task.objects.filter(annotation_item__in=chosen_items(measuring), values__isnull=False)
    rows = rows.filter(run__instruction__startswith="refine-").order_by("pk")
    said = rows.values_list("run", "annotation_item", "values__action")
    authors = {run.pk: run.author for run in Run.objects.filter(tasks__in=rows).select_related("endpoint").distinct()}
    newest = {(authors[run], item): action for run, item, action in said}
    return Counter(author for (author, _), action in newest.items() if action == "withdraw")


def find_flagging(measuring: Measuring) -> dict[str, list[Row]]:
    """Find, by revising model, the raters that flagged its attributes: rater, version and number of attributes."""
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
    """Count the voters' labels by item."""
    voting = choose_voters(asked.labels)
    votes: Votes = {}
    for row, rater in zip(asked.rows, asked.labels.raters.tolist(), strict=True):
        if voting[rater]:
            votes.setdefault(row.item, Counter())[row.value] += 1
    return votes


CATEGORY, REASON = "category-", "reason-"  # prefixes of their runs' instructions
NOTHING = "no model named a mistake"


def counted_items(measuring: Measuring) -> Any:
    """Select the chosen items with, without, or only models' revisions."""
    rows, revised, asked = chosen_items(measuring), Q(payload__has_key="before"), measuring.choice.revised
    return rows if asked == "with" else rows.filter(revised if asked else ~revised)


def newest_of(measuring: Measuring, instruction: str) -> dict[Run, dict[int, Task]]:
    """Return each author's newest readable reply about each item, under the author's first run."""
    rows = Task.objects.filter(annotation_item__in=counted_items(measuring), values__isnull=False)
    rows = rows.filter(run__instruction__startswith=instruction).order_by("pk").select_related("annotation_item")
    runs = {run.pk: run for run in Run.objects.filter(tasks__in=rows).select_related("endpoint").distinct()}
    by_author: dict[str, tuple[Run, dict[int, Task]]] = {}
    for task in rows:
        if measuring.choice.has_tag(task.annotation_item.tags):
            run = runs[task.run_id]
            by_author.setdefault(run.author, (run, {}))[1][task.annotation_item_id] = task
    return dict(by_author[author] for author in sorted(by_author))


def measure_categories(measuring: Measuring, asked: QuestionLabels) -> Row | None:
    """Measure each model's share of every category of mistake in doubted attributes, with intervals."""
    if asked.question.name != QUALITY.name:
        return None
    found = newest_of(measuring, CATEGORY)
    reasons = {run.author: len(tasks) for run, tasks in newest_of(measuring, REASON).items()}
    if not found and not reasons:
        return None
    return {
        "doubted": count_doubted(measuring),
        "reasons": [{"model": author, "n": n} for author, n in reasons.items()],
        "models": [measure_mistakes(run.author, list(tasks.values()), asked) for run, tasks in found.items()],
    }


def measure_mistakes(author: str, tasks: list[Task], asked: QuestionLabels) -> Row:
    items = [task.annotation_item for task in tasks]
    units = np.array(code_wholes(((item.cluster, item.key) for item in items), asked.by_user))
    said = np.array([task.values["category"] for task in tasks])
    shares = {value: estimate_clustered_share(said == value, units, NOTHING) for value in ERROR.values}
    about = {"model": author, "n": len(tasks), "unit": asked.unit, "units": len(set(units.tolist()))}
    return about | {"shares": write_estimates(shares)}


def count_doubted(measuring: Measuring) -> int:
    """Count the items with a person's chosen label other than “makes sense”."""
    choice = measuring.choice
    labels = iter_labels(measuring.study, pilot=choice.pilot, simulated=choice.simulated)
    doubts = (row for row in labels if row.question == QUALITY.name and not row.is_model and row.value != ACCEPTED)
    return len({row.item for row in doubts if fits(row, choice)})


def record_categories(study: Study, into: Study) -> int:
    """Record the mistakes that models named in `study`'s attributes as labels of the same items in `into`.

    Return the number of new labels; earlier ones stay, and another category is a new revision.
    """
    items = AnnotationItem.objects.filter(study=into, pilot=False, source=study.slug).select_related("study__current")
    by_key, new = {item.key: item for item in items}, 0
    for run, tasks in newest_of(Measuring(study, LabelChoice(revised="with")), CATEGORY).items():
        rater = f"{run.endpoint.name} {run.instruction}"[:150]
        said = Annotation.objects.filter(item__study=into, judge=rater)
        before = said.count()
        for task in tasks.values():
            if item := by_key.get(task.annotation_item.key):
                record_judgement(item, rater, {ERROR.name: task.values["category"]}, detail=detail_of(run, task))
        new += said.count() - before
    return new


def detail_of(run: Run, task: Task) -> dict[str, Any]:
    return {
        **{"endpoint": run.endpoint.name, "provider": run.endpoint.provider, "model": run.endpoint.model},
        **{"prompt": run.instruction, "temperature": run.temperature, "run": task.run_id},
        "reason": task.payload["reason"],
    }
