"""The console's pages to upload and view what runs put in front of prompts: sets of personas, and corpora."""

from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from analysis.endpoints.owners.sharing import lend, require_owner
from analysis.endpoints.owners.views import sharing_of
from analysis.models import Corpus, CorpusStep, CorpusUpload, Persona, PersonaSet
from analysis.people.attributes import FORMAT
from analysis.people.corpora.importing import ImportFailed
from analysis.people.corpora.personas import PersonaFileError, import_personas, profile_of
from analysis.people.corpora.uploads import MOST_BYTES, PART_BYTES, begin_upload, is_complete, keep_part
from analysis.people.pages import reads
from analysis.people.pages.forms import OriginForm, PartsForm, PersonasForm, UploadForm, say_taken
from analysis.people.steps import NAMES, PeopleError, note_waiting
from analysis.people.tasks import people_step
from surveys.studies import audit
from surveys.studies.access import Role
from surveys.studies.pages import FORM, address_without_page, page_of, show, study_page
from surveys.studies.wording import plural

PERSONAS, CORPORA = "personas", "corpora"
PROFILES_ON_PAGE, CONVERSATIONS_ON_PAGE = 12, 5


@study_page(Role.RESEARCHER, FORM)
def personas(request: HttpRequest) -> HttpResponse:
    """The list of sets, and a form to upload one."""
    form = PersonasForm(request.POST or None, request.FILES or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        try:
            new, number = bring(request, form.cleaned_data)
        except PersonaFileError as error:
            form.add_error("file", str(error))
        else:
            messages.success(request, f"{plural(number, 'line')} read, {new:,} of them new.")
            return redirect("people:persona-set", request.study.slug, form.cleaned_data["name"])
    page = {"form": form, "sets": reads.persona_sets(request.user, request.study)}
    return show(request, "people/personas.html", PERSONAS, 422 if form.errors else 200, **page)


def bring(request: HttpRequest, given: dict[str, Any]) -> tuple[int, int]:
    """Import the file whole or not at all; return how many lines were new, and how many there were."""
    file = given["file"]
    with NamedTemporaryFile(suffix=Path(file.name).suffix[:20]) as kept:
        for content in file.chunks():
            kept.write(content)
        kept.flush()
        origin = {name: given[name] for name in ("source", "licence")}
        try:
            with transaction.atomic():
                actor = request.user.get_username()
                personas, is_new = PersonaSet.objects.get_or_create(
                    name=given["name"], defaults={"owner": request.user}
                )
                if is_new:
                    lend(personas, request.study, actor)
                elif not personas.may_be_changed_by(request.user):
                    raise PersonaFileError(say_taken(personas.name))
                counts = import_personas(given["name"], Path(kept.name), given["lines"] or "persona", **origin)
                audit.record(request.study, actor, "personas uploaded", given["name"], file=file.name, lines=counts[1])
        except PersonaFileError as error:
            raise PersonaFileError(str(error).replace(kept.name, file.name)) from None
    return counts


@study_page(Role.RESEARCHER, require_safe)
def persona_set(request: HttpRequest, name: str) -> HttpResponse:
    """A set with some of its rows, in the order of hashes, which is as good as random."""
    found = get_object_or_404(PersonaSet.objects.shown_to(request.user, request.study), name=name)
    rows = page_of(request, Persona.objects.filter(set=found).order_by("sha256"), PROFILES_ON_PAGE)
    form = OriginForm(initial={"source": found.source, "licence": found.licence})
    return show(
        request,
        "people/persona_set.html",
        PERSONAS,
        personas=found,
        rows=rows,
        profiles=[profile_of([row]) for row in rows],
        form=form if found.may_be_changed_by(request.user) else None,
        sharing=sharing_of(request, found),
        query=address_without_page(request),
    )


@study_page(Role.RESEARCHER, require_safe)
def conversations(request: HttpRequest, name: str) -> HttpResponse:
    """A look into a corpus, in the order of hashes and without personal details."""
    corpus = get_object_or_404(Corpus.objects.shown_to(request.user, request.study), name=name)
    rows = page_of(request, corpus.conversations.order_by("sha256"), CONVERSATIONS_ON_PAGE)
    form = OriginForm(initial={"source": corpus.source, "licence": corpus.licence})
    return show(
        request,
        "people/conversations.html",
        CORPORA,
        corpus=corpus,
        rows=rows,
        conversations=reads.marked(list(rows), None),
        form=form if corpus.may_be_changed_by(request.user) else None,
        query=address_without_page(request),
    )


def origin_page(model: Any, address: str, action: str) -> Callable[..., HttpResponse]:
    """Make the page on which the owner changes where a row of this model comes from, and under which licence."""

    @require_POST
    @study_page(Role.RESEARCHER)
    def page(request: HttpRequest, name: str) -> HttpResponse:
        found = get_object_or_404(model.objects.shown_to(request.user, request.study), name=name)
        require_owner(request.user, found)
        form = OriginForm(request.POST)
        if not form.is_valid():
            messages.error(request, "Say both, source and licence, or that they are not known.")
            return redirect(address, request.study.slug, name)
        given = form.cleaned_data
        with transaction.atomic():
            model.objects.filter(pk=found.pk).update(**given)
            audit.record(request.study, request.user.get_username(), action, name, **given)
        messages.success(request, "Source and licence are saved.")
        return redirect(address, request.study.slug, name)

    return page


set_origin = origin_page(PersonaSet, "people:persona-set", "source of personas changed")
corpus_origin = origin_page(Corpus, "people:conversations", "source of a corpus changed")


# --- corpora: their list, and the way of a file of conversations from the browser to a worker


@study_page(Role.RESEARCHER, FORM)
def corpora(request: HttpRequest) -> HttpResponse:
    """The list of corpora, and a form to upload one; without JavaScript its file comes in one piece."""
    form = UploadForm(request.POST or None, request.FILES or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        upload = begin(request, form, filename=file.name[-200:], size=file.size)
        try:
            for number, content in enumerate(file.chunks(PART_BYTES)):
                keep_part(upload, number, content)
            order_import(request, upload)
        except (ImportFailed, PeopleError) as error:
            form.add_error(None, str(error))
        else:
            return redirect("people:corpus", request.study.slug, upload.corpus_name)
    shown = reads.corpora(request.user, request.study)
    filtered = CorpusStep.objects.filter(name=CorpusStep.Name.FILTER, state=CorpusStep.State.DONE)
    page = {"form": form, "corpora": shown, "part_bytes": PART_BYTES, "most_bytes": MOST_BYTES}
    page["filtered"] = set(filtered.values_list("corpus__name", flat=True))
    return show(request, "people/corpora.html", CORPORA, 422 if form.errors else 200, **page)


def begin(request: HttpRequest, form: UploadForm, **file: Any) -> CorpusUpload:
    given = form.cleaned_data
    origin = {name: given[name] for name in ("format", "source", "licence")}
    whose = {"owner": request.user, "created_by": request.user.get_username()}
    return begin_upload(corpus_name=given["name"], whole_only=not given["faulty"], **whose, **origin, **file)


def order_import(request: HttpRequest, upload: CorpusUpload) -> None:
    """Order the import from a worker, once. Raises PeopleError while another step runs, or if the name is taken.

    A corpus that it creates belongs to the account and is shared with the study whose page this is.
    """
    actor, settings = request.user.get_username(), {"upload": upload.pk, "file": upload.filename}
    whose = {"account": request.user.pk, "study": request.study.pk}
    with transaction.atomic():
        is_here = CorpusUpload.objects.select_for_update().filter(pk=upload.pk).exists()
        if not is_here or find_import(request, upload.pk):
            return
        own = {"format": FORMAT, "owner": request.user, "source": upload.source, "licence": upload.licence}
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
    """The import of this upload that the account ordered, whether it still waits or is over."""
    rows = CorpusStep.objects.filter(corpus__in=Corpus.objects.owned_by(request.user))
    own = rows.filter(name=NAMES.IMPORT, started_by=request.user.get_username())
    return own.filter(settings__upload=number).select_related("corpus").first()


# --- in parts


@study_page(Role.RESEARCHER, require_POST)
def begin_parts(request: HttpRequest) -> HttpResponse:
    """Announce an upload; returns the address for its parts, or the form's faults."""
    form = PartsForm(request.POST, user=request.user)
    if not form.is_valid():
        faults = [f"{field.label}: {error}" for field in form for error in field.errors]
        return JsonResponse({"faults": faults}, status=422)
    given = form.cleaned_data
    upload = begin(request, form, filename=given["filename"], size=given["size"])
    return JsonResponse({"address": reverse("people:upload", args=[request.study.slug, upload.pk])}, status=201)


@study_page(Role.RESEARCHER, require_POST)
def keep(request: HttpRequest, number: int) -> HttpResponse:
    """Keep a part, or with `end` order the import. Nobody adds to another account's upload.

    An end whose answer was lost is sent again, and may come after the file has been imported.
    """
    upload = CorpusUpload.objects.filter(pk=number, owner=request.user).first()
    if upload is None:
        known = find_import(request, number) if "end" in request.GET else None
        if known is None:
            raise Http404
        return JsonResponse({"address": reverse("people:corpus", args=[request.study.slug, known.corpus.name])})
    try:
        if "end" not in request.GET:
            asked = request.GET.get("part", "")
            if not asked.isdecimal() or len(asked) > 6:
                raise Http404
            keep_part(upload, int(asked), request.body)
            return JsonResponse({})
        if not is_complete(upload):
            raise ImportFailed(f"Some of {upload.filename} has not arrived. Choose it again.")
        order_import(request, upload)
    except (ImportFailed, PeopleError) as error:
        return JsonResponse({"faults": [str(error)]}, status=409)
    return JsonResponse({"address": reverse("people:corpus", args=[request.study.slug, upload.corpus_name])})


ADDRESS = "console/<slug:slug>/people/"
ONE = f"{ADDRESS}<slug:name>/"
SETS = "console/<slug:slug>/personas/"
urlpatterns = [
    path(ADDRESS, corpora, name="corpora"),
    path(f"{ADDRESS}uploads/new/", begin_parts, name="new-upload"),
    path(f"{ADDRESS}uploads/<int:number>/", keep, name="upload"),
    path(f"{ONE}conversations/", conversations, name="conversations"),
    path(f"{ONE}origin/", corpus_origin, name="corpus-origin"),
    path(SETS, personas, name="personas"),
    path(f"{SETS}<slug:name>/", persona_set, name="persona-set"),
    path(f"{SETS}<slug:name>/origin/", set_origin, name="set-origin"),
]
