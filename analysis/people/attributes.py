"""Stores attributes of a corpus's users, extracted by a model here or imported from a file, and their embeddings, one
for each text, however many users have it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from django.db import connection, reset_queries, transaction
from django.db.models import Q, QuerySet

from analysis.models import Attribute, Conversation, ConversationRepeat, Corpus, CorpusUser, TextVector
from analysis.models.corpora import DIMENSIONS
from analysis.models.people import LONGEST_ATTRIBUTE
from analysis.people.corpora.embeddings import Embedder
from analysis.people.corpora.importing import NAME, ErasedUsers
from analysis.people.corpora.records import storable
from analysis.people.evidence import Message, locate_in, unlocated
from analysis.people.sensitive import mark_sensitive
from analysis.people.steps import PeopleError, Show
from surveys.models.hashes import hash_text
from surveys.studies.imports.files import CellFault, FileColumn, TableReader, batches

BATCH = 500
LEAST_CONFIDENCE = 0.4
LONGEST_QUOTE = 20_000
MOST_QUOTES = 100
LONGEST_LINE = 4_000_000
IDENTITY = ("user_id", "conversation_id", "place", "generator", "sha256")  # one row for each
FORMAT = "attributes"  # of a corpus without imported conversations


class NewAttribute(NamedTuple):
    """One statement about a user. `conversation` is the hash of one of theirs, or its id at the source."""

    user: str
    text: str
    confidence: float | None = None
    evidence: Sequence[str] = ()
    conversation: str = ""
    reasoning: str = ""
    generator: str = ""


@dataclass
class Kept:
    """Counts of stored attributes and of their quotes; `unlocated` ones were found in no conversation of their user."""

    attributes: int = 0  # handed in
    new: int = 0
    there: int = 0  # the same text of the same user, conversation and generator
    users: int = 0
    quotes: int = 0
    unlocated: int = 0
    low_confidence: int = 0  # kept, and left out of what follows
    sensitive: int = 0
    erased: int = 0  # about erased users; nothing is kept of them


def keep_attributes(
    corpus: Corpus, rows: Iterable[NewAttribute], least: float = LEAST_CONFIDENCE, *, allow_erased: bool = False
) -> Kept:
    """Store attributes and locate their evidence; attributes stored before are left alone.

    Texts must have 1 to LONGEST_ATTRIBUTE characters, and confidences lie between 0 and 1 (see `attribute_faults`).
    Attributes below `least` confidence are stored but left out. Unknown users are created.
    """
    done, users = Kept(), set()
    erased = ErasedUsers(corpus)
    with transaction.atomic():
        for batch in batches(rows, BATCH, lambda row: len(row.reasoning) + sum(map(len, row.evidence))):
            gone = {row.user for row in batch if row.user in erased}
            if allow_erased:
                erased.take_back(gone)
                gone = set()
            staying = [row for row in batch if row.user not in gone]
            done.erased += len(batch) - len(staying)
            users |= _keep(corpus, staying, least, done)
    done.users = len(users)
    return done


def _keep(corpus: Corpus, batch: list[NewAttribute], least: float, done: Kept) -> set[str]:
    users = _users(corpus, {row.user for row in batch})
    places = _conversations(corpus, batch)
    made: dict[tuple[Any, ...], Attribute] = {}
    for row in batch:
        attribute = _row(row, users[row.user], places.get((row.user, row.conversation)), least)
        made.setdefault(_identity(attribute), attribute)
    known = Attribute.objects.filter(user__in=users.values(), sha256__in={row.sha256 for row in made.values()})
    for attribute in known.only(*IDENTITY):
        made.pop(_identity(attribute), None)
    by_key = {number: key for key, number in users.items()}
    read: dict[int, Sequence[tuple[str, list[Message]]]] = {}
    for attribute in made.values():
        attribute.evidence = _located(corpus, by_key[attribute.user_id], attribute, read)
        _count(attribute, done)
    Attribute.objects.bulk_create(made.values(), ignore_conflicts=True)
    done.attributes += len(batch)
    done.there += len(batch) - len(made)
    return set(users)


def _identity(attribute: Attribute) -> tuple[Any, ...]:
    return tuple(getattr(attribute, name) for name in IDENTITY)


def _count(attribute: Attribute, done: Kept) -> None:
    done.new += 1
    done.quotes += len(attribute.evidence)
    done.unlocated += attribute.unlocated
    done.low_confidence += attribute.left_out_by == Attribute.LeftOut.CONFIDENCE
    done.sensitive += bool(attribute.sensitive)


def _users(corpus: Corpus, keys: set[str]) -> dict[str, int]:
    known = dict(corpus.users.filter(key__in=keys).values_list("key", "id"))
    missing = [CorpusUser(corpus=corpus, key=key) for key in sorted(keys - known.keys())]
    CorpusUser.objects.bulk_create(missing, ignore_conflicts=True)
    return dict(corpus.users.filter(key__in=keys).values_list("key", "id")) if missing else known


def _conversations(corpus: Corpus, batch: list[NewAttribute]) -> dict[tuple[str, str], int]:
    """Ids of conversations, by user and by the hash or id that the batch uses; ambiguous ids are left out."""
    users = {row.user for row in batch if row.conversation}
    names = {row.conversation for row in batch if row.conversation}
    own = Conversation.objects.filter(Q(sha256__in=names) | Q(source_id__in=names), corpus=corpus, user__in=users)
    repeats = ConversationRepeat.objects.filter(
        Q(conversation__sha256__in=names) | Q(source_id__in=names), conversation__corpus=corpus, user__in=users
    )
    found: dict[tuple[str, str], int] = {}
    several: set[tuple[str, str]] = set()  # ids that name several conversations of this user
    for number, user, sha256, source_id in [
        *repeats.values_list("conversation", "user", "conversation__sha256", "source_id"),
        *own.values_list("id", "user", "sha256", "source_id"),
    ]:
        several |= {(user, source_id)} if found.get((user, source_id), number) != number else set()
        found |= {(user, sha256): number, (user, source_id): number}
    # An empty id names none of them.
    return {name: number for name, number in found.items() if name[1] and name not in several}


def _row(row: NewAttribute, user: int, conversation: int | None, least: float) -> Attribute:
    """Make the unsaved row; its evidence is still the bare quotes."""
    low = row.confidence is not None and row.confidence < least
    return Attribute(
        user_id=user,
        conversation_id=conversation,
        place="" if conversation else row.conversation[:200],
        text=row.text,
        sha256=hash_text(row.text),
        confidence=row.confidence,
        reasoning=row.reasoning,
        evidence=list(row.evidence),
        sensitive=mark_sensitive(row.text),
        generator=row.generator[:200],
        left_out_by=Attribute.LeftOut.CONFIDENCE if low else "",
    )


def _located(
    corpus: Corpus, user: str, attribute: Attribute, read: dict[int, Sequence[tuple[str, list[Message]]]]
) -> list[dict[str, Any]]:
    """Locate the attribute's quotes. `read` caches only the last conversation, whose attributes come together."""
    quotes, conversation = attribute.evidence, attribute.conversation_id
    if not quotes or attribute.place:  # a place names a conversation that is not here
        return [unlocated(quote) for quote in quotes]
    if conversation is None:
        return locate_in(quotes, _messages(corpus, user, None))
    if conversation not in read:
        read.clear()
        read[conversation] = list(_messages(corpus, user, conversation))
    return locate_in(quotes, read[conversation])


