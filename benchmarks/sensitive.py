"""How many sensitive statements the rule marks, and how many of its marks are right, by one reader's labels.

    python -m benchmarks.sensitive [--data FOLDER] [--wrong SET] [--json]

`sensitive_labels.csv` holds the labels by the hash of each sentence: all 972 distinct PersonaChat sentences, and 250 of
the 498 distinct statements of iKAT's users, drawn with seed 20261122. The reader labelled them in this order without
seeing the rule's verdicts. Labels are for what a sentence says about the person or the family:

- health: an illness, injury, disability, symptom, treatment, pregnancy, addiction, allergy, a measure of the body's
  health; not diets, fitness, fears, deaths, jobs
- religion: a belief, or none; its practice; not holidays and choirs
- origin: ethnicity, the country or culture that somebody comes from, immigration; not where somebody lives, regions of
  a country, languages
- politics: a party, a camp, activism, a stand on a public matter, a politician one admires
- sex: orientation, gender identity, sex life; not gender alone

The rule was extended by its misses in one half of PersonaChat (`developed`). The other half and iKAT are held out.
"""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

from analysis.people.sensitive import KINDS, mark_sensitive
from benchmarks.statements import make_parser, read_statements, share_of

LABELS = Path(__file__).with_name("sensitive_labels.csv")
SETS = ("personachat developed", "personachat held out", "ikat held out")


class Labelled(NamedTuple):
    set: str
    text: str
    kinds: frozenset[str]


def read_labelled(data: Path) -> list[Labelled]:
    """Read the labelled sentences. Raises OSError, and KeyError if a labelled sentence is not in the data."""
    texts = read_statements(data)
    with LABELS.open(encoding="utf-8", newline="") as file:
        return [
            Labelled(_set_of(row), texts[row["text_sha256"]], frozenset(row["kinds"].split()))
            for row in csv.DictReader(file)
        ]


def _set_of(row: dict[str, str]) -> str:
    developed = row["source"] == "personachat" and int(row["text_sha256"], 16) % 2
    return f"{row['source']} {'developed' if developed else 'held out'}"


def rates_of(rows: list[Labelled], kind: str = "") -> dict[str, Any]:
    """Compute precision and recall of one kind or of all; a sentence counts once, whichever of its kinds is marked."""
    marked = [bool(_asked(mark_sensitive(row.text), kind)) for row in rows]
    true = [bool(_asked(row.kinds, kind)) for row in rows]
    right = sum(m and t for m, t in zip(marked, true, strict=True))
    return {
        **{"sentences": len(rows), "labelled": sum(true), "marked": sum(marked), "right": right},
        **{"precision": share_of(right, sum(marked)), "recall": share_of(right, sum(true))},
    }


def _asked(kinds: Any, kind: str) -> set[str]:
    return {name for name in kinds if kind in ("", name)}


def measure(rows: list[Labelled]) -> dict[str, dict[str, Any]]:
    found = {name: rates_of([row for row in rows if row.set == name]) for name in SETS}
    held_out = [row for row in rows if row.set.endswith("held out")]
    found["held out"] = rates_of(held_out)
    return found | {f"held out, {kind}": rates_of(held_out, kind) for kind in KINDS}


def as_table(found: dict[str, dict[str, Any]]) -> str:
    lines = ["| sentences | n | precision | recall |", "|---|---|---|---|"]
    for name, row in found.items():
        lines.append(f"| {name} | {row['sentences']} | {_words(row['precision'])} | {_words(row['recall'])} |")
    return "\n".join(lines)


def _words(share: dict[str, Any]) -> str:
    if not share["n"]:
        return "– (n = 0)"
    return "{:.2f} ({:.2f} to {:.2f}, n = {})".format(share["value"], *share["ci"], share["n"])


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--wrong", choices=SETS, help="list what of this set is marked otherwise than labelled")
    options = parser.parse_args()
    rows = read_labelled(options.data)
    if options.wrong:
        for row in rows:
            if row.set == options.wrong and (marked := set(mark_sensitive(row.text))) != row.kinds:
                print(f"{row.text}  labelled: {' '.join(row.kinds) or '–'}; marked: {' '.join(marked) or '–'}")
        return
    found = measure(rows)
    print(json.dumps(found) if options.json else as_table(found))


if __name__ == "__main__":
    main()
