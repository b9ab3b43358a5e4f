"""The tables of a bundle of labels: items, slots, what each rater said, and what models replied."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from django.db.models import Case, F, Q, Value, When

from analysis.agreement.follow_ups.mention_rule import read_mentions
from analysis.exports.codebook import ExportColumn, ExportTable, Row, boolean, integer, moment, text
from analysis.exports.exports import codebook_of, stream_rows
from analysis.exports.people_tables import Selection
from analysis.models import Run, Task
from analysis.report.bundle.bundles import without_own_words
from surveys.annotation.counted import questions_of
from surveys.models import AnnotationItem, Slot, Study
from surveys.studies.files.kinds import PERSONALISED

Made = tuple[ExportTable, Callable[[], Iterator[Row]]]

EXPORTED = ("participants", "flow", "items", "annotations", "labels", "gate", "runs", "completions")
# Of these tables: what the items show and models reply, which a bundle has only with its texts.
TEXTS = {"items": ("payload", "explanation"), "completions": ("text", "error"), "replies": ("fault",)}
# Why somebody skips an item or is uncomfortable, and what researchers noted about a person: in no bundle.
OWN_WORDS = {"annotations": ("reason",), "gate": ("note",)}
# Of a model's label the settings it was made with; the rest of its detail are texts.
SETTINGS = (
    *("endpoint", "provider", "model", "model_served", "prompt", "prompt_sha256", "temperature", "run", "call"),
    *("prompt_tokens", "completion_tokens", "usd", "threshold", "score", "seed", "degenerate", "version"),
)
# Kinds of tasks whose replies are read as labels, by how their instructions begin; those of others are texts.
LABELLING = ("category-", "mentions-")
NAMED = {True: "true", False: "false", None: ""}


def tables_of(study: Study, texts: bool) -> Iterator[Made]:
    """Each table with what writes its rows, without the pilot and previews."""
    exported = codebook_of(study).tables
    for name in EXPORTED:
        table = without_own_words(exported[name], texts)
        if name == "items":
            table = replace(table, columns=(*table.columns, REVISES))
        if name == "annotations":
            table = replace(table, columns=tuple(without_words(study, table.columns, texts)))
        yield only(table, texts), partial(stream_rows, study, table, Selection())
    for table in (SLOTS, REPLIES):
        shown = only(table, texts)
        yield shown, partial(stream_rows, study, table, Selection())
    yield NAMING, partial(name_attributes, study)


def only(table: ExportTable, texts: bool) -> ExportTable:
    hidden = (*OWN_WORDS.get(table.name, ()), *(() if texts else TEXTS.get(table.name, ())))
    return replace(table, columns=tuple(column for column in table.columns if column.name not in hidden))


REVISES = text("revises", "the item of which it is a revision by a model", path="payload__before")


def without_words(study: Study, columns: Iterable[ExportColumn], texts: bool) -> Iterator[ExportColumn]:
    """People's own words are no labels; a model's reasons and replies stay where texts do."""
    labels = {question.name for question in questions_of(study) if question.is_label}

    def label_in(name: str, row: Row) -> Any:
        return row[name] if row["question"] in labels else ""

    for column in columns:
        if column.name in ("value", "shown_value"):
            yield replace(column, made=partial(label_in, column.name))
        elif column.name == "detail" and not texts:
            yield replace(
                column, made=lambda row: {name: row["detail"][name] for name in SETTINGS if name in row["detail"]}
            )
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
