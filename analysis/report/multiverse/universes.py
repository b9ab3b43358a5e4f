"""All universes of a study's hypotheses: lists them, tests each, and summarises them as curves.

Finished universes are kept, so that an interrupted multiverse resumes.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from analysis.charts.figure import Row
from analysis.models import MetricValue
from analysis.report.filters import Filters
from analysis.report.multiverse.choices import CHOICES, Answers, Universe, choices_for
from analysis.report.planned.answers import find_sides
from analysis.report.planned.looks import stand
from analysis.report.planned.part import about, hypothesis_rows
from analysis.report.reports import Reporting, check_definition, fingerprint, stamp_of, tidy
from analysis.stats.resampling import DRAWS, generator
from surveys.models import Study
from surveys.studies import under_way
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys
from surveys.studies.lifecycle import definition_of, hold_withdrawals, withdrawals
from surveys.studies.wording import plural

ABOUT = ("hypothesis", "text", "measure", "of", "expected", "smallest", "alpha", "choices")
MOST = 256  # universes of a hypothesis; of more, a sample is drawn
Done = dict[tuple[str, tuple[str, ...]], list[Row]]  # by hypothesis and options
NAME, SEED = "multiverse", 0
WORK = "multiverse under way"
EVERY = 5.0  # seconds between saves
Progress = Callable[[int, int], None]


def universes_of(choices: Mapping[str, Sequence[str]], slug: str, seed: int) -> tuple[list[Universe], int]:
    """Universes, planned first, then those that change one choice, then the others; and how many exist in all."""
    found = [dict(zip(choices, options, strict=True)) for options in product(*choices.values())]
    planned = found[0]
    found.sort(key=lambda one: min(2, sum(one[name] != planned[name] for name in choices)))
    near = 1 + sum(len(options) - 1 for options in choices.values())
    if len(found) <= MOST:
        return list(found), len(found)
    drawn = generator(seed, "multiverse", slug).choice(len(found) - near, max(0, MOST - near), replace=False)
    return [*found[:near], *(found[near + at] for at in np.sort(drawn))], len(found)


def list_universes(answers: Answers, seed: int, draws: int) -> dict[str, Any]:
    """The document of a multiverse with nothing computed yet."""
    study, plan = answers.study, answers.definition.plan or PlanKeys()
    found = [list_universes_of(answers, hypothesis, plan, seed) for hypothesis in answers.definition.hypotheses]
    return {
        "study": study.slug,
        "version": study.current.number,
        "version_sha256": study.current.sha256,
        "seed": seed,
        "draws": draws,
        "all": sum(len(entry["universes"]) for entry in found),
        "done": 0,
        "hypotheses": found,
    }


def list_universes_of(answers: Answers, hypothesis: Hypothesis, plan: PlanKeys, seed: int) -> Row:
    choices = choices_for(answers, hypothesis)
    universes, possible = universes_of(choices, hypothesis.slug, seed)
    return {
        **{name: value for name, value in about(hypothesis, plan).items() if name in ABOUT},
        "choices": [
            {
                "choice": name,
                "label": CHOICES[name].label,
                "options": [{"option": option, "words": CHOICES[name].words(option)} for option in options],
            }
            for name, options in choices.items()
        ],
        "universes": [list(one.values()) for one in universes],
        "possible": possible,
        "rows": [],
    }


def done_in(document: Mapping[str, Any] | None) -> Done:
    """The rows of an interrupted multiverse, by hypothesis and options."""
    found: Done = {}
    for entry in document["hypotheses"] if document else ():
        for row in entry["rows"]:
            found.setdefault((entry["hypothesis"], tuple(row["options"])), []).append(row)
    return found


def explore(answers: Answers, done: Done, seed: int, draws: int) -> Iterator[dict[str, Any]]:
    """Yield the multiverse after each universe, without computing those `done` again."""
    document = list_universes(answers, seed, draws)
    plan, waiting = answers.definition.plan or PlanKeys(), list[tuple[int, Universe, Hypothesis, Row]]()
    for hypothesis, entry in zip(answers.definition.hypotheses, document["hypotheses"], strict=True):
        for rank, options in enumerate(entry["universes"]):
            if known := done.get((hypothesis.slug, tuple(options))):
                add(document, entry, known)
            else:
                names = (choice["choice"] for choice in entry["choices"])
                waiting.append((rank, dict(zip(names, options, strict=True)), hypothesis, entry))
    yield document
    # Hypotheses in one universe follow one another, since they share its answers.
    waiting.sort(key=lambda each: (each[0], *each[1].items()))
    before = None
    for _, universe, hypothesis, entry in waiting:
        if universe != before:
            data, before = answers.data(universe, seed, draws), universe
        rows = hypothesis_rows(data, find_sides(data, hypothesis), plan)
        add(document, entry, [row_of(row, universe) for row in rows])
        yield document


def add(document: dict[str, Any], entry: Row, rows: Sequence[Row]) -> None:
    entry["rows"] += rows
    document["done"] += 1


def row_of(row: Row, universe: Universe) -> Row:
    return {
        "options": list(universe.values()),  # in the order of the choices
        **{name: row[name] for name in ("prompts", "value", "ci", "p")},
        **{f"n_{side}": row[side]["n"] if row[side] else None for side in ("a", "b")},
        "simulated": any(row[side].get("simulated") for side in ("a", "b") if row[side]),
        **({"why": row["why"]} if row.get("why") else {}),
    }


# --- summaries


def curves_of(document: Mapping[str, Any]) -> list[Row]:
    """A specification curve for each hypothesis, or for each of its prompts if they are not pooled."""
    found = []
    for entry in document["hypotheses"]:
        for prompts in dict.fromkeys(tuple(row["prompts"]) for row in entry["rows"]):
            rows = [row for row in entry["rows"] if tuple(row["prompts"]) == prompts]
            found.append(curve_of(entry, list(prompts), rows))
    return found


def curve_of(entry: Row, prompts: list[str], rows: Sequence[Row]) -> Row:
    """A curve with rows in ascending order of estimate. Shares are of the universes that have an estimate (a p, for
    `significant`); p is of each universe alone.
    """
    planned = next((row for row in rows if not changed_in(entry, row)), None)
    known = sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
    values = [row["value"] for row in known]
    tested = [row for row in known if row["p"] is not None]
    names = [choice["choice"] for choice in entry["choices"]]
    alone = [row | {"changed": changed} for row in rows if len(changed := changed_in(entry, row)) == 1]
    way = np.sign(planned["value"]) if planned and planned["value"] is not None else None
    return {
        **{name: entry[name] for name in ABOUT},
        "prompts": prompts,
        "possible": entry["possible"],
        "all": len(entry["universes"]),
        "computed": len(rows),
        "n": len(known),
        "median": median(values) if values else None,
        "least": min(values, default=None),
        "most": max(values, default=None),
        "same_sign": sum(np.sign(value) == way for value in values) / len(values) if values and way else None,
        "significant": sum(row["p"] <= entry["alpha"] for row in tested) / len(tested) if tested else None,
        "tested": len(tested),
        "planned": planned,
        "rows": known,
        "alone": sorted(alone, key=lambda row: names.index(row["changed"][0][0])),
    }


def changed_in(entry: Row, row: Row) -> list[tuple[str, str]]:
    """The choices that differ from the plan, each with the words of its option."""
    found = []
    for choice, taken in zip(entry["choices"], row["options"], strict=True):
        words = {each["option"]: each["words"] for each in choice["options"]}
        if taken != next(iter(words)):
            found.append((choice["choice"], words[taken]))
    return found


# --- kept while it is computed ------------------------------------------------


class MultiverseError(Exception):
    """A multiverse that cannot be computed; the message says why and what to do."""


def check(study: Study) -> None:
    """Raise MultiverseError without hypotheses, or before the end, when each universe would be a look."""
    check_definition(study)
    if not definition_of(study.current_id).of_answers:
        raise MultiverseError(f"{study.slug} has no hypotheses. Write [[hypotheses]] in its study file and load it.")
    standing = stand(study)
    if standing.is_launched and not standing.is_over:
        raise MultiverseError(
            "Not before the end, since each universe would be a look: "
            f"{standing.people:,} of {plural(standing.planned, 'person', 'people')}."
        )


def fingerprint_of(study: Study) -> str:
    return fingerprint(Filters(), SEED, DRAWS, stamp_of(study))


def find_multiverse(study: Study) -> tuple[dict[str, Any] | None, bool]:
    """The multiverse of today's answers, or the last whole one while that is incomplete; and whether it is today's."""
    row, is_today = find_kept(study)
    return row and row.value, is_today


def find_kept(study: Study) -> tuple[MetricValue | None, bool]:
    rows = list(MetricValue.objects.filter(study=study, name=NAME).order_by("-computed_at"))
    now = fingerprint_of(study) if rows else ""
    today = next((row for row in rows if row.fingerprint == now), None)
    older = next((row for row in rows if row.fingerprint != now and is_whole(row.value)), None)
    if today and (is_whole(today.value) or not older):
        return today, True
    return older, False


def is_whole(document: dict[str, Any]) -> bool:
    return bool(document["done"] == document["all"])


def keep_multiverse(
    study: Study, seconds: float = float("inf"), progress: Progress = lambda done, total: None
) -> dict[str, Any]:
    """Continue the multiverse of today's answers for about `seconds`. Raises MultiverseError."""
    check(study)
    Reporting(study).part("as_planned")  # notes that the end was reached and shown
    stamp, before = fingerprint_of(study), withdrawals(study)
    kept = MetricValue.objects.filter(study=study, name=NAME, fingerprint=stamp).first()
    began = saved = time.monotonic()
    document: dict[str, Any] = {}
    for document in explore(Answers(study), done_in(kept.value if kept else None), SEED, DRAWS):
        progress(document["done"], document["all"])
        under_way.set_progress(study, WORK, document["done"], document["all"])
        now = time.monotonic()
        if is_whole(document) or now - saved > EVERY or now - began > seconds:
            save(study, stamp, document, now - began, before)
            saved = now
        if now - began > seconds:
            break
    return tidy(document)


def save(study: Study, stamp: str, document: dict[str, Any], seconds: float, before: int) -> None:
    with transaction.atomic():
        hold_withdrawals(study)
        if withdrawals(study) != before:  # it may hold answers withdrawn meanwhile
            raise MultiverseError("Somebody withdrew while it was computed. Start it again.")
        rows = MetricValue.objects.filter(study=study, name=NAME)
        new = {"value": tidy(document), "seconds": seconds, "computed_at": timezone.now()}
        rows.update_or_create(fingerprint=stamp, defaults=new, create_defaults=new | {"study": study, "name": NAME})
        if is_whole(document):
            rows.exclude(fingerprint=stamp).delete()
