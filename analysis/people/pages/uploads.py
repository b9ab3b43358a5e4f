"""The list of corpora, and the way of a file of conversations from the browser to a worker."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from analysis.corpora.importing import ImportFailed
from analysis.corpora.uploads import MOST_BYTES, PART_BYTES, begin_upload, is_complete, keep_part
from analysis.models import Corpus, CorpusStep, CorpusUpload
from analysis.owners.sharing import lend
from analysis.people.attributes import FORMAT
from analysis.people.pages import reads
from analysis.people.pages.forms import PartsForm, UploadForm, say_taken
from analysis.people.steps import NAMES, PeopleError, note_waiting
from analysis.people.tasks import people_step
from surveys.console.pages import show, study_page
from surveys.studies import audit
from surveys.studies.access import Role

HERE = "corpora"


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Role.RESEARCHER)
def corpora(request: HttpRequest) -> HttpResponse:
    """Which corpora there are, and a form that brings one; without JavaScript its file comes in one piece."""
    form = UploadForm(request.POST or None, request.FILES or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        upload = begin(request, form, filename=file.name[-200:], size=file.size)
        for number, content in enumerate(file.chunks(PART_BYTES)):
            keep_part(upload, number, content)
        try:
            order_import(request, upload)
        except PeopleError as error:
            form.add_error(None, str(error))
        else:
            return redirect("people:corpus", request.study.slug, upload.corpus_name)
    shown = reads.corpora(request.user, request.study)
    page = {"form": form, "corpora": shown, "part_bytes": PART_BYTES, "most_bytes": MOST_BYTES}
    return show(request, "people/corpora.html", HERE, 422 if form.errors else 200, **page)


def begin(request: HttpRequest, form: UploadForm, **file: Any) -> CorpusUpload:
    given = form.cleaned_data
    told = {name: given[name] for name in ("format", "source", "licence")}
    whose = {"owner": request.user, "created_by": request.user.get_username()}
    return begin_upload(corpus_name=given["name"], whole_only=not given["faulty"], **whose, **told, **file)


def order_import(request: HttpRequest, upload: CorpusUpload) -> None:
    """Note that a worker is to read it, and call one; once. Raises PeopleError while something else is done.

    A corpus that it makes belongs to the account and is shared with the study whose page this is.
    """
    actor, settings = request.user.get_username(), {"upload": upload.pk, "file": upload.filename}
    whose = {"account": request.user.pk, "study": request.study.pk}
    with transaction.atomic():
        is_here = CorpusUpload.objects.select_for_update().filter(pk=upload.pk).exists()
        if not is_here or find_import(request, upload.pk):
            return
        own = {"format": FORMAT, "owner": request.user}
        corpus, is_new = Corpus.objects.get_or_create(name=upload.corpus_name, defaults=own)
        if is_new:
            lend(corpus, request.study, actor)
        elif not corpus.may_be_changed_by(request.user):
            raise PeopleError(say_taken(corpus.name))
        note_waiting(corpus, NAMES.IMPORT, settings, actor)
        audit.record(request.study, actor, "corpus uploaded", corpus.name, file=upload.filename, bytes=upload.size)
        transaction.on_commit(lambda: people_step.delay(corpus.pk, NAMES.IMPORT, settings, actor, whose), robust=True)
    messages.success(request, f"{upload.filename} is here. It is imported as soon as a worker is free.")


def find_import(request: HttpRequest, number: int) -> CorpusStep | None:
    """The import that the account ordered of this upload, whether it still waits or is over."""
    rows = CorpusStep.objects.filter(corpus__in=Corpus.objects.owned_by(request.user))
    own = rows.filter(name=NAMES.IMPORT, started_by=request.user.get_username())
    return own.filter(settings__upload=number).select_related("corpus").first()


# --- in parts


@require_POST
@study_page(Role.RESEARCHER)
def begin_parts(request: HttpRequest) -> HttpResponse:
    """Say what will come: its number and address, or what is wrong with the form."""
    form = PartsForm(request.POST, user=request.user)
    if not form.is_valid():
        faults = [
            f"{form.fields[at].label or at.capitalize()}: {error}" for at in form.errors for error in form.errors[at]
        ]
        return JsonResponse({"faults": faults}, status=422)
    given = form.cleaned_data
    upload = begin(request, form, filename=given["filename"], size=given["size"])
    return JsonResponse({"address": reverse("people:upload", args=[request.study.slug, upload.pk])}, status=201)


@require_POST
@study_page(Role.RESEARCHER)
def keep(request: HttpRequest, number: int) -> HttpResponse:
    """A part, or with `end` the end: then the import is ordered. Nobody adds to another account's upload.

    An end whose answer was lost is sent again, and may come when the file has been imported.
    """
    upload = CorpusUpload.objects.filter(pk=number, owner=request.user).first()
    if upload is None:
        known = find_import(request, number) if "end" in request.GET else None
        if known is None:
            raise Http404
        return JsonResponse({"address": reverse("people:corpus", args=[request.study.slug, known.corpus.name])})
    try:
        if "end" not in request.GET:
            keep_part(upload, part_number(request), request.body)
            return JsonResponse({})
        if not is_complete(upload):
            raise ImportFailed(f"Some of {upload.filename} has not arrived. Choose it again.")
        order_import(request, upload)
    except (ImportFailed, PeopleError) as error:
        return JsonResponse({"faults": [str(error)]}, status=409)
    return JsonResponse({"address": reverse("people:corpus", args=[request.study.slug, upload.corpus_name])})


def part_number(request: HttpRequest) -> int:
    asked = request.GET.get("part", "")
    if not asked.isdecimal() or len(asked) > 6:
        raise Http404
    return int(asked)
