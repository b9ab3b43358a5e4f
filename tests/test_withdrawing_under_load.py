"""Hundreds of people withdraw from two server processes while everything else goes on, and each is erased whole.

`WITHDRAWALS=1000 .venv/bin/python -m pytest -s tests/test_withdrawing_under_load.py` tries it with more people.
"""

import csv
import http.client
import os
import random
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from django.db import connections, transaction
from django.utils import timezone

from analysis.answers import aliases, reviews
from analysis.answers.readings import read_new
from analysis.models import Answer
from analysis.report.reports import keep_part
from surveys.annotation.qualification import GateError, Verdict, decide_gate
from surveys.models import (
    Annotation,
    AnonymousExit,
    Draft,
    Participant,
    Place,
    ProlificStudy,
    Response,
    Session,
    Slot,
    Study,
    Submission,
)
from surveys.participation.pasting.capture import save_draft
from surveys.participation.steps import address
from surveys.prolific.contact import ask_messages
from surveys.prolific.decisions import DecisionError, decide, propose
from surveys.prolific.draft import SetUpError
from surveys.prolific.reconciliation import read_board
from surveys.prolific.transfer import save_submissions
from surveys.studies import lifecycle
from surveys.studies.access import make_pseudonym
from surveys.studies.audit import find_breaks
from surveys.studies.imports.responses import import_responses
from tests.factories import (
    PROLIFIC_STUDY,
    make_annotation_study,
    make_annotator,
    make_definition,
    make_items,
    make_participant,
    make_study,
    make_visit,
)
from tests.surveys.simulation.server import running_server
from tests.test_erasure import in_database, mark, mark_id

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.slow]
PEOPLE = int(os.environ.get("WITHDRAWALS", "200"))
ANNOTATORS = PEOPLE // 5
AT_ONCE = 12
PATIENCE = 5  # seconds for which a window that nobody ends goes on


@dataclass
class Reply:
    status: int
    location: str
    body: str

    @property
    def is_end(self) -> bool:
        return "/withdrawn/" in self.location or ("/withdrawn/" in self.body and self.body.startswith('{"next"'))

    def field(self, name: str) -> str:
        found = re.search(f'name="{name}" value="([^"]*)"', self.body)
        return found[1] if found else ""


@dataclass
class Site:
    """The server as browsers see it, with a new connection for each request, and a record of its answers."""

    base: str
    statuses: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    def send(self, method: str, path: str, form: dict[str, object] | None = None, script: bool = False) -> Reply:
        link = http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=60)
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if method == "POST" else {}
        headers["Accept"] = "application/json" if script else "text/html"
        link.request(method, path, urlencode(form or {}), headers)
        answer = link.getresponse()
        reply = Reply(answer.status, answer.getheader("Location") or "", answer.read().decode())
        link.close()
        self.statuses[f"{method} {answer.status}"] += 1
        if answer.status >= 500:
            self.failed.append(f"{method} {path} {answer.status}")
        return reply


@contextmanager
def going_on(*works: Callable[[], object]) -> Iterator[list[str]]:
    """Repeat each work in its own thread until the context ends; yield what went wrong."""
    over, faults = threading.Event(), list[str]()

    def run(work: Callable[[], object]) -> None:
        while not over.is_set():
            try:
                work()
            except (reviews.ReviewError, aliases.AliasError, DecisionError, SetUpError):
                pass  # said to a researcher in words: somebody they meant is gone
            except Exception as fault:
                faults.append(f"{work.__name__}: {type(fault).__name__} {fault}")
            time.sleep(0.2)
        connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        for work in works:
            pool.submit(run, work)
        try:
            yield faults
        finally:
            over.set()


# --- windows of one person ---------------------------------------------------------------


def answer_on(site: Site, person: Participant, text: str) -> None:
    """A window that answers prompt after prompt, saves drafts, and requests other pages in between."""
    begin, page = time.monotonic(), {"text": text, "html": text, "keep": "1"}
    for number in count():
        at = number % len(person.order) + 1
        draft = {"step": f"prompt:{person.order[at - 1]}", "text": text, "number": 0, "check": number % 2 or ""}
        replies = [
            site.send("POST", address(person, "prompt", at), page | {"key": uuid.uuid4()}),
            site.send("POST", address(person, "draft"), draft, script=True),
            site.send("GET", address(person, random.choice(["context", "debrief", "trouble", "stop", "resume"]))),
            site.send("POST", address(person, "context"), {"plan": "free", "chat": "new"}),
            site.send("POST", address(person, "attention", "leaf"), {"answer": text}),
        ]
        if replies[-1].is_end or time.monotonic() - begin > PATIENCE:
            return


