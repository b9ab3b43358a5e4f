"""Accounts, members of a study, invitations, and the audit trail."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model, login, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, UserCreationForm
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from surveys.models import AuditEvent, Membership
from surveys.studies import members as team
from surveys.studies.access import Role, forget_tries, may_try, studies_of, within_limit
from surveys.studies.audit import find_breaks
from surveys.studies.pages import (
    FORM,
    address_without_page,
    member_page,
    offer_unsent,
    page_of,
    saying,
    show,
    study_page,
    use_english,
)


def has_no_account() -> bool:
    return not get_user_model().objects.exists()


log_in_page = LoginView.as_view(
    template_name="console/login.html",
    redirect_authenticated_user=True,
    extra_context={"has_no_account": has_no_account},
)


@FORM
def log_in(request: HttpRequest) -> HttpResponse:
    use_english(request)
    if request.method != "POST":
        return log_in_page(request)
    name = request.POST.get("username", "")
    if not within_limit(request, "login"):
        return render(request, "console/login.html", {"busy": "address"}, status=429)
    if not may_try(request, name):
        return render(request, "console/login.html", {"busy": "name"}, status=429)
    answer = log_in_page(request)
    if not request.user.is_authenticated:
        return answer
    forget_tries(name)
    return offer_unsent(request) or answer


@require_safe
def log_in_as_administrator(request: HttpRequest) -> HttpResponse:
    """Lead the log-in of the admin pages to the console's, with its limits."""
    if request.user.is_authenticated:
        messages.error(request, "Those pages are for the server’s administrators.")
        return redirect("console:studies")
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"), reverse("console:login"))


@member_page
@FORM
def account(request: HttpRequest) -> HttpResponse:
    form = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, form.user)
        messages.success(request, "Your password has been changed.")
        return redirect("console:account")
    page = {"form": form, "may_invite": team.may_invite_anybody(request.user)}
    return render(request, "console/account.html", page, status=422 if form.errors else 200)


# --- members ----------------------------------------------------------------


@study_page(Role.BLINDED, require_safe)
def members(request: HttpRequest) -> HttpResponse:
    return show_members(request)


def show_members(request: HttpRequest, status: int = 200, name: str = "", role: str = Role.RESEARCHER) -> HttpResponse:
    """Show the members; `name` and `role` fill the form that adds one."""
    rows = request.study.memberships.select_related("user").order_by("user__username")
    return show(
        request,
        "console/members.html",
        "members",
        status,
        members=rows,
        name=name,
        chosen=role,
        roles=Role.choices,
        blinded=sum(row.role == Role.BLINDED for row in rows),
        why_blinded=team.why_blinded(request.study),
    )


@study_page(Role.OWNER, require_POST)
def add_to_study(request: HttpRequest) -> HttpResponse:
    name = request.POST.get("username", "").strip().replace("\x00", "")
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    with saying(request, team.MemberError):
        if not name:
            raise team.MemberError("Write the name of their account.")
        if user is None:
            raise team.MemberError(f"There is no account called “{name[:150]}”. Invite them instead.")
        team.add_member(request.study, user, wanted_role(request), request.user.get_username())
        messages.success(request, f"{name} now works on this study.")
        return redirect("console:members", request.study.slug)
    return show_members(request, 422, name, request.POST.get("role", ""))


@study_page(Role.OWNER, require_POST)
def change_membership(request: HttpRequest, number: int) -> HttpResponse:
    """Give a member another role, or remove them."""
    membership = get_object_or_404(Membership.objects.select_related("user", "study"), study=request.study, pk=number)
    actor = request.user.get_username()
    with saying(request, team.MemberError):
        if "remove" in request.POST:
            team.remove_member(membership, actor)
            messages.success(request, f"{membership.user} no longer works on this study.")
            if membership.user_id == request.user.pk:
                return redirect("console:studies")
        else:
            team.change_role(membership, role := wanted_role(request), actor)
            messages.success(request, f"{membership.user} is {role} now.")
    return redirect("console:members", request.study.slug)


def wanted_role(request: HttpRequest) -> str:
    role = request.POST.get("role", "")
    if role not in Role.values:
        raise team.MemberError("Choose a role: owner, researcher, viewer or blinded.")
    return role


# --- the audit trail --------------------------------------------------------


PAGE_SIZE = 100
UNSEEN = ("verdicts",)  # of looks at hypotheses; hidden from blinded members


