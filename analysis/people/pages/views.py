"""The console's pages of people: one corpus with its funnel and sample, and one person with their attributes."""

import json
from collections.abc import Mapping
from typing import Any

import altair as alt
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
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
    empty_figure,
    make_figure,
    of_kind,
    panel,
    specs_of,
)
from analysis.charts.rendering import render
from analysis.charts.tables import Column
from analysis.charts.theme import LIGHT, printable
from analysis.endpoints.owners.views import sharing_of
from analysis.exports.formats import FIGURE_FILES, figure_csv
from analysis.models import Corpus, CorpusUser
from analysis.people.attributes import own_conversations
from analysis.people.funnel import FILTERS
from analysis.people.pages import reads
from analysis.people.pages.forms import FORMS, StepForm, settings_of, studies_for_items, studies_to_push
from analysis.people.pages.waiting import CorpusStanding, Due, asking_runs, cost_of, next_step, what_waits
from analysis.people.pushing import quotes_of
from analysis.people.steps import NAMES, PeopleError, note_waiting, require_step
from analysis.people.tasks import people_step
from surveys.models import Study
from surveys.studies import audit
from surveys.studies.access import Role
from surveys.studies.pages import address_without_page, as_file, page_of, saying, show, show_live, study_page
from surveys.studies.wording import dollars, plural

HERE = "corpora"
USERS_ON_PAGE, CONVERSATIONS_ON_PAGE, MOST_RUNS = 25, 10, 10


def find_corpus(request: HttpRequest, name: str) -> Corpus:
    return get_object_or_404(Corpus.objects.shown_to(request.user, request.study), name=name)


@study_page(Role.RESEARCHER, require_safe)
def corpus(request: HttpRequest, name: str) -> HttpResponse:
    return show_corpus(request, find_corpus(request, name))


def show_corpus(request: HttpRequest, found: Corpus, **refused: StepForm) -> HttpResponse:
    """Show the page; a step's form that was `refused` keeps what was typed."""
    rows = page_of(request, reads.sampled_users(found), USERS_ON_PAGE)
    top = reads.top_attributes(rows)
    now = progress_page(request, found)
    report = now["steps"]["filter"]["row"].report if "filter" in now["steps"] else {}
    wide, narrow = (draw_funnel(report, Options(narrow=narrow)) for narrow in (False, True))
    return show(
        request,
        "people/corpus.html",
        HERE,
        422 if refused else 200,
        rows=rows,
        people=[(user, top.get(user.pk, [])) for user in rows],
        sampled=found.users.filter(place__isnull=False).count(),
        query=address_without_page(request),
        answer=say_corpus(found, report),
        funnel=wide,
        drawings=[mark_safe(render(figure, "svg").decode()) for figure in (wide, narrow)] if report else [],
        forms=[(NAMES(step), refused.get(step) or form_of(found, step, request)) for step in FORMS],
        may_push=studies_to_push(request.user, found).exists(),
        distances=reads.distances(now["steps"]),
        verifiers=reads.verifiers(found, studies_for_items(request.user)),
        sharing=sharing_of(request, found),
        **now,
    )


def form_of(found: Corpus, step: str, request: HttpRequest) -> StepForm:
    """The form of a step, with the settings of the last time."""
    usual = settings_of(found.steps.filter(name=step).first())
    given = {"user": request.user, "study": request.study, "corpus": found}
    return FORMS[step](initial=usual, auto_id=f"{step}-%s", **given)


def say_corpus(found: Corpus, report: dict) -> str:
    if report:
        return say_funnel(report)
    number = found.conversations.count()
    return f"{plural(number, 'conversation')}; nobody has been filtered yet." if number else "No conversations yet."


def progress_page(request: HttpRequest, found: Corpus) -> dict:
    """The part that changes while the page is open: steps, runs, what waits and what is next."""
    steps, runs = reads.steps_of(found), asking_runs(found, request.user, request.study)
    standing = CorpusStanding(found, steps, runs)
    upcoming = next_step(standing)
    going = any(step["state"] in reads.OPEN for step in steps.values())
    return {
        "corpus": found,
        "steps": steps,
        "runs": runs[:MOST_RUNS],
        "more_runs": len(runs) - MOST_RUNS,
        "cost": dollars(cost_of(runs)),
        "waits": [wait for wait in what_waits(standing) if not repeats(wait, upcoming)],
        "next": upcoming,
        "next_title": title_of(upcoming),
        "unasked": standing.unasked,
        "going": going,
        "live": going or any(run.run.state == run.run.State.RUNNING for run in runs),
    }


