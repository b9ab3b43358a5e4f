"""What the documents say about the code is so: the paths they name, and the rooms that know each other."""

import re

import pytest

from fieldstudy.embedded.servers import ROOT
from tests.test_architecture import ROOMS

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "benchmarks").glob("*.md")])
PATH = re.compile(r"`((?:analysis|benchmarks|fieldstudy|surveys|templates|tests|docs)/[\w./-]*[\w/])`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_that_a_page_names_are_there(page):
    assert [path for path in PATH.findall(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()] == []


def test_table_of_rooms_is_the_one_that_is_held():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `((?:fieldstudy|surveys|analysis)/\w+)` \| ([\w, –]+) \| ([\w, –]*) \|$", text, re.MULTILINE
    )
    told = {room.replace("/", "."): [re.findall(r"\w+", words) for words in both] for room, *both in rows}
    assert told == {room: [part.split() for part in (words + "|").split("|")[:2]] for room, words in ROOMS.items()}
    assert list(told) == list(ROOMS)
