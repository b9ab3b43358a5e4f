"""How often the person who saw an answer and the rules agree on what it says, and what their corrections change."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from analysis.answers.aliases import alias_map
from analysis.answers.compared import families_of, spellings_of
from analysis.answers.reviews import superseded
from analysis.models import Answer
from analysis.stats.intervals import share_interval
from analysis.stats.item_measures import measure
from surveys.models import Participant, Prompt, ReadBack, Response, Study
from surveys.reading.answers import normalise_item
from surveys.studies.lifecycle import definition_of

Verdict = ReadBack.Verdict


# --- how often people and reader agree -----------------------------------------


def reader_accuracy(study: Study) -> list[dict[str, Any]]:
    """For each prompt, and for all of a kind, how many of the readings that people answered were right.

    Of the newest accepted answers, without previews and pilots. Shares have Wilson's interval over answers; `before`
    and `after` are the field's numbers as the rules read and as they count, `changed` how many answers differ.
    """
    if not ReadBack.objects.filter(response__participant__study=study).exists():
        return []
    rows = list(_newest(study))
    keys = [row.pk for row in rows]
    read = Answer.objects.filter(response__in=keys).values_list("response_id", "items", "letter", "decided", named=True)
    answers = {answer.response_id: answer for answer in read}
    said = {row.response_id: row for row in ReadBack.objects.filter(response__in=keys)}
    if not said:
        return []
    families = families_of(definition_of(study.current_id)) if study.current_id else {}
    spellings = spellings_of(alias_map(study), families)
    found: list[dict[str, Any]] = []
    for kind in Prompt.Kind.values:
        of_kind = [row for row in rows if row.prompt__kind == kind]
        by_prompt: dict[str, list[Any]] = {}
        for row in of_kind:
            by_prompt.setdefault(row.prompt__slug, []).append(row)
        for slug, members in [*by_prompt.items(), *([("", of_kind)] if len(by_prompt) > 1 else [])]:
            there = [said[row.pk] for row in members if row.pk in said]
            pairs = [(answers[row.pk], said.get(row.pk)) for row in members if row.pk in answers]
            change = _change(pairs, spellings.get(families.get(slug, slug), {}), kind) if slug else {}
            if not slug:
                parts = [row for row in found if row["kind"] == kind]
                change = _share_changed(*(sum(part[name] for part in parts) for name in ("changed", "answers")))
            found.append({"prompt": slug, "kind": kind, "answers": len(pairs), **_agreement(there), **change})
    return found


def _newest(study: Study) -> Iterable[Any]:
    """Each with its key, and slug and kind of its prompt."""
    ours = Response.objects.filter(participant__study=study, participant__pilot=False, accepted=True, prompt__asks="")
    shown = ours.exclude(participant__origin=Participant.Origin.PREVIEW).filter(~superseded())
    return shown.order_by("prompt__position", "pk").values_list("pk", "prompt__slug", "prompt__kind", named=True)


def _agreement(rows: Collection[ReadBack]) -> dict[str, Any]:
    answered = [row for row in rows if row.verdict != Verdict.UNSAID and not row.no_answer]
    right = sum(row.verdict == Verdict.RIGHT for row in answered)
    return {
        "said": len(answered),
        "right": right,
        "share": right / len(answered) if answered else None,
        "ci": share_interval(right, len(answered)),
        "unsaid": sum(row.verdict == Verdict.UNSAID for row in rows),
        "read": sum(len(row.read_names) + bool(row.read_letter) for row in answered),
        "taken_out": sum(len({*row.read_names} - {*row.names}) for row in answered)
        + sum(bool(row.read_letter) and row.letter != row.read_letter for row in answered),
        "added": sum(len({*row.names} - {*row.read_names}) for row in answered)
        + sum(bool(row.letter) and row.letter != row.read_letter for row in answered),
        "absent": sum(len(row.absent) for row in answered),
        "no_answer": dict(Counter(row.no_answer for row in rows if row.no_answer)),
    }


def _change(pairs: Collection[tuple[Any, ReadBack | None]], aliases: Mapping[str, str], kind: str) -> dict[str, Any]:
    """What the corrections that count change: those of answers that no researcher has decided about."""
    before = [_as_read(answer, said) for answer, said in pairs]
    after = [(answer.items, answer.letter) for answer, _ in pairs]
    sets = [
        [({aliases.get(item, item) for item in items}, letter) for items, letter in given] for given in (before, after)
    ]
    changed = sum(one != other for one, other in zip(*sets, strict=True))
    return {
        **{name: _numbers(given, aliases, kind) for name, given in (("before", before), ("after", after))},
        **_share_changed(changed, len(pairs)),
    }


def _share_changed(changed: int, answers: int) -> dict[str, Any]:
    share = changed / answers if answers else None
    return {"changed": changed, "changed_share": share, "changed_ci": share_interval(changed, answers)}


def _as_read(answer: Any, said: ReadBack | None) -> tuple[list[str], str]:
    if said is None or answer.decided:
        return answer.items, answer.letter
    return [item for item in map(normalise_item, said.read_names) if item], said.read_letter


def _numbers(given: Collection[tuple[list[str], str]], aliases: Mapping[str, str], kind: str) -> dict[str, Any]:
    if kind == Prompt.Kind.CHOICE:
        return {"answers": len(given), "letters": dict(sorted(Counter(letter for _, letter in given).items()))}
    named = Counter(item for items, _ in given for item in {aliases.get(item, item) for item in items})
    counts = np.array(list(named.values()) or [0])
    bits = float(measure(counts)["entropy_bits"]) if named else None
    return {"answers": len(given), "mentions": named.total(), "distinct": len(named), "entropy_bits": bits}
