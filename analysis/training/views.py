"""The console's pages of trained models: list, progress, scores with figures; stop and resume."""

import re
from ast import literal_eval
from collections.abc import Mapping
from typing import Any

import altair as alt
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_POST, require_safe

from analysis.charts.figure import (
    Columns,
    Figure,
    Options,
    Row,
    Words,
    below,
    empty_figure,
    make_figure,
    of_kind,
    panel,
    specs_of,
)
from analysis.charts.rendering import render
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, printable
from analysis.endpoints.owners.sharing import require_owner
from analysis.endpoints.owners.views import sharing_of
from analysis.models import TrainedModel
from analysis.models.training import TrainingTask
from analysis.stats.detection import MEASURES
from analysis.training import jobs
from analysis.training.cards import number, say_tested, say_threshold
from analysis.training.evaluation import BASE, BASELINES, LABELS, TEXTS_FOLLOW
from analysis.training.examples import TrainingError
from analysis.training.fitting import USUAL, TrainingSettings
from analysis.training.jobs import train_next
from analysis.training.own_users import say_gain
from analysis.training.study_labels import SOURCES
from surveys.models import Study, locks
from surveys.studies import audit
from surveys.studies.access import Role
from surveys.studies.pages import FORM, may, page_of, show, show_live, study_page
from surveys.studies.wording import duration, join_words, percent, plural

HERE = "models"
ON_PAGE = 25
QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")  # texts as Python writes them
State = TrainedModel.State


def models_for(request: HttpRequest) -> QuerySet[TrainedModel]:
    """Select models that learned from this study, and those from imported examples that the account may use here."""
    rows = TrainedModel.objects.shown_to(request.user, request.study)
    return rows.select_related("study", "examples", "owner").order_by("-began_at")


def find(request: HttpRequest, name: str) -> TrainedModel:
    return get_object_or_404(models_for(request), name=name)


def may_act(request: HttpRequest, found: TrainedModel) -> bool:
    """Whether the account may change the model: any researcher for a study's model, otherwise its owner."""
    return found.study_id is not None or found.may_be_changed_by(request.user)


def find_to_change(request: HttpRequest, name: str) -> TrainedModel:
    found = find(request, name)
    if not may_act(request, found):
        require_owner(request.user, found)
    return found


@study_page(Role.RESEARCHER, FORM)
def models(request: HttpRequest) -> HttpResponse:
    """List the models; an owner of the study lets another one learn from its labels."""
    form, choices = TrainingForm(request.POST or None), tasks_of(request.study)
    form.fields["task"].choices = choices
    if request.method == "POST":
        if not may(request, Role.OWNER):
            raise PermissionDenied("Owners of a study start trainings.")
        if form.is_valid() and (begun := start_training(request, form)):
            return redirect("training:model", request.study.slug, begun.name)
    all_models = models_for(request)
    rows = page_of(request, all_models, ON_PAGE)
    found = [(row, figure_of(row)) for row in rows]
    page = {"rows": rows, "models": found, "answer": say_models(all_models)}
    page["form"] = form if choices else None  # otherwise there is nothing to learn from
    return show(request, "training/models.html", HERE, 422 if form.errors else 200, **page)


def tasks_of(study: Study) -> list[tuple[str, str]]:
    """List the tasks that learn from the kind of items that the study's annotators label."""
    work = study.current and study.current.document.get("annotation") or {}
    return [choice for choice in TrainingTask.choices if SOURCES[choice[0]][0] == work.get("kind")]


class TrainingForm(forms.Form):
    """The task of a model that learns from the study's labels; all else is the command's default."""

    name = forms.SlugField(
        max_length=50,
        help_text="Letters, digits, - and _.",
        error_messages={"invalid": "Use up to 50 letters, digits, - and _."},
    )
    task = forms.ChoiceField()
    tier = forms.ChoiceField(label="Kind", choices=TrainedModel.Tier.choices)


