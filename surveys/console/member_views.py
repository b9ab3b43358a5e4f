"""Members of a study: everybody sees them, owners change them."""

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from surveys.access.access import Role
from surveys.console.pages import show, study_page
from surveys.models import Membership
from surveys.studies.members import MemberError, add_member, change_role, remove_member


@study_page()
@require_safe
def members(request: HttpRequest) -> HttpResponse:
    rows = request.study.memberships.select_related("user").order_by("user__username")
    return show(request, "console/members.html", "members", members=rows, roles=Role.choices)


@study_page(Role.OWNER)
@require_POST
def add(request: HttpRequest) -> HttpResponse:
    name = request.POST.get("username", "").strip().replace("\x00", "")
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    try:
        if user is None:
            raise MemberError(f"There is no account called “{name[:150]}”. The server’s keeper can make one.")
        add_member(request.study, user, wanted_role(request), request.user.get_username())
    except MemberError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{name} works on this study now.")
    return redirect("console:members", request.study.slug)


@study_page(Role.OWNER)
@require_POST
def change(request: HttpRequest, number: int) -> HttpResponse:
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
        raise MemberError("Choose a role: owner, researcher or viewer.")
    return role
