"""Pages of answers: the list, the review queue with its decisions, the reader's accuracy, and changes by new rules."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from analysis.answers.kept import answer_stamp, keep
from analysis.answers.read_backs import kept_accuracy
from analysis.answers.readings import find_changes, outdated, read_answers, read_new, unread
from analysis.answers.reviews import (
    LETTERS,
    ReviewError,
    answers_of,
    asked_of,
    decide,
    last_decision,
    text_of,
    undo_last,
    waiting,
)
from analysis.answers.samples import SAMPLE, SEED, between, sample_of
from analysis.models import Answer
from analysis.models.conditions import LABELS
from surveys.models import Prompt, ReadBack, Study, asked_of_all
from surveys.reading.answers import DOUBTS, RULES_VERSION
from surveys.studies import audit
from surveys.studies.access import Role
from surveys.studies.pages import address_without_page, notes_on, page_of, saying, show, study_page
from surveys.studies.wording import decimal, percent, plural

HERE, REVIEW = "answers", "review"
PAGE_SIZE = 50
READ_AT_ONCE = 2_000  # texts; more are read by a worker while the page counts
CHANGES_SHOWN = 200
SPARE_ROWS = 2
FILTERS = ("state", "source", "prompt", "doubt", "q", "sample")
# A response may have a read-back for each version of the rules, so this is a subquery and no join.
CORRECTIONS = ReadBack.objects.filter(response=OuterRef("response"), verdict=ReadBack.Verdict.CORRECTED)
# States of an answer, with label and condition.
STATES = {
    "waiting": ("Awaiting review", ~Q(doubt="") & Q(decided=False)),
    "sure": ("Read without doubt", Q(doubt="", decided=False)),
    "decided": ("Decided by a person", Q(decided=True)),
    "corrected": ("Corrected by the participant", Q(Exists(CORRECTIONS))),
    "unknown": ("Unknown or empty", Q(letter="", items=[])),
}
UNION = ("response__participant", "response__prompt", "completion__run__endpoint", "completion__prompt")


def wanted_of(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET.get(name, "").replace("\x00", "")[:200] for name in FILTERS}


def find_answers(answers: QuerySet[Answer], wanted: dict[str, str]) -> QuerySet[Answer]:
    """Answers that match the filters; an unknown value matches none."""
    if wanted["state"]:
        answers = answers.filter(STATES[wanted["state"]][1]) if wanted["state"] in STATES else answers.none()
    for name, field in (("source", "source"), ("prompt", "prompt_slug"), ("doubt", "doubt")):
        if wanted[name]:
            answers = answers.filter(**{field: wanted[name]})
    if words := wanted["q"].strip():
        found = Q(items__contains=[words.casefold()])
        answers = answers.filter(found | Q(response__text__icontains=words) | Q(completion__reply__icontains=words))
    return answers


def spoken(doubt: str) -> str:
    return doubt.replace("-", " ")


@study_page(only=require_safe)
def answers(request: HttpRequest) -> HttpResponse:
    wanted = wanted_of(request)
    everything = answers_of(request.study)
    found = find_answers(everything, wanted).select_related(*UNION).order_by("-pk")
    now = standing(request.study)
    filtered = any(wanted.values())
    rows = page_of(request, found, PAGE_SIZE, None if filtered else now["counts"]["count"])
    current = request.study.current
    prompts = current.prompts.filter(asked_of_all()).order_by("position") if current else None
    asked = dict(prompts.values_list("slug", "title")) if prompts is not None else {}
    for row in rows:
        row.asked, row.source_name = asked.get(row.prompt_slug, row.prompt_slug), LABELS.get(row.source, row.source)
        if row.response_id and row.response.prompt.asks:
            row.asked = row.response.prompt.label
        row.doubt_name, row.why = spoken(row.doubt), DOUBTS.get(row.doubt, "")
    return show(
        request,
        "answers/list.html",
        HERE,
        rows=rows,
        wanted=wanted,
        filtered=filtered,
        states=[(name, label) for name, (label, _) in STATES.items()],
        doubts=[(doubt, spoken(doubt)) for doubt in DOUBTS],
        prompts=asked.items(),
        query=address_without_page(request),
        **now | {"sources": [(source, LABELS.get(source, source)) for source in now["sources"]]},
    )


@study_page(only=require_safe)
def standing_part(request: HttpRequest) -> HttpResponse:
    return render(request, "answers/_standing.html", {"study": request.study, **standing(request.study)})


def standing(study: Study, stamp: str = "") -> dict[str, Any]:
    """Counts by state, sources, and texts still unread."""
    kept = keep(study, "answers", stamp or answer_stamp(study), lambda: count_answers(study))
    counts, left = kept["counts"], kept["unread"]
    parts = (("filled", counts["sure"]), ("leased", counts["decided"]), ("waiting", counts["waiting"]))
    return {**kept, "bar": bar_of(parts, counts["count"] + left)}


def count_answers(study: Study) -> dict[str, Any]:
    everything = answers_of(study)
    counts = everything.aggregate(
        count=Count("pk"), **{name: Count("pk", filter=condition) for name, (_, condition) in STATES.items()}
    )
    sources = everything.order_by("source").values_list("source", flat=True).distinct()
    return {"counts": counts, "unread": unread(study), "outdated": outdated(study), "sources": list(sources)}


def bar_of(parts: Sequence[tuple[str, int]], whole: int) -> list[dict[str, Any]]:
    """Start and width of each part of a bar, in thousandths."""
    bar, begin = [], 0
    for name, count in parts:
        wide = round(1000 * count / max(whole, 1))
        bar.append({"name": name, "x": begin, "width": wide})
        begin += wide
    return bar


@study_page(only=require_safe)
def accuracy(request: HttpRequest) -> HttpResponse:
    """Show how often people who saw a reading call it right."""
    kept = kept_accuracy(request.study)
    rows = kept["rows"]
    titles = dict(Prompt.objects.filter(version__study=request.study).order_by("version").values_list("slug", "title"))
    shown = [row | {"title": titles.get(row["prompt"], ""), **accuracy_words(row)} for row in rows]
    heads = {row["kind"]: row for row in shown if row["said"]}
    return show(
        request,
        "answers/accuracy.html",
        "accuracy",
        rows=shown,
        **head_words(list(heads.values())),
        moved=most_moved(rows),
        errors=[row | error_words(row) for row in kept["errors"]],
        sample=SAMPLE,
        seed=SEED,
        unread=kept["unread"],
    )


def error_words(row: dict[str, Any]) -> dict[str, str]:
    words = {"source_name": LABELS.get(row["source"], row["source"])}
    if row["checked"]:
        words |= {"wrong_share": percent(row["share"]), "between": between(row["ci"])}
    return words


def head_words(heads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A sentence each: how many readings of each kind were right, and how many answers corrections change."""
    if not heads:
        return {"headline": "Nobody has said yet how well their answers were read."}
    right = " and ".join(
        f"{head['right_share']} of {plural(head['said'], head['of'][:-1])} ({head['between']})" for head in heads
    )
    changes = " and ".join(
        f"{head['change']} of {plural(head['answers'], 'answer')} to {head['of']}"
        for head in heads
        if "change" in head  # others have no answer read yet
    )
    return {
        "headline": f"People say that {right} were read right.",
        "changes": changes and f"What they said changes {changes}.",
    }


