"""Runs in every state, for tests of pages and API: calls answered, failed, in flight and lost."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.authtoken.models import Token

from analysis.models import Completion, Run
from analysis.runs.recipes.messages import messages_for
from surveys.models import Study
from tests.analysis.runs.baseline_factories import make_call, make_endpoint, make_run

ESTIMATE = {"calls": 10, "prompt_tokens": 1000, "completion_tokens": 3000, "usd": 0.5, "usd_most": 1.0}


def answer(call: Completion, reply: str = "1. Sencha", **changes: Any) -> Completion:
    """Answer a call as a lane does."""
    given = {
        "status": "done",
        "reply": reply,
        "attempts": 1,
        "model_served": "scripted",
        "fingerprint": "fp1",
        "prompt_tokens": 20,
        "completion_tokens": 30,
        "latency_ms": 250,
        "done_at": timezone.now(),
        "messages_sha256": messages_for(call).sha256,
    } | changes
    Completion.objects.filter(pk=call.pk).update(**given)
    call.refresh_from_db()
    return call


def fail(call: Completion, error: str = "400: No.", kind: str = "refused") -> Completion:
    Completion.objects.filter(pk=call.pk).update(
        status="failed", error=error, error_kind=kind, attempts=1, done_at=timezone.now()
    )
    return call


def make_running(study: Study, **changes: Any) -> Run:
    """A running run: three calls answered, one failed, one in flight, one to send."""
    began = timezone.now() - timedelta(seconds=10)
    given = {"state": "running", "began_at": began, "repeats": 6, "estimate": ESTIMATE} | changes
    run = make_run(study=study, **given)
    calls = [make_call(run, repeat=repeat) for repeat in range(6)]
    for call in calls[:3]:
        answer(call)
    fail(calls[3])
    Completion.objects.filter(pk=calls[4].pk).update(
        status="leased", lease_until=timezone.now() + timedelta(minutes=1), sent_at=timezone.now()
    )
    return run


def make_done(study: Study, **changes: Any) -> Run:
    run = make_run(study=study, state="done", estimate=ESTIMATE, ended_at=timezone.now(), **changes)
    answer(make_call(run))
    return run


def order_of(**changes: Any) -> dict[str, Any]:
    """The request for a new run; makes an endpoint if it names none."""
    endpoint = changes.pop("endpoint", None) or make_endpoint(name="scripted").name
    return {"condition": "offline", "endpoint": endpoint, "repeats": 2} | changes


def page_of(name: str, *args: object) -> str:
    """The address of a page of baselines in the study of teas."""
    return reverse(f"baselines:{name}", args=["teas", *args])


def program_of(account: AbstractUser) -> Client:
    """A client that sends a new token of the account."""
    return Client(headers={"Authorization": f"Token {Token.objects.create(user=account).key}"})
