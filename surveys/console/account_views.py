"""Accounts, members of a study, and the trail of what they decided."""

from django.contrib import messages
from django.contrib.auth import get_user_model, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import LoginView, redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from surveys.console.pages import address_without_page, member_page, page_of, show, study_page, use_english
from surveys.models import AuditEvent, Membership
from surveys.studies.access import Role, forget_tries, may_try, within_limit
from surveys.studies.audit import find_breaks
from surveys.studies.invitations import may_invite_anybody
from surveys.studies.members import MemberError, add_member, change_role, remove_member, why_blinded


def has_no_account() -> bool:
    return not get_user_model().objects.exists()


log_in_page = LoginView.as_view(
    template_name="console/login.html",
    redirect_authenticated_user=True,
    extra_context={"has_no_account": has_no_account},
)


@require_http_methods(["GET", "POST", "HEAD"])
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
    if request.user.is_authenticated:
        forget_tries(name)
    return answer


@require_safe
def log_in_as_administrator(request: HttpRequest) -> HttpResponse:
    """The door of the admin pages is the console's, with its limits."""
    if request.user.is_authenticated:
        messages.error(request, "Those pages are for the server’s administrators.")
        return redirect("console:studies")
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"), reverse("console:login"))


@member_page
@require_http_methods(["GET", "POST", "HEAD"])
def account(request: HttpRequest) -> HttpResponse:
    form = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        update_session_auth_hash(request, form.user)
        messages.success(request, "Your password has been changed.")
        return redirect("console:account")
    page = {"form": form, "may_invite": may_invite_anybody(request.user)}
    return render(request, "console/account.html", page, status=422 if form.errors else 200)


# --- members ----------------------------------------------------------------


@study_page(Role.BLINDED)
@require_safe
def members(request: HttpRequest) -> HttpResponse:
    rows = request.study.memberships.select_related("user").order_by("user__username")
    return show(
        request,
        "console/members.html",
        "members",
        members=rows,
        roles=Role.choices,
        blinded=sum(row.role == Role.BLINDED for row in rows),
        why_blinded=why_blinded(request.study),
    )


@study_page(Role.OWNER)
@require_POST
def add_to_study(request: HttpRequest) -> HttpResponse:
    name = request.POST.get("username", "").strip().replace("\x00", "")
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    try:
        if user is None:
            raise MemberError(f"There is no account called “{name[:150]}”. Invite them instead.")
        add_member(request.study, user, wanted_role(request), request.user.get_username())
    except MemberError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{name} now works on this study.")
    return redirect("console:members", request.study.slug)


@study_page(Role.OWNER)
@require_POST
def change_membership(request: HttpRequest, number: int) -> HttpResponse:
    """Give a member another role, or remove them."""
    membership = get_object_or_404(Membership.objects.select_related("user", "study"), study=request.study, pk=number)
    actor, leaves = request.user.get_username(), "remove" in request.POST
    try:
        if leaves:
            remove_member(membership, actor)
        else:
            change_role(membership, wanted_role(request), actor)
    except MemberError as error:
        messages.error(request, str(error))
        return redirect("console:members", request.study.slug)
    what = "no longer works on this study" if leaves else f"is {wanted_role(request)} now"
    messages.success(request, f"{membership.user} {what}.")
    if leaves and membership.user_id == request.user.pk:
        return redirect("console:studies")
    return redirect("console:members", request.study.slug)


def wanted_role(request: HttpRequest) -> str:
    role = request.POST.get("role", "")
    if role not in Role.values:
        raise MemberError("Choose a role: owner, researcher, viewer or blinded.")
    return role


# --- the audit trail --------------------------------------------------------


PAGE_SIZE = 100
UNSEEN = ("verdicts",)  # of looks at hypotheses, by blinded members


@study_page(Role.BLINDED)
@require_safe
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
