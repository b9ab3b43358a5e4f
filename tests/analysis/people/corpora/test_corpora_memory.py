"""A corpus file of any size is read in little memory."""

import random
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from django.db import connection

from analysis.people.corpora.reading import CorpusFile
from tests.analysis.runs.baseline_factories import embed_all, import_file, make_corpus

ROWS, CHARACTERS = 1600, 10_000


def write_parquet(path: Path, rows_in_group: int) -> None:
    """Write WildChat's shape, with text that cannot be compressed below half its size."""
    said = random.Random(1)
    records = [
        {
            "conversation_hash": f"hash{number}",
            "language": "English",
            "conversation": [
                {"role": "user", "content": said.randbytes(CHARACTERS // 2).hex()},
                {"role": "assistant", "content": "yes"},
            ],
        }
        for number in range(ROWS)
    ]
    table, pages = pyarrow.Table.from_pylist(records), {"use_dictionary": False, "write_batch_size": 64}
    pyarrow.parquet.write_table(table, path, row_group_size=rows_in_group, **pages)


@pytest.mark.parametrize("rows_in_group", [100, 800])
def test_parquet_is_read_without_keeping_what_was_read(tmp_path: Path, rows_in_group: int) -> None:
    write_parquet(tmp_path / "file", rows_in_group)
    before = pyarrow.total_allocated_bytes()
    most = count = 0
    for count, _ in enumerate(CorpusFile(tmp_path / "file").records(), 1):  # noqa: B007
        most = max(most, pyarrow.total_allocated_bytes() - before)
    assert count == ROWS and (tmp_path / "file").stat().st_size > ROWS * CHARACTERS // 2
    # A batch of 256 rows, and what the library reads ahead; the whole text has 16 million characters.
    assert most < ROWS * CHARACTERS // 2


@pytest.mark.django_db
def test_import_and_embedding_do_not_keep_what_they_wrote(tmp_path: Path, settings: Any) -> None:
    settings.DEBUG = True  # as on a developer's computer
    write_parquet(tmp_path / "file", rows_in_group=100)
    import_file(tmp_path / "file")
    assert embed_all(make_corpus()) == ROWS
    assert sum(len(query["sql"]) for query in connection.queries) < ROWS * CHARACTERS // 100
