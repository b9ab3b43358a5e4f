"""The annotator's work: the next item, submitting, skipping, taking back, and changing earlier labels."""

import uuid
from collections.abc import Iterator
from urllib.parse import urlencode

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, include, path
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from surveys.annotation import labels as labelling
from surveys.annotation import pages
from surveys.annotation import work as annotation_work
from surveys.annotation.labels import skip as skip_item
from surveys.annotation.qualification import Feedback, feedback_on
from surveys.annotation.slots import renew_holds
from surveys.annotation.work import (
    AnnotationTask,
    NotShown,
    ShownTask,
    done_tasks,
    find_newest,
    find_task,
    next_tasks,
    open_task,
)
from surveys.models import Annotation, AnnotationItem, Participant
from surveys.participation import arrival_views as arrival
from surveys.participation import views
from surveys.participation.arrival_views import OWN, shared
from surveys.participation.pasting.views import DRAFT
from surveys.participation.places import touch_participant
from surveys.participation.steps import address, has_reached
from surveys.studies.access import is_unproven
from surveys.studies.files.kinds import KINDS, PART, LabelFault, fields_of, turn_back
from surveys.studies.labels import questions_for
from surveys.studies.lifecycle import definition_of

Step, Purpose = Participant.Step, AnnotationItem.Purpose
PASSED_ON = ("ahead", "nothing", "refused")
LONGEST_ACTIVE = 24 * 3600 * 1000  # milliseconds


@views.participant_page(Step.PROMPTS)
def work(request: HttpRequest) -> HttpResponse:
    """Redirect to the next item; with `ahead`, to the one after that item, so that a script has it in advance."""
    participant, before = request.participant, request.GET.get("ahead", "")
    tasks = next_tasks(participant, count=2 if before else 1)
    following = next((task for task in tasks if str(task.item.pk) != before), None)
    if following is None:
        return HttpResponse(status=204) if before else redirect(address(participant, "debrief"))
    kept = {name: value for name, value in request.GET.items() if name in PASSED_ON and value.isdecimal()}
    query = f"?{urlencode(kept)}" if kept else ""
    return redirect(address(participant, "item", following.item.pk) + query)


@views.participant_page(Step.PROMPTS)
def item(request: HttpRequest, item: int) -> HttpResponse:
    if request.method == "POST":
        return receive(request)
    task = task_at(request.participant, item)
    if task is None or (task.newest and is_unproven()):
        return redirect(address(request.participant, "work"))
    since = answered_since(request, task)
    page = pages.task_page(request, task, **since) | {"notices": list(notices_of(request, task))}
    return render(request, KINDS[task.item.kind].template, page)


def answered_since(request: HttpRequest, task: AnnotationTask) -> dict:
    """The answer of an older page, and the newer one that it would have replaced; empty for other pages."""
    draft = views.draft_of(request, draft_name(task.item)) if views.AGAIN in request.GET else None
    newest = task.newest
    if draft is None or newest is None or newest.state != Annotation.State.GIVEN:
        return {}
    fields = fields_of(KINDS[task.item.kind].questions, task.item.payload)
    given = {name: value for name in fields if (value := draft.data.get(name))}
    if given.items() <= newest.labels.items() and given:  # it was saved since
        return {}
    return {"given": given or None, "since": pages.describe(newest)}


def draft_name(item: AnnotationItem) -> str:
    return f"item:{item.pk}"


def task_at(participant: Participant, item_id: int) -> AnnotationTask | None:
    """This person's task of an item, even if it has no slot; training only while it is due."""
    task = find_task(participant, item_id)
    if task and not task.is_training:
        return task
    # A second task holds items, so ask for it only if the page is not that of the first.
    tasks = (task for count in (1, 2) for task in next_tasks(participant, count))
    return next((task for task in tasks if task.item.pk == item_id), None)


def notices_of(request: HttpRequest, task: AnnotationTask) -> Iterator[str]:
    if request.GET.get("refused"):
        yield gettext("The last answer arrived incomplete and was not kept. Please give it again.")
    if request.GET.get("nothing"):
        yield gettext("There is nothing to undo.")
    if request.GET.get("undone") and task.newest:
        words = gettext("Undone: “%(label)s”. It no longer counts. Answer again, or save it as it was.")
        yield words % {"label": pages.describe(task.newest)}


# --- submitting -------------------------------------------------------------


