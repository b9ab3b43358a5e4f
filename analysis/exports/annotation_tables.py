"""The tables of annotation: what was shown, what each rater said, how the votes fell, and who was kept."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from django.db.models import Count, Q, QuerySet

from analysis.exports.answer_tables import FAKE
from analysis.exports.codebook import (
    ExportColumn,
    ExportTable,
    Row,
    boolean,
    integer,
    labels,
    moment,
    named,
    number,
    text,
)
from analysis.exports.people_tables import ORIGIN, ORIGIN_OF_ALL, Selection
from surveys.models import Annotation, AnnotationItem, GateVerdict, Participant, Slot, Study
from surveys.studies.files.kinds import PART, turn_back
from surveys.studies.labels import (
    PERSON,
    Label,
    counted,
    iter_labels,
    questions_of,
    rater_name,
    was_driven,
    was_quick,
    was_read,
)

ITEM_KEY = text("item", "the item's name in the study", path="key")
PILOT = boolean("pilot", "whether it belongs to the pilot")
ABOUT = (
    text("source", "by which the item's maker finds it again"),
    text("cluster", "the user whom it is about"),
    text("corpus", "where the user is from"),
)
ITEM = (
    ITEM_KEY,
    PILOT,
    text("purpose", "what it is for", labels(AnnotationItem.Purpose.choices)),
    text("kind", "the kind of annotation"),
    *ABOUT,
    ExportColumn("tags", "json", "what analyses group by"),
    ExportColumn("payload", "json", "what is shown, without the history; not in SPSS files", spss=False),
    text("history_sha256", "SHA-256 of the history that is shown with it", path="history__sha256"),
    integer("history_characters", "length of that history", "characters", path="history__characters"),
    ExportColumn("gold", "json", "the right labels, of training and gold items"),
    text("explanation", "what is said after a training item"),
    integer("position", "place in the order of import, from 0"),
    integer("wanted", "labels that it is to have", "labels", expression=lambda _: Count("slots")),
    integer(
        "labelled",
        "labels by people that it has and that count",
        "labels",
        expression=lambda _: Count("slots__done_at"),
    ),
    moment("created_at", "when it was imported"),
)
RATER = (
    text("participant", "the person's random label in this study; empty for models"),
    text("rater", "the rater's name: the label, a model's name, or the name in an imported file"),
    boolean("is_model", "whether the rater is a model"),
)
ANNOTATION = (
    ITEM_KEY,
    text("purpose", "what the item is for", labels(AnnotationItem.Purpose.choices)),
    text("question", "what was asked; empty when the item was skipped"),
    text("part", "the part of the item that it was asked about, where there are several"),
    text("value", "the label; with two responses 1 stands for the generic and 5 for the personalised one"),
    text("shown_value", "the label as it was shown, where 1 stands for the left response"),
    text("left", "the response that stood on the left", labels(Slot.Left.choices)),
    boolean("counted", "whether it counts: the newest revision, within the overlap, of somebody who is kept"),
    text("state", "what the rater did", labels(Annotation.State.choices)),
    integer("revision", "which revision of this rater and item, from 1"),
    text("reason", "why it was skipped"),
    text("guidelines_version", "the guidelines that the rater had"),
    text("opened", "numbers of the evidence snippets that were opened"),
    number("active_seconds", "time with the page in use; of models, of the call", "seconds"),
    boolean("seen_to_ends", "whether both answers had been in view to their ends; empty where the page could not tell"),
    boolean("quick", "whether it took less time than reading the item does"),
    boolean("driven", "whether a program was at work in the browser, as far as the browser says"),
    ExportColumn("trace", "json", "how it came to be: what was in view and for how long, keys, presses, scrolling"),
    moment("shown_at", "when the server sent the page"),
    moment("submitted_at", "when it was stored"),
    ExportColumn("detail", "json", "of a model: temperature, prompt version and the like"),
)
LABEL = (
    ITEM_KEY,
    PILOT,
    text("part", "the part of the item, where there are several"),
    text("question", "what was asked"),
    *ABOUT,
    integer("people", "people whose labels count", "people"),
    integer("models", "judges that labelled it; they have no vote, and baselines are none of them", "models"),
    ExportColumn("votes", "json", "votes by label"),
    ExportColumn("soft_label", "json", "share of the votes by label"),
    text("majority", "the label with the most votes; empty for a tie"),
    boolean("tie", "whether two labels have the most votes"),
)
GATE = (
    integer("decision", "number of the decision in the study", path="decision__number"),
    replace(PILOT, path="decision__pilot"),
    text("origin", "where the person came from", labels(Participant.Origin.choices), path="participant__origin"),
    text("participant", "the person's random label in this study", path="participant__pseudonym"),
    boolean("kept", "whether the person goes on as an annotator"),
    text("note", "why the person differs from the rule"),
    ExportColumn("figures", "json", "the figures that it rests on"),
    text("rule", "the rule in words", path="decision__rule"),
    ExportColumn("thresholds", "json", "the rule's figures", path="decision__thresholds"),
    text("reason", "why it was decided so", path="decision__reason"),
    text("decided_by", "who decided", path="decision__decided_by"),
    moment("decided_at", "when it was decided", path="decision__decided_at"),
)


def annotation_tables() -> Iterator[ExportTable]:
    study = named(ORIGIN, "study")
    yield ExportTable("items", "one item that annotators are shown", (*study, *ITEM), item_rows, 100)
    yield ExportTable(
        "annotations",
        "one answer of one rater to one question about one item",
        (*ORIGIN_OF_ALL, *RATER, *ANNOTATION),
        AnnotationRows,
    )
    yield ExportTable("labels", "the votes about one question of one item, or part of one", (*study, *LABEL), LabelRows)
    yield ExportTable(
        "gate", "one person in one decision about who is kept as an annotator", (*study, *GATE), gate_rows, 500
    )


def item_rows(study: Study, selection: Selection) -> QuerySet:
    """Select the study's items by position, the pilot's only if the selection has the pilot."""
    return AnnotationItem.objects.filter(pilot_or_main(selection), study=study).order_by("position")


def gate_rows(study: Study, selection: Selection) -> QuerySet:
    people = selection.people("participant__")
    verdicts = GateVerdict.objects.filter(pilot_or_main(selection, "decision__"), people, decision__study=study)
    return verdicts.order_by("id")


def pilot_or_main(selection: Selection, prefix: str = "") -> Q:
    return Q() if selection.pilot else Q(**{f"{prefix}pilot": False})


def left_out(study: Study, selection: Selection) -> QuerySet[Annotation]:
    """Select scripted judges' labels if the selection has no simulated people; else none."""
    scripted = Annotation.objects.filter(item__study=study, detail__provider=FAKE)
    return scripted.none() if selection.simulated else scripted


