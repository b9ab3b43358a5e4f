"""The measures of answers, each said once: where rows have it, what it is called, how it is written and drawn."""

from dataclasses import dataclass, replace
from typing import Any

from analysis.charts.figure import Row
from analysis.charts.panels import Panel
from analysis.charts.rows import Span, interval_of, number
from analysis.report.columns import CHANGE, FINE, PLAIN, POINTS, SHARE, Column, Form, tested
from surveys.console.wording import sized


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
        given = values or {}
        if not self.is_sole:
            given = {name: found for name, found in given.items() if isinstance(found, dict)}
        bounds = interval_of(given, self.key)
        return bounds if bounds is None or not self.complement else (1 - bounds[1], 1 - bounds[0])

    def column(self, inside: str = "", label: str = "") -> Column:
        """Its value, or the one that stands inside another value of the row (`rarefied`)."""

        def values(row: Row) -> Any:
            return row.get(inside) if inside else row

        return Column(
            f"{inside}.{self.name}" if inside else self.name,
            label or self.label,
            self.form,
            lambda row: self.interval(values(row)),
            value=lambda row: self.value(values(row)),
            why="why",
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

        return replace(found, value=negated, ci=turned), p

    def rarefied(self) -> Column:
        """Its value in as many responses as the smallest source has; nothing where that is all of them."""

        def drawn(row: Row) -> Any:
            found = row.get("rarefied")
            return found if found and found["n"] != row["n"] else None

        return Column(
            f"rarefied.{self.name}",
            f"Rarefied {self.spoken}",
            self.form,
            lambda row: self.interval(drawn(row)),
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
