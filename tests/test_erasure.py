"""Proof of erasure: everything a person leaves is marked, erased by the product's own means, and searched for again.

The search covers a complete dump of the database, the cache, the logs and the files of `var/`. It does not cover
PostgreSQL's own files: deleted rows stay in their pages until overwritten (docs/data.md).
"""

import logging
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings as django_settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from analysis.agreement.agreements import agreement_of
from analysis.answers import aliases, reviews
from analysis.answers.readings import read_new
from analysis.management.commands.bundle import begin_bundle, write_bundle
from analysis.models import AliasDecision, Answer, Completion, SecondOpinion, SimulatedUser, Task
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.corpora.embeddings import embed_corpus
from analysis.report.reports import keep_part, report
from fieldstudy.embedded import postgres, servers
from surveys.annotation.labels import LabelSubmission, skip, submit
from surveys.annotation.qualification import Verdict, decide_gate
from surveys.annotation.work import ShownTask, next_tasks, open_task, seal_task
from surveys.models import (
    AuditEvent,
    Draft,
    Note,
    Participant,
    Payment,
    ProlificGroup,
    ProlificMessage,
    ProlificStudy,
    Study,
    Submission,
)
from surveys.participation import recruitment
from surveys.participation.pasting.capture import PasteSubmission, submit_paste
from surveys.participation.pasting.read_back import ReadReply, mark_of
from surveys.prolific.contact import ask_messages, send_messages
from surveys.studies import lifecycle
from surveys.studies.access import sign_link
from surveys.studies.audit import find_breaks
from tests.analysis.people.people_samples import command, make_person, people
from tests.analysis.runs.baseline_factories import LETTERS, make_corpus, make_endpoint, make_run, use_letters
from tests.factories import (
    annotate,
    labels_for,
    make_account,
    make_annotation_study,
    make_annotator,
    make_context,
    make_items,
    make_participant,
    make_response,
    make_study,
    make_visit,
    prompt_of,
)
from tests.surveys.participation.test_webhook import SECRET, event_about, send

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
MARK = re.compile(r"zqmark[0-9a-z]+qz", re.IGNORECASE)
OWN_FILES = ("postgres", "run")  # the database's own, and sockets


def mark(what: str) -> str:
    """A word found nowhere else, of letters only, so that no reader, format or escape changes it."""
    return f"zqmark{what}qz"


def mark_id(what: str) -> str:
    """A mark in the form of a Prolific id: 24 letters and digits."""
    return f"zqmark{what:x<16}qz"


PID, SESSION, ADDRESS = mark_id("pid"), mark_id("session"), "198.51.100.77"


# --- looking ---------------------------------------------------------------------


def dump() -> str:
    """The database as pg_dump writes it or, without local sockets, a copy of each table in the catalogue."""
    settings = connection.settings_dict
    if settings["HOST"].startswith("/"):
        words = [str(postgres.BINARIES / "pg_dump"), "-h", settings["HOST"], "-U", "postgres", settings["NAME"]]
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout
    return "".join(copy_tables())


def copy_tables() -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in cursor.fetchall():
            with cursor.copy(f"COPY {table} TO STDOUT") as rows:
                yield f"COPY {table} (\n" + b"".join(rows).decode() + "\n"


def in_database() -> dict[str, set[str]]:
    """The tables that hold each mark."""
    found: dict[str, set[str]] = {}
    for part in re.split(r"^(?=COPY public\.)", dump(), flags=re.MULTILINE):
        table = part.partition(" (")[0].removeprefix("COPY public.")
        for each in marks_in(part):
            found.setdefault(each, set()).add(table)
    return found


def marks_in(text: str) -> set[str]:
    hexed = {each for word in re.findall(r"\\\\x([0-9a-f]+)", text) for each in MARK.findall(str(bytes.fromhex(word)))}
    address = {ADDRESS} if ADDRESS in text else set()
    return {each.lower() for each in (*MARK.findall(text), *hexed)} | address


def in_valkey() -> set[str]:
    readers = {
        b"string": lambda store, key: store.get(key),
        b"hash": lambda store, key: store.hgetall(key),
        b"list": lambda store, key: store.lrange(key, 0, -1),
        b"set": lambda store, key: store.smembers(key),
        b"zset": lambda store, key: store.zrange(key, 0, -1, withscores=True),
    }
    with redis.Redis.from_url(django_settings.REDIS_URL) as store:
        keys = list(store.scan_iter())
        return marks_in(" ".join(f"{key} {readers[store.type(key)](store, key)}" for key in keys))