class AnnotationRows:
    """One row for each answer of each revision; a skip, which has no answers, is one row with its reason."""

    def __init__(self, study: Study, selection: Selection) -> None:
        rows = Annotation.objects.filter(pilot_or_main(selection, "item__"), item__study=study)
        rows = rows.exclude(pk__in=left_out(study, selection))
        self.rows = rows.filter(Q(participant=None) | selection.people("participant__")).order_by("id")
        self.study, self.pilot = study, selection.pilot

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


SAME = ("left", "state", "revision", "reason", "guidelines_version", "shown_at", "detail")
FIELDS = (
    *("id", "judge", "labels", "opened", "active_ms", "trace", "created_at"),
    *("item__key", "item__pilot", "item__purpose", "version__number", "version__sha256", *PERSON, *SAME),
)


def describe(row: Row) -> Row:
    """Return the fields shared by all answers of one annotation."""
    origin, pid, pseudonym = (row[name] for name in PERSON)
    return {name: row[name] for name in SAME} | {
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
        "opened": " ".join(map(str, row["opened"])),
        "active_seconds": None if row["active_ms"] is None else row["active_ms"] / 1000,
        "seen_to_ends": was_read(row["left"], row["trace"]),
        "quick": was_quick(row["trace"], row["active_ms"]),
        "driven": was_driven(row["trace"]),
        "trace": row["trace"],
        "submitted_at": row["created_at"],
    }


class LabelRows:
    """One row for each question about each item, or part of one: the votes of people that count, ties kept as ties."""

    def __init__(self, study: Study, selection: Selection) -> None:
        self.study, self.simulated = study, selection.simulated
        self.parts = (False, True) if selection.pilot else (False,)
        self.left_out = left_out(study, selection)

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        scripted = set(self.left_out.values_list("pk", flat=True))
        for pilot in self.parts:
            found = iter_labels(self.study, pilot=pilot, simulated=self.simulated)
            labels = (label for label in found if label.annotation not in scripted)
            for _, of_item in groupby(labels, key=lambda label: label.item):
                yield from (row | {"pilot": pilot} for row in votes_of(list(of_item)))

    def count(self) -> int:
        return sum(1 for _ in self.iterator(1))


def votes_of(labels: list[Label]) -> Iterator[Row]:
    """Count the votes about one item, by question and part."""
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
            "models": len({label.rater for label in said if label.is_model and not label.is_baseline}),
            "votes": dict(sorted(people.items())),
            "soft_label": {value: round(votes / people.total(), 4) for value, votes in sorted(people.items())},
            "majority": winners[0] if len(winners) == 1 else None,
            "tie": len(winners) > 1,
        }
