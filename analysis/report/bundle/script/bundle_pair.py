"""Checks of the pair for recompute.py: shares, differences, and intervals over all that is tested."""

import math
from collections import Counter
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
from bundle_checks import Check, Checks, interval_checks, row_checks
from bundle_data import LETTERS, Bundle, Row, by_unit, incidence, place, vocabulary_of

ITEMS, OPTIONS, VARIETY = "items of the pair", "options of the pair", "variety of the pair"
# Each kind's part of the 4 in 100 that chance may have anywhere on the page, shared among the kinds there are.
LEVEL, WEIGHTS = 0.04, {ITEMS: 0.7, OPTIONS: 0.2, VARIETY: 0.1}
NODES = 2.0 + 0.25 * np.arange(25)  # strengths, from 2 to 8
FEWEST = 20  # units of a side below which nothing is tested
RARE = 0.02  # share of all units of both sides below which an item is not tested
# How far the width goes from a share's own standard error to that of a half.
PART_WAY = {ITEMS: 0.75, OPTIONS: 0.0}
OF_FIELD = ("excluded", "flagged", "people")
ASKED_AGAIN = ("arm", "occasion")


class Gaps:
    """All items, or all options, of one prompt: counts, shares, differences, and how large chance makes these."""

    def __init__(self, kind: str, names: list[str], tables: list[pd.DataFrame], named: list[np.ndarray]) -> None:
        self.names, self.kind = names, kind
        self.n = [len(table) for table in tables]
        self.units = [table["respondent"].nunique() for table in tables]
        self.counts = [matrix.sum(axis=0) for matrix in named]
        if kind == ITEMS:  # the mean of a unit's answers
            sizes = [by_unit(table, np.ones((len(table), 1))) for table in tables]
            pairs = zip(tables, named, sizes, strict=True)
            self.shares = [(by_unit(table, matrix) / size).mean(axis=0) for table, matrix, size in pairs]
        else:
            self.shares = [count / max(1, n) for count, n in zip(self.counts, self.n, strict=True)]
        a, b = self.units
        self.both = np.rint(self.shares[0] * a + self.shares[1] * b).astype(int)
        least = max(1.0, RARE * (a + b)) if kind == ITEMS else 1
        self.tested = self.both >= least
        self.able = self.tested & (self.both < a + b)  # an item that all name differs in no split
        self.difference = self.shares[0] - self.shares[1]
        self.width = self.width_of((self.shares[0] * a + self.shares[1] * b) / (a + b))

    def width_of(self, share: Any) -> Any:
        p, (a, b), level = np.clip(share, 0.0, 1.0), self.units, PART_WAY[self.kind]
        return ((1 - level) * np.sqrt(p * (1 - p)) + level / 2) * math.sqrt(1 / a + 1 / b)

    def tail(self) -> np.ndarray:
        """The expected number of differences as strong as each of NODES if all units are split at random."""
        (a, b), found = self.units, np.zeros(len(NODES))
        for k, times in Counter(self.both[self.able].tolist()).items():
            gaps, chance = splits_of(k, a, b)
            strength = gaps / self.width_of(k / (a + b))
            found += times * np.array([chance[strength >= node - 1e-9].sum() for node in NODES])
        return found


def splits_of(k: int, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """The possible differences between the shares of `k` hits in two sides of these sizes, and the chance of each."""
    x = np.arange(max(0, k - b), min(k, a) + 1)
    chance = np.exp([ways(k, i) + ways(a + b - k, a - i) - ways(a + b, a) for i in x.tolist()])
    return np.abs(x / a - (k - x) / b), chance


def ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def side_rows(bundle: Bundle, side: Row, prompt: str) -> pd.DataFrame:
    """The answers of a side: of runs by their numbers, of people by the filters in the side's text."""
    if side["runs"]:
        return bundle.calls(side["runs"], prompt)
    _, *parts = side["side"].split("/")
    chatbot = next((part for part in parts if "=" not in part), "all")
    pairs = [part.split("=", 1) for part in parts if "=" in part]
    given = {name: unquote(value) for name, value in pairs}
    kept = {name: value for name, value in given.items() if name in OF_FIELD}
    answers = bundle.answers
    if given.keys() & {*ASKED_AGAIN}:
        answers, occasion = bundle.askings, int(given.get("occasion", 1))
        asked = (answers["arm"] == given.get("arm", "")) & (answers["occasion"] == occasion)
        answers = answers[asked & ~answers["unreached"]]
    table = bundle.counted(answers, chatbot, prompt, **kept)
    for name in {name for name, _ in pairs} - {*OF_FIELD, *ASKED_AGAIN}:
        wanted = [unquote(value) for known, value in pairs if known == name]
        table = table[table[name].astype(str).isin(wanted)]
    return table


def gaps_of(bundle: Bundle, pair: Row, prompt: str) -> Gaps:
    tables = [side_rows(bundle, pair[key], prompt) for key in "ab"]
    if bundle.prompts[prompt]["kind"] == "choice":
        letters = list(LETTERS[: int(bundle.prompts[prompt]["options"])])
        given = [np.array([[letter == said for letter in letters] for said in one["letter"]], float) for one in tables]
        return Gaps(OPTIONS, letters, tables, given)
    vocabulary = vocabulary_of(*tables)
    return Gaps(ITEMS, vocabulary, tables, [incidence(table, vocabulary) for table in tables])


def check_pair(bundle: Bundle) -> Checks:
    pair = bundle.report.get("pair") or {}
    rows = {ITEMS: pair.get("items") or [], OPTIONS: pair.get("options") or []}
    # Prompts with nothing frequent enough to test add nothing to the differences expected by chance.
    prompts = {kind: list(dict.fromkeys(row["prompt"] for row in found)) for kind, found in rows.items()}
    gaps = {prompt: gaps_of(bundle, pair, prompt) for found in prompts.values() for prompt in found}
    there = [kind for kind in prompts if (pair.get("tails") or {}).get(kind)] + [VARIETY] * any(
        row["n"] >= FEWEST for row in pair.get("varied") or []
    )
    for kind, found in prompts.items():
        share = LEVEL * WEIGHTS[kind] / sum(WEIGHTS[each] for each in there) if there else LEVEL
        expected = sum((gaps[prompt].tail() for prompt in found), np.zeros(len(NODES)))
        strict = float(np.interp(-math.log(share), -np.log(np.maximum(expected, 1e-300)), NODES))
        for prompt in found:
            of_prompt = [row for row in rows[kind] if row["prompt"] == prompt]
            number = len(gaps[prompt].names) if kind == OPTIONS else int(gaps[prompt].tested.sum())
            yield Check(prompt, "tested", len(of_prompt), number)
            for row in of_prompt:
                yield from gap_checks(row, gaps[prompt], strict)


def gap_checks(row: Row, gaps: Gaps, strict: float) -> Checks:
    where = place(row, "prompt", "item")
    at = gaps.names.index(row["item"]) if row["item"] in gaps.names else None
    for number, key in enumerate("ab"):
        count, share = (None, None) if at is None else (gaps.counts[number][at], gaps.shares[number][at])
        n, units = gaps.n[number], gaps.units[number]
        yield from row_checks(f"{where} of {key}", row[key], n=n, units=units, count=count, share=share)
    if at is None:
        return
    gap, half = float(gaps.difference[at]), strict * float(gaps.width[at])
    yield from row_checks(where, row, difference=gap)
    if row["ci"]:
        found = max(-1.0, gap - half), min(1.0, gap + half)
        yield from interval_checks(where, "simultaneous interval", row["ci"], found)
