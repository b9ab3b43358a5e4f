"""Numbers that are not there yet: a worker is asked for them, and the page counts along."""

from typing import Any

from celery.exceptions import OperationalError
from redis import RedisError

from analysis.models import Completion
from analysis.report.dataset import runs_of
from analysis.report.pages.contents import Page
from analysis.report.pages.shown import Shown
from analysis.report.reports import PARTS
from analysis.report.tasks import enqueue_report
from surveys.models import Response, Study

SMALL = 1_000  # texts; a report of so many is computed while the reader waits
PATIENCE = 120  # looks at a report under way, after which a missing worker is suspected
PART_WORDS = {
    "about": "what there is",
    "heterogeneity": "heterogeneity",
    "choices": "choices",
    "benchmarks": "benchmark runs",
    "calibration": "the nearest sock puppet",
    "cells": "groups of people",
    "contexts": "ways to set up the chatbot",
    "drift": "repetitions",
    "variants": "variants of prompts",
    "items": "items",
    "distances": "distances",
    "scores": "rank correlations",
    "costs": "costs",
    "latency": "waiting times",
    "precision": "precision",
    "sensitivity": "what exclusions change",
}


def has_few_texts(study: Study) -> bool:
    responses = Response.objects.filter(participant__study=study)[: SMALL + 1].count()
    if responses > SMALL:
        return False
    answers = Completion.objects.filter(run__in=runs_of(study), status="done")
    return responses + answers[: SMALL + 1].count() <= SMALL


def begin(shown: Shown) -> bool:
    """Ask a worker for the parts, and then for those of the other pages; False when none can be reached."""
    by_query: dict[str, list[str]] = {}
    for part, view in shown.reportings.items():
        by_query.setdefault(view.filters.to_query(), []).append(part)
    try:
        for query, parts in by_query.items():
            others = [part for part in PARTS if part not in shown.reportings] if "about" in parts else []
            enqueue_report(shown.study.pk, query, [*parts, *others], shown.reportings[parts[0]].fingerprint)
    except (OperationalError, RedisError):
        return False
    return True


def standing(wanted: Page, missing: list[str], looks: int) -> dict[str, Any]:
    parts = ("about", *wanted.parts)
    return {
        "parts": [(PART_WORDS[part], part not in missing) for part in parts],
        "done": len(parts) - len(missing),
        "all": len(parts),
        "share": round(1000 * (len(parts) - len(missing)) / len(parts)),
        "looks": looks + 1,
        "waits_long": looks > PATIENCE,
    }
