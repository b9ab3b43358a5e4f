"""The kinds of annotation: what each shows and asks, and which keys answer it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from surveys.studies.files.payloads import Reader, read_evidence, read_history, read_parts, read_text, read_texts

# Keys that every annotation page reserves.
PAGE_KEYS = {"e": "next evidence", "g": "guidelines", "s": "skip", "u": "undo", "?": "help"}
SCALES = ("nominal", "ordinal", "text")
LONGEST_REASON = 2_000
# Between a question's name and the part of the item that it is about: `preference/a1`.
PART = "/"
GENERIC, PERSONALISED = "generic", "personalised"
SIDES = (GENERIC, PERSONALISED)
# The kind of studies made by an import, whose questions are in their scales.
IMPORTED = "imported"


class KindError(ValueError):
    """A kind that cannot work: its keys collide, or its questions can't be told apart."""


class LabelFault(ValueError):
    """Faults of the given labels, by field."""

    def __init__(self, faults: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {fault}" for name, fault in faults.items()))
        self.faults = faults


@dataclass(frozen=True)
class LabelOption:
    value: str
    label: str
    key: str = ""
    hint: str = ""


@dataclass(frozen=True)
class LabelQuestion:
    """One question; with `per`, asked about each entry of that key of the payload.

    `choices` are in scale order, and are shown in the order of their keys. A question of the scale `text` has none; a
    `toggle` is a switch that is always at hand and off until it is turned on (its last choice). `positive` is the label
    that F1 and rates are about.
    """

    name: str
    text: str
    choices: tuple[LabelOption, ...] = ()
    scale: str = "nominal"
    per: str = ""
    required: bool = True
    toggle: bool = False
    positive: str = ""

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(choice.value for choice in self.choices)

    @property
    def shown(self) -> tuple[LabelOption, ...]:
        return tuple(sorted(self.choices, key=lambda choice: choice.key))

    @property
    def is_label(self) -> bool:
        return self.scale != "text"


@dataclass(frozen=True)
class Kind:
    """A kind of annotation: keys that its items need and may have, its questions, and the template that shows it.

    `sided`: two responses side by side in a balanced order; the labels of its ordinal question name the left one first,
    and are turned back for analysis. `headline` is the key whose text names an item in lists, `sample` an item as a
    file gives it, for docs, tests and trials. Raises KindError if keys collide.
    """

    name: str
    title: str
    questions: tuple[LabelQuestion, ...]
    needs: Mapping[str, Reader]
    template: str
    headline: str
    sample: Mapping[str, Any]
    may: Mapping[str, Reader] = field(default_factory=dict)
    sided: bool = False

    def __post_init__(self) -> None:
        if faults := list(find_collisions(self.questions)):
            raise KindError(f"{self.name}: {'; '.join(faults)}")

    @property
    def main(self) -> LabelQuestion:
        """The question that is meant if none is named."""
        return self.questions[0]


def find_collisions(questions: Iterable[LabelQuestion]) -> Iterator[str]:
    """Find keys that would mean two things at once, and questions or labels of the same name.

    Only one question with choices is active at a time, so two of them may share keys; a toggle is always at hand.
    """
    questions = list(questions)
    names = [question.name for question in questions]
    yield from (f"two questions are called {name!r}" for name in sorted({n for n in names if names.count(n) > 1}))
    toggles = {choice.key: q.name for q in questions if q.toggle for choice in q.choices if choice.key}
    for question in questions:
        yield from question_faults(question, {} if question.toggle else toggles)


def question_faults(question: LabelQuestion, toggles: Mapping[str, str]) -> Iterator[str]:
    if PART in question.name or question.scale not in SCALES:
        yield f"{question.name!r} is no name, or {question.scale!r} no scale, for a question"
    if bool(question.choices) is not question.is_label:
        yield f"{question.name} must have choices, or the scale `text`"
    if question.positive and question.positive not in question.values:
        yield f"{question.name} has no label {question.positive!r}"
    for value in sorted({value for value in question.values if question.values.count(value) > 1}):
        yield f"{question.name} has the label {value!r} more than once"
    keys = [choice.key for choice in question.choices if choice.key]
    for key in dict.fromkeys(keys):
        if taken := key_taken(key, keys, toggles):
            yield f"the key {key!r} of {question.name} {taken}"


def key_taken(key: str, keys: list[str], toggles: Mapping[str, str]) -> str:
    if len(key) != 1 or key != key.lower():
        return "must be one lower-case letter, digit or character"
    if key in PAGE_KEYS:
        return f"is the page's own ({PAGE_KEYS[key]})"
    if keys.count(key) > 1:
        return "stands for two of its choices"
    return f"is that of {toggles[key]} too" if key in toggles else ""


# The kinds -------------------------------------------------------------------------------------------------

QUALITY = LabelQuestion(
    "quality",
    "Is this a fair thing to remember about this person?",
    (
        LabelOption("no", "Doesn't make sense", "3", "Wrong, unsupported, or only about this one task."),
        LabelOption("maybe", "Maybe", "2", "It could be so, but the evidence is thin."),
        LabelOption("yes", "Makes sense", "1", "The conversation supports it as a lasting fact."),
    ),
    scale="ordinal",
    positive="no",  # a verifier has to find unsupported attributes
)
UNCOMFORTABLE = LabelQuestion(
    "uncomfortable",
    "Remembering this would feel uncomfortable",
    (LabelOption("no", "No"), LabelOption("yes", "Yes", "x")),
    required=False,
    toggle=True,
    positive="yes",
)
UNCOMFORTABLE_WHY = LabelQuestion("uncomfortable-why", "Why, if you would like to say", scale="text", required=False)
RELEVANCE = LabelQuestion(
    "relevance",
    "Would the response to this prompt change if the chatbot knew this?",
    (LabelOption("no", "No", "2"), LabelOption("yes", "Yes", "1")),
    positive="yes",
)
PREFERENCE = LabelQuestion(
    "preference",
    "Thinking of this, which answer do you prefer?",
    (
        LabelOption("1", "A, strongly", "1"),
        LabelOption("2", "A, a little", "2"),
        LabelOption("3", "No difference", "3"),
        LabelOption("4", "B, a little", "4"),
        LabelOption("5", "B, strongly", "5"),
    ),
    scale="ordinal",
    per="attributes",
)
ERROR = LabelQuestion(
    "error",
    "What is wrong with this statement?",
    (
        LabelOption("overgeneralisation", "Says too much", "1", "One task or one moment is taken for a lasting trait."),
        LabelOption("missing-evidence", "Not supported", "2", "Nothing in the conversations shows it."),
        LabelOption(
            "task-context", "Mixed up with the task", "3", "It is the subject, a fiction, or the chatbot's words."
        ),
        LabelOption(
            "not-standalone", "Only about this task", "4", "It does not say anything about the person by itself."
        ),
        LabelOption("other", "Something else", "5"),
    ),
)

_CONVERSATION = {"title": "May", "turns": [{"role": "user", "text": "I like tea, and I drink it every day."}]}
_STATEMENT = {"history": [_CONVERSATION], "attribute": "Drinks tea.", "evidence": ["I like tea"]}

KINDS: dict[str, Kind] = {
    "attribute": Kind(
        "attribute",
        "Does this make sense?",
        (QUALITY, UNCOMFORTABLE, UNCOMFORTABLE_WHY),
        needs={"history": read_history, "attribute": read_text, "evidence": read_evidence},
        may={"before": read_text},
        template="annotation/attribute.html",
        headline="attribute",
        sample=_STATEMENT,
    ),
    "relevance": Kind(
        "relevance",
        "Would it change the response?",
        (RELEVANCE,),
        needs={"attribute": read_text, "prompt": read_text},
        template="annotation/relevance.html",
        headline="attribute",
        sample={"attribute": "Has two cups.", "prompt": "Which tea is best?"},
    ),
    "preference": Kind(
        "preference",
        "Which answer would you rather get?",
        (PREFERENCE,),
        needs={"prompt": read_text, "attributes": read_parts, GENERIC: read_text, PERSONALISED: read_text},
        may={"profile": read_texts},
        template="annotation/preference.html",
        headline="prompt",
        sample={
            "prompt": "Which tea suits me?",
            "profile": ["Drinks no milk."],
            "attributes": [{"id": "milk", "text": "Drinks no milk."}],
            GENERIC: "Assam.",
            PERSONALISED: "Assam, without milk.",
        },
        sided=True,
    ),
    "error": Kind(
        "error",
        "What is wrong with it?",
        (ERROR,),
        needs={"history": read_history, "attribute": read_text, "evidence": read_evidence},
        template="annotation/error.html",
        headline="attribute",
        sample=_STATEMENT,
    ),
}


# Other words for the same questions ------------------------------------------------------------------------


@dataclass(frozen=True)
class QuestionWords:
    """Other words for one question: its text, and by label its choices and hints; empty ones change nothing."""

    question: str
    text: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)


