"""The console's form for tasks about a corpus: first what they would cost, then the start."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_safe

from analysis.models import Corpus, CorpusStep, Endpoint
from analysis.people.pages.forms import endpoints_of
from analysis.people.pages.reads import OPEN, steps_of
from analysis.people.pages.views import find_corpus, order_step
from analysis.people.pages.waiting import CorpusStanding, asking_runs
from analysis.people.stages.prompt_lists import prompts_in
from analysis.people.steps import NAMES, PeopleError
from analysis.runs.asking.plans import ORDERED
from analysis.runs.asking.registry import TASKS
from analysis.runs.pages.new_run import budget_field, endpoint_field, usual_endpoint
from analysis.runs.pages.reads import ANSWERS, any_answers
from analysis.runs.pages.words import say_before, say_estimate
from analysis.runs.tasks import ask_step
from surveys.models import Prompt, Study
from surveys.studies.access import Role, studies_of
from surveys.studies.pages import FORM, saying, show, show_live, study_page
from surveys.studies.wording import exact_dollars, plural

HERE = "corpora"
MOST_TEXTS = 500_000  # characters of a list of prompts
WHAT = {
    NAMES.LANGUAGE: "About every conversation of a user, which share of it is in the filter’s language. "
    "The next filter reads these verdicts.",
    NAMES.ASSISTANT_USE: "About conversations of users whom no filter before that one left out, how far each is a "
    "person’s own use. The next filter reads these verdicts.",
    NAMES.EXTRACT: "About conversations of the kept users, what they say or show about the user: attributes with "
    "reasoning, confidence and quotes, which are then looked up in the conversation.",
    NAMES.CANDIDATES: "About each prompt of a list and each sampled user, which of the user’s attributes may change "
    "a good response.",
}

AS_WRITTEN = "They go to the endpoint as they were written, with personal details in them."


class AskForm(forms.Form):
    endpoint = endpoint_field()
    texts = forms.CharField(
        label="Prompts",
        required=False,
        max_length=MOST_TEXTS,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="What people might ask, one a line, or JSON lines with id and prompt.",
    )
    prompts = forms.ChoiceField(
        label="Or the prompts of", required=False, help_text="The study whose prompts people might ask."
    )
    budget = budget_field("More is not sent: the run stops there and can go on with a larger one.")
    limit = forms.IntegerField(
        label="At most so many calls", min_value=1, max_value=10_000_000, required=False, help_text="To try it out."
    )
    batch = forms.BooleanField(
        label="Through the provider’s batch API", required=False, help_text="Half the price, within 24 hours."
    )
    again = forms.BooleanField(
        label="Only what could not be read",
        required=False,
        help_text="A run of its own for what earlier runs have got nothing readable of.",
    )

    def __init__(self, *args: Any, task: str, user: Any, study: Study, **given: Any) -> None:
        super().__init__(*args, **given)
        self.fields["endpoint"].queryset = endpoints_of(study).filter(**ANSWERS)
        if TASKS[task].conversations:
            del self.fields["prompts"], self.fields["texts"]
        else:
            own = Exists(Prompt.objects.filter(version=OuterRef("current")))
            studies = studies_of(user).filter(own).order_by("slug")
            self.fields["prompts"].choices = [("", "–"), *((study.slug, study.title) for study in studies)]
        for name in ("budget", "limit"):
            self.fields[name].optional = True

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        endpoint = given.get("endpoint")
        if given.get("batch") and endpoint and endpoint.provider == Endpoint.Provider.FAKE:
            self.add_error("batch", f"{endpoint.name} has no batch API.")
        said = [bool(given.get(name)) for name in ("texts", "prompts")]
        if "texts" in self.fields and "texts" not in self.errors and said[0] == said[1]:
            self.add_error("texts", "Write a list of prompts, or choose the study that has them.")
        return given

    def clean_texts(self) -> str:
        said = str(self.cleaned_data["texts"]).strip()
        try:
            if said:
                prompts_in(said)
        except PeopleError as fault:
            raise forms.ValidationError(str(fault).splitlines()) from None
        return said

    def settings(self) -> dict[str, Any]:
        """The settings as a step keeps them, without those left open."""
        given = self.cleaned_data | {"endpoint": self.cleaned_data["endpoint"].name}
        given["budget"] = f"{given['budget'].normalize():f}" if given["budget"] is not None else None
        return {name: value for name, value in given.items() if value not in (None, "", False)}


@study_page(Role.RESEARCHER, FORM)
def ask(request: HttpRequest, corpus: str, task: str) -> HttpResponse:
    """Plan without sending anything, by one button; start it by the other, once calls and dollars are known."""
    found = find_corpus(request, corpus)
    if task not in ORDERED:
        raise Http404
    step = steps_of(found).get(task)
    last = step["row"] if step else None
    if request.method == "POST" and "start" in request.POST:
        return start(request, found, task, last)
    usable = endpoints_of(request.study)
    usual = {"endpoint": usual_endpoint(usable)} | (last.settings if last else {})
    form = AskForm(request.POST or None, task=task, initial=usual, user=request.user, study=request.study)
    if request.method == "POST" and form.is_valid():
        order(request, found, task, form.settings() | {"dry_run": True})
        return redirect("baselines:ask", request.study.slug, corpus, task)
    page = {"form": form, "any_endpoint": any_answers(usable), **plan_page(request, found, task)}
    return show(request, "runs/ask.html", HERE, 422 if form.errors else 200, **page)


def start(request: HttpRequest, found: Corpus, task: str, last: CorpusStep | None) -> HttpResponse:
    """Start the dry run's plan with its settings, if it is the one that the page showed."""
    if last is None or not is_planned(last):
        messages.error(request, "See first what it would cost.")
    elif request.POST["start"] != mark_of(last):
        messages.error(request, "It was counted anew since you loaded the page. Look at what it costs now.")
    elif order(request, found, task, {name: value for name, value in last.settings.items() if name != "dry_run"}):
        messages.success(request, f"{NAMES(task).label}: asking begins as soon as a worker is free.")
        return redirect("people:corpus", request.study.slug, found.name)
    return redirect("baselines:ask", request.study.slug, found.name, task)


