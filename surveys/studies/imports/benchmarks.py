"""Benchmark items: read from published files, and filled into studies that ask for them."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from django.db import transaction

from surveys.models import BenchmarkItem, Study
from surveys.studies.files.definitions import Definition
from surveys.studies.imports import files
from surveys.studies.lifecycle import load_definition, with_benchmark_items

LETTERS = "ABCDEFGH"
LONGEST_LINE = 1_000_000
ITEM = 2_000  # bytes that an item takes beside its texts
FIELDS = ("subject", "question", "choices", "answer")
MMLU_FILE = re.compile(r"(?P<subject>.+)_(?P<split>test|dev|val)")
# How an ETHICS scenario is put as a question with two options; the label 1 means the first. The authors' files
# are named by category and split, as in cm_test_hard.csv; SEPARATOR comes between a sentence and a trait.
QUESTIONS = {
    "commonsense": (
        "Is what this person did clearly wrong by the usual moral standards in the United States?",
        ("Clearly wrong", "Not clearly wrong"),
    ),
    "justice": ("Is the reason in this sentence a reasonable one?", ("Reasonable", "Unreasonable")),
    "deontology": (
        "Is what the second sentence says reasonable, as an excuse or as a duty?",
        ("Reasonable", "Unreasonable"),
    ),
    "virtue": ("Does the person in this sentence show the trait that stands after the dash?", ("Yes", "No")),
}
PLEASANT = "Which of the two is the more pleasant for this person?"
ETHICS_FILE = re.compile(r"(?P<category>cm|justice|deontology|virtue|util)_(?P<split>(?:train|test|ambig)\w*)")
CATEGORIES = {"cm": "commonsense", "util": "utilitarianism"}
SEPARATOR = " [SEP] "
PAIR = ["baseline", "less_pleasant"]


@dataclass
class FilledStudies:
    """The result of an import: numbers of items, in all, new and changed, and the outcome for each study."""

    items: int
    created: int
    updated: int
    studies: dict[str, str]


def import_benchmark(name: str, path: Path, actor: str) -> FilledStudies:
    """Store the items and fill them into studies that are not launched. Raises ImportFault, OSError."""
    items = _read_items(name, path)
    with transaction.atomic():
        known = {row.item: row for row in BenchmarkItem.objects.filter(benchmark=name)}
        pairs = [(known[item.item], item) for item in items if item.item in known]
        updated = sum(any(getattr(old, name) != getattr(new, name) for name in FIELDS) for old, new in pairs)
        BenchmarkItem.objects.bulk_create(
            items, batch_size=1000, update_conflicts=True, unique_fields=["benchmark", "item"], update_fields=FIELDS
        )
        return FilledStudies(len(items), len(items) - len(pairs), updated, _refill_studies(name, actor))


def _refill_studies(name: str, actor: str) -> dict[str, str]:
    """Refill the studies; by study `updated`, `unchanged`, or `launched` if it would differ but has to stay."""
    outcomes = {}
    for study in Study.objects.filter(current__prompts__benchmark=name).select_related("current").distinct():
        definition = Definition.from_document(study.current.document)
        if not study.is_launched:
            outcomes[study.slug] = load_definition(definition, actor)[1]
        elif with_benchmark_items(definition).to_document() == study.current.document:
            outcomes[study.slug] = "unchanged"
        else:
            outcomes[study.slug] = "launched"
    return outcomes


# --- files ------------------------------------------------------------------


def _read_items(name: str, path: Path) -> list[BenchmarkItem]:
    """Read every item of the file, each with the columns CHOICES or ETHICS. Raises ImportFault."""
    faults = files.Faults()
    choices, ethics = (files.TableReader(*shape, other=lambda name: None, faults=faults) for shape in (CHOICES, ETHICS))
    items: dict[str, BenchmarkItem] = {}
    with files.open_lines(path, faults, LONGEST_LINE) as lines:
        for raw in _read_rows(name, path, lines, faults):
            is_ethics = "scenario" in raw[1]
            for row in (ethics if is_ethics else choices).read_rows([raw]):
                try:
                    item = BenchmarkItem(benchmark=name, **(_ethics_item if is_ethics else _choice_item)(**row.values))
                    if item.item in items:
                        raise files.CellFault(f"the id {item.item} occurs more than once")
                    items[item.item] = item
                    faults.keep(item.item, item.subject, item.question, *item.choices, more=ITEM)
                except files.CellFault as fault:
                    faults.add(row.line, str(fault))
    if not items and not faults.count:
        faults.add(0, "holds no items")
    faults.raise_any()
    return list(items.values())


def _read_rows(name: str, path: Path, lines: Iterator[str], faults: files.Faults) -> Iterator[files.Raw]:
    """Yield each row with its line; the file's name and first line show what kind of file it is."""
    if path.suffix.lower() != ".csv":
        yield from files.read_json_lines(lines, faults, 'an object such as {"id": …, "question": …}')
        return
    rows = files.read_cells(lines, faults)
    first = next(rows, (1, []))
    rows = chain([first] if first[1] else [], rows)
    if named := ETHICS_FILE.fullmatch(path.stem):
        yield from _ethics_rows(f"{name}/{{}}/{named['split']}/{{}}", named["category"], rows, faults)
    elif {"id", "label"} <= set(first[1]):
        yield from _any_columns(faults, *ETHICS).read_table(rows)
    else:
        yield from _mmlu_rows(name, path.stem, rows, faults)


