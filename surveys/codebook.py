"""The codebook: what every column of every exported table holds, generated from the study's own versions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import F, Func

from surveys.definitions import Definition
from surveys.flow import OUTCOMES
from surveys.models import (
    Annotation,
    AnnotationItem,
    ChatbotContext,
    Flag,
    Participant,
    Prompt,
    Slot,
    Study,
    StudyVersion,
)
from surveys.quality import MESSAGES
from surveys.study_parts import Prompt as PromptPart
from surveys.study_schema import NONE, SEVERAL

KINDS = {
    "text": "text, to the letter",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "datetime": "date and time in UTC",
    "json": "JSON",
}


@dataclass(frozen=True)
class Column:
    """One column. `levels` are its possible values with their meanings; empty `versions` are all of them."""

    name: str
    kind: str
    meaning: str
    unit: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    versions: tuple[int, ...] = ()
    source: tuple[str, ...] = ()  # where a participant's answers and checks hold it
    spss: bool = True  # whether it goes into SPSS files too


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
    tables = {
        name: Table(name, row, columns) for name, row, columns in list_tables(versions, imported_questions(study))
    }
    if pids:
        tables = {name: with_pids(table) for name, table in tables.items()}
    return Codebook(study.slug, study.title, versions, tables)


def read_version(row: StudyVersion) -> Version:
    definition = Definition.from_document(row.document)
    return Version(row.number, row.sha256, row.created_at.isoformat(), row.amendment, definition)


def imported_questions(study: Study) -> list[str]:
    """The names under which imported people's answers stand; they come from the imported file's columns."""
    keys = Func(F("answers"), function="jsonb_object_keys", set_returning=True)
    rows = Participant.objects.filter(study=study, origin=Participant.Origin.IMPORTED)
    return sorted(set(rows.annotate(key=keys).order_by().values_list("key", flat=True).distinct()))


# --- columns ----------------------------------------------------------------


def text(name: str, meaning: str, levels: Mapping[str, str] | None = None, spss: bool = True) -> Column:
    return Column(name, "text", meaning, levels=levels or {}, spss=spss)


def integer(name: str, meaning: str, unit: str = "") -> Column:
    return Column(name, "integer", meaning, unit)


def number(name: str, meaning: str, unit: str = "") -> Column:
    return Column(name, "number", meaning, unit)


def boolean(name: str, meaning: str) -> Column:
    return Column(name, "boolean", meaning)


def moment(name: str, meaning: str) -> Column:
    return Column(name, "datetime", meaning, "UTC")


PID = text("pid", "Prolific's participant id (only in exports that were asked to hold it)")
TABLES = ("responses", "revisions", "flags", "context", "timings", "participants", "flow")
# Of studies of annotators only, behind the others.
ANNOTATION_TABLES = ("items", "annotations", "labels", "gate")


def with_pids(table: Table) -> Table:
    place = next((n for n, column in enumerate(table.columns, 1) if column.name == "participant"), 0)
    return replace(table, columns=(*table.columns[:place], PID, *table.columns[place:])) if place else table


def labels(choices: Iterable[tuple[Any, Any]], *leave: str) -> dict[str, str]:
    return {str(value): str(label) for value, label in choices if value not in leave}


def list_tables(versions: tuple[Version, ...], imported: list[str]) -> Iterator[tuple[str, str, tuple[Column, ...]]]:
    origin = version_columns(versions)
    person = (*origin, *person_columns(versions))
    prompt = (text("prompt", "the prompt", prompt_levels(versions)),)
    yield (
        "responses",
        "the answer of one participant to one prompt: the newest accepted revision",
        (
            *person,
            *prompt,
            *RESPONSE,
        ),
    )
    yield "revisions", "one submitted revision of one answer, accepted or not", (*person, *prompt, *REVISION)
    yield "flags", "one paste check that spoke about one answer", (*person, *prompt, *FLAG)
    yield "context", "the chatbot that one participant used", (*person, *CONTEXT)
    yield (
        "timings",
        "the answer of one participant to one prompt: when and how it was given",
        (
            *person,
            *prompt,
            *TIMING,
        ),
    )
    yield (
        "participants",
        "one person who agreed to take part",
        (
            *person,
            *PARTICIPANT,
            *unique_names([*answer_columns(versions, imported), *check_columns(versions)]),
        ),
    )
    yield "flow", "how many people of one version and origin came to one end", (*origin, *FLOW)
    if any(version.definition.annotation for version in versions):
        yield "items", "one item that annotators are shown", (origin[0], *ITEM)
        yield (
            "annotations",
            "one answer of one rater to one question about one item",
            (*rater_columns(origin), *ANNOTATION),
        )
        yield "labels", "the votes about one question of one item, or part of one", (origin[0], *LABEL)
        yield "gate", "one person in one decision about who is kept as an annotator", (origin[0], *GATE)


def rater_columns(origin: tuple[Column, ...]) -> tuple[Column, ...]:
    """What an annotation says of its rater: as of a person elsewhere, but models are raters too."""
    *others, whence = origin
    return (*others, replace(whence, levels={**whence.levels, "model": "Model"}), *RATER)


def version_columns(versions: tuple[Version, ...]) -> tuple[Column, ...]:
    return (
        text("study", "the study"),
        integer("version", "number of the study's version that the person saw"),
        text("version_sha256", "SHA-256 over all that participants of this version see"),
        boolean("pilot", "whether it was collected in the pilot"),
        text("origin", "where the person came from", labels(Participant.Origin.choices)),
    )


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


RESPONSE = (
    text("kind", "what the prompt asks for", labels(Prompt.Kind.choices)),
    integer("position", "place of the prompt in this person's order, from 1; empty for imported people"),
    integer("revision", "which submitted revision this is, from 1"),
    text("text", "what was pasted, to the letter; lines end with one line feed"),
    text("text_sha256", "SHA-256 over the text as UTF-8"),
    integer("characters", "length of the text", "characters"),
    integer("personal_removed", "personal details that were removed before sending", "details"),
    integer("personal_kept", "what looked like personal details and was sent", "details"),
    moment(
        "submitted_at",
        "when the server stored it; for imported rows the file's time, else that of the import",
    ),
)
REVISION = (
    *RESPONSE[:2],
    RESPONSE[2],
    boolean("accepted", "false: the paste checks asked about it and the person went back to it"),
    *RESPONSE[3:6],
    text("html", "the clipboard's HTML flavour; data, not to be rendered; not in SPSS files", spss=False),
    integer("html_characters", "length of the HTML flavour", "characters"),
    *RESPONSE[6:8],
    moment("shown_at", "when the server sent the page"),
    RESPONSE[8],
)
FLAG = (
    text("check", "the paste check", MESSAGES),
    integer("check_version", "version of the check"),
    text("outcome", "what the person did", labels(Flag.Outcome.choices)),
    text("message", "the sentence that was shown, in English"),
    moment("shown_at", "when it was first shown"),
    moment("decided_at", "when the person decided"),
)
CONTEXT = (
    text("product", "the chatbot that the person says they used"),
    text("model_shown", "the model's name as the chatbot showed it"),
    text("plan", "how they have it", labels(ChatbotContext.Plan.choices)),
    text("memory", "whether memory of earlier chats was on", labels(ChatbotContext.Switch.choices)),
    text("personalisation", "whether personalisation was on", labels(ChatbotContext.Switch.choices)),
    text("chat", "in which chat they asked; empty when imported", labels(ChatbotContext.Chat.choices)),
    text("chat_language", "the language in which they usually write to it"),
    text("device", "the device; empty when imported", labels(ChatbotContext.Device.choices)),
    moment("recorded_at", "when they told us"),
)
CLIENT = "by the clock of the person's device"
TIMING = (
    RESPONSE[1],
    integer("revisions", "revisions submitted to this prompt, accepted or not", "revisions"),
    moment("first_shown_at", "when the server first sent a page that was then submitted"),
    moment("submitted_at", "when the server stored the answer"),
    number("seconds", "from the first page shown to the answer stored", "seconds"),
    number("away_seconds", "how long the page was in the background", "seconds"),
    integer("client_opened_at", f"when the page was opened {CLIENT}", "milliseconds since 1970"),
    integer("client_copied_at", f"when the prompt was copied {CLIENT}", "milliseconds since 1970"),
    integer("client_sent_at", f"when the answer was sent {CLIENT}", "milliseconds since 1970"),
    boolean("observed", "whether the page could observe how the text was entered (it needs JavaScript)"),
    integer("pasted", "characters pasted", "characters"),
    integer("typed", "characters typed", "characters"),
    integer("removed", "characters deleted", "characters"),
    number("share_pasted", "pasted / (pasted + typed)", "share from 0 to 1"),
    boolean("edited_after", "whether anything was changed after pasting"),
    integer("pastes", "how often something was pasted", "pastes"),
)
PARTICIPANT = (
    text("step", "the furthest page that the person reached", labels(Participant.Step.choices)),
    text("reason", "why the part ended as it did"),
    text("code", "the completion code shown at the end"),
    boolean("overflow", "completed after the place was given to somebody else; paid"),
    text("language", "language of the pages"),
    text("consent_version", "version of the consent text"),
    text("consent_sha256", "SHA-256 over the consent text and its version"),
    moment("consented_at", "when the person agreed"),
    moment("last_seen_at", "the last sign of life"),
    moment("finished_at", "when the part ended"),
    number("seconds", "from consent to the end", "seconds"),
    text("prompt_order", "the prompts in the order drawn for this person, separated by spaces"),
    integer("order_number", "number that the order was drawn with"),
    integer("responses", "prompts answered", "prompts"),
    integer("attention_failed", "attention checks answered wrongly", "checks"),
    integer("comprehension_tries", "how often the comprehension check was sent", "tries"),
    text("comments", "what the person wrote on the last page"),
)
FLOW = (
    text("outcome", "how they ended, or that they are still in progress", {o: o for o in OUTCOMES}),
    text("reason", "why, where a rule of the study says so"),
    boolean("overflow", "completed after the place was given to somebody else"),
    integer("people", "how many", "people"),
)

ITEM_KEY = text("item", "the item's name in the study")
PILOT = boolean("pilot", "whether it belongs to the pilot")
SIDES = labels(Slot.Left.choices)
ITEM = (
    ITEM_KEY,
    PILOT,
    text("purpose", "what it is for", labels(AnnotationItem.Purpose.choices)),
    text("kind", "the kind of annotation"),
    text("source", "by which its maker finds it again"),
    text("cluster", "the user whom it is about"),
    text("corpus", "where the user is from"),
    Column("tags", "json", "what analyses group by"),
    Column("payload", "json", "what is shown, without the history; not in SPSS files", spss=False),
    text("history_sha256", "SHA-256 of the history that is shown with it"),
    integer("history_characters", "length of that history", "characters"),
    Column("gold", "json", "the right labels, of training and gold items"),
    text("explanation", "what is said after a training item"),
    integer("position", "place in the order of import, from 0"),
    integer("wanted", "labels that it is to have", "labels"),
    integer("labelled", "labels by people that it has and that count", "labels"),
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
    text("left", "the response that stood on the left", SIDES),
    boolean("counted", "whether it counts: the newest revision, within the overlap, of somebody who is kept"),
    text("state", "what the rater did", labels(Annotation.State.choices)),
    integer("revision", "which revision of this rater and item, from 1"),
    text("reason", "why it was skipped"),
    text("guidelines_version", "the guidelines that the rater had"),
    text("opened", "numbers of the evidence snippets that were opened"),
    number("active_seconds", "time with the page in use; of models, of the call", "seconds"),
    moment("shown_at", "when the server sent the page"),
    moment("submitted_at", "when it was stored"),
    Column("detail", "json", "of a model: temperature, prompt version and the like"),
)
LABEL = (
    ITEM_KEY,
    PILOT,
    text("part", "the part of the item, where there are several"),
    text("question", "what was asked"),
    text("source", "by which the item's maker finds it again"),
    text("cluster", "the user whom it is about"),
    text("corpus", "where the user is from"),
    integer("people", "people whose labels count", "people"),
    integer("models", "models that labelled it; they have no vote", "models"),
    Column("votes", "json", "votes by label"),
    Column("soft_label", "json", "share of the votes by label"),
    text("majority", "the label with the most votes; empty for a tie"),
    boolean("tie", "whether two labels have the most votes"),
)
GATE = (
    integer("decision", "number of the decision in the study"),
    PILOT,
    text("origin", "where the person came from", labels(Participant.Origin.choices)),
    text("participant", "the person's random label in this study"),
    boolean("kept", "whether the person goes on as an annotator"),
    text("note", "why the person differs from the rule"),
    Column("figures", "json", "the figures that it rests on"),
    text("rule", "the rule in words"),
    Column("thresholds", "json", "the rule's figures"),
    text("reason", "why it was decided so"),
    text("decided_by", "who decided"),
    moment("decided_at", "when it was decided"),
)


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
