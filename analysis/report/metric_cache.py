"""Computed parts, kept by what they were computed from: found again, computed once, and old ones thrown away."""

import hashlib
import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from django.contrib.postgres.aggregates import StringAgg
from django.db import connection, transaction
from django.db.models import Count, Max, Q

from analysis.models import AliasDecision, Answer, AnswerDecision, Completion, MetricValue
from analysis.report.dataset import runs_of
from analysis.report.filters.filters import Filters
from surveys.models import (
    AnonymousExit,
    BenchmarkItem,
    ChatbotContext,
    Flag,
    Participant,
    Response,
    Study,
    StudyVersion,
)
from surveys.reading.answers import RULES_VERSION

HERE = Path(__file__).parent
# What numbers come from: whoever changes a formula or a column has kept results computed again.
CODE = ("parts", "columns.py", "dataset.py", "measures.py", "rows.py", "samples.py", "../stats")


@cache
def code_version() -> str:
    digest = hashlib.sha256()
    for path in (found for name in CODE for found in sorted((HERE / name).glob("*.py")) or [HERE / name]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(study: Study, filters: Filters, seed: int, draws: int) -> str:
    runs = list(runs_of(study).values_list("pk", "benchmark", "endpoint__model", "endpoint__provider", "first_run"))
    content = {
        "code": code_version(),
        "rules": RULES_VERSION,
        "filters": filters.to_pairs(),
        "draws": [seed, draws],
        "versions": list(StudyVersion.objects.filter(study=study).order_by("pk").values_list("sha256", "amendment")),
        "people": people_stamp(study),
        "responses": response_stamp(study),
        "aliases": AliasDecision.objects.filter(study=study).aggregate(Max("number")),
        "runs": sorted(runs),
        "completions": completion_stamp([run[0] for run in runs]),
        "keys": key_stamp({run[1] for run in runs if run[1]}),
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def people_stamp(study: Study) -> list[Any]:
    people = Participant.objects.filter(study=study).order_by("state", "origin", "pilot")
    grouped = people.values_list("state", "origin", "pilot", "step", "overflow")
    contexts = ChatbotContext.objects.filter(participant__study=study)
    flags = Flag.objects.filter(participant__study=study).order_by("outcome").values_list("outcome")
    exits = AnonymousExit.objects.filter(version__study=study)
    return [
        list(grouped.annotate(Count("pk"), Max("pk"), Max("finished_at"))),
        contexts.aggregate(Count("pk"), Max("pk"), Max("recorded_at")),
        list(flags.annotate(Count("pk"), Max("decided_at"))),
        exits.aggregate(Count("pk"), Max("pk")),
    ]


def response_stamp(study: Study) -> list[Any]:
    accepted = Response.objects.filter(participant__study=study, accepted=True)
    return [
        accepted.aggregate(Count("pk"), Max("pk"), Max("submitted_at")),
        answer_stamp(Q(response__participant__study=study)),
    ]


def completion_stamp(runs: list[int]) -> list[Any]:
    calls = Completion.objects.filter(run__in=runs).order_by("run", "status").values_list("run", "status")
    return [
        list(calls.annotate(Count("pk"), Max("done_at"))),
        answer_stamp(Q(completion__run__in=runs)),
    ]


def answer_stamp(whose: Q) -> list[Any]:
    answers = Answer.objects.filter(whose)
    decisions = AnswerDecision.objects.filter(answer__in=answers)
    return [
        answers.aggregate(Count("pk"), Max("pk"), Max("read_at"), decided=Count("pk", filter=Q(decided=True))),
        decisions.aggregate(Count("pk"), Max("pk")),
    ]


def key_stamp(benchmarks: set[str]) -> list[Any]:
    """The benchmarks' keys: importing one again may change them."""
    items = BenchmarkItem.objects.filter(benchmark__in=benchmarks).order_by("benchmark").values_list("benchmark")
    return list(items.annotate(key=StringAgg("answer", "", order_by="pk")))


MOST_KEPT = 500  # of one study: parts × views that somebody has looked at


def find_part(study: Study, name: str, fingerprint: str) -> MetricValue | None:
    return MetricValue.objects.filter(study=study, name=name, fingerprint=fingerprint).first()


def keep_part(study: Study, name: str, fingerprint: str, compute: Callable[[], Any]) -> MetricValue:
    """The part of this name and fingerprint. Who asks while somebody else computes it waits for that."""
    if found := find_part(study, name, fingerprint):
        return found
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s), %s)", [f"report {name}", study.pk])
        if found := find_part(study, name, fingerprint):
            return found
        began = time.monotonic()
        value = compute()
        kept = MetricValue.objects.create(
            study=study, name=name, fingerprint=fingerprint, value=value, seconds=time.monotonic() - began
        )
        discard_old(kept)
    return kept


def discard_old(kept: MetricValue) -> None:
    """What the same part was before, and beyond MOST_KEPT what was computed longest ago."""
    rows = MetricValue.objects.filter(study=kept.study_id)
    rows.filter(name=kept.name).exclude(pk=kept.pk).delete()
    oldest = rows.order_by("-computed_at", "-pk").values_list("pk", flat=True)[MOST_KEPT:]
    rows.filter(pk__in=list(oldest)).delete()
