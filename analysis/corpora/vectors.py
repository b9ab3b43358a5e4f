"""The embeddings of a corpus as arrays, from the database or from files that were made of the same rows.

Each file holds a stretch of rows, by their ids, so that a change costs the reading of those that it concerns.
"""

import logging
import os
import re
import time
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from struct import Struct
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import numpy as np
from django.conf import settings
from django.db import ProgrammingError, connection, transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver
from psycopg import sql

from analysis.models import ConversationVector, Corpus
from analysis.models.corpora import DIMENSIONS

NAME = np.dtype("S64")
VERSION = np.dtype("S10")
ROW_BYTES = 4 * DIMENSIONS + NAME.itemsize
HEADING = Struct("<16s 36s q q q 32s 20x")  # 128 bytes, so that the vectors stand where processors like them
MARK = f"float32 {DIMENSIONS} {NAME.str}".encode()
STRETCH = 8192  # ids; fewer and larger products, which no reading interrupts
SUFFIX, UNFINISHED = ".vectors", ".part"
FORM = re.compile(r"(\d+-\d+)-[0-9a-f]+-\d+\..*")  # the corpus, the model, the stretch
BOOT = Path("/proc/sys/kernel/random/boot_id")


class Vectors(NamedTuple):
    """Embeddings in memory: `matrix` is float32, a row of length 1 for each conversation's hash."""

    hashes: np.ndarray
    matrix: np.ndarray


class Rows(NamedTuple):
    """Rows of the table; a row's version names its place and its writer, and is never given twice."""

    ids: np.ndarray
    versions: np.ndarray
    vectors: Vectors


class Database(NamedTuple):
    system: int  # its own number, made when it was set up
    timeline: int  # another one after each return to an earlier time


class Origin(NamedTuple):
    """What a file was made of: where two are equal, so are the rows."""

    database: Database
    number: int
    digest: bytes  # SHA-256 of the versions in their order

    def heading(self) -> bytes:
        return HEADING.pack(MARK, find_boot(), *self.database, self.number, self.digest)


@cache
def find_boot() -> bytes:
    """Another one after each start of the computer; empty where it has none.

    What was written since is in the file for whoever reads it, on its disk or not yet. So nothing waits for the
    disk, and after a start, which may follow a crash, files are made again.
    """
    return BOOT.read_bytes().strip() if BOOT.exists() else b""


def open_vectors(path: Path, origin: Origin) -> Vectors | None:
    """None when there is no such file, or one of other rows, or one that was cut off."""
    try:
        whole = map_file(path)
    except (OSError, ValueError):  # numpy's word for an empty file
        return None
    if len(whole) != HEADING.size + origin.number * ROW_BYTES or whole[: HEADING.size].tobytes() != origin.heading():
        return None
    return arrays_of(whole, origin.number)


def map_file(path: Path) -> np.ndarray:
    """Its bytes, which stay there when another file takes its place."""
    return np.asarray(np.memmap(path, np.uint8, "r"))


def arrays_of(whole: np.ndarray, number: int) -> Vectors:
    names = HEADING.size + number * 4 * DIMENSIONS
    return Vectors(whole[names:].view(NAME), whole[HEADING.size : names].view("<f4").reshape(-1, DIMENSIONS))


class Stretch(NamedTuple):
    """A stretch of rows, and which they were."""

    origin: Origin
    vectors: Vectors


