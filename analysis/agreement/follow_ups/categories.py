"""What models say is wrong with doubted attributes, beside what annotators say: as shares, and as raters."""

from typing import Any

import numpy as np
from django.db.models import Q

from analysis.agreement.annotations import LabelChoice, QuestionLabels
from analysis.agreement.follow_ups.revisions import ACCEPTED, QUALITY, chosen_items
from analysis.agreement.measuring import Measuring
from analysis.models import Run, Task
from analysis.stats.agreement.agreement import Row, write_estimates
from analysis.stats.agreement.estimates import estimate_clustered_share
from surveys.annotation.counted import iter_labels
from surveys.annotation.labels import record_judgement
from surveys.models import Annotation, AnnotationItem, Study
from surveys.studies.files.kinds import ERROR

CATEGORY, REASON = "category-", "reason-"  # how the instructions of their runs begin
NOTHING = "no model named a mistake"


def counted_items(measuring: Measuring) -> Any:
    """As labels are chosen: what models revised is a group of its own."""
    rows, revised, asked = chosen_items(measuring), Q(payload__has_key="before"), measuring.choice.revised
    return rows if asked == "with" else rows.filter(revised if asked else ~revised)


def newest_of(measuring: Measuring, instruction: str) -> dict[Run, dict[int, Task]]:
    """The newest readable reply of each author about each item."""
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
    """What models say is wrong with what people doubt: of each the share of every category, over users or items."""
    if asked.question.name != QUALITY.name:
        return None
    found = newest_of(measuring, CATEGORY)
    reasons = {run.author: len(tasks) for run, tasks in newest_of(measuring, REASON).items()}
    if not found and not reasons:
        return None
    return {
        "doubted": count_doubted(measuring),
        "reasons": [{"model": author, "n": n} for author, n in reasons.items()],
        "models": [measure_model(run.author, list(tasks.values()), asked) for run, tasks in found.items()],
    }


def measure_model(author: str, tasks: list[Task], asked: QuestionLabels) -> Row:
    items = [task.annotation_item for task in tasks]
    wholes = [("user", item.cluster) if asked.by_user and item.cluster else ("item", item.key) for item in items]
    codes = {whole: code for code, whole in enumerate(dict.fromkeys(wholes))}
    said, units = np.array([task.values["category"] for task in tasks]), np.array([codes[whole] for whole in wholes])
    shares = {value: estimate_clustered_share(said == value, units, NOTHING) for value in ERROR.values}
    return {
        "model": author,
        "n": len(tasks),
        "unit": asked.unit,
        "units": len(codes),
        "shares": write_estimates(shares),
    }


def count_doubted(measuring: Measuring) -> int:
    """Items that one person says makes no sense, or maybe."""
    labels = iter_labels(measuring.study, pilot=measuring.choice.pilot)
    doubted = {
        row.item for row in labels if row.question == QUALITY.name and not row.is_model and row.value != ACCEPTED
    }
    return sum(
        measuring.choice.has_tag(tags)
        for tags in counted_items(measuring).filter(key__in=doubted).values_list("tags", flat=True)
    )


def record_categories(study: Study, into: Study) -> int:
    """Models that named the mistakes of `study`'s attributes become raters of the items that `into` has of these.

    Returns how many labels are new; what was recorded before stays, and another category is a new revision.
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