def in_files() -> set[str]:
    var = servers.var_folder()
    files = [path for path in var.rglob("*") if path.is_file() and path.relative_to(var).parts[0] not in OWN_FILES]
    if connection.settings_dict["HOST"].startswith("/"):
        files.append(django_settings.SERVICES_FOLDER / "log" / "postgres.log")
    return {each for path in files for each in marks_in(str(path) + path.read_bytes().decode("latin-1"))}


@pytest.fixture
def logs(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator:
    """Find the marks logged or printed so far, at production's level and with every traceback."""
    caplog.set_level(logging.INFO)
    said: list[str] = []

    def found() -> set[str]:
        said.extend(capfd.readouterr())
        return marks_in(caplog.text + "".join(said))

    return found


@pytest.fixture(autouse=True)
def nothing_from_before() -> None:
    with redis.Redis.from_url(django_settings.REDIS_URL) as store:
        store.flushdb()
    cache.clear()
    for log in (servers.var_folder() / "log").glob("*.log"):
        log.write_bytes(b"")


def in_memory() -> set[str]:
    return marks_in(str([cache.get(key.split(":", 2)[2]) for key in list(cache._cache)]))


def assert_gone(logs, kept: dict[str, set[str]] | None = None) -> None:
    assert in_database() == (kept or {})
    assert (in_valkey(), in_files(), logs(), in_memory()) == (set(), set(), set(), set())


# --- somebody who withdraws -----------------------------------------------------------


def make_marked(study: Study) -> Participant:
    """A participant who has left a mark in everything that participants can leave."""
    visit = make_visit(pid=PID, session_id=SESSION)
    person = make_participant(study, "context", visit=visit)
    make_context(person, model_shown=mark("model"), chat_language=mark("chat"))
    person.step, person.comments = "prompts", mark("comment")
    person.answers |= {"name": mark("answer")}
    person.checks |= {"attention": {"fine": {"answer": mark("check"), "passed": True}}}
    person.checks |= {"perception": {"picked": mark("seen"), "right": True, "alternative": False}}
    person.save()
    teas, short = prompt_of(person, "teas"), f"1. {mark('rejected')}\n2. Sencha"
    assert not submit_paste(person, PasteSubmission(teas, short)).accepted  # raises a flag
    text = f"Hello {mark('text')}\n1. {mark('item')}\n2. {mark('kept')}\n3. Sencha\n4. Mate\n5. Assam"
    reply = ReadReply(mark_of(text), ("Assam",), (mark("added"),), confirmed=True)
    html = f"<b>{mark('html')}</b>"
    evidence = {"note": mark("evidence")}
    again = PasteSubmission(teas, text, html=html, reply=reply, evidence=evidence, keep=True)
    assert submit_paste(person, again).accepted
    person.flags.update(message=mark("flag"))
    make_response(person, "water", "A")
    person = recruitment.complete(person)
    Draft.objects.create(participant=person, step="prompt:teas", data={"text": mark("draft")})
    return person


def read_and_decide(study: Study, person: Participant) -> None:
    """Add what becomes of answers: readings, decisions, spellings, a second opinion, results."""
    read_new(study)
    answer = Answer.objects.get(response__participant=person, response__prompt__slug="teas")
    SecondOpinion.objects.create(answer=answer, endpoint=make_endpoint(), items=[mark("opinion")], reply=mark("said"))
    names = [mark("decided"), mark("item"), mark("kept"), "Sencha"]
    reviews.decide(study, answer.pk, "ada", seen=0, names=names)
    aliases.accept(study, "teas", [mark("item"), "mate"], "assam", "ada")
    aliases.accept(study, "teas", ["sencha"], mark("kept"), "ada")
    aliases.reject(study, "teas", [mark("decided")], "oolong", "ada")
    aliases.undo(study, 3, "ada")
    report(study, draws=20)


def mirror_and_pay(study: Study, person: Participant) -> None:
    """Add what the exchange with Prolific leaves."""
    remote, _ = ProlificStudy.objects.get_or_create(study=study, prolific_id="5f" * 12)
    ProlificStudy.objects.update(fault=f"{PID} is nobody")
    mirrored = Submission.objects.create(remote=remote, submission_id=SESSION, pid=PID, status="AWAITING REVIEW")
    Payment.objects.create(
        submission=mirrored, kind="approve", decided_by="ada", state="failed", note=f"{mark('note')} {PID}"
    )
    ProlificGroup.objects.create(study=study, kind="blocked", prolific_id="6f" * 12, fault=f"{PID} is nobody")
    ask_messages(study, "unfinished", [person.pseudonym], "ada")
    ProlificMessage.objects.update(note=f"{mark('message')} {PID}")
    assert send(event_about(person, "ACTIVE")).status_code == 200


def note(study: Study, person: Participant) -> None:
    """Add what researchers write about the person and an answer."""
    author = make_account("eve", study, "researcher")
    for about in ({"participant": person}, {"response": person.responses.last()}):
        Note.objects.create(study=study, author=author, text=mark("noted"), **about)


def meet_again(study: Study, person: Participant) -> None:
    """Two visits of one person at once: the database refuses the second and says so in its log."""
    visit = make_visit(pid=PID, session_id=SESSION)
    assert recruitment.give_consent(study, visit) == person


def withdraw_by_page(person: Participant, area: str = "survey") -> None:
    link = [person.study.slug, sign_link(person.study.slug, person.pseudonym)]
    client = Client(REMOTE_ADDR=ADDRESS)
    assert client.get(reverse(f"{area}:stop", args=link)).status_code == 200
    answer = client.post(reverse(f"{area}:stop", args=link), {"how": "withdraw", "sure": "1"}, follow=True)
    assert answer.status_code == 200 and "/withdrawn/" in answer.redirect_chain[0][0]


def test_withdrawn_person_leaves_nothing(settings, logs, tmp_path: Path) -> None:
    settings.PROLIFIC_WEBHOOK_SECRET = SECRET
    study = make_study(places=5)
    other = make_participant(study)
    make_response(other, "teas", "1. Assam\n2. Sencha\n3. Mate\n4. Oolong\n5. Rooibos")
    recruitment.complete(other)
    person = make_marked(study)
    mirror_and_pay(study, person)
    note(study, person)
    meet_again(study, person)
    read_and_decide(study, person)
    write_bundle(begin_bundle(study, "ada", texts=True), tmp_path / "bundle.zip")
    call_command("export", study.slug, out=tmp_path, formats=["csv"], pids=True)
    planted = {
        *(PID, SESSION),
        *map(
            mark, ("model", "chat", "comment", "answer", "check", "seen", "draft", "rejected", "text", "item", "kept")
        ),
        *map(mark, ("added", "html", "evidence", "flag", "opinion", "said", "decided", "note", "noted", "message")),
    }
    before = in_database()
    assert set(before) == planted
    assert {"analysis_aliasdecision", "analysis_alias"} <= before[mark("item")]
    assert {"analysis_aliasdecision", "analysis_alias", "analysis_metricvalue"} <= before[mark("kept")]

    withdraw_by_page(person)

    # The submission is Prolific's: until all is paid its id stays, without the person's; `erase_ids` takes it too.
    assert in_database() == {SESSION: {"surveys_submission"}}
    assert person.pseudonym in str(AuditEvent.objects.get(action="messages asked for").detail)  # a random label
    kept = AliasDecision.objects.filter(study=study).order_by("number").values_list("number", "item", "spellings")
    assert list(kept) == [(1, "assam", ["mate"]), (2, "sencha", []), (3, "oolong", []), (4, "oolong", [])]
    assert aliases.alias_map(study) == {"teas": {"mate": "assam"}}
    lifecycle.close(study, "tests")
    call_command("erase_ids", study.slug, yes=True)
    assert_gone(logs)
    assert list(find_breaks(study)) == []


def test_ids_of_a_closed_study_are_erased_everywhere(settings, logs) -> None:
    settings.PROLIFIC_WEBHOOK_SECRET = SECRET
    study = make_study(places=5)
    person = make_participant(study, "completed", visit=make_visit(pid=PID, session_id=SESSION))
    mirror_and_pay(study, person)
    meet_again(study, person)
    assert set(in_database()) == {PID, SESSION, mark("note"), mark("message")}
    lifecycle.close(study, "tests")
    call_command("erase_ids", study.slug, yes=True)
    assert_gone(logs)
    assert Participant.objects.get().pid == f"erased-{person.pseudonym}"


def test_message_to_somebody_who_withdraws_meanwhile_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(places=5)
    first, second = (make_participant(study) for _ in range(2))
    ask_messages(study, "unfinished", [first.pseudonym, second.pseudonym], "ada")
    written = []

    class Slow:
        """A client that lets the second person withdraw while the first is being written to."""

        def write(self, pid: str, remote: str, words: str) -> None:
            written.append(pid)
            recruitment.withdraw(second)

    assert send_messages(study, Slow()) == 1
    assert written == [first.pid]


def test_result_that_was_begun_before_somebody_withdrew_is_not_kept() -> None:
    study = make_study(places=5)
    person = make_participant(study)

    def compute() -> dict[str, str]:
        recruitment.withdraw(person)
        return {"item": mark("item")}

    assert keep_part(study, "items:test", "0" * 64, compute).value == {"item": mark("item")}
    assert in_database() == {}


# --- an annotator ------------------------------------------------------------------------


def test_annotator_leaves_neither_labels_nor_notes(logs) -> None:
    study = make_annotation_study(kind="attribute")
    make_items(study, 3)
    other = make_annotator(study)
    person = recruitment.give_consent(study, make_visit(pid=PID, session_id=SESSION))
    person = recruitment.screen(person, "", {})
    Participant.objects.filter(pk=person.pk).update(step="prompts", comments=mark("comment"))
    person.refresh_from_db()
    for rater in (other, person):
        skip(rater, open_next(rater), "other", mark("skipped") if rater == person else "unclear")
        shown = open_next(rater)
        submit(rater, shown, LabelSubmission(labels_for(shown.item)))
    person.annotations.model.objects.bulk_create(
        [_with_detail(person.annotations.filter(state="given").get(), mark("detail"))]
    )
    verdicts = {person.pseudonym: Verdict(True, {}, mark("verdict")), other.pseudonym: Verdict(True)}
    decide_gate(study, "ada", verdicts, pilot=False, rule="All.", thresholds={}, reason="Good.")
    agreement_of(study, draws=5)
    keep_part(study, "agreement:marked", "0" * 64, lambda: {"rater": mark("result")})
    planted = {PID, SESSION, *map(mark, ("comment", "skipped", "detail", "verdict", "result"))}
    assert set(in_database()) == planted
    withdraw_by_page(person, "annotation")
    assert_gone(logs)
    assert study.gate_decisions.get().verdicts.count() == 1
    assert list(find_breaks(study)) == []


def open_next(rater: Participant) -> ShownTask:
    return open_task(rater, seal_task(rater, next_tasks(rater)[0]))


def _with_detail(row, word: str):
    row.pk, row.revision, row.key, row.detail = None, row.revision + 1, uuid.uuid4(), {"note": word}
    return row


# --- somebody of a corpus -------------------------------------------------------------------


def test_person_of_a_corpus_leaves_nothing(logs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_letters(monkeypatch)
    key, corpus = mark("key"), make_corpus()
    make_person(key, [[f"I bake {mark('said')} bread.", "And I sing."], ["Only weather here."]], corpus)
    make_person("bob", [["I bake bread, says Bob."]], corpus)
    keep_attributes(
        corpus,
        [
            NewAttribute(key, f"Bakes {mark('attribute')}.", 0.9, [f"I bake {mark('said')}"], f"{key}-1"),
            NewAttribute(key, "Sings.", 0.9),
            NewAttribute("bob", "Bakes bread.", 0.9, ["I bake bread"]),
        ],
    )
    for step in (["merge"], ["sample"], ["sample", "--name", "few"]):
        people("corpus", *step)
    list(embed_corpus(corpus, LETTERS))
    study = make_annotation_study(kind="attribute", slug="facts")
    people("corpus", "push", "--study", "facts")
    for judge in (make_annotator(study), make_annotator(study)):
        while annotate(judge):
            pass
    rater = make_annotator(study)
    while next_tasks(rater):
        shown = open_next(rater)
        skip(rater, shown, "other", mark("doubt") if shown.item.cluster == key else "not clear")
    run, user = make_run("judge", study, instruction="same-1"), corpus.users.get(key=key)
    item, talked = study.annotation_items.get(cluster=key), corpus.conversations.filter(user=key).first()
    for what, about in (
        ("item", {"annotation_item": item}),
        ("user", {"user": user}),
        ("talk", {"conversation": talked}),
    ):
        task = Task.objects.create(run=run, key=f"{what} {key}", payload={"quote": mark(f"payload{what}")}, **about)
        Completion.objects.create(run=run, task=task, repeat=0, position=0, reply=mark(f"reply{what}"))
    puppets = make_run("sp-history", corpus=corpus)
    SimulatedUser.objects.create(run=puppets, index=0, recipe={"corpus_user": key, "conversations": []})
    agreement_of(study, draws=5)
    call_command("export_people", "corpus", out=tmp_path / "people")
    planted = {key, *map(mark, ("said", "attribute", "doubt", "payloaditem", "payloaduser", "payloadtalk"))}
    planted |= {*map(mark, ("replyitem", "replyuser", "replytalk"))}
    before = in_database()
    assert set(before) == planted and {"analysis_metricvalue", "analysis_corpusstep"} <= set(before[key])

    command("erase_user", "corpus", key)

    assert_gone(logs)
    assert list(find_breaks(study)) == []