def order(request: HttpRequest, found: Corpus, task: str, settings: dict[str, Any]) -> bool:
    with saying(request, PeopleError):
        order_step(found, task, settings, request.user, request.study, ask_step)
        return True
    return False


def is_planned(row: CorpusStep) -> bool:
    return row.state == CorpusStep.State.DONE and bool(row.settings.get("dry_run"))


def mark_of(planned: CorpusStep) -> str:
    """Name of a dry run, so that none is started that somebody else, or another tab, has put in its place."""
    return planned.ended_at.isoformat() if planned.ended_at else ""


def plan_page(request: HttpRequest, found: Corpus, task: str) -> dict[str, Any]:
    steps = steps_of(found)
    step = steps.get(task)
    planned = step["row"].report if step and is_planned(step["row"]) else {}
    before = planned.get("before", (0, 0))
    runs = asking_runs(found, request.user, request.study)
    standing = CorpusStanding(found, steps, runs)
    not_yet, unasked = standing.not_yet.get(NAMES(task), ""), standing.unasked.get(NAMES(task))
    return {
        "corpus": found,
        "task": task,
        "title": NAMES(task).label,
        "what": f"{WHAT[NAMES(task)]} {AS_WRITTEN}",
        "not_yet": not_yet,
        "unasked": "" if unasked is None or not_yet else plural(unasked, "conversation"),
        "step": step,
        "live": step is not None and step["state"] in OPEN,
        "estimate": planned,
        "mark": mark_of(step["row"]) if step and planned else "",
        "estimate_words": say_estimate(planned) if planned else "",
        "before_words": say_before(*before),
        "calls": planned.get("calls", 0) + before[0],
        "conditions": say_conditions(step["row"].settings) if step and planned else "",
    }


def say_conditions(settings: dict[str, Any]) -> str:
    """Which endpoint is asked, and within which bounds."""
    parts = [f"Of {settings['endpoint']}"]
    if "budget" in settings:
        parts.append(f"within a budget of {exact_dollars(Decimal(settings['budget']))}")
    if "limit" in settings:
        parts.append(f"at most {plural(settings['limit'], 'call')}")
    return f"{', '.join(parts)}."


@study_page(Role.RESEARCHER, require_safe)
def plan_part(request: HttpRequest, corpus: str, task: str) -> HttpResponse:
    """Show how far the planning is; reload the page when it is over."""
    if task not in ORDERED:
        raise Http404
    return show_live(request, "runs/_plan.html", HERE, **plan_page(request, find_corpus(request, corpus), task))


ASK = "console/<slug:slug>/people/<slug:corpus>/ask/<slug:task>/"
urlpatterns = [
    path(ASK, ask, name="ask"),
    path(f"{ASK}plan/", plan_part, name="ask-plan"),
]
