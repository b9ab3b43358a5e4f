"""The most variable questions as prompts of a study file."""

import json
import re
from collections.abc import Sequence

from analysis.charts.figure import Row
from surveys.console.wording import plural
from surveys.models import BenchmarkItem
from surveys.studies.files.definitions import StudyFileError, parse_study

LONGEST = 50  # characters of a slug
KEYS = ("slug", "title", "kind", "question", "choices", "answer", "benchmark", "item")


class NothingToTake(ValueError):
    """The message says why no question is taken."""


def choose(rows: Sequence[Row], most: int, benchmark: str = "", model: str = "") -> list[BenchmarkItem]:
    """The first of a benchmark and model that the study does not ask yet; of the first ones that are listed where none
    is named.
    """
    there = [
        row
        for row in rows
        if row["benchmark"] and row["benchmark"] == (benchmark or row["benchmark"])
        if row["model"] == (model or row["model"])
    ]
    if not there:
        raise NothingToTake("No such benchmark and model have two offline repeats: `run_benchmark` makes them.")
    first = there[0]["benchmark"], there[0]["model"]
    names = dict.fromkeys(
        row["item"] for row in there if (row["benchmark"], row["model"]) == first and not row["taken"]
    )
    if not names:
        raise NothingToTake(f"The study asks all that are listed of {first[0]} already.")
    found = {item.item: item for item in BenchmarkItem.objects.filter(benchmark=first[0], item__in=[*names])}
    return [found[name] for name in names][:most]


def as_prompts(items: Sequence[BenchmarkItem]) -> str:
    """Tables [[prompts]], which may stand at the end of a study file; JSON's strings and lists are TOML's too."""
    return "\n".join(as_prompt(item) for item in items)


def as_prompt(item: BenchmarkItem) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", item.item.lower()).strip("-")
    values = {
        "slug": words[-LONGEST:].strip("-"),
        "title": item.item,
        "kind": "choice",
        "question": item.question,
        "choices": item.choices,
        "answer": item.answer,
        "benchmark": item.benchmark,
        "item": item.item,
    }
    lines = [f"{key} = {json.dumps(values[key], ensure_ascii=False)}" for key in KEYS]
    return "\n".join(["[[prompts]]", *lines, ""])


def put_into(content: bytes, items: Sequence[BenchmarkItem]) -> str:
    """The study file with these at its end."""
    whole = content.rstrip() + b"\n\n" + as_prompts(items).encode()
    try:
        parse_study(whole)
    except StudyFileError as error:
        faults = f"{plural(len(error.faults), 'fault')}, the first: {error.faults[0]}"
        raise NothingToTake(
            f"With these questions the study file has {faults}. Without --into they are printed, to be put in by hand."
        ) from None
    return whole.decode()
