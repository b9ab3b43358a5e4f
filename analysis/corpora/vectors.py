"""The embeddings of a corpus as arrays, from the database or from a file that was made of the same rows."""

import logging
import os
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from struct import Struct
from tempfile import NamedTemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np
from django.conf import settings
from django.db import ProgrammingError, connection, transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver
from psycopg import sql

from analysis.models import Corpus
from analysis.models.corpora import DIMENSIONS

NAME = np.dtype("S64")
VERSION = np.dtype("S10")
ROW_BYTES = 4 * DIMENSIONS + NAME.itemsize
HEADING = Struct("<16s 36s q q q 32s 20x")  # 128 bytes, so that the vectors stand where processors like them
MARK = f"float32 {DIMENSIONS} {NAME.str}".encode()
UNFINISHED = ".part"
BOOT = Path("/proc/sys/kernel/random/boot_id")


class Vectors(NamedTuple):
    """Embeddings in memory: `matrix` is float32, a row of length 1 for each conversation's hash."""

    hashes: np.ndarray
    matrix: np.ndarray


class Rows(NamedTuple):
    """Rows of the table; a row's version names its place and its writer, and is never given twice."""

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


def write_vectors(path: Path, database: Database, rows: Iterable[Rows]) -> Vectors:
    """Write the rows as they come; the file stands in its place only when it is whole."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f"{path.stem}.", suffix=UNFINISHED, delete=False) as file:
        unfinished = Path(file.name)  # which only its owner may read
        try:
            number = _write_rows(file, database, rows)
            vectors = arrays_of(map_file(unfinished), number)
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    return vectors


def _write_rows(file: IO[bytes], database: Database, rows: Iterable[Rows]) -> int:
    """The heading comes last: only what was read says of which rows the file is made."""
    versions, hashes = [np.empty(0, VERSION)], [np.empty(0, NAME)]
    file.seek(HEADING.size)
    for some in rows:
        versions.append(some.versions)
        hashes.append(some.vectors.hashes)
        file.write(some.vectors.matrix.astype("<f4", copy=False).data)
    file.writelines(part.data for part in hashes)
    origin = origin_of(database, np.concatenate(versions))
    file.seek(0)
    file.write(origin.heading())
    file.flush()
    if not find_boot():
        os.fsync(file.fileno())
    return origin.number


def origin_of(database: Database, versions: np.ndarray) -> Origin:
    return Origin(database, len(versions), sha256(np.sort(versions).tobytes()).digest())


# One row of PostgreSQL's binary COPY: the number of fields, then each field's length and value.
ROW = np.dtype(
    [
        *(("fields", ">i2"), ("version_bytes", ">i4"), ("version", VERSION)),
        *(("name_bytes", ">i4"), ("name", NAME), ("vector_bytes", ">i4")),
        *(("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f4", (DIMENSIONS,))),
    ]
)
COPY_OUT = """
COPY (
  SELECT tidsend(v.ctid) || xidsend(v.xmin), rpad(c.sha256, 64), v.vector
  FROM analysis_conversationvector v JOIN analysis_conversation c ON c.id = v.conversation_id
  WHERE c.corpus_id = {corpus} AND v.model = {model} AND ({user}::text IS NULL OR c."user" = {user})
) TO STDOUT (FORMAT BINARY)
"""
DATABASE = "SELECT system_identifier, timeline_id FROM pg_control_system(), pg_control_checkpoint()"
ORIGIN = """
SELECT count(*), sha256(coalesce(string_agg(tidsend(v.ctid) || xidsend(v.xmin), '' ORDER BY v.ctid), ''))
FROM analysis_conversationvector v JOIN analysis_conversation c ON c.id = v.conversation_id
WHERE c.corpus_id = %s AND v.model = %s
"""
HEADER_BYTES = 19  # signature, flags, length of the header's extension
ROWS_AT_ONCE = 250  # as many as a core keeps in its cache while they are copied
MAPPED_AT_ONCE = 8000  # fewer and larger products, which no reading interrupts
ABANDONED = 3600  # seconds after which an unfinished file is nobody's

log = logging.getLogger(__name__)


def read_vectors(corpus: Corpus, model: str, user: str | None = None) -> Iterator[Vectors]:
    """Embeddings of a corpus, or those of one of its users, in pieces and in no particular order."""
    return (rows.vectors for rows in read_rows(corpus, model, user))


def read_rows(corpus: Corpus, model: str, user: str | None = None) -> Generator[Rows, None, None]:
    """All fields have one length each, so that many rows can be taken over as one array."""
    values = {"corpus": corpus.pk, "model": model, "user": user}
    query = sql.SQL(COPY_OUT).format(**{name: sql.Literal(value) for name, value in values.items()})
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        blocks, first = iter(copy), HEADER_BYTES
        while written := b"".join(islice(blocks, ROWS_AT_ONCE)):
            rows = np.frombuffer(written, ROW, (len(written) - first) // ROW.itemsize, first)
            first = 0
            if len(rows):  # the end of the copy may come alone
                vectors = Vectors(rows["name"].copy(), rows["vector"].astype("float32"))
                yield Rows(rows["version"].copy(), vectors)


def load_vectors(corpus: Corpus, model: str) -> list[Vectors]:
    """All embeddings of a corpus, in pieces: from its file, which is made first where it is missing or out of date."""
    path = file_of(corpus, model)
    try:
        vectors = open_vectors(path, find_origin(corpus, model)) if path.exists() else None
        return in_pieces(vectors or keep_vectors(corpus, model, path, find_database()))
    except (OSError, ProgrammingError) as error:  # an unwritable folder; a role that may not ask which database it is
        log.warning("Vectors are read from the database every time, as %s cannot be used: %s", path, error)
        return list(read_vectors(corpus, model))


def in_pieces(vectors: Vectors) -> list[Vectors]:
    starts = range(0, len(vectors.matrix), MAPPED_AT_ONCE)
    return [Vectors(*(column[start : start + MAPPED_AT_ONCE] for column in vectors)) for start in starts]


def find_database() -> Database:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(DATABASE)
        return Database(*cursor.fetchone())


def find_origin(corpus: Corpus, model: str) -> Origin:
    """Which rows there are now. Whatever is written to a row gives it another place or another writer.

    A conversation is known by its hash, so what the row says of its conversation never changes.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ORIGIN, [corpus.pk, model])
        number, digest = cursor.fetchone()
    return Origin(find_database(), number, bytes(digest))


