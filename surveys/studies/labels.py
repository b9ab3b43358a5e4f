"""Annotators' questions; labels that count, as rows for agreement and export; models as raters, with their labels."""

import uuid
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from surveys.models import (
    PROLIFIC_ID,
    Annotation,
    AnnotationItem,
    GateVerdict,
    Participant,
    Slot,
    Study,
    StudyVersion,
)
from surveys.studies.files.kinds import (
    IMPORTED,
    KINDS,
    PART,
    PUBLISHED_WORDS,
    WORDINGS,
    LabelFault,
    LabelOption,
    LabelQuestion,
    read_labels,
    reword,
    turn_back,
)
from surveys.studies.files.schema import AnnotationWork, LabelScale
from surveys.studies.lifecycle import annotation_of, definition_of

Purpose, State, Origin = AnnotationItem.Purpose, Annotation.State, Participant.Origin
CHUNK = 2_000
# Names of model raters that are not judges begin so: retrieval, and models trained on people's labels.
BASELINES = ("bm25", "embeddings")
TRAINED = "trained"
# The gate's verdicts about a person, the newest first.
VERDICTS = GateVerdict.objects.filter(participant=OuterRef("pk")).order_by("-decision__number")
NEWEST_VERDICT = Subquery(VERDICTS.values("kept")[:1])


class Label(NamedTuple):
    """One rater's answer about one thing. `unit` is what raters agree on or not: the item or one part of it.

    `value` counts 1 = generic … 5 = personalised if sides were balanced; `shown_value` is as on the page.
    """

    item: str
    unit: str
    part: str
    source: str
    cluster: str
    corpus: str
    tags: dict[str, Any]
    question: str
    value: str
    shown_value: str
    left: str
    rater: str
    is_model: bool
    is_baseline: bool
    is_trained: bool
    origin: str
    active_ms: int | None
    annotation: int
    was_read: bool | None  # whether both answers were in view to their ends
    was_quick: bool | None
    was_driven: bool | None
    revises: str = ""  # key of the item that it is a revision of


def newest(rows: QuerySet[Annotation]) -> QuerySet[Annotation]:
    """Keep the newest revision of each rater and item; for models, of each order that they were shown."""
    later = Annotation.objects.filter(
        item=OuterRef("item"), judge=OuterRef("judge"), revision__gt=OuterRef("revision")
    ).filter(Q(participant=OuterRef("participant")) | Q(participant=None, left=OuterRef("left")))
    return rows.filter(~Exists(later))


def counted(study: Study, *, pilot: bool = False) -> QuerySet[Annotation]:
    """Annotations that count: newest, given, of the work; people's need a done slot, models' and imported ones do not.

    Surplus labels and those of excluded people and previews have no done slot; excluded imported people are left out.
    """
    done = Slot.objects.filter(item=OuterRef("item"), participant=OuterRef("participant"), done_at__isnull=False)
    imported = Q(participant__origin=Origin.IMPORTED) & ~Exists(exclusions())
    rows = Annotation.objects.filter(
        item__study=study, item__pilot=pilot, item__purpose=Purpose.WORK, state=State.GIVEN
    )
    return newest(rows).filter(Q(participant=None) | imported | Exists(done))


def exclusions() -> QuerySet[GateVerdict]:
    later = GateVerdict.objects.filter(
        participant=OuterRef("participant"), decision__number__gt=OuterRef("decision__number")
    )
    return GateVerdict.objects.filter(~Exists(later), participant=OuterRef("participant"), kept=False)


def annotators_of(study: Study, pilot: bool) -> QuerySet[Participant]:
    """Everybody who has labelled in the pilot or main study, with `kept` by the newest decision (None: none yet)."""
    people = Participant.objects.filter(study=study, annotations__item__pilot=pilot)
    return people.exclude(origin=Participant.Origin.PREVIEW).distinct().annotate(kept=NEWEST_VERDICT).order_by("id")


