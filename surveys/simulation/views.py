"""The page *Rehearsal*: simulated people take the study, while the page says how far they are."""

import secrets

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_safe

from surveys.models import Study
from surveys.simulation.run import FAILED, MOST, STARTED, WORK, last_of, rehearse_study, why_not
from surveys.studies import audit, under_way
from surveys.studies.access import Role
from surveys.studies.pages import FORM, show, study_page


class RehearsalForm(forms.Form):
    people = forms.IntegerField(label="Simulated people", min_value=1, max_value=MOST, initial=12)
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        required=False,
        help_text="The same number makes the same people and choices again. Empty: by chance.",
    )
    faults = forms.BooleanField(label="Things go wrong on the way (lines break, people leave)", required=False)


@study_page(Role.OWNER, FORM)
def rehearsal(request: HttpRequest) -> HttpResponse:
    study, reason, status = request.study, why_not(request.study), 200
    form = RehearsalForm(request.POST or None)
    if request.method == "POST":
        status = 409 if reason else 422
        if not reason and form.is_valid():
            reason = begin(study, form.cleaned_data, request.user.get_username())
            if not reason:
                return redirect("simulation:page", study.slug)
            status = 503
    now = under_way.standing(study, WORK)  # read before the outcome: its end is recorded before its mark goes
    last = last_of(study)
    went = last.action if last else ""
    page = {"form": form, "reason": reason, "last": last, "failed": went == FAILED, "unfinished": went == STARTED}
    return show(request, "simulation/rehearsal.html", "setup", status, **page, **now)


def begin(study: Study, given: dict, actor: str) -> str:
    """Enqueue the rehearsal unless one is under way; return why that failed, empty if it did not."""
    people = given["people"]
    seed = secrets.randbelow(1_000_000) if given["seed"] is None else given["seed"]

    @transaction.atomic
    def send() -> None:
        audit.record(study, actor, STARTED, f"{people} simulated people", seed=seed, faults=given["faults"])
        rehearse_study.delay(study.pk, people, seed, given["faults"], actor)

    return under_way.leave_to_worker(study, WORK, send, "simulate", people)


@study_page(Role.OWNER, require_safe)
def progress(request: HttpRequest) -> HttpResponse:
    return under_way.show_progress(request, request.study, WORK, "simulation/_progress.html")


HERE = "console/<slug:slug>/setup/rehearsal/"
urlpatterns = [path(HERE, rehearsal, name="page"), path(f"{HERE}progress/", progress, name="progress")]
