"""The tables about people: answers, checks, chatbots, participants, flow, and notes."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Aggregate, Count, Exists, F, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from analysis.exports.codebook import (
    ExportColumn,
    ExportTable,
    Row,
    Version,
    answer_columns,
    boolean,
    check_columns,
    computed,
    integer,
    labels,
    moment,
    named,
    number,
    text,
    unique_names,
)
from surveys.models import (
    AnonymousExit,
    ChatbotContext,
    Flag,
    Note,
    Participant,
    Prompt,
    ReadBack,
    Response,
    Study,
    base_slug,
)
from surveys.reading.checks import CHECKS
from surveys.studies.files.schema import PromptDefinition
from surveys.studies.flow import OUTCOMES, reason_of

Origin = Participant.Origin
OPEN = (Participant.State.SCREENING, Participant.State.ACTIVE)


@dataclass(frozen=True)
class Selection:
    """Whose rows to export: by default all but pilots' and previews'. `pids` adds Prolific's ids."""

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


def people_tables(versions: tuple[Version, ...], imported: list[str]) -> Iterator[ExportTable]:
    person = (*ORIGIN, *person_columns(versions))
    answer = (*person, *asking_columns(versions))
    asked = [*answer_columns(versions, imported), *check_columns(versions)]
    yield ExportTable(
        "responses",
        "the answer of one participant to one prompt: the newest accepted revision",
        (*answer, previous_prompt(versions), *RESPONSE, *RATING, UNREACHED),
        newest_responses,
        200,
    )
    yield ExportTable(
        "revisions",
        "one submitted revision of one answer, accepted or not",
        (*answer, *REVISION, *RATING),
        revisions,
        50,
    )
    yield ExportTable("flags", "one question that a paste check raised about one answer", (*answer, *FLAG), flags)
    yield ExportTable("context", "the chatbot that one participant used", (*person, *CONTEXT), contexts)
    yield ExportTable(
        "timings",
        "the answer of one participant to one prompt: when and how it was given",
        (*answer, *TIMING),
        newest_responses,
        500,
    )
    yield ExportTable(
        "participants",
        "one person who agreed to take part",
        tuple(unique_names([*person, *PARTICIPANT, *asked])),
        participants,
        500,
        "",
    )
    yield ExportTable("flow", "how many people of one version and origin had one outcome", (*ORIGIN, *FLOW), Flow)
    yield ExportTable(
        "notes",
        "one note of a researcher about a person, an answer or a version",
        (*named(ORIGIN, "study"), *NOTE),
        notes,
    )


# --- who --------------------------------------------------------------------

PID = text("pid", "Prolific's participant id (only in exports that were asked to hold it)", path="participant__pid")

ORIGIN = (
    text("study", "the study", made=lambda row: row["study"]),
    integer("version", "number of the study's version that the person saw", path="participant__version__number"),
    text(
        "version_sha256", "SHA-256 over all that participants of this version see", path="participant__version__sha256"
    ),
    boolean("pilot", "whether it was collected in the pilot", path="participant__pilot"),
    text("origin", "where the person came from", labels(Origin.choices), path="participant__origin"),
)
MODEL = "model"  # the origin of a model's rows
ORIGIN_OF_ALL = tuple(  # for tables with rows of models
    replace(column, levels={**column.levels, MODEL: "Model"}) if column.name == "origin" else column
    for column in ORIGIN
)


def person_columns(versions: tuple[Version, ...]) -> tuple[ExportColumn, ...]:
    bots = {bot.slug: bot.name for version in versions for bot in version.definition.chatbots}
    cells = {cell.slug: cell.name for version in versions for cell in version.definition.cells}
    return (
        text("participant", "the person's random label in this study", path="participant__pseudonym"),
        text("state", "how far the person has come", labels(Participant.State.choices), path="participant__state"),
        text("chatbot", "the chatbot that the person's place is for", bots, expression=chatbot_of),
        text("cell", "the group that the person's place is for", cells, path="participant__cell__slug"),
    )


def chatbot_of(person: str) -> Coalesce:
    return Coalesce(F(f"{person}cell__chatbot"), F(f"{person}context__product"))


def prompt_levels(versions: tuple[Version, ...]) -> dict[str, str]:
    prompts = [prompt for version in versions for prompt in version.definition.prompts]
    found = {prompt.slug: prompt.title + variant_note(prompt) for prompt in prompts}
    drawn = (version.definition.set_questions for version in versions)
    return found | {slug: asked.item for questions in drawn for slug, asked in questions.items()}


