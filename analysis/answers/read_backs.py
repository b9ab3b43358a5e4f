"""How often the person who saw an answer and the rules agree on what it says, and what their corrections change."""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import chain
from typing import Any

import numpy as np
from django.db.models import Max, QuerySet

from analysis.answers.aliases import alias_map
from analysis.answers.compared import families_of, spellings_of
from analysis.answers.kept import keep
from analysis.answers.reviews import superseded
from analysis.answers.samples import reading_errors
from analysis.models import AliasDecision, Answer
from analysis.stats.intervals import share_interval
from analysis.stats.item_measures import measure
from surveys.models import Participant, Prompt, ReadBack, Response, Study, asked_of_all
from surveys.reading.answers import normalise_item
from surveys.studies.lifecycle import definition_of

Verdict = ReadBack.Verdict
READ = ("response_id", "items", "letter", "decided")
SAID = ("response_id", "read_names", "read_letter", "verdict", "names", "letter", "absent", "no_answer")


def kept_accuracy(study: Study, stamp: str) -> dict[str, Any]:
    """`rows` of `reader_accuracy` and `errors` of `reading_errors`; kept until an answer or a spelling changes."""
    newest = AliasDecision.objects.filter(study=study).aggregate(newest=Max("pk"))["newest"]
    fingerprint = hashlib.sha256(f"{stamp} {newest}".encode()).hexdigest()
    return keep(
        study, "accuracy", fingerprint, lambda: {"rows": reader_accuracy(study), "errors": reading_errors(study)}
    )


# --- how often people and reader agree -----------------------------------------


def reader_accuracy(study: Study) -> list[dict[str, Any]]:
    """For each prompt, and for all of a kind, how many of the readings that people answered were right.

    Of the newest accepted answers, without previews and pilots. Shares have Wilson's interval over answers; `before`
    and `after` are the field's numbers as the rules read and as they count, `changed` how many answers differ.
    """
    if not ReadBack.objects.filter(response__participant__study=study).exists():
        return []
    rows = list(_newest(study))
    # Of all the study's texts, also older ones: which of them are the newest is asked once, above.
    of_study = {"response__participant__study": study}
    answers = {row.response_id: row for row in Answer.objects.filter(**of_study).values_list(*READ, named=True)}
    said = {row.response_id: row for row in ReadBack.objects.filter(**of_study).values_list(*SAID, named=True)}
    if not any(row.pk in said for row in rows):
        return []
    families = families_of(definition_of(study.current_id)) if study.current_id else {}
    spellings = spellings_of(alias_map(study), families)
    items: dict[str, str] = {}  # by name: few names are written often
    found: list[dict[str, Any]] = []
    for kind in Prompt.Kind.values:
        of_kind = [row for row in rows if row.prompt__kind == kind]
        by_prompt: dict[str, list[Any]] = {}
        for row in of_kind:
            by_prompt.setdefault(row.prompt__slug, []).append(row)
        for slug, members in [*by_prompt.items(), *([("", of_kind)] if len(by_prompt) > 1 else [])]:
            there = [said[row.pk] for row in members if row.pk in said]
            pairs = [(answers[row.pk], said.get(row.pk)) for row in members if row.pk in answers]
            if slug:
                change = _change(pairs, spellings.get(families.get(slug, slug), {}), kind, items)
            else:
                parts = [row for row in found if row["kind"] == kind]
                change = _share_changed(*(sum(part[name] for part in parts) for name in ("changed", "answers")))
            found.append({"prompt": slug, "kind": kind, "answers": len(pairs), **_agreement(there), **change})
    return found


def _newest(study: Study) -> QuerySet[Any]:
    """Each with its key, and slug and kind of its prompt."""
    first = asked_of_all("prompt__")
    ours = Response.objects.filter(first, participant__study=study, participant__pilot=False, accepted=True)
    shown = ours.exclude(participant__origin=Participant.Origin.PREVIEW).filter(~superseded())
    return shown.order_by("prompt__position", "pk").values_list("pk", "prompt__slug", "prompt__kind", named=True)


def _agreement(rows: Collection[Any]) -> dict[str, Any]:
    answered = [row for row in rows if row.verdict != Verdict.UNSAID and not row.no_answer]
    corrected = [row for row in answered if row.verdict == Verdict.CORRECTED]  # of others both are the same
    right = len(answered) - len(corrected)
    return {
        "said": len(answered),
        "right": right,
        "share": right / len(answered) if answered else None,
        "ci": share_interval(right, len(answered)),
        "unsaid": sum(row.verdict == Verdict.UNSAID for row in rows),
        "read": sum(len(row.read_names) + bool(row.read_letter) for row in answered),
        "taken_out": sum(len({*row.read_names} - {*row.names}) for row in corrected)
        + sum(bool(row.read_letter) and row.letter != row.read_letter for row in corrected),
        "added": sum(len({*row.names} - {*row.read_names}) for row in corrected)
        + sum(bool(row.letter) and row.letter != row.read_letter for row in corrected),
        "absent": sum(len(row.absent) for row in answered),
        "no_answer": dict(Counter(row.no_answer for row in rows if row.no_answer)),
    }


def _change(
    pairs: Collection[tuple[Any, Any]], aliases: Mapping[str, str], kind: str, items: dict[str, str]
) -> dict[str, Any]:
    """What the corrections that count change: those of answers that no researcher has decided about."""
    after = [_as_one(answer.items, answer.letter, aliases) for answer, _ in pairs]
    before = [
        stands if said is None or answer.decided else _as_one(_items(said.read_names, items), said.read_letter, aliases)
        for stands, (answer, said) in zip(after, pairs, strict=True)
    ]
    changed = sum(one != other for one, other in zip(before, after, strict=True))
    return {"before": _numbers(before, kind), "after": _numbers(after, kind), **_share_changed(changed, len(pairs))}


def _as_one(items: Collection[str], letter: str, aliases: Mapping[str, str]) -> tuple[set[str], str]:
    """What a text says, each thing once."""
    return {aliases.get(item, item) for item in items}, letter


def _items(names: Collection[str], items: dict[str, str]) -> list[str]:
    """The items of these names; `items` remembers those of names that were met before."""
    for name in names:
        if name not in items:
            items[name] = normalise_item(name)
    return [item for item in map(items.__getitem__, names) if item]


def _share_changed(changed: int, answers: int) -> dict[str, Any]:
    share = changed / answers if answers else None
    return {"changed": changed, "changed_share": share, "changed_ci": share_interval(changed, answers)}


def _numbers(given: Collection[tuple[set[str], str]], kind: str) -> dict[str, Any]:
    if kind == Prompt.Kind.CHOICE:
        return {"answers": len(given), "letters": dict(sorted(Counter(letter for _, letter in given).items()))}
    named = Counter(chain.from_iterable(items for items, _ in given))
    counts = np.array(list(named.values()) or [0])
    bits = float(measure(counts)["entropy_bits"]) if named else None
    return {"answers": len(given), "mentions": named.total(), "distinct": len(named), "entropy_bits": bits}
