"""Declarations of the report's parts and tables, the columns that many tables share, and the measures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.charts.figure import Figure, Options, Report, Row
from analysis.charts.panels import Panel
from analysis.charts.rows import amount_of, amount_words
from analysis.charts.tables import (
    CHANGE,
    COUNT,
    FINE,
    PLAIN,
    POINTS,
    SHARE,
    Cell,
    Column,
    Made,
    NumberFormat,
    P,
    Table,
    at,
)
from analysis.report.claims.enough import few_in
from analysis.report.samples import Data
from surveys.studies.wording import Span, number, plural, sized, span

Columns = Sequence[Column]


@dataclass(frozen=True)
class TableSpec:
    """The declaration of a table: its rows and its columns. `name` is its anchor on a page."""

    name: str
    title: str | Callable[[Options], str]
    columns: Columns | Callable[[list[Row], Options], Columns]
    rows: Callable[[Report, Options], list[Row]]
    definitions: tuple[str, ...] = ()
    note: str | Callable[[list[Row]], str] = ""
    empty: str | Callable[[Options], str] = "Nothing to show for these filters."
    optional: bool = False  # left out altogether without rows

    def table(self, rows: list[Row], options: Options, cell: Callable[[Column, Row], Cell] = Column.cell) -> Table:
        columns = self.columns(rows, options) if callable(self.columns) else self.columns
        return Table(
            columns,
            [[cell(column, row) for column in columns] for row in rows],
            self.title(options) if callable(self.title) else self.title,
            self.name,
            self.note(rows) if callable(self.note) else self.note,
            self.definitions,
            self.empty(options) if callable(self.empty) else self.empty,
        )


def intervals(kind: str, unit: str, *columns: str, of: str = "") -> tuple[Row, ...]:
    """Declare columns as intervals of this kind over these units, in the terms of docs/methods.md.

    A star matches any name; `of`: the kind of prompt, for columns in rows of both kinds.
    """
    return tuple({"column": column, "kind": kind, "unit": unit} | ({"of": of} if of else {}) for column in columns)


OF_ITEMS = intervals("jackknife", "unit", "ci.*", "rarefied.ci.*")
OF_LETTERS = (*intervals("wilson", "unit", "ci", "shares.*.ci"), *intervals("jackknife", "unit", "ci_entropy"))
OF_DISTANCES = ("ci", "ci_tv")


@dataclass(frozen=True)
class Part:
    """A part of the report, from its numbers to its sentences.

    `tables` are for documents, `pages` for the comparing pages. `words`: its name in progress; `say`: a page's opening
    if nothing is compared; `figure`: the figure's name if not the part's; `draws_from`: other parts it draws from.
    """

    name: str
    words: str
    compute: Callable[[Data], Any]
    definitions: Mapping[str, str]
    intervals: tuple[Row, ...] = ()
    tables: tuple[TableSpec, ...] = ()
    pages: tuple[TableSpec, ...] = ()
    draw: Callable[[Report, Options], Figure] | None = None
    figure: str = ""
    draws_from: tuple[str, ...] = ()
    say: Callable[[Report], str] | None = None
    is_brief: bool = False  # printed on a terminal unless parts are named
    is_long: bool = False  # its tables are too long for paper, which has the figure

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

PROMPT = Column("prompt", "Prompt", NumberFormat("prompt"))
SOURCE = Column("source", "Source", NumberFormat("source"))
VARIANT = Column("source", "Source", NumberFormat("variant"))  # with what tells it from others of its name
MODEL = Column("model", "Model", NumberFormat("model"))
COMPARED = Column("model", "Compared", NumberFormat("model"), short="model")
CHATBOT = Column("model", "Chatbot", NumberFormat("model"))
WHO = (PROMPT, SOURCE, COMPARED)


def units_of(row: Row) -> str:
    """The number of units, such as 10 simulated users, if some gave several answers; else empty."""
    units, unit = row.get("units"), row.get("unit")
    return plural(units, unit) if unit and units is not None and units != row.get("n") else ""


N = Column("n", "n", COUNT, texts=lambda row: {}, soft=units_of)
SIZE = Column("n", "n", COUNT, soft=units_of)
UNKNOWN = Column("unknown", "Unknown", COUNT)
P_HOLM = Column(
    "p_holm",
    "p",
    P,
    value=lambda row: None if few_in(row) else row.get("p_holm"),
    short="p (Holm)",
    why=lambda row: row.get("why") or few_in(row),
)
CORRECTED = "p is corrected for all tests of this page, over prompts, sources, models and measures (Holm)."
HOLM = {
    "p_holm": "p corrected by Holm’s method for all tests of its page, over prompts, sources, models, measures: where "
    "nothing differs, any of them is below .05 in at most 5 of 100 studies.",
    "p_tail": "The p that the correction takes: finer than one draw in all where few draws are as large.",
}


def settings(row: Row) -> str | None:
    """The settings of a row's source, for a column of their own."""
    warmth = row.get("temperature")
    parts = [amount_words(row)] if amount_of(row) is not None else []
    parts += [f"temperature {warmth:g}"] if warmth is not None and warmth != 1 else []
    parts += ["temperature unknown"] if warmth is None and row.get("imported") else []
    parts += [row["settings"]] if row.get("settings") else []
    return ", ".join(parts) or None


SETTINGS = Column("settings", "Settings", value=settings)


