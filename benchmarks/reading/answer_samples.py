"""A sample of real answers, labelled with what a careful person reads in each, to measure the reader against."""

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reading.paste_samples import is_held_out

LABELS = Path(__file__).parent / "answer_labels.csv"
BETWEEN_ITEMS = " || "
UNKNOWN = "unknown"
# The field that holds a record's text, by file.
TEXT_FIELDS = {
    "repeated_answers_recommendations": "answer",
    "profile_vs_generic": "answer",
    "helm_mmlu_college_chemistry": "completion",
}


@dataclass(frozen=True)
class LabelledAnswer:
    """A real answer and its label: `wanted` is its items, its one letter, or empty."""

    record: str
    kind: str
    form: str
    drawn: str  # "sample", or "no list": the other half's remaining texts without a list
    doubtful: bool  # another reading would be defensible
    text: str
    wanted: tuple[str, ...]

    @property
    def source(self) -> str:
        return self.record.partition(":")[0]

    @property
    def held_out(self) -> bool:
        """Whether it is in the held-out half, by hash of its text; a letter's by its record, since few texts differ."""
        return is_held_out(self.text if self.kind == "recommendation" else self.record)


def read_labelled_answers(data: Path) -> list[LabelledAnswer]:
    """Read the sample with its texts, which stay in `data`. Raises ValueError if one is not the labelled text."""
    texts = {name: _texts(data / f"{name}.jsonl", field) for name, field in TEXT_FIELDS.items()}
    with LABELS.open(encoding="utf-8", newline="") as rows:
        return list(_labelled(csv.DictReader(rows), texts))


def _texts(path: Path, field: str) -> list[str]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)[field] for line in lines]


def _labelled(rows: Iterable[dict[str, str]], texts: Mapping[str, Sequence[str]]) -> Iterator[LabelledAnswer]:
    for row in rows:
        name, _, at = row["record"].partition(":")
        text = texts[name][int(at)] if int(at) < len(texts[name]) else ""
        if hashlib.sha256(text.encode()).hexdigest()[:16] != row["text_sha256"]:
            raise ValueError(f"{row['record']} is not the text that was labelled; get the data's original version")
        yield LabelledAnswer(
            row["record"],
            row["kind"],
            row["form"],
            row["drawn"],
            doubtful=row["doubt"] == "yes",
            text=text,
            wanted=tuple(item for item in row["answer"].split(BETWEEN_ITEMS) if item and item != UNKNOWN),
        )
