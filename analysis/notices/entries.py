"""The console's frame: a study's entries, the state of each, and their tabs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import BigIntegerField, Count, F, Q, QuerySet, Sum, TextField, Value
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.urls import reverse

from analysis.answers.reviews import answers_of, waiting
from analysis.models import Run
from surveys.console.monitoring.monitor import CellProgress, PlacesOfCells, behind, places_of_cells, say_filled
from surveys.models import (
    Annotation,
    AnnotationItem,
    AuditEvent,
    GateDecision,
    Participant,
    QuotaCell,
    Slot,
    Study,
    TeamRequest,
)
from surveys.studies.access import RANK, Role, studies_of
from surveys.studies.files.kinds import IMPORTED
from surveys.studies.flow import people_of
from surveys.studies.wording import dollars, plural

ENDED_EARLY = (Run.State.STOPPED, Run.State.PAUSED)
WORDS, NUMBERS = ("of_what", "of_key", "of_name"), ("rows", "rows_done", "rows_now")
MILLION = 1_000_000
NOTHING = Value("")


@dataclass(frozen=True)
class Advice:
    """What to do next, and why."""

    words: str
    why: str
    page: str
    arguments: tuple[str, ...] = ()
    address: str = ""


@dataclass(frozen=True)
class EntryStanding:
    """An entry's state: a count with its unit, one line, and the step that waits, if any."""

    count: str = ""
    unit: str = ""
    words: str = ""
    step: Advice | None = None


@dataclass
class Counts(PlacesOfCells):
    """A study's counts: quota cells, runs by state, the account's studies, and single numbers by name."""

    cells: list[CellProgress] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    millionths: int = 0  # of a dollar, that the runs have cost
    studies: list[tuple[str, str]] = field(default_factory=list)
    numbers: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)  # what waits for a second person, and who asked

    def number(self, name: str) -> int:
        return sum(self.runs.values()) if name == "runs" else self.numbers.get(name, (0, 0, 0))[0]


def count_study(study: Study, user: AbstractBaseUser) -> Counts:
    counts = Counts()
    first, *others = rows_of(study, user)
    for what, key, name, n, done, now in sorted(first.union(*others, all=True)):
        match what:
            case "cell":
                counts.cells.append(CellProgress(int(key), name, n, done, now))
            case "run":
                counts.runs[key] = n
                counts.millionths += done
            case "study":
                counts.studies.append((key, name))
            case "asked":
                counts.asked[key] = name
            case _:
                counts.numbers[what] = (n, done, now)
    counts.cells.sort(key=lambda cell: cell.id)
    return counts


def rows_of(study: Study, user: AbstractBaseUser) -> Iterator[QuerySet[Any]]:
    """Each kind of count as rows of the same columns."""
    total, filled, leased = places_of_cells()
    cells = QuotaCell.objects.filter(study=study)
    yield rows("cell", cells, F("position"), F("name"), rows=total, rows_done=filled, rows_now=leased)
    spent = Cast(Sum("spent") * MILLION, BigIntegerField())
    yield rows("run", study.runs.all(), F("state"), rows_done=spent)
    yield rows("study", studies_of(user, Role.BLINDED).filter(archived_at=None), F("slug"), F("title"))
    completed = Q(state=Participant.State.COMPLETED)
    simulated = Count("pk", filter=completed & Q(origin=Participant.Origin.SIMULATED))
    yield rows("people", people_of(study, "main"), rows_done=simulated, rows_now=Count("pk", filter=completed))
    wanted = study.current.document.get("second_person", ()) if study.current else ()
    asked = TeamRequest.objects.filter(study=study, state=TeamRequest.State.WAITING, what__in=wanted)
    yield rows("asked", asked, F("what"), F("asked_by__username"))
    yield rows("members", study.memberships.all())
    yield rows("waiting", waiting(answers_of(study)))
    yield rows("exported", AuditEvent.objects.filter(study=study, action="exported"))
    if work_of(study):
        slots = Slot.objects.filter(item__study=study, item__purpose=AnnotationItem.Purpose.WORK)
        given = {"rows": Count("item", distinct=True), "rows_done": Count("done_at"), "rows_now": Count("pk")}
        if work_of(study).get("kind") == IMPORTED:
            slots = Annotation.objects.filter(item__study=study)
            given = {"rows": Count("item", distinct=True), "rows_done": Count("pk"), "rows_now": Count("pk")}
        yield rows("labels", slots, **given)
        yield rows("main", Slot.objects.filter(item__study=study, item__pilot=False), rows_done=Count("done_at"))
        yield rows("pilot", AnnotationItem.objects.filter(study=study, pilot=True))
        yield rows("decisions", GateDecision.objects.filter(study=study))


