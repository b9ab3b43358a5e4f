"""Annotations collected elsewhere: checked as a whole, then stored beside our own, or in a study made for them."""

import re
import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from surveys.annotation.items import LONGEST_LINE, next_position
from surveys.models import Annotation, AnnotationItem, Participant, Study
from surveys.models.hashes import fingerprint
from surveys.studies import audit
from surveys.studies.files.definitions import Definition
from surveys.studies.files.kinds import GENERIC, IMPORTED, KINDS, PART, fields_of
from surveys.studies.files.schema import AnnotationWork, ChatbotQuestion, Consent, LabelScale, Reward
from surveys.studies.files.values import nearest
from surveys.studies.imports.files import (
    CellFault,
    Faults,
    FileColumn,
    TableReader,
    imported_participant,
    optional,
    parsed,
    people_there,
    refuse,
    storing,
)
from surveys.studies.labels import questions_for
from surveys.studies.lifecycle import annotation_of, definition_of, load_definition

# --- rows of the file: each by itself, against the others, and their scale -----------

NOT_A_LABEL = {"nan", "na", "n/a", "null", "none", "inf", "-inf", "infinity", "-infinity"}
TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
MOST_SECONDS = 2_000_000
# Ratings from 0 to 100 are the longest scale in use; more labels are no scale.
MOST_LABELS = 101
QUESTION = "label"
ROW = 2_000  # bytes that a label takes beside its texts until it is stored


@dataclass(frozen=True)
class AnnotationRow:
    """One row of a file, checked by itself."""

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
    """Ignore another column, which the import reports. Raises CellFault if its name is nearly one of ours: a typo."""
    if near := nearest(name, tuple(column.name for column in COLUMNS)):
        raise CellFault(f"{name[:60]!r} is not a column here{near}")


class LabelReader:
    """A reader that checks each row against the rows before it."""

    def __init__(self, question: str = QUESTION) -> None:
        self.faults = Faults()
        self.question = question  # of rows that name none
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
        name = (row.item, row.annotator, row.question or self.question)
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
        """The scale of each question: the study's, else the one declared, else the one seen here.

        `ordered` says whether new scales are ordered; None leaves it to the labels.
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
        """The scale in the rows: numbers in order; words of one of our kinds in its order; other words unordered."""
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


# --- from the rows into a study -----------------------------------------------------

BATCH = 1_000
ANALYZE = "ANALYZE surveys_participant, surveys_annotationitem, surveys_annotation"
# The same labels get the same key in every import.
KEYS = uuid.UUID("0c8b7a52-5e0b-5b8e-9a0e-3e0f8c7a1d62")


@dataclass
class ImportedLabels:
    """Counts of an import; `ignored` are columns that no label needs."""

    labels: int = 0
    skipped: int = 0
    items: int = 0
    annotators: int = 0
    models: int = 0
    ignored: list[str] = field(default_factory=list)


@dataclass
class RaterLabels:
    """One rater's labels of one item in the file."""

    line: int
    labels: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None


def import_annotations(
    slug: str, path: Path, actor: str, labels: tuple[str, ...] = (), ordered: bool | None = None
) -> tuple[Study, ImportedLabels]:
    """Store a file's labels, all or none; without a study of this name, make one that is closed from the start.

    `labels` is the scale of new questions; by default the file's labels, numbers in their order. `ordered` says whether
    there is an order. Raises ImportFault, OSError.
    """
    study = Study.objects.filter(slug=slug).first()
    if study is None and not re.fullmatch(r"[a-z0-9-]{2,50}", slug):
        refuse(f"{slug[:60]!r} is not a valid name for a study: use 2 to 50 lower-case letters, digits and hyphens")
    work = annotation_of(study) if study else None
    reader = LabelReader(KINDS[work.kind].main.name if work and work.kind in KINDS else QUESTION)
    rows, faults = reader.read(path), reader.faults
    if study and work is None:
        refuse(f"{slug} is not a study of annotators; give the annotations a study of their own")
    if work and work.kind in KINDS:
        if labels or ordered is not None:
            refuse(f"{slug} is of the kind {work.kind}, which has its own labels")
        rows = _fit_native(study, work, rows, faults)
        scales: tuple[LabelScale, ...] = ()
    else:
        scales = reader.find_scales(rows, work.scales if work else (), labels, ordered)
        rows = [replace(row, label=canonical(row.label), question=row.question or QUESTION) for row in rows]
    faults.raise_any()
    if not rows:
        refuse("the file has no annotations")
    with transaction.atomic():
        study = _keep_study(study, slug, scales, actor, path.name)
        with storing(study, ANALYZE):
            store = LabelStore(study, faults, native=work is not None and work.kind in KINDS)
            store.store(rows)
            faults.raise_any()
            done = replace(store.done, ignored=reader.ignored)
            counts = {"labels": done.labels, "annotators": done.annotators, "models": done.models}
            audit.record(study, actor, "annotations imported", path.name, **counts)
    return study, done


