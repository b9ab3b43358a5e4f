"""The form by which an owner shares something with studies, on the page of the thing itself."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from analysis.endpoints.owners.sharing import KINDS, called, require_owner, share, word_for
from analysis.models import Run, TrainedModel
from surveys.models import Study
from surveys.studies.access import Role, studies_of
from surveys.studies.pages import study_page
from surveys.studies.wording import join_words

# The page of each kind that has one.
PAGES = {"corpus": "people:corpus", "personas": "people:persona-set", "model": "training:model", "run": "baselines:run"}


class SharingForm(forms.Form):
    """A choice of studies: the account's own, and those that it is shared with already."""

    studies = forms.ModelMultipleChoiceField(
        Study.objects.none(), to_field_name="slug", required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, account: Any, thing: Any, **given: Any) -> None:
        super().__init__(*args, initial={"studies": [study.slug for study in thing.shared_with.all()]}, **given)
        mine = studies_of(account).values("pk")
        there = thing.shared_with.values("pk")
        rows = Study.objects.filter(pk__in=mine) | Study.objects.filter(pk__in=there)
        self.fields["studies"].queryset = rows.order_by("slug")
        self.fields["studies"].label_from_instance = lambda study: f"{study.title} ({study.slug})"
        self.fields["studies"].label = "Shared with"


def sharing_of(request: HttpRequest, thing: Any) -> dict[str, Any] | None:
    """Whose it is, in words, and the form if the account may share it; None for what belongs to a study."""
    if getattr(thing, "study_id", None):
        return None
    may_share = thing.may_be_changed_by(request.user)
    slugs = list(thing.shared_with.order_by("slug").values_list("slug", flat=True))
    is_here = request.study.slug in slugs
    shown = slugs if may_share else [request.study.slug] if is_here else []
    owner = (
        "the server" if thing.owner is None else "you" if thing.owner == request.user else thing.owner.get_username()
    )
    name = thing.pk if isinstance(thing, Run) else thing.name
    return {
        "words": f"It belongs to {owner}, {'shared with ' + join_words(shown) if shown else 'shared with no study'}.",
        "not_here": may_share and not is_here,
        "form": SharingForm(account=request.user, thing=thing) if may_share else None,
        "address": reverse("sharing:share", args=[request.study.slug, word_for(thing), name]),
    }


@study_page(Role.RESEARCHER, require_POST)
def share_thing(request: HttpRequest, kind: str, name: str) -> HttpResponse:
    if kind not in PAGES:
        raise Http404
    thing = find(request, kind, name)
    require_owner(request.user, thing)
    form = SharingForm(request.POST, account=request.user, thing=thing)
    if form.is_valid():
        share(thing, form.cleaned_data["studies"], request.user.get_username())
        messages.success(request, f"Who may use {called(thing)} is saved.")
    else:
        messages.error(request, "One of these studies is none of yours. Nothing was changed.")
    return redirect(PAGES[kind], request.study.slug, name)


def find(request: HttpRequest, kind: str, name: str) -> Any:
    model = KINDS[kind]
    rows = model.objects.shown_to(request.user, request.study)
    if model in (Run, TrainedModel):
        rows = rows.filter(study=None)
    if model is not Run:
        return get_object_or_404(rows, name=name)
    return get_object_or_404(rows, pk=int(name) if name.isdecimal() and len(name) < 19 else 0)


urlpatterns = [path("console/<slug:slug>/sharing/<slug:kind>/<slug:name>/", share_thing, name="share")]