def rows(what: str, of: QuerySet[Any], key: Any = NOTHING, name: Any = NOTHING, **numbers: Any) -> QuerySet[Any]:
    """One row for each key and name; none if nothing is found."""
    words = {column: Cast(value, TextField()) for column, value in zip(WORDS, (Value(what), key, name), strict=True)}
    none = Value(0, BigIntegerField())
    found = {"rows": Count("pk"), "rows_done": none, "rows_now": none} | numbers
    return of.order_by().annotate(**words).values(*words).annotate(**found).values_list(*WORDS, *NUMBERS)


def work_of(study: Study) -> dict[str, Any]:
    """The study's annotation work; empty in other studies."""
    return study.current.document.get("annotation") or {} if study.current else {}


# --- in words ----------------------------------------------------------------------


WAITS = "{} asked for it. Another researcher confirms or declines it."


def study_stands(study: Study, counts: Counts) -> EntryStanding:
    version, words, step = f"Version {study.current.number}" if study.current else "No version", "nothing to do", None
    if study.archived_at:
        words = "in the archive"
    elif name := counts.asked.get(TeamRequest.What.LAUNCH):
        words = "waits for a second person"
        step = Advice("A launch waits for a second person", WAITS.format(name), "console:change-state", ("launch",))
    elif study.state == Study.State.DRAFT:
        words, why = "not launched", "Nobody can take part before. A pilot tries it first."
        lacks_items = items_stand(study, counts).step if work_of(study) else None  # they come first
        step = None if lacks_items else Advice("Read and launch the study", why, "console:setup")
    elif study.state == Study.State.PAUSED:
        words = "recruiting is paused"
        step = Advice("Resume recruiting", "Nobody new can begin.", "console:change-state", ("resume",))
    return EntryStanding(study.get_state_display(), "", f"{version}, {words}", step)


def collect_stands(study: Study, counts: Counts) -> EntryStanding:
    is_live, step = study.state == Study.State.LIVE, None
    wanted, given, _ = counts.numbers.get("main", (0, 0, 0))  # labels of the main study
    has_all = 0 < wanted == given
    if name := counts.asked.get(TeamRequest.What.PAY):
        words = "A payment waits for a second person"
        step = Advice(words, WAITS.format(name), "paying:board")
    elif not counts.places and (n := counts.number("people")):
        return EntryStanding(f"{n:,}", "person" if n == 1 else "people", "Imported")
    elif study.state == Study.State.PILOT:
        words = "The pilot runs"
    elif not counts.number("people"):
        words = "Nobody has come yet"
        why = f"{words}. The set-up has the link and the codes."
        is_ready = is_live and (counts.number("labels") or not work_of(study))
        step = Advice("Give people the link", why, "console:setup") if is_ready else None
    elif is_live and (has_all or counts.filled == counts.places):
        words = "Every label is there" if has_all else "All places are filled"
        missing = wanted - given  # people may come again for them
        words += f", {plural(missing, 'label')} missing" if missing else ""
        step = None if missing else Advice("Close the study", f"{words}.", "console:change-state", ("close",))
    elif is_live and (slow := behind(counts.cells)):
        words = f"{slow.name} is behind"
        step = Advice(words, f"{say_filled(slow.filled, slow.places)}.", "console:monitor")
    else:
        words = f"{plural(counts.leased, 'person', 'people')} at work" if counts.leased else "Nobody is at work now"
    return EntryStanding(f"{counts.filled:,}", f"of {counts.places:,}", words, step)


