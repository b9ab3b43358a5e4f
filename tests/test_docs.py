"""What the documents say about the code is true: the paths they name, and which rooms know which."""

import re
from pathlib import Path

import pytest

from fieldstudy.embedded.servers import ROOT
from tests.test_architecture import ROOMS

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])
PATH = re.compile(r"`((?:analysis|benchmarks|fieldstudy|examples|surveys|templates|tests|docs)/[\w./-]*[\w/])`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_that_a_page_names_are_there(page):
    assert [path for path in PATH.findall(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()] == []


def test_tests_that_a_page_names_are_there():
    named = {name for page in PAGES for name in re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8"))}
    written = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    assert named and named <= written


def test_table_of_rooms_is_the_one_that_is_held():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `((?:fieldstudy|surveys|analysis)/\w+)` \| ([\w, –]+) \| ([\w, –]*) \|$", text, re.MULTILINE
    )
    told = {room.replace("/", "."): [re.findall(r"\w+", words) for words in both] for room, *both in rows}
    assert told == {room: [part.split() for part in (words + "|").split("|")[:2]] for room, words in ROOMS.items()}
    assert list(told) == list(ROOMS)


def anchors_of(page: Path) -> set[str]:
    """The page's anchors: those GitHub makes from headings, and those the page sets itself."""
    text = page.read_text(encoding="utf-8")
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    return made | set(re.findall(r'<a id="([\w-]+)"></a>', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:\s]*)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8"))
    targets = [((page.parent / path if path else page), anchor) for path, anchor in links]
    assert [
        (path, anchor) for path, anchor in targets if not path.exists() or (anchor and anchor not in anchors_of(path))
    ] == []