def reword(question: LabelQuestion, words: QuestionWords) -> LabelQuestion:
    """Reword a question; its meaning and values stay. New labels or hints replace all old hints."""
    hints = words.hints if words.labels or words.hints else {choice.value: choice.hint for choice in question.choices}
    choices = tuple(
        replace(choice, label=words.labels.get(choice.value, choice.label), hint=hints.get(choice.value, ""))
        for choice in question.choices
    )
    return replace(question, text=words.text or question.text, choices=choices)


# The words of "Re-Centering Humans in LLM Personalization", as far as it prints them: the labels of appendix G, the
# criterion of section 5.1, the scale of appendix G, and the categories of table 5. It prints no sentence by which the
# first and the last question were put, and names only the ends of the scale.
PUBLISHED_WORDS = "recentering-humans"
WORDINGS: dict[str, tuple[QuestionWords, ...]] = {
    PUBLISHED_WORDS: (
        QuestionWords(
            "quality",
            "Does this attribute make sense?",
            {"no": "Doesn't make sense", "maybe": "Maybe", "yes": "Makes sense"},
            {"no": "Unsupported or incorrect.", "maybe": "Uncertain.", "yes": "Plausible given the conversation."},
        ),
        QuestionWords(
            "relevance",
            "Should this attribute be considered when personalizing the response?",
            {"no": "NO", "yes": "YES"},
            {
                "no": "The response would be unchanged without it.",
                "yes": "It would affect the response in any way, explicitly mentioned or implicitly impacting it.",
            },
        ),
        QuestionWords(
            "preference",
            "Which response do you prefer given this attribute?",
            {"1": "1, strongly prefer A", "2": "2", "3": "3", "4": "4", "5": "5, strongly prefer B"},
        ),
        QuestionWords(
            "error",
            "What is the dominant reason why this attribute was flagged?",
            {
                "overgeneralisation": "Overgeneralization",
                "missing-evidence": "Missing evidence",
                "task-context": "Task-context confusion",
                "not-standalone": "Attribute not standalone",
                "other": "Others",
            },
            {
                "overgeneralisation": "Broad or stable user traits are inferred from narrow, one-off, or situational "
                "evidence.",
                "missing-evidence": "The attribute relies on details that are not visible, mismatched, or "
                "insufficiently supported by the excerpt.",
                "task-context": "The attribute is inferred from the task subject, fictional framing, or "
                "assistant-added content rather than the user's own statements.",
                "not-standalone": "The attribute mainly describes the immediate task or artifact and does not stand "
                "alone as a context-independent user trait.",
            },
        ),
    )
}


