"""What runs put in front of prompts: sets of personas, brought and looked at, and a look into a corpus."""

from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from analysis.corpora.personas import PersonaFileError, import_personas, profile_of
from analysis.models import Corpus, Persona, PersonaSet
from analysis.owners.sharing import lend, require_owner
from analysis.owners.views import sharing_of
from analysis.people.pages import reads
from analysis.people.pages.forms import OriginForm, PersonasForm, say_taken
from surveys.console.pages import address_without_page, page_of, show, study_page
from surveys.console.wording import plural
from surveys.studies import audit
from surveys.studies.access import Role

HERE, CORPORA = "personas", "corpora"
PROFILES_ON_PAGE, CONVERSATIONS_ON_PAGE = 12, 5


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Role.RESEARCHER)
def personas(request: HttpRequest) -> HttpResponse:
    """Which sets there are, and a form that brings one."""
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
    return show(request, "people/personas.html", HERE, 422 if form.errors else 200, **page)


def bring(request: HttpRequest, given: dict[str, Any]) -> tuple[int, int]:
    """Read the file whole or not at all; how many lines were new, and how many there were."""
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


@require_safe
@study_page(Role.RESEARCHER)
def persona_set(request: HttpRequest, name: str) -> HttpResponse:
    """A set with some of it, in the order of hashes, which is as good as drawn."""
    found = get_object_or_404(PersonaSet.objects.shown_to(request.user, request.study), name=name)
    rows = page_of(request, Persona.objects.filter(set=found).order_by("sha256"), PROFILES_ON_PAGE)
    form = OriginForm(initial={"source": found.source, "licence": found.licence})
    return show(
        request,
        "people/persona_set.html",
        HERE,
        personas=found,
        rows=rows,
        profiles=[profile_of([row]) for row in rows],
        form=form if found.may_be_changed_by(request.user) else None,
        sharing=sharing_of(request, found),
        query=address_without_page(request),
    )


@require_safe
@study_page(Role.RESEARCHER)
def conversations(request: HttpRequest, name: str) -> HttpResponse:
    """A look into a corpus, in the order of hashes, with personal details taken out."""
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
    """Its owner says anew where a row of this model comes from, and under which licence."""

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
