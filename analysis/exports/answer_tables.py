"""The tables of readings: answers of people and models, the items they name, read-backs, and decisions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from django.db.models import BooleanField, Case, F, Func, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, NullIf

from analysis.answers.aliases import alias_map
from analysis.answers.compared import families_of, load_prompts, runs_of, spellings_of
from analysis.answers.reviews import superseded
from analysis.exports.codebook import (
    ExportColumn,
    ExportTable,
    Row,
    Version,
    boolean,
    computed,
    integer,
    labels,
    moment,
    named,
    text,
)
from analysis.exports.people_tables import (
    MODEL,
    ORIGIN,
    ORIGIN_OF_ALL,
    Selection,
    asking_columns,
    chatbot_of,
    person_columns,
    prompt_levels,
)
from analysis.models import Alias, AliasDecision, Answer, AnswerDecision, Endpoint
from surveys.models import Participant, Prompt, ReadBack, Study, base_slug
from surveys.reading.answers import DOUBTS, normalise_item
from surveys.studies.exclusions import excluded_people, excluded_responses, kept_flags
from surveys.studies.files import definitions
from surveys.studies.files.definitions import Definition
from surveys.studies.lifecycle import definition_of

FIELD = "field"
FAKE = Endpoint.Provider.FAKE
READ_BY = {
    "rules": "the rules read it",
    "participant": "the person who pasted it confirmed or corrected the reading",
    "researcher": "a researcher decided",
}

WHOSE = (
    text("source", "whose answer it is: `field`, a condition of runs, or what an imported file calls its source"),
    text("model", "the model that was asked; of people's answers their chatbot"),
    text("chatbot", "the chatbot of the person, or with whose people the model is compared; empty: with all"),
    boolean("simulated", "whether it is made up: by a person that a program plays, or a scripted model"),
    boolean("counted", "whether numbers count it: of people who completed, of no pilot, left out by no rule of the "
            "study, to today's options, when they were first asked it, and no repetition of a run for drift"),
)  # fmt: skip
WHO = (
    text("answer", "names the answer, the same in readings, mentions and answer_decisions"),
    *WHOSE,
    text("participant", "the person's random label in this study; empty for models"),
    integer("run", "number of the run; empty for people"),
    integer("user", "number of the simulated user, from 0; empty without one"),
    text("user_name", "what an imported file calls the simulated user"),
    integer("repeat", "the draw's number, from 0; empty for people"),
    text("prompt", "the study's prompt; empty for benchmark items"),
    integer("occasion", "which time the person was asked it in this state, from 1; empty for models"),
    text("arm", "the state of the account in which a person was asked; empty: the usual"),
)
READING = (
    text("benchmark", "the benchmark that was asked; empty: a prompt of the study"),
    text("benchmark_item", "the benchmark's item that was asked"),
    text("kind", "what was asked for", labels(Prompt.Kind.choices)),
    text("letter", "the option that the text names; empty when unknown, and for recommendations"),
    boolean("correct", "whether that is the right option; empty where there is none"),
    integer("items", "items that the text names; `mentions` has a row for each", "items"),
    text("doubt", "why the rules are not sure of it", DOUBTS),
    text("read_by", "whose reading it is", READ_BY),
    integer("rules_version", "version of the rules that read it"),
    text("flags", "the paste checks that asked about it and whose answer the person kept, with commas"),
    boolean("excluded", "whether a rule of the study leaves the answer or the person out"),
)
MENTION = (
    integer("place", "place of the item in the answer, from 1"),
    text("item", "the item, as it counts: spellings are made one"),
    text("spelling", "as the rules normalised it"),
    text("name", "as it is written"),
)
READ_BACK = (
    integer("revision", "the revision that was read, from 1", path="response__revision"),
    boolean("newest", "whether it is the newest accepted revision, which is the answer",
            expression=lambda person: is_newest(person)),
    integer("rules_version", "version of the rules that read it"),
    text("verdict", "what the person made of the reading", labels(ReadBack.Verdict.choices)),
    text("read_letter", "the option that was read; empty for recommendations, and where none was"),
    text("letter", "the option that the answer names, as the person has it"),
    integer("names_read", "names that were read", "names",
            **computed(len, "read_names")),
    integer("taken_out", "of these the names that the person took out", "names",
            **computed(lambda read, names: len({*read} - {*names}), "read_names", "names")),
    integer("added", "names that the person added", "names",
            **computed(lambda read, names: len({*names} - {*read}), "read_names", "names")),
    integer("absent", "of the added names those that the text does not hold", "names",
            **computed(len, "absent")),
    text("no_answer", "why the box was left empty", labels(ReadBack.NoAnswer.choices)),
)  # fmt: skip
READ_BACK_NAME = (
    text("name", "the name, as it is written"),
    text("item", "the item, normalised; spellings are not made one"),
    boolean("read", "whether the rules read it; else the person added it"),
    boolean("stands", "whether it is among the names as the person has them"),
    boolean("in_text", "false: the person added it, and the text does not hold it"),
)
ALIASES = (text("prompt", "the prompt"), text("spelling", "as the rules read it"), text("item", "what it counts as"))
ALIAS_DECISIONS = (
    integer("number", "the version of the table that the decision made"),
    text("prompt", "the prompt"),
    text("action", "accept, reject, split or undo"),
    ExportColumn("spellings", "json", "the spellings it is about, as a JSON list"),
    text("item", "what they stand for"),
    integer("undoes", "the number of the decision that it takes back", path="undoes__number"),
    moment("decided_at", "when"),
)
ANSWER_DECISIONS = (
    text("participant", "the person whose answer it is about; empty for a completion"),
    integer("run", "the run of the completion that it is about"),
    text("asked", "the prompt or question"),
    text("letter", "the option, as decided"),
    ExportColumn("items", "json", "the items, as decided, as a JSON list"),
    boolean("is_undo", "whether it takes an earlier decision back"),
    moment("decided_at", "when"),
)


def answer_tables(versions: tuple[Version, ...]) -> Iterator[ExportTable]:
    study = named(ORIGIN, "study")
    levels = prompt_levels(versions)
    who = tuple(replace(column, levels=levels) if column.name == "prompt" else column for column in WHO)
    person = (*ORIGIN, *person_columns(versions), *asking_columns(versions, "response__"))
    yield ExportTable(
        "readings",
        "one answer of a person or a model, as it was read",
        (*ORIGIN_OF_ALL, *who, *READING),
        AnswerRows,
        500,
    )
    yield ExportTable(
        "mentions",
        "one item that one answer of a person or a model names, once however often it is spelled",
        (*study, *who, *MENTION),
        Mentions,
        500,
    )
    yield ExportTable(
        "read_backs",
        "one reading that a person was shown, and what they made of it",
        (*person, *READ_BACK),
        read_backs,
        500,
        "response__participant__",
    )
    yield ExportTable(
        "read_back_names",
        "one name that was read in an answer or that the person added to it",
        (
            *study,
            *named(person, "participant", "prompt", "occasion", "arm"),
            *named(READ_BACK, "revision", "newest"),
            *READ_BACK_NAME,
        ),
        ReadBackNames,
        500,
    )
    yield ExportTable("aliases", "one spelling that counts as another item", (*study, *ALIASES), aliases)
    yield ExportTable("alias_decisions", "one decision about spellings", (*study, *ALIAS_DECISIONS), alias_decisions)
    yield ExportTable(
        "answer_decisions",
        "one decision of a researcher about what an answer says",
        (*study, text("answer", "names the answer, as in readings"), *ANSWER_DECISIONS),
        AnswerDecisions,
    )


# --- answers of people and models -------------------------------------------------

ANSWER = ("items", "names", "letter", "doubt", "rules_version", "decided")
OF_PEOPLE = {
    **{name: F(f"response__participant__{name}") for name in ("pid", "pseudonym", "origin", "pilot", "state")},
    "person": F("response__participant"),
    "response_key": F("response"),
    "chatbot": chatbot_of("response__participant__"),
    "version": F("response__participant__version__number"),
    "version_sha256": F("response__participant__version__sha256"),
    "prompt": base_slug("response__prompt__"),
    **{name: F(f"response__prompt__{name}") for name in ("occasion", "arm", "kind")},
    "asking": F("response__prompt__slug"),
    "prompt_key": F("response__prompt"),
    "key": F("response__prompt__answer"),
    "said": Subquery(
        ReadBack.objects.filter(response=OuterRef("response")).order_by("-rules_version").values("verdict")[:1]
    ),
}
OF_MODELS = {
    "run": F("completion__run"),
    "user": F("completion__user__index"),
    "user_name": F("completion__user__name"),
    "repeat": F("completion__repeat"),
    "source": Coalesce(NullIf("completion__run__imported_source", Value("")), "completion__run__condition"),
    "model": Coalesce("completion__run__endpoint__model", "completion__run__imported_model"),
    "provider": F("completion__run__endpoint__provider"),
    "first_run": F("completion__run__first_run"),
    "version": F("completion__run__version__number"),
    "version_sha256": F("completion__run__version__sha256"),
    "benchmark": F("completion__item__benchmark"),
    "benchmark_item": F("completion__item__item"),
    "prompt": F("completion__prompt__slug"),
    "prompt_key": F("completion__prompt"),
    "kind": F("completion__prompt__kind"),
    "key": Coalesce("completion__prompt__answer", "completion__item__answer"),
}


@dataclass
class AnswerRows:
    """Read answers: people's newest accepted ones, and those of the runs that are compared."""

    study: Study
    selection: Selection

    @property
    def people(self) -> QuerySet[Answer]:
        people = self.selection.people("response__participant__")
        return Answer.objects.filter(people, ~superseded("response__"), response__participant__study=self.study)

    @property
    def models(self) -> QuerySet[Answer]:
        rows = Answer.objects.filter(completion__run__in=runs_of(self.study))
        return rows if self.selection.simulated else rows.exclude(completion__run__endpoint__provider=FAKE)

    def count(self) -> int:
        return self.people.count() + self.models.count()

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        for make, rows, values in ((self.of_person, self.people, OF_PEOPLE), (self.of_model, self.models, OF_MODELS)):
            ordered = rows.order_by("response", "completion").values(*ANSWER, **{f"_{n}": v for n, v in values.items()})
            for row in ordered.iterator(chunk_size=chunk_size):
                values_of = {name.removeprefix("_"): value for name, value in row.items()}
                yield self.common(values_of) | make(values_of)

    def common(self, row: Row) -> Row:
        return {name: row[name] for name in ("version", "version_sha256", "doubt", "rules_version", "letter")} | {
            "named": list(zip(row["items"], row["names"], strict=True)),
            "items": len(row["items"]),
            "prompt": row["prompt"] or "",
            "kind": row["kind"] or Prompt.Kind.CHOICE,
            "correct": row["letter"] == row["key"] if row["key"] else None,
        }

    def of_person(self, row: Row) -> Row:
        excluded = row["person"] in self.excluded_people or row["response_key"] in self.excluded_responses
        completed = row["state"] == Participant.State.COMPLETED and not row["pilot"]
        said = row["said"] if row["said"] != ReadBack.Verdict.UNSAID else None
        real = row["origin"] != Participant.Origin.PREVIEW
        return {
            **{name: row[name] for name in ("pid", "pilot", "origin", "occasion", "arm")},
            "answer": f"{row['pseudonym']}/{row['asking']}",
            "source": FIELD,
            "model": row["chatbot"] or "",
            "chatbot": row["chatbot"] or "",
            "simulated": row["origin"] == Participant.Origin.SIMULATED,
            "counted": completed and real and not excluded and row["prompt_key"] in self.same,
            "participant": row["pseudonym"],
            **{"run": None, "user": None, "user_name": "", "repeat": None},
            **{"benchmark": "", "benchmark_item": ""},
            "read_by": "researcher" if row["decided"] else "participant" if said else "rules",
            "flags": ",".join(self.flags.get((row["person"], row["prompt_key"]), ())),
            "excluded": excluded,
        }

    def of_model(self, row: Row) -> Row:
        item = row["benchmark_item"] or ""
        place = (row["run"], "-" if row["user"] is None else row["user"], row["repeat"], row["prompt"] or item)
        return {
            **{name: row[name] for name in ("source", "model", "run", "user", "repeat")},
            **{"pid": "", "pilot": False, "origin": MODEL, "participant": "", "occasion": None, "arm": ""},
            "answer": "/".join(map(str, place)),
            "chatbot": self.chatbot(row["model"]),
            "simulated": row["provider"] == FAKE,
            "counted": row["first_run"] is None and (row["prompt_key"] is None or row["prompt_key"] in self.same),
            "user_name": row["user_name"] or "",
            "benchmark": row["benchmark"] or "",
            "benchmark_item": item,
            "read_by": "researcher" if row["decided"] else "rules",
            **{"flags": "", "excluded": False},
        }

    # --- shared by all rows

    @cached_property
    def definition(self) -> Definition | None:
        return definition_of(self.study.current_id) if self.study.current_id else None

    @cached_property
    def spellings(self) -> dict[str, dict[str, str]]:
        """The item that each spelling stands for, by prompt."""
        families = families_of(self.definition) if self.definition else {}
        tables = spellings_of(alias_map(self.study), families)
        return {prompt: tables.get(family, {}) for prompt, family in families.items()} | tables

    @cached_property
    def same(self) -> dict[int, str]:
        """Prompts whose answers can be counted with those to the newest wording."""
        return load_prompts(self.study)[1]

    @cached_property
    def excluded_people(self) -> dict[int, tuple[str, ...]]:
        return excluded_people(self.study)

    @cached_property
    def excluded_responses(self) -> dict[int, tuple[str, ...]]:
        return excluded_responses(self.study)

    @cached_property
    def flags(self) -> dict[tuple[int, int], tuple[str, ...]]:
        kept: dict[tuple[int, int], tuple[str, ...]] = {}
        rows = kept_flags(self.study).order_by("check_name").values_list("participant", "prompt", "check_name")
        for person, prompt, check in rows.iterator():
            kept[person, prompt] = (*kept.get((person, prompt), ()), check)
        return kept

    @cached_property
    def chatbot(self) -> Callable[[str], str]:
        """A function from a model to its chatbot, empty if it has none."""
        known = self.definition
        return cache(lambda model: (known and definitions.chatbot_of(known, model)) or "")