# Labels ----------------------------------------------------------------------------------------------------


def fields_of(questions: Iterable[LabelQuestion], payload: Mapping[str, Any]) -> dict[str, LabelQuestion]:
    """Every field of an item's form, such as `quality` or `preference/a1`, with its question."""
    return {name: question for question in questions for name in names_of(question, payload)}


def names_of(question: LabelQuestion, payload: Mapping[str, Any]) -> list[str]:
    if not question.per:
        return [question.name]
    return [f"{question.name}{PART}{part['id']}" for part in payload.get(question.per, ())]


def read_labels(
    questions: Iterable[LabelQuestion], payload: Mapping[str, Any], given: Mapping[str, str]
) -> dict[str, str]:
    """Read the labels that were sent, by field; a toggle that was not sent is off. Raises LabelFault."""
    labels, faults = {}, {}
    for name, question in fields_of(questions, payload).items():
        value = given.get(name, "").replace("\x00", "").strip()
        if question.toggle and not value:
            value = question.values[0]
        if fault := label_fault(question, value):
            faults[name] = fault
        elif value:
            labels[name] = value
    if faults:
        raise LabelFault(faults)
    return labels


def label_fault(question: LabelQuestion, value: str) -> str:
    if not value:
        return "has no answer yet" if question.required else ""
    if not question.is_label:
        return f"is longer than {LONGEST_REASON:,} characters" if len(value) > LONGEST_REASON else ""
    return "" if value in question.values else f"cannot be {value[:40]!r}; it is one of {', '.join(question.values)}"


def turn_back(question: LabelQuestion, value: str, left: str) -> str:
    """Turn a label of a sided kind into 1 = generic … 5 = personalised, whichever was shown on the left."""
    if left != PERSONALISED or value not in question.values or question.scale != "ordinal":
        return value
    return question.values[::-1][question.values.index(value)]
