"""The API answers as its schema says, whatever it is sent and whoever sends it."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker
from rest_framework.authtoken.models import Token
from schemathesis import APIOperation, Case
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from analysis.models import CorpusStep, Run
from analysis.report import tasks
from analysis.runs.pages import actions
from tests.analysis.agreement.annotation_samples import make_annotated
from tests.analysis.people.people_samples import make_person, talk
from tests.analysis.report.report_samples import make_teas
from tests.analysis.runs.baseline_factories import make_corpus, shared
from tests.analysis.runs.run_samples import make_running
from tests.factories import make_account
from tests.lasting import lasting_rows

# Two checks of schemathesis are left out. What it calls wrong input the API may take, as `seed=`, which is the
# default; and what it calls right input the API may refuse, as a name that no endpoint has.
CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    unsupported_method,
]
SEED, CASES = 17, 20
APPLICATION = get_wsgi_application()
SCHEMA = schemathesis.openapi.from_wsgi("/api/v1/schema/?format=json", APPLICATION)
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]
WHO = ("researcher", "viewer", "nobody")
# Names that exist, so that a path leads somewhere. Everything else is drawn from the schema.
KNOWN: dict[str, list[Any]] = {"slug": ["teas", "teas", "labelled"], "corpus": ["corpus"], "endpoint": []}
# All that half of the requests keep: most would be refused for other fields, drawn from all texts there are.
PLAIN = ("limit", "offset", "pilot", "simulated", "part", "format", "draws", "seed", "status")
ORDERED = ("endpoint", "condition", "repeats", "dry_run", "note", "pilot", "dry")


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, str]]:
    """A study with people and runs, one of annotators, and a corpus with runs; yields a token for each role."""
    with lasting_rows(django_db_blocker):
        study, corpus = make_teas(), make_corpus()
        labelled, _ = make_annotated(slug="labelled")
        running = make_running(study)
        for key in ("ann", "bob"):
            make_person(key, talk(key, 2), corpus)
        CorpusStep.objects.create(corpus=corpus, name="filter", state="done", share=1)
        task = {"condition": "task", "instruction": "language", "state": "paused", "created_by": "ada"}
        about = shared(Run.objects.create(corpus=corpus, endpoint=running.endpoint, repeats=1, **task))
        KNOWN["number"] = [running.pk, running.pk, about.pk]
        KNOWN["number of a corpus"] = [about.pk]
        KNOWN["endpoint"] = [running.endpoint.name]
        tokens = {}
        for role in WHO[:2]:
            account = make_account(role, study, role)
            labelled.memberships.create(user=account, role=role)
            tokens[role] = Token.objects.create(user=account).key
        yield tokens


@pytest.fixture(autouse=True)
def unsent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand nothing to workers, since there are none here."""
    monkeypatch.setattr(actions, "enqueue_lanes", lambda run: None)
    monkeypatch.setattr(tasks.compute_report, "delay", lambda *order: None)


@pytest.fixture(autouse=True)
def same_connection() -> Iterator[None]:
    """Keep the test's connection, whose transaction holds the world: a server would close it after each request."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_every_answer_is_as_the_schema_says(world: dict[str, str], operation: APIOperation, who: str) -> None:
    headers = {"Authorization": f"Token {world[who]}"} if who in world else {}
    seen = set()

    @settings(
        max_examples=CASES if who in world else CASES // 4,  # nobody's requests are refused before anything else
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(data=st.data())
    def try_operation(data: st.DataObject) -> None:
        case: Case = data.draw(operation.as_strategy())
        for name in case.path_parameters or {}:
            of_corpus = name == "number" and "corpus" in case.path_parameters
            known = KNOWN.get("number of a corpus" if of_corpus else name)
            if known and data.draw(st.integers(0, 4)):
                case.path_parameters[name] = data.draw(st.sampled_from(known))
        if data.draw(st.booleans()):
            make_plain(case, data.draw(st.sampled_from(KNOWN["endpoint"])))
        response = case.call(headers=headers)
        seen.add(response.status_code)
        case.validate_response(response, checks=CHECKS, headers=headers)
        if response.status_code >= 400:
            assert response.json().keys() == {"detail"} and isinstance(response.json()["detail"], str)

    # What is drawn depends on every constant in the source, and by chance all of it may be refused.
    for more in range(6 if who == "researcher" and "push" not in operation.label else 1):
        if not seen & {200, 201, 202}:
            seed(SEED + more)(try_operation)()
    assert seen <= {401, 404} if who == "nobody" else 401 not in seen
    # Pushing needs items of an earlier stage: tests/analysis/people/test_pushing.py has them.
    assert who != "researcher" or seen & {200, 201, 202} or "push" in operation.label


def make_plain(case: Case, endpoint: str) -> None:
    """Drop what most requests would be refused for, so that the rest may well be answered."""
    case.query = {name: value for name, value in (case.query or {}).items() if name in PLAIN}
    if isinstance(case.body, dict):
        case.body = {name: value for name, value in case.body.items() if name in ORDERED}
        order = {"endpoint": endpoint, "condition": "offline", "repeats": 2}
        case.body |= {name: value for name, value in order.items() if name in case.body}
