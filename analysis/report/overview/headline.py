"""The sentence that Compare opens with, in shares of people, and which two answers stand below it side by side."""

from dataclasses import dataclass
from typing import Any

from analysis.charts.figure import Report, Row
from analysis.report.dataset import FIELD, OFFLINE
from analysis.report.sentences import field_of

RULE = "Of each side the answer that has most items in common with all others of that side."


@dataclass(frozen=True)
class Headline:
    """A claim about an item, with the rows of the two sources that it is about."""

    claim: Row
    row: Row
    people: Row

    @property
    def item(self) -> str:
        return str(self.claim["item"])

    @property
    def detail(self) -> str:
        return str(self.claim["detail"])


def find_headline(report: Report) -> Headline | None:
    """The first claim of the page where it is about an item and filters show both sources; None otherwise."""
    claim = next((claim for claim in report.get("claims") or () if claim["page"] == "overview"), None)
    if claim is None or "headline" not in claim:
        return None
    rows = report["heterogeneity"]
    names = ("prompt", "source", "model")
    row = next((row for row in rows if all(row[name] == claim[name] for name in names)), None)
    people = field_of(rows, row) if row else None
    return Headline(claim, row, people) if row and people else None


def pair_of(report: Report, headline: Headline | None) -> tuple[Row, Row] | None:
    """The rows of the field and of offline whose typical answers are shown: of the headline's prompt, else a first."""
    rows: list[Any] = list(report.get("heterogeneity") or [])
    if headline:
        rows.sort(key=lambda row: (row["prompt"], row["model"]) != (headline.row["prompt"], headline.row["model"]))
    for row in rows:
        people = field_of(rows, row) if row["source"] == OFFLINE else None
        if people and row.get("typical") and people.get("typical") and people["source"] == FIELD:
            return people, row
    return None
