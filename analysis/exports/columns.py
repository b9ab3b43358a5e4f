"""The columns that the tables of every study have: what each holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from surveys.models import Annotation, AnnotationItem, ChatbotContext, Flag, Participant, Prompt, Slot
from surveys.monitoring.flow import OUTCOMES
from surveys.reading.checks import CHECKS

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


def labels(choices: Iterable[tuple[Any, Any]], *leave: str) -> dict[str, str]:
    return {str(value): str(label) for value, label in choices if value not in leave}


PID = text("pid", "Prolific's participant id (only in exports that were asked to hold it)")

# --- what people gave -------------------------------------------------------

ORIGIN = (
    text("study", "the study"),
    integer("version", "number of the study's version that the person saw"),
    text("version_sha256", "SHA-256 over all that participants of this version see"),
    boolean("pilot", "whether it was collected in the pilot"),
    text("origin", "where the person came from", labels(Participant.Origin.choices)),
)
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
    text("check", "the paste check", {name: check.message for name, check in CHECKS.items()}),
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

# --- what annotators said ---------------------------------------------------

ITEM_KEY = text("item", "the item's name in the study")
PILOT = boolean("pilot", "whether it belongs to the pilot")
ABOUT = (
    text("source", "by which the item's maker finds it again"),
    text("cluster", "the user whom it is about"),
    text("corpus", "where the user is from"),
)
SIDES = labels(Slot.Left.choices)
ITEM = (
    ITEM_KEY,
    PILOT,
    text("purpose", "what it is for", labels(AnnotationItem.Purpose.choices)),
    text("kind", "the kind of annotation"),
    *ABOUT,
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
    *ABOUT,
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