def label_on(site: Site, person: Participant, text: str) -> None:
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE:
        found = site.send("GET", address(person, "work"))
        page = site.send("GET", found.location) if found.location else found
        if found.is_end:
            return
        form = {"page": page.field("page"), "key": uuid.uuid4(), "relevance": "yes"}
        site.send("POST", urlsplit(found.location).path or address(person, "work"), form)
        site.send("POST", address(person, "alive"))
        site.send("POST", address(person, "undo"), {"key": uuid.uuid4()})


def withdraw_in(site: Site, person: Participant) -> list[str]:
    """Withdraw amid everything else; return what was wrong with it, and with what the processes show afterwards."""
    time.sleep(random.uniform(0, 0.5))
    reply = site.send("POST", address(person, "stop"), {"how": "withdraw", "sure": "1"})
    wrong = [] if reply.is_end else [f"{person}: {reply.status} {reply.location}"]
    if Participant.objects.filter(pk=person.pk).exists():
        wrong.append(f"{person} is still there")
    connections.close_all()
    page = ("item", 1) if person.cell.chatbot == "" else ("prompt", 1)
    for _ in range(3):  # one of the processes or the other
        if not site.send("GET", address(person, *page)).is_end:
            wrong.append(f"{person} still sees a page")
    return wrong


def withdraw_all(site: Site, people: list[tuple[Participant, Callable, str]]) -> list[str]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = []
        for person, window, text in people:
            pool.submit(window, site, person, text)
            ends.append(pool.submit(withdraw_in, site, person))
        return [wrong for end in ends for wrong in end.result()]


# --- everything else ----------------------------------------------------------------------


def everything_else(study: Study, labelled: Study, folder: Path) -> Iterator[Callable[[], object]]:
    numbers = count(1)
    remote = ProlificStudy.objects.create(study=study, prolific_id=PROLIFIC_STUDY)

    def read() -> None:
        read_new(study)

    def decide_about_answers() -> None:
        waiting = reviews.answers_of(study).order_by("?").values_list("pk", "letter", "names").first()
        if waiting:
            reviews.decide(study, waiting[0], "ada", seen=0, letter=waiting[1], names=waiting[2])

    def join_spellings() -> None:
        with transaction.atomic():
            lifecycle.hold_withdrawals(study)  # a page that was made at this moment
            named = Answer.objects.filter(response__participant__study=study, items__len__gte=2).order_by("?").first()
            if named:
                aliases.accept(study, "teas", named.items[1:2], named.items[0], "ada")

    def keep_results() -> None:
        def compute() -> list[list[str]]:
            found = list(Answer.objects.filter(response__participant__study=study).values_list("names", flat=True))
            time.sleep(0.05)
            return found

        keep_part(study, "items:test", f"{next(numbers):064}", compute)

    def import_answers() -> None:
        path = folder / f"{next(numbers)}.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["participant", "chatbot", "prompt", "text"])
            rows.writerows([f"imported {next(numbers)}", "chatgpt", "teas", "1. Assam\n2. Mate"] for _ in range(5))
        import_responses(study, path, "ada")

    def mirror_and_pay() -> None:
        visits = Session.objects.filter(study=study).values_list("session_id", "participant__pid")
        theirs = [
            Submission(submission_id=name, pid=pid, status="AWAITING REVIEW", code="CODE1", reward=100, bonus=0)
            for name, pid in visits
            if not pid.startswith("imported")
        ]
        time.sleep(0.02)
        save_submissions(study, remote, theirs, 100, timezone.now())
        board = read_board(study)
        for each in propose(board):
            if each.can_decide:
                decide(study, each.meaning, "ada", each.count, each.cents)

    def write_to_people() -> None:
        name = Participant.objects.filter(study=study, origin="prolific").order_by("?").values_list("pseudonym").first()
        if name:
            ask_messages(study, "unfinished", [*name], "ada")

    def choose_annotators() -> None:
        names = Annotation.objects.filter(item__study=labelled).values_list("participant__pseudonym", flat=True)
        if chosen := [*{*names[:5]}]:
            verdicts = {name: Verdict(True) for name in chosen}
            with suppress(GateError):  # one of them withdrew
                decide_gate(labelled, "ada", verdicts, pilot=False, rule="All stay.", thresholds={}, reason="A test.")

    yield from (read, decide_about_answers, join_spellings, keep_results, import_answers, mirror_and_pay)
    yield from (write_to_people, choose_annotators)