def repeats(wait: Due, upcoming: Due | None) -> bool:
    """Whether the wait says the same as the next step."""
    return upcoming is not None and wait.step == upcoming.step and wait.words.startswith(upcoming.words)


def title_of(upcoming: Due | None) -> str:
    if upcoming is None:
        return ""
    return NAMES(upcoming.step).label if upcoming.step in NAMES.values else "go on with the run"


@study_page(Role.RESEARCHER, require_safe)
def progress(request: HttpRequest, name: str) -> HttpResponse:
    """The progress of steps and runs; once nothing is under way any more, the page reloads."""
    return show_live(request, "people/_progress.html", HERE, **progress_page(request, find_corpus(request, name)))


@study_page(Role.RESEARCHER, require_POST)
def start(request: HttpRequest, name: str, step: str) -> HttpResponse:
    """Start a step with the form's settings, or with `usual`, those of the last time."""
    if step not in FORMS:
        raise Http404
    found = find_corpus(request, name)
    given: Any = request.POST
    if "usual" in given:
        last = form_of(found, step, request)
        given = {name: last.get_initial_for_field(field, name) for name, field in last.fields.items()}
    form = FORMS[step](given, auto_id=f"{step}-%s", user=request.user, study=request.study, corpus=found)
    if form.is_valid():
        with saying(request, PeopleError):
            order_step(found, step, form.cleaned_data, request.user, request.study)
            messages.success(request, f"{NAMES(step).label} begins as soon as a worker is free.")
            return redirect("people:corpus", request.study.slug, name)
    else:
        faults = [f"{field.label}: {error}" for field in form for error in field.errors]
        faults += form.non_field_errors()
        messages.error(request, " ".join(faults))
    return show_corpus(request, found, **{step: form})


def order_step(
    found: Corpus, step: str, settings: dict[str, Any], account: Any, study: Study, task: Any = people_step
) -> None:
    """Order a step from a worker, which checks again who may.

    Raises PeopleError while another step runs, or if the study may not use the corpus or the endpoint.
    """
    actor = account.get_username()
    with transaction.atomic():
        require_step(account, study, found, settings)
        note_waiting(found, step, settings, actor)
        audit.record(study, actor, f"people: {step}", found.name, **settings)
        whose = {"account": account.pk, "study": study.pk}
        transaction.on_commit(lambda: task.delay(found.pk, step, settings, actor, whose), robust=True)


@study_page(Role.RESEARCHER, require_safe)
def figure(request: HttpRequest, name: str, kind: str) -> HttpResponse:
    """The funnel as a file; `json` is its Vega-Lite spec with the numbers, `csv` the numbers alone."""
    row = find_corpus(request, name).steps.filter(name="filter").first()
    if kind not in FIGURE_FILES or row is None or not row.report:
        raise Http404
    drawn = draw_funnel(row.report, Options())
    content = figure_csv(drawn) if kind == "csv" else json.dumps(drawn.spec) if kind == "json" else render(drawn, kind)
    return as_file(content, FIGURE_FILES[kind], f"{name}-funnel.{kind}")


