"""What models say is wrong with doubted attributes, beside what annotators say: as shares, and as raters."""

from collections import Counter
from typing import Any

import numpy as np
from django.db.models import Q

from analysis.agreement.annotations import Gathered, LabelChoice
from analysis.agreement.asked.revisions import ACCEPTED, QUALITY, chosen_items
from analysis.models import Run, Task
from analysis.stats.agreement.agreement import write_estimate
from analysis.stats.agreement.estimates import estimate_clustered_share
from surveys.annotation.counted import iter_labels
from surveys.annotation.labels import record_judgement
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.files.kinds import ERROR

CATEGORY, REASON = "category-", "reason-"  # how the instructions of their runs begin
NOTHING = "no model named a mistake"

Shape = dict[str, Any]


def counted_items(study: Study, choice: LabelChoice) -> Any:
    """As labels are chosen: what models revised is a group of its own."""
    rows, revised = chosen_items(choice).filter(study=study), Q(payload__has_key="before")
    return rows if choice.revised == "with" else rows.filter(revised if choice.revised else ~revised)


def newest_of(study: Study, choice: LabelChoice, instruction: str) -> dict[Run, dict[int, Task]]:
    """The newest readable reply of each author about each item."""
    rows = Task.objects.filter(annotation_item__in=counted_items(study, choice), values__isnull=False)
    rows = rows.filter(run__instruction__startswith=instruction).order_by("pk").select_related("annotation_item")
    runs = {run.pk: run for run in Run.objects.filter(tasks__in=rows).select_related("endpoint").distinct()}
    by_author: dict[str, tuple[Run, dict[int, Task]]] = {}
    name, _, value = choice.tag.partition(":")
    for task in rows:
        if not choice.tag or str(task.annotation_item.tags.get(name, "")) == value:
            run = runs[task.run_id]
            by_author.setdefault(run.author, (run, {}))[1][task.annotation_item_id] = task
    return dict(by_author[author] for author in sorted(by_author))


def measure_categories(study: Study, asked: Gathered, choice: LabelChoice) -> Shape | None:
    """What models say is wrong with what people doubt: of each the share of every category, over users or items."""
    if asked.question.name != QUALITY.name:
        return None
    found = newest_of(study, choice, CATEGORY)
    reasons = {run.author: len(tasks) for run, tasks in newest_of(study, choice, REASON).items()}
    if not found and not reasons:
        return None
    return {
        "doubted": count_doubted(study, choice),
        "reasons": [{"model": author, "n": n} for author, n in reasons.items()],
        "models": [measure_model(run.author, list(tasks.values()), asked) for run, tasks in found.items()],
    }


def measure_model(author: str, tasks: list[Task], asked: Gathered) -> Shape:
    items = [task.annotation_item for task in tasks]
    wholes = [("user", item.cluster) if asked.by_user and item.cluster else ("item", item.key) for item in items]
    codes = {whole: code for code, whole in enumerate(dict.fromkeys(wholes))}
    said, units = np.array([task.values["category"] for task in tasks]), np.array([codes[whole] for whole in wholes])
    shares = {value: write_estimate(estimate_clustered_share(said == value, units, NOTHING)) for value in ERROR.values}
    return {"model": author, "n": len(tasks), "unit": asked.unit, "units": len(codes), "shares": shares}


def doubted_items(study: Study, pilot: bool) -> set[str]:
    labels = (row for row in iter_labels(study, pilot=pilot) if row.question == QUALITY.name and not row.is_model)
    return {row.item for row in labels if row.value != ACCEPTED}


def count_doubted(study: Study, choice: LabelChoice) -> int:
    """Items that one person says makes no sense, or maybe."""
    name, _, value = choice.tag.partition(":")
    rows = counted_items(study, choice).filter(key__in=doubted_items(study, choice.pilot))
    return Counter(not choice.tag or str(tags.get(name, "")) == value for tags in rows.values_list("tags", flat=True))[
        True
    ]


def record_categories(study: Study, into: Study) -> int:
    """Models that named the mistakes of `study`'s attributes become raters of the items that `into` has of these.

    Returns how many labels are new; what was recorded before stays, and another category is a new revision.
    """
    items = AnnotationItem.objects.filter(study=into, pilot=False, source=study.slug).select_related("study__current")
    by_key, new = {item.key: item for item in items}, 0
    for run, tasks in newest_of(study, LabelChoice(revised="with"), CATEGORY).items():
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
