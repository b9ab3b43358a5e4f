"""Rows of annotations from elsewhere: what each may hold, what they must agree on, and the scale of their labels."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surveys.annotation.items import LONGEST_LINE
from surveys.studies.files.kinds import KINDS, PART
from surveys.studies.files.schema import LabelScale
from surveys.studies.files.values import nearest
from surveys.studies.imports.files import CellFault, Faults, FileColumn, TableReader, optional, parsed

NOT_A_LABEL = {"nan", "na", "n/a", "null", "none", "inf", "-inf", "infinity", "-infinity"}
TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
MOST_SECONDS = 2_000_000
# Ratings from 0 to 100 are the longest scale that anybody rates on; more labels are no scale.
MOST_LABELS = 101
QUESTION = "label"
ROW = 2_000  # bytes that a label takes beside its texts until it is stored


@dataclass(frozen=True)
class AnnotationRow:
    """One row, checked by itself."""

    line: int
    item: str
    annotator: str
    label: str
    question: str
    seconds: float | None
    cluster: str
    corpus: str
    is_model: bool


def _text(name: str, longest: int, needed: bool = False) -> FileColumn:
    def read(value: Any) -> str:
        text = str(value).strip()
        if not text and needed:
            raise CellFault(f"{name} is empty")
        if len(text) > longest or not text.isprintable():
            raise CellFault(f"{name} must be at most {longest} printable characters")
        if isinstance(value, list | dict):
            raise CellFault(f"{name} must be a single value")
        if name == "label" and text.casefold() in NOT_A_LABEL:
            raise CellFault(f"the label is {text!r}, which is not a label; leave the row out where there is none")
        return text

    return FileColumn(name, read, needed)


def _parse_seconds(text: str) -> float | None:
    return float(text) if NUMBER.fullmatch(text) and 0 <= float(text) <= MOST_SECONDS else None


NO_SECONDS = "seconds is {!r}, which is not a number of seconds"
NO_TRUTH = "is_model is {!r}; it must be true or false"
COLUMNS = (
    _text("item", 200, needed=True),
    _text("annotator", 64, needed=True),
    _text("label", 100, needed=True),
    _text("question", 100),
    FileColumn("seconds", optional(parsed(_parse_seconds, NO_SECONDS))),
    _text("cluster", 200),
    _text("corpus", 100),
    FileColumn("is_model", optional(parsed(lambda text: TRUTH.get(text.casefold()), NO_TRUTH), empty=False)),
)


def _leave_out(name: str) -> None:
    """Other columns are left out, and the import says so; but one that is nearly one of ours is a slip."""
    if near := nearest(name, tuple(column.name for column in COLUMNS)):
        raise CellFault(f"{name[:60]!r} is not a column here{near}")


class LabelReader:
    """What rows have said so far, so that a later one can be held against them."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.table = TableReader(*COLUMNS, other=_leave_out, faults=self.faults, longest=LONGEST_LINE)
        self.lines: dict[tuple[str, str, str], int] = {}
        self.models: dict[str, tuple[bool, int]] = {}
        self.about: dict[str, tuple[str, str, int]] = {}

    def read(self, path: Path) -> list[AnnotationRow]:
        rows = (AnnotationRow(row.line, **row.values) for row in self.table.read(path, json_too=True))
        return [row for row in map(self.kept, rows) if self.fits_others(row)]

    def kept(self, row: AnnotationRow) -> AnnotationRow:
        self.faults.keep(row.item, row.annotator, row.label, row.question, row.cluster, row.corpus, more=ROW)
        return row

    @property
    def ignored(self) -> list[str]:
        return sorted(self.table.others)

    def fits_others(self, row: AnnotationRow) -> bool:
        before = self.faults.count
        name = (row.item, row.annotator, row.question)
        if (first := self.lines.setdefault(name, row.line)) != row.line:
            what = f" on {row.question}" if row.question else ""
            words = f"{row.annotator} labels {row.item[:60]}{what} twice; first on line {first}"
            self.faults.add(row.line, words)
        is_model, first = self.models.setdefault(row.annotator, (row.is_model, row.line))
        if is_model != row.is_model:
            self.faults.add(row.line, f"{row.annotator} is a model on one line and a person on another (line {first})")
        cluster, corpus, first = self.about.setdefault(row.item, (row.cluster, row.corpus, row.line))
        if (cluster, corpus) != (row.cluster, row.corpus):
            self.faults.add(row.line, f"gives another cluster or corpus for {row.item[:60]} than line {first}")
        return self.faults.count == before

    # --- scales -------------------------------------------------------------

    def find_scales(
        self, rows: list[AnnotationRow], known: Iterable[LabelScale], labels: tuple[str, ...], ordered: bool | None
    ) -> tuple[LabelScale, ...]:
        """The scale of each question: the one that the study has, the one that was declared, or the one seen here.

        `ordered` says whether new scales have an order, where the labels themselves can't.
        """
        scales = {scale.question: scale for scale in known}
        by_question: dict[str, list[AnnotationRow]] = {}
        for row in rows:
            by_question.setdefault(row.question or QUESTION, []).append(row)
        for question, found in by_question.items():
            if PART in question:
                self.faults.add(found[0].line, f"the question {question!r} must not hold a {PART}")
            elif question in scales:
                self.check_scale(found, scales[question])
            elif labels:
                in_order = len(labels) > 2 if ordered is None else ordered
                scales[question] = LabelScale(question, tuple(map(canonical, labels)), in_order)
                self.check_scale(found, scales[question])
            else:
                seen = self.see_scale(question, found)
                scales[question] = seen if ordered is None else replace(seen, ordered=ordered)
        return tuple(scales.values())

    def check_scale(self, rows: list[AnnotationRow], scale: LabelScale) -> None:
        for row in rows:
            if canonical(row.label) not in scale.labels:
                known = ", ".join(scale.labels)
                self.faults.add(row.line, f"the label {row.label!r} is not on the scale of {scale.question}: {known}")

    def see_scale(self, question: str, rows: list[AnnotationRow]) -> LabelScale:
        """Numbers in their order; words that one of our kinds has in its order; other words without an order."""
        numbers = [row for row in rows if NUMBER.fullmatch(row.label)]
        words = [row for row in rows if not NUMBER.fullmatch(row.label)]
        if numbers and words:
            few, many = sorted((numbers, words), key=len)
            kinds = ("a word", "a number") if few is words else ("a number", "a word")
            for row in few:
                what = f"{row.label!r} is {kinds[0]}, but {many[0].label!r} on line {many[0].line} is {kinds[1]}"
                self.faults.add(row.line, f"{what}: two scales in one question")
        self.check_spelling(words)
        labels = list(dict.fromkeys(canonical(row.label) for row in rows))
        if len(labels) > MOST_LABELS:
            what = f"{question} has {len(labels):,} different labels; a scale has at most {MOST_LABELS}"
            self.faults.add(rows[0].line, what)
        return order_scale(question, labels, ordered=not words)

    def check_spelling(self, rows: list[AnnotationRow]) -> None:
        seen: dict[str, AnnotationRow] = {}
        for row in rows:
            first = seen.setdefault(row.label.casefold(), row)
            if first.label != row.label:
                words = f"{row.label!r} and {first.label!r} on line {first.line} differ only in capital letters"
                self.faults.add(row.line, words)


def in_one_spelling(rows: Iterable[AnnotationRow]) -> list[AnnotationRow]:
    return [replace(row, label=canonical(row.label), question=row.question or QUESTION) for row in rows]


def order_scale(question: str, labels: list[str], ordered: bool) -> LabelScale:
    if ordered:
        return LabelScale(question, tuple(sorted(labels, key=float)), len(labels) > 2)
    for known in (q for kind in KINDS.values() for q in kind.questions if q.scale == "ordinal"):
        if {label.casefold() for label in labels} <= set(known.values):
            by_place = sorted(labels, key=lambda label: known.values.index(label.casefold()))
            return LabelScale(question, tuple(by_place), len(labels) > 2)
    return LabelScale(question, tuple(sorted(labels)), False)


def canonical(label: str) -> str:
    """One spelling of a number: `1`, `1.0` and `01` are the same label."""
    if not NUMBER.fullmatch(label):
        return label
    number = float(label)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
