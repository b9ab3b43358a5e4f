"""The console's form of a new run, with what it would cost before anything is sent."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from analysis.models import Endpoint, Run
from analysis.models.conditions import CONDITIONS
from analysis.models.settings import DRAWN
from analysis.runs.pages.actions import CANNOT_BE_DONE, order_run
from analysis.runs.pages.forms import RunForm, any_answers, estimate_run, usual_endpoint
from analysis.runs.pages.views import GET_HEAD_POST, HERE
from analysis.runs.pages.words import say_estimate
from surveys.console.pages import show, study_page
from surveys.studies.access import Role

LINKED = ("condition", *DRAWN)  # what a link to the form may have chosen


@require_http_methods(GET_HEAD_POST)
@study_page(Role.RESEARCHER)
def new_run(request: HttpRequest) -> HttpResponse:
    """Ask for a run. The first button shows what it would cost and keeps nothing, the second starts it."""
    if request.method != "POST":
        usable = Endpoint.objects.usable_in([request.study])
        linked = {name: request.GET[name] for name in LINKED if name in request.GET}
        form = RunForm(version=request.study.current, initial={"endpoint": usual_endpoint(usable), **linked})
        return show(request, "runs/new_run.html", HERE, **form_page(form, any_answers(usable)))
    form = RunForm(request.POST, version=request.study.current)
    found, problem = None, ""
    if form.is_valid():
        if "start" in request.POST:
            run, problem = try_to_order(request, form)
            if run:
                return redirect("baselines:run", request.study.slug, run.pk)
        else:
            found, problem = try_to_estimate(request, form)
    status = 422 if form.errors or problem else 200
    page = {**form_page(form), "problem": problem, **estimate_page(found)}
    return show(request, "runs/new_run.html", HERE, status, **page)


def form_page(form: RunForm, endpoints: bool = True) -> dict:
    """`of_corpora` and `of_personas` are the conditions that need some."""
    conditions = CONDITIONS.values()
    of = {name: [each.slug for each in conditions if name in each.needs] for name in ("corpus", "personas")}
    return {
        "form": form,
        "any_endpoint": endpoints,
        "conditions": conditions,
        "of_corpora": of["corpus"],
        "of_personas": of["personas"],
    }


def try_to_order(request: HttpRequest, form: RunForm) -> tuple[Run | None, str]:
    try:
        run, estimate = order_run(form, request.user)
    except CANNOT_BE_DONE as error:
        return None, str(error)
    said = say_estimate(estimate) if estimate["calls"] else "It already has all these calls; none were added."
    messages.success(request, f"Run {run.pk} is started: {said}")
    return run, ""


def try_to_estimate(request: HttpRequest, form: RunForm) -> tuple[dict | None, str]:
    try:
        return estimate_run(form, request.user.get_username()), ""
    except CANNOT_BE_DONE as error:
        return None, str(error)


def estimate_page(found: dict | None) -> dict:
    return {"estimate": found, "estimate_words": say_estimate(found) if found and found["calls"] else ""}


@require_safe
@study_page(Role.RESEARCHER)
def estimate(request: HttpRequest) -> HttpResponse:
    """What the form costs as it stands now, for a page that is open already."""
    form = RunForm(request.GET, version=request.study.current)
    found, problem = try_to_estimate(request, form) if form.is_valid() else (None, "")
    page = {"incomplete": bool(form.errors), "problem": problem, **estimate_page(found)}
    return show(request, "runs/_estimate.html", HERE, **page)