def receive(request: HttpRequest) -> HttpResponse:
    participant = request.participant
    try:
        shown = open_task(participant, request.POST.get("page", ""))
    except NotShown:
        return redirect(f"{address(participant, 'work')}?refused=1")
    try:
        outcome = labelling.submit(participant, shown, read_submission(request, shown.item))
    except labelling.AnsweredSince:
        return keep_and_ask(request, shown)
    except LabelFault as fault:
        return ask_again(request, shown, fault.faults)
    except labelling.TooManyLabelRevisions:
        return ask_again(request, shown, {}, gettext("This was changed too many times. The last answer counts."))
    return redirect(after_submit(participant, outcome, request.POST.get("back", "")))


def keep_and_ask(request: HttpRequest, shown: ShownTask) -> HttpResponse:
    """Overwrite nothing silently: keep the labels sent as a draft, and let the item's page show the newer answer."""
    views.keep_draft(request, draft_name(shown.item))
    return redirect(f"{address(request.participant, 'item', shown.item.pk)}?{views.AGAIN}=1")


def after_submit(participant: Participant, outcome: labelling.LabelOutcome, back: str) -> str:
    if outcome.failed_training:
        return address(participant, "resume")
    if outcome.feedback:
        return address(participant, "feedback", outcome.annotation.item_id)
    return address(participant, "labels" if back == "labels" else "work")


def read_submission(request: HttpRequest, item: AnnotationItem) -> labelling.LabelSubmission:
    form = request.POST
    active = form.get("active_ms", "")[:12]
    return labelling.LabelSubmission(
        labels={name: form.get(name, "") for name in fields_of(KINDS[item.kind].questions, item.payload)},
        key=views.read_key(form.get("key", "")),
        opened=tuple(pages.read_opened(form.get("opened", ""), item)),
        active_ms=min(int(active), LONGEST_ACTIVE) if active.isdecimal() else None,
        trace=labelling.read_trace(form.get("trace", "")),
    )


def ask_again(request: HttpRequest, shown: ShownTask, faults: dict[str, str], error: str = "") -> HttpResponse:
    """Show the page again with the choices kept; its seal stays the one that the answer came with."""
    task = AnnotationTask(shown.item, shown.left, find_newest(request.participant, shown.item))
    page = pages.task_page(request, task, given=request.POST, faults=faults)
    page |= {"error": error, "page": request.POST["page"]}
    return render(request, KINDS[shown.item.kind].template, page, status=422)


@views.participant_page(Step.PROMPTS)
def skip(request: HttpRequest, item: int) -> HttpResponse:
    """Leave an item to others, for a reason."""
    participant = request.participant
    if request.method != "POST":
        return redirect(address(participant, "item", item))
    try:
        shown = open_task(participant, request.POST.get("page", ""))
        reason, words = request.POST.get("reason", ""), request.POST.get("words", "")
        skip_item(participant, shown, reason, words, views.read_key(request.POST.get("key", "")))
    except NotShown:
        return redirect(f"{address(participant, 'work')}?refused=1")
    except labelling.AnsweredSince:
        return keep_and_ask(request, shown)
    except (LabelFault, labelling.TooManyLabelRevisions):
        return ask_again(request, shown, {"reason": gettext("Please choose a reason.")})
    return redirect(address(participant, "work"))


@views.participant_page(Step.PROMPTS, own=True)
@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Take back the last answer or skip, and show its item again."""
    participant = request.participant
    undone = labelling.take_back(participant, views.read_key(request.POST.get("key", "")))
    if undone is None:
        return redirect(f"{address(participant, 'work')}?nothing=1")
    return redirect(f"{address(participant, 'item', undone.item_id)}?undone=1")


@views.participant_page(Step.PROMPTS)
@require_POST
def alive(request: HttpRequest) -> HttpResponse:
    """A sign of life from an open page, which renews this person's holds."""
    with transaction.atomic():
        touch_participant(request.participant)
        renew_holds(request.participant)
    return HttpResponse(status=204)


# --- beside the work --------------------------------------------------------


@views.participant_page(Step.PROMPTS, own=True)
def feedback(request: HttpRequest, item: int) -> HttpResponse:
    """The last answer to a training item beside the right one, with the explanation."""
    participant = request.participant
    trained = AnnotationItem.objects.filter(study=participant.study_id, purpose=Purpose.TRAINING, pk=item).first()
    said = trained and find_newest(participant, trained)
    if not said or request.method == "POST":
        return redirect(address(participant, "work"))
    rows = feedback_on(trained, said)
    page = views.page_context(
        request,
        "feedback",
        headline=pages.headline(trained),
        prompt=pages.prompt_of(trained),
        explanation=trained.explanation,
        all_right=all(row.ok for row in rows),
        rows=[feedback_row(said, row) for row in rows],
    )
    return render(request, "annotation/feedback.html", page)


