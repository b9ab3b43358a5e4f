"""No text made for the purpose keeps anything busy that reads what others wrote."""

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest

from analysis.models.people import LONGEST_ATTRIBUTE
from analysis.people import sensitive
from analysis.people.attributes import COLUMNS as ATTRIBUTES
from analysis.people.corpora import IMPORTERS
from analysis.people.corpora.importing import make_row
from analysis.people.corpora.personas import _read_object
from analysis.people.corpora.records import RecordError, storable
from analysis.people.evidence import locate
from analysis.runs.imports import CompletionReader
from surveys.annotation.label_imports import COLUMNS as LABELS
from surveys.annotation.label_imports import LabelReader
from surveys.participation.webhooks import EVENT_PARTS, read_event
from surveys.prolific.client import read_study, read_submission
from surveys.reading import answers, items, privacy
from surveys.reading.answers import count_items, find_name, normalise_item, read_answer
from surveys.reading.checks import CHECKS, OtherPrompt, Paste, find_problems
from surveys.reading.privacy import remove_personal
from surveys.studies.files.definitions import StudyFileError, parse_study
from surveys.studies.imports.files import CellFault, Faults, TableReader, read_cells, read_json_lines
from tests.hostile import LONGEST, SECONDS, hostile_texts, hostile_units, repeated
from tests.patterns import Site, methods_of, own_units, pattern_of, sites

SHORT = 2_000  # characters by which the worst texts for a pattern are found
WORST = 8
TRIES = 5
PLAIN, PASSES = re.compile(r"\s|\S"), 16  # so many plain passes over the longest text take about SECONDS
STEPS = (20_000, LONGEST)  # a text that takes too long when short is not made longer


def seconds(use: Callable[[str], Any], text: str) -> float:
    start = time.process_time()
    use(text)
    return time.process_time() - start


