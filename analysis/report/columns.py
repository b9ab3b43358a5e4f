"""What tables of the report are made of: columns that say once what they hold, how it is written and its interval.

Pages, terminal, HTML and PDF render them, each in its own type; a part of the report declares them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.charts.figure import Figure, Options, Report, Row
from analysis.charts.panels import Panel
from analysis.report.samples import Data
from surveys.console.wording import Span, number, plural, sized, span

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

    `ci` is where its interval stands; beside it, or where `ci_why` finds it, is why there is none. `texts` says which
    texts a page's number leads to: what to ask for besides the row's prompt, source and model, or None. `short` is the
    label where there is little room. `why` is where a row says
    why the value is undefined. `chip` and `soft` stand beside the value.
    """

    name: str
    label: str
    form: Form = WORDS
    ci: str | Callable[[Row], Ends] = ""
    ci_why: Callable[[Row], str | None] | None = None
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

    def unsure(self, row: Row) -> str:
        """Why a value that is known has no interval."""
        if not self.ci or self.of(row) is None or self.around(row) is not None:
            return ""
        found = self.ci_why(row) if self.ci_why else at(row, f"{self.ci}_why") if isinstance(self.ci, str) else None
        return found if isinstance(found, str) else ""

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


OF_ITEMS = intervals("jackknife", "unit", "ci.*", "rarefied.ci.*")
OF_LETTERS = (*intervals("wilson", "unit", "ci", "shares.*.ci"), *intervals("jackknife", "unit", "ci_entropy"))
OF_DISTANCES = ("ci", "ci_tv")


