"""Benchmark items: read from the files they are published in, and filled into studies that ask for them."""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction

from surveys.models import BenchmarkItem, Study
from surveys.studies.lifecycle import load_definition, with_benchmark_items
from surveys.study_files.definitions import Definition

LETTERS = "ABCDEFGH"
MOST_FAULTS = 50
LONGEST_LINE = 1_000_000
MMLU_FILE = re.compile(r"(?P<subject>.+)_(?P<split>test|dev|val)")
# How an ETHICS scenario is put as a question with two options; the label 1 stands for the first.
ETHICS = {
    "commonsense": (
        "Is what this person did clearly wrong by the usual moral standards in the United States?",
        ("Clearly wrong", "Not clearly wrong"),
    ),
    "justice": ("Is the reason in this sentence a reasonable one?", ("Reasonable", "Unreasonable")),
}


class BenchmarkFault(Exception):
    """A file of which nothing was imported; one line for each of its first faults."""


@dataclass
class Filled:
    """What became of an import: items by whether they were known, studies by what became of them."""

    items: int
    created: int
    updated: int
    studies: dict[str, str]


def import_benchmark(name: str, path: Path, actor: str) -> Filled:
    """Store the items and fill them into studies that are not launched. Raises BenchmarkFault, OSError."""
    items = read_items(name, path)
    with transaction.atomic():
        known = {row.item: row for row in BenchmarkItem.objects.filter(benchmark=name)}
        updated = sum(differs(known[item.item], item) for item in items if item.item in known)
        created = sum(item.item not in known for item in items)
        BenchmarkItem.objects.bulk_create(
            items,
            batch_size=1000,
            update_conflicts=True,
            unique_fields=["benchmark", "item"],
            update_fields=["subject", "question", "choices", "answer"],
        )
        return Filled(len(items), created, updated, refill_studies(name, actor))


def differs(old: BenchmarkItem, new: BenchmarkItem) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in ("subject", "question", "choices", "answer"))


def refill_studies(name: str, actor: str) -> dict[str, str]:
    """By study: `updated`, `unchanged`, or `launched` when it would differ and has to stay as it is."""
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


def read_items(name: str, path: Path) -> list[BenchmarkItem]:
    """Every item of the file, or BenchmarkFault with its faults."""
    faults: list[str] = []
    items: dict[str, BenchmarkItem] = {}
    try:
        for number, row in read_rows(name, path):
            try:
                item = read_item(name, row)
                if item.item in items:
                    raise ValueError(f"the id {item.item} is there more than once")
                items[item.item] = item
            except ValueError as error:
                faults.append(f"line {number}: {error}")
    except UnicodeDecodeError:
        faults.append("is not UTF-8; save it with the encoding UTF-8")
    except csv.Error as error:
        faults.append(f"is not valid CSV: {error}")
    if not items and not faults:
        faults.append("holds no items")
    if faults:
        more = [f"… and {len(faults) - MOST_FAULTS} more"] if len(faults) > MOST_FAULTS else []
        raise BenchmarkFault("\n".join(faults[:MOST_FAULTS] + more))
    return list(items.values())


def read_rows(name: str, path: Path) -> Iterator[tuple[int, Any]]:
    """Each row with its line; what kind of file it is shows in its name and first line."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix.lower() != ".csv":
            yield from ((n, line) for n, line in enumerate(file, 1) if line.strip())
            return
        rows = csv.reader(file, strict=True)
        first = next(rows, [])
        if {"id", "label"} <= set(first):
            yield from ((rows.line_num, dict(zip(first, row, strict=False))) for row in rows if row)
            return
        yield from mmlu_rows(name, path.stem, [first] if first else [], rows)


def mmlu_rows(name: str, stem: str, first: list[list[str]], rows: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The original files have no header and no ids: `<subject>_<split>.csv`, one question a row."""
    named = MMLU_FILE.fullmatch(stem)
    subject, split = (named["subject"], named["split"]) if named else (stem, "test")
    number = 0
    for group in (first, rows):
        for row in group:
            cells = dict(zip(("question", *"ABCD", "answer"), row, strict=False))
            if len(row) != 6:
                cells["fault"] = f"has {len(row)} cells; a question of MMLU has 6: question, A, B, C, D, answer"
            cells |= {"id": f"{name}/{subject}/{split}/{number}", "subject": subject}
            cells["choices"] = [cells.get(letter, "") for letter in "ABCD"]
            yield rows.line_num, cells
            number += 1


def read_item(name: str, row: str | Mapping[str, Any]) -> BenchmarkItem:
    """One item of any of the shapes. Raises ValueError with what is the matter."""
    content = read_json(row) if isinstance(row, str) else row
    if "fault" in content:
        raise ValueError(content["fault"])
    shape = ethics_item if "scenario" in content else choice_item
    item = shape(content)
    if not isinstance(content.get("id"), str) or not 0 < len(content["id"]) <= 200:
        raise ValueError("id must be a text of 1 to 200 characters")
    return BenchmarkItem(benchmark=name, item=content["id"], **item)


def read_json(line: str) -> Mapping[str, Any]:
    if len(line) > LONGEST_LINE:
        raise ValueError(f"is longer than {LONGEST_LINE:,} characters")
    try:
        content = json.loads(line)
    except ValueError as error:
        raise ValueError(f"is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError('must be an object such as {"id": …, "question": …}')
    return content


def choice_item(row: Mapping[str, Any]) -> dict[str, Any]:
    question, choices, answer = row.get("question"), row.get("choices"), row.get("answer")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("question is missing")
    if not isinstance(choices, list) or not 2 <= len(choices) <= len(LETTERS):
        raise ValueError(f"choices must be a list of 2 to {len(LETTERS)} texts")
    if not all(isinstance(choice, str) and choice.strip() for choice in choices):
        raise ValueError("each of the choices must be a text")
    if isinstance(answer, int) and 0 <= answer < len(choices):
        answer = LETTERS[answer]  # some copies number the choices from 0
    if not isinstance(answer, str) or len(answer) != 1 or answer not in LETTERS[: len(choices)]:
        raise ValueError(f"answer must be a letter from A to {LETTERS[len(choices) - 1]}, not {answer!r}")
    subject = str(row.get("subject") or "")[:100]
    return {"subject": subject, "question": question.strip(), "choices": choices, "answer": answer}


def ethics_item(row: Mapping[str, Any]) -> dict[str, Any]:
    category, scenario, label = row.get("category"), row.get("scenario"), str(row.get("label"))
    if category not in ETHICS:
        raise ValueError(f"category must be one of {', '.join(ETHICS)}, not {category!r}")
    if not isinstance(scenario, str) or not scenario.strip():
        raise ValueError("scenario is missing")
    if label not in ("0", "1"):
        raise ValueError(f"label must be 0 or 1, not {label!r}")
    question, choices = ETHICS[category]
    return {
        "subject": category,
        "question": f'{question}\n\n"{scenario.strip()}"',
        "choices": list(choices),
        "answer": "A" if label == "1" else "B",
    }
