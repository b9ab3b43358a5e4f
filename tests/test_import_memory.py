"""Hostile files in every imported format: each ends with a sentence and stays within one memory budget."""

import gzip
import json
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from django.db import connection

from fieldstudy.embedded.servers import ROOT
from surveys.reading.nesting import MEMORY
from tests.factories import make_annotation_study, make_study

pytestmark = [pytest.mark.processes, pytest.mark.slow]

MB = 1 << 20
LONGEST_TIME = 60  # seconds of processor

CHATBOT, PROMPT = "chatgpt", "teas"
CSV = {
    "import_responses": "participant,chatbot,prompt,text",
    "import_completions": "source,model,prompt,text",
    "import_items": "key,attribute",
    "import_annotations": "item,annotator,label",
}
COMMANDS = {
    "import_responses": ["teas"],
    "import_completions": ["teas"],
    "import_items": ["judged"],
    "import_annotations": ["elsewhere"],
    "import_benchmark": ["mmlu"],
    "import_examples": ["examples"],
    "import_personas": ["personas"],
    "import_attributes": ["people"],
    "import_corpus": ["talks"],
    "load_study": [],
    "verify_audit": ["teas", "--against"],
}
OPTIONS = {"import_corpus": ["--format", "wildchat"]}
JSON = ("import_items", "import_annotations", "import_benchmark", "import_examples", "import_personas") + (
    "import_attributes",
    "import_corpus",
)


class Shape(NamedTuple):
    """What a file holds, and the sentence that refuses it; `write` gets the command that will read it."""

    commands: Iterable[str]
    ending: str
    words: str
    write: Callable[[Path, str], None]


SHAPES: dict[str, Shape] = {}


def hostile(commands: Iterable[str], ending: str, words: str) -> Callable[[Callable[[Path, str], None]], None]:
    def note(write: Callable[[Path, str], None]) -> None:
        SHAPES[f"{write.__name__.replace('_', ' ')}{ending}"] = Shape(commands, ending, words, write)

    return note