def kept_people(study: Study) -> QuerySet[Participant]:
    """People kept by the newest decision about them, in pilot or main study: those to invite again."""
    return Participant.objects.filter(study=study).annotate(kept=NEWEST_VERDICT).filter(kept=True).order_by("id")


def questions_for(work: AnnotationWork | None) -> tuple[LabelQuestion, ...]:
    """Annotators' questions: those of the kind, in the study's words, or those of an imported file."""
    if work is None:
        return ()
    if work.kind != IMPORTED:
        words = {each.question: each for each in (*WORDINGS.get(work.wording, ()), *work.wordings)}
        return tuple(
            reword(question, words[question.name]) if question.name in words else question
            for question in KINDS[work.kind].questions
        )
    return tuple(
        LabelQuestion(
            scale.question,
            scale.question,
            tuple(LabelOption(label, label) for label in scale.labels),
            scale="ordinal" if scale.ordered else "nominal",
            required=False,
            positive=_positive_of(scale),
        )
        for scale in work.scales
    )


def _positive_of(scale: LabelScale) -> str:
    """The positive label of the kind of ours that has the same labels; empty if none has."""
    labels = {label.casefold(): label for label in scale.labels}
    known = (question for kind in KINDS.values() for question in kind.questions if question.positive)
    return next((labels[each.positive] for each in known if {*each.values} == labels.keys()), "")


def is_worded_as_published(work: AnnotationWork) -> bool:
    """Whether annotators are asked in the words of the paper whose values are shown beside ours."""
    return work.wording == PUBLISHED_WORDS and not work.wordings


def questions_of(study: Study) -> tuple[LabelQuestion, ...]:
    """The questions for the study's annotators; none in a study where people paste answers."""
    return questions_for(annotation_of(study))


def iter_labels(study: Study, *, pilot: bool = False, simulated: bool = True) -> Iterator[Label]:
    """Yield every label that counts, ordered by item; texts such as a reason are not labels."""
    questions = {question.name: question for question in questions_of(study) if question.is_label}
    rows = counted(study, pilot=pilot)
    if not simulated:
        rows = rows.exclude(participant__origin=Origin.SIMULATED)
    for row in rows.order_by("item__position", "id").values(*FIELDS).iterator(chunk_size=CHUNK):
        for name, value in row["labels"].items():
            base, _, part = name.partition(PART)
            if base in questions:
                yield label_of(row, questions[base], part, value)


# The columns of a label; whole rows would load the texts of their items too.
ITEM = ("item__key", "item__source", "item__cluster", "item__corpus", "item__tags")
PERSON = ("participant__origin", "participant__pid", "participant__pseudonym")
BEFORE = "item__payload__before"
FIELDS = ("id", "labels", "left", "judge", "active_ms", "trace", *ITEM, *PERSON, BEFORE)


def label_of(row: Mapping[str, Any], question: LabelQuestion, part: str, value: str) -> Label:
    key = row["item__key"]
    return Label(
        item=key,
        unit=f"{key}{PART}{part}" if part else key,
        part=part,
        source=row["item__source"],
        cluster=row["item__cluster"],
        corpus=row["item__corpus"],
        tags=row["item__tags"],
        question=question.name,
        value=turn_back(question, value, row["left"]),
        shown_value=value,
        left=row["left"],
        rater=row["judge"] or rater_name(*(row[name] for name in PERSON)),
        is_model=bool(row["judge"]),
        is_baseline=row["judge"].split(" ", 1)[0] in (*BASELINES, TRAINED),
        is_trained=row["judge"].split(" ", 1)[0] == TRAINED,
        origin="model" if row["judge"] else row["participant__origin"],
        active_ms=row["active_ms"],
        annotation=row["id"],
        was_read=was_read(row["left"], row["trace"]),
        was_quick=was_quick(row["trace"], row["active_ms"]),
        was_driven=was_driven(row["trace"]),
        revises=row[BEFORE] or "",
    )


