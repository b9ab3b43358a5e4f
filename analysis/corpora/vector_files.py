"""Vectors in a file that is mapped into memory: numbers and names just as they are used, nothing to parse.

A heading says of which rows the file was made; then come the vectors, then the names.
"""

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from struct import Struct
from tempfile import NamedTemporaryFile
from typing import IO, NamedTuple

import numpy as np

from analysis.models.corpora import DIMENSIONS

NAME = np.dtype("S64")
VERSION = np.dtype("S10")
ROW_BYTES = 4 * DIMENSIONS + NAME.itemsize
HEADING = Struct("<16s q q q 32s 56x")  # 128 bytes, so that the vectors stand where processors like them
MARK = f"float32 {DIMENSIONS} {NAME.str}".encode()
UNFINISHED = ".part"


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
        return HEADING.pack(MARK, *self.database, self.number, self.digest)


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
    os.fsync(file.fileno())
    return origin.number


def origin_of(database: Database, versions: np.ndarray) -> Origin:
    return Origin(database, len(versions), sha256(np.sort(versions).tobytes()).digest())
