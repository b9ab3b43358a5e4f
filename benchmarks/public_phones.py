"""How many telephone numbers of businesses are left unmarked, and how many of people stay marked.

    python -m benchmarks.public_phones [--json]

`public_phones.json` holds answers that we wrote in chatbots' layouts, with all names and numbers invented; each has one
number and says whose it is. One person wrote the set and then the rule: the rates show that the rule does what was
meant, not how often real answers defeat it.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from analysis.stats.intervals import wilson_interval
from surveys.reading.privacy import find_personal

LABELLED = Path(__file__).with_name("public_phones.json")


class Rates(NamedTuple):
    """How many of n are right (unmarked for a business, marked for a person), with a 95 % interval."""

    right: int
    n: int
    low: float
    high: float


def measure() -> dict[str, Rates]:
    labelled = json.loads(LABELLED.read_text(encoding="utf-8"))
    found = {}
    for whose in ("business", "person"):
        texts = [row["text"] for row in labelled if row["whose"] == whose]
        marked = sum(any(mark.kind == "phone" for mark in find_personal(text)) for text in texts)
        right = marked if whose == "person" else len(texts) - marked
        found[whose] = Rates(right, len(texts), *map(float, wilson_interval(right, len(texts))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    rates = measure()
    if parser.parse_args().json:
        print(json.dumps({whose: rate._asdict() for whose, rate in rates.items()}))
        return
    for whose, rate in rates.items():
        word = "marked" if whose == "person" else "left unmarked"
        share = f"{rate.low:.0%} to {rate.high:.0%}"
        print(f"{rate.right} of {rate.n} numbers of a {whose} {word} (95 % interval {share})")


if __name__ == "__main__":
    main()