def rater_name(origin: str, pid: str, pseudonym: str) -> str:
    """The pseudonym; for imported people the name in their file, unless it is a Prolific id."""
    return pid if origin == Origin.IMPORTED and not PROLIFIC_ID.fullmatch(pid) else pseudonym


# --- quality of labelling, by the notes of its page (`annotation.labels.read_trace`) ---


def was_read(left: str, trace: Mapping[str, Any]) -> bool | None:
    """Whether both answers were in view to their ends; None without sides, or if the page could not tell."""
    return len(trace["ends"]) == 2 if left and trace else None


def was_quick(trace: Mapping[str, Any], active_ms: int | None) -> bool | None:
    """Whether it took less time than reading does; None if either time is unknown."""
    return None if active_ms is None or "least_ms" not in trace else active_ms < trace["least_ms"]


def was_driven(trace: Mapping[str, Any]) -> bool | None:
    """Whether the browser reports that a program was at work in it; None if the page could not tell."""
    return trace["automated"] or trace["untrusted"] > 0 if trace else None


# --- models as raters: their labels are stored, and choose the next stage's items ------


def record_judgement(
    item: AnnotationItem,
    judge: str,
    labels: Mapping[str, str],
    *,
    left: str = "",
    version: StudyVersion | None = None,
    active_ms: int | None = None,
    detail: Mapping[str, Any] | None = None,
    only: Collection[str] = (),
) -> Annotation:
    """Store a model's labels of an item in one order of the responses; changed labels are a new revision.

    `judge` names endpoint and prompt version; `detail` keeps temperature, completion and the like; `only` names the
    questions that it answers if it can't answer all. Raises LabelFault.
    """
    version = version or item.study.current
    work = definition_of(version.pk).annotation
    if work is None:
        raise LabelFault({item.key: "is not an item of a study that annotators work on"})
    asked = [question for question in questions_for(work) if not only or question.name in only]
    kept = read_labels(asked, item.payload, labels)
    with transaction.atomic():
        # One writer per item: two revisions can't follow the same one.
        AnnotationItem.objects.select_for_update(no_key=True).get(pk=item.pk)
        said = Annotation.objects.filter(item=item, judge=judge, left=left).order_by("-revision").first()
        if said and said.labels == kept:
            return said
        return Annotation.objects.create(
            item=item,
            judge=judge,
            version=version,
            revision=said.revision + 1 if said else 1,
            key=uuid.uuid4(),
            labels=kept,
            left=left,
            active_ms=active_ms,
            guidelines_version=work.guidelines_version,
            detail=dict(detail or {}),
        )


class RaterError(ValueError):
    """No model rater, or more than one, has this name; the message says which there are."""


class ModelRater(NamedTuple):
    """A model that labels; `version` is the folder hash of one that learned from people, empty for a judge."""

    name: str
    version: str = ""

    @property
    def named(self) -> dict[str, str]:
        """The rater as recorded with the items that it chose."""
        return {"rater": self.name, "version": self.version}


def find_rater(study: Study, name: str) -> ModelRater:
    """Find a rater by its whole name, or a trained one by its model's. Raises RaterError."""
    rows = counted(study).exclude(judge="").order_by("judge", "-id")
    versions = dict(rows.distinct("judge").values_list("judge", "detail__version"))
    found = [each for each in versions if each == name or each.startswith(f"{TRAINED} {name} ")]
    if not found:
        known = ", ".join(sorted(versions)) or "none yet"
        raise RaterError(
            f"No model called {name} has labelled items of {study.slug}; those that have: {known}. "
            f"predict {name} --study {study.slug} lets a trained one, judge {study.slug} a prompted one."
        )
    if len(found) > 1:
        raise RaterError(f"{name} is the name of several raters: {', '.join(found)}. Choose one of them.")
    return ModelRater(found[0], versions[found[0]] or "")


def labels_by(study: Study, rater: ModelRater, question: LabelQuestion) -> dict[str, str]:
    """The rater's labels by item key."""
    rows = iter_labels(study)
    return {row.item: row.value for row in rows if row.rater == rater.name and row.question == question.name}