# --- a study of our own kinds -----------------------------------------------


def _fit_native(study: Study, work: AnnotationWork, rows: list[AnnotationRow], faults: Faults) -> list[AnnotationRow]:
    """Rows whose item, field and label the study knows; a row without a question answers the kind's main one."""
    items = AnnotationItem.objects.filter(study=study, pilot=False).defer("history")
    payloads = {item.key: item.payload for item in items}
    main, questions = KINDS[work.kind].main.name, questions_for(work)
    fitting = []
    for row in rows:
        row = row if row.question else replace(row, question=main)
        fields = fields_of(questions, payloads[row.item]) if row.item in payloads else {}
        question = fields.get(row.question)
        if not fields:
            faults.add(row.line, f"the study has no item {row.item[:60]!r}")
        elif question is None or not question.is_label:
            faults.add(row.line, f"{row.item[:60]} is not asked {row.question!r}; it is asked {', '.join(fields)}")
        elif row.label not in question.values:
            known = ", ".join(question.values)
            faults.add(row.line, f"the label {row.label[:40]!r} is not on the scale of {row.question}: {known}")
        else:
            fitting.append(row)
    return fitting


# --- a study that is made for a file ----------------------------------------


def _keep_study(study: Study | None, slug: str, scales: tuple[LabelScale, ...], actor: str, file: str) -> Study:
    """The study, made or with the file's questions added; a study of our own kinds stays as it is."""
    if study is not None and not scales:
        return study
    definition = _imported_definition(slug, scales)
    if study is not None:
        known = definition_of(study.current_id)
        if known.annotation == definition.annotation:
            return study
        return load_definition(replace(known, annotation=definition.annotation), actor, f"Questions of {file}.")[0]
    study, _ = load_definition(definition, actor)
    study.state, study.launched_at = Study.State.CLOSED, timezone.now()
    study.closed_at = study.launched_at
    study.save(update_fields=["state", "launched_at", "closed_at"])
    return study


def _imported_definition(slug: str, scales: tuple[LabelScale, ...]) -> Definition:
    """A study that nobody can take part in: it only holds labels collected elsewhere."""
    work = AnnotationWork(
        kind=IMPORTED,
        overlap=1,
        quota=1,
        least=1,
        block="shuffled",
        hold_minutes=10,
        pass_mark=0,
        gold_every=1,
        invited_from="",
        guidelines_version="",
        guidelines="",
        scales=scales,
    )
    return Definition(
        slug=slug,
        title=slug.replace("-", " ").capitalize(),
        language="en",
        minutes=1,
        contact="Collected elsewhere.",
        prolific_study_ids=(),
        pay=Reward("USD", Decimal("0.00")),
        consent=Consent("elsewhere", "Collected elsewhere."),
        lease_minutes=45,
        chatbot_question=ChatbotQuestion("", "", ""),
        codes={},
        order_scheme="fixed",
        paste_checks=(),
        debrief="Collected elsewhere.",
        chatbots=(),
        questions=(),
        cells=(),
        comprehension=(),
        attention=(),
        prompts=(),
        exclusions=(),
        annotation=work,
    )


# --- storing ----------------------------------------------------------------