class Mentions(AnswerRows):
    """One row for each item of each answer."""

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        for row in super().iterator(chunk_size):
            table, seen = self.spellings.get(row["prompt"], {}), set()
            for place, (spelling, name) in enumerate(row["named"], 1):
                item = table.get(spelling, spelling)
                if item not in seen:
                    seen.add(item)
                    yield row | {"place": place, "item": item, "spelling": spelling, "name": name}

    def count(self) -> int:
        return self._count(self.people, OF_PEOPLE["prompt"]) + self._count(self.models, OF_MODELS["prompt"])

    def _count(self, rows: QuerySet[Answer], prompt_of: Any) -> int:
        """Count all spellings, minus those that merging makes duplicates within an answer."""
        size = rows.aggregate(n=Sum(Func("items", function="cardinality")))["n"] or 0
        spelt = sorted({spelling for table in self.spellings.values() for pair in table.items() for spelling in pair})
        double = 0
        if spelt:
            some = rows.filter(items__overlap=spelt).values_list(prompt_of, "items")
            for prompt, items in some.iterator():
                table = self.spellings.get(prompt, {})
                double += len(items) - len({table.get(item, item) for item in items})
        return size - double


# --- what people said of readings -------------------------------------------------


def is_newest(person: str) -> Case:
    newest = Q(response__accepted=True) & ~superseded("response__")
    return Case(When(newest, then=True), default=False, output_field=BooleanField())


