"""The console's pages of runs: the list, two of them side by side, one with its calls and buttons, and one call."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from analysis.endpoints.owners.sharing import refusal
from analysis.endpoints.owners.views import sharing_of
from analysis.models import Completion, Endpoint, Run
from analysis.models.conditions import drawn_from
from analysis.people.stages.relevant import without_details
from analysis.runs.asking.judges import rater_of
from analysis.runs.asking.plans import items_of
from analysis.runs.asking.replies import count_replies, unreadable
from analysis.runs.commands import MOST_EXAMPLES
from analysis.runs.lanes.runs import RunProgress, failures, progress, progress_of
from analysis.runs.pages import words
from analysis.runs.pages.actions import ACTIONS, CANNOT_BE_DONE, act, read_given
from analysis.runs.pages.reads import (
    FILTERS,
    LEFT,
    MOST_MESSAGES,
    ORDERS,
    OWN,
    RebuiltMessages,
    any_answers,
    count_unread,
    find_completions,
    read_messages,
    runs_of,
)
from surveys.models import BenchmarkItem, asked_of_all
from surveys.studies.access import Role
from surveys.studies.pages import FORM, STOPS_POLLING, address_without_page, may, page_of, saved_as, show, study_page
from surveys.studies.wording import dollars, duration, plural

State = Run.State
HERE = "baselines"
RUNS_ON_PAGE, CALLS_ON_PAGE, MOST_REASONS = 30, 50, 20
GROUPS = {
    "condition": lambda run: run.title,
    "model": lambda run: run.model,
    "state": lambda run: run.get_state_display(),
}
FILTER_FORM = "find-runs"  # its id


def cost_words(spent: float | Decimal, budget: float | Decimal | None) -> str:
    return dollars(spent) + ("" if budget is None else f" of {dollars(budget)}")


# --- the list of runs


@study_page(only=require_safe)
def runs(request: HttpRequest) -> HttpResponse:
    return show(request, "runs/runs.html", HERE, **runs_page(request))


@study_page(only=require_safe)
def runs_part(request: HttpRequest) -> HttpResponse:
    """Show the rows again: periodically while a run goes on, or after other filters, with their address."""
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
    live = any(run.state == State.RUNNING for run in every)
    others = [run for run in every if (run.state == State.RUNNING or not live) and run not in rows.object_list]
    standings = progress_of([*rows.object_list, *others])
    differing, chosen = words.differing_settings(every), set(request.GET.getlist("run"))
    lines = [run_row(entry, differing, str(entry.run.pk) in chosen) for entry in standings[: len(rows.object_list)]]
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
        "live": live,
        "query": "".join(f"{urlencode({name: value})}&" for name, value in wanted.items() if value),
        "any_endpoint": bool(every) or any_answers(Endpoint.objects.usable_in([request.study])),
    }


def read_wanted(request: HttpRequest) -> dict[str, str]:
    wanted = {name: request.GET.get(name, "")[:100].replace("\0", "").strip() for name in ("q", "group", "state")}
    known = {"group": GROUPS, "state": State.values}
    return wanted | {name: "" for name, values in known.items() if wanted[name] not in values}


def is_wanted(run: Run, wanted: dict[str, str]) -> bool:
    """Whether the run has the state, and every word is in something that the list says of it."""
    if wanted["state"] and run.state != wanted["state"]:
        return False
    said = [f"run {run.pk}", run.title, run.condition, run.model, run.benchmark, run.note, run.created_by]
    written = " ".join([*said, *map(str, filter(None, (*drawn_from(run), run.endpoint)))]).casefold()
    return all(word in written for word in wanted["q"].casefold().split())


def run_row(entry: RunProgress, differing: Sequence[words.ShownSetting], chosen: bool) -> dict[str, Any]:
    run = entry.run
    return {
        "run": run,
        "standing": entry,
        "simulated": run.is_simulated,
        "settings": words.say_settings(run, differing),
        "bar": words.bar_of(entry.counts),
        "calls": words.say_calls(entry),
        "cost": cost_words(run.spent, run.budget),
        "started": words.say_day(run.began_at or run.created_at, timezone.now()),
        "chosen": chosen,
    }


def grouped(lines: list[dict[str, Any]], found: Sequence[Run], group: Any) -> list[dict[str, Any]]:
    """The page's rows by group, each with the number of runs and the cost of the whole group."""
    if not group:
        return [{"lines": lines}]
    parts = []
    for name, some in groupby(lines, key=lambda line: group(line["run"])):
        whole = [run for run in found if group(run) == name]
        cost = dollars(sum((run.spent for run in whole), Decimal(0)))
        parts.append({"name": name, "number": plural(len(whole), "run"), "cost": cost, "lines": list(some)})
    return parts