def most_moved(rows: Sequence[dict[str, Any]]) -> str:
    """The largest change of a prompt's entropy by corrections."""
    both = [tuple(row[name].get("entropy_bits") for name in ("before", "after")) for row in rows if "before" in row]
    moved = [abs(after - before) for before, after in both if before is not None and after is not None]
    return decimal(max(moved), 2, "bits") if moved else ""


def accuracy_words(row: dict[str, Any]) -> dict[str, str]:
    """The row in words: share with interval, why answers are missing, numbers before and after corrections."""
    reasons = dict(ReadBack.NoAnswer.choices)
    words = {"of": "choices" if row["kind"] == Prompt.Kind.CHOICE else "lists"}
    words |= {"missing": ", ".join(f"{count} × {reasons[name]}" for name, count in row["no_answer"].items())}
    if row["said"]:
        words |= {"right_share": percent(row["share"]), "between": between(row["ci"])}
    if row.get("answers"):
        words["change"] = f"{row['changed']:,} ({percent(row['changed_share'])}, {between(row['changed_ci'])})"
    for name in ("before", "after"):
        numbers = row.get(name) or {}
        if "mentions" in numbers:
            bits = numbers["entropy_bits"]
            words[f"told_{name}"] = f"{numbers['distinct']} items in {plural(numbers['mentions'], 'mention')}" + (
                "" if bits is None else f", {decimal(bits, 2, 'bits')}"
            )
        elif numbers:
            letters = numbers["letters"].items()
            words[f"told_{name}"] = ", ".join(f"{letter or 'unknown'} {count}" for letter, count in letters)
    return words


