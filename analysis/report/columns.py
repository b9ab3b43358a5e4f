"""What tables of the report are made of: columns that say once what they hold, how it is written and its interval.

Pages, terminal, HTML and PDF render them, each in its own type; a part of the report declares them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.charts.figure import Figure, Options, Report, Row
from analysis.report.samples import Data

Ends = Sequence[float] | None
Made = Callable[[Row], Any]


@dataclass(frozen=True)
class Form:
    """How a value is written. `kind` is number, count, p, dollars, ends or words, or a name: prompt, source, …"""

    kind: str = "number"
    digits: int = 2
    scale: float = 1
    unit: str = ""
    sign: bool = False

    @property
    def is_number(self) -> bool:
        return self.kind in ("number", "count", "p", "dollars", "ends")


WORDS, COUNT, P, DOLLARS = Form("words"), Form("count", 0), Form("p"), Form("dollars")
PLAIN, FINE = Form(), Form(digits=3)
SHARE, FINE_SHARE = Form(digits=0, scale=100, unit="%"), Form(digits=1, scale=100, unit="%")
ENDS, FINE_ENDS = Form("ends", 0, 100, "%"), Form("ends", 1, 100, "%")  # from where to where, as [low, high]
CHANGE, POINTS = Form(sign=True), Form(digits=0, scale=100, sign=True)


def at(row: Any, path: str) -> Any:
    """What stands in a row under keys joined by dots; None where one of them is missing."""
    for key in path.split("."):
        row = row.get(key) if isinstance(row, Mapping) else None
    return row


@dataclass(frozen=True)
class Column:
    """One number or word of a row, which stands at `name` (keys joined by dots) unless `value` finds it.

    `ci` is where its interval stands. `texts` says which texts a page's number leads to: what to ask for besides the
    row's prompt, source and model, or None. `short` is the label where there is little room. `why` is where a row says
    why the value is undefined. `chip` and `soft` stand beside the value.
    """

    name: str
    label: str
    form: Form = WORDS
    ci: str | Callable[[Row], Ends] = ""
    short: str = ""
    value: Made | None = None
    texts: Made | None = None
    href: Callable[[Row], tuple[str, Any]] | None = None  # a page of another kind, as its name and number
    why: str | Callable[[Row], str] = ""
    chip: Callable[[Row], str] | None = None
    soft: Callable[[Row], str] | None = None
    mark: Callable[[Row], str] | None = None  # a sign behind the value
    key: Made | None = None  # what it is sorted by
    nothing: str = "–"
    form_of: Callable[[Row], Form] | None = None  # where rows differ in how they are written

    def of(self, row: Row) -> Any:
        return self.value(row) if self.value else at(row, self.name)

    def around(self, row: Row) -> Ends:
        found: Ends = self.ci(row) if callable(self.ci) else at(row, self.ci) if self.ci else None
        return found

    def form_in(self, row: Row) -> Form:
        return self.form_of(row) if self.form_of else self.form

    def reason(self, row: Row) -> str:
        return self.why(row) if callable(self.why) else at(row, self.why) or "" if self.why else ""

    @property
    def head(self) -> str:
        """The label within a line: what is no name begins small."""
        return self.short or self.label[:1].lower() + self.label[1:]


Columns = Sequence[Column]


@dataclass(frozen=True)
class Listing:
    """A table as it is declared: of which rows, in which columns. `name` is its anchor on a page."""

    name: str
    title: str | Callable[[Options], str]
    columns: Columns | Callable[[list[Row], Options], Columns]
    rows: Callable[[Report, Options], list[Row]]
    definitions: tuple[str, ...] = ()
    note: str | Callable[[list[Row]], str] = ""
    empty: str | Callable[[Options], str] = "Nothing to show for these filters."
    optional: bool = False  # not there at all without rows

    def columns_of(self, rows: list[Row], options: Options) -> Columns:
        return self.columns(rows, options) if callable(self.columns) else self.columns


@dataclass(frozen=True)
class Finder:
    """What finds sentences of one kind; `place` is where in the order of all kinds they are told."""

    place: int
    find: Callable[[Report], Iterable[Row]]


def intervals(kind: str, unit: str, *columns: str, of: str = "") -> tuple[Row, ...]:
    """Columns that are an interval of this kind over these units, as docs/methods.md names them.

    A star is any name; `of` is the kind of prompt, where rows of both kinds have the column.
    """
    return tuple({"column": column, "kind": kind, "unit": unit} | ({"of": of} if of else {}) for column in columns)


OF_ITEMS = intervals("bootstrap", "response", "ci.*", "around.*", "rarefied.ci.*")
OF_LETTERS = (*intervals("wilson", "response", "ci", "shares.*.ci"), *intervals("bootstrap", "response", "ci_entropy"))
OF_DISTANCES = ("ci", "ci_tv", "around", "around_tv")


@dataclass(frozen=True)
class Part:
    """A part of the report, from its numbers to its sentences.

    `tables` are for documents, `pages` for the comparing pages. `words` say what is computed; `say` is what a page
    opens with where no finding does. A figure is called like its part unless `figure` says otherwise.
    """

    name: str
    words: str
    compute: Callable[[Data], Any]
    definitions: Mapping[str, str]
    intervals: tuple[Row, ...] = ()
    tables: tuple[Listing, ...] = ()
    pages: tuple[Listing, ...] = ()
    draw: Callable[[Report, Options], Figure] | None = None
    figure: str = ""
    say: Callable[[Report], str] | None = None
    finders: tuple[Finder, ...] = ()
    is_brief: bool = False  # printed on a terminal unless parts are named
    is_long: bool = False  # lists of single numbers, which paper leaves to the figure

    @property
    def drawn_as(self) -> str:
        return self.figure or self.name


def rows_in(part: str, wanted: Callable[[Row], bool] = lambda row: True) -> Callable[[Report, Options], list[Row]]:
    return lambda report, options: [row for row in report.get(part) or [] if wanted(row)]


def is_choice(row: Row) -> bool:
    return bool(row["kind"] == "choice")


def is_list(row: Row) -> bool:
    return not is_choice(row)


def prompt_name(slug: str) -> str:
    """`weekend-trips` as Weekend trips: the names that stand in the figures too."""
    words = slug.replace("-", " ")
    return words[:1].upper() + words[1:]


# --- columns that many tables share

PROMPT = Column("prompt", "Prompt", Form("prompt"))
SOURCE = Column("source", "Source", Form("source"))
VARIANT = Column("source", "Source", Form("variant"))  # with what sets it apart from others of its name
MODEL = Column("model", "Model", Form("model"))
COMPARED = Column("model", "Compared", Form("model"), short="model")
CHATBOT = Column("model", "Chatbot", Form("model"))
WHO = (PROMPT, SOURCE, COMPARED)
N = Column("n", "n", COUNT, texts=lambda row: {})
SIZE = Column("n", "n", COUNT)
UNKNOWN = Column("unknown", "Unknown", COUNT)
P_HOLM = Column("p_holm", "p", P, short="p (Holm)", why="why")


def settings(row: Row) -> str | None:
    """What sets a source apart from others of its name, where there is a column for it."""
    size, warmth = row.get("history_size"), row.get("temperature")
    parts = [f"{size} conversations"] if size is not None else []
    parts += [f"temperature {warmth:g}"] if warmth is not None and warmth != 1 else []
    return ", ".join(parts) or None


SETTINGS = Column("settings", "Settings", value=settings)


def tested(path: str, label: str, form: Form) -> tuple[Column, Column]:
    """A difference with its corrected p."""
    short = "difference, points" if form is POINTS else "difference"
    return (
        Column(f"{path}.effect", label, form, f"{path}.ci", short=short),
        Column(f"{path}.p_holm", "p", P, short="p (Holm)"),
    )