class LabelStore:
    """One import under way: stores rows beside the study's items, raters and labels, and counts what it adds."""

    def __init__(self, study: Study, faults: Faults, native: bool) -> None:
        self.study, self.faults, self.native = study, faults, native
        work = definition_of(study.current_id).annotation
        self.left = GENERIC if native and work and KINDS[work.kind].sided else ""
        self.done = ImportedLabels()

    def store(self, rows: list[AnnotationRow]) -> None:
        items = self.keep_items(rows)
        people = self.keep_people(rows)
        models = {row.annotator for row in rows if row.is_model}
        there = self.read_there(items, models)
        new = []
        for (item, rater), said in _gather(rows).items():
            before = there.get((items[item], rater))
            if fresh := self.fresh_labels(item, rater, said, before.labels if before else {}):
                self.done.labels += len(fresh)
                new.append(self.row(items[item], rater, people.get(rater), said, fresh, before))
        self.done.models = len(models - {rater for _, rater in there})
        Annotation.objects.bulk_create(new, batch_size=BATCH)

    def keep_items(self, rows: list[AnnotationRow]) -> dict[str, int]:
        """Ids of items by key; items that the study lacks are made."""
        items = AnnotationItem.objects.filter(study=self.study, pilot=False)
        there = {key: about for key, *about in items.values_list("key", "pk", "cluster", "corpus")}
        about = {row.item: row for row in reversed(rows)}
        for key, row in about.items():
            known = there.get(key)
            if known and (row.cluster not in ("", known[1]) or row.corpus not in ("", known[2])):
                self.faults.add(row.line, f"{key[:60]} is already in the study with another cluster or corpus")
        missing = [row for key, row in reversed(about.items()) if key not in there]
        new = [self.item(row, number) for number, row in enumerate(missing, next_position(self.study))]
        AnnotationItem.objects.bulk_create(new, batch_size=BATCH)
        self.done.items = len(new)
        return {key: pk for key, (pk, _, _) in there.items()} | {item.key: item.pk for item in new}

    def item(self, row: AnnotationRow, position: int) -> AnnotationItem:
        about = {"key": row.item, "cluster": row.cluster, "corpus": row.corpus}
        return AnnotationItem(
            study=self.study, kind=IMPORTED, payload={}, position=position, sha256=fingerprint(about), **about
        )

    def keep_people(self, rows: list[AnnotationRow]) -> dict[str, Participant]:
        names = {row.annotator: row.line for row in reversed(rows) if not row.is_model}
        there = people_there(self.study, names, self.faults)
        now = timezone.now()
        new = [imported_participant(self.study, name, now) for name in reversed(names) if name not in there]
        Participant.objects.bulk_create(new, batch_size=BATCH)
        self.done.annotators = len(new)
        return there | {person.pid: person for person in new}

    def read_there(self, items: dict[str, int], models: Iterable[str]) -> dict[tuple[int, str], Annotation]:
        """The newest revision of each imported rater's labels, by item id and rater."""
        rows = Annotation.objects.filter(item__study=self.study, item__pilot=False).order_by("revision")
        people = rows.filter(participant__origin=Participant.Origin.IMPORTED).select_related("participant")
        found = {(row.item_id, row.participant.pid): row for row in people}
        return found | {(row.item_id, row.judge): row for row in rows.filter(judge__in=models, left=self.left)}

    def fresh_labels(self, item: str, rater: str, said: RaterLabels, there: dict[str, str]) -> dict[str, str]:
        fresh = {}
        for name, label in said.labels.items():
            if name not in there:
                fresh[name] = label
            elif there[name] == label:
                self.done.skipped += 1
            else:
                words = f"{rater} already has another label for {item[:60]} in the study ({there[name]}, not {label})"
                self.faults.add(said.line, words)
        return fresh

    def row(
        self,
        item: int,
        rater: str,
        person: Participant | None,
        said: RaterLabels,
        fresh: dict[str, str],
        before: Annotation | None,
    ) -> Annotation:
        labels = (before.labels if before else {}) | fresh
        return Annotation(
            item_id=item,
            participant=person,
            judge="" if person else rater,
            version_id=self.study.current_id,
            revision=before.revision + 1 if before else 1,
            key=uuid.uuid5(KEYS, f"{item}\0{rater}\0{fingerprint(labels)}"),
            labels=labels,
            left=self.left,
            active_ms=None if said.seconds is None else round(said.seconds * 1000),
        )


def _gather(rows: Iterable[AnnotationRow]) -> dict[tuple[str, str], RaterLabels]:
    found: defaultdict[tuple[str, str], RaterLabels] = defaultdict(lambda: RaterLabels(0))
    for row in rows:
        said = found[row.item, row.annotator]
        said.line = said.line or row.line
        said.labels[row.question] = row.label
        if row.seconds is not None:
            said.seconds = (said.seconds or 0) + row.seconds
    return found