def repeat(path: Path, start: str, piece: str, size: int, end: str = "") -> None:
    """Write a file of about `size` bytes by repeating `piece`."""
    many = (piece * (MB // len(piece) + 1)).encode()
    with path.open("wb") as file:
        file.write(start.encode())
        while file.tell() < size:
            file.write(many)
        file.write(end.encode())


def write_zeros(path: Path, start: str) -> None:
    """Write an endless line of zeros, which takes no room on the disk."""
    with path.open("wb") as file:
        file.write(start.encode())
        file.truncate(2 * MEMORY)


# --- tables

LINE = "bytes; nothing after it was read"
VALUES = "so many values that they take more than 256 MB of memory"
KEPT = "it takes more than 256 MB of memory; split it"
LISTS = "[" * 90 + "]" * 90
ITEMS = ("import_items", "import_annotations")


@hostile(CSV, ".csv", LINE)
def one_line(path: Path, command: str) -> None:
    write_zeros(path, CSV[command] + "\n")


@hostile(CSV, ".csv", "a quote is not closed; nothing after it was read")
def a_cell_without_end(path: Path, command: str) -> None:
    repeat(path, CSV[command] + '\n"', "a b c d e f g h\n", 60 * MB)


@hostile(CSV, ".csv", "cells; nothing after it was read")
def a_row_of_many_lines(path: Path, command: str) -> None:
    repeat(path, CSV[command] + '\n"', '\né","', 60 * MB)


@hostile(CSV, ".csv", "columns; a table has at most 2,000")
def many_columns(path: Path, command: str) -> None:
    path.write_text(",".join([CSV[command], *(f"c{number:x}" for number in range(500_000))]) + "\n")


@hostile(ITEMS, ".csv", "a row has more than 1,000,000 cells")
def a_row_of_many_cells(path: Path, command: str) -> None:
    repeat(path, CSV[command] + "\n", "é,", 15 * MB, "\n")


@hostile(ITEMS, ".csv", VALUES)
def cells_of_lists(path: Path, command: str) -> None:
    path.write_text(CSV[command] + ",tags\na,b,c,[" + f"{LISTS} " * (15 * MB // len(LISTS)) + "]\n")


@hostile(["import_annotations"], ".csv", KEPT)
def many_rows(path: Path, command: str) -> None:
    with path.open("w") as file:
        file.write(CSV[command] + "\n")
        file.writelines(f"{number},{number},1\n" for number in range(300_000))


@hostile(["import_responses"], ".csv", KEPT)
def many_people(path: Path, command: str) -> None:
    with path.open("w") as file:
        file.write(CSV[command] + "\n")
        file.writelines(f"person{number},{CHATBOT},{PROMPT},Tea.\n" for number in range(800_000))


@hostile(["import_completions"], ".csv", KEPT)
def many_repeats(path: Path, command: str) -> None:
    with path.open("w") as file:
        file.write(CSV[command] + ",run\n")
        file.writelines(f"offline,m,{PROMPT},Tea.,{number}\n" for number in range(1_200_000))


@hostile(JSON, ".jsonl", LINE)
def one_line(path: Path, command: str) -> None:  # noqa: F811 - the same of another format
    write_zeros(path, '{"text": "')


@hostile([*ITEMS, "import_corpus"], ".jsonl", VALUES)
def lists_in_lists(path: Path, command: str) -> None:
    path.write_text('{"a": [' + f"{LISTS}," * (15 * MB // len(LISTS)) + "1]}\n")


@hostile([*ITEMS, "import_corpus"], ".jsonl", VALUES)
def many_objects(path: Path, command: str) -> None:
    piece = '{"":{}},'
    path.write_text('{"a": [' + piece * (15 * MB // len(piece)) + "1]}\n")


@hostile(["import_items", "import_attributes"], ".jsonl", "it names more than 2,000 columns")
def other_names_in_each_line(path: Path, command: str) -> None:
    with path.open("w") as file:
        file.writelines(f'{{"user":"a","text":"b","key":"c{n}","n{n}":1}}\n' for n in range(300_000))


@hostile(["import_examples", "import_benchmark"], ".jsonl", KEPT)
def many_examples(path: Path, command: str) -> None:
    about = {"question": "ü?", "choices": ["a", "b"], "answer": "A"}
    if command == "import_examples":
        about = {"prompt": "a", "response_1": "é" * 99, "response_2": "b", "label": 1}
    with path.open("w") as file:
        file.writelines(json.dumps({"id": str(number), **about}) + "\n" for number in range(300_000))


# --- conversations


@hostile(["import_corpus"], ".json", "one record has more than 16,777,216 characters")
def one_item(path: Path, command: str) -> None:
    repeat(path, '[{"conversation": "\U0001f600', "a", 60 * MB)


@hostile(["import_corpus"], ".json", VALUES)
def lists_in_lists(path: Path, command: str) -> None:  # noqa: F811
    path.write_text("[[" + f"{LISTS}," * (15 * MB // len(LISTS)) + "1]]")


def write_zstd(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as packed:
        for piece in pieces:
            packed.write(piece)


@hostile(["import_corpus"], ".jsonl.zst", LINE)
def one_line(path: Path, command: str) -> None:  # noqa: F811
    write_zstd(path, [b"0" * (16 * MB)] * 60)


@hostile(["import_corpus"], ".jsonl.gz", LINE)
def one_line(path: Path, command: str) -> None:  # noqa: F811
    path.write_bytes(gzip.compress(b"0" * (64 * MB)) * 15)


@hostile(["import_corpus"], ".jsonl.zst", "nothing was imported: line 1: it is no JSON: a value is missing")
def broken_lines(path: Path, command: str) -> None:
    write_zstd(path, [b"x\n" * MB] * 4)


@hostile(["import_corpus"], ".jsonl.zst", "36 whole conversations: 36 new")
def long_conversations(path: Path, command: str) -> None:
    """Conversations near the length limit, in letters that take four times their bytes once one of them is rare."""
    text = "\U0001f600" + "a" * (15 * MB)
    lines = ({"conversation": [{"role": "user", "content": f"{number}{text}"}]} for number in range(36))
    write_zstd(path, (json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines))


# --- Parquet

NOISE = random.Random(24).randbytes(300).hex()  # so that nothing becomes a thousand times smaller


def write_parquet(path: Path, columns: dict[str, Any], **options: Any) -> None:
    given = {"compression": "gzip", "use_dictionary": False, "write_statistics": False, "data_page_size": 1}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, store_schema=False, **given | options)


def shared(rows: int, size: int) -> pyarrow.Array:
    """Rows with the same text, which is stored once."""
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * rows), pyarrow.array([NOISE * (size // len(NOISE))]))


def in_one_row(values: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.ListArray.from_arrays(pyarrow.array([0, len(values)]), values)


DICTIONARY = {"use_dictionary": True, "dictionary_pagesize_limit": 2**30}


@hostile(["import_corpus"], ".parquet", "a page has more than 134,217,728 bytes")
def one_page(path: Path, command: str) -> None:
    write_parquet(path, {"conversation_hash": [NOISE * 1_500_000]})


@hostile(["import_corpus"], ".parquet", "the pages of one row group have more than 134,217,728 bytes")
def a_page_in_each_column(path: Path, command: str) -> None:
    write_parquet(path, {f"column{number}": [NOISE * 20_000] for number in range(100)})


@hostile(["import_corpus"], ".parquet", "one record has more than 16,777,216 bytes when unpacked")
def a_page_for_each_row(path: Path, command: str) -> None:
    write_parquet(path, {"conversation_hash": [NOISE * 100_000] * 15}, write_batch_size=1)


@hostile(["import_corpus"], ".parquet", "the dictionaries of one row group have more than 67,108,864 bytes")
def a_long_text_for_all_rows(path: Path, command: str) -> None:
    write_parquet(path, {"conversation_hash": shared(1000, 100 * MB)}, **DICTIONARY)


@hostile(["import_corpus"], ".parquet", "has no list 'conversation'")
def a_text_for_all_rows(path: Path, command: str) -> None:
    """Three gigabytes in all, of which a few records are made at a time."""
    write_parquet(path, {"conversation_hash": shared(1000, 3 * MB)}, **DICTIONARY)


@hostile(["import_corpus"], ".parquet", "one record has more than 16,777,216 bytes when unpacked")
def a_list_of_one_text(path: Path, command: str) -> None:
    write_parquet(path, {"conversation": in_one_row(shared(300, 10 * MB))}, **DICTIONARY, data_page_size=MB)


@hostile(["import_corpus"], ".parquet", "rows of this group that cannot be read: 1")
def a_list_over_many_pages(path: Path, command: str) -> None:
    """The library does not return its row, and reports nothing."""
    write_parquet(path, {"conversation": in_one_row(shared(300, 10_000))}, **DICTIONARY)


@hostile(["import_corpus"], ".parquet", "one record has more than 16,777,216 bytes when unpacked")
def a_list_of_nothing(path: Path, command: str) -> None:
    nothing = in_one_row(pyarrow.nulls(10_000_000, pyarrow.int8()))
    write_parquet(path, {"turn": nothing}, data_page_size=2**30)


@hostile(["import_corpus"], ".parquet", "the lists of one row group have more than 134,217,728 bytes")
def lists_in_many_columns(path: Path, command: str) -> None:
    nothing = in_one_row(pyarrow.nulls(10_000_000, pyarrow.int8()))
    write_parquet(path, {f"turn{number}": nothing for number in range(20)}, data_page_size=2**30)


@hostile(["import_corpus"], ".parquet", "it has more than 2,000 columns")
def many_columns(path: Path, command: str) -> None:  # noqa: F811
    write_parquet(path, {f"column{number}": pyarrow.nulls(1, pyarrow.int8()) for number in range(20_000)})


@hostile(["import_corpus"], ".parquet", "becomes more than 1,000 times larger when unpacked")
def zeros(path: Path, command: str) -> None:
    write_parquet(path, {"conversation_hash": ["0" * 10**8]}, compression="zstd")


# --- others


@hostile(["load_study"], ".toml", "is larger than")
def many_tables(path: Path, command: str) -> None:
    repeat(path, "", "[[a]]\n", 100 * MB)


@hostile(["load_study"], ".toml", "slug is missing")
def as_many_tables_as_a_study_may_have(path: Path, command: str) -> None:
    path.write_text("[[a]]\n" * 150_000)


@hostile(["load_study"], ".toml", "slug is missing")
def long_keys(path: Path, command: str) -> None:
    path.write_text("".join(f"{'a.' * 90}b{number} = 1\n" for number in range(5_000)))


@hostile(["verify_audit"], ".zip", "no MANIFEST.json that says how the audit trail stood")
def a_long_manifest(path: Path, command: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("MANIFEST.json", "w") as file:
        for _ in range(60):
            file.write(b"0" * (16 * MB))


# --- trying them

CASES = [(name, command) for name, shape in SHAPES.items() for command in shape.commands]


@pytest.fixture(scope="module")
def imports(django_db_setup: None) -> Iterator[subprocess.Popen[str]]:
    """A process that imports into the tests' database, one file after another."""
    database = connection.settings_dict
    address = f"postgresql://{database['USER']}:{database['PASSWORD']}@/{database['NAME']}?host={database['HOST']}"
    if not database["HOST"].startswith("/"):
        pytest.skip("DATABASE_URL names a server where databases are not ours to make")
    command = [sys.executable, "-m", "tests.measured_imports"]
    given = {**os.environ, "DJANGO_SETTINGS_MODULE": "fieldstudy.settings", "DATABASE_URL": address}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=given, **pipes) as process:
        yield process


@pytest.mark.parametrize(("name", "command"), CASES, ids=[f"{command}-{name}" for name, command in CASES])
@pytest.mark.django_db(transaction=True)
def test_hostile_file_ends_with_a_sentence_and_within_the_budget(
    imports: subprocess.Popen[str], tmp_path: Path, name: str, command: str
) -> None:
    make_study(slug="teas", state="draft")
    make_annotation_study(slug="judged", state="draft")
    shape, path = SHAPES[name], tmp_path / f"math_test{SHAPES[name].ending}"
    shape.write(path, command)
    json.dump([command, [*COMMANDS[command], str(path), *OPTIONS.get(command, ())]], imports.stdin)
    print(file=imports.stdin, flush=True)
    took = json.loads(imports.stdout.readline())
    print(took)
    path.unlink()
    assert shape.words in took["said"], took
    assert took["megabytes"] < MEMORY / MB, took
    assert took["seconds"] < LONGEST_TIME, took