@study_page(Role.RESEARCHER, require_POST)
def read_texts(request: HttpRequest) -> HttpResponse:
    old = outdated(request.study)
    if old:
        actor = request.user.get_username()
        audit.record(request.study, actor, "read again", f"rules {RULES_VERSION}", texts=old)
    if unread(request.study) + old <= READ_AT_ONCE:
        count = read_new(request.study)
        messages.success(request, f"{plural(count, 'text')} read.")
    else:
        read_answers.delay(request.study.pk)
        messages.info(request, "A worker is reading. This page keeps count; you can leave it.")
    return redirect("answers:list", request.study.slug)


@study_page(only=require_safe)
def changes(request: HttpRequest) -> HttpResponse:
    """Show what today's rules read differently, before anything is read anew."""
    old = outdated(request.study)
    few = old <= READ_AT_ONCE
    stamp = answer_stamp(request.study)
    found = keep(request.study, "changes", stamp, lambda: list(find_changes(request.study))) if few else []
    rows = [
        row | {f"{when}_doubt": DOUBTS.get(row[when]["doubt"], "") for when in ("before", "after")}
        for row in found[:CHANGES_SHOWN]
    ]
    return show(request, "answers/changes.html", HERE, rows=rows, old=old, few=few, count=len(found))


# --- one answer -------------------------------------------------------------


@study_page(only=require_safe)
def review(request: HttpRequest) -> HttpResponse:
    """Show the next waiting answer after `after`; start again at the end."""
    wanted = wanted_of(request) | {"state": ""}
    if wanted["sample"]:
        queue = sample_of(request.study).filter(decided=False, source=wanted["sample"])
    else:
        queue = find_answers(waiting(answers_of(request.study)), wanted)
    after = request.GET.get("after", "")
    nearby = list(queue.values_list("pk", flat=True))
    key = next_in(nearby, int(after[:18]) if after.isdecimal() else 0)
    if wanted["sample"] and nearby and not (after.isdecimal() and int(after[:18]) in nearby):
        key = nearby[0]  # in the order of the draw, so that those checked so far are a random sample too
    if key is None:
        return show(request, "answers/done.html", REVIEW, wanted=wanted, **standing(request.study))
    return show_answer(request, key, wanted, nearby)


def next_in(keys: list[int], after: int) -> int | None:
    """The key behind `after` in the queue, even if `after` has left it; at the end, the first."""
    if after in keys:
        return keys[(keys.index(after) + 1) % len(keys)]
    later = [key for key in keys if key > after]
    return later[0] if later else (keys[0] if keys else None)


@study_page(only=require_safe)
def answer(request: HttpRequest, key: int) -> HttpResponse:
    return show_answer(request, key, wanted_of(request), [])


