"""The one door from rows to tables: which rows a table has, and what stands in each of its columns."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from analysis.exports.annotation_rows import AnnotationRows, LabelRows, gate_rows, item_rows, read_gate, read_json
from analysis.exports.codebook import Table
from analysis.exports.columns import Column
from surveys.models import AnonymousExit, ChatbotContext, Flag, Participant, Response, Study
from surveys.monitoring.flow import reason_of

Row = dict[str, Any]
Origin = Participant.Origin
OPEN = (Participant.State.SCREENING, Participant.State.ACTIVE)


@dataclass(frozen=True)
class Selection:
    """Whose rows: by default all but those of pilots and previews. `pids` adds Prolific's ids."""

    pilot: bool = False
    preview: bool = False
    simulated: bool = True
    pids: bool = False

    def people(self, prefix: str = "") -> Q:
        left_out = [
            origin
            for origin, wanted in ((Origin.PREVIEW, self.preview), (Origin.SIMULATED, self.simulated))
            if not wanted
        ]
        wanted = ~Q(**{f"{prefix}origin__in": left_out}) if left_out else Q()
        return wanted if self.pilot else wanted & Q(**{f"{prefix}pilot": False})


def rows_of(study: Study, table: Table, selection: Selection) -> QuerySet:
    """The rows as the database has them, oldest first; `read_row` makes them what the codebook says."""
    return SOURCES[table.name].rows(study, selection)


def count_rows(study: Study, name: str, selection: Selection) -> int:
    return SOURCES[name].count(study, selection)


def stream_rows(study: Study, table: Table, selection: Selection) -> Iterator[Row]:
    """Row after row through a cursor of the server, so that no more than `chunk` rows are in memory."""
    source = SOURCES[table.name]
    read = reader_of(study, table)
    for values in rows_of(study, table, selection).iterator(chunk_size=source.chunk):
        yield read(values)


def reader_of(study: Study, table: Table) -> Callable[[Row], Row]:
    """What turns the values of one row into the table's columns, in their order."""
    source, names = SOURCES[table.name], [column.name for column in table.columns]

    def read(values: Row) -> Row:
        values["study"] = study.slug
        row = source.read(values, table.columns)
        return {name: row[name] for name in names}

    return read


# --- who --------------------------------------------------------------------


def version_fields(prefix: str = "") -> dict[str, F]:
    return {
        "number": F(f"{prefix}version__number"),
        "version_sha256": F(f"{prefix}version__sha256"),
    }


def person_fields(prefix: str = "participant__") -> dict[str, F]:
    """What each row says about its person. Names that a model has itself get an underscore in front."""
    return version_fields(prefix) | {
        "_pilot": F(f"{prefix}pilot"),
        "_origin": F(f"{prefix}origin"),
        "_state": F(f"{prefix}state"),
        "_pid": F(f"{prefix}pid"),
        "_participant": F(f"{prefix}pseudonym"),
        "_chatbot": Coalesce(F(f"{prefix}cell__chatbot"), F(f"{prefix}context__product")),
        "_cell": F(f"{prefix}cell__slug"),
    }


def with_person(values: Row) -> Row:
    row = {name.removeprefix("_"): value for name, value in values.items()}
    row["version"] = row.pop("number")
    return row


# --- responses, revisions, timings ------------------------------------------


def revisions(study: Study, selection: Selection) -> QuerySet:
    return Response.objects.filter(selection.people("participant__"), participant__study=study).order_by("id")


def answers(study: Study, selection: Selection) -> QuerySet:
    """The newest accepted revision of each answer."""
    newer = Response.objects.filter(
        participant=OuterRef("participant"),
        prompt=OuterRef("prompt"),
        accepted=True,
        revision__gt=OuterRef("revision"),
    )
    return revisions(study, selection).filter(~Exists(newer), accepted=True)


ORDER = F("participant__order")
RESPONSE_FIELDS = ("revision", "text", "text_sha256", "personal", "submitted_at")


def response_rows(study: Study, selection: Selection) -> QuerySet:
    return answers(study, selection).values(*RESPONSE_FIELDS, **prompt_fields(), **person_fields())


