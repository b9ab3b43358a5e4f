"""A study of teas with something for every comparing page: groups, a repetition, a sock puppet, benchmark runs."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from html import unescape
from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.models import SimulatedUser
from analysis.report.filters import Filters
from analysis.report.pages.shown import PAGES
from analysis.report.reports import report
from surveys.models import Study
from tests.analysis.report.report_samples import answer_items, listed, make_model_run, make_teas, reply, tell
from tests.analysis.runs.baseline_factories import make_item
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import text_of

FEW = 20  # draws: enough for every number to be there


def make_compared(**changes: Any) -> Study:
    """The four people and six offline answers of `make_teas`, and what the other pages need."""
    study = make_teas(**changes)
    again = make_model_run(study, first_run=study.runs.get(), began_at=timezone.now() + timedelta(days=7))
    puppet = make_model_run(study, "sp-history", history_size=10)
    user = SimulatedUser.objects.create(run=puppet, index=0, recipe={"conversations": []})
    for repeat in range(6):
        reply(again, "teas", listed(["Assam", "Oolong"]), repeat)
        reply(again, "water", "A", repeat)
        reply(puppet, "teas", listed(["Assam", "Sencha", "Oolong"]), repeat, user=user, latency_ms=250)
        reply(puppet, "water", "C", repeat, user=user, latency_ms=500)
    answer_benchmark()
    read_new(study)
    return study


def answer_benchmark() -> None:
    """Make an offline run of four sums (answer B), asked twice."""
    for number in range(1, 5):
        make_item(number)
    run = make_model_run(None, benchmark="sums")
    for repeat, letters in enumerate(("BBBB", "BBAA")):
        answer_items(run, letters, repeat)


def add_people(study: Study, count: int) -> None:
    for number in range(count):
        tell(study, ["Assam", f"Tea {number}"], "C", cell="milky" if number % 2 else "")
    read_new(study)


def lasting_report(make: Callable[[], Study], draws: int = FEW) -> Any:
    """A lasting world whose report is kept too, so that no page of it computes it anew."""
    return lasting_world(make, partial(report, draws=draws))


def pair_of(study: Study, *sides: str, **filters: Any) -> dict[str, Any]:
    found: dict[str, Any] = report(study, Filters(compare=sides, **filters), draws=FEW, parts=["pair"])["pair"]
    return found


# --- what a page says ---


def address(name: str = "overview", query: str = "", *more: str) -> str:
    if name in PAGES:
        path = reverse("compare:overview", args=["teas"])
        path = path if name == "overview" else reverse("compare:page", args=["teas", name])
    else:
        path = reverse(f"compare:{name}", args=["teas", *more])
    return f"{path}?{query}" if query else path


def heading(response: HttpResponse) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", text_of(response), re.S)
    return " ".join(unescape(found[1]).split()) if found else ""


def table(response: HttpResponse, name: str) -> list[list[str]]:
    """The rows of a page's table, each cell as plain text."""
    found = re.search(rf'id="table-{name}">(.*?)</section>', text_of(response), re.S)
    body = re.search(r"<tbody>(.*?)</tbody>", found[1], re.S) if found else None
    rows = re.findall(r"<tr>(.*?)</tr>", body[1], re.S) if body else []
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in rows]
    return [[" ".join(unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in row] for row in cells]


def links(response: HttpResponse, part: str) -> list[str]:
    return [unescape(href) for href in re.findall(r'href="([^"]*)"', text_of(response)) if part in href]
