"""The conditions in which a model is asked, and a run's settings that only some of them take: one record each.

What a condition puts in front of a prompt is written by its builder in `analysis.runs.recipes.recipes`. From a setting
derive columns of the database and of exports, plans, the console's form, the API, the options of commands, and the
words of pages and figures; `takes` of a condition names those that it has.
"""

from dataclasses import dataclass, make_dataclass
from typing import Any

from django.db import models

from analysis.models.corpora import Corpus, PersonaSet


class ConditionError(Exception):
    """A run's messages can't be built; the message says what is missing."""


class GoneError(ConditionError):
    """What one simulated user was made of is gone, as after a person was erased; others' messages can be built."""


@dataclass(frozen=True)
class Look:
    """A colour for each scheme, and the shape that goes with it: one of Vega-Lite's, or a name that the theme knows."""

    light: str
    dark: str
    printed: str
    shape: str


@dataclass(frozen=True)
class AnswerSource:
    """A source of answers, as tables and figures name it."""

    slug: str
    label: str
    prose: str  # in the middle of a sentence
    look: Look


OF_PUPPETS = ("users", "repeats_per_user")


@dataclass(frozen=True)
class Condition(AnswerSource):
    sentence: str  # what it means, after its label in the form of a new run
    takes: tuple[str, ...] = ()  # a run's settings, besides those that all conditions take
    needs: tuple[str, ...] = ()  # those of them that must be given
    counted: str = ""  # one of what stands in front of a prompt

    @property
    def is_puppet(self) -> bool:
        """Whether simulated users ask."""
        return "users" in self.takes

    def users_differ(self, per_user: bool) -> bool:
        """Whether simulated users differ in what stands in front; a whole corpus gives everybody the same."""
        return self.is_puppet and (per_user or "per_user" not in self.takes)


# Colours are safe for colour-blind readers (Okabe-Ito); tests check how far apart they are.
FIELD = AnswerSource("field", "Field", "the field", Look("#d55e00", "#f07f2e", "#c25400", "square"))
# In the order of legends, tables and forms.
CONDITIONS = {
    condition.slug: condition
    for condition in (
        Condition(
            "offline",
            "Offline",
            "offline",
            Look("#008f68", "#1fb58c", "#00795a", "circle"),
            sentence="the prompt alone, without any context.",
        ),
        Condition(
            "sp-history",
            "SP-History",
            "SP-History",
            Look("#1f8fd1", "#6cc4f2", "#1779b5", "x"),
            sentence="real conversations of more than 4 turns, drawn by seed for each simulated user, stand before the "
            "prompt.",
            takes=(*OF_PUPPETS, "corpus", "history_size", "language", "toxic"),
            needs=("corpus",),
            counted="conversation",
        ),
        Condition(
            "sp-rag",
            "SP-RAG",
            "SP-RAG",
            Look("#c2529a", "#d98bb8", "#b0508a", "triangle-up"),
            sentence="the conversations most similar to the prompt stand before it, the nearest last.",
            takes=(*OF_PUPPETS, "corpus", "history_size", "language", "toxic", "per_user"),
            needs=("corpus",),
            counted="conversation",
        ),
        Condition(
            "sp-profile",
            "SP-Profile",
            "SP-Profile",
            Look("#0055a4", "#4f74ea", "#003f7d", "diamond"),
            sentence="a profile drawn from the personas stands in the system message.",
            takes=(*OF_PUPPETS, "personas"),
            needs=("personas",),
            counted="sentence",
        ),
        Condition(
            "sp-memory",
            "SP-Memory",
            "SP-Memory",
            Look("#7d1235", "#e6335f", "#6b0c30", "hourglass"),
            sentence="attributes of one user of the corpus, those most relevant to the prompt first, stand in the "
            "system message; attributes that people or models rejected do not.",
            takes=(*OF_PUPPETS, "corpus", "memory_size", "toxic"),
            needs=("corpus",),
            counted="attribute",
        ),
    )
}
CHOICES = [(slug, condition.label) for slug, condition in CONDITIONS.items()]
PUPPETS = tuple(slug for slug, condition in CONDITIONS.items() if condition.is_puppet)
SOURCES: dict[str, AnswerSource] = {FIELD.slug: FIELD, **CONDITIONS}
LABELS = {slug: source.label for slug, source in SOURCES.items()}  # imported sources are named by their files


HISTORY_SIZE = 100  # conversations, unless the run says otherwise
MEMORY_SIZE = 10  # attributes, likewise