def own_conversations(corpus: Corpus, user: str) -> QuerySet[Conversation]:
    """The user's conversations, including repeats of somebody else's in the same words, oldest first."""
    repeats = ConversationRepeat.objects.filter(conversation__corpus=corpus, user=user)
    own = corpus.conversations.filter(Q(user=user) | Q(pk__in=repeats.values("conversation")))
    return own.order_by("began_at", "id")


def _messages(corpus: Corpus, user: str, conversation: int | None) -> Iterator[tuple[str, list[Message]]]:
    """Hash and messages of the one conversation, or of all the user's own."""
    rows = corpus.conversations.filter(pk=conversation) if conversation else own_conversations(corpus, user)
    return rows.values_list("sha256", "messages").iterator(chunk_size=50)


# --- files ------------------------------------------------------------------


def attribute_faults(text: str, confidence: Any, evidence: Sequence[Any]) -> Iterator[str]:
    """Yield the faults of an attribute, a sentence each."""
    if not text.strip():
        yield "text is empty"
    if len(text) > LONGEST_ATTRIBUTE:
        yield f"text has {len(text):,} characters; the limit is {LONGEST_ATTRIBUTE:,}"
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if confidence is not None and not (is_number and 0 <= confidence <= 1):
        yield f"confidence is {str(confidence)[:40]}; it must be a number from 0 to 1"
    if len(evidence) > MOST_QUOTES:
        yield f"evidence has {len(evidence):,} quotes; the limit is {MOST_QUOTES}"
    for number, quote in enumerate(evidence, 1):
        if not isinstance(quote, str) or not quote.strip():
            yield f"quote {number} of the evidence is empty or no text"
        elif len(quote) > LONGEST_QUOTE:
            yield f"quote {number} of the evidence has {len(quote):,} characters; the limit is {LONGEST_QUOTE:,}"


