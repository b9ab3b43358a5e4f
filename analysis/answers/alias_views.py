"""The spellings page: proposals, the table in force, and who decided what."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from analysis.answers.alias_proposals import Proposal, SpellingCounts, count_spellings, propose
from analysis.answers.aliases import AliasError, accept, alias_map, alias_version, reject, split, undo
from analysis.answers.kept import answer_stamp, keep
from analysis.answers.views import standing
from analysis.models import AliasDecision
from surveys.models import Prompt, Study, asked_of_all
from surveys.studies.access import Role
from surveys.studies.pages import saying, show, study_page

HERE = "spellings"
MOST_SHOWN = 20
MOST_AT_ONCE = 200
MOST_DECISIONS = 30
MOST_FOUND = 60
ACTIONS = {"accept": accept, "reject": reject, "split": split}


@study_page(only=require_safe)
def spellings(request: HttpRequest) -> HttpResponse:
    prompts = asked_prompts(request)
    prompt = request.GET.get("prompt", "")
    prompt = prompt if prompt in prompts else ""
    words = request.GET.get("q", "").strip().casefold()[:100]
    stamp = answer_stamp(request.study)
    now, counts = standing(request.study, stamp), spelling_counts(request.study, stamp)
    counts = {prompt: counts.get(prompt, {})} if prompt else counts
    proposals = propose(request.study, counts)
    decisions = AliasDecision.objects.filter(study=request.study).select_related("undone_by").order_by("-number")
    return show(
        request,
        "answers/spellings.html",
        HERE,
        proposals=[(proposal, prompts.get(proposal.prompt, proposal.prompt)) for proposal in proposals[:MOST_SHOWN]],
        alike=at_once(proposals),
        count=len(proposals),
        mentions=sum(proposal.count for proposal in proposals),
        prompts=prompts.items(),
        prompt=prompt,
        q=words,
        found=find_spellings(counts, words, prompts) if words else [],
        accepted=accepted_spellings(request.study, prompt, prompts),
        version=alias_version(request.study),
        unread=now["unread"],
        read=now["counts"]["count"],
        decisions=[(made, prompts.get(made.prompt, made.prompt)) for made in decisions[:MOST_DECISIONS]],
    )


def at_once(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Those that differ in marks only, as many as one form may send."""
    alike = [proposal for proposal in proposals if proposal.why == "marks"][:MOST_AT_ONCE]
    sizes = accumulate((len(proposal.others) + 3 for proposal in alike), initial=2)  # besides the token and the button
    return [
        one for one, size in zip(alike, list(sizes)[1:], strict=True) if size <= settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    ]


def asked_prompts(request: HttpRequest) -> dict[str, str]:
    """Slug and title of the prompts that ask for items."""
    asked = Prompt.objects.filter(asked_of_all(), version__study=request.study, kind=Prompt.Kind.RECOMMENDATION)
    return dict(asked.order_by("version", "position").values_list("slug", "title"))


def spelling_counts(study: Study, stamp: str) -> SpellingCounts:
    kept = keep(study, "spellings", stamp, lambda: count_spellings(study))
    return {slug: {name: Counter(sources) for name, sources in spellings.items()} for slug, spellings in kept.items()}


def find_spellings(counts: SpellingCounts, words: str, titles: dict[str, str]) -> list[dict[str, Any]]:
    """Spellings that contain these words, for a decision by hand."""
    rows: list[dict[str, Any]] = [
        {"prompt": slug, "title": titles.get(slug, slug), "name": name, "count": sources.total()}
        | {"sources": dict(sources)}
        for slug, names in counts.items()
        for name, sources in names.items()
        if words in name
    ]
    return sorted(rows, key=lambda row: (row["prompt"], -row["count"], row["name"]))[:MOST_FOUND]


def accepted_spellings(study: Study, prompt: str, titles: dict[str, str]) -> list[dict[str, Any]]:
    """Each item with the spellings that stand for it."""
    rows = []
    for slug, table in alias_map(study).items():
        if prompt in ("", slug):
            gathered: dict[str, list[str]] = {}
            for spelling, item in sorted(table.items()):
                gathered.setdefault(item, []).append(spelling)
            about = {"prompt": slug, "title": titles.get(slug, slug)}
            rows += [about | {"item": item, "spellings": names} for item, names in sorted(gathered.items())]
    return rows


@study_page(Role.RESEARCHER, require_POST)
def decide_spellings(request: HttpRequest) -> HttpResponse:
    """Make one decision, or the same one about each ticked proposal; all or none."""
    action, actor, done = request.POST.get("action", ""), request.user.get_username(), Counter[str]()
    with saying(request, AliasError):
        if action not in ACTIONS:
            raise AliasError("Choose what to do.")
        with transaction.atomic():
            for prompt, item, others in chosen(request):
                made = ACTIONS[action](request.study, prompt, others, item, actor)
                done[f"{', '.join(made.spellings)} → {made.item}"] += 1
        if not done:
            raise AliasError("Tick at least one spelling beside the one that is kept.")
        words = {"accept": "Merged", "reject": "Kept apart", "split": "Split again"}[action]
        messages.success(request, f"{words}: {'; '.join(done)[:300]}. Each can be undone below.")
    return redirect(back(request))


def chosen(request: HttpRequest) -> list[tuple[str, str, list[str]]]:
    """Prompt, item and other spellings of each group in the form; a group's number ends its fields' names."""
    groups = []
    prompts = asked_prompts(request)
    for number in request.POST.getlist("group"):
        prompt = request.POST.get(f"prompt-{number}", "")
        names = request.POST.getlist(f"spelling-{number}")
        item = request.POST.get(f"other-{number}", "").strip().casefold() or request.POST.get(f"item-{number}", "")
        if prompt not in prompts:
            raise AliasError("This prompt is not in the study.")
        if set(names) - {item}:
            groups.append((prompt, item, [name for name in names if name != item]))
    return groups


@study_page(Role.RESEARCHER, require_POST)
def undo_spellings(request: HttpRequest) -> HttpResponse:
    given = request.POST.get("number", "")
    number = int(given) if given.isdecimal() and len(given) < 10 else 0
    with saying(request, AliasError):
        made = undo(request.study, number, request.user.get_username())
        messages.success(request, f"Decision {number} is undone: {', '.join(made.spellings)[:200]} / {made.item}.")
    return redirect(back(request))


def back(request: HttpRequest) -> str:
    query = {name: request.GET[name] for name in ("prompt", "q") if request.GET.get(name)}
    address = reverse("answers:spellings", args=[request.study.slug])
    return f"{address}?{urlencode(query)}" if query else address


ADDRESS = "console/<slug:slug>/answers/spellings/"
urlpatterns = [
    path(ADDRESS, spellings, name="spellings"),
    path(f"{ADDRESS}decide/", decide_spellings, name="decide-spellings"),
    path(f"{ADDRESS}undo/", undo_spellings, name="undo-spellings"),
]
