"""The console's page of a study's items: the stages around it, how many items it has, and the ways to push more."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_POST, require_safe

from analysis.endpoints.owners.sharing import NotShared, require_use
from analysis.models import Corpus
from analysis.people.pushing import WHOLE, Portion
from analysis.people.stages.pairs import DEFAULTS, PairSettings
from analysis.people.stages.pushes import PUSHES, Push, PushOrder, push_into
from analysis.people.steps import PeopleError
from surveys.annotation.items import next_of, stages_of, work_of
from surveys.models import Slot, Study
from surveys.studies.access import RANK, Role, role_in, studies_of, study_for
from surveys.studies.imports.files import ImportFault
from surveys.studies.pages import saying, show, study_page
from surveys.studies.wording import RaisedAs, join_words, plural

HERE = "items"
# Counts of a report besides new items, in words.
LEFT = {
    "already_there": "already there",
    "skipped": "already there",
    "without_responses": "without both responses",
    "tied": "tied",
    "withdrawn": "withdrawn",
    "unchanged": "unchanged",
    "without_evidence": "without evidence",
    "unread": "without a readable reply",
    "few": "with too few candidates",
    "not_drawn": "beyond the users of a prompt",
    "beyond": "more than asked for",
    "in_other_part": "in the other part of the study",
}
NO_SOURCE: dict[type, str] = {
    Corpus: "None yet. Bring one under Corpora, or have one shared with this study.",
    Study: "None yet. Make a study of relevance, or be made a researcher in one.",
}


class PushItemsForm(forms.Form):
    """What a way of pushing asks: where the items come from, and how pairs are drawn."""

    source = forms.ChoiceField()
    by = forms.CharField(
        required=False, label="Candidates by", help_text="An endpoint, where several models proposed some."
    )
    users = forms.IntegerField(min_value=1, initial=DEFAULTS.users, label="Users a prompt")
    least = forms.IntegerField(min_value=1, initial=DEFAULTS.least, label="Candidates of a pair, at least")
    items = forms.IntegerField(
        min_value=1, required=False, label="Items, at most", help_text="In all; empty: as many as there are."
    )
    people = forms.IntegerField(min_value=1, required=False, label="Of so many users", help_text="Drawn by the seed.")
    seed = forms.IntegerField(min_value=0, initial=WHOLE.seed, required=False)
    pilot = forms.BooleanField(
        required=False, label="For the pilot’s annotators", help_text="What the pilot has stays out of the main study."
    )

    def __init__(self, data: Any, way: Push, kind: str, user: Any, into: Study, **given: Any) -> None:
        super().__init__(data, **given)
        self.says = way.kinds[kind]
        if way.source:
            self.fields["source"].label = "Corpus" if way.source is Corpus else "Stage before"
            self.fields["source"].choices = [(name, name) for name in sources_of(way, user, into)]
            if not self.fields["source"].choices:
                self.fields["source"].help_text = NO_SOURCE[way.source]
        left_out = [] if way.source else ["source"]
        left_out += [] if way.has_pilot else ["pilot", "items", "people", "seed"]
        left_out += [] if way.source is Corpus and kind == "relevance" else ["by", "users", "least"]
        for name in left_out:
            del self.fields[name]
        for name in ("by", "items", "people"):
            if name in self.fields:
                self.fields[name].optional = True


class Way(NamedTuple):
    """One way as the page shows it; `report` comes from a count."""

    name: str
    push: Push
    into: Study
    form: PushItemsForm
    report: dict[str, Any] | None = None
    words: str = ""


def sources_of(way: Push, user: Any, into: Study) -> list[str]:
    """Corpora that this study may use, or studies of relevance in which the account is at least a researcher."""
    if way.source is Corpus:
        return list(Corpus.objects.shown_to(user, into).order_by("name").values_list("name", flat=True))
    rows = studies_of(user, Role.RESEARCHER).filter(current__document__annotation__kind="relevance").order_by("slug")
    return list(rows.values_list("slug", flat=True))


def may_push(user: Any, study: Study) -> bool:
    role = role_in(user, study)
    return role is not None and RANK[role] >= RANK[Role.RESEARCHER]


def kind_of(study: Study) -> str:
    """The kind that its annotators judge. Raises Http404 for studies without annotation."""
    try:
        return work_of(study)[1].name
    except ImportFault:
        raise Http404 from None


def order_of(user: Any, study: Study, name: str, data: Any) -> tuple[PushItemsForm, PushOrder | None]:
    """The form, and the order if it is valid. Raises Http404, PermissionDenied: the source study is checked too."""
    kind = kind_of(study)
    if name not in PUSHES or kind not in PUSHES[name].kinds:
        raise Http404
    form = PushItemsForm(data, PUSHES[name], kind, user, study, auto_id=f"{name}-%s")
    source: Corpus | Study | None = None
    if PUSHES[name].source is Study and ("source" in data or form.fields["source"].choices):
        source = study_for(user, str(data.get("source", "")), Role.RESEARCHER)
    if not form.is_valid():
        return form, None
    given = form.cleaned_data
    if PUSHES[name].source is Corpus:
        source = Corpus.objects.get(name=given["source"])
    drawn = {key: given[key] for key in ("by", "users", "least") if key in given}
    portion = Portion(given.get("items"), given.get("people"), given.get("seed") or WHOLE.seed)
    return form, PushOrder(
        study, user.get_username(), source, given.get("pilot", False), PairSettings(**drawn), portion
    )


def push_for(user: Any, name: str, order: PushOrder, *, dry: bool) -> dict[str, Any]:
    """Add the items, or with `dry` count them, while the study may use their corpus. Raises PeopleError."""
    with transaction.atomic():
        if isinstance(order.source, Corpus):
            with RaisedAs(PeopleError, NotShared):
                require_use(user, order.study, order.source)
        return push_into(name, order, dry=dry)


def say_report(report: dict[str, Any], then: str = "") -> str:
    """Say the report, such as: 12 items with 36 slots; 3 already there. `then` is what becomes of the items."""
    counted = f"{plural(report['items'], 'item')} with {plural(report['slots'], 'slot')}{then}"
    left = {words: report[name] for name, words in LEFT.items() if report.get(name)}
    return counted + (f"; {join_words([f'{n:,} {words}' for words, n in left.items()])}" if left else "")


@study_page(Role.RESEARCHER, require_safe)
def items(request: HttpRequest) -> HttpResponse:
    return show_items(request)


def show_items(request: HttpRequest, *, status: int = 200, asked: Way | None = None) -> HttpResponse:
    study, kind = request.study, kind_of(request.study)
    line = stages_of(study)
    after = Study.objects.select_related("current").filter(slug=next_of(study)).first()
    mine = {each.slug: each.title for each in studies_of(request.user).filter(slug__in=line)}
    parts = list(count_parts(study))
    ways = [show_way(request, name, study, kind, asked) for name, way in PUSHES.items() if kind in way.kinds]
    onward = None
    if after and may_push(request.user, after) and kind == "relevance" and kind_of(after) == "preference":
        onward = show_way(request, "relevant", after, "preference", asked, source=study.slug)
    where = f"Stage {line.index(study.slug) + 1} of {len(line)}: " if len(line) > 1 else ""
    nothing = "no items yet" if where else "No items yet"
    counted = [f"{plural(part.items, 'item')}{' in the pilot' if part.pilot else ''}" for part in parts]
    return show(
        request,
        "people/items.html",
        HERE,
        status=status,
        answer=f"{where}{join_words(counted) or nothing}.",
        line=[(slug, mine.get(slug)) for slug in line],
        parts=parts,
        ways=ways,
        onward=onward,
        next_slug=next_of(study),
        after=after if after and may_push(request.user, after) else None,
    )


class ItemCount(NamedTuple):
    """Of the pilot or the main study: items of the work, labels given, and labels wanted."""

    pilot: bool
    items: int
    given: int
    wanted: int


def count_parts(study: Study) -> Iterator[ItemCount]:
    slots = Slot.objects.filter(item__study=study).values("item__pilot").order_by("item__pilot")
    done = Count("id", filter=Q(done_at__isnull=False))
    for row in slots.annotate(items=Count("item", distinct=True), given=done, wanted=Count("id")):
        yield ItemCount(row["item__pilot"], row["items"], row["given"], row["wanted"])


def show_way(request: HttpRequest, name: str, into: Study, kind: str, asked: Way | None, source: str = "") -> Way:
    if asked and (asked.name, asked.into.pk) == (name, into.pk):
        return asked
    naming_it = Study.objects.filter(current__document__annotation__next=into.slug)
    stages = reversed(stages_of(into))
    before = source or next((slug for slug in stages if naming_it.filter(slug=slug).exists()), "")
    form = PushItemsForm(None, PUSHES[name], kind, request.user, into, auto_id=f"{name}-%s", initial={"source": before})
    return Way(name, PUSHES[name], into, form)


@study_page(Role.RESEARCHER, require_POST)
def push(request: HttpRequest, name: str) -> HttpResponse:
    """Count what would be added, or add it. On the page of the stage before, `into` names the next stage."""
    into = request.study
    if "into" in request.POST:
        into = study_for(request.user, request.POST["into"], Role.RESEARCHER)
    form, order = order_of(request.user, into, name, request.POST)
    way = Way(name, PUSHES[name], into, form)
    if order is None:
        return show_items(request, status=422, asked=way)
    is_count = "count" in request.POST
    with saying(request, PeopleError):
        report = push_for(request.user, name, order, dry=is_count)
        if is_count:
            words = say_report(report, " would be added" if report["items"] else "")
            return show_items(request, asked=way._replace(report=report, words=words))
        messages.success(request, f"{into.slug}: {say_report(report)}.")
        return redirect("people:items", request.study.slug)
    return show_items(request, status=422, asked=way)


ITEMS = "console/<slug:slug>/items/"
urlpatterns = [
    path(ITEMS, items, name="items"),
    path(f"{ITEMS}<slug:name>/", push, name="push"),
]
