"""Small files that become very large: each is read in bounded memory and ends with a sentence."""

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from fieldstudy.embedded import servers

UNPACKED = 3 * 2**30  # bytes, if it were read
MEMORY = 2 * 2**30  # that the reader may take, with all that it imports
LARGEST = 3 * 2**20  # bytes of the file itself
READ = """
import sys
from pathlib import Path
from analysis.corpora import reading
reading.PARQUET_BYTES = 2**26
file = reading.CorpusFile(Path(sys.argv[1]), most_bytes=2**27)
print(sum(1 for record in file.records()), *file.faults, sep="\\n")
"""


def write_zstd(path: Path, line: bytes = b"") -> None:
    piece = (line or b"0") * (2**24 // len(line or b"0"))
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as packed:
        for _ in range(UNPACKED // 2**24):
            packed.write(piece)


def write_gzip(path: Path) -> None:
    """Members that are unpacked one after another, so that it takes no time to make them."""
    member = gzip.compress(b"0" * 2**26)
    path.write_bytes(member * (UNPACKED // 2**26))


def write_parquet(path: Path) -> None:
    """One long text that a thousand rows share."""
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1000), pyarrow.array(["0" * (UNPACKED // 1000)]))
    options = {"compression": "zstd", "dictionary_pagesize_limit": 2**30, "write_statistics": False}
    pyarrow.parquet.write_table(pyarrow.table({"conversation_hash": texts}), path, store_schema=False, **options)


LINE = json.dumps({"conversation_hash": "a" * 200}).encode() + b"\n"
BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "one line in zstd": (write_zstd, "line 1: is longer than 67,108,864 bytes; nothing after it was read"),
    "one line in gzip": (write_gzip, "line 1: is longer than 67,108,864 bytes; nothing after it was read"),
    "lines in zstd": (lambda path: write_zstd(path, LINE), "more than 134,217,728 bytes when unpacked"),
    "Parquet": (write_parquet, "more than 134,217,728 bytes when unpacked"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bomb_ends_with_a_sentence_and_takes_little_memory(bomb: str, tmp_path: Path) -> None:
    write, words = BOMBS[bomb]
    write(tmp_path / "file")
    assert (tmp_path / "file").stat().st_size < LARGEST
    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / "file")],
        cwd=servers.ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert words in done.stdout