def tested(path: str, label: str, form: NumberFormat) -> tuple[Column, Column]:
    """Columns for a difference and its corrected p."""
    short, inside = "difference, points" if form is POINTS else "difference", path.partition(".")[0]

    def held(row: Row) -> str:
        return str(at(row, f"{inside}.held") or "")

    def unless_held(name: str) -> Made:
        return lambda row: None if held(row) else at(row, f"{path}.{name}")

    def p(row: Row) -> float | None:
        found: float | None = None if few_in(row, at(row, path)) else unless_held("p_holm")(row)
        return found

    return (
        Column(
            f"{path}.effect",
            label,
            form,
            unless_held("ci"),
            value=unless_held("effect"),
            short=short,
            why=held,
            ci_why=lambda row: at(row, f"{path}.ci_why"),
        ),
        Column(
            f"{path}.p_holm", "p", P, value=p, short="p (Holm)", why=lambda row: held(row) or few_in(row, at(row, path))
        ),
    )


# --- measures of answers, each declared once: its key in rows, its names, how it is written and drawn


@dataclass(frozen=True)
class Measure:
    """A measure of answers. `label` heads a column, `title` a panel; `spoken`: its name in a sentence.

    A measure with a `complement` is 1 minus the value in the rows, so that higher always means more heterogeneous.
    """

    name: str
    label: str
    title: str
    definition: str
    unit: str = ""
    format: NumberFormat = PLAIN
    changes: NumberFormat = CHANGE  # how differences are written
    complement: "Measure | None" = None
    ticks: str = "~s"
    is_whole: bool = False
    is_bounded: bool = False  # its axis ends at 1
    is_sole: bool = False  # the rows' only interval is its own; else rows have one for each measure
    said: str = ""

    @property
    def key(self) -> str:
        """Its name in the rows."""
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
        kind: Any = {"format": self.ticks, "integers": self.is_whole, "bounded": self.is_bounded}
        return Panel(self.name, self.title, short=self.label, **kind)

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
        """A column for its value, or for its value `inside` another one of the row, such as `rarefied`."""

        def values(row: Row) -> Any:
            return row.get(inside) if inside else row

        return Column(
            f"{inside}.{self.name}" if inside else self.name,
            label or self.label,
            self.format,
            lambda row: self.interval(values(row)),
            lambda row: self.why_no_interval(values(row)),
            value=lambda row: self.value(values(row)),
            why=lambda row: at(row, f"{inside}.why" if inside else "why") or row.get("why") or "",
        )

    def drawn(self, values: Callable[[Row], Row], ends: str = "", unit: str = "") -> list[Column]:
        """A figure's columns: its value and interval in the row of `values`; `ends`: prefix for the ends' names."""

        def end(row: Row, place: int) -> float | None:
            return (self.interval(values(row)) or (None, None))[place]

        return [
            Column(self.name, self.spoken, unit=unit, value=lambda row: self.value(values(row))),
            Column(f"{ends}low", "from", unit=unit, value=lambda row: end(row, 0)),
            Column(f"{ends}high", "to", unit=unit, value=lambda row: end(row, 1)),
        ]

    def differences(self, inside: str, label: str = "") -> tuple[Column, Column]:
        """Columns for a difference in it and the corrected p, both `inside` a value of the row (`against_field`)."""
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
        """A column for its rarefied value, with the number of units; empty if those are all responses."""

        def drawn(row: Row) -> Any:
            found = row.get("rarefied")
            return found if found and found["n"] not in (None, row["n"]) else None

        return Column(
            f"rarefied.{self.name}",
            f"Rarefied {self.spoken}",
            self.format,
            lambda row: self.interval(drawn(row)),
            lambda row: self.why_no_interval(drawn(row)),
            value=lambda row: self.value(drawn(row)),
            soft=lambda row: sized(row["rarefied"]["n"]),
        )


def by_label(effect: Column, p: Column) -> tuple[Column, Column]:
    """The columns of a difference headed by its label everywhere, for tables of several differences."""
    return replace(effect, short=""), p


def differences_of(measures: Sequence[Measure], inside: str) -> list[Column]:
    """Columns for differences in several measures and their corrected p."""
    return [column for measure in measures for column in by_label(*measure.differences(inside))]


UNIQUE = Measure(
    "unique",
    "Distinct items",
    "Distinct items",
    "How many distinct items the responses name.",
    unit="items",
    format=NumberFormat(digits=0),
    changes=NumberFormat(digits=1, sign=True),
    is_whole=True,
)
COVERAGE = Measure(
    "top5_coverage",
    "Top-five coverage",
    "Share of the five most frequent items",
    "Share of all mentions that the five most frequent items take.",
    unit="share",
    format=SHARE,
    changes=POINTS,
)
OUTSIDE = Measure(
    "outside_top5",
    "Outside top five",
    "Share outside the five most frequent",
    f"1 minus {COVERAGE.name}: higher is more heterogeneous.",
    unit="share",
    format=SHARE,
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
    format=SHARE,
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
    format=FINE,
    ticks=".2~f",
    is_sole=True,
)
NOVEL = Measure(
    "novel_share",
    "Novel answers",
    "Questions with a new answer",
    "Share of questions on which a run gives a letter that no offline run at temperature 1 gives.",
    unit="share",
    format=SHARE,
)

# The measures of recommendations, and of questions with choices, in the order shown.
OF_LISTS = (UNIQUE, OUTSIDE, ENTROPY)
OF_CHOICES = (CORRECT,)
DEFAULT = ENTROPY
# The measures that an address may ask for, by name.
ASKED = {measure.name: measure for measure in (DEFAULT, *(m for m in OF_LISTS if m is not DEFAULT), *OF_CHOICES)}
# The same by their names in the rows.
IN_ROWS = {known.name: known for known in (*(measure.complement or measure for measure in OF_LISTS), *OF_CHOICES)}
DEFINITIONS = {measure.name: measure.definition for measure in (*OF_LISTS, *OF_CHOICES, COVERAGE, DISTANCE, NOVEL)}
