"""What a reader of a comparing page has to know beside its numbers: one line above the figure, in full below it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from analysis.charts.figure import Report, Row
from surveys.console.wording import plural


@dataclass(frozen=True)
class Notice:
    """`look` is its class on the page; `is_live` of the one that is renewed by itself while newer numbers come."""

    words: str
    links: tuple[tuple[str, str], ...] = ()
    look: str = "notice"
    is_live: bool = False


def notices_of(slug: str, report: Report, tested: Row | None, query: str, newer: bool) -> list[Notice]:
    """The most severe first: what is made up, what is not counted yet, what may turn out otherwise, what to know."""
    return list(find_notices(slug, report["answers"], report, (tested or {}).get("held", 0), query, newer))


def find_notices(slug: str, answers: Row, report: Report, held: int, query: str, newer: bool) -> Iterator[Notice]:
    def page(name: str) -> str:
        return reverse(f"answers:{name}", args=[slug])

    if report["simulated"]["is_any"]:
        yield Notice(f"Simulated, not real: {made_up(report['simulated'])}.", look="banner")
    if newer:
        yield Notice("Newer answers are being counted.", is_live=True)
    if count := answers["unread"]:
        words = (
            f"{plural(count, 'text')} {is_or_are(count)} not read yet and not counted; the numbers are being brought"
        )
        yield Notice(f"{words} up to date.", (("Look again", f"?{query}"), ("Answers", page("list"))))
    if count := answers["outdated"]:
        words = f"{plural(count, 'reading')} {is_or_are(count)} by earlier rules."
        yield Notice(words, (("See what today’s would change", page("changes")),))
    back = f"{plural(held, 'comparison')} {is_or_are(held)} held back"
    if count := answers["waiting"]:
        verbs = ("waits", "counts") if count == 1 else ("wait", "count")
        words = f"{plural(count, 'answer')} {verbs[0]} to be checked, and {verbs[1]} as read until then."
        yield Notice(f"{words} {back}." if held else words, (("Check them", page("review")),))
    elif held:
        link = ("Look at them", f"{page('list')}?state=unknown")
        yield Notice(f"{back}: in too many answers nothing was found.", (link,))
    if words := report["languages"]["sentence"]:
        yield Notice(words)
    if words := report["reading_error"]:
        yield Notice(words, (("Check the sample", f"{page('accuracy')}#sample"),), "soft")


def is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def made_up(simulated: dict[str, Any]) -> str:
    people = f"{simulated['people']:,} of {simulated['people_in_all']:,} people" if simulated["people"] else ""
    models = ""
    if simulated["completions"]:
        models = f"{simulated['completions']:,} completions of {', '.join(simulated['models'])}"
    elif not people:
        models = f"runs of {', '.join(simulated['models'])}"
    return " and ".join(filter(None, (people, models)))