def _faultless(name: str, value: Any) -> Any:
    given = {"text": "-", "confidence": None, "evidence": []} | {name: value}
    if fault := next(attribute_faults(**given), ""):
        raise CellFault(fault)
    return value


def _read_user(cell: Any) -> str:
    user = storable(cell)
    if not isinstance(cell, str | int) or isinstance(cell, bool) or not user.strip():
        raise CellFault("user is empty: an attribute names whom it is about")
    if len(user) > 100:
        raise CellFault(f"user has {len(user):,} characters; the limit is 100")
    return user


def _read_text(cell: Any) -> str:
    if not isinstance(cell, str):
        raise CellFault("text is no text")
    return _faultless("text", storable(cell).strip())


def _read_confidence(cell: Any) -> float | None:
    if isinstance(cell, str):
        with suppress(ValueError):  # reported below
            cell = float(cell) if cell.strip() else None
    return _faultless("confidence", cell)


def _read_evidence(cell: Any) -> list[str]:
    """Accept one quote or a list, each as text or as an object with a `quote`."""
    entries = cell if isinstance(cell, list) else [cell] if cell else []
    quotes = [entry.get("quote") if isinstance(entry, dict) else entry for entry in entries]
    return _faultless("evidence", [storable(quote) if isinstance(quote, str) else quote for quote in quotes])


def _read_name(name: str, longest: int) -> FileColumn:
    def read(cell: Any) -> str:
        value = storable(cell).strip()
        if isinstance(cell, list | dict) or len(value) > longest:
            raise CellFault(f"{name} must be text of at most {longest:,} characters")
        return value

    return FileColumn(name, read)


COLUMNS = (
    FileColumn("user", _read_user, needed=True),
    FileColumn("text", _read_text, needed=True),
    FileColumn("confidence", _read_confidence),
    FileColumn("evidence", _read_evidence),
    _read_name("conversation", 200),
    _read_name("reasoning", 20_000),
    _read_name("generator", 200),
)


def import_attributes(
    name: str, path: Path, least: float = LEAST_CONFIDENCE, *, allow_erased: bool = False
) -> dict[str, Any]:
    """Store the attributes of a file, all or none, and return the counts.

    Erased users stay out unless `allow_erased`. A missing corpus is created, since data sets of made-up people may come
    without their conversations. Raises PeopleError, ImportFault, OSError.
    """
    if not NAME.fullmatch(name):
        raise PeopleError(f"{name!r} is no name for a corpus: use up to 50 letters, digits, - and _.")
    if not 0 <= least <= 1:
        raise PeopleError(f"The least confidence is {least:g}; it must be from 0 to 1.")
    table = TableReader(*COLUMNS, longest=LONGEST_LINE)
    with transaction.atomic():
        corpus, made = Corpus.objects.get_or_create(name=name, defaults={"format": FORMAT})
        rows = (NewAttribute(**row.values) for row in table.read(path, json_too=True))
        kept = keep_attributes(corpus, rows, least, allow_erased=allow_erased)
        table.faults.raise_any()
    return {"corpus": name, "new_corpus": made, **asdict(kept)}


