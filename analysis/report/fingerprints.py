"""One hash over everything that a report is computed from: equal as long as nothing of it has changed."""

import hashlib
import json
from typing import Any

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Count, Max, Q

from analysis.models import AliasDecision, Answer, AnswerDecision, Completion
from analysis.report.dataset import runs_of
from analysis.report.filters.filters import Filters
from analysis.report.parts import METRICS_VERSION
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


def fingerprint(study: Study, filters: Filters, seed: int, draws: int) -> str:
    runs = list(runs_of(study).values_list("pk", "benchmark", "endpoint__model", "endpoint__provider", "first_run"))
    content = {
        "metrics": METRICS_VERSION,
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