# --- two runs side by side


@study_page(only=require_safe)
def compare(request: HttpRequest) -> HttpResponse:
    """Compare two runs: where their settings differ, and their results."""
    numbers = {int(text) for text in request.GET.getlist("run") if text.isdecimal() and len(text) < 19}
    two = list(runs_of(request.study).filter(pk__in=numbers))[::-1]
    if len(numbers) != 2 or len(two) != 2:
        messages.error(request, "Tick two runs of this study to compare their settings.")
        return redirect("baselines:runs", request.study.slug)
    rows = words.compare_settings(two)
    lines = [run_row(entry, (), False) for entry in progress_of(two)]
    different, same = [row for row in rows if row.differ], [row for row in rows if not row.differ]
    return show(request, "runs/compare_runs.html", HERE, lines=lines, different=different, same=same)


# --- one run


def find_run(request: HttpRequest, number: int) -> Run:
    """A run of the study, or one without a study shown to the account here; about a corpus, for researchers only."""
    rows = Run.objects.shown_to(request.user, request.study).select_related(*OWN)
    if not may(request, Role.RESEARCHER):
        rows = rows.exclude(study=None, condition=Run.Condition.TASK)
    return get_object_or_404(rows.select_related("first_run", "study"), pk=number)


@study_page(only=require_safe)
def run(request: HttpRequest, number: int) -> HttpResponse:
    shown = find_run(request, number)
    first = shown.first_run or shown
    kin = Run.objects.shown_to(request.user, request.study).filter(Q(first_run=first) | Q(pk=first.pk))
    schedule = getattr(first, "schedule", None)
    page: dict[str, Any] = {
        **{"items": count_items(shown), "drawn": words.say_drawn(shown), "sharing": sharing_of(request, shown)},
        "repetitions": list(kin.exclude(pk=shown.pk).order_by("pk")),
        "schedule": schedule if schedule and schedule.active else None,
    }
    page |= run_page(shown)
    return show(request, "runs/run.html", HERE, **page, **calls_page(request, shown, page["now"]["calls"]))


@study_page(only=require_safe)
def calls_part(request: HttpRequest, number: int) -> HttpResponse:
    """Show the calls that match the filters, again and again while the run goes on or calls are in flight."""
    shown = find_run(request, number)
    flying = shown.completions.filter(status=Completion.Status.LEASED, sent_at__isnull=False)
    status = 200 if shown.state == State.RUNNING or flying.exists() else STOPS_POLLING
    return show(request, "runs/_calls.html", HERE, status, run=shown, **calls_page(request, shown))


def calls_page(request: HttpRequest, shown: Run, calls: int | None = None) -> dict:
    """`calls` is their number without a filter, if known."""
    wanted = {name: request.GET.get(name, "")[:200].replace("\0", "") for name in FILTERS}
    filtered = any(wanted[name] for name in FILTERS if name != "order")
    if wanted["order"] not in ORDERS:
        wanted["order"] = "answered" if shown.state == State.RUNNING else "sent"
    found = find_completions(shown, wanted)
    rows = page_of(request, found, CALLS_ON_PAGE, None if filtered else calls)
    rows.object_list = found.filter(pk__in=rows.object_list.values("pk"))  # what stands beside calls, of these alone
    if is_about_people(shown):
        for call in rows:
            call.reply = without_details(call.reply)
    return {
        "rows": rows,
        "wanted": wanted,
        "filtered": filtered,
        "query": address_without_page(request),
        "prompts": prompts_of(shown),
        "statuses": Completion.Status.choices,
        "orders": ORDERS.items(),
    }