TEXTS_AT_ONCE = 64
ATTRIBUTES_AT_ONCE = 5_000

Person = tuple[int, str, int]  # id, key, how many attributes

# In the order of their hashes, so that each query goes on where the last one ended.
WITHOUT = """
SELECT DISTINCT ON (a.sha256) a.sha256, a.text FROM analysis_attribute a JOIN analysis_corpususer u ON u.id = a.user_id
WHERE u.corpus_id = %s AND u.left_out_by = '' AND a.left_out_by = '' AND a.sha256 > %s
  AND NOT EXISTS (SELECT FROM analysis_textvector v WHERE v.sha256 = a.sha256 AND v.model = %s)
ORDER BY a.sha256 LIMIT %s
"""
COUNT = """
SELECT count(DISTINCT a.sha256) FROM analysis_attribute a JOIN analysis_corpususer u ON u.id = a.user_id
WHERE u.corpus_id = %s AND u.left_out_by = '' AND a.left_out_by = ''
  AND NOT EXISTS (SELECT FROM analysis_textvector v WHERE v.sha256 = a.sha256 AND v.model = %s)
"""
UNUSED = """
DELETE FROM analysis_textvector v WHERE v.sha256 = ANY(%s)
  AND NOT EXISTS (SELECT FROM analysis_attribute a WHERE a.sha256 = v.sha256)
"""


def embed_attributes(corpus: Corpus, embedder: Embedder, show: Show) -> int:
    """Embed the texts without a vector of this model and return how many; if stopped, it goes on where it was."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [corpus.pk, embedder.name])
        wanted = cursor.fetchone()[0]
    done = 0
    for texts in _without(corpus, embedder.name):
        vectors = embedder.embed([text for _, text in texts])
        rows = [
            TextVector(sha256=sha256, model=embedder.name, vector=vector)
            for (sha256, _), vector in zip(texts, vectors, strict=True)
        ]
        TextVector.objects.bulk_create(rows, ignore_conflicts=True)
        reset_queries()
        done += len(texts)
        show(done / max(wanted, done), done)
    return done


def _without(corpus: Corpus, model: str) -> Iterator[list[tuple[str, str]]]:
    after = ""
    with connection.cursor() as cursor:
        while True:
            cursor.execute(WITHOUT, [corpus.pk, after, model, TEXTS_AT_ONCE])
            texts = cursor.fetchall()
            if not texts:
                return
            yield texts
            after = texts[-1][0]


def read_vectors(hashes: Sequence[str], model: str) -> np.ndarray:
    """Read a float32 row of length 1 for each hash. Raises KeyError if one has no vector of this model."""
    names, place = np.unique(np.array(hashes, "U64"), return_inverse=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sha256, vector_send(vector) FROM analysis_textvector WHERE model = %s AND sha256 = ANY(%s)",
            [model, names.tolist()],
        )
        found = dict(cursor)
    written = b"".join(bytes(found[name])[4:] for name in names.tolist())  # after the number of dimensions
    return np.frombuffer(written, ">f4").reshape(-1, DIMENSIONS).astype("float32")[place.ravel()]


def in_pieces(people: Sequence[Person]) -> Iterator[list[Person]]:
    """Yield people in pieces of about ATTRIBUTES_AT_ONCE attributes."""
    piece, size = [], 0
    for person in people:
        piece.append(person)
        size += person[2]
        if size >= ATTRIBUTES_AT_ONCE:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def remove_unused(hashes: Sequence[str]) -> None:
    """Delete vectors of texts that nobody has any more, since an embedding tells something about its text."""
    with connection.cursor() as cursor:
        cursor.execute(UNUSED, [list(hashes)])