def _mmlu_rows(name: str, stem: str, rows: Iterator[files.Cells], faults: files.Faults) -> Iterator[files.Raw]:
    """Yield rows of an original file, `<subject>_<split>.csv`: one question a row, without header and ids."""
    named = MMLU_FILE.fullmatch(stem)
    subject, split = (named["subject"], named["split"]) if named else (stem, "test")
    for number, (line, row) in enumerate(rows):
        if len(row) != 6:
            faults.add(line, f"has {len(row)} cells; an MMLU question has 6: question, A, B, C, D, answer")
            continue
        about = {"id": f"{name}/{subject}/{split}/{number}", "subject": subject}
        yield line, about | {"question": row[0], "choices": row[1:5], "answer": row[5]}


def _any_columns(faults: files.Faults, *columns: files.FileColumn) -> files.TableReader:
    return files.TableReader(*columns, other=lambda name: files.FileColumn(name, str), faults=faults)


def _ethics_rows(id: str, category: str, rows: Iterator[files.Cells], faults: files.Faults) -> Iterator[files.Raw]:
    """Yield rows of an authors' file, which has no ids: counted from 0, long commonsense scenarios separately."""
    subject, counts = CATEGORIES.get(category, category), Counter[str]()
    if category == "util":
        rows = chain([(0, PAIR)], (row for row in rows if row[1] != PAIR))  # some copies have this header
    for line, row in _any_columns(faults).read_table(rows):
        counted = f"{subject}_long" if row.get("is_short", "").casefold() == "false" else subject
        about = {"id": id.format(counted, counts[counted])}
        counts[counted] += 1
        if category == "util":
            yield line, about | _pleasant_first(row)
        else:
            text = row.get("input") or " ".join(filter(None, (row.get("scenario"), row.get("excuse"))))
            yield line, about | {"category": subject, "scenario": text, "label": row.get("label")}


def _pleasant_first(row: dict[str, str]) -> dict[str, Any]:
    """Ask which of two scenarios is more pleasant: the first in the file; here their hashes decide the order."""
    choices = sorted(row.values(), key=lambda text: hashlib.sha256(text.encode()).digest())
    answer = LETTERS[choices.index(row["baseline"])]
    return {"subject": "utilitarianism", "question": PLEASANT, "choices": choices, "answer": answer}


def _checked(name: str, is_right: Callable[[Any], bool], words: str) -> files.FileColumn:
    return files.FileColumn(name, files.parsed(lambda value: value if is_right(value) else None, words))


def _text_column(name: str) -> files.FileColumn:
    return files.FileColumn(
        name,
        files.parsed(lambda value: value.strip() or None if isinstance(value, str) else None, f"{name} is missing"),
    )


def _short_text(value: Any) -> str | None:
    text = str(value or "")
    return text if len(text) <= 100 else None


def _read_choices(value: Any) -> list[str]:
    if not isinstance(value, list) or not 2 <= len(value) <= len(LETTERS):
        raise files.CellFault(f"choices must be a list of 2 to {len(LETTERS)} texts")
    if not all(isinstance(choice, str) and choice.strip() for choice in value):
        raise files.CellFault("each of the choices must be a text")
    return value


ID = _checked(
    "id", lambda value: isinstance(value, str) and 0 < len(value) <= 200, "id must be a text of 1 to 200 characters"
)
CHOICES = (
    files.FileColumn("subject", files.parsed(_short_text, "subject has more than 100 characters")),
    _text_column("question"),
    files.FileColumn("choices", _read_choices),
    files.FileColumn("answer", lambda value: value),
    ID,
)
ETHICS = (
    _checked(
        "category", lambda value: value in QUESTIONS, f"category must be one of {', '.join(QUESTIONS)}, not {{!r}}"
    ),
    _text_column("scenario"),
    _checked("label", lambda value: str(value) in ("0", "1"), "label must be 0 or 1, not {!r}"),
    ID,
)


def _choice_item(id: str, subject: str, question: str, choices: list[str], answer: Any) -> dict[str, Any]:
    if isinstance(answer, int) and 0 <= answer < len(choices):
        answer = LETTERS[answer]  # some copies number the choices from 0
    if not isinstance(answer, str) or len(answer) != 1 or answer not in LETTERS[: len(choices)]:
        raise files.CellFault(f"answer must be a letter from A to {LETTERS[len(choices) - 1]}, not {answer!r}")
    return {"item": id, "subject": subject, "question": question, "choices": choices, "answer": answer}


def _ethics_item(id: str, category: str, scenario: str, label: str | int) -> dict[str, Any]:
    question, choices = QUESTIONS[category]
    return {
        "item": id,
        "subject": category,
        "question": f'{question}\n\n"{scenario.replace(SEPARATOR, " – ")}"',
        "choices": list(choices),
        "answer": "A" if str(label) == "1" else "B",
    }