class StretchWriter:
    """A file that stands in its place only when it is whole; without `finish`, nothing is left of it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        options: dict[str, Any] = {"prefix": f"{path.stem}.", "suffix": UNFINISHED, "delete": False}
        self.file = NamedTemporaryFile(dir=path.parent, **options)  # noqa: SIM115 - which only its owner may read
        self.path, self.unfinished = path, Path(self.file.name)
        self.versions: list[np.ndarray] = []
        self.hashes: list[np.ndarray] = []
        self.file.seek(HEADING.size)

    def add(self, rows: Rows) -> None:
        self.versions.append(rows.versions)
        self.hashes.append(rows.vectors.hashes)
        self.file.write(rows.vectors.matrix.astype("<f4", copy=False).data)

    def finish(self, database: Database) -> Stretch:
        """The heading comes last: only what was read says of which rows the file is made."""
        self.file.writelines(part.data for part in self.hashes)
        versions = np.concatenate(self.versions)
        origin = Origin(database, len(versions), sha256(np.sort(versions).tobytes()).digest())
        self.file.seek(0)
        self.file.write(origin.heading())
        self.file.flush()
        if not find_boot():
            os.fsync(self.file.fileno())
        self.file.close()
        vectors = arrays_of(map_file(self.unfinished), origin.number)
        self.unfinished.replace(self.path)
        return Stretch(origin, vectors)

    def close(self) -> None:
        self.file.close()
        self.unfinished.unlink(missing_ok=True)


# One row of PostgreSQL's binary COPY: the number of fields, then each field's length and value.
ROW = np.dtype(
    [
        *(("fields", ">i2"), ("id_bytes", ">i4"), ("id", ">i8"), ("version_bytes", ">i4"), ("version", VERSION)),
        *(("name_bytes", ">i4"), ("name", NAME), ("vector_bytes", ">i4")),
        *(("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f4", (DIMENSIONS,))),
    ]
)
COPY_OUT = """
COPY (
  SELECT v.id, tidsend(v.ctid) || xidsend(v.xmin), rpad(c.sha256, 64), v.vector
  FROM analysis_conversationvector v JOIN analysis_conversation c ON c.id = v.conversation_id
  WHERE c.corpus_id = {corpus} AND v.model = {model} AND ({user}::text IS NULL OR c."user" = {user}) AND ({stretches})
) TO STDOUT (FORMAT BINARY)
"""
DATABASE = "SELECT system_identifier, timeline_id FROM pg_control_system(), pg_control_checkpoint()"
ORIGINS = """
SELECT v.id / %s AS stretch, count(*), sha256(string_agg(tidsend(v.ctid) || xidsend(v.xmin), '' ORDER BY v.ctid))
FROM analysis_conversationvector v JOIN analysis_conversation c ON c.id = v.conversation_id
WHERE c.corpus_id = %s AND v.model = %s GROUP BY stretch
"""
HEADER_BYTES = 19  # signature, flags, length of the header's extension
ROWS_AT_ONCE = 250  # as many as a core keeps in its cache while they are copied
MOST_LOOKS = 5  # at a corpus that is written to all the while
ABANDONED = 3600  # seconds after which an unfinished file is nobody's

log = logging.getLogger(__name__)


def read_vectors(corpus: Corpus, model: str, user: str | None = None) -> Iterator[Vectors]:
    """Embeddings of a corpus, or those of one of its users, in pieces and in no particular order."""
    return (rows.vectors for rows in read_rows(corpus, model, user))


def read_rows(
    corpus: Corpus, model: str, user: str | None = None, stretches: Iterable[int] | None = None
) -> Generator[Rows, None, None]:
    """All fields have one length each, so that many rows can be taken over as one array."""
    values = {"corpus": corpus.pk, "model": model, "user": user}
    given = {name: sql.Literal(value) for name, value in values.items()}
    query = sql.SQL(COPY_OUT).format(**given, stretches=within(stretches))
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        blocks, first = iter(copy), HEADER_BYTES
        while written := b"".join(islice(blocks, ROWS_AT_ONCE)):
            rows = np.frombuffer(written, ROW, (len(written) - first) // ROW.itemsize, first)
            first = 0
            if len(rows):  # the end of the copy may come alone
                vectors = Vectors(rows["name"].copy(), rows["vector"].astype("float32"))
                yield Rows(rows["id"].astype("int64"), rows["version"].copy(), vectors)


def within(stretches: Iterable[int] | None) -> sql.Composable:
    """By the index of ids, one range for each; all of them for None."""
    if stretches is None:
        return sql.SQL("true")
    ranges = ((sql.Literal(one * STRETCH), sql.Literal((one + 1) * STRETCH)) for one in stretches)
    return sql.SQL(" OR ").join(sql.SQL("v.id >= {} AND v.id < {}").format(*ends) for ends in ranges)


def load_vectors(corpus: Corpus, model: str) -> list[Vectors]:
    """All embeddings of a corpus, in pieces: from its files; those that are missing or out of date are made first."""
    try:
        kept = load_kept(corpus, model)
    except (OSError, ProgrammingError) as error:  # an unwritable folder; a role that may not ask which database it is
        log.warning("Vectors are read from the database every time, as %s cannot be used: %s", files_folder(), error)
        kept = None
    return list(read_vectors(corpus, model)) if kept is None else [kept[stretch].vectors for stretch in sorted(kept)]


def load_kept(corpus: Corpus, model: str) -> dict[int, Stretch] | None:
    """The stretches of one moment; None where the rows change more often than one can look.

    What was read after a look may be of a later moment than the other files, so it is looked at once more.
    """
    held: dict[int, Stretch] = {}
    for _ in range(MOST_LOOKS if files_of(corpus, model) else 0):
        now = find_origins(corpus, model)
        held = {stretch: kept for stretch, kept in held.items() if kept.origin == now.get(stretch)}
        for stretch in now.keys() - held.keys():
            if vectors := open_vectors(file_of(corpus, model, stretch), now[stretch]):
                held[stretch] = Stretch(now[stretch], vectors)
        if not (changed := now.keys() - held.keys()):
            remove_others(corpus, model, held)
            return held
        if not held:
            break
        held |= keep_vectors(corpus, model, changed)
    return None if held else keep_vectors(corpus, model)


def find_database() -> Database:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(DATABASE)
        return Database(*cursor.fetchone())


def find_origins(corpus: Corpus, model: str) -> dict[int, Origin]:
    """Which rows there are now, by stretch. Whatever is written to a row gives it another place or another writer.

    A conversation is known by its hash, so what the row says of its conversation never changes.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ORIGINS, [STRETCH, corpus.pk, model])
        found = cursor.fetchall()
    database = find_database()
    return {stretch: Origin(database, number, bytes(digest)) for stretch, number, digest in found}