def asking_columns(versions: tuple[Version, ...], way: str = "") -> tuple[ExportColumn, ...]:
    """Make the columns of prompt, occasion and arm; `way` is the lookup prefix of the response or flag."""
    arms = {arm.slug: arm.name for version in versions for arm in version.definition.arms}
    return (
        text("prompt", "the prompt", prompt_levels(versions), expression=lambda person: base_slug(f"{way}prompt__")),
        integer("occasion", "which time the person was asked it in this state, from 1", path=f"{way}prompt__occasion"),
        text("arm", "the state of the account in which it was asked; empty: the usual", arms, path=f"{way}prompt__arm"),
    )


def previous_prompt(versions: tuple[Version, ...]) -> ExportColumn:
    prompts = {asking.slug: asking.prompt for version in versions for asking in version.definition.askings}
    prompts |= {slug: slug for version in versions for slug in version.definition.set_questions}
    return text(
        "previous_prompt",
        "the prompt that the person was asked just before; empty for the first, and for imported people without places",
        **computed(lambda slug, order: prompts.get(before(slug, order), ""), "prompt__slug", "participant__order"),
    )


def variant_note(prompt: PromptDefinition) -> str:
    return f" (variant of {prompt.variant_of}: {prompt.variant})" if prompt.variant_of else ""


# --- answers and how they came about ------------------------------------------


def of_people(model: Any) -> Callable[[Study, Selection], QuerySet]:
    """Return a function that selects the model's rows of the selected people."""
    return lambda study, selection: model.objects.filter(
        selection.people("participant__"), participant__study=study
    ).order_by("id")


flags, contexts, revisions = map(of_people, (Flag, ChatbotContext, Response))


def newest_responses(study: Study, selection: Selection) -> QuerySet:
    """Select the newest accepted revision of each answer."""
    newer = Response.objects.filter(
        participant=OuterRef("participant"), prompt=OuterRef("prompt"), accepted=True, revision__gt=OuterRef("revision")
    )
    return revisions(study, selection).filter(~Exists(newer), accepted=True)


def participants(study: Study, selection: Selection) -> QuerySet:
    return Participant.objects.filter(selection.people(), study=study).order_by("id")


def position_of(prompt: str, order: Sequence[str]) -> int | None:
    return order.index(prompt) + 1 if prompt in order else None


def before(prompt: str, order: Sequence[str]) -> str:
    place = position_of(prompt, order) or 1
    return order[place - 2] if place > 1 else ""


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    return round((end - start).total_seconds(), 3) if start and end else None


def personal(what: str) -> dict[str, Any]:
    return computed(lambda counts: sum(counts.get(what, {}).values()), "personal")


RESPONSE = (
    text("kind", "what the prompt asks for", labels(Prompt.Kind.choices), path="prompt__kind"),
    integer(
        "position",
        "place of the prompt in this person's order, from 1; empty for imported people without places",
        **computed(position_of, "prompt__slug", "participant__order"),
    ),
    text("language", "the language in which the prompt was shown"),
    integer("revision", "which submitted revision this is, from 1"),
    text("text", "what was pasted, exactly as it was pasted; lines end with one line feed"),
    text("text_sha256", "SHA-256 over the text as UTF-8"),
    integer("characters", "length of the text", "characters", **computed(len, "text")),
    integer("personal_removed", "personal details that were removed before sending", "details", **personal("removed")),
    integer("personal_kept", "what looked like personal details and was sent", "details", **personal("kept")),
    moment("submitted_at", "when the server stored it; for imported rows the file's time, else that of the import"),
)
RATING = (
    integer("rating", "what the person gave the answer, from 1 to 5; empty where they gave nothing"),
    boolean("unrated", "whether they said that they can't say", path="is_unrated"),
)
UNREACHED = boolean(
    "unreached",
    "whether the person said that they can't find the state of the account; then there is no text",
    expression=lambda person: Exists(
        ReadBack.objects.filter(response=OuterRef("pk"), no_answer=ReadBack.NoAnswer.UNREACHED)
    ),
)
REVISION = (
    *named(RESPONSE, "kind", "position", "language", "revision"),
    boolean("accepted", "false: the paste checks asked about it and the person went back to it"),
    *named(RESPONSE, "text", "text_sha256", "characters"),
    text("html", "the clipboard's HTML flavour; data, not to be rendered; not in SPSS files", spss=False),
    integer("html_characters", "length of the HTML flavour", "characters", **computed(len, "html")),
    *named(RESPONSE, "personal_removed", "personal_kept"),
    moment("shown_at", "when the server sent the page"),
    *named(RESPONSE, "submitted_at"),
)
FLAG = (
    text(
        "check",
        "the paste check",
        {name: check.message or check.label for name, check in CHECKS.items()},
        path="check_name",
    ),
    integer("check_version", "version of the check"),
    text("outcome", "what the person did", labels(Flag.Outcome.choices)),
    text("message", "the sentence that was shown, in English; empty where nothing was said"),
    moment("shown_at", "when it was first shown"),
    moment("decided_at", "when the person decided"),
)
CONTEXT = (
    text("product", "the chatbot that the person says they used"),
    text("model_shown", "the model's name as the chatbot showed it"),
    text("plan", "which plan they use", labels(ChatbotContext.Plan.choices)),
    text("memory", "whether memory of earlier chats was on", labels(ChatbotContext.Switch.choices)),
    text("personalisation", "whether personalisation was on", labels(ChatbotContext.Switch.choices)),
    text("chat", "in which chat they asked; empty when imported", labels(ChatbotContext.Chat.choices)),
    text("chat_language", "the language in which they usually write to it"),
    text("device", "the device; empty when imported", labels(ChatbotContext.Device.choices)),
    moment("recorded_at", "when they said so"),
)


