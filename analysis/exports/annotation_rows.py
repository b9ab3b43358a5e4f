"""Rows of annotation for tables: what was shown, what each rater said, how the votes fell, and who was kept."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from analysis.exports.columns import Column
from surveys.annotation.counted import Label, counted, iter_labels, questions_of, rater_name
from surveys.models import Annotation, AnnotationItem, GateVerdict, Study
from surveys.study_files.kinds import PART, turn_back

Row = dict[str, Any]


def item_rows(study: Study, pilot: bool) -> QuerySet:
    """Items with how many labels they want and have; the pilot's when its rows are asked for."""
    items = AnnotationItem.objects.filter(pilot_or_main(pilot), study=study).order_by("position")
    own = ("pilot", "purpose", "kind", "source", "cluster", "corpus", "tags", "payload", "gold", "explanation")
    return items.values(
        *own,
        "position",
        "created_at",
        item=F("key"),
        history_sha256=F("history__sha256"),
        history_characters=F("history__characters"),
        wanted=Count("slots"),
        labelled=Count("slots__done_at"),
    )


def pilot_or_main(pilot: bool, prefix: str = "") -> Q:
    return Q() if pilot else Q(**{f"{prefix}pilot": False})


class AnnotationRows:
    """One row for each answer of each revision; a skip, which has no answers, is one row with its reason."""

    def __init__(self, study: Study, people: Q, pilot: bool) -> None:
        rows = Annotation.objects.filter(pilot_or_main(pilot, "item__"), item__study=study)
        self.rows = rows.filter(Q(participant=None) | people).order_by("id")
        self.study, self.pilot = study, pilot

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        questions = {question.name: question for question in questions_of(self.study)}
        counting = self.counting()
        for row in self.rows.values(*FIELDS).iterator(chunk_size=chunk_size):
            about = describe(row) | {"counted": row["id"] in counting}
            for name, value in (row["labels"] or {"": ""}).items():
                base, _, part = name.partition(PART)
                meant = turn_back(questions[base], value, row["left"]) if base in questions else value
                yield about | {"question": base, "part": part, "value": meant, "shown_value": value}

    def counting(self) -> set[int]:
        parts = (False, True) if self.pilot else (False,)
        return {pk for pilot in parts for pk in counted(self.study, pilot=pilot).values_list("pk", flat=True)}

    def count(self) -> int:
        return sum(len(labels) or 1 for labels in self.rows.values_list("labels", flat=True).iterator())


PERSON = ("participant__origin", "participant__pid", "participant__pseudonym")
FIELDS = (
    *("id", "judge", "labels", "left", "state", "revision", "reason", "guidelines_version", "opened", "active_ms"),
    *("detail", "shown_at", "created_at", "item__key", "item__pilot", "item__purpose", "version__number"),
    *("version__sha256", *PERSON),
)


def describe(row: Row) -> Row:
    """What the answers of one annotation have in common."""
    origin, pid, pseudonym = (row[name] for name in PERSON)
    return {
        "version": row["version__number"],
        "version_sha256": row["version__sha256"],
        "pilot": row["item__pilot"],
        "origin": origin or "model",
        "participant": pseudonym or "",
        "pid": pid or "",
        "rater": row["judge"] or rater_name(origin, pid, pseudonym),
        "is_model": bool(row["judge"]),
        "item": row["item__key"],
        "purpose": row["item__purpose"],
        "left": row["left"],
        "state": row["state"],
        "revision": row["revision"],
        "reason": row["reason"],
        "guidelines_version": row["guidelines_version"],
        "opened": " ".join(map(str, row["opened"])),
        "active_seconds": None if row["active_ms"] is None else row["active_ms"] / 1000,
        "shown_at": row["shown_at"],
        "submitted_at": row["created_at"],
        "detail": row["detail"],
    }


class LabelRows:
    """One row for each question about each item, or part of one: the votes of people that count, ties kept as ties."""

    def __init__(self, study: Study, simulated: bool, pilot: bool) -> None:
        self.study, self.simulated = study, simulated
        self.parts = (False, True) if pilot else (False,)

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        for pilot in self.parts:
            labels = iter_labels(self.study, pilot=pilot, simulated=self.simulated)
            for _, of_item in groupby(labels, key=lambda label: label.item):
                yield from (row | {"pilot": pilot} for row in votes_of(list(of_item)))

    def count(self) -> int:
        return sum(1 for _ in self.iterator(1))


def votes_of(labels: list[Label]) -> Iterator[Row]:
    """The votes about one item, by question and part."""
    units = dict.fromkeys((label.question, label.part) for label in labels)
    for question, part in units:
        said = [label for label in labels if (label.question, label.part) == (question, part)]
        people = Counter(label.value for label in said if not label.is_model)
        first, most = said[0], max(people.values(), default=0)
        winners = sorted(value for value, votes in people.items() if votes == most)
        yield {
            "item": first.item,
            "part": part,
            "question": question,
            "source": first.source,
            "cluster": first.cluster,
            "corpus": first.corpus,
            "people": people.total(),
            "models": sum(label.is_model for label in said),
            "votes": dict(sorted(people.items())),
            "soft_label": {value: round(votes / people.total(), 4) for value, votes in sorted(people.items())},
            "majority": winners[0] if len(winners) == 1 else None,
            "tie": len(winners) > 1,
        }


def gate_rows(study: Study, people: Q, pilot: bool) -> QuerySet:
    verdicts = GateVerdict.objects.filter(pilot_or_main(pilot, "decision__"), people, decision__study=study)
    decision = ("rule", "thresholds", "reason", "decided_by", "decided_at", "pilot")
    return verdicts.order_by("id").values(
        "kept",
        "note",
        "figures",
        _origin=F("participant__origin"),
        _participant=F("participant__pseudonym"),
        _pid=F("participant__pid"),
        decision_number=F("decision__number"),
        **{f"_{name}": F(f"decision__{name}") for name in decision},
    )


def read_gate(values: Row, columns: Sequence[Column]) -> Row:
    row = {name.removeprefix("_"): value for name, value in values.items()}
    row["decision"] = row.pop("decision_number")
    return read_json(row, columns)


def read_json(values: Row, columns: Sequence[Column]) -> Row:
    """Lists and tables as JSON text, which every format can hold."""
    for column in columns:
        if column.kind == "json":
            values[column.name] = json.dumps(values[column.name], ensure_ascii=False)
    return values