@study_page(Role.BLINDED, require_safe)
def trail(request: HttpRequest) -> HttpResponse:
    events = AuditEvent.objects.filter(study=request.study).order_by("-number")
    action, actor = request.GET.get("action", ""), request.GET.get("actor", "")
    verify = request.GET.get("verify") == "1"
    return show(
        request,
        "console/audit.html",
        "audit",
        events=page_of(request, events.filter(**chosen(action=action, actor=actor)), PAGE_SIZE),
        actions=names_in(request, "action"),
        actors=names_in(request, "actor"),
        action=action,
        actor=actor,
        hidden=UNSEEN if request.role == Role.BLINDED else (),
        verified=verify,
        breaks=list(find_breaks(request.study)) if verify else [],
        query=address_without_page(request),
    )


def chosen(**filters: str) -> dict[str, str]:
    return {name: value.replace("\x00", "") for name, value in filters.items() if value}


def names_in(request: HttpRequest, column: str) -> list[str]:
    rows = AuditEvent.objects.filter(study=request.study).order_by(column)
    return list(rows.values_list(column, flat=True).distinct())


# --- invitations ---------------------------------------------------------------


MAKES_STUDIES = "makes-studies"
ROLES = {
    Role.RESEARCHER: "Researcher: reads everything, previews, launches, amends",
    Role.VIEWER: "Viewer: reads everything but Prolific IDs",
    Role.BLINDED: "Blinded: sees how the study goes, and no comparison",
    Role.OWNER: "Owner: also manages members",
}


class InvitationForm(forms.Form):
    """The new account's rights: making studies, or a role in one of the inviter's."""

    study = forms.ChoiceField(label="What the new account is for")
    role = forms.ChoiceField(label="Role in the study", choices=list(ROLES.items()))
    note = forms.CharField(
        label="For whom", max_length=100, required=False, help_text="Only to tell open invitations apart."
    )

    def __init__(self, *args: Any, account: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.mine = {study.slug: study for study in studies_of(account, Role.OWNER).order_by("title")}
        server = [(MAKES_STUDIES, "Making studies of their own")] if team.may_let_make_studies(account) else []
        self.fields["study"].choices = server + [
            (slug, f"Working on {study.title} ({slug})") for slug, study in self.mine.items()
        ]


@member_page
@FORM
def invitations(request: HttpRequest) -> HttpResponse:
    """List open invitations, with a form for another, whose link is shown once in the answer."""
    if not team.may_invite_anybody(request.user):
        raise PermissionDenied("Owners of a study may invite.")
    if "revoke" in request.POST:
        return take_back(request, request.POST["revoke"])
    initial = {"study": request.GET.get("study", "")}
    form = InvitationForm(request.POST or None, account=request.user, initial=initial)
    link = ""
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        token = team.invite(request.user, form.mine.get(given["study"]), given["role"], given["note"])
        link = f"{settings.SITE_URL}{reverse('console:accept', args=[token])}"
        form = InvitationForm(account=request.user, initial={"study": given["study"]})
    rows = [(row, team.may_invite(row.invited_by, row.study)) for row in team.open_invitations(request.user)]
    page = {"form": form, "link": link, "open": rows, "days": team.LASTS.days, "hold": sum(holds for _, holds in rows)}
    return render(request, "console/invitations.html", page, status=422 if form.errors else 200)


def take_back(request: HttpRequest, number: str) -> HttpResponse:
    if not (number.isdecimal() and len(number) < 19 and team.revoke(request.user, int(number))):
        messages.error(request, "This invitation is not open any more.")
    else:
        messages.success(request, "The invitation is taken back. Its link leads nowhere now.")
    return redirect("console:invitations")


@FORM
def accept_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the new account's name and password; then log it in and lead to its first page."""
    use_english(request)
    if request.method == "POST" and not within_limit(request, "login"):
        return render(request, "console/accept.html", {"busy": True}, status=429)
    try:
        invitation = team.find_invitation(token)
        form = UserCreationForm(request.POST or None)
        if request.method == "POST" and not request.user.is_authenticated and form.is_valid():
            invitation = team.accept(token, form.save(commit=False))
            login(request, get_user_model().objects.get(username=invitation.used_by))
            study = invitation.study
            return redirect("console:study", study.slug) if study else redirect("console:studies")
    except team.InvitationError as error:
        return render(request, "console/accept.html", {"problem": str(error)}, status=410)
    except IntegrityError:  # the name was taken in this moment
        form.add_error("username", "A user with that username already exists.")
    page = {"invitation": invitation, "form": form}
    return render(request, "console/accept.html", page, status=422 if form.errors else 200)


urlpatterns = [
    path("login/", log_in, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/", account, name="account"),
    path("account/invitations/", invitations, name="invitations"),
    path("account/new/<str:token>/", accept_invitation, name="accept"),
    path("<slug:slug>/members/", members, name="members"),
    path("<slug:slug>/members/add/", add_to_study, name="add-member"),
    path("<slug:slug>/members/<int:number>/", change_membership, name="change-member"),
    path("<slug:slug>/audit/", trail, name="audit"),
]