def start_training(request: HttpRequest, form: TrainingForm) -> TrainedModel | None:
    """Plan a training on the study's labels for a worker; if there is none, the form says why."""
    given, study, actor = form.cleaned_data, request.study, request.user.get_username()
    name, task, tier = (given[field] for field in ("name", "task", "tier"))
    settings = TrainingSettings(**USUAL.get(tier, USUAL["encoder"]))
    try:
        with transaction.atomic():
            locks.hold("trainings", 0)  # the second of two who take one name at once is told so
            if TrainedModel.objects.filter(name=name).exists():
                raise TrainingError(f"There is a model called {name} already; choose another name.")
            jobs.look(study, task, settings)
            found = jobs.plan(name, task, tier, study, settings, actor)
            audit.record(study, actor, "training started", name, task=task, tier=tier)
            transaction.on_commit(train_next.delay, robust=True)
    except TrainingError as error:
        form.add_error(None, str(error))
        return None
    return found


STATE_WORDS = {
    State.DONE: "learned from people",
    State.RUNNING: "in training",
    State.WAITING: "waiting",
    State.STOPPED: "stopped",
    State.FAILED: "failed",
}


def say_models(rows: QuerySet[TrainedModel]) -> str:
    """Say how many models are in each state."""
    counts = dict(rows.order_by("state").values_list("state").annotate(Count("pk")))
    done = counts.pop(State.DONE, 0)
    others = [f"{counts[state]} {words}" for state, words in STATE_WORDS.items() if counts.get(state)]
    if not done:
        return f"{'; '.join(['No model has learned from people yet', *filter(None, [join_words(others)])])}."
    learned = f"{plural(done, 'model')} {STATE_WORDS[State.DONE]}"
    return f"{join_words([learned, *others])}."


def figure_of(model: TrainedModel) -> str:
    """Write the main measure with its interval; empty if there is none yet."""
    report = model.metrics
    if not report:
        return ""
    main = report["main"]
    return f"{LABELS.get(main, main)} {number(report[main], report['ci'].get(main))}"


@study_page(Role.RESEARCHER, require_safe)
def model(request: HttpRequest, name: str) -> HttpResponse:
    found = find(request, name)
    report = found.metrics
    return show(
        request,
        "training/model.html",
        HERE,
        report=report,
        answer=say_scores(report) if report else f"{found.name} is {found.get_state_display().lower()}.",
        scores=drawings(lambda options: draw_scores(report, options)) if report else None,
        names=[LABELS.get(name, name) for name in measures_of(report)],
        rows=table_of(report),
        said=said_of(report),
        elsewhere=elsewhere_of(report),
        warnings=warnings_of(report),
        reasoning=reasoning_of(report),
        sharing=sharing_of(request, found),
        may_change=may_act(request, found),
        **progress_page(found),
    )


def drawings(draw: Any) -> dict[str, Any]:
    """Draw a figure for a wide page and for a narrow one."""
    both: list[Figure] = [draw(Options(narrow=narrow)) for narrow in (False, True)]
    return {"figure": both[0], "svgs": [mark_safe(render(each, "svg").decode()) for each in both]}


def measures_of(report: dict[str, Any]) -> list[str]:
    """List the report's measures in their own order, which the database does not keep."""
    return [name for name in MEASURES if name in report.get("spread", ())]


Measured = list[tuple[str, list[tuple[str, str]]]]  # by title, each measure with its range


def measured(rows: Mapping[str, dict[str, Any]], report: dict[str, Any]) -> Measured:
    return [(title, [with_range(row, each) for each in measures_of(report)]) for title, row in rows.items()]


def table_of(report: dict[str, Any]) -> Measured:
    """List the model and each baseline but itself, with every measure and its interval."""
    names = [name for name in (*BASELINES, BASE) if name in report.get("baselines", ())]
    baselines = {name: report["baselines"][name] for name in names if name != report["tier"]}
    everybody = {report["model"]: report, **baselines} if report else {}
    return measured({called(name, report): row for name, row in everybody.items()}, report)


def said_of(report: dict[str, Any]) -> list[str]:
    said = [words for say in (say_tested, say_threshold) if report and (words := say(report))]
    return [*said, *([say_gain(report["per_user"])] if "per_user" in report else [])]


def elsewhere_of(report: dict[str, Any]) -> list[tuple[str, str, Measured]]:
    """List each other set that it was tested on: the part tested, and model and baselines there."""
    found = []
    for name, row in report.get("elsewhere", {}).items():
        baselines = {each: row["baselines"][each] for each in BASELINES if each in row["baselines"]}
        found.append((name, say_tested(row), measured({report["model"]: row, **baselines}, report)))
    return found


