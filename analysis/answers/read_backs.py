"""How often the person who saw an answer and the rules agree on what it says, and what their corrections change."""

from collections import Counter
from typing import Any

import numpy as np
from django.db.models import Max

from analysis.answers.kept import hash_of, keep, side_stamps
from analysis.answers.readings import open_completions
from analysis.answers.reviews import answers_of
from analysis.answers.samples import ReadingSample, draw, reading_errors
from analysis.answers.tallies import Tallies, Tally, count_all, count_field
from analysis.models import AliasDecision
from analysis.stats.intervals import share_interval
from analysis.stats.item_measures import measure
from surveys.models import Prompt, Study

FIELD = "field"


def kept_accuracy(study: Study) -> dict[str, Any]:
    """`rows` of `reader_accuracy`, `errors` of `reading_errors` and how many texts are `unread`.

    Kept until an answer or a spelling changes. Of completions and of answers is counted what changed of them.
    """
    field, models = side_stamps(study)
    newest = AliasDecision.objects.filter(study=study).aggregate(newest=Max("pk"))["newest"]
    stamp = hash_of([field, models, newest])
    return keep(study, "accuracy", stamp, lambda: _accuracy(study, stamp, models))


def _accuracy(study: Study, stamp: str, models: str) -> dict[str, Any]:
    state, unread = count_field(study, stamp)
    others = keep(study, "models-read", models, lambda: _models_read(study))
    drawn = {source: ReadingSample(*each) for source, each in others["drawn"].items()}
    if state.drawn.readings:
        drawn[FIELD] = state.drawn
    return {
        "rows": _rows(study, state.tallies),
        "errors": reading_errors(drawn),
        "unread": others["unread"] + unread,
    }


def _models_read(study: Study) -> dict[str, Any]:
    of_models = answers_of(study).filter(completion__isnull=False)
    return {"drawn": draw(of_models), "unread": open_completions(study, anew=False).count()}


# --- how often people and reader agree -----------------------------------------


def reader_accuracy(study: Study) -> list[dict[str, Any]]:
    """For each prompt, and for all of a kind, how many of the readings that people answered were right.

    Of the newest accepted answers, without previews and pilots. Shares have Wilson's interval over answers; `before`
    and `after` are the field's numbers as the rules read and as they count, `changed` how many answers differ.
    """
    return _rows(study, count_all(study))


def _rows(study: Study, tallies: Tallies) -> list[dict[str, Any]]:
    slugs = Prompt.objects.filter(version__study=study).order_by("position", "pk").values_list("slug", flat=True)
    found: list[dict[str, Any]] = []
    for kind in Prompt.Kind.values:
        of_kind = tallies.get(kind, {})
        asked = [slug for slug in dict.fromkeys(slugs) if slug in of_kind and of_kind[slug]["numbers"]["responses"]]
        for slug in asked:
            before, after = (_numbers(of_kind[slug], part, kind) for part in ("before", "after"))
            found.append({"prompt": slug, "kind": kind, **_row(of_kind[slug]), "before": before, "after": after})
        if len(asked) > 1:
            whole = {part: sum((of_kind[slug][part] for slug in asked), Counter()) for part in ("numbers", "no_answer")}
            found.append({"prompt": "", "kind": kind, **_row(whole)})
    return found if any(tally["numbers"]["shown"] for of_kind in tallies.values() for tally in of_kind.values()) else []


def _row(tally: Tally) -> dict[str, Any]:
    numbers = tally["numbers"]
    said, answers, changed = (numbers[name] for name in ("said", "answers", "changed"))
    right = said - numbers["corrected"]
    return {
        "said": said,
        "right": right,
        "share": right / said if said else None,
        "ci": share_interval(right, said),
        **{name: numbers[name] for name in ("unsaid", "read", "taken_out", "added", "absent")},
        "no_answer": dict(sorted((+tally["no_answer"]).items())),
        "answers": answers,
        "changed": changed,
        "changed_share": changed / answers if answers else None,
        "changed_ci": share_interval(changed, answers),
    }


def _numbers(tally: Tally, part: str, kind: str) -> dict[str, Any]:
    answers, named = tally["numbers"]["answers"], +tally[part]
    if kind == Prompt.Kind.CHOICE:
        return {"answers": answers, "letters": dict(sorted(named.items()))}
    counts = np.array(sorted(named.values()) or [0])
    bits = float(measure(counts)["entropy_bits"]) if named else None
    return {"answers": answers, "mentions": named.total(), "distinct": len(named), "entropy_bits": bits}