def revision_rows(study: Study, selection: Selection) -> QuerySet:
    own = (*RESPONSE_FIELDS, "accepted", "html", "shown_at")
    return revisions(study, selection).values(*own, **prompt_fields(), **person_fields())


def prompt_fields() -> dict[str, F]:
    return {"_prompt": F("prompt__slug"), "kind": F("prompt__kind"), "order": ORDER}


def read_response(values: Row, columns: Sequence[Column]) -> Row:
    row = with_person(values)
    personal = row["personal"]
    row["position"] = position_of(row["prompt"], row["order"])
    row["characters"] = len(row["text"])
    row["html_characters"] = len(row.get("html", ""))
    row["personal_removed"] = sum(personal.get("removed", {}).values())
    row["personal_kept"] = sum(personal.get("kept", {}).values())
    return row


def position_of(prompt: str, order: Sequence[str]) -> int | None:
    return order.index(prompt) + 1 if prompt in order else None


def timing_rows(study: Study, selection: Selection) -> QuerySet:
    same = Response.objects.filter(participant=OuterRef("participant"), prompt=OuterRef("prompt"))
    grouped = same.order_by().values("prompt")
    return answers(study, selection).values(
        "evidence",
        "submitted_at",
        _prompt=F("prompt__slug"),
        order=ORDER,
        revisions=Subquery(grouped.annotate(n=Count("id")).values("n")),
        first_shown_at=Subquery(grouped.annotate(first=Min("shown_at")).values("first")),
        **person_fields(),
    )


CLIENT_CLOCKS = {
    "client_opened_at": "opened_at",
    "client_copied_at": "copied_at",
    "client_sent_at": "sent_at",
}
ENTERED = ("pasted", "typed", "removed", "share_pasted", "edited_after")


def read_timing(values: Row, columns: Sequence[Column]) -> Row:
    row = with_person(values)
    evidence = row["evidence"]
    away = evidence.get("away_ms")
    row["position"] = position_of(row["prompt"], row["order"])
    row["seconds"] = seconds_between(row["first_shown_at"], row["submitted_at"])
    row["away_seconds"] = None if away is None else away / 1000
    row["observed"] = bool(evidence.get("observed"))
    row["pastes"] = len(evidence["pastes"]) if "pastes" in evidence else None
    row |= {name: evidence.get(key) for name, key in CLIENT_CLOCKS.items()}
    row |= {name: evidence.get(name) for name in ENTERED}
    return row


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    return round((end - start).total_seconds(), 3) if start and end else None


# --- flags, context, participants -------------------------------------------


def flag_rows(study: Study, selection: Selection) -> QuerySet:
    rows = Flag.objects.filter(selection.people("participant__"), participant__study=study).order_by("id")
    own = ("check_version", "outcome", "message", "shown_at", "decided_at")
    return rows.values(*own, check=F("check_name"), _prompt=F("prompt__slug"), **person_fields())


def context_rows(study: Study, selection: Selection) -> QuerySet:
    rows = ChatbotContext.objects.filter(selection.people("participant__"), participant__study=study)
    own = ("product", "model_shown", "plan", "memory", "personalisation", "chat", "chat_language", "device")
    return rows.order_by("id").values(*own, "recorded_at", **person_fields())


def read_person(values: Row, columns: Sequence[Column]) -> Row:
    return with_person(values)


PARTICIPANT_FIELDS = (
    *("step", "reason", "code", "overflow", "language", "consent_version", "consent_sha256", "consented_at"),
    *("last_seen_at", "finished_at", "order", "order_number", "answers", "checks", "comments"),
)


def participant_rows(study: Study, selection: Selection) -> QuerySet:
    answered = Response.objects.filter(participant=OuterRef("pk"), accepted=True).order_by().values("participant")
    count = answered.annotate(n=Count("prompt", distinct=True)).values("n")
    people = Participant.objects.filter(selection.people(), study=study).order_by("id")
    return people.values(*PARTICIPANT_FIELDS, responded=Coalesce(Subquery(count), 0), **person_fields(prefix=""))