def with_range(row: dict[str, Any], name: str) -> tuple[str, str]:
    ends = row["ci"].get(name)
    return number(row.get(name)), f"{number(ends[0])} to {number(ends[1])}" if ends else ""


def warnings_of(report: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """List each warning, and the texts that it quotes."""
    found = []
    for warning in report.get("warnings", ()):
        sentence, quotes, quoted = warning.partition(TEXTS_FOLLOW)
        found.append((sentence + quotes.strip(), [literal_eval(text) for text in QUOTED.findall(quoted)]))
    return found


def reasoning_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a reasoning model's replies before and after it learned, with labels in words."""
    words = {True: "yes", False: "no"}
    return [
        row | {name: words[row[name]] for name in ("people", "before", "after")} for row in report.get("reasoning", ())
    ]


def progress_page(found: TrainedModel) -> dict[str, Any]:
    """Return the progress; a `running` training without a process was interrupted."""
    is_running = found.state == State.RUNNING and jobs.is_worked_on(found)
    ended = found.state == State.RUNNING and not is_running
    left = found.seconds * (1 - found.share) / found.share if is_running and found.share else None
    return {
        "model": found,
        "live": is_running or found.state == State.WAITING,
        "state": "stopped" if ended else found.state,
        "words": "Ended in the middle" if ended else found.get_state_display(),
        "done": percent(found.share),
        "left": duration(left) if left is not None else "",
        "curve": drawings(lambda options: draw_curve(found, options)) if found.curve else None,
    }


@study_page(Role.RESEARCHER, require_safe)
def progress(request: HttpRequest, name: str) -> HttpResponse:
    """Show the progress; reload the page once the training is over."""
    return show_live(request, "training/_progress.html", HERE, **progress_page(find(request, name)))


@study_page(Role.RESEARCHER, require_POST)
def stop_training(request: HttpRequest, name: str) -> HttpResponse:
    found = find_to_change(request, name)
    with transaction.atomic():
        if jobs.stop(found):
            audit.record(request.study, request.user.get_username(), "training stopped", found.name)
            messages.success(request, f"{found.name} stops as soon as it has saved itself.")
    return redirect("training:model", request.study.slug, name)


@study_page(Role.RESEARCHER, require_POST)
def resume_training(request: HttpRequest, name: str) -> HttpResponse:
    found = find_to_change(request, name)
    with transaction.atomic():
        if jobs.resume(found):
            audit.record(request.study, request.user.get_username(), "training resumed", found.name)
            messages.success(request, f"{found.name} goes on as soon as a worker is free.")
            transaction.on_commit(train_next.delay, robust=True)
    return redirect("training:model", request.study.slug, name)


HEIGHT, LINE, ROOM = 120, 26, 180  # px: of a panel, of a row of scores, for names on the left
CURVE: Columns = [
    *(Column("seed", "seed"), Column("step", "step"), Column("loss", "loss")),
    *(Column("reward", "reward"), Column("right", "right"), Column("valid", "validation")),
]
# Panel labels by kind of point.
PANELS = {"loss": "loss", "reward": "reward", "right": "answers right", "valid": "validation part"}
SCORES: Columns = [Column("who", "model"), Column("value", "value"), Column("low", "from"), Column("high", "to")]
PEOPLE = "people’s ceiling"


def called(name: str, report: Mapping[str, Any]) -> str:
    """Name a baseline as pages do, and a model by its own name."""
    return {"bm25": "BM25", "prior": f"prior (share of {report.get('positive', 'yes')})"}.get(name, name)


def draw_curve(model: TrainedModel, options: Options) -> Figure:
    """Draw loss or rewards by step, and below them the measure on the validation part after each epoch."""
    title = f"How {printable(model.name)} learns"
    table = [{column.name: point.get(column.name) for column in CURVE} for point in model.curve]
    if not table:
        return empty_figure("curve", title, "It has not taken enough steps to draw.", CURVE, options)
    rows = [
        {"kind": kind, "seed": f"seed {point['seed']}", "step": point["step"], "value": point[kind]}
        for point in model.curve
        for kind in PANELS
        if kind in point
    ]
    panels = [
        _lines(kind, label, options) for kind, label in PANELS.items()
        if any(row["kind"] == kind for row in rows)
    ]  # fmt: skip
    last = next((point for point in reversed(model.curve) if "valid" in point), None)
    said = f"On the validation part it stands at {last['valid']:.3f} after {last['step']:,} steps." if last else ""
    words = Words(title, "Loss or reward of single batches; after each epoch the validation part.", said or title)
    return make_figure("curve", words, below(panels), rows, table, CURVE, options)


def _lines(kind: str, label: str, options: Options) -> Row:
    x = alt.X("step:Q", axis=alt.Axis(title="step", tickCount=5))
    y = alt.Y("value:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title=label, tickCount=4))
    legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeColor=LIGHT["sp-profile"])
    drawn = of_kind(kind).mark_line(color=LIGHT["sp-profile"], point=kind == "valid")
    line = drawn.encode(x=x, y=y, strokeDash=alt.StrokeDash("seed:N", legend=legend))
    return panel(specs_of([line]), options.width - 110, HEIGHT)


def draw_scores(report: Mapping[str, Any], options: Options) -> Figure:
    """Draw the main measure, or F1 if people's is known, of the model, each baseline and people, with intervals."""
    measure = report["main"] if report["ceiling"].get("f1") is None else "f1"
    label = LABELS.get(measure, measure)
    title = f"{label[0].upper()}{label[1:]} on the test part"
    baselines = {name: report["baselines"][name] for name in BASELINES}
    everybody = {report["model"]: report, **baselines, PEOPLE: report["ceiling"]}
    table = []
    for who, row in everybody.items():
        if row.get(measure) is not None and not (who == "frozen" and report["tier"] == "frozen"):
            low, high = row["ci"].get(measure) or (None, None)
            table.append({"who": printable(called(who, report)), "value": row[measure], "low": low, "high": high})
    if not table:
        return empty_figure("scores", title, "Nothing could be measured.", SCORES, options)
    names = [row["who"] for row in table]
    marks = [{"kind": "value", **row} for row in table]
    marks += [{"kind": "interval", **row} for row in table if row["low"] is not None]
    y = alt.Y("who:N", scale=alt.Scale(domain=names), axis=alt.Axis(title=None, minExtent=ROOM - 10))
    x = alt.X("value:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title=label, tickCount=5))
    layers = [
        of_kind("interval")
        .mark_rule(strokeWidth=2, color=LIGHT["strong-line"])
        .encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        of_kind("value").mark_point(filled=True, size=70, color=LIGHT["sp-profile"], opacity=1).encode(y=y, x=x),
    ]
    spec = panel(specs_of(layers), options.width - ROOM - 30, LINE * len(names))
    of = f"{plural(report['n'], 'example')} of {plural(report['groups'], 'group')}"
    caption = f"{of} that it never saw; 95 % intervals over groups."
    words = Words(title, caption, say_scores(report))
    return make_figure("scores", words, spec, marks, table, SCORES, options)


def say_scores(report: Mapping[str, Any]) -> str:
    """Say in a sentence which baselines it beats."""
    main = report["main"]
    differences = report["differences"]
    rows = {called(name, report): differences[name][main]["beats"] for name in BASELINES if name != report["tier"]}
    by = {word: [name for name, beats in rows.items() if beats == word] for word in ("yes", "no", "not told apart")}
    parts = [
        f"{words} {join_words(by[word])}"
        for word, words in (("yes", "beats"), ("no", "is beaten by"), ("not told apart", "is not told apart from"))
        if by[word]
    ]
    return f"By {LABELS.get(main, main)} {report['model']} {'; it '.join(parts)}."


ADDRESS = "console/<slug:slug>/models/"
ONE = f"{ADDRESS}<slug:name>/"
urlpatterns = [
    path(ADDRESS, models, name="models"),
    path(ONE, model, name="model"),
    path(f"{ONE}progress/", progress, name="progress"),
    path(f"{ONE}stop/", stop_training, name="stop"),
    path(f"{ONE}resume/", resume_training, name="resume"),
]