def feedback_row(said: Annotation, row: Feedback) -> dict:
    """One question in the words of the page, with A and B as they stood on it."""
    item, left = said.item, said.left
    questions = {q.name: q for q in questions_for(definition_of(said.version_id).annotation)}
    question = questions[row.field.split(PART)[0]]
    right = [pages.label_in_words(question, turn_back(question, value, left)) for value in row.right]
    given = pages.label_in_words(question, turn_back(question, row.given, left))
    about_what = pages.about(item, row.field, question)
    return {"about": about_what or gettext(question.text), "given": given, "right": right, "ok": row.ok}


@views.participant_page(Step.PROMPTS, own=True)
def labels(request: HttpRequest) -> HttpResponse:
    """Everything this person has labelled, newest first, to be changed."""
    participant = request.participant
    rows = [
        {
            "headline": pages.headline(task.item),
            "prompt": pages.prompt_of(task.item),
            "words": list(pages.words_of(task.newest)),
            "url": f"{address(participant, 'item', task.item.pk)}?back=labels",
        }
        for task in done_tasks(participant)
        if task.newest
    ]
    page = views.page_context(request, "labels", rows=rows, work_url=address(participant, "work"), key=uuid.uuid4())
    return render(request, "annotation/labels.html", page)


@views.participant_page(Step.PROMPTS)
def guidelines(request: HttpRequest) -> HttpResponse:
    page = views.page_context(request, "guidelines", work_url=address(request.participant, "work"))
    return render(request, "annotation/guidelines.html", page)


# --- the way there and out --------------------------------------------------


@views.participant_page(Step.PROMPTS)
def debrief(request: HttpRequest) -> HttpResponse:
    participant = request.participant
    if not annotation_work.may_stop_paid(participant):
        return redirect(address(participant, "work"))
    more = annotation_work.has_work(participant)
    return views.last_page(request, "annotation/debrief.html", ("work" if more else "labels",), more=more)


@views.participant_page()
def stop(request: HttpRequest) -> HttpResponse:
    paid = paid_way_out(request)
    return views.leave(request, **paid) or render(
        request, "annotation/stop.html", views.page_context(request, "stop", **paid)
    )


def paid_way_out(request: HttpRequest) -> dict:
    """Whether an annotator who stops now is paid in full; if not, after how many more labels."""
    participant = request.participant
    if participant.has_ended or not has_reached(participant, Step.PROMPTS):
        return {"paid_now": False, "paid_after": 0}
    missing = request.definition.annotation.least - annotation_work.done_in_sitting(participant)
    debrief = address(participant, "debrief")
    return {
        "paid_now": annotation_work.may_stop_paid(participant),
        "paid_after": max(0, missing),
        "debrief_url": debrief,
    }


# Addresses: some are participants' pages in annotators' own form.
INSTRUCTIONS, TROUBLE = {"template": "annotation/instructions.html"}, {"template": "annotation/trouble.html"}
ADMIT = {"admit": annotation_work.admit}
BEGIN = {"begin": annotation_work.begin, "may_return": annotation_work.may_sit_again}
annotating: list[URLPattern] = [
    DRAFT,
    path("<slug:study>/", arrival.arrive, BEGIN, name="arrive"),
    path(f"{OWN}questions/", views.questions, ADMIT, name="questions"),
    path(f"{OWN}questions/<int:page>/", views.questions, ADMIT, name="questions"),
    path(f"{OWN}instructions/", views.instructions, INSTRUCTIONS, name="instructions"),
    path(f"{OWN}work/", work, name="work"),
    path(f"{OWN}item/<int:item>/", item, name="item"),
    path(f"{OWN}item/<int:item>/skip/", skip, name="skip"),
    path(f"{OWN}item/<int:item>/feedback/", feedback, name="feedback"),
    path(f"{OWN}undo/", undo, name="undo"),
    path(f"{OWN}labels/", labels, name="labels"),
    path(f"{OWN}guidelines/", guidelines, name="guidelines"),
    path(f"{OWN}alive/", alive, name="alive"),
    path(f"{OWN}debrief/", debrief, name="debrief"),
    path(f"{OWN}help/", views.trouble, TROUBLE, name="trouble"),
    path(f"{OWN}stop/", stop, name="stop"),
]
urlpatterns = [path("a/", include((shared + annotating, "annotation")))]