@dataclass(frozen=True)
class RunSetting:
    name: str
    kind: Any  # int, bool, str, or the model whose rows are chosen by their names
    label: str  # in forms, and where runs are compared
    help: str = ""
    default: Any = None
    usual: int = 0  # of a number that may be left open: its value then
    most: int = 0  # of a number, which is at least 1; of a text, its length
    metavar: str | None = None
    column: str = ""  # what the column of exports holds; a setting without one is in `settings` there, in `words`
    words: str = "{}"  # how pages, figures and exports say a value
    words_off: str = ""  # and that a switch is off, if that sets two sources apart
    short: str = "{}"  # how a list of runs says it
    unit: str = ""  # of a number: what it counts in front of a prompt
    heading: str = ""  # of a number with a unit, in the tables of figures
    noun: str = ""  # what is chosen by name
    missing: str = ""  # what a form says if a condition needs it and it is missing
    is_stored: bool = True  # in a column of its own; how often a simulated user is asked is in a run's `repeats`

    @property
    def chooses_row(self) -> bool:
        return self.kind not in (int, bool, str)

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    def of(self, run: Any) -> Any:
        """The run's value; for a chosen row, its name."""
        value = getattr(run, self.name)
        return (value.name if value else "") if self.chooses_row else value

    def field(self) -> models.Field:
        """Its column in the table of runs."""
        if self.chooses_row:
            return models.ForeignKey(self.kind, null=True, on_delete=models.PROTECT)
        if self.kind is str:
            return models.CharField(max_length=self.most, blank=True)
        if self.kind is bool:
            return models.BooleanField(default=self.default)
        if self.default is None:
            return models.PositiveIntegerField(null=True)
        return models.PositiveIntegerField(default=self.default)


# In the order in which forms ask for them.
SETTINGS = (
    RunSetting(
        "users", int, "Simulated users", default=1, most=10_000, metavar="N", column="simulated users", short="{} users"
    ),
    RunSetting(
        "repeats_per_user",
        int,
        "Repeats per user",
        "How often each is asked each prompt. Default: 1.",
        most=100_000,
        metavar="N",
        is_stored=False,
    ),
    RunSetting(
        "corpus",
        Corpus,
        "Corpus",
        metavar="NAME",
        column="the corpus that they come from",
        noun="corpus",
        missing="Choose the corpus whose conversations or attributes stand in front.",
    ),
    RunSetting(
        "personas",
        PersonaSet,
        "Personas",
        metavar="NAME",
        column="the set of personas that profiles are drawn from",
        noun="set of personas",
        missing="Choose the personas that profiles are drawn from.",
    ),
    RunSetting(
        "history_size",
        int,
        "Conversations in front",
        f"As many as fit the model's window. Default: {HISTORY_SIZE}.",
        usual=HISTORY_SIZE,
        most=1000,
        metavar="K",
        column="conversations in front; empty: the default, or none",
        short="K {}",
        unit="conversation",
        heading="history size",
    ),
    RunSetting(
        "memory_size",
        int,
        "Attributes in front",
        f"As many as fit the model's window. Default: {MEMORY_SIZE}.",
        usual=MEMORY_SIZE,
        most=100,
        metavar="K",
        column="attributes in front; empty: the default, or none",
        short="K {}",
        unit="attribute",
        heading="memory size",
    ),
    RunSetting(
        "language",
        str,
        "Language of the conversations",
        "Its code, or any. Default: the study’s.",
        most=30,
        metavar="CODE",
        words="histories in {}",
        short="language {}",
    ),
    RunSetting(
        "toxic", bool, "Toxic and redacted conversations too", default=False, words="toxic ones too", short="toxic: {}"
    ),
    RunSetting(
        "per_user",
        bool,
        "Only from one user's own history",
        default=False,
        column="whether they are of one user's own history",
        words="one user’s",
        words_off="all users’",
        short="one user each: {}",
    ),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
STORED = tuple(setting for setting in SETTINGS if setting.is_stored)
# Settings that set two sources apart and have a column in every row about them; then what they are drawn from.
APART = tuple(setting for setting in STORED if setting.column and setting.name != "users")
IN_ROWS = tuple(sorted(APART, key=lambda setting: setting.chooses_row))
CHOSEN = tuple(setting for setting in STORED if setting.chooses_row)
DRAWN = tuple(setting.name for setting in CHOSEN)
SAID = tuple(setting for setting in STORED if not setting.column)
AMOUNTS = tuple(setting for setting in IN_ROWS if setting.unit)


def drawn_from(asked: Any) -> list[Any]:
    """The rows from which a run, or its plan, draws what stands in front."""
    return [row for name in DRAWN if (row := getattr(asked, name))]


def number_in_front(run: Any) -> int:
    """How many conversations or attributes to put in front of a prompt, as far as they fit."""
    setting = next(each for each in AMOUNTS if each.name in run.registered.takes)
    return setting.usual if setting.of(run) is None else setting.of(run)


def with_fields(name: str, defaults: dict[str, Any]) -> Any:
    """Make a dataclass with these fields, as the base of one that has more."""
    fields = [(field, Any, default) for field, default in defaults.items()]
    return make_dataclass(name, fields, frozen=True, kw_only=True)