def show_answer(
    request: HttpRequest, key: int, wanted: dict[str, str], queue: list[int], status: int = 200, **more: Any
) -> HttpResponse:
    own = (*UNION, "completion__run", "completion__item")
    shown = get_object_or_404(answers_of(request.study).select_related(*own), pk=key)
    asked = asked_of(shown)
    kind = asked.kind if isinstance(asked, Prompt) else Prompt.Kind.CHOICE
    place = queue.index(key) if key in queue else None
    return show(
        request,
        "answers/answer.html",
        REVIEW if queue else HERE,
        status=status,
        answer=shown,
        asked=asked,
        is_choice=kind == Prompt.Kind.CHOICE,
        options=list(zip(LETTERS, asked.choices, strict=False)),
        names=more.get("names") or [*shown.names, *[""] * SPARE_ROWS],
        text=text_of(shown),
        doubt=DOUBTS.get(shown.doubt, ""),
        seen=last_decision(shown),
        decisions=shown.decisions.order_by("-pk"),
        notes=notes_on(request, "response", shown.response_id) if shown.response_id else None,
        said=shown.response.read_backs.last() if shown.response_id else None,
        opinions=shown.opinions.select_related("endpoint"),
        queue=len(queue),
        before=queue[place - 1] if place else None,
        query=urlencode({name: value for name, value in wanted.items() if value}),
        in_queue=bool(queue),
        **{name: value for name, value in more.items() if name != "names"},
    )


@study_page(Role.RESEARCHER, require_POST)
def decide_answer(request: HttpRequest, key: int) -> HttpResponse:
    given: dict[str, Any] = {"names": [], "letter": ""}
    if "unknown" not in request.POST:
        given = {"names": request.POST.getlist("name"), "letter": request.POST.get("letter", "")}
    seen = request.POST.get("seen", "")
    wanted = wanted_of(request)
    try:
        made = decide(
            request.study, key, request.user.get_username(), seen=int(seen[:18]) if seen.isdecimal() else -1, **given
        )
    except ReviewError as error:
        # Keep what was typed on the page, beside the present state.
        if not answers_of(request.study).filter(pk=key).exists():
            messages.error(request, str(error))
            return redirect("answers:list", request.study.slug)
        return show_answer(request, key, wanted, [], 409, fault=str(error), names=given["names"])
    messages.success(request, f"Decided: {made.letter or ', '.join(made.names) or 'unknown'}. Z undoes it.")
    return redirect(next_address(request, key))


def next_address(request: HttpRequest, key: int) -> str:
    if "queue" not in request.POST:
        return reverse("answers:answer", args=[request.study.slug, key])
    query = request.GET.copy()
    query["after"] = str(key)
    return f"{reverse('answers:review', args=[request.study.slug])}?{query.urlencode()}"


@study_page(Role.RESEARCHER, require_POST)
def undo_decision(request: HttpRequest) -> HttpResponse:
    with saying(request, ReviewError):
        back = undo_last(request.study, request.user.get_username())
        words = back.undoes.letter or ", ".join(back.undoes.names) or "unknown"
        messages.success(request, f"Undone: “{words}”. This is the answer as it was.")
        return redirect("answers:answer", request.study.slug, back.answer_id)
    return redirect("answers:review", request.study.slug)


ADDRESS = "console/<slug:slug>/answers/"
urlpatterns = [
    path(ADDRESS, answers, name="list"),
    path(f"{ADDRESS}standing/", standing_part, name="standing"),
    path(f"{ADDRESS}accuracy/", accuracy, name="accuracy"),
    path(f"{ADDRESS}changes/", changes, name="changes"),
    path(f"{ADDRESS}read/", read_texts, name="read"),
    path(f"{ADDRESS}review/", review, name="review"),
    path(f"{ADDRESS}undo/", undo_decision, name="undo"),
    path(f"{ADDRESS}<int:key>/", answer, name="answer"),
    path(f"{ADDRESS}<int:key>/decide/", decide_answer, name="decide"),
]