def prompts_of(shown: Run) -> QuerySet[Any] | tuple[()]:
    """Slugs and titles of the run's prompts, in the file's order."""
    if shown.benchmark or shown.version is None:
        return ()
    own = shown.version.prompts.filter(asked_of_all()).order_by("position").values_list("slug", "title")
    return own.filter(slug__in=shown.prompts) if shown.prompts else own


def count_items(shown: Run) -> int:
    if shown.condition == Run.Condition.JUDGE:
        return items_of(shown.study, shown.pilot).count()
    return BenchmarkItem.objects.filter(benchmark=shown.benchmark).count() if shown.benchmark else 0


@study_page(only=require_safe)
def run_part(request: HttpRequest, number: int) -> HttpResponse:
    page = run_page(find_run(request, number))
    return show(request, "runs/_run.html", HERE, 200 if page["live"] else STOPS_POLLING, **page)


def run_page(shown: Run) -> dict:
    now = progress(shown, is_new=True)
    replies = count_replies(shown) if shown.condition in (Run.Condition.JUDGE, Run.Condition.TASK) else {}
    reasons = failures(shown) if now["failed"] else []
    eta = now["eta_seconds"]
    return {
        "run": shown,
        "now": now,
        "sentence": words.say_state(shown, now, replies.get("unreadable", 0)),
        "replies": replies,
        "live": shown.state == State.RUNNING or now["in_flight"] > 0,
        "simulated": shown.is_simulated,
        "bar": words.bar_of(now),
        "cost": cost_words(now["usd"], now["budget_usd"]),
        "eta": "" if eta is None else duration(eta),
        "budget": "" if shown.budget is None else f"{shown.budget.normalize():f}",
        "reserved": dollars(now["reserved_usd"]) if now["reserved_usd"] else "",
        "lost_cost": dollars(now["maybe_paid"]["usd"]),
        "failures": reasons[:MOST_REASONS],
        "more_reasons": len(reasons) - MOST_REASONS,
        "can": possible_actions(shown, now),
        **(labels_page(shown) if shown.condition == Run.Condition.JUDGE else {}),
        **(replies_page(shown) if shown.condition == Run.Condition.TASK else {}),
    }


def labels_page(shown: Run) -> dict:
    """The judge's name as a rater, and the first replies without a label."""
    unread = unreadable(shown).select_related("task__annotation_item").defer("task__annotation_item__payload")
    return {"rater": rater_of(shown), "examples": list(unread[:MOST_EXAMPLES])}


def replies_page(shown: Run) -> dict:
    """The first unreadable replies of a task, with their calls."""
    calls = unreadable(shown).select_related("task")[:MOST_EXAMPLES]
    return {"unread": [{"call": call.pk, "fault": without_details(call.task.fault)} for call in calls]}


def possible_actions(shown: Run, now: dict) -> set[str]:
    """Actions whose buttons make sense in this state."""
    able = {action for action, control in ACTIONS.items() if shown.state in control.able}
    return set() if shown.condition == Run.Condition.IMPORTED else able - (set() if now["failed"] else {"retry"})


@study_page(Role.RESEARCHER, FORM)
def change_run(request: HttpRequest, number: int, action: str) -> HttpResponse:
    """Pause, resume, cancel and the like. What can't be undone is confirmed first, on a page of its own."""
    shown = find_run(request, number)
    if action not in ACTIONS:
        raise Http404
    if request.method != "POST":
        if not ACTIONS[action].question:
            return HttpResponse(status=405, headers={"Allow": "POST"})
        if shown.state not in ACTIONS[action].able:
            state = shown.get_state_display().lower()
            messages.error(request, f"Run {shown.pk} is {state}, so it can't be {ACTIONS[action].noted}.")
            return redirect("baselines:run", request.study.slug, number)
        return show(request, "runs/cancel_run.html", HERE, run=shown, question=ACTIONS[action].question)
    given = {"note": ""} | {name: text for name, text in request.POST.items() if text or name == "days"}
    try:
        said = act(action, shown, request.user, request.study, **read_given(action, given))
    except CANNOT_BE_DONE as error:
        messages.error(request, str(error))
    else:
        messages.success(request, said)
    if "people" in request.POST and shown.corpus:
        return redirect("people:corpus", request.study.slug, shown.corpus.name)
    return redirect("baselines:run", request.study.slug, number)