def read_backs(study: Study, selection: Selection) -> QuerySet[ReadBack]:
    people = selection.people("response__participant__")
    return ReadBack.objects.filter(people, response__participant__study=study).order_by("id")


class ReadBackNames:
    """Names in each read-back of a list: those read, then those that the person added."""

    def __init__(self, study: Study, selection: Selection) -> None:
        self.rows = read_backs(study, selection)

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        rows = self.rows.values(
            *("read_names", "names", "absent"),
            newest=is_newest(""),
            revision=F("response__revision"),
            prompt=base_slug("response__prompt__"),
            occasion=F("response__prompt__occasion"),
            arm=F("response__prompt__arm"),
            participant=F("response__participant__pseudonym"),
            pid=F("response__participant__pid"),
        )
        for row in rows.iterator(chunk_size=chunk_size):
            for name in dict.fromkeys([*row["read_names"], *row["names"]]):
                yield row | {
                    "name": name,
                    "item": normalise_item(name),
                    "read": name in row["read_names"],
                    "stands": name in row["names"],
                    "in_text": name not in row["absent"],
                }

    def count(self) -> int:
        return sum(len({*read, *names}) for read, names in self.rows.values_list("read_names", "names").iterator())


# --- what was decided -------------------------------------------------------------


def aliases(study: Study, selection: Selection) -> QuerySet[Alias]:
    return Alias.objects.filter(study=study).order_by("prompt", "spelling")


