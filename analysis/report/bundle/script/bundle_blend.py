"""Checks of blends for recompute.py: distances as means over pairs, and weights by trying every set of sources."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from bundle_checks import Check, Checks, interval_checks, row_checks
from bundle_data import Bundle, Row, place
from bundle_persons import is_choice, readable, unlike, welch

MOST_TRIED = 12  # sources, of which there are 4,095 sets
TOLERANCE = 1e-4  # of a weight, which the platform finds iteratively


def check_blend(bundle: Bundle) -> Checks:
    rows = bundle.report["blend"]
    for row in rows:
        if row["source"] is None and row["sources"]:
            same = [one for one in rows if one["source"] and one["chatbot"] == row["chatbot"] and "weight" in one]
            yield from blend_checks(bundle, row, same)


def blend_checks(bundle: Bundle, row: Row, sources: list[Row]) -> Checks:
    where, sides = place(row, "chatbot") or "all", range(len(sources) + 1)
    sums = [sums_of(bundle, row, sources, prompt) for prompt in row["prompt_slugs"]]
    answered = [{unit for prompt in sums for side, unit in prompt[2] if side == number} for number in sides]
    for one, units in zip([row, *sources], answered, strict=True):
        yield from row_checks(f"{where}, {one['source'] or 'field'}", one, units=len(units))
    means = mean_without(sums, None)
    left_out = {unit: mean_without(sums, unit) for unit in set().union(*answered)}
    for number, source in enumerate(sources, 1):
        alone = np.eye(len(sides))[number]
        value = distance(means, alone)
        yield from row_checks(f"{where}, {source['source']}", source, distance=value)
        parts = [[distance(left_out[unit], alone) - value for unit in group] for group in groups_of(answered)]
        yield from interval_checks(where, "interval of distance", source["ci_distance"], jackknifed(value, parts))
    if len(sources) <= MOST_TRIED:
        weights = nearest(means)
        yield Check(where, "distance of the fitted blend", row["fitted"], distance(means, np.append(0.0, weights)))
        for source, weight in zip(sources, weights, strict=True):
            yield Check(f"{where}, {source['source']}", "weight", source["weight"], float(weight), TOLERANCE)


def groups_of(answered: list[set[str]]) -> list[set[str]]:
    """Merge the units of sides that share simulated users into one group."""
    groups: list[set[str]] = []
    for units in answered:
        shared = [group for group in groups if group & units]
        groups = [group for group in groups if group not in shared] + [units.union(*shared)]
    return groups


def distance(means: np.ndarray, weights: np.ndarray) -> float:
    """The distance of a blend with these weights from the field, whose own weight is 0."""
    return float(2 * means[0] @ weights - means[0, 0] - weights @ means @ weights)


def nearest(means: np.ndarray) -> np.ndarray:
    """Find, for every set of sources, the weights summing to 1 at which the distance has no slope; return the nearest
    of those without a negative one.
    """
    count, best = len(means) - 1, (math.inf, np.zeros(0))
    for size in range(1, count + 1):
        for chosen in combinations(range(1, count + 1), size):
            rows = list(chosen)
            system = np.ones((size + 1, size + 1))
            system[:size, :size], system[size, size] = means[np.ix_(rows, rows)], 0
            if abs(np.linalg.det(system)) < 1e-15:
                continue
            weights = np.zeros(count + 1)
            weights[rows] = np.linalg.solve(system, np.append(means[0, rows], 1.0))[:size]
            if weights.min() > -1e-9:
                best = min(best, (distance(means, weights), weights), key=lambda pair: pair[0])
    return best[1][1:]


Sums = tuple[np.ndarray, np.ndarray, list[tuple[int, str]]]


def sums_of(bundle: Bundle, row: Row, sources: list[Row], prompt: str) -> Sums:
    """Each unit's unlikeness to every side, summed over pairs with other units; how many these are; and the units."""
    tables = [bundle.field(row["chatbot"] or "all", prompt)]
    tables += [bundle.calls(bundle.runs_of(source), prompt) for source in sources]
    table = pd.concat([one.assign(side=side) for side, one in enumerate(tables)], ignore_index=True)
    table = readable(table, is_choice(bundle, prompt))
    by_repeat = [side for side, source in enumerate(sources, 1) if source["unit"] == "repeat"]
    alone = table["respondent"].str.startswith("call ") | table["side"].isin(by_repeat)
    whose = zip(table["run"], table["user"], table["repeat"], strict=True)
    calls = pd.Series([f"run {run} {user} {repeat}" for run, user, repeat in whose], table.index)
    keys = [table["side"], table["respondent"].where(~alone, calls)]
    far = pd.DataFrame(unlike(table, is_choice(bundle, prompt)))
    averaged = far.groupby(keys).mean().T.groupby(keys).mean()
    units = list(averaged.index)
    others = np.array([[one != other for _, other in units] for _, one in units], dtype=float)
    sides = np.array([[side == number for number in range(len(tables))] for side, _ in units], dtype=float)
    return (averaged.to_numpy() * others) @ sides, others @ sides, units


def mean_without(sums: list[Sums], unit: str | None) -> np.ndarray:
    """Mean unlikeness between all sides, field and sources, over prompts, without one unit."""
    return np.asarray(np.mean([without(prompt, unit) for prompt in sums], axis=0))


def without(sums: Sums, unit: str | None) -> np.ndarray:
    totals = []
    for per_unit in sums[:2]:
        sides = per_unit.shape[1]
        total, gone = np.zeros((sides, sides)), np.zeros((sides, sides))
        for (side, name), values in zip(sums[2], per_unit, strict=True):
            total[side] += values
            gone[side] += values if name == unit else 0
        totals.append(total - gone - gone.T)
    return np.asarray(totals[0] / totals[1])


def jackknifed(value: float, parts: list[list[float]]) -> Any:
    """The jackknife interval of a value, from its changes when units of each group are left out in turn."""
    kept = [part for part in parts if sum(change**2 for change in part) > 1e-18]
    squares = [(len(part) - 1) / len(part) * sum(change**2 for change in part) for part in kept]
    return welch(value, squares, [*map(len, kept)], 0, math.inf) if kept else None
