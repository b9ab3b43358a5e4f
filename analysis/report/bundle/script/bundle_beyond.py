"""Checks for recompute.py: the population's entropy, missing answers, and mixes."""

import math
from typing import Any

import numpy as np
import pandas as pd
from bundle_checks import Check, Checks, Ends, interval_checks, row_checks
from bundle_data import (
    FEWEST_UNITS,
    LETTERS,
    Bundle,
    Row,
    distance,
    ends_of,
    incidence,
    item_intervals,
    place,
    vocabulary_of,
)

EULER = 0.57721566490153286
NAMED = 5

# --- the population's entropy


def population_checks(where: str, row: Row, table: pd.DataFrame, matrix: np.ndarray) -> Checks:
    reported, one_each = row["population"], table["respondent"].nunique() == len(table)
    counts = matrix.sum(axis=0)
    able = one_each and bool((counts > 1).any())
    bits, coverage = population(counts) if able else (None, None)
    yield Check(where, "entropy of the population", reported["entropy_bits"], bits)
    yield Check(where, "coverage", reported["coverage"], coverage)
    ends: Ends = None
    if bits is not None and len(matrix) >= FEWEST_UNITS:
        left = np.array([population(counts - unit)[0] for unit in matrix])
        m = len(left)
        ends = ends_of(bits, math.sqrt((m - 1) * left.var()), m - 1, m, 0.0, math.inf)
    yield from interval_checks(where, "interval of the population's entropy", reported["ci"], ends)


FOUND: dict[tuple[Any, ...], tuple[float, float]] = {}


def population(counts: np.ndarray) -> tuple[float, float]:
    """Entropy in bits and coverage by Chao, Wang and Jost (2013), sums written out; NaN if nothing is named."""
    key = tuple(np.sort(counts[counts > 0]))
    if key not in FOUND:
        FOUND[key] = _population(np.array(key, dtype=int))
    return FOUND[key]


def _population(counts: np.ndarray) -> tuple[float, float]:
    total, once, twice = int(counts.sum()), int((counts == 1).sum()), int((counts == 2).sum())
    if not total:
        return math.nan, math.nan
    psi = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, total + 1))]) - EULER  # psi[n - 1] is psi of n
    known = float((counts / total * (psi[total - 1] - psi[counts - 1])).sum())
    several, others = (2 * twice, once) if twice else (2, max(once - 1, 0))
    b = (total - 1) * others / ((total - 1) * others + several)
    terms = np.arange(int(40 / (1 - b)) + 10)
    unseen = once / total * float((b ** (terms + 1) / (total + terms)).sum())
    return (known + unseen) / math.log(2), 1 - b * once / total


# --- missing answers


def missing_from(bundle: Bundle, model: str, prompt: str) -> int:
    """How many people answered some prompt but not this one."""
    everybody: set[str] = set()
    for slug in bundle.prompts:
        everybody |= set(bundle.field(model, slug)["participant"])
    return len(everybody) - len(bundle.field(model, prompt))


def share_checks(bundle: Bundle, where: str, row: Row, hits: int, n: int) -> Checks:
    missing = missing_from(bundle, row["model"], row["prompt"]) if row["source"] == "field" else 0
    yield from row_checks(where, row, missing=missing)
    if missing and row["correct"] and n:
        for said, found in zip(row["bounds_missing"], (hits, hits + missing), strict=True):
            yield Check(where, "bounds with missing answers", said, found / (n + missing))


def distance_bounds(bundle: Bundle, one: pd.DataFrame, other: pd.DataFrame, missing: int, prompt: str) -> np.ndarray:
    vocabulary = vocabulary_of(one, other)
    counts, others = (incidence(table, vocabulary).sum(axis=0) for table in (one, other))
    named = min(NAMED, *(known["items"] or NAMED for known in bundle.report["prompts"] if known["slug"] == prompt))
    wide, beside = (np.append(some, np.zeros(named)) for some in (counts, others))
    return np.array([least(wide, beside, missing * named), largest(wide, beside, missing, named)])


