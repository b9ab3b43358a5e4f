"""New runs, as the console's form and the API order them, with what they would cost before anything is sent."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_safe

from analysis.endpoints.endpoints import check_endpoint
from analysis.endpoints.owners.sharing import require_role, require_shared
from analysis.models import Endpoint, Run
from analysis.models.conditions import BY_NAME, CHOICES, CONDITIONS, DRAWN, SETTINGS, RunSetting, drawn_from
from analysis.runs.lanes.runs import start
from analysis.runs.pages.actions import CANNOT_BE_DONE, name_of, send_on_commit
from analysis.runs.pages.reads import ANSWERS, any_answers
from analysis.runs.pages.views import HERE
from analysis.runs.pages.words import say_estimate
from analysis.runs.recipes.plans import Plan, choose_prompts, cost_so_far, find_run, plan_run, say_notes
from analysis.runs.recipes.questions import FORMS, known_benchmarks
from surveys.models import StudyVersion, asked_of_all
from surveys.studies import audit
from surveys.studies.access import Role
from surveys.studies.pages import FORM, show, study_page

OF_BENCHMARKS = ("prompt_form", "worked_examples")
OF_PROMPTS = ("prompts",)
# Values of fields that are left empty.
USUAL = {setting.name: setting.default for setting in SETTINGS}
USUAL |= {name: getattr(Plan, name) for name in ("temperature", "seed", *OF_BENCHMARKS, *OF_PROMPTS)}
PUT_AS = {"helm": "As HELM puts it", "bare": "Question and choices only"}
# Simulated users whose messages are measured for an estimate; the others are assumed to be like them.
MEASURED_USERS = 2
TOKENS, DOLLARS = ("prompt_tokens", "completion_tokens"), ("usd", "usd_most")


class NamedChoiceField(forms.ModelChoiceField):
    """A choice of one row by its name, among those that `only` allows."""

    queryset: Any

    def __init__(self, model: Any, only: dict[str, Any] | None = None, **more: Any) -> None:
        super().__init__(model.objects.filter(**only or {}).order_by("name"), to_field_name="name", **more)
        self.error_messages["invalid_choice"] = "There is none with this name."


def endpoint_field() -> NamedChoiceField:
    return NamedChoiceField(Endpoint, ANSWERS, empty_label="Choose one", help_text="The model that is asked.")


def usual_endpoint(usable: QuerySet[Endpoint]) -> str | None:
    """The endpoint, if only one can be asked; the first, if all are scripted and cost nothing."""
    known = list(usable.filter(**ANSWERS).order_by("name").values_list("name", "provider"))
    is_clear = len(known) == 1 or (known and {provider for _, provider in known} == {Endpoint.Provider.FAKE})
    return known[0][0] if is_clear else None


def budget_field(words: str) -> forms.DecimalField:
    least = Decimal("0.000001")
    return forms.DecimalField(
        label="Budget in dollars", min_value=least, max_digits=12, decimal_places=6, required=False, help_text=words
    )


def setting_field(setting: RunSetting) -> forms.Field:
    said: dict[str, Any] = {"label": setting.label, "help_text": setting.help, "required": False}
    if setting.chooses_row:
        return NamedChoiceField(setting.kind, empty_label="Choose one", **said)
    if setting.kind is bool:
        return forms.BooleanField(**said)
    if setting.kind is str:
        return forms.CharField(max_length=setting.most, **said)
    first = setting.default if setting.is_stored else 1
    return forms.IntegerField(min_value=1, max_value=setting.most, initial=first, **said)


class RunForm(forms.Form):
    """The order of a run. `strict` refuses what the condition does not take; the page's form hides and drops it."""

    benchmark = forms.ChoiceField(label="Ask", required=False)
    prompt_form = forms.ChoiceField(
        label="How an item is put", choices=[(form, PUT_AS[form]) for form in FORMS], required=False
    )
    worked_examples = forms.BooleanField(label="Five worked examples in front", required=False)
    prompts = forms.MultipleChoiceField(label="Only these prompts", widget=forms.CheckboxSelectMultiple, required=False)
    condition = forms.ChoiceField(choices=CHOICES)
    endpoint = endpoint_field()
    repeats = forms.IntegerField(
        min_value=1, max_value=100_000, initial=1, help_text="Draws of each prompt, for each user."
    )
    vars().update({setting.name: setting_field(setting) for setting in SETTINGS})
    temperature = forms.FloatField(min_value=0, max_value=2, initial=Plan.temperature, required=False)
    seed = forms.IntegerField(
        min_value=0, max_value=2**62, initial=0, required=False, help_text="The same seed draws the same users."
    )
    budget = budget_field("A run that would cost more is refused, and one that turns out to cost more is stopped.")
    batch = forms.BooleanField(
        label="Through the provider's batch API", required=False, help_text="Half the price, within 24 hours."
    )
    again = forms.BooleanField(
        label="A run of its own",
        required=False,
        help_text="Otherwise a run of the same plan is extended: 400 repeats after 100 send 300 more calls.",
    )

    def __init__(self, *args: Any, version: StudyVersion, strict: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self.version, self.strict = version, strict
        self.fields["endpoint"].queryset = (
            Endpoint.objects.usable_in([version.study]).filter(**ANSWERS).order_by("name")
        )
        for setting in SETTINGS:
            if setting.chooses_row:
                own = setting.kind.objects.shared_to(version.study).order_by("name")
                self.fields[setting.name].queryset = own
            self.fields[setting.name].optional = setting.kind is int and setting.is_stored and setting.default is None
        benchmarks = [(name, f"Benchmark {name} ({number:,} items)") for name, number in known_benchmarks().items()]
        self.fields["benchmark"].choices = [("", "The study's prompts"), *benchmarks]
        self.fields["benchmark"].error_messages["invalid_choice"] = "There is none with this name."
        own = version.prompts.filter(asked_of_all()).order_by("position").values_list("slug", "title")
        self.fields["prompts"].choices = [(slug, title or slug) for slug, title in own]
        self.fields["prompts"].error_messages["invalid_choice"] = "%(value)s: no such prompt."
        self.fields["budget"].optional = True

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        for name, usual in USUAL.items():
            if given.get(name) in (None, "") and name not in self.errors:
                given[name] = usual
        condition = CONDITIONS.get(given.get("condition"))
        for setting in SETTINGS:
            if condition and setting.name not in condition.takes:
                self.drop(setting.name, given, f"{given['condition']} does not take this.")
        self.read_repeats(given)
        for name in OF_PROMPTS if given.get("benchmark") else OF_BENCHMARKS:
            whose = "the study's prompts" if name in OF_PROMPTS else "a benchmark's items"
            self.drop(name, given, f"Only {whose} take this.")
        if "prompts" not in self.errors:
            given["prompts"] = choose_prompts(self.version, given["prompts"])
        for name in condition.needs if condition else ():
            if not given.get(name) and name not in self.errors:
                self.add_error(name, BY_NAME[name].missing)
        endpoint = given.get("endpoint")
        if given.get("batch") and endpoint and endpoint.provider == Endpoint.Provider.FAKE:
            self.add_error("batch", f"{endpoint.name} has no batch API.")
        return given

    def read_repeats(self, given: dict[str, Any]) -> None:
        """Take a sock puppet's repeats, which are those of each simulated user, under either name."""
        own = given.get("repeats_per_user")
        if own is None:
            return
        if not self.strict or "repeats" not in self.data:
            self.errors.pop("repeats", None)
        elif given.get("repeats") not in (1, own):
            self.add_error("repeats_per_user", "Of a sock puppet, repeats says the same: give one of the two.")
        given["repeats"] = own

    def drop(self, name: str, given: dict[str, Any], words: str) -> None:
        """Take out a value without use; `strict` forms say so."""
        usual = USUAL.get(name)
        if not self.strict:
            self.errors.pop(name, None)
        elif given.get(name) not in (None, usual, []):
            self.add_error(name, words)
        given[name] = usual

    def plan(self) -> Plan:
        names = Plan.__dataclass_fields__.keys() & self.cleaned_data.keys()
        return Plan(version=self.version, **{name: self.cleaned_data[name] for name in names})


def estimate_run(form: RunForm, actor: str) -> dict[str, Any]:
    """What the run would cost, measured on a few of its simulated users; nothing is kept.

    `extends` is the run that would be extended, or None; calls that it already has cost nothing.
    """
    plan, wanted, budget = form.plan(), form.cleaned_data["repeats"], form.cleaned_data["budget"]
    earlier = None if form.cleaned_data["again"] else find_run(plan)
    new = wanted - (earlier.repeats if earlier and earlier.completions.exists() else 0)
    if new < 1:
        return {"extends": earlier, "calls": 0, **dict.fromkeys(TOKENS + DOLLARS, 0)}
    note = say_notes(plan, wanted)
    few = replace(plan, **{"users": min(plan.users, MEASURED_USERS)})
    _, measured = plan_run(few, new, actor, again=True, dry_run=True)
    share = plan.users / few.users
    estimate = {name: round(measured[name] * share) for name in ("calls", *TOKENS)}
    estimate |= {name: measured[name] * share for name in DOLLARS}
    limit = budget if budget is not None else earlier and earlier.budget
    so_far = cost_so_far(earlier) if earlier else Decimal(0)
    above = limit is not None and so_far + Decimal(str(estimate["usd"])) > limit
    return {"extends": earlier, "above": above, "limit": limit, "note": note, **estimate}


def order_run(form: RunForm, account: Any) -> tuple[Run, dict[str, Any]]:
    """Plan what the form asks for and start it; return the run and what its new calls will cost."""
    plan, given = form.plan(), form.cleaned_data
    study, actor = form.version.study, account.get_username()
    check_endpoint(plan.endpoint, plan.temperature)
    with transaction.atomic():
        run, estimate = plan_run(plan, given["repeats"], actor, budget=given["budget"], again=given["again"])
        require_role(account, study)
        require_shared(study, plan.endpoint, *drawn_from(plan))
        run = start(run)
        audit.record(
            study, actor, "baseline started", name_of(run), condition=run.condition, benchmark=run.benchmark,
            endpoint=run.endpoint.name, model=run.endpoint.model, budget=given["budget"], **estimate,
        )  # fmt: skip
        send_on_commit(run)
    return run, estimate


LINKED = ("condition", *DRAWN)  # fields that a link to the form may fill


@study_page(Role.RESEARCHER, FORM)
def new_run(request: HttpRequest) -> HttpResponse:
    """Order a run. The first button shows what it would cost and keeps nothing, the second starts it."""
    if request.method != "POST":
        usable = Endpoint.objects.usable_in([request.study])
        linked = {name: request.GET[name] for name in LINKED if name in request.GET}
        form = RunForm(version=request.study.current, initial={"endpoint": usual_endpoint(usable), **linked})
        return show(request, "runs/new_run.html", HERE, **form_page(form, any_answers(usable)))
    form = RunForm(request.POST, version=request.study.current)
    if form.is_valid() and "start" in request.POST:
        try:
            run, cost = order_run(form, request.user)
        except CANNOT_BE_DONE as error:
            page: dict[str, Any] = {"problem": str(error)}
        else:
            said = say_estimate(cost) if cost["calls"] else "It already has all these calls; none were added."
            messages.success(request, f"Run {run.pk} is started: {said}")
            return redirect("baselines:run", request.study.slug, run.pk)
    else:
        page = estimate_page(request, form)
    status = 422 if form.errors or page["problem"] else 200
    return show(request, "runs/new_run.html", HERE, status, **form_page(form), **page)


def form_page(form: RunForm, endpoints: bool = True) -> dict:
    """Context of the form; `of_corpora` and `of_personas` are the conditions that need one."""
    conditions = CONDITIONS.values()
    of = {name: [each.slug for each in conditions if name in each.needs] for name in ("corpus", "personas")}
    more = {"of_corpora": of["corpus"], "of_personas": of["personas"], "settings": [form[each] for each in BY_NAME]}
    return {"form": form, "any_endpoint": endpoints, "conditions": conditions, **more}


def estimate_page(request: HttpRequest, form: RunForm) -> dict[str, Any]:
    found, problem = None, ""
    try:
        found = estimate_run(form, request.user.get_username()) if form.is_valid() else None
    except CANNOT_BE_DONE as error:
        problem = str(error)
    words = say_estimate(found) if found and found["calls"] else ""
    return {"estimate": found, "estimate_words": words, "problem": problem}


@study_page(Role.RESEARCHER, require_safe)
def estimate(request: HttpRequest) -> HttpResponse:
    """Show what the form as it stands would cost, on a page that is open already."""
    form = RunForm(request.GET, version=request.study.current)
    page = {"incomplete": bool(form.errors), **estimate_page(request, form)}
    return show(request, "runs/_estimate.html", HERE, **page)


ADDRESS = "console/<slug:slug>/baselines/new/"
urlpatterns = [
    path(ADDRESS, new_run, name="new-run"),
    path(f"{ADDRESS}estimate/", estimate, name="estimate"),
]
