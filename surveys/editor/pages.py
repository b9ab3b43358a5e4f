"""What the editor's pages share: whose working copy it is, and the frame of its study."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from surveys.console.pages import member_page, show
from surveys.models import WorkingCopy
from surveys.studies.access import Role, study_and_role

View = Callable[..., HttpResponse]


def copy_page(view: View) -> View:
    """A page of somebody's own working copy; that of a study needs a role there too."""

    @wraps(view)
    @member_page
    def page(request: HttpRequest, number: int, *args: object, **names: object) -> HttpResponse:
        copies = WorkingCopy.objects.select_related("study__current")
        copy = get_object_or_404(copies, pk=number, owner=request.user)
        if copy.study:
            request.study, request.role = study_and_role(request.user, copy.study.slug, Role.RESEARCHER)
        return view(request, copy, *args, **names)

    return page


def show_copy(request: HttpRequest, template: str, status: int = 200, **page: object) -> HttpResponse:
    """Inside the frame of its study, where it has one."""
    if hasattr(request, "study"):
        return show(request, template, "edit", status, **page)
    return render(request, template, page, status=status)
