"""The items on which two raters disagree, or one rater and the majority of the others."""

from collections import Counter
from dataclasses import dataclass

from analysis.agreement.annotations import Gathered, rater_of
from surveys.models import AnnotationItem, Study
from surveys.study_files.kinds import KINDS

LONGEST_SNIPPET = 160
# The parts of an item that say best what it is about, the first that it has.
SAYING = (*dict.fromkeys(kind.headline for kind in KINDS.values()), "text", "question")


@dataclass(frozen=True)
class Split:
    """One thing that both judged: its label by the first and by the second, and what everybody says, counted."""

    item: str
    part: str
    first: str
    second: str
    votes: tuple[tuple[str, int], ...]

    @property
    def differs(self) -> bool:
        return self.first != self.second


def compare_raters(asked: Gathered, a: str, b: str) -> list[Split]:
    """Everything that both labelled, in the items' order. Without `b`: `a` and the majority of the others, if any."""
    said: dict[str, dict[str, str]] = {}
    parts: dict[str, tuple[str, str]] = {}
    models = {rater_of(row) for row in asked.rows if row.is_model}
    for row in asked.rows:
        said.setdefault(row.unit, {})[rater_of(row)] = row.value
        parts[row.unit] = (row.item, row.part)
    found = []
    for unit, labels in said.items():
        second = labels.get(b, "") if b else majority_without(labels, a, models)
        if a in labels and second:
            votes = Counter(labels.values())
            counted = tuple((label, votes[label]) for label in asked.names if votes[label])
            found.append(Split(*parts[unit], labels[a], second, counted))
    return found


def majority_without(labels: dict[str, str], rater: str, models: set[str]) -> str:
    """What most of the other people say; empty for a tie. Where there are only models, of the other models."""
    people = [value for name, value in labels.items() if name != rater and name not in models]
    others = people or [value for name, value in labels.items() if name != rater]
    ranked = Counter(others).most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return ranked[0][0] if ranked and not tied else ""


def cross_table(asked: Gathered, splits: list[Split]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Rows: labels of the second rater; columns: of the first."""
    counts = Counter((split.second, split.first) for split in splits)
    return [(second, [(first, counts[second, first]) for first in asked.names]) for second in asked.names]


def find_items(study: Study, pilot: bool, keys: list[str]) -> dict[str, tuple[int, str]]:
    """Of each key the item's number and what it is about, in few words."""
    rows = AnnotationItem.objects.filter(study=study, pilot=pilot, key__in=keys).values_list("key", "pk", "payload")
    return {key: (pk, snippet(payload)) for key, pk, payload in rows}


def snippet(payload: dict[str, object]) -> str:
    text = next((payload[name] for name in SAYING if isinstance(payload.get(name), str)), "")
    words = " ".join(str(text).split())
    return words if len(words) <= LONGEST_SNIPPET else f"{words[:LONGEST_SNIPPET].rsplit(' ', 1)[0]} …"
