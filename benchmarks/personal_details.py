"""How many personal details are marked, by how they are written, and how many of the marks are right.

    python -m benchmarks.personal_details [--json] [--half kept|looked-at] [--each]

`personal_details.json` holds answers that we wrote, with all names and addresses invented: `[[form|words]]` is a
detail, everything else is not personal. It precedes the rules for addresses, dates of birth and further places of a
name. One half, chosen by hash, was kept unseen until these were finished; the rates are of that half by default.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from analysis.stats.intervals import wilson_interval
from surveys.reading.privacy import find_personal

LABELLED = Path(__file__).with_name("personal_details.json")
DETAIL = re.compile(r"\[\[([a-z-]+)\|([^\]]+)\]\]")
KIND_OF = {
    "name": "name",
    "again": "name",
    "street-en": "address",
    "street-de": "address",
    "postcode": "address",
    "birth": "birth-date",
}


class Labelled(NamedTuple):
    """A text and its details as (form, start, end)."""

    text: str
    details: list[tuple[str, int, int]]


def read_labelled(half: str) -> Iterator[Labelled]:
    for written in json.loads(LABELLED.read_text(encoding="utf-8")):
        is_kept = hashlib.sha256(written.encode()).digest()[0] % 2 == 1
        if is_kept != (half == "kept"):
            continue
        text, details, at = "", [], 0
        for match in DETAIL.finditer(written):
            text += written[at : match.start()]
            details.append((match[1], len(text), len(text) + len(match[2])))
            text, at = text + match[2], match.end()
        yield Labelled(text + written[at:], details)


def measure(half: str = "kept") -> dict[str, Any]:
    """Return {"found": {form: rate}, "right": {kind: rate}, "wrong": [words]}.

    A detail is found if marks of its kind cover its letters and digits, a mark right if it meets a detail of its kind.
    """
    found: dict[str, list[bool]] = {form: [] for form in KIND_OF}
    right: dict[str, list[bool]] = {kind: [] for kind in dict.fromkeys(KIND_OF.values())}
    wrong: list[str] = []
    for text, details in read_labelled(half):
        marks = [mark for mark in find_personal(text) if mark.kind in right]
        for form, start, end in details:
            covered = {at for mark in marks if mark.kind == KIND_OF[form] for at in range(mark.start, mark.end)}
            is_found = covered.issuperset(at for at in range(start, end) if text[at].isalnum())
            found[form].append(is_found)
            wrong += [] if is_found else [f"missed {form}: {text[start:end]}"]
        for mark in marks:
            met = [form for form, start, end in details if start < mark.end and mark.start < end]
            is_right = any(KIND_OF[form] == mark.kind for form in met)
            right[mark.kind].append(is_right)
            wrong += [] if is_right else [f"marked {mark.kind}: {text[mark.start : mark.end]}"]
    rates = {
        name: {key: _rate(cases) for key, cases in by.items()} for name, by in (("found", found), ("right", right))
    }
    return {**rates, "wrong": wrong}


def _rate(cases: list[bool]) -> dict[str, float]:
    low, high = map(float, wilson_interval(sum(cases), len(cases))) if cases else (0.0, 1.0)
    return {"n": len(cases), "right": sum(cases), "low": low, "high": high}


def as_lines(measured: dict[str, Any]) -> list[str]:
    lines = ["| | n | right | share (95 %) |", "| --- | ---: | ---: | --- |"]
    for name, words in (("found", "{} found"), ("right", "marks as {} that are right")):
        for key, rate in measured[name].items():
            share = f"{rate['right'] / rate['n']:.0%} ({rate['low']:.0%}\u2013{rate['high']:.0%})" if rate["n"] else "–"
            lines.append(f"| {words.format(key)} | {rate['n']} | {rate['right']} | {share} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--each", action="store_true", help="what is missed, and what is marked without need")
    parser.add_argument("--half", choices=("kept", "looked-at"), default="kept")
    options = parser.parse_args()
    measured = measure(options.half)
    if options.json:
        print(json.dumps(measured, ensure_ascii=False))
        return
    print("\n".join([*as_lines(measured), *(measured["wrong"] if options.each else ())]))


if __name__ == "__main__":
    main()