def evidence(name: str) -> dict[str, Any]:
    """Read the value that the page observed under this name."""
    return computed(lambda evidence: evidence.get(name), "evidence")


def of_hands(name: str) -> dict[str, Any]:
    return computed(lambda evidence: (evidence.get("hands") or {}).get(name), "evidence")


def of_pastes(name: str) -> dict[str, Any]:
    """Read the number under this name, if the page counted pastes."""
    return computed(lambda evidence: len(evidence.get(name, ())) if "pastes" in evidence else None, "evidence")


def over_revisions(summary: Aggregate) -> Callable[[str], Subquery]:
    same = Response.objects.filter(participant=OuterRef("participant"), prompt=OuterRef("prompt"))
    summed = same.order_by().values("prompt").annotate(found=summary).values("found")
    return lambda person: Subquery(summed)


def seconds_away(evidence: Row) -> float | None:
    away = evidence.get("away_ms")
    return None if away is None else away / 1000


CLIENT = "by the clock of the person's device"
SINCE = "milliseconds since 1970"
TIMING = (
    *named(RESPONSE, "position"),
    integer(
        "revisions",
        "revisions submitted to this prompt, accepted or not",
        "revisions",
        expression=over_revisions(Count("id")),
    ),
    moment(
        "first_shown_at",
        "when the server first sent a page that was then submitted",
        expression=over_revisions(Min("shown_at")),
    ),
    moment("submitted_at", "when the server stored the answer"),
    number(
        "seconds",
        "from the first page shown to the answer stored",
        "seconds",
        made=lambda row: seconds_between(row["first_shown_at"], row["submitted_at"]),
        needs=("submitted_at",),
    ),
    number("away_seconds", "how long the page was in the background", "seconds", **computed(seconds_away, "evidence")),
    integer("client_opened_at", f"when the page was opened {CLIENT}", SINCE, **evidence("opened_at")),
    integer("client_copied_at", f"when the prompt was copied {CLIENT}", SINCE, **evidence("copied_at")),
    integer("client_sent_at", f"when the answer was sent {CLIENT}", SINCE, **evidence("sent_at")),
    boolean(
        "observed",
        "whether the page could observe how the text was entered (it needs JavaScript)",
        **computed(lambda evidence: bool(evidence.get("observed")), "evidence"),
    ),
    integer("pasted", "characters pasted", "characters", **evidence("pasted")),
    integer("typed", "characters typed", "characters", **evidence("typed")),
    integer("removed", "characters deleted", "characters", **evidence("removed")),
    number("share_pasted", "pasted / (pasted + typed)", "share from 0 to 1", **evidence("share_pasted")),
    boolean("edited_after", "whether anything was changed after pasting", **evidence("edited_after")),
    integer("pastes", "how often something was pasted", "pastes", **of_pastes("pastes")),
    *(
        integer(name, f"{words}; empty where the page did not count", unit, **of_hands(name))
        for name, words, unit in (
            ("keys", "keys pressed", "keys"),
            ("pointer", "moves of the mouse or finger that the browser reported", "moves"),
            ("presses", "presses of the mouse or finger", "presses"),
            ("scrolls", "turns of the wheel and moves of a scrolling finger", "events"),
            ("untrusted", "keys, presses, moves and pastes that a script had made", "events"),
        )
    ),
    boolean("automated", "whether the browser said that a program drives it", **evidence("automated")),
    text("agent", "the agent that the request said it comes from", **evidence("agent")),
    integer(
        "page_words",
        "lines of the chatbot's own page that were taken out in one press",
        "lines",
        **of_pastes("page_words"),
    ),
)


