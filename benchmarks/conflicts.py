"""How many contradictions between similar statements of a person the rule finds, and how many of its finds are right.

    python -m benchmarks.conflicts [--data FOLDER] [--wrong] [--json]

`conflict_labels.csv` holds 280 pairs by the hashes of their sentences: of all pairs of different sentences whose
vectors (all-MiniLM-L6-v2) are similar enough to be merged (0.7), 170 of PersonaChat's 721 and 110 of those of iKAT's
users, drawn with seed 20261124. One reader labelled them, then wrote the rule, and did not change it for its misses
here. A pair is a conflict if both statements cannot be true of one person at one time:

- number: they count or date the same thing differently
- opposite: one reverses the other, or they name opposites
- other: it takes knowledge of the world, such as two home towns or two favourite colours; no rule is meant to find it

Garbled sentences ("I have a dogs", with the number cut out) count as no conflict.
"""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

from analysis.people.conflicts import conflict_of
from benchmarks.statements import make_parser, read_statements, share_of

LABELS = Path(__file__).with_name("conflict_labels.csv")
SOURCES = ("personachat", "ikat")
MEANT = ("number", "opposite")  # what the rule should find


class Pair(NamedTuple):
    source: str
    one: str
    other: str
    label: str


def read_pairs(data: Path) -> list[Pair]:
    """Read the labelled pairs. Raises OSError, and KeyError if a labelled sentence is not in the data."""
    texts = read_statements(data)
    with LABELS.open(encoding="utf-8", newline="") as file:
        return [
            Pair(row["source"], texts[row["one_sha256"]], texts[row["other_sha256"]], row["label"])
            for row in csv.DictReader(file)
        ]


def measure(pairs: list[Pair]) -> dict[str, dict[str, Any]]:
    """Compute shares with Wilson's intervals: each label's pairs kept apart, and conflicts among those kept apart."""
    apart = {pair: bool(conflict_of(pair.one, pair.other)) for pair in pairs}
    found: dict[str, dict[str, Any]] = {}
    for name, rows in {
        **{f"{label}, kept apart": [pair for pair in pairs if pair.label == label] for label in (*MEANT, "other")},
        **{f"no conflict, {source}, kept apart": _fine(pairs, source) for source in SOURCES},
        "no conflict, kept apart": [pair for source in SOURCES for pair in _fine(pairs, source)],
    }.items():
        found[name] = share_of(sum(apart[pair] for pair in rows), len(rows))
    kept = [pair for pair in pairs if apart[pair]]
    found["kept apart, a conflict"] = share_of(sum(pair.label != "none" for pair in kept), len(kept))
    return found


def _fine(pairs: list[Pair], source: str) -> list[Pair]:
    return [pair for pair in pairs if pair.label == "none" and pair.source == source]


def as_table(found: dict[str, dict[str, Any]]) -> str:
    lines = ["| pairs | share | 95 % interval | n |", "|---|---|---|---|"]
    for name, row in found.items():
        lines.append(
            "| {} | {:.2f} | {:.2f} to {:.2f} | {} of {} |".format(
                name, row["value"], *row["ci"], row["hits"], row["n"]
            )
        )
    return "\n".join(lines)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--wrong", action="store_true", help="list the pairs that are taken otherwise than labelled")
    options = parser.parse_args()
    pairs = read_pairs(options.data)
    if options.wrong:
        for pair in pairs:
            if (said := conflict_of(pair.one, pair.other)) and pair.label == "none" or not said and pair.label in MEANT:
                print(f"{pair.one} | {pair.other}  labelled: {pair.label}; said: {said or 'none'}")
        return
    found = measure(pairs)
    print(json.dumps(found) if options.json else as_table(found))


if __name__ == "__main__":
    main()