def read_participant(values: Row, columns: Sequence[Column]) -> Row:
    row = with_person(values)
    attention = row["checks"].get("attention", {})
    row["seconds"] = seconds_between(row["consented_at"], row["finished_at"])
    row["prompt_order"] = " ".join(row["order"])
    row["responses"] = row["responded"]
    row["attention_failed"] = sum(not given["passed"] for given in attention.values())
    row["comprehension_tries"] = len(row["checks"].get("comprehension", []))
    for column in columns:
        if column.source:
            row[column.name] = read_source(row, column)
    return row


def read_source(row: Row, column: Column) -> Any:
    """What a person's answers or checks hold under this column's path; numbers as numbers."""
    value: Any = row
    for key in column.source:
        value = value.get(key) if isinstance(value, Mapping) else None
    if column.kind != "integer" or value is None:
        return value
    return int(value) if str(value).isdecimal() else None


# --- flow -------------------------------------------------------------------


class Flow:
    """People and anonymous ends counted together; imported people never came and are left out."""

    def __init__(self, study: Study, selection: Selection) -> None:
        self.study, self.selection = study, selection

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        counts: Counter[tuple] = Counter()
        for row in (*self.people(), *self.gone()):
            n = row.pop("people")
            counts[tuple(row.items())] += n
        for key, people in sorted(counts.items(), key=lambda item: str(item[0])):
            yield {**dict(key), "people": people}

    def people(self) -> Iterator[Row]:
        keys = ("pilot", "origin", "state", "reason", "overflow", "step")
        people = Participant.objects.filter(self.selection.people(), study=self.study).order_by()
        counted = people.exclude(origin=Origin.IMPORTED).values(*keys, **version_fields())
        for row in counted.annotate(people=Count("pk")):
            state = row.pop("state")
            row["outcome"] = "in_progress" if state in OPEN else state
            row["reason"] = reason_of(state, row["reason"], row.pop("step"))
            yield row

    def gone(self) -> Iterator[Row]:
        exits = AnonymousExit.objects.filter(self.selection.people(), version__study=self.study).order_by()
        counted = exits.values("pilot", "origin", "step", outcome=F("kind"), **version_fields())
        for row in counted.annotate(people=Count("pk")):
            step = row.pop("step")
            yield row | {"reason": f"at {step}" if step else "", "overflow": False}

    def count(self) -> int:
        return sum(1 for _ in self.iterator(1))


# --- annotation -------------------------------------------------------------


def item_table(study: Study, selection: Selection) -> QuerySet:
    return item_rows(study, selection.pilot)


def annotation_table(study: Study, selection: Selection) -> AnnotationRows:
    return AnnotationRows(study, selection.people("participant__"), selection.pilot)


def label_table(study: Study, selection: Selection) -> LabelRows:
    return LabelRows(study, selection.simulated, selection.pilot)


def gate_table(study: Study, selection: Selection) -> QuerySet:
    return gate_rows(study, selection.people("participant__"), selection.pilot)


@dataclass(frozen=True)
class Source:
    """Where a table comes from. `chunk` rows are held at once, fewer where texts may be long."""

    rows: Callable[[Study, Selection], Any]
    read: Callable[[Row, Sequence[Column]], Row]
    chunk: int

    def count(self, study: Study, selection: Selection) -> int:
        return int(self.rows(study, selection).count())


SOURCES = {
    "responses": Source(response_rows, read_response, 200),
    "revisions": Source(revision_rows, read_response, 50),
    "flags": Source(flag_rows, read_person, 1000),
    "context": Source(context_rows, read_person, 1000),
    "timings": Source(timing_rows, read_timing, 500),
    "participants": Source(participant_rows, read_participant, 500),
    "flow": Source(Flow, read_person, 100),
    "items": Source(item_table, read_json, 100),
    "annotations": Source(annotation_table, read_json, 1000),
    "labels": Source(label_table, read_json, 1000),
    "gate": Source(gate_table, read_gate, 500),
}
