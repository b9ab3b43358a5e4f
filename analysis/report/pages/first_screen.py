"""The first screen of Compare: a sentence in shares of people, one figure and three small ones, and two answers."""

from typing import Any, NamedTuple

from analysis.charts.figure import Report, Row
from analysis.report.dataset import FIELD, OFFLINE
from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.pages.sections import Places, figure_of
from analysis.report.pages.texts import load_texts, text_of
from analysis.report.sentences import field_of

RULE = "Of each side the answer that has most items in common with all others of that side."


class Headline(NamedTuple):
    """A claim about an item, with the rows of the two sources that it is about."""

    claim: Row
    row: Row
    people: Row


def first_screen(places: Places) -> dict[str, Any]:
    headline = find_headline(places.shown.report)
    far, *small = [figure_of(places, name) | about_figure(places, name) for name in OVERVIEW_FIGURES]
    found: dict[str, Any] = {"far": far, "small": small, "pair": pair_on_page(places, headline)}
    found["used"] = ["jsd_excess", "jsd_bits"]
    if headline:
        rows = (("people", headline.people), ("calls", headline.row))
        behind = [(f"{row['n']:,} {whose}", places.texts(row)) for whose, row in rows]
        found |= {"detail": headline.claim["detail"], "behind": behind}
    return found


def about_figure(places: Places, name: str) -> dict[str, Any]:
    """What stands beside a figure of the first screen; nothing beside others."""
    if name not in OVERVIEW_FIGURES:
        return {}
    figure = OVERVIEW_FIGURES[name]
    return {
        "question": figure.question,
        "sentence": figure.say(places.shown.report),
        "href": places.compared(figure.page, places.shown.asked.address()),
    }


def find_headline(report: Report) -> Headline | None:
    """The first claim of the page where it is about an item and filters show both sources; None otherwise."""
    claim = next((claim for claim in report.get("claims") or () if claim["page"] == "overview"), None)
    if claim is None or "headline" not in claim:
        return None
    rows, names = report["heterogeneity"], ("prompt", "source", "model")
    row = next((row for row in rows if all(row[name] == claim[name] for name in names)), None)
    people = field_of(rows, row) if row else None
    return Headline(claim, row, people) if row and people else None


def pair_on_page(places: Places, headline: Headline | None) -> dict[str, Any] | None:
    """A typical answer of the field and one of offline, with the headline's item marked."""
    rows = pair_of(places.shown.report, headline)
    kinds = ("response", "completion")
    found = [load_texts(kind, [row["typical"]]) for kind, row in zip(kinds, rows or (), strict=False)]
    if rows is None or not all(found):
        return None
    item = {str(headline.claim["item"])} if headline else set()
    sides = [
        {"text": text_of(places.shown.study, one, item), "source": row["source"], "name": places.source_cell(row).text}
        | {"model": places.model(row), "all": places.texts(row), "n": row["n"]}
        for (one,), row in zip(found, rows, strict=True)
    ]
    return {"prompt": places.prompt(rows[0]["prompt"]), "sides": sides, "rule": RULE}


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