def limit() -> float:
    """The time limit, raised on a slow or busy machine in proportion to a plain pass over a text there."""
    return max(SECONDS, PASSES * seconds(PLAIN.findall, "a " * (LONGEST // 2)))


def is_slow(use: Callable[[str], Any], text: str) -> float:
    """The least processor time of a text that takes too long at every try, else 0."""
    took, tries = seconds(use, text), 1
    while took > SECONDS and took > limit() and tries < TRIES:
        took, tries = min(took, seconds(use, text)), tries + 1
    return took if tries == TRIES and took > limit() else 0


def too_slow(use: Callable[[str], Any], longest: int = LONGEST) -> list[str]:
    """The texts that take too long at every try, since a busy machine is slow now and then."""
    slow = []
    for length in sorted({min(step, longest) for step in STEPS}):
        for made, text in hostile_texts(length):
            if took := is_slow(use, text):
                slow.append(f"{made} of {length:,}: {took:.2f} s")
        if slow:
            break
    return slow


# --- readers and checks, each as a whole --------------------------------------

PROMPT = "Please recommend five teas that I could drink in the evening before sleep."
OTHERS = (OtherPrompt("films", "Recommend three films about space and time travel"),)
CHOICES = ("the cell membrane", "mitosis", "3.5 %", "none/all")


def afresh(use: Callable[[str], Any]) -> Callable[[str], Any]:
    """Use a text after forgetting what is remembered of the one before."""

    def used(text: str) -> None:
        items.find_items.cache_clear()
        items._set_out.cache_clear()
        use(text)

    return used


def paste(text: str, kind: str) -> Paste:
    return Paste(text, PROMPT, kind=kind, choices=CHOICES if kind == "choice" else (), other_prompts=OTHERS)


READERS: dict[str, Callable[[str], Any]] = {
    "letter": lambda text: read_answer(text, "choice", choices=CHOICES),
    "list": lambda text: read_answer(text, "recommendation"),
    "count": count_items,
    "checks of a list": lambda text: find_problems(paste(text, "recommendation"), list(CHECKS)),
    "checks of a choice": lambda text: find_problems(paste(text, "choice"), list(CHECKS)),
    "name": lambda text: (find_name(text, "Heat"), normalise_item(text[:300])),
    "personal details": remove_personal,
}


# --- readers of files and of what Prolific says: the text in every part of a row


def each_of(names: Iterable[str], text: str) -> dict[str, str]:
    return dict.fromkeys(names, text)


def refused(use: Callable[[], Any]) -> None:
    with suppress(ValueError, TypeError, RecordError, CellFault, StudyFileError):
        use()


def read_table(table: TableReader, text: str) -> None:
    deque(table.read_rows([(1, each_of(table.columns, text))]), 0)
    deque(table.read_rows([(1, each_of(table.columns, "") | {text[:100_000]: ""})]), 0)


def read_cells_of(text: str) -> None:
    deque(TableReader(*LABELS).read_table(read_cells(iter(text.splitlines(keepends=True)), Faults())), 0)


def read_conversation(text: str) -> None:
    said = [each_of(("role", "from"), "user") | each_of(("content", "value", "timestamp", "hashed_ip"), text)] * 2
    names = ("conversation_hash", "conversation_id", "id", "hashed_ip", "language", "timestamp")
    record = each_of(names, text) | {"conversation": said, "conversations": said}
    for read in IMPORTERS.values():
        refused(lambda read=read: make_row(read(record)))
        refused(lambda read=read: read({"conversation": [each_of(("role", "content"), text)]}))


def read_personas(text: str) -> None:
    for line in (text, json.dumps({"persona": text, "sentences": [text], "id": text})):
        refused(lambda line=line: _read_object(storable(line).strip()))


def read_prolific(text: str) -> None:
    names = ("id", "study_id", "participant_id", "participant", "status", "study_code", "reward", "started_at")
    more = ("completed_at", "name", "internal_name", "total_available_places")
    for name in (*names, *more):
        whole = {"id": "a" * 24, "participant_id": "b" * 24, "status": "APPROVED", name: text}
        refused(lambda whole=whole: read_submission(whole))
        refused(lambda whole=whole: read_study(whole))
    event = {"event_type": "submission.status.change", **each_of(EVENT_PARTS, text)}
    refused(lambda: read_event(json.dumps(event).encode(), "0"))
    refused(lambda: read_event(text.encode("utf-8", "replace"), text))


FILES: dict[str, Callable[[str], Any]] = {
    "completions": lambda text: read_table(CompletionReader({"teas": None, "water": None}, "the study").table, text),
    "labels": lambda text: read_table(LabelReader().table, text),
    "attributes": lambda text: read_table(TableReader(*ATTRIBUTES), text),
    "CSV": read_cells_of,
    "JSON lines": lambda text: deque(read_json_lines(iter([text, json.dumps({"a": text})]), Faults()), 0),
    "conversations": read_conversation,
    "personas": read_personas,
    "Prolific": read_prolific,
    "study file": lambda text: refused(lambda: parse_study(text.encode("utf-8", "replace"))),
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", FILES)
def test_no_text_keeps_a_reader_of_files_busy(reader: str) -> None:
    assert too_slow(FILES[reader]) == []


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_no_text_keeps_a_reader_busy(reader: str) -> None:
    assert too_slow(afresh(READERS[reader])) == []


@pytest.mark.parametrize("number", ["+" + "1" * 34, "+" + "1" * 33 + "a", "00" + "1" * 34, "+1 (1)" + "1" * 25 + "a"])
def test_no_long_numbers_keep_the_search_for_personal_details_busy(number: str) -> None:
    text = repeated(f" {number}", LONGEST // 2)
    assert not is_slow(privacy.find_personal, text)


TABLE = "a" + "|1" * 4_000 + "\n|-|\n" + "1|\n" * 2_600


@pytest.mark.parametrize(
    ("quote", "text"),
    [("a " * 9_999 + "b", "a " * 100_000), ("x" * 10_000 + " y", "x" * LONGEST), ("a b", "a" + " " * LONGEST)],
)
def test_no_quote_keeps_the_search_for_it_busy(quote: str, text: str) -> None:
    assert locate(quote, [{"role": "user", "content": text}]) is None
    assert not is_slow(lambda text: locate(quote, [{"role": "user", "content": text}]), text)


@pytest.mark.parametrize("text", [TABLE], ids=["a wide row over many narrow ones"])
def test_no_table_keeps_the_reader_busy(text: str) -> None:
    assert not is_slow(afresh(READERS["list"]), text)


# --- every pattern by itself --------------------------------------------------

# Patterns that no text of others reaches.
OURS = {
    "analysis.endpoints.providers.scripted": "plays a model, and reads the requests that are written here",
    "surveys.simulation": "plays participants, and reads the pages that are written here",
    "surveys.prolific.mock": "plays Prolific in rehearsals and tests",
    "surveys.studies.files.values.matching": "the patterns of the schema, each of one class of signs and a length",
    # Others' words, matched literally and never as a pattern.
    "surveys.annotation.texts.find_words": "escaped",
    "surveys.studies.files.rules._names": "escaped",
    "analysis.report.pages.contents.mark_names": "escaped",
}
# Patterns composed while the code runs: some that it makes, and how they are used.
MADE: dict[str, tuple[tuple[str, ...], Callable[[], Iterable[re.Pattern[str]]]]] = {
    "surveys.reading.privacy._compile": (
        ("finditer",),
        lambda: [
            *(pattern for _, _, pattern in privacy.PATTERNS),
            *map(privacy._compile, privacy._forms(privacy.PersonalDetail("name", 0, 0, "Anna Jürgen Мария"), "")),
            *map(privacy._compile, privacy._forms(privacy.PersonalDetail("phone", 0, 0, "555 0199"), "555 555")),
        ],
    ),
    "surveys.reading.privacy._form_of_name": (("sub",), lambda: [re.compile(form[2]) for form in privacy.FORMS]),
    "surveys.reading.privacy.SIGNS": (("search",), privacy.SIGNS.values),
    "surveys.reading.answers._alone": (("match",), lambda: [answers._alone("ABCD")]),
    "surveys.reading.answers._second": (("match",), lambda: [answers._second("ABCD")]),
    "surveys.reading.answers._opening": (("match",), lambda: [answers._opening("ABCD")]),
    "surveys.reading.answers._correct": (("findall",), lambda: [answers._correct("ABCD")]),
    "surveys.reading.answers._said": (("finditer",), lambda: [answers._said("ABCD")]),
    "surveys.reading.answers._ruled_out": (("sub",), lambda: [answers._ruled_out("ABCD")]),
    "surveys.reading.answers._mention": (("finditer",), lambda: [answers._mention("ABCD")]),
    "analysis.people.sensitive._compile": (("search",), sensitive.RULES.values),
}
# Where the code hands over less than a whole text.
SHORTENED = {
    "analysis.people.sensitive._compile": (LONGEST_ATTRIBUTE, "one statement about a person"),
    "surveys.reading.privacy.SIGNS": (1_000, "the item around a number, cut before and after it"),
    **{
        f"surveys.reading.{name}": (items.HEAD, "the part of a text that is read")
        for name in ("roles.THOUGHTS", "words.SECTION", "words.AWARD")
    },
}


def is_ours(where: str) -> bool:
    return any(where == ours or where.startswith(f"{ours}.") for ours in OURS)


FOREIGN: dict[str, list[Site]] = {}
for _site in sites():
    if not is_ours(_site.where):
        FOREIGN.setdefault(_site.where, []).append(_site)


def patterns_at(where: str) -> list[tuple[str, re.Pattern[Any]]]:
    """The patterns made there, each as (method, pattern)."""
    if where in MADE:
        methods, make = MADE[where]
        return [(method, pattern) for pattern in make() for method in methods]
    found = [(site, pattern_of(site)) for site in FOREIGN[where]]
    missing = [site.call.lineno for site, pattern in found if pattern is None]
    assert not missing, f"Only running code knows the pattern in lines {missing}: give examples of it in MADE"
    return [(method, pattern) for site, pattern in found for method in methods_of(site) if pattern]


def use_of(method: str, pattern: re.Pattern[Any]) -> Callable[[Any], Any]:
    if method in ("sub", "subn"):
        return lambda text: pattern.sub(text[:0], text)
    if method == "finditer":
        return lambda text: deque(pattern.finditer(text), 0)
    return lambda text: getattr(pattern, method)(text)


def made_of(unit: tuple[str, str, str], length: int, pattern: re.Pattern[Any]) -> Any:
    opening, repeat, ending = unit
    text = opening + repeated(repeat, max(length - len(opening) - len(ending), 1)) + ending
    return text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text


def slow_texts(method: str, pattern: re.Pattern[Any], longest: int = LONGEST) -> list[str]:
    """The first text that is too slow, tried worst first: common ones and the pattern's own, ranked while short."""
    use = use_of(method, pattern)
    own = [(opening, repeat, ending) for opening, repeat in own_units(pattern) for ending in ("", "\x01")]
    units = dict.fromkeys([*hostile_units(), *own])
    times = {unit: seconds(use, made_of(unit, min(SHORT, longest), pattern)) for unit in units}
    for length in sorted({min(step, longest) for step in STEPS}):
        for unit in sorted(units, key=lambda unit: -times[unit])[:WORST]:
            text = made_of(unit, length, pattern)
            if took := is_slow(use, text):
                return [f"{method} in {unit} of {length:,}: {took:.2f} s"]
    return []


@pytest.mark.slow
@pytest.mark.parametrize("where", FOREIGN)
def test_no_text_keeps_a_pattern_busy(where: str) -> None:
    longest, _ = SHORTENED.get(where, (LONGEST, ""))
    assert [slow for method, pattern in patterns_at(where) for slow in slow_texts(method, pattern, longest)] == []


def test_names_of_patterns_are_those_of_the_code() -> None:
    there = {site.where for site in sites()}
    assert {*MADE, *SHORTENED} <= there
    assert [ours for ours in OURS if not any(where == ours or where.startswith(f"{ours}.") for where in there)] == []


@pytest.mark.parametrize(
    ("method", "pattern"), [("search", r"\s+x"), ("findall", r"<q[^>]*>"), ("search", r"k\d+\d+z"), ("sub", r"[ß]+é")]
)
@pytest.mark.slow
def test_pattern_that_takes_its_time_is_found(method: str, pattern: str) -> None:
    assert slow_texts(method, re.compile(pattern), 35_000)
