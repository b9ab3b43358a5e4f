"""One call to read: its messages rebuilt from the recipe, the reply, and whether the hash holds."""

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from analysis.models import Completion
from analysis.runs.pages.lists import is_simulated
from analysis.runs.pages.reading import last_messages, read_messages
from analysis.runs.pages.views import HERE
from analysis.runs.pages.words import dollars
from surveys.console.pages import show, study_page


def find_completion(request: HttpRequest, number: int, call: int) -> Completion:
    """A call of the study's runs, or of a benchmark's that belong to no study and stand beside those of every one."""
    whose = Q(run__study=request.study) | Q(run__study__isnull=True, item__isnull=False)
    rows = Completion.objects.filter(whose, run=number)
    own = ("run__endpoint", "run__version", "run__corpus", "run__personas", "prompt", "item", "user")
    own += ("annotation_item__history", "judgement__annotation")
    return get_object_or_404(rows.select_related(*own).defer("user__recipe"), pk=call)


@require_safe
@study_page()
def completion(request: HttpRequest, number: int, call: int) -> HttpResponse:
    shown = find_completion(request, number, call)
    reading = read_messages(shown)
    asked, left_out = last_messages(reading, "all" in request.GET)
    beside = Completion.objects.filter(run=number).only("pk")
    return show(
        request,
        "runs/completion.html",
        HERE,
        call=shown,
        run=shown.run,
        reading=reading,
        asked=asked,
        left_out=left_out,
        cost=dollars(shown.cost),
        simulated=is_simulated(shown.run),
        earlier=beside.filter(position__lt=shown.position).order_by("-position").first(),
        later=beside.filter(position__gt=shown.position).order_by("position").first(),
    )


@require_safe
@study_page()
def completion_messages(request: HttpRequest, number: int, call: int) -> HttpResponse:
    """The messages as they are sent, as a file."""
    shown = find_completion(request, number, call)
    reading = read_messages(shown)
    if reading.built is None:
        raise Http404(reading.problem)
    content = {"sha256": reading.built.sha256, "stored": reading.stored, "messages": reading.built.messages}
    response = JsonResponse(content, json_dumps_params={"ensure_ascii": False, "indent": 2})
    response["Content-Disposition"] = f'attachment; filename="run-{number}-call-{call}.json"'
    return response
