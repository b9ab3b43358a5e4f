"""The audit trail: what researchers and the system decided, and whether its chain holds."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from surveys.access.audit import find_breaks
from surveys.console.pages import address_without_page, page_of, show, study_page
from surveys.models import AuditEvent

PAGE_SIZE = 100


@study_page()
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
        verified=verify,
        breaks=list(find_breaks(request.study)) if verify else [],
        query=address_without_page(request),
    )


def chosen(**filters: str) -> dict[str, str]:
    return {name: value.replace("\x00", "") for name, value in filters.items() if value}


def names_in(request: HttpRequest, column: str) -> list[str]:
    rows = AuditEvent.objects.filter(study=request.study).order_by(column)
    return list(rows.values_list(column, flat=True).distinct())
