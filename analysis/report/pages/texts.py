"""One text as a page shows it: who or what wrote it, how it was read, and where it names an item."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from analysis.models import Completion
from surveys.models import Response, Study

LONGEST_SHOWN = 4_000  # letters of a text; its own page has the rest


@dataclass(frozen=True)
class Text:
    """One text as the page shows it."""

    who: str
    href: str
    answer_href: str
    letter: str
    names: list[str]
    named: list[str]  # as the text writes the item that was asked for
    marked: SafeString
    is_cut: bool
    is_read: bool


def load_texts(kind: str, ids: list[int]) -> list[Response | Completion]:
    """Load responses or completions in the order of the ids."""
    if kind == "response":
        rows: Any = Response.objects.select_related("participant", "prompt", "answer")
    else:
        rows = Completion.objects.select_related("run__endpoint", "prompt", "answer", "user")
    by_id = rows.in_bulk(ids)
    return [by_id[pk] for pk in ids if pk in by_id]


def text_of(study: Study, row: Response | Completion, spellings: set[str]) -> Text:
    answer = getattr(row, "answer", None)
    whole = row.text if isinstance(row, Response) else row.reply
    said = list(zip(answer.items, answer.names, strict=False)) if answer else []
    named = [name for item, name in said if item in spellings]
    who, href = person_of(study, row) if isinstance(row, Response) else call_of(study, row)
    of_study = isinstance(row, Response) or row.run.study_id == study.pk
    return Text(
        who=who,
        href=href,
        answer_href=reverse("answers:answer", args=[study.slug, answer.pk]) if answer and of_study else "",
        letter=answer.letter if answer else "",
        names=[name for _, name in said],
        named=named,
        marked=mark_names(whole[:LONGEST_SHOWN], named),
        is_cut=len(whole) > LONGEST_SHOWN,
        is_read=answer is not None,
    )


def person_of(study: Study, row: Response) -> tuple[str, str]:
    address = reverse("console:participant", args=[study.slug, row.participant.pseudonym])
    return f"Participant {row.participant.pseudonym}", f"{address}#{row.prompt.slug}"


def call_of(study: Study, row: Completion) -> tuple[str, str]:
    part = f", user {row.user.index}" if row.user_id else ""
    item = f", {row.item}" if row.item_id else ""
    who = f"Run {row.run_id}{part}, repeat {row.repeat}{item}"
    return who, reverse("baselines:completion", args=[study.slug, row.run_id, row.pk])


def mark_names(text: str, names: Iterable[str]) -> SafeString:
    """Escape the text and mark every place where it has one of the names."""
    wanted = sorted({name for name in names if name}, key=len, reverse=True)
    if not wanted:
        return SafeString(escape(text))
    pattern = re.compile("|".join(re.escape(name) for name in wanted), re.IGNORECASE)
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [escape(text[end : match.start()]), f"<mark>{escape(match.group())}</mark>"]
        end = match.end()
    return mark_safe("".join([*parts, escape(text[end:])]))  # noqa: S308 - every piece is escaped