def models_stand(study: Study, counts: Counts) -> EntryStanding:
    n, running = counts.number("runs"), counts.runs.get(Run.State.RUNNING, 0)
    unit, cost = "run" if n == 1 else "runs", dollars(Decimal(counts.millionths) / MILLION)
    if not n:
        wanted = counts.number("people") and not work_of(study)
        step = Advice("Start a first run", "People’s answers have nothing beside them yet.", "baselines:new-run")
        return EntryStanding("0", unit, "None yet", step if wanted else None)
    if early := sum(counts.runs.get(state, 0) for state in ENDED_EARLY):
        words = f"{plural(early, 'run')} stopped early"
        return EntryStanding(f"{n:,}", unit, words, Advice(words, "Go on with it, or end it.", "baselines:runs"))
    return EntryStanding(f"{n:,}", unit, f"{running:,} running, {cost}" if running else f"Not running, {cost}")


def answers_stand(study: Study, counts: Counts) -> EntryStanding:
    n = counts.number("waiting")
    if not n:
        return EntryStanding("0", "to check", "Nothing to check")
    step = Advice(f"Check {plural(n, 'answer')}", "The rules are not sure what the text says.", "answers:review")
    return EntryStanding(f"{n:,}", "to check", "The rules are not sure", step)


def compare_stands(study: Study, counts: Counts) -> EntryStanding:
    asked = len({prompt["slug"] for prompt in study.current.document.get("prompts", ())}) if study.current else 0
    _, simulated, completed = counts.numbers.get("people", (0, 0, 0))
    # Not all of them are analysed: rules of exclusion would be asked again for every page.
    people = f"{completed:,} completed" + (f" ({simulated:,} simulated)" if simulated else "")
    return EntryStanding(
        f"{asked:,}", "prompt" if asked == 1 else "prompts", f"{people}, {plural(counts.number('runs'), 'run')}"
    )


def items_stand(study: Study, counts: Counts) -> EntryStanding:
    n, done, wanted = counts.numbers.get("labels", (0, 0, 0))
    if not n:
        handed = work_of(study).get("kind") != IMPORTED
        step = Advice("Give annotators items", "There is nothing to judge yet.", "people:items") if handed else None
        return EntryStanding("0", "items", "None yet", step)
    return EntryStanding(f"{n:,}", "item" if n == 1 else "items", f"{done:,} of {plural(wanted, 'label')}")


def agreement_stands(study: Study, counts: Counts) -> EntryStanding:
    done = counts.numbers.get("labels", (0, 0, 0))[1]
    undecided = "Pilot gate not decided" if counts.number("pilot") else "No items of a pilot"
    decided = "Pilot gate decided" if counts.number("decisions") else undecided
    return EntryStanding(f"{done:,}", "label" if done == 1 else "labels", decided)


def export_stands(study: Study, counts: Counts) -> EntryStanding:
    n = counts.number("exported")
    return EntryStanding(f"{n:,}", "download" if n == 1 else "downloads", "Data, figures, bundle")


STANDINGS: dict[str, Callable[[Study, Counts], EntryStanding]] = {
    "study": study_stands,
    "collect": collect_stands,
    "models": models_stand,
    "judges": models_stand,
    "answers": answers_stand,
    "compare": compare_stands,
    "items": items_stand,
    "agreement": agreement_stands,
    "export": export_stands,
}

# The tabs of the comparing pages are defined with those pages, since filters go along (analysis/report/pages).
COMPARE = "compare"


@dataclass(frozen=True)
class Tab:
    """A page of an entry: its address's name, and the names by which pages say that they belong here."""

    title: str
    page: str
    here: tuple[str, ...]
    least: Role = Role.VIEWER
    count: str = ""  # the count shown beside it
    query: str = ""
    address: str = ""
    n: int = 0
    is_here: bool = False


@dataclass(frozen=True)
class Entry:
    name: str
    title: str
    tabs: tuple[Tab, ...]
    standing: EntryStanding = EntryStanding()
    is_here: bool = False

    @property
    def address(self) -> str:
        return self.tabs[0].address


@dataclass(frozen=True)
class Other:
    """Another study of the account."""

    title: str
    address: str


@dataclass(frozen=True)
class ConsoleFrame:
    entries: Sequence[Entry]
    others: Sequence[Other]

    @property
    def open(self) -> Entry | None:
        return next((entry for entry in self.entries if entry.is_here), None)

    @property
    def steps(self) -> list[Advice]:
        return [entry.standing.step for entry in self.entries if entry.standing.step]


