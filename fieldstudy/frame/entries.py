"""The console's frame: the six entries of a study, how each stands, and the tabs of the one that is open."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.urls import reverse

from fieldstudy.frame.standing import STANDINGS, Advice, EntryStanding, count_study
from surveys.models import Study
from surveys.studies.access import RANK, Role

# What the tabs of the comparing pages say stands with those pages, since filters go along (analysis/report/pages).
COMPARE = "compare"


@dataclass(frozen=True)
class Tab:
    """A page of an entry: the address's name, and by which names pages say that they belong here."""

    title: str
    page: str
    here: tuple[str, ...]
    least: Role = Role.VIEWER
    count: str = ""  # which count stands beside it
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
    """By what people do in the study: they paste answers, or they judge items."""
    document = study.current.document if study.current else {}
    if work := document.get("annotation"):
        items = GIVEN_ITEMS if work.get("kind") == "imported" else ITEMS
        answered = (ANSWERS, COMPARED) if document.get("prompts") else ()
        return (STUDY, COLLECT, JUDGES, items, *answered, AGREEMENT, EXPORT)
    return (STUDY, COLLECT, MODELS, ANSWERS, COMPARED, EXPORT)


def frame_of(request: HttpRequest, here: str) -> ConsoleFrame:
    """The frame around a page of a study; `here` is what the page says of where it belongs."""
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