def alias_decisions(study: Study, selection: Selection) -> QuerySet[AliasDecision]:
    return AliasDecision.objects.filter(study=study).order_by("number")


class AnswerDecisions(AnswerRows):
    """One row for each decision about an answer, even if a newer revision has replaced it."""

    @property
    def counted(self) -> QuerySet[AnswerDecision]:
        people = self.selection.people("answer__response__participant__")
        whose = people & Q(answer__response__participant__study=self.study) | Q(answer__in=self.models)
        return AnswerDecision.objects.filter(whose).order_by("pk")

    def count(self) -> int:
        return self.counted.count()

    def iterator(self, chunk_size: int) -> Iterator[Row]:
        response, completion = "answer__response__", "answer__completion__"
        values = self.counted.values(
            *("letter", "items", "decided_at", "undoes"),
            participant=Coalesce(F(f"{response}participant__pseudonym"), Value("")),
            pid=Coalesce(F(f"{response}participant__pid"), Value("")),
            run=F(f"{completion}run"),
            user=F(f"{completion}user__index"),
            repeat=F(f"{completion}repeat"),
            asked=Coalesce(f"{response}prompt__slug", f"{completion}prompt__slug", f"{completion}item__item"),
        )
        for row in values.iterator(chunk_size=chunk_size):
            user = "-" if row["user"] is None else row["user"]
            place = (row["participant"],) if row["participant"] else (row["run"], user, row["repeat"])
            answer = "/".join(map(str, (*place, row["asked"])))
            yield row | {"answer": answer, "is_undo": row["undoes"] is not None}