ACTS, OPEN = Role.RESEARCHER, Role.BLINDED
STUDY = Entry(
    "study",
    "Study",
    (
        Tab("Overview", "console:study", ("overview",), OPEN),
        Tab("Set-up", "console:setup", ("setup",), OPEN),
        Tab("Edit", "editor:study", ("edit", "new-version"), ACTS),
        Tab("Members", "console:members", ("members",), OPEN, count="members"),
        Tab("Notices", "notices:page", ("notices",), Role.OWNER),
    ),
)
COLLECT = Entry(
    "collect",
    "Collect",
    (
        Tab("Now", "console:monitor", ("collect",), OPEN),
        Tab("Participants", "console:participants", ("people",), OPEN, count="people"),
        Tab("Flow", "console:flow", ("flow",), OPEN),
        Tab("Paying", "paying:board", ("paying",), ACTS),
    ),
)
MODELS = Entry(
    "models",
    "Models",
    (
        Tab("Runs", "baselines:runs", ("baselines",), count="runs"),
        Tab("Endpoints", "baselines:endpoints", ("endpoints",)),
        Tab("Corpora", "people:corpora", ("corpora",), ACTS),
        Tab("Personas", "people:personas", ("personas",), ACTS),
        Tab("Trained models", "training:models", ("models",), ACTS),
    ),
)
JUDGES = replace(MODELS, name="judges", title="Judges")
ANSWERS = Entry(
    "answers",
    "Answers",
    (
        Tab("All answers", "answers:list", ("answers",)),
        Tab("To check", "answers:review", ("review",), count="waiting"),
        Tab("Spellings", "answers:spellings", ("spellings",)),
        Tab("How well they are read", "answers:accuracy", ("accuracy",)),
    ),
)
COMPARED = Entry(COMPARE, "Compare", (Tab("Overview", "compare:overview", (COMPARE,)),))
DIFFERING = Tab("Where people differ", "agreement:differing", ("differing",))
ITEMS = Entry("items", "Items", (DIFFERING, Tab("Portions", "people:items", ("items",), ACTS)))
GIVEN_ITEMS = replace(ITEMS, tabs=(DIFFERING,))  # from a file: nobody hands them out in portions
AGREEMENT = Entry(
    "agreement",
    "Agreement",
    (
        Tab("Agreement", "agreement:overview", ("agreement",)),
        Tab("Pilot gate", "agreement:gate", ("gate",)),
        Tab("Figures of the paper", "papers:paper", ("paper",)),
    ),
)
EXPORT = Entry(
    "export",
    "Export",
    (
        Tab("Data", "export:page", ("export",)),
        Tab("Bundle", "export:page", ("bundle",), query="#bundle"),
        Tab("Audit trail", "console:audit", ("audit",), OPEN),
    ),
)


def entries_of(study: Study) -> tuple[Entry, ...]:
    """The study's entries, by what people do in it: paste answers, or judge items."""
    document = study.current.document if study.current else {}
    if work := document.get("annotation"):
        items = GIVEN_ITEMS if work.get("kind") == "imported" else ITEMS
        answered = (ANSWERS, COMPARED) if document.get("prompts") else ()
        return (STUDY, COLLECT, JUDGES, items, *answered, AGREEMENT, EXPORT)
    return (STUDY, COLLECT, MODELS, ANSWERS, COMPARED, EXPORT)


def frame_of(request: HttpRequest, here: str) -> ConsoleFrame:
    """The frame around a page of a study; `here` names the tab that the page says it belongs to."""
    study, rank = request.study, RANK[request.role]
    counts = count_study(study, request.user)
    entries = []
    for entry in entries_of(study):
        standing = STANDINGS[entry.name](study, counts)
        if step := standing.step:
            address = reverse(step.page, args=[study.slug, *step.arguments])
            standing = replace(standing, step=replace(step, address=address) if rank >= RANK[ACTS] else None)
        tabs = tuple(
            replace(
                tab,
                address=reverse(tab.page, args=[study.slug]) + tab.query,
                n=counts.number(tab.count),
                is_here=here in tab.here,
            )
            for tab in entry.tabs
            if rank >= RANK[tab.least]
        )
        if not tabs:
            continue
        is_here = any(tab.is_here for tab in tabs) or here.startswith(f"{entry.name}-")
        entries.append(replace(entry, tabs=tabs, standing=standing, is_here=is_here))
    others = [
        Other(title, reverse("console:study", args=[slug])) for slug, title in counts.studies if slug != study.slug
    ]
    return ConsoleFrame(entries, others)