def keep_vectors(corpus: Corpus, model: str, stretches: Collection[int] | None = None) -> dict[int, Stretch]:
    """Make the files of these stretches, or of all, of rows of one moment.

    Another process may do so at the same time, and the later file stays. A file that cannot be finished ends the
    reading, which PostgreSQL takes for a failed transaction.
    """
    database = find_database()
    with transaction.atomic(), ExitStack() as opened:
        writers: dict[int, StretchWriter] = {}
        for rows in opened.enter_context(closing(read_rows(corpus, model, stretches=stretches))):
            for stretch, part in by_stretch(rows):
                if stretch not in writers:
                    writers[stretch] = opened.enter_context(closing(StretchWriter(file_of(corpus, model, stretch))))
                writers[stretch].add(part)
        kept = {stretch: writer.finish(database) for stretch, writer in writers.items()}
    if stretches is None:
        remove_others(corpus, model, kept)
    remove_left_over()
    return kept


def by_stretch(rows: Rows) -> Iterator[tuple[int, Rows]]:
    stretches = rows.ids // STRETCH
    found = np.unique(stretches).tolist()
    for stretch in found:
        mine = stretches == stretch if len(found) > 1 else slice(None)
        hashes, matrix = rows.vectors
        yield stretch, Rows(rows.ids[mine], rows.versions[mine], Vectors(hashes[mine], matrix[mine]))


def files_folder() -> Path:
    return Path(settings.VAR_FOLDER) / "vectors"


def file_of(corpus: Corpus, model: str, stretch: int) -> Path:
    return files_folder() / f"{stem_of(corpus, model)}-{stretch}{SUFFIX}"


def files_of(corpus: Corpus, model: str) -> list[Path]:
    return list(files_folder().glob(f"{stem_of(corpus, model)}-*{SUFFIX}"))


def stem_of(corpus: Corpus, model: str) -> str:
    return f"{corpus_key(corpus)}-{sha256(model.encode()).hexdigest()[:16]}"


def corpus_key(corpus: Corpus) -> str:
    """No two have the same, even in two databases that number theirs alike."""
    return f"{corpus.pk}-{corpus.created_at:%Y%m%d%H%M%S%f}"


def remove_others(corpus: Corpus, model: str, stretches: Collection[int]) -> None:
    """Files of stretches of which no row is left."""
    for path in set(files_of(corpus, model)) - {file_of(corpus, model, stretch) for stretch in stretches}:
        path.unlink(missing_ok=True)


def remove_left_over() -> None:
    """Files of corpora that are gone or of an earlier form, and what a process that was killed did not finish."""
    known = {corpus_key(corpus) for corpus in Corpus.objects.all()}
    for path in files_folder().glob("*"):
        with suppress(FileNotFoundError):
            old = path.suffix == UNFINISHED and path.stat().st_mtime < time.time() - ABANDONED
            form = FORM.fullmatch(path.name)
            if old or not form or form[1] not in known:
                path.unlink()


def stretches_of(conversations: Any) -> set[int]:
    """Where the vectors of these conversations are kept."""
    ids = ConversationVector.objects.filter(conversation__in=conversations).values_list("pk", flat=True)
    return {pk // STRETCH for pk in ids}


def remove_stretches(corpus: Corpus, stretches: Iterable[int]) -> None:
    """Files of all models; they are made again of the rows that are left."""
    for stretch in stretches:
        for path in files_folder().glob(f"{corpus_key(corpus)}-*-{stretch}{SUFFIX}"):
            path.unlink(missing_ok=True)
    remove_left_over()


@receiver(post_delete, sender=Corpus)
def remove_files(instance: Corpus, **facts: Any) -> None:
    for path in files_folder().glob(f"{corpus_key(instance)}-*"):
        path.unlink(missing_ok=True)
