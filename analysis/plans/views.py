"""The page *Plan*: the cost of testing a study's hypotheses, simulated by a worker, and texts for registries."""

import json
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from analysis.plans.annotators.simulating import find_labelling
from analysis.plans.annotators.texts import as_planned, chances_of, opening_of_annotators, table_of
from analysis.plans.beside import beside_frozen, came_on_page, cells_of, head_of
from analysis.plans.kept import NAME, find_kept, find_plan, has_annotators, simulate_plan
from analysis.plans.registries import as_osf, as_predicted, say_hypothesis, write_registration
from analysis.plans.simulating import PlanError
from analysis.plans.texts import looks_lines, opening_of, say_close, tables_of
from analysis.report.pages.planned_views import planned
from surveys.models import Study
from surveys.studies import under_way
from surveys.studies.access import Role
from surveys.studies.files.hypotheses import ALPHA
from surveys.studies.lifecycle import definition_of
from surveys.studies.pages import as_file, show, study_page
from surveys.studies.wording import percent


@study_page(only=require_safe)
def plan(request: HttpRequest) -> HttpResponse:
    return show_plan(request)


def show_plan(request: HttpRequest, fault: str = "", status: int = 200) -> HttpResponse:
    study = request.study
    definition = definition_of(study.current_id) if study.current_id else None
    if has_annotators(study):
        return show_annotators(request, fault, status)
    kept = find_kept(study) if definition and definition.hypotheses else None
    found = kept.value if kept else None
    beside = beside_frozen(study, found, kept.computed_at if kept else None)
    hypotheses = [say_hypothesis(definition, each) for each in definition.hypotheses] if definition else []
    page: dict[str, Any] = {
        "hypotheses": hypotheses,
        "benchmark": definition.benchmark_width if definition else "",
        "found": found,
        "beside": beside,
        "came": came_on_page(study, found) if hypotheses else None,
        "fault": fault,
        **standing(study),
    }
    if beside:
        page |= {"head": head_of(beside), "changes": [cells_of(row) for row in beside["rows"]]}
    if found:
        page |= {"answer": opening_of(found), "tables": tables_of(found), "looks": looks_lines(found)}
        page["wish"] = percent(found["wish"])
        page["smallest"] = [(entry, say_close(found, entry["scenario"])) for entry in found["smallest"]]
    return show(request, "plans/plan.html", "setup", status, **page)


def show_annotators(request: HttpRequest, fault: str, status: int) -> HttpResponse:
    found = find_plan(request.study)
    page: dict[str, Any] = {"found": found, "fault": fault, **standing(request.study)}
    if found:
        page |= {"answer": opening_of_annotators(found), "has_own": bool(as_planned(found, ALPHA))}
        page |= {"tables": [table_of(found, measure) for measure in found["measures"]], "chances": chances_of(found)}
    return show(request, "plans/annotators.html", "setup", status, **page)


def standing(study: Study) -> dict[str, Any]:
    return under_way.standing(study, NAME) if study.current_id else {}


@study_page(Role.RESEARCHER, require_POST)
def simulate(request: HttpRequest) -> HttpResponse:
    """Have a worker simulate the plan, unless that is done or under way."""
    study = simulated(request)
    if under_way.progress_of(study, NAME) is None and find_plan(study) is None:
        try:
            definition = definition_of(study.current_id)
            if definition.annotation:
                find_labelling(study, definition)
        except PlanError as fault:
            return show_plan(request, str(fault), 409)
        if why := under_way.leave_to_worker(study, NAME, partial(simulate_plan.delay, study.pk), "plan", 1):
            return show_plan(request, why, 503)
    return redirect("plans:plan", study.slug)


@study_page(only=require_safe)
def progress(request: HttpRequest) -> HttpResponse:
    return under_way.show_progress(request, simulated(request), NAME, "plans/_progress.html")


def simulated(request: HttpRequest) -> Study:
    """The study. Raises Http404 if it has neither hypotheses nor annotators."""
    study: Study = request.study
    return study if has_annotators(study) else planned(request)


@study_page(only=require_safe)
def osf(request: HttpRequest) -> HttpResponse:
    content = json.dumps(as_osf(planned(request)), indent=2, ensure_ascii=False)
    return as_file(content, "application/json", f"{request.study.slug}-osf.json")


@study_page(only=require_safe)
def aspredicted(request: HttpRequest) -> HttpResponse:
    name = f"{request.study.slug}-aspredicted.txt"
    return as_file(as_predicted(planned(request)), "text/plain; charset=utf-8", name)


@study_page(only=require_safe)
def registration(request: HttpRequest) -> HttpResponse:
    """The registration as a PDF, with the simulated plan if there is one."""
    study = planned(request)
    content = write_registration(study, find_plan(study))
    return as_file(content, "application/pdf", f"{study.slug}-registration.pdf")


HERE = "console/<slug:slug>/plan/"
urlpatterns = [
    path(HERE, plan, name="plan"),
    path(f"{HERE}simulate/", simulate, name="simulate"),
    path(f"{HERE}progress/", progress, name="progress"),
    path(f"{HERE}osf.json", osf, name="osf"),
    path(f"{HERE}aspredicted.txt", aspredicted, name="aspredicted"),
    path(f"{HERE}registration.pdf", registration, name="registration"),
]