# --- one call: its messages rebuilt from the recipe, the reply, and whether the hash holds


def find_completion(request: HttpRequest, number: int, call: int) -> Completion:
    """A call of a run that the account may see here."""
    rows = Completion.objects.filter(run=find_run(request, number))
    own: tuple[str, ...] = (*(f"run__{name}" for name in OWN), "prompt", "item", "user")
    own += ("task__conversation", "task__annotation_item__history")
    return get_object_or_404(rows.select_related(*own).annotate(left=LEFT).defer("user__recipe"), pk=call)


def read_for(request: HttpRequest, call: Completion) -> RebuiltMessages:
    """The messages, if the account may see here the texts in front of the question, which people wrote."""
    for source in drawn_from(call.run):
        if not source.is_shown_to(request.user, request.study):
            return RebuiltMessages(None, refusal(source, request.study), call.messages_sha256)
    return read_messages(call)


@study_page(only=require_safe)
def completion(request: HttpRequest, number: int, call: int) -> HttpResponse:
    shown = find_completion(request, number, call)
    reading = read_for(request, shown)
    asked = reading.built.messages if reading.built else []
    left_out = 0 if "all" in request.GET else max(0, len(asked) - MOST_MESSAGES)
    asked = asked[left_out:]
    if is_about_people(shown.run):
        asked = [message | {"content": without_details(message["content"])} for message in asked]
        shown.reply = without_details(shown.reply)
    beside = Completion.objects.filter(run=number).only("pk")
    return show(
        request,
        "runs/completion.html",
        HERE,
        call=shown,
        run=shown.run,
        reading=reading,
        asked=asked,
        left_out=left_out,
        cost=dollars(shown.cost),
        simulated=shown.run.is_simulated,
        earlier=beside.filter(position__lt=shown.position).order_by("-position").first(),
        later=beside.filter(position__gt=shown.position).order_by("position").first(),
    )


def is_about_people(shown: Run) -> bool:
    """Whether its calls show what users of a corpus wrote."""
    return shown.condition == Run.Condition.TASK and shown.corpus is not None


@study_page(only=require_safe)
def completion_messages(request: HttpRequest, number: int, call: int) -> HttpResponse:
    """Download the messages as they are sent."""
    shown = find_completion(request, number, call)
    reading = read_for(request, shown)
    if reading.built is None:
        raise Http404(reading.problem)
    content = {"sha256": reading.built.sha256, "stored": reading.stored, "messages": reading.built.messages}
    response = JsonResponse(content, json_dumps_params={"ensure_ascii": False, "indent": 2})
    return saved_as(f"run-{number}-call-{call}.json", response)


ADDRESS = "console/<slug:slug>/baselines/"
urlpatterns = [
    path(ADDRESS, runs, name="runs"),
    path(f"{ADDRESS}rows/", runs_part, name="runs-part"),
    path(f"{ADDRESS}compare/", compare, name="compare"),
    path(f"{ADDRESS}<int:number>/", run, name="run"),
    path(f"{ADDRESS}<int:number>/numbers/", run_part, name="run-part"),
    path(f"{ADDRESS}<int:number>/calls/", calls_part, name="calls-part"),
    path(f"{ADDRESS}<int:number>/calls/<int:call>/", completion, name="completion"),
    path(f"{ADDRESS}<int:number>/calls/<int:call>.json", completion_messages, name="completion-messages"),
    path(f"{ADDRESS}<int:number>/<slug:action>/", change_run, name="change-run"),
]
