"""The codebook: what every column of every exported table holds, generated from the study's own versions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, Func

from analysis.exports.columns import (
    ANNOTATION,
    CONTEXT,
    FLAG,
    FLOW,
    GATE,
    ITEM,
    LABEL,
    ORIGIN,
    PARTICIPANT,
    PID,
    RATER,
    RESPONSE,
    REVISION,
    TIMING,
    Column,
    labels,
    text,
)
from surveys.models import Participant, Study, StudyVersion
from surveys.study_files.definitions import Definition
from surveys.study_files.schema import NONE, SEVERAL
from surveys.study_files.schema import PromptDefinition as PromptPart

TABLES = ("responses", "revisions", "flags", "context", "timings", "participants", "flow")
# Of studies of annotators only, behind the others.
ANNOTATION_TABLES = ("items", "annotations", "labels", "gate")


@dataclass(frozen=True)
class Table:
    name: str
    row: str  # what one row is
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Version:
    number: int
    sha256: str
    created_at: str
    amendment: str
    definition: Definition


@dataclass(frozen=True)
class Codebook:
    study: str
    title: str
    versions: tuple[Version, ...]
    tables: dict[str, Table]


def codebook_of(study: Study, pids: bool = False) -> Codebook:
    """What the tables of this study hold, over all its versions."""
    versions = tuple(read_version(row) for row in study.versions.order_by("number"))
    tables = list_tables(versions, imported_questions(study))
    found = {table.name: with_pids(table) if pids else table for table in tables}
    return Codebook(study.slug, study.title, versions, found)


def read_version(row: StudyVersion) -> Version:
    definition = Definition.from_document(row.document)
    return Version(row.number, row.sha256, row.created_at.isoformat(), row.amendment, definition)


def imported_questions(study: Study) -> list[str]:
    """The names under which imported people's answers stand; they come from the imported file's columns."""
    keys = Func(F("answers"), function="jsonb_object_keys", set_returning=True)
    rows = Participant.objects.filter(study=study, origin=Participant.Origin.IMPORTED)
    return sorted(set(rows.annotate(key=keys).order_by().values_list("key", flat=True).distinct()))


# --- columns ----------------------------------------------------------------


def with_pids(table: Table) -> Table:
    place = next((n for n, column in enumerate(table.columns, 1) if column.name == "participant"), 0)
    return replace(table, columns=(*table.columns[:place], PID, *table.columns[place:])) if place else table


def list_tables(versions: tuple[Version, ...], imported: list[str]) -> Iterator[Table]:
    person = (*ORIGIN, *person_columns(versions))
    answer = (*person, text("prompt", "the prompt", prompt_levels(versions)))
    asked = unique_names([*answer_columns(versions, imported), *check_columns(versions)])
    yield Table(
        "responses", "the answer of one participant to one prompt: the newest accepted revision", (*answer, *RESPONSE)
    )
    yield Table("revisions", "one submitted revision of one answer, accepted or not", (*answer, *REVISION))
    yield Table("flags", "one paste check that spoke about one answer", (*answer, *FLAG))
    yield Table("context", "the chatbot that one participant used", (*person, *CONTEXT))
    yield Table("timings", "the answer of one participant to one prompt: when and how it was given", (*answer, *TIMING))
    yield Table("participants", "one person who agreed to take part", (*person, *PARTICIPANT, *asked))
    yield Table("flow", "how many people of one version and origin came to one end", (*ORIGIN, *FLOW))
    if any(version.definition.annotation for version in versions):
        yield from annotation_tables()


def annotation_tables() -> Iterator[Table]:
    study = ORIGIN[0]
    yield Table("items", "one item that annotators are shown", (study, *ITEM))
    yield Table(
        "annotations", "one answer of one rater to one question about one item", (*rater_columns(), *ANNOTATION)
    )
    yield Table("labels", "the votes about one question of one item, or part of one", (study, *LABEL))
    yield Table("gate", "one person in one decision about who is kept as an annotator", (study, *GATE))


def rater_columns() -> tuple[Column, ...]:
    """What an annotation says of its rater: as of a person elsewhere, but models are raters too."""
    *others, whence = ORIGIN
    return (*others, replace(whence, levels={**whence.levels, "model": "Model"}), *RATER)


def person_columns(versions: tuple[Version, ...]) -> tuple[Column, ...]:
    bots = {bot.slug: bot.name for version in versions for bot in version.definition.chatbots}
    cells = {cell.slug: cell.name for version in versions for cell in version.definition.cells}
    return (
        text("participant", "the person's random label in this study"),
        text("state", "how far the person's part has come", labels(Participant.State.choices)),
        text("chatbot", "the chatbot that the person's place is for", bots),
        text("cell", "the group that the person's place is for", cells),
    )


def prompt_levels(versions: tuple[Version, ...]) -> dict[str, str]:
    prompts = [prompt for version in versions for prompt in version.definition.prompts]
    return {prompt.slug: prompt.title + variant_note(prompt) for prompt in prompts}


def variant_note(prompt: PromptPart) -> str:
    return f" (variant of {prompt.variant_of}: {prompt.variant})" if prompt.variant_of else ""


# --- what the study itself asks ---------------------------------------------


def answer_columns(versions: tuple[Version, ...], imported: list[str]) -> Iterator[Column]:
    """A column for each question of any version, then for what only imported files have."""
    yield from [replace(c, source=("answers", "chatbot")) for c in chatbot_question(versions)]
    seen = {"chatbot"}
    for slug, found in by_slug(versions, "questions").items():
        seen.add(slug)
        question = found[-1][1]
        yield Column(
            name=f"answer_{slug}",
            kind="integer" if all(q.kind == "number" for _, q in found) else "text",
            meaning=question.text,
            levels={option: option for _, q in found for option in q.options},
            versions=numbers_of(found, versions),
            source=("answers", slug),
        )
    for name in imported:
        if name not in seen:
            yield replace(text(f"answer_{name}", f"{name} (from an imported file)"), source=("answers", name))


def chatbot_question(versions: tuple[Version, ...]) -> Iterator[Column]:
    if versions and versions[-1].definition.chatbots:
        asked = versions[-1].definition.chatbot_question
        bots = {bot.slug: bot.name for version in versions for bot in version.definition.chatbots}
        extra = {SEVERAL: asked.several, NONE: asked.none}
        yield text("answer_chatbot", asked.text, bots | {slug: label for slug, label in extra.items() if label})


def check_columns(versions: tuple[Version, ...]) -> Iterator[Column]:
    for slug, found in by_slug(versions, "attention").items():
        check, numbers = found[-1][1], numbers_of(found, versions)
        source = ("checks", "attention", slug)
        yield Column(
            f"attention_{slug}", "text", check.text, versions=numbers, source=(*source, "answer"),
            levels={option: option for _, c in found for option in c.options},
        )  # fmt: skip
        yield Column(
            f"attention_{slug}_passed",
            "boolean",
            f"whether the attention check {slug} was passed",
            versions=numbers,
            source=(*source, "passed"),
        )


def by_slug(versions: tuple[Version, ...], part: str) -> dict[str, list[tuple[int, Any]]]:
    """The entries of all versions by slug, each with the number of its version, the newest last."""
    found: dict[str, list[tuple[int, Any]]] = {}
    for version in versions:
        for entry in getattr(version.definition, part):
            found.setdefault(entry.slug, []).append((version.number, entry))
    return found


def numbers_of(found: list[tuple[int, Any]], versions: tuple[Version, ...]) -> tuple[int, ...]:
    numbers = tuple(number for number, _ in found)
    return () if len(numbers) == len(versions) else numbers


def unique_names(columns: Iterable[Column]) -> Iterator[Column]:
    """Names that every format can hold: letters, digits and underscores, none twice, whatever the case."""
    seen: set[str] = set()
    for column in columns:
        name = base = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in column.name)[:60]
        count = 1
        while name.casefold() in seen:
            count += 1
            name = f"{base[:57]}_{count}"
        seen.add(name.casefold())
        yield replace(column, name=name)
