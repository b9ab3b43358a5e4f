"""The list of studies, a study's overview, and making a study or a new version from a file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import Count, OuterRef, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_safe

from surveys.console.collect_views import BAR, cell_row
from surveys.console.monitoring.monitor import count_cells, count_missing, say_state, time_of_last_answer
from surveys.console.monitoring.people import count_in
from surveys.models import AnonymousExit, Participant, Study
from surveys.studies.access import Role, may_make_studies, studies_of
from surveys.studies.differences import VersionDifference, changes_to
from surveys.studies.files.definitions import (
    LARGEST_FILE,
    Definition,
    StudyFault,
    StudyFileError,
    parse_study,
    refuse_blank,
)
from surveys.studies.files.lines import Misfit
from surveys.studies.flow import WHO, count_exits, kinds_of_people, people_of, simulated_among
from surveys.studies.lifecycle import STATE_WORDS, StudyError
from surveys.studies.members import change_study, check_version, create_study, misfits_of_new, misfits_of_version
from surveys.studies.pages import FORM, member_page, show, study_page
from surveys.studies.wording import duration, plural


@member_page
@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    mine = studies_of(request.user, Role.BLINDED)
    rows = mine.select_related("current").order_by("-created_at", "slug")
    # The people's count would multiply the places' rows, so it comes by a query of its own.
    came = Q(participants__pilot=False) & ~Q(participants__origin__in=("preview", "imported"))
    people = Count("participants", filter=came)
    exits = AnonymousExit.objects.filter(WHO["main"][1], version__study=OuterRef("pk"))
    left = count_in(exits, Count("pk"), "version__study")
    counts = dict(mine.annotate(n=people + left).values_list("pk", "n"))
    found = list(
        rows.annotate(
            places=Count("cells__places"),
            filled=Count("cells__places", filter=Q(cells__places__confirmed_at__isnull=False)),
        )
    )
    for study in found:
        study.people = counts.get(study.pk, 0)
    folded = [study for study in found if study.archived_at]
    shown = [study for study in found if not study.archived_at]
    answer = "One study" if len(shown) == 1 else plural(len(shown), "study", "studies")
    answer += f", {len(folded)} in the archive" if folded else ""
    page = {"studies": shown, "archived": folded, "answer": answer, "may_make": may_make_studies(request.user)}
    return render(request, "console/studies.html", page)


@study_page(Role.BLINDED, require_safe)
def study(request: HttpRequest) -> HttpResponse:
    """The study's state, and the next step."""
    cells, exits = list(count_cells(request.study)), count_exits(request.study, "main")
    kinds, people = kinds_of_people(request.study), people_of(request.study, "main")
    newest = time_of_last_answer(people.exclude(origin=Participant.Origin.IMPORTED))
    return show(
        request,
        "console/overview.html",
        "overview",
        sentence=say_state(request.study, cells, count_missing(request.study)),
        cells=[cell_row(cell) for cell in cells],
        bar=BAR,
        came=kinds["main"] - kinds["imported"] + sum(n for *_, n in exits),
        simulated=simulated_among(kinds, exits, "main"),
        last_answer=duration((timezone.now() - newest).total_seconds()) if newest else "",
    )


@dataclass
class Upload:
    """A study file as it was sent, and its faults."""

    text: str = ""
    amendment: str = ""
    definition: Definition | None = None
    changes: list[VersionDifference] | None = None  # asked for before anything is loaded
    faults: list[StudyFault] = field(default_factory=list)
    problem: str = ""

    @property
    def lines(self) -> list[tuple[StudyFault, str]]:
        """Each fault with the line of the file that it names."""
        written = self.text.splitlines()
        return [(fault, line_of(written, fault.line)) for fault in self.faults]


def line_of(written: list[str], number: int | None) -> str:
    """The line of this number, from 1; empty if there is none."""
    return written[number - 1] if number is not None and 0 < number <= len(written) else ""


def read_upload(request: HttpRequest, also: Callable[[dict[str, Any]], list[Misfit]]) -> Upload:
    """Read the chosen file, else the pasted text, into a definition or faults; `also` adds faults to the file's own."""
    chosen = request.FILES.get("file")
    content = chosen.read(LARGEST_FILE + 1) if chosen else request.POST.get("text", "").encode("utf-8", "replace")
    upload = Upload(content.decode("utf-8", "replace"), request.POST.get("amendment", "").strip())
    if not content.strip():
        upload.problem = "The file is empty. Choose a study file, or paste its text."
        return upload
    try:
        refuse_blank(content)
        upload.definition = parse_study(content, also=also)
    except StudyFileError as error:
        upload.faults = error.faults
    return upload


@member_page
@FORM
def new_study(request: HttpRequest) -> HttpResponse:
    if not may_make_studies(request.user):
        return render(request, "console/no_new_study.html", status=403)
    also = partial(misfits_of_new, account=request.user)
    upload = read_upload(request, also) if request.method == "POST" else Upload()
    if upload.definition:
        try:
            study = create_study(upload.definition, request.user)
        except StudyError as error:
            upload.problem = str(error)
        else:
            messages.success(request, f"{study.title} has been created as a draft. You are its owner.")
            return redirect("console:setup", study.slug)
    failed = upload.faults or upload.problem
    return render(request, "console/new_study.html", {"upload": upload}, status=422 if failed else 200)


@study_page(Role.RESEARCHER, FORM)
def new_version(request: HttpRequest) -> HttpResponse:
    study = request.study
    also = partial(misfits_of_version, study, account=request.user)
    upload = read_upload(request, also) if request.method == "POST" else Upload()
    if upload.definition:
        try:
            if "compare" not in request.POST:
                say_outcome(request, study, change_study(study, upload.definition, request.user, upload.amendment))
                return redirect("console:setup", study.slug)
            check_version(study, upload.definition, request.user, upload.amendment)
            upload.changes = changes_to(study, upload.definition)
        except StudyError as error:
            upload.problem = str(error)
    failed = upload.faults or upload.problem
    return show(request, "console/new_version.html", "new-version", 422 if failed else 200, upload=upload)


def say_outcome(request: HttpRequest, study: Study, outcome: str) -> None:
    study.refresh_from_db()
    if outcome == "unchanged":
        messages.info(request, "The file says the same as the current version. Nothing was changed.")
    elif study.is_open:
        messages.success(request, f"Version {study.current.number} is what people see from now on.")
    else:
        state = STATE_WORDS[study.state]
        words = f"Version {study.current.number} is the current one. Nobody can begin while the study is {state}."
        messages.success(request, words)


urlpatterns = [
    path("", studies, name="studies"),
    path("new/", new_study, name="new-study"),
    path("<slug:slug>/", study, name="study"),
    path("<slug:slug>/setup/new-version/", new_version, name="new-version"),
]
