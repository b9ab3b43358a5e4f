"""The list of runs: found, grouped and followed while they go on, and two of them side by side."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from analysis.models import Endpoint, Run
from analysis.models.settings import drawn_from
from analysis.runs.lanes.runs import RunProgress, stand
from analysis.runs.pages import words
from analysis.runs.pages.new_run import any_answers
from analysis.runs.pages.reads import count_unread, runs_of
from analysis.runs.pages.views import HERE, cost_words
from analysis.runs.pages.words import ShownSetting
from surveys.console.pages import STOPS_POLLING, show, study_page
from surveys.console.wording import dollars, plural

State = Run.State
RUNS_ON_PAGE = 30
GROUPS = {
    "condition": lambda run: run.title,
    "model": lambda run: run.model,
    "state": lambda run: run.get_state_display(),
}
FILTER_FORM = "find-runs"  # its id


@require_safe
@study_page()
def runs(request: HttpRequest) -> HttpResponse:
    return show(request, "runs/runs.html", HERE, **runs_page(request))


@require_safe
@study_page()
def runs_part(request: HttpRequest) -> HttpResponse:
    """The rows anew: by the clock while a run goes on, or because other ones are wanted, and then with the address."""
    page = runs_page(request)
    asked_for = request.headers.get("HX-Trigger") == FILTER_FORM
    status = 200 if page["live"] or asked_for else STOPS_POLLING
    response = show(request, "runs/_runs.html", HERE, status, part=True, **page)
    if asked_for:
        response["HX-Replace-Url"] = f"{reverse('baselines:runs', args=[request.study.slug])}?{page['query']}"
    return response


def runs_page(request: HttpRequest) -> dict[str, Any]:
    every = list(runs_of(request.study))
    wanted = read_wanted(request)
    found = [run for run in every if is_wanted(run, wanted)]
    group = GROUPS.get(wanted["group"])
    if group:
        found.sort(key=lambda run: (group(run), -run.pk))
    rows = Paginator(found, RUNS_ON_PAGE).get_page(request.GET.get("page"))
    others = [run for run in every if run.state == State.RUNNING and run not in rows.object_list]
    standings = stand([*rows.object_list, *others])
    telling, chosen = words.telling_settings(every), set(request.GET.getlist("run"))
    lines = [run_row(entry, telling, str(entry.run.pk) in chosen) for entry in standings[: len(rows.object_list)]]
    return {
        "rows": rows,
        "groups": grouped(lines, found, group),
        "every": len(every),
        "found": len(found),
        "wanted": wanted,
        "filtered": any(wanted[name] for name in ("q", "state")),
        "states": State.choices,
        "ways": list(GROUPS),
        "sentence": words.say_runs(every, standings),
        "cost": dollars(sum((run.spent for run in every), Decimal(0))),
        "unread": count_unread(every) if every else 0,
        "live": any(run.state == State.RUNNING for run in every),
        "query": "".join(f"{urlencode({name: value})}&" for name, value in wanted.items() if value),
        "any_endpoint": bool(every) or any_answers(Endpoint.objects.usable_in([request.study])),
    }


def read_wanted(request: HttpRequest) -> dict[str, str]:
    wanted = {name: request.GET.get(name, "")[:100].replace("\0", "").strip() for name in ("q", "group", "state")}
    known = {"group": GROUPS, "state": State.values}
    return wanted | {name: "" for name, values in known.items() if wanted[name] not in values}


def is_wanted(run: Run, wanted: dict[str, str]) -> bool:
    """Whether it is in the state, and every word stands in something that the list says of it."""
    if wanted["state"] and run.state != wanted["state"]:
        return False
    said = [f"run {run.pk}", run.title, run.condition, run.model, run.benchmark, run.note, run.created_by]
    written = " ".join([*said, *map(str, filter(None, (*drawn_from(run), run.endpoint)))]).casefold()
    return all(word in written for word in wanted["q"].casefold().split())


def run_row(entry: RunProgress, telling: Sequence[ShownSetting], chosen: bool) -> dict[str, Any]:
    run = entry.run
    return {
        "run": run,
        "standing": entry,
        "simulated": run.is_simulated,
        "settings": words.say_settings(run, telling),
        "bar": words.bar_of(entry.counts),
        "calls": words.say_calls(entry),
        "cost": cost_words(run.spent, run.budget),
        "started": words.say_day(run.began_at or run.created_at, timezone.now()),
        "chosen": chosen,
    }


def grouped(lines: list[dict[str, Any]], found: Sequence[Run], group: Any) -> list[dict[str, Any]]:
    """The page's rows under what they have in common, with what the whole group comes to."""
    if not group:
        return [{"lines": lines}]
    parts = []
    for name, some in groupby(lines, key=lambda line: group(line["run"])):
        whole = [run for run in found if group(run) == name]
        cost = dollars(sum((run.spent for run in whole), Decimal(0)))
        parts.append({"name": name, "number": plural(len(whole), "run"), "cost": cost, "lines": list(some)})
    return parts


# --- two runs side by side


@require_safe
@study_page()
def compare(request: HttpRequest) -> HttpResponse:
    """Where two runs differ in what they were asked with, and what came of each."""
    numbers = {int(text) for text in request.GET.getlist("run") if text.isdecimal() and len(text) < 19}
    two = list(runs_of(request.study).filter(pk__in=numbers))[::-1]
    if len(numbers) != 2 or len(two) != 2:
        messages.error(request, "Tick two runs of this study to compare their settings.")
        return redirect("baselines:runs", request.study.slug)
    rows = words.compare_settings(two)
    lines = [run_row(entry, (), False) for entry in stand(two)]
    different, same = [row for row in rows if row.differ], [row for row in rows if not row.differ]
    return show(request, "runs/compare_runs.html", HERE, lines=lines, different=different, same=same)