def make_crowd(study: Study, number: int) -> list[Participant]:
    """This many people at the first prompt, each with a place and a visit from Prolific."""
    order = list(lifecycle.prompts_of(study.current_id))
    places = list(Place.objects.filter(cell__study=study, cell__slug="milky").select_related("cell")[:number])
    people = Participant.objects.bulk_create(
        Participant(
            study=study,
            version_id=study.current_id,
            pid=mark_id(f"p{at}"),
            pseudonym=make_pseudonym(),
            state=Participant.State.ACTIVE,
            step=Participant.Step.PROMPTS,
            cell=place.cell,
            order=order,
            order_number=place.number,
        )
        for at, place in enumerate(places)
    )
    for person, place in zip(people, places, strict=True):
        place.participant, place.expires_at = person, timezone.now() + timedelta(hours=1)
    Place.objects.bulk_update(places, ["participant", "expires_at"])
    visits = [
        Session(participant=person, study=study, session_id=f"5e{person.pk:022x}", rule="first") for person in people
    ]
    Session.objects.bulk_create(visits)
    return people


def text_of(person: Participant) -> str:
    return "\n".join(f"{n}. Tea {mark(f'n{person.pk}x{n}')}" for n in range(1, 6))


def test_everybody_who_withdraws_under_load_is_gone_whole_and_no_page_fails(tmp_path: Path) -> None:
    study = make_study(definition=make_definition(PEOPLE, prolific_study_ids=(PROLIFIC_STUDY,)))
    labelled = make_annotation_study(slug="labelled", places=ANNOTATORS, quota=50)
    make_items(labelled, 60)
    people = [(person, answer_on, text_of(person)) for person in make_crowd(study, PEOPLE)]
    people += [(make_annotator(labelled), label_on, "") for _ in range(ANNOTATORS)]
    random.shuffle(people)
    with running_server(tmp_path / "server.log", workers=2) as base:
        site, begin = Site(base), time.monotonic()
        with going_on(*everything_else(study, labelled, tmp_path)) as faults:
            wrong = withdraw_all(site, people)
        seconds = time.monotonic() - begin
    print(f"\n{len(people)} withdrawals in {seconds:.0f} s; {dict(site.statuses)}; {len(faults)} faults elsewhere")
    assert (wrong, site.failed) == ([], [])
    assert faults == []
    assert AnonymousExit.objects.filter(kind="withdrawn").count() == PEOPLE + ANNOTATORS
    assert not Participant.objects.exclude(origin="imported").exists()
    for left in (Response, Draft, Session, Place, Slot):
        rows = left.objects.exclude(participant__origin="imported").exclude(participant=None)
        assert not rows.exists(), left
    assert not Annotation.objects.exists() and not Submission.objects.exclude(pid="").exists()
    assert in_database() == {}
    assert list(find_breaks(study)) == []


def test_every_process_sees_at_once_what_another_one_did(tmp_path: Path) -> None:
    study = make_study()
    person = make_participant(study)
    entry = f"/s/{study.slug}/?{urlencode(make_visit().as_parameters())}"
    with running_server(tmp_path / "server.log", workers=2) as base:
        site = Site(base)

        def shown(path: str) -> set[str]:
            return {re.sub(r"\s+", " ", site.send("GET", path).body) for _ in range(12)}

        def entries_hold(words: str) -> bool:
            return all(words in page for page in shown(entry))

        assert entries_hold('name="consent"')
        shown(address(person, "prompt", 1))
        lifecycle.pause(study, "ada")
        assert not any('name="consent"' in page for page in shown(entry))
        lifecycle.resume(study, "ada")
        assert entries_hold('name="consent"')
        lifecycle.load_definition(make_definition(title="Teas, once more"), "ada", amendment="A clearer title.")
        assert entries_hold("Teas, once more")
        save_draft(person, f"prompt:{person.order[0]}", {"text": "1. Assam, from another process"}, 0)
        assert all("from another process" in page for page in shown(address(person, "prompt", 1)))
        lifecycle.close(study, "ada")
        assert not any('name="consent"' in page for page in shown(entry))