@dataclass(frozen=True)
class Part:
    """A part of the report, from its numbers to its sentences.

    `tables` are for documents, `pages` for the comparing pages. `words` say what is computed; `say` is what a page
    opens with where no finding does. A figure is called like its part unless `figure` says otherwise; `draws_from` are
    other parts whose rows it takes. `begin` has a second process begin with the part while this one is at others;
    `reads` says that it is one of these, which wait for the database.
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
    draws_from: tuple[str, ...] = ()
    say: Callable[[Report], str] | None = None
    finders: tuple[Finder, ...] = ()
    is_brief: bool = False  # printed on a terminal unless parts are named
    is_long: bool = False  # lists of single numbers, which paper leaves to the figure
    begin: Callable[[Data], None] | None = None
    reads: bool = False

    @property
    def drawn_as(self) -> str:
        return self.figure or self.name


def rows_in(part: str, wanted: Callable[[Row], bool] = lambda row: True) -> Callable[[Report, Options], list[Row]]:
    return lambda report, options: [row for row in report.get(part) or [] if wanted(row)]


def is_choice(row: Row) -> bool:
    return bool(row["kind"] == "choice")


def is_list(row: Row) -> bool:
    return not is_choice(row)


# --- columns that many tables share

PROMPT = Column("prompt", "Prompt", Form("prompt"))
SOURCE = Column("source", "Source", Form("source"))
VARIANT = Column("source", "Source", Form("variant"))  # with what sets it apart from others of its name
MODEL = Column("model", "Model", Form("model"))
COMPARED = Column("model", "Compared", Form("model"), short="model")
CHATBOT = Column("model", "Chatbot", Form("model"))
WHO = (PROMPT, SOURCE, COMPARED)


def units_of(row: Row) -> str:
    """Of how many units the answers are, where some have several: 10 simulated users."""
    units, unit = row.get("units"), row.get("unit")
    return plural(units, unit) if unit and units is not None and units != row.get("n") else ""


N = Column("n", "n", COUNT, texts=lambda row: {}, soft=units_of)
SIZE = Column("n", "n", COUNT, soft=units_of)
UNKNOWN = Column("unknown", "Unknown", COUNT)
P_HOLM = Column("p_holm", "p", P, short="p (Holm)", why="why")


def settings(row: Row) -> str | None:
    """What sets a source apart from others of its name, where there is a column for it."""
    size, warmth = row.get("history_size"), row.get("temperature")
    parts = [f"{size:,} conversations"] if size is not None else []
    parts += [f"temperature {warmth:g}"] if warmth is not None and warmth != 1 else []
    parts += ["temperature unknown"] if warmth is None and row.get("imported") else []
    parts += [row["settings"]] if row.get("settings") else []
    return ", ".join(parts) or None


SETTINGS = Column("settings", "Settings", value=settings)


def tested(path: str, label: str, form: Form) -> tuple[Column, Column]:
    """A difference with its corrected p."""
    short = "difference, points" if form is POINTS else "difference"
    return (
        Column(f"{path}.effect", label, form, f"{path}.ci", short=short),
        Column(f"{path}.p_holm", "p", P, short="p (Holm)"),
    )


# --- measures of answers, each said once: where rows have it, what it is called, how it is written and drawn


@dataclass(frozen=True)
class Measure:
    """`label` heads a column, `title` a panel; `spoken` is its name in a sentence.

    What is a complement is 1 minus what the rows have, so that higher is more heterogeneous everywhere.
    """

    name: str
    label: str
    title: str
    definition: str
    unit: str = ""
    form: Form = PLAIN
    changes: Form = CHANGE  # how differences are written
    complement: "Measure | None" = None
    ticks: str = "~s"
    is_whole: bool = False
    is_bounded: bool = False  # its axis ends at 1
    is_sole: bool = False  # rows have one interval, which is its own; else one for each measure
    said: str = ""

    @property
    def key(self) -> str:
        """What the rows call it."""
        return self.complement.name if self.complement else self.name

    @property
    def spoken(self) -> str:
        return self.said or self.heading.lower()

    @property
    def heading(self) -> str:
        """The title without the unit."""
        return self.title.partition(",")[0]

    @property
    def panel(self) -> Panel:
        return Panel(self.name, self.title, format=self.ticks, integers=self.is_whole, bounded=self.is_bounded)

    def value(self, values: Any) -> float | None:
        known = number((values or {}).get(self.key))
        return known if known is None or not self.complement else 1 - known

    def interval(self, values: Any) -> Span | None:
        ends = span(at(values, "ci" if self.is_sole else f"ci.{self.key}"))
        return ends if ends is None or not self.complement else (1 - ends[1], 1 - ends[0])

    def why_no_interval(self, values: Any) -> str | None:
        found = (values or {}).get("ci_why")
        return found.get(self.key) if isinstance(found, dict) else found

    def column(self, inside: str = "", label: str = "") -> Column:
        """Its value, or the one that stands inside another value of the row (`rarefied`)."""

        def values(row: Row) -> Any:
            return row.get(inside) if inside else row

        return Column(
            f"{inside}.{self.name}" if inside else self.name,
            label or self.label,
            self.form,
            lambda row: self.interval(values(row)),
            lambda row: self.why_no_interval(values(row)),
            value=lambda row: self.value(values(row)),
            why=lambda row: at(row, f"{inside}.why" if inside else "why") or row.get("why") or "",
        )

    def differences(self, inside: str, label: str = "") -> tuple[Column, Column]:
        """A difference in it with its corrected p, as `inside` (`against_field`) has it."""
        label = label or f"{self.label}, points" * (self.changes is POINTS) or self.label
        effect, p = tested(f"{inside}.{self.key}", label, self.changes)
        if not self.complement:
            return effect, p
        found = effect

        def turned(row: Row) -> list[float] | None:
            ends = found.around(row)
            return None if ends is None else [-ends[1], -ends[0]]

        def negated(row: Row) -> float | None:
            change = found.of(row)
            return None if change is None else -change

        return replace(found, value=negated, ci=turned, ci_why=found.unsure), p

    def rarefied(self) -> Column:
        """Its value in as many units as all have; nothing where these are all responses that there are."""

        def drawn(row: Row) -> Any:
            found = row.get("rarefied")
            return found if found and found["n"] not in (None, row["n"]) else None

        return Column(
            f"rarefied.{self.name}",
            f"Rarefied {self.spoken}",
            self.form,
            lambda row: self.interval(drawn(row)),
            lambda row: self.why_no_interval(drawn(row)),
            value=lambda row: self.value(drawn(row)),
            soft=lambda row: sized(row["rarefied"]["n"]),
        )


UNIQUE = Measure(
    "unique",
    "Distinct items",
    "Distinct items",
    "How many distinct items the responses name.",
    unit="items",
    form=Form(digits=0),
    changes=Form(digits=0, sign=True),
    is_whole=True,
)
COVERAGE = Measure(
    "top5_coverage",
    "Top-five coverage",
    "Share of the five most frequent items",
    "Share of all mentions that the five most frequent items take.",
    unit="share",
    form=SHARE,
    changes=POINTS,
)
OUTSIDE = Measure(
    "outside_top5",
    "Outside top five",
    "Share outside the five most frequent",
    f"1 minus {COVERAGE.name}: higher is more heterogeneous.",
    unit="share",
    form=SHARE,
    changes=POINTS,
    complement=COVERAGE,
    ticks=".1~f",
    is_bounded=True,
    said="share outside the top five",
)
ENTROPY = Measure(
    "entropy_bits",
    "Entropy, bits",
    "Entropy, bits",
    "Shannon entropy, in bits, of the items' shares of all mentions, or of the known options' shares.",
    unit="bits",
    ticks=".1~f",
)
CORRECT = Measure(
    "correct_share",
    "Right answers",
    "Share answered correctly",
    "Correct answers divided by all answers, unknown ones counted as wrong.",
    unit="share",
    form=SHARE,
    changes=POINTS,
    ticks=".1~f",
    is_bounded=True,
    is_sole=True,
)
DISTANCE = Measure(
    "jsd_bits",
    "Distance, bits",
    "Jensen–Shannon divergence, bits",
    "Jensen–Shannon divergence (base 2) between the item distributions of field and source, 0 to 1.",
    unit="bits",
    form=FINE,
    ticks=".2~f",
    is_sole=True,
)
NOVEL = Measure(
    "novel_share",
    "Novel answers",
    "Questions with a new answer",
    "Share of questions on which a run gives a letter that no offline run at temperature 1 gives.",
    unit="share",
    form=SHARE,
)

# What is measured of recommendations, and of questions with choices, in the order in which it is shown.
OF_LISTS = (UNIQUE, OUTSIDE, ENTROPY)
OF_CHOICES = (CORRECT,)
DEFAULT = ENTROPY
# What an address may ask for, and by which name it is chosen.
ASKED = {measure.name: measure for measure in (DEFAULT, *(m for m in OF_LISTS if m is not DEFAULT), *OF_CHOICES)}
# By what the rows call it.
IN_ROWS = {known.name: known for known in (*(measure.complement or measure for measure in OF_LISTS), *OF_CHOICES)}
DEFINITIONS = {measure.name: measure.definition for measure in (*OF_LISTS, *OF_CHOICES, COVERAGE, DISTANCE, NOVEL)}
