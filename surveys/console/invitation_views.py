"""Inviting somebody who has no account, and the page behind the link, on which they make it."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import UserCreationForm
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from surveys.console.pages import member_page, use_english
from surveys.studies.access import Role, studies_of, within_limit
from surveys.studies.invitations import (
    LASTS,
    InvitationError,
    accept,
    find_invitation,
    invite,
    may_invite,
    may_invite_anybody,
    may_let_make_studies,
    open_invitations,
    revoke,
)

MAKES_STUDIES = "makes-studies"
ROLES = {
    Role.RESEARCHER: "Researcher: reads everything, previews, launches, amends",
    Role.VIEWER: "Viewer: reads everything but Prolific IDs",
    Role.BLINDED: "Blinded: sees how the study goes, and no comparison",
    Role.OWNER: "Owner: also manages members",
}


class InvitationForm(forms.Form):
    """What the new account may do: make studies, or work on one study of the inviter's."""

    study = forms.ChoiceField(label="What the new account is for")
    role = forms.ChoiceField(label="Role in the study", choices=list(ROLES.items()))
    note = forms.CharField(
        label="For whom", max_length=100, required=False, help_text="Only to tell open invitations apart."
    )

    def __init__(self, *args: Any, account: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.mine = {study.slug: study for study in studies_of(account, Role.OWNER).order_by("title")}
        server = [(MAKES_STUDIES, "Making studies of their own")] if may_let_make_studies(account) else []
        self.fields["study"].choices = server + [
            (slug, f"Working on {study.title} ({slug})") for slug, study in self.mine.items()
        ]


@member_page
@require_http_methods(["GET", "POST", "HEAD"])
def invitations(request: HttpRequest) -> HttpResponse:
    """The open ones, and a form for another. Its link is shown in the answer and never again."""
    if not may_invite_anybody(request.user):
        raise PermissionDenied("Owners of a study may invite.")
    if "revoke" in request.POST:
        return take_back(request, request.POST["revoke"])
    initial = {"study": request.GET.get("study", "")}
    form = InvitationForm(request.POST or None, account=request.user, initial=initial)
    link = ""
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        token = invite(request.user, form.mine.get(given["study"]), given["role"], given["note"])
        link = f"{settings.SITE_URL}{reverse('console:accept', args=[token])}"
        form = InvitationForm(account=request.user, initial={"study": given["study"]})
    rows = [(row, may_invite(row.invited_by, row.study)) for row in open_invitations(request.user)]
    page = {"form": form, "link": link, "open": rows, "days": LASTS.days, "hold": sum(holds for _, holds in rows)}
    return render(request, "console/invitations.html", page, status=422 if form.errors else 200)


def take_back(request: HttpRequest, number: str) -> HttpResponse:
    if not (number.isdecimal() and len(number) < 19 and revoke(request.user, int(number))):
        messages.error(request, "This invitation is not open any more.")
    else:
        messages.success(request, "The invitation is taken back. Its link leads nowhere now.")
    return redirect("console:invitations")


@require_http_methods(["GET", "POST", "HEAD"])
def accept_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Name and password of the new account, which is logged in then and lands on its first page."""
    use_english(request)
    if request.method == "POST" and not within_limit(request, "login"):
        return render(request, "console/accept.html", {"busy": True}, status=429)
    try:
        invitation = find_invitation(token)
        form = UserCreationForm(request.POST or None)
        if request.method == "POST" and not request.user.is_authenticated and form.is_valid():
            invitation = accept(token, form.save(commit=False))
            login(request, get_user_model().objects.get(username=invitation.used_by))
            study = invitation.study
            return redirect("console:study", study.slug) if study else redirect("console:studies")
    except InvitationError as error:
        return render(request, "console/accept.html", {"problem": str(error)}, status=410)
    except IntegrityError:  # the name was taken in this moment
        form.add_error("username", "A user with that username already exists.")
    page = {"invitation": invitation, "form": form}
    return render(request, "console/accept.html", page, status=422 if form.errors else 200)