def keep_vectors(corpus: Corpus, model: str, path: Path, database: Database) -> Vectors:
    """Make the file; another process may do so at the same time, and the later one stays.

    A file that cannot be finished ends the reading, which PostgreSQL takes for a failed transaction.
    """
    with transaction.atomic(), closing(read_rows(corpus, model)) as rows:
        vectors = write_vectors(path, database, rows)
    remove_left_over()
    return vectors


def files_folder() -> Path:
    return Path(settings.VAR_FOLDER) / "vectors"


def file_of(corpus: Corpus, model: str) -> Path:
    return files_folder() / f"{corpus_key(corpus)}-{sha256(model.encode()).hexdigest()[:16]}.vectors"


def corpus_key(corpus: Corpus) -> str:
    """No two have the same, even in two databases that number theirs alike."""
    return f"{corpus.pk}-{corpus.created_at:%Y%m%d%H%M%S%f}"


def remove_left_over() -> None:
    """Files of corpora that are gone, and what a process that was killed did not finish."""
    known = {corpus_key(corpus) for corpus in Corpus.objects.all()}
    for path in files_folder().iterdir():
        with suppress(FileNotFoundError):
            old = path.suffix == UNFINISHED and path.stat().st_mtime < time.time() - ABANDONED
            if old or path.name.rpartition("-")[0] not in known:
                path.unlink()


@receiver(post_delete, sender=Corpus)
def remove_files(instance: Corpus, **facts: Any) -> None:
    for path in files_folder().glob(f"{corpus_key(instance)}-*"):
        path.unlink(missing_ok=True)