@study_page(Role.RESEARCHER, require_safe)
def person(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """One user: verdicts, attributes, and conversations; with `attribute`, only those that its evidence is from."""
    users = CorpusUser.objects.select_related("corpus")
    user = get_object_or_404(users, corpus=find_corpus(request, name), pk=number)
    own = own_conversations(user.corpus, user.key)
    asked = request.GET.get("attribute", "")
    chosen = user.attributes.filter(pk=asked).first() if asked.isdecimal() and len(asked) < 19 else None
    if chosen:
        quotes = quotes_of(chosen.members.all() or [chosen])
        own = own.filter(sha256__in={quote["conversation"] for quote in quotes})
    rows = page_of(request, own, CONVERSATIONS_ON_PAGE)
    clusters = reads.clusters(user, studies_for_items(request.user))
    return show(
        request,
        "people/person.html",
        HERE,
        person=user,
        verdicts=[{"label": FILTERS[name].label, **user.verdicts[name]} for name in FILTERS if name in user.verdicts],
        clusters=clusters,
        conflicts=sum(len(cluster["against"]) for cluster in clusters) // 2,
        chosen=chosen,
        conversations=reads.marked(list(rows), chosen),
        rows=rows,
        query=address_without_page(request),
    )


# --- the funnel as a figure: who is left after each filter

ROW, ROOM, TEXT = 40, 150, 200  # px: of a row, for names on the left, and for numbers at the end
FUNNEL: Columns = [Column("step", "filter"), Column("left_out", "users left out"), Column("left", "users left")]


def draw_funnel(report: Mapping[str, Any], options: Options) -> Figure:
    """Draw a bar for all users and one for those left after each filter; those who went are lighter behind."""
    title = f"Users of {printable(report.get('corpus', 'the corpus'))} by filter"
    if not report.get("users"):
        return empty_figure("funnel", title, "Nobody has been filtered yet.", FUNNEL, options)
    first = {"step": "All users", "left_out": 0, "left": report["users"]}
    table = [first, *({**step, "step": FILTERS[step["name"]].label} for step in report["steps"])]
    names = [row["step"] for row in table]
    width = options.width - ROOM - (TEXT if not options.narrow else 0)
    y = alt.Y("step:N", scale=alt.Scale(domain=names, paddingInner=0.4), axis=alt.Axis(title=None, minExtent=ROOM - 10))
    scale = alt.Scale(domain=[0, report["users"]], nice=False)
    x = alt.X("left:Q", scale=scale, axis=alt.Axis(title="users", tickCount=5, format="~s"))
    layers = [
        of_kind("gone").mark_bar(fill=LIGHT["strong-line"], opacity=0.5).encode(y=y, x=x, x2=alt.X2("end:Q")),
        of_kind("left")
        .mark_bar(fill=LIGHT["sp-profile"], aria=True)
        .encode(y=y, x=x, description=alt.Description("text:N")),
    ]
    if not options.narrow:
        numbers = of_kind("left").mark_text(fontSize=12, fill=LIGHT["ink"], align="left")
        layers.append(numbers.encode(y=y, x=alt.XValue(width + 12), text=alt.Text("short:N")))
    marks = [mark for row in table for mark in marks_of(row)]
    caption = (
        "Each filter judges those whom the filters above it have left; a user counts with the first one that fails."
    )
    words = Words(title, caption, say_funnel(report))
    return make_figure("funnel", words, panel(specs_of(layers), width, ROW * len(names)), marks, table, FUNNEL, options)


def marks_of(row: Row) -> list[Row]:
    left, gone = row["left"], row["left_out"]
    short = f"{left:,} left, {gone:,} out" if gone else f"{left:,}"
    text = f"{row['step']}: {plural(left, 'user')} left, {gone:,} left out"
    whole = {"kind": "left", "step": row["step"], "left": left, "short": short, "text": text}
    return [{"kind": "gone", "step": row["step"], "left": left, "end": left + gone}, whole]


def say_funnel(report: Mapping[str, Any]) -> str:
    """The figure in one sentence."""
    steps = [step for step in report["steps"] if step["left_out"]]
    gone = [f"{step['left_out']:,} by {FILTERS[step['name']].label.lower()}" for step in steps]
    why = f"; left out: {', '.join(gone)}" if gone else ""
    return f"{report['kept']:,} of {plural(report['users'], 'user')} are kept{why}."


ADDRESS = "console/<slug:slug>/people/"
ONE = f"{ADDRESS}<slug:name>/"
urlpatterns = [
    path(ONE, corpus, name="corpus"),
    path(f"{ONE}progress/", progress, name="progress"),
    path(f"{ONE}funnel.<slug:kind>", figure, name="figure"),
    path(f"{ONE}<slug:step>/start/", start, name="start"),
    path(f"{ONE}users/<int:number>/", person, name="person"),
]