def largest(counts: np.ndarray, others: np.ndarray, missing: int, named: int) -> float:
    """The largest distance if all missing answers name the same k items, those that add most, over all possible k."""
    q, found = others / others.sum(), [float(distance(counts, others)[0])]
    for k in range(1, named + 1):
        total = counts.sum() + k * missing
        gains = _terms((counts + missing) / total, q) - _terms(counts / total, q)
        chosen = np.argsort(gains)[-k:]
        with_them = counts.copy()
        with_them[chosen] += missing
        found.append(float(distance(with_them, others)[0]))
    return max(found)


def least(counts: np.ndarray, others: np.ndarray, mentions: int) -> float:
    """The least distance: counts filled up to one level in proportion to the others' shares; finds it by bisection."""
    total, q = counts.sum() + mentions, others / others.sum()
    low, high = 0.0, float(total)
    for _ in range(200):
        middle = (low + high) / 2
        given = np.maximum(middle * q * total - counts, 0.0).sum()
        low, high = (middle, high) if given < mentions else (low, middle)
    return float(distance(np.maximum(counts, high * q * total), others)[0])


def _terms(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    m = np.where(p + q > 0, (p + q) / 2, 1.0)
    one, other = (x * np.log2(np.where(x > 0, x, m) / m) for x in (p, q))
    return (one + other) / 2


# --- mixes


def check_mixes(bundle: Bundle) -> Checks:
    for row in bundle.report["mixes"]:
        where = place(row, "prompt", "answer", "source", "model")
        people = [stratum(bundle.field(bot, row["prompt"]), row) for bot in row["mix"]]
        total = sum(part[0] for part in people)
        weights = [part[0] / total for part in people]
        bots, calls = [], []
        for source in bundle.report["sources"]:
            wanted = source["model"] == row["model"] if row["model"] else source["chatbot"] is not None
            if source["main"] and source["source"] == row["source"] and wanted:
                table = bundle.calls(source["runs"], row["prompt"])
                if len(table):
                    bots.append(source["chatbot"])
                    calls.append(stratum(table, row))
        own = [part[0] / sum(some[0] for some in calls) for part in calls]
        yield from row_checks(where, row, n=sum(part[0] for part in calls))
        yield from combined(where, "field", row, people, weights)
        yield from combined(where, "raw", row, calls, own)
        yield from combined(where, "difference_raw", row, people + calls, weights + [-w for w in own])
        if row["standardised"] is not None:
            of_bot = {bot: sum(part[0] for part, of in zip(calls, bots, strict=True) if of == bot) for bot in bots}
            mix = dict(zip(row["mix"], weights, strict=True))
            at = [mix.get(bot, 0.0) * part[0] / of_bot[bot] for bot, part in zip(bots, calls, strict=True)]
            yield from combined(where, "standardised", row, calls, at)
            yield from combined(where, "difference", row, people + calls, weights + [-w for w in at])


def stratum(table: pd.DataFrame, row: Row) -> tuple[int, float, Ends]:
    """The number of answers, the share of them that give the row's answer, and its interval."""
    if row["kind"] == "choice":
        given = np.array([[letter == other for other in LETTERS] for letter in table["letter"]], dtype=float)
        matrix, at = np.column_stack([given, given.sum(axis=1) == 0]), LETTERS.index(row["answer"])
    else:
        vocabulary = sorted({row["answer"], *vocabulary_of(table)})
        matrix, at = incidence(table, vocabulary), vocabulary.index(row["answer"])
    return len(table), float(matrix[:, at].mean()), item_intervals(table, matrix)[at]


def combined(where: str, name: str, row: Row, strata: list[tuple[int, float, Ends]], weights: list[float]) -> Checks:
    value = sum(w * share for w, (_, share, _) in zip(weights, strata, strict=True))
    yield from row_checks(where, row, **{name: value})
    ends: Ends = None
    if all(ci for _, _, ci in strata):
        off = [
            sorted((w * (ci[0] - share), w * (ci[1] - share)))
            for w, (_, share, ci) in zip(weights, strata, strict=True)
        ]
        ends = (value - math.hypot(*(low for low, _ in off)), value + math.hypot(*(high for _, high in off)))
    yield from interval_checks(where, f"interval of {name}", row[f"ci_{name}"], ends)