def count_responses(person: str) -> Coalesce:
    answered = Response.objects.filter(participant=OuterRef("pk"), accepted=True).order_by().values("participant")
    return Coalesce(Subquery(answered.annotate(n=Count("prompt", distinct=True)).values("n")), 0)


PARTICIPANT = (
    text("step", "the furthest page that the person reached", labels(Participant.Step.choices)),
    text("reason", "why it ended as it did"),
    text("code", "the completion code shown at the end"),
    boolean("overflow", "completed after the place was given to somebody else; paid"),
    text("language", "language of the pages"),
    text("consent_version", "version of the consent text"),
    text("consent_language", "language of the consent text that the person read; empty for imported people"),
    text("consent_sha256", "SHA-256 over the consent text and its version"),
    moment("consented_at", "when the person agreed"),
    moment("last_seen_at", "the last sign of activity"),
    moment("finished_at", "when the person's participation ended"),
    number("seconds", "from consent to the end", "seconds", **computed(seconds_between, "consented_at", "finished_at")),
    text(
        "prompt_order",
        "the prompts in the order drawn for this person, separated by spaces",
        **computed(lambda order: " ".join(slug or "-" for slug in order), "order"),
    ),
    integer("order_number", "number that the order was drawn with"),
    integer("responses", "prompts answered", "prompts", expression=count_responses),
    integer(
        "attention_failed",
        "attention checks answered wrongly",
        "checks",
        **computed(lambda checks: sum(not one["passed"] for one in checks.get("attention", {}).values()), "checks"),
    ),
    integer(
        "comprehension_tries",
        "how often the comprehension check was sent",
        "tries",
        **computed(lambda checks: len(checks.get("comprehension", [])), "checks"),
    ),
    text("comments", "what the person wrote on the last page"),
)

# --- flow -------------------------------------------------------------------

FLOW = (
    text("outcome", "how they ended, or that they are still in progress", {o: o for o in OUTCOMES}),
    text("reason", "why, where a rule of the study says so"),
    boolean("overflow", "completed after the place was given to somebody else"),
    integer("people", "how many", "people"),
)


VERSION = {"_version": F("version__number"), "version_sha256": F("version__sha256")}


class Flow:
    """People and anonymous exits counted together; imported people never came and are left out."""

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
        counted = people.exclude(origin=Origin.IMPORTED).values(*keys, **VERSION)
        for row in counted.annotate(people=Count("pk")):
            state = row.pop("state")
            row["outcome"] = "in_progress" if state in OPEN else state
            row["reason"] = reason_of(state, row["reason"], row.pop("step"))
            yield row

    def gone(self) -> Iterator[Row]:
        exits = AnonymousExit.objects.filter(self.selection.people(), version__study=self.study).order_by()
        counted = exits.values("pilot", "origin", "step", outcome=F("kind"), **VERSION)
        for row in counted.annotate(people=Count("pk")):
            step = row.pop("step")
            yield row | {"reason": f"at {step}" if step else "", "overflow": False}

    def count(self) -> int:
        return sum(1 for _ in self.iterator(1))


# --- researchers' notes, which are in no bundle --------------------------------

NOTE = (
    integer("version", "number of the version that the note is about", path="version__number"),
    text(
        "participant",
        "the random label of the person that it is about, or of the answer's",
        expression=lambda person: Coalesce(F("participant__pseudonym"), F("response__participant__pseudonym")),
    ),
    text(
        "prompt", "the prompt of the answer that it is about", expression=lambda person: base_slug("response__prompt__")
    ),
    integer("occasion", "which time the person was asked it, from 1", path="response__prompt__occasion"),
    text("arm", "the state of the account in which it was asked", path="response__prompt__arm"),
    integer("revision", "the answer's revision", path="response__revision"),
    text("text", "the note, to the letter"),
    text("author", "the account that wrote it", path="author__username"),
    moment("written_at", "when it was written"),
    moment("changed_at", "when its author changed it last"),
)


def notes(study: Study, selection: Selection) -> QuerySet:
    """Select notes about the selected people and their answers, and about versions."""
    people = Q(participant__isnull=False) & selection.people("participant__")
    answers = Q(response__isnull=False) & selection.people("response__participant__")
    return Note.objects.filter(people | answers | Q(version__isnull=False), study=study).order_by("id")
