"""The replication bundle of an annotators' study: labels, replies, the report, and a script that recomputes it."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from django.db.models import Case, F, Q, Value, When

from analysis.agreement.agreements import fingerprint, rows_for
from analysis.agreement.annotations import Measuring
from analysis.agreement.documents import document_of
from analysis.agreement.figures import AGREEMENT_FIGURES, RATING_FIGURES, draw_figure
from analysis.agreement.follow_ups.mention_rule import read_mentions
from analysis.charts.figure import Figure, Options
from analysis.exports.codebook import (
    ExportColumn,
    ExportTable,
    Row,
    boolean,
    integer,
    moment,
    text,
)
from analysis.exports.everything import File
from analysis.exports.exports import codebook_of, note_export, stream_rows
from analysis.exports.formats import FORMATS, Chunks
from analysis.exports.people_tables import Selection
from analysis.models import Run, Task
from analysis.report.bundle import bundles
from analysis.report.bundle.bundles import (
    StudyBundle,
    as_json,
    codebook_files,
    figure_files,
    script_files,
    study_files,
    whole,
    without_own_words,
    write_csv,
)
from analysis.report.reports import Progress, ReportError, check_definition
from surveys.models import AnnotationItem, Slot, Study
from surveys.studies.files.kinds import PERSONALISED
from surveys.studies.labels import questions_of

WHOSE = ("group", "a", "b", "generator", "rater", "judge", "model", "relevant_by", "corpus", "user", "tag", "statement")
BY_LABEL = ("shares", "gaps", "left")  # parts with an estimate for each label, or each rater


class Number(NamedTuple):
    """A row of numbers.csv. `part`: its place in the published JSON; `other`: the second of a pair."""

    question: str
    part: str
    who: str
    other: str
    measure: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    units: int
    unit: str
    why: str


class NumberPlace(NamedTuple):
    part: tuple[str, ...] = ()
    who: str = ""
    other: str = ""
    measure: tuple[str, ...] = ()
    unit: str = ""


def list_numbers(question: Mapping[str, Any]) -> Iterator[Number]:
    """List the numbers of one question."""
    for place, found in find_estimates(question, NumberPlace(unit=question.get("unit", ""))):
        *names, last = place.measure
        measure, label = (names, last) if names and names[-1] in BY_LABEL else ([*names, last], "")
        low, high = found["ci"] or (None, None)
        about = question["question"], ".".join(place.part), place.who, place.other, ".".join(measure), label
        sizes = found["n"], found["units"], place.unit, found.get("why", "")
        yield Number(*about, found["value"], low, high, *sizes)


def find_estimates(node: Mapping[str, Any], place: NumberPlace) -> Iterator[tuple[NumberPlace, Mapping[str, Any]]]:
    """Find estimates. Rows of lists name a rater or group; keys above it are parts, keys below it measures."""
    if "value" in node and "ci" in node:
        yield place, node
        return
    names = [str(node[name]) for name in WHOSE if isinstance(node.get(name), str)]
    if place.part and names:
        place = place._replace(who=names[0], other=names[1] if len(names) > 1 else "")
    place = place._replace(unit=node.get("unit", place.unit))
    for name, each in node.items():
        for entry in each if isinstance(each, list) else [each]:
            if isinstance(entry, Mapping):
                is_measure = not isinstance(each, list) and (place.who or "value" in entry or name in BY_LABEL)
                measured = place._replace(measure=(*place.measure, name))
                inner = measured if is_measure else place._replace(part=(*place.part, name))
                yield from find_estimates(entry, inner)


HERE = Path(__file__).resolve().parent / "bundle"
SHARED, SCRIPTS = "bundle_checks.py", ("recompute.py", "bundle_labels.py")
DEFINITIONS = tomllib.loads((HERE / "definitions.toml").read_text(encoding="utf-8"))
SIMULATED = (
    "**Made up in part:** {raters} of the raters are simulated ({names}). Their labels say nothing about any person or "
    "model."
)
NOT_MADE_UP = "None of this is made up."
WITH_TEXTS = "`items.csv` holds what annotators were shown and `completions.csv` what models replied, to the letter."
WITHOUT_TEXTS = (
    "What annotators were shown and what models replied are not here, only labels. Items can hold what people told a "
    "chatbot; those who may export them can make a bundle with them (`bundle --texts`)."
)


class LabelBundle(StudyBundle):
    """A bundle of labels; its report is the output of `agreement STUDY --json` on all labels that count."""

    def stamp(self) -> str:
        return fingerprint(Measuring(self.study))

    def compute(self, progress: Progress | None) -> Row:
        return rows_for(self.study)

    def files_of(self, found: Row) -> Iterator[File]:
        yield "README.md", whole(readme(self.study, found, self.texts))
        yield from study_files(self.study)
        made = list(tables_of(self.study, self.texts))
        codebook = replace(codebook_of(self.study), tables={table.name: table for table, _ in made})
        yield from codebook_files(codebook)
        for table, make_rows in made:
            yield f"data/{table.name}.csv", write_csv(table, make_rows())
        yield "definitions.json", as_json(DEFINITIONS)
        yield "report.json", as_json(document_of(found))
        yield "numbers.csv", write_numbers(found)
        yield from figure_files(draw_figures(found))
        yield from script_files(HERE / "script", *SCRIPTS)
        yield from script_files(bundles.HERE / "script", SHARED)


def readme(study: Study, found: Mapping[str, Any], texts: bool) -> str:
    made_up, questions = found["simulated"], found["questions"]
    simulated = SIMULATED.format(raters=len(made_up), names=", ".join(made_up)) if made_up else NOT_MADE_UP
    template = (HERE / "readme.md").read_text(encoding="utf-8")
    return template.format(
        title=study.title,
        study=study.slug,
        version=study.current.number,
        sha256=study.current.sha256,
        labels=sum(question["labels"] for question in questions),
        items=max(question["items"] for question in questions),
        raters=len({rater["rater"] for question in questions for rater in question.get("raters", ())}),
        simulated=simulated,
        planned=bundles.planned_lines(found),
        texts=WITH_TEXTS if texts else WITHOUT_TEXTS,
        made=bundles.today(),
    )


def write_numbers(found: Mapping[str, Any]) -> Chunks:
    rows = (number._asdict() for question in found["questions"] for number in list_numbers(question))
    return FORMATS["csv"].chunks([ExportColumn(name, "text", name) for name in Number._fields], rows)


def draw_figures(found: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    """Draw the figures of each question with labels, named after the question."""
    for question in found["questions"]:
        if question["labels"]:
            for name in (*AGREEMENT_FIGURES, *(RATING_FIGURES if "ratings" in question else ())):
                yield f"{question['question']}-{name}", draw_figure(name, question, Options(), found["simulated"])


def begin_label_bundle(study: Study, actor: str, texts: bool = False, compare: Sequence[str] = ()) -> LabelBundle:
    """Audit an export and return its bundle. Raises ReportError beforehand, without labels or with `compare`."""
    check_definition(study)
    if compare:
        raise ReportError(f"{study.slug} is a study of annotators: its bundle has no pair of sides to compare.")
    if not any(question["labels"] for question in rows_for(study)["questions"]):
        raise ReportError(f"{study.slug} has no label that counts yet, so there is nothing to bundle.")
    note_export(study, actor, "bundle.zip", texts=texts, simulated=True)
    return LabelBundle(Study.objects.select_related("current").get(pk=study.pk), texts)


Made = tuple[ExportTable, Callable[[], Iterator[Row]]]

EXPORTED = ("participants", "flow", "items", "annotations", "labels", "gate", "runs", "completions")
# Texts of items and of models' replies, by table: only in a bundle with texts.
TEXTS = {"items": ("payload", "explanation"), "completions": ("text", "error"), "replies": ("fault",)}
# Annotators' reasons, and researchers' notes with their authors: in no bundle.
OWN_WORDS = {"annotations": ("reason",), "gate": ("note", "decided_by")}
# Settings of a model's label; the rest of its detail is texts.
SETTINGS = (
    *("endpoint", "provider", "model", "model_served", "prompt", "prompt_sha256", "temperature", "run", "call"),
    *("prompt_tokens", "completion_tokens", "usd", "threshold", "score", "seed", "degenerate", "version"),
)
# Prefixes of instructions whose replies are read as labels; all other replies are texts.
LABELLING = ("category-", "mentions-")
NAMED = {True: "true", False: "false", None: ""}


def tables_of(study: Study, texts: bool) -> Iterator[Made]:
    """Yield each table with a function that makes its rows, without pilot and previews."""
    exported = codebook_of(study).tables
    for name in EXPORTED:
        table = without_own_words(exported[name], texts)
        if name == "items":
            table = replace(table, columns=(*table.columns, REVISES))
        if name == "annotations":
            table = replace(table, columns=tuple(without_words(study, table.columns, texts)))
        yield only(table, texts), partial(stream_rows, study, table, Selection())
    for table in (SLOTS, REPLIES):
        yield only(table, texts), partial(stream_rows, study, table, Selection())
    yield NAMING, partial(name_attributes, study)


def only(table: ExportTable, texts: bool) -> ExportTable:
    hidden = (*OWN_WORDS.get(table.name, ()), *(() if texts else TEXTS.get(table.name, ())))
    return replace(table, columns=tuple(column for column in table.columns if column.name not in hidden))


REVISES = text("revises", "the item of which it is a revision by a model", path="payload__before")


def without_words(study: Study, columns: Iterable[ExportColumn], texts: bool) -> Iterator[ExportColumn]:
    """Blank people's own words, which are not labels; keep models' reasons and replies only with `texts`."""
    labels = {question.name for question in questions_of(study) if question.is_label}

    def label_in(name: str, row: Row) -> Any:
        return row[name] if row["question"] in labels else ""

    for column in columns:
        if column.name in ("value", "shown_value"):
            yield replace(column, made=partial(label_in, column.name))
        elif column.name == "detail" and not texts:
            yield replace(column, made=settings_in)
        else:
            yield column


def settings_in(row: Row) -> Row:
    return {name: row["detail"][name] for name in SETTINGS if name in row["detail"]}


# --- slots -------------------------------------------------------------------


def slot_rows(study: Study, selection: Selection) -> Any:
    return Slot.objects.filter(item__study=study, item__pilot=False).order_by("item__position", "number")


STATE = Case(
    When(done_at__isnull=False, then=Value("done")),
    When(participant__isnull=False, then=Value("held")),
    default=Value("free"),
)
SLOTS = ExportTable(
    "slots",
    "one of the labels that an item wants",
    (
        text("item", "the item's name in the study", path="item__key"),
        integer("number", "the slot's number, from 0"),
        integer("wanted", "labels that the item is to have", "labels"),
        text("side", "which response is to stand on the left; either: the one that its annotator has had less often"),
        text("left", "the response that stood there for its annotator"),
        text("state", "free, held by an annotator, or done", expression=lambda _: STATE),
        text("participant", "the random label of the person who has it", path="participant__pseudonym"),
        moment("done_at", "when its label was first stored"),
    ),
    slot_rows,
)


# --- what models replied -----------------------------------------------------


def reply_rows(study: Study, selection: Selection) -> Any:
    about = Task.objects.filter(annotation_item__study=study, annotation_item__pilot=False, read_at__isnull=False)
    return about.order_by("id")


def values_in(row: Row) -> Any:
    is_label = row["condition"] == Run.Condition.JUDGE or row["instruction"].startswith(LABELLING)
    return row["values"] if is_label else None


ABOUT_REPLY = ("values", "run__condition", "run__instruction")
REPLIES = ExportTable(
    "replies",
    "what one reply of a model about an item was read as",
    (
        text("item", "the item's name in the study", path="annotation_item__key"),
        integer("run", "the run that asked it", path="run_id"),
        text("instruction", "how it was asked, with its version", path="run__instruction"),
        text("model", "the model that was asked", path="run__endpoint__model"),
        text("left", "the response that stood on the left", expression=lambda _: F("payload__left")),
        boolean("readable", "whether a label was found in it", expression=lambda _: Q(values__isnull=False)),
        ExportColumn(
            "values",
            "json",
            "what was read: labels as they were shown, a category, or which attributes a response names",
            made=values_in,
            needs=ABOUT_REPLY,
        ),
        text("fault", "why nothing was read"),
        moment("read_at", "when it was read"),
    ),
    reply_rows,
    person="",
)


# --- which responses name an attribute ---------------------------------------

NAMING = ExportTable(
    "naming",
    "one attribute of an item with two responses: whether the personalised one names it",
    (
        text("item", "the item's name in the study"),
        text("part", "the attribute"),
        text("named", "true or false; empty where nothing can be told"),
        text("by", "item: it says so itself; rule: a rule about words decided"),
    ),
)


def name_attributes(study: Study) -> Iterator[Row]:
    items = AnnotationItem.objects.filter(study=study, pilot=False, payload__has_key=PERSONALISED)
    for key, payload in items.order_by("position").values_list("key", "payload").iterator(chunk_size=200):
        for part, (named, is_given) in read_mentions(payload).items():
            yield {"item": key, "part": part, "named": NAMED[named], "by": "item" if is_given else "rule"}
