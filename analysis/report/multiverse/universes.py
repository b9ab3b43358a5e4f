"""All universes of a study's hypotheses: lists them, tests each, and summarises them as curves."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from analysis.charts.figure import Row
from analysis.report.multiverse.choices import CHOICES, Answers, Universe, choices_for
from analysis.report.planned.answers import find_sides
from analysis.report.planned.part import about, hypothesis_rows
from analysis.stats.resampling import generator
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys

ABOUT = ("hypothesis", "text", "measure", "of", "expected", "smallest", "alpha", "choices")
MOST = 256  # universes of a hypothesis; of more, a sample is drawn
Done = dict[tuple[str, tuple[str, ...]], list[Row]]  # by hypothesis and options


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
    """The rows that an interrupted multiverse already has."""
    found: Done = {}
    for entry in document["hypotheses"] if document else ():
        for row in entry["rows"]:
            found.setdefault((entry["hypothesis"], tuple(row["options"])), []).append(row)
    return found


def explore(answers: Answers, done: Done, seed: int, draws: int) -> Iterator[dict[str, Any]]:
    """Yields the multiverse after each universe; does not compute those `done` again."""
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
    # Hypotheses in the same universe follow one another, as they share its answers.
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


# --- what they say together


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
    """The choices that differ from the plan, with the words of the option taken."""
    found = []
    for choice, taken in zip(entry["choices"], row["options"], strict=True):
        words = {each["option"]: each["words"] for each in choice["options"]}
        if taken != next(iter(words)):
            found.append((choice["choice"], words[taken]))
    return found
