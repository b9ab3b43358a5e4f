"""The settings of a run that only some conditions take: one record each.

Columns of the database and of exports, plans, the console's form, the API, the options of commands, and the words of
pages and figures derive from these records; `takes` of a condition names those that it has.
"""

from dataclasses import dataclass, make_dataclass
from typing import Any

from django.db import models

from analysis.models.corpora import Corpus, PersonaSet

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
