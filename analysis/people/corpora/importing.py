"""Imports a corpus file as a stream: each conversation once, without broken records and erased users."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.db import connection, reset_queries, transaction
from psycopg.errors import UniqueViolation

from analysis.models import Conversation, ConversationRepeat, Corpus, ErasedUser
from analysis.people.corpora import IMPORTERS
from analysis.people.corpora.reading import CorpusFile
from analysis.people.corpora.records import Record, RecordError, count_turns, encode_messages
from surveys.studies.imports.files import batches

BATCH = 500
MARKS = ("toxic", "redacted")
EMPTY = b"[]"
NAME = re.compile(r"[-a-zA-Z0-9_]{1,50}")


class ErasedUsers:
    """The erased users of a corpus, loaded once so that every record of a file can be tested."""

    def __init__(self, corpus: Corpus | None) -> None:
        rows = list(corpus.erased.values_list("salt", "digest")) if corpus else []
        self.corpus = corpus
        self.salt = rows[0][0] if rows else ""
        self.digests = {digest for _, digest in rows}

    def __contains__(self, key: object) -> bool:
        return bool(self.digests) and _digest(self.corpus, self.salt, str(key)) in self.digests

    def take_back(self, keys: Iterable[str]) -> None:
        """Forget that these users were erased."""
        if self.corpus and self.digests:
            found = {_digest(self.corpus, self.salt, key) for key in keys}
            self.corpus.erased.filter(digest__in=found).delete()
            self.digests -= found


def note_erased(corpus: Corpus, key: str) -> None:
    row = corpus.erased.first()
    salt = row.salt if row else secrets.token_hex(16)
    ErasedUser.objects.get_or_create(corpus=corpus, digest=_digest(corpus, salt, key), defaults={"salt": salt})


def _digest(corpus: Corpus | None, salt: str, key: str) -> str:
    return hmac.new(bytes.fromhex(salt), f"{corpus}\0{key}".encode(), hashlib.sha256).hexdigest()


class Row(NamedTuple):
    """A conversation as it is copied into the database."""

    sha256: str
    messages: bytes  # JSON
    turns: int
    characters: int
    source_id: str
    user: str
    language: str
    toxic: bool | None
    redacted: bool | None
    began_at: datetime | None


class StoredConversation(NamedTuple):
    """The fields read of a conversation that the corpus already has."""

    number: int
    source_id: str
    user: str
    toxic: bool | None
    redacted: bool | None


COLUMNS = ", ".join(f'"{name}"' for name in ("corpus_id", *Row._fields))
COPY_IN = f"COPY analysis_conversation ({COLUMNS}) FROM STDIN (FORMAT BINARY)"
TYPES = ("int8", "text", "bytea", "int4", "int4", "text", "text", "text", "bool", "bool", "timestamptz")
JSONB = b"\1"  # the version of jsonb's binary form, before its text
ONCE = "conversation_once"
# Forces an index lookup for each hash: the planner takes a corpus that is given as a constant and grows in this
# transaction for empty until its rows are counted, and would read all of them for each hash.
FIND_KNOWN = """
SELECT wanted, known.* FROM unnest(%s::text[]) AS wanted, LATERAL (
  SELECT id, source_id, "user", toxic, redacted FROM analysis_conversation
  WHERE corpus_id = (SELECT %s::bigint) AND sha256 = wanted LIMIT 1
) AS known
"""


SAME_IDS = """
SELECT source_id, count(*) OVER () FROM analysis_conversation WHERE corpus_id = %s AND source_id <> ''
GROUP BY source_id HAVING count(*) > 1 ORDER BY source_id LIMIT %s
"""
SHOWN_IDS = 3


class ImportFailed(Exception):
    """Nothing was imported; the message says why and what to do."""


@dataclass
class Report:
    corpus: str
    whole: int = 0  # conversations that could be read
    new: int = 0
    there: int = 0  # the same messages were in the corpus already, or earlier in the file
    empty: int = 0  # without a message; nothing is kept of them
    erased: int = 0  # of erased users; nothing is kept of them either
    same_ids: int = 0  # ids under which the corpus has more than one conversation
    same_ids_examples: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # the first ones
    fault_count: int = 0


def import_corpus(
    name: str,
    path: Path,
    form: str,
    limit: int | None,
    show: Callable[[float, int], None],
    *,
    allow_erased: bool = False,
    most_bytes: int | None = None,
) -> Report:
    """Import a file into the corpus `name`, which is created if it is missing. Raises ImportFailed.

    A broken file gives whatever can be read; `faults` names the places of the rest. `show` gets the share of the
    file read and the number of conversations. Erased users stay out unless `allow_erased`. At most `most_bytes` are
    unpacked.
    """
    corpus = find_corpus(name, form)
    reading, report = open_reading(path, most_bytes), Report(name)
    erased = ErasedUsers(corpus)
    rows: Iterator[Row] = map(make_row, read_records(reading, form))
    if limit is None:
        rows = read_ahead(rows)
    wanted = islice(_without_erased(rows, erased, allow_erased, report), limit)
    for batch in batches(wanted, BATCH, size_of):
        if corpus is None:
            corpus = Corpus.objects.create(name=name, format=form)
        elif corpus.format != form:  # made for attributes, so far without conversations
            corpus.format = form
            corpus.save(update_fields=["format"])
        store(corpus, batch, report)
        reset_queries()  # Django keeps their text, all that was imported, when DEBUG is on
        show(reading.share, report.whole)
    if corpus is not None:
        with connection.cursor() as cursor:
            cursor.execute(SAME_IDS, [corpus.pk, SHOWN_IDS])
            same = cursor.fetchall()
        report.same_ids, report.same_ids_examples = (same[0][1], [name for name, _ in same]) if same else (0, [])
    report.faults, report.fault_count = reading.faults, reading.fault_count
    if not report.whole:
        reason = reading.faults[0] if reading.faults else "it is empty"
        raise ImportFailed(f"{path} holds no whole {form} conversation, so nothing was imported: {reason}")
    return report


def say_same_ids(report: Report) -> str:
    """Warn of ids that several conversations share; empty if there are none."""
    if not report.same_ids:
        return ""
    named = ", ".join(report.same_ids_examples)
    return (
        f"{report.same_ids:,} ids stand for more than one conversation, such as {named}. All are kept; attributes that "
        "name such an id belong to none of them: name conversations by the hash of their messages, or give them ids "
        "of their own."
    )


def note_origin(name: str, source: str, licence: str, model: Any = Corpus) -> None:
    """Note where a corpus or a set of personas comes from and under which licence; empty values change nothing."""
    given = {field: value for field, value in (("source", source[:500]), ("licence", licence[:100])) if value}
    if given:
        model.objects.filter(name=name).update(**given)


def find_corpus(name: str, form: str) -> Corpus | None:
    if not NAME.fullmatch(name):
        raise ImportFailed(f"{name!r} is not a valid name for a corpus: use up to 50 letters, digits, - and _.")
    corpus = Corpus.objects.filter(name=name).first()
    if corpus is not None and corpus.format in IMPORTERS and corpus.format != form:
        raise ImportFailed(f"The corpus {name} was made from {corpus.format} files. Give the {form} file another name.")
    return corpus


def open_reading(path: Path, most_bytes: int | None = None) -> CorpusFile:
    try:
        with path.open("rb"):
            return CorpusFile(path, most_bytes)
    except OSError as error:
        raise ImportFailed(f"{path} can't be read: {error.strerror}.") from None


def read_ahead(rows: Iterator[Row]) -> Iterator[Row]:
    """Decode the next batch in a thread while PostgreSQL stores the last one."""
    ahead = batches(rows, BATCH, size_of)
    with ThreadPoolExecutor(1) as thread:
        batch = thread.submit(next, ahead, None)
        while ready := batch.result():
            batch = thread.submit(next, ahead, None)
            yield from ready


def size_of(row: Row) -> int:
    return len(row.messages)


def read_records(reading: CorpusFile, form: str) -> Iterator[Record]:
    """Yield every whole conversation; records of another shape are faults like broken ones."""
    for place, written in reading.records():
        try:
            found = IMPORTERS[form](written)
        except RecordError as error:
            reading.note(f"{place} {error}")
            continue
        yield from [found] if isinstance(found, Record) else found


def _without_erased(rows: Iterable[Row], erased: ErasedUsers, allowed: bool, report: Report) -> Iterator[Row]:
    for row in rows:
        report.whole += 1
        if row.user in erased:
            if not allowed:
                report.erased += 1
                continue
            erased.take_back([row.user])
        yield row


def store(corpus: Corpus, batch: list[Row], report: Report) -> None:
    made = [row for row in batch if row.messages != EMPTY]
    while True:
        try:
            new = store_new(corpus, made)
            break
        except UniqueViolation as error:  # another import stored one meanwhile; the next try finds it
            if error.diag.constraint_name != ONCE:
                raise
    report.empty += len(batch) - len(made)
    report.new += new
    report.there += len(made) - new


@transaction.atomic
def store_new(corpus: Corpus, made: list[Row]) -> int:
    rows = {row.sha256: row for row in made}
    known = find_known(corpus, list(rows))
    mark_known(known, rows)
    new = sorted(rows.keys() - known.keys())
    copy_rows(corpus, [rows[sha256] for sha256 in new])
    keep_repeats(
        corpus, [row for row in made if row.source_id and _is_other(row, known.get(row.sha256, rows[row.sha256]))]
    )
    return len(new)


def _is_other(row: Row, stored: Row | StoredConversation) -> bool:
    return (row.source_id, row.user) != (stored.source_id, stored.user)


def find_known(corpus: Corpus, hashes: list[str]) -> dict[str, StoredConversation]:
    with connection.cursor() as cursor:
        cursor.execute(FIND_KNOWN, [hashes, corpus.pk])
        return {sha256: StoredConversation(*fields) for sha256, *fields in cursor.fetchall()}


def copy_rows(corpus: Corpus, rows: list[Row]) -> None:
    """Insert rows by binary COPY, in the order of their hashes, so that two imports at once lock in the same order."""
    with connection.cursor() as cursor, cursor.copy(COPY_IN) as copy:
        copy.set_types(TYPES)
        for row in rows:
            copy.write_row((corpus.pk, row.sha256, JSONB + row.messages, *row[2:]))


def mark_known(known: dict[str, StoredConversation], rows: dict[str, Row]) -> None:
    """Fill in marks that the file gives and that known conversations lack."""
    changed = []
    for sha256, there in sorted(known.items()):
        missing = {name: getattr(rows[sha256], name) for name in MARKS if getattr(there, name) is None}
        if any(mark is not None for mark in missing.values()):
            changed.append(Conversation(pk=there.number, **{name: getattr(there, name) for name in MARKS} | missing))
    Conversation.objects.bulk_update(changed, MARKS)


def keep_repeats(corpus: Corpus, others: list[Row]) -> None:
    """Note who else had these conversations, and under which other ids, since the same messages are one row."""
    if not others:
        return
    stored = find_known(corpus, list({row.sha256 for row in others}))
    repeats = [
        ConversationRepeat(
            conversation_id=stored[row.sha256].number,
            **{name: getattr(row, name) for name in ("source_id", "user", "language", "began_at")},
        )
        for row in others
    ]
    ConversationRepeat.objects.bulk_create(repeats, ignore_conflicts=True)


def make_row(record: Record) -> Row:
    messages, sha256 = encode_messages(record.messages)
    return Row(
        sha256=sha256,
        messages=messages,
        turns=count_turns(record.messages),
        characters=sum(len(message["content"]) for message in record.messages),
        source_id=record.source_id,
        user=record.user,
        language=record.language,
        toxic=record.toxic,
        redacted=record.redacted,
        began_at=record.began_at,
    )
