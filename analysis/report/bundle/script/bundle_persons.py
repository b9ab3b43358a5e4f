"""Checks for recompute.py of people asked more than once: how unlike their answers are, and what changes."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from bundle_checks import Check, Checks, interval_checks, known, row_checks
from bundle_data import Bundle, Row, ends_of, incidence, place, vocabulary_of

Values = dict[str, float]  # by person


class PersonNumber:
    """A value, its value without each person, and how many persons it rests on."""

    def __init__(self, value: float, without: Values, units: int) -> None:
        self.value, self.without, self.units = value, without, units

    @property
    def error(self) -> float:
        off = np.array([left - self.value for left in self.without.values()])
        return math.sqrt((self.units - 1) / self.units * float((off**2).sum())) if self.units else math.nan

    def left(self, person: str) -> float:
        return self.without.get(person, self.value)


def readable(table: pd.DataFrame, is_choice: bool) -> pd.DataFrame:
    kept = table["letter"] != "" if is_choice else table["named"].map(bool)
    return table[kept].reset_index(drop=True)


def unlike(table: pd.DataFrame, is_choice: bool) -> np.ndarray:
    """The unlikeness of every two answers, as a matrix."""
    if is_choice:
        letters = table["letter"].to_numpy()
        return (letters[:, None] != letters).astype(float)
    named = incidence(table, vocabulary_of(table))
    long = named.sum(axis=1)
    return 1 - named @ named.T / np.maximum(long[:, None], long)


def within_and_between(table: pd.DataFrame, is_choice: bool) -> tuple[PersonNumber, PersonNumber]:
    """Mean unlikeness over pairs of one person's answers, and over pairs of persons."""
    whose, far = table["respondent"].to_numpy(), unlike(table, is_choice)
    people = pd.unique(whose)
    inside: Values = {}
    for person in people:
        mine = far[np.ix_(whose == person, whose == person)]
        if len(mine) > 1:
            inside[person] = float(mine[np.triu_indices(len(mine), 1)].mean())
    averaged = (
        pd.DataFrame(far).groupby(whose, sort=False).mean().T.groupby(whose, sort=False).mean().to_numpy(copy=True)
    )
    np.fill_diagonal(averaged, 0)
    k, sums = len(people), averaged.sum(axis=1)
    total = sums.sum()
    others = {
        person: (total - 2 * row) / ((k - 1) * (k - 2)) if k > 2 else math.nan
        for person, row in zip(people, sums, strict=True)
    }
    return mean_of(inside), PersonNumber(total / (k * (k - 1)) if k > 1 else math.nan, others, k)


def mean_of(values: Values) -> PersonNumber:
    n, total = len(values), sum(values.values())
    without = {who: (total - value) / (n - 1) if n > 1 else math.nan for who, value in values.items()}
    return PersonNumber(total / n if n else math.nan, without, n)


def mean_over(numbers: list[PersonNumber]) -> PersonNumber:
    people = list(dict.fromkeys(person for number in numbers for person in number.without))
    without = {person: float(np.mean([number.left(person) for number in numbers])) for person in people}
    units = len({person for number in numbers for person in number.without})
    return PersonNumber(float(np.mean([number.value for number in numbers])), without, units)


def combine(one: PersonNumber, other: PersonNumber, how: Any) -> PersonNumber:
    """Combine two numbers of the same persons by `how`."""
    people = dict.fromkeys([*one.without, *other.without])
    without = {person: how(one.left(person), other.left(person)) for person in people}
    return PersonNumber(how(one.value, other.value), without, min(one.units, other.units))


def number_checks(where: str, row: Row, name: str, number: PersonNumber, least: float, most: float) -> Checks:
    yield Check(where, name, row[name], known(number.value))
    if row[name] is not None:
        found = ends_of(number.value, number.error, number.units - 1, number.units, least, most)
        yield from interval_checks(where, f"interval of {name}", row[f"ci_{name}"], found)


def usual(bundle: Bundle, row: Row, prompt: str) -> pd.DataFrame:
    """All answers in the usual state, each person's in the order of their occasions."""
    first = bundle.rows(row, prompt)
    return pd.concat([first, bundle.again(row["model"], prompt)]) if row["source"] == "field" else first


def is_choice(bundle: Bundle, prompt: str) -> bool:
    return bool(next(one["kind"] == "choice" for one in bundle.report["prompts"] if one["slug"] == prompt))


def check_persons(bundle: Bundle) -> Checks:
    rows = bundle.report["person_or_dice"]
    for row in rows:
        where = place(row, "prompt", "source", "model")
        same = [one for one in rows if (one["source"], one["model"]) == (row["source"], row["model"]) and one["prompt"]]
        asked_twice = [one["prompt"] for one in same if one["repeated"]]
        prompts = [row["prompt"]] if row["prompt"] else asked_twice or [one["prompt"] for one in same]
        tables = [readable(usual(bundle, row, prompt), is_choice(bundle, prompt)) for prompt in prompts]
        sides = [within_and_between(table, is_choice(bundle, p)) for table, p in zip(tables, prompts, strict=True)]
        within, between = (mean_over([side[at] for side in sides]) for at in (0, 1))
        yield from row_checks(where, row, n=sum(map(len, tables)), units=between.units, repeated=within.units)
        yield from number_checks(where, row, "between", between, 0, 1)
        yield from number_checks(where, row, "within", within, 0, 1)
        if within.units:
            yield from number_checks(where, row, "person", combine(between, within, lambda a, b: a - b), -1, 1)
            share = combine(within, between, lambda a, b: 1 - a / b if b else math.nan)
            yield from number_checks(where, row, "share", share, -math.inf, 1)
        if row.get("offline") is not None:
            yield from offline_checks(bundle, where, row, prompts, within, between)


def offline_checks(
    bundle: Bundle, where: str, row: Row, prompts: list[str], within: PersonNumber, between: PersonNumber
) -> Checks:
    models = [source for source in bundle.report["sources"] if source["source"] == "offline" and source["main"]]
    source = next(one for one in models if one["chatbot"] == row["chatbot"])
    head = {"source": "offline", "model": source["model"]}
    calls = [readable(bundle.rows(head, prompt), is_choice(bundle, prompt)) for prompt in prompts]
    for table in calls:
        table["respondent"] = [f"{run} {repeat}" for run, repeat in zip(table["run"], table["repeat"], strict=True)]
    pairs = zip(calls, prompts, strict=True)
    api = mean_over([within_and_between(table, is_choice(bundle, prompt))[1] for table, prompt in pairs])
    yield from number_checks(where, row, "offline", api, 0, 1)
    for name, side in (("dice", within), ("added", between)):
        if row[name] is None:
            continue
        value, both = side.value - api.value, (side, api)
        yield from row_checks(where, row, **{name: value})
        found = welch(value, [part.error**2 for part in both], [part.units for part in both], -1, 1)
        yield from interval_checks(where, f"interval of {name}", row[f"ci_{name}"], found)


def welch(value: float, squares: list[float], units: list[int], least: float, most: float) -> Any:
    """An interval by Welch: the sides' squared errors add up."""
    parts = np.array(squares)
    freedom = float(parts.sum() ** 2 / (parts**2 / (np.array(units) - 1)).sum())
    return ends_of(value, math.sqrt(parts.sum()), freedom, min(units), least, most)


# --- states of the account -----------------------------------------------------


def check_arms(bundle: Bundle) -> Checks:
    rows = bundle.report["arms"]
    for row in rows:
        where = place(row, "prompt", "arm", "model")
        same = [one for one in rows if (one["arm"], one["model"]) == (row["arm"], row["model"]) and one["prompt"]]
        prompts = [row["prompt"]] if row["prompt"] else [one["prompt"] for one in same]
        states = [State(bundle, row, prompt) for prompt in prompts]
        far = mean_over([number for state in states if (number := mean_of(state.distances())).units])
        yield from number_checks(where, row, "distance", far, 0, 1)
        beyond = [number for state in states if (number := mean_of(state.beyond_dice())).units]
        if beyond:
            yield from number_checks(where, row, "effect", mean_over(beyond), -1, 1)
        for name, change in row["changes"].items():
            found = [number for state in states if (number := mean_of(state.changes(name))).units]
            yield Check(where, name, change["effect"], mean_over(found).value if found else None)


class State:
    """A prompt's answers in another state, and at most two of each person in the usual one."""

    def __init__(self, bundle: Bundle, row: Row, prompt: str) -> None:
        self.is_choice = is_choice(bundle, prompt)
        self.key = bundle.prompts[prompt]["correct"] if self.is_choice else ""
        self.every = [usual(bundle, row, prompt), bundle.again(row["model"], prompt, row["arm"])]
        counts = Counter(item for named in self.every[0]["named"] for item in named)
        self.frequent = set(sorted(counts, key=lambda item: (-counts[item], item))[:5])

    def answers(self, read: bool) -> dict[str, list[pd.Series]]:
        """Each person's answers: the one in the other state, then the usual ones."""
        tables = [readable(table, self.is_choice) if read else table for table in self.every]
        found = {row["respondent"]: [row] for _, row in tables[1].iterrows()}
        for _, row in tables[0].iterrows():
            if row["respondent"] in found:
                found[row["respondent"]].append(row)
        return {who: rows[:3] for who, rows in found.items() if len(rows) > 1}

    def far(self, one: pd.Series, other: pd.Series) -> float:
        if self.is_choice:
            return float(one["letter"] != other["letter"])
        a, b = set(one["named"]), set(other["named"])
        return 1 - len(a & b) / max(len(a), len(b))

    def distances(self) -> Values:
        found = self.answers(True)
        return {who: float(np.mean([self.far(rows[0], row) for row in rows[1:]])) for who, rows in found.items()}

    def beyond_dice(self) -> Values:
        found, far = self.answers(True), self.distances()
        return {who: far[who] - self.far(rows[1], rows[2]) for who, rows in found.items() if len(rows) > 2}

    def changes(self, name: str) -> Values:
        found: Values = {}
        for who, rows in self.answers(False).items():
            values = [self.value(name, row) for row in rows]
            usual = [value for value in values[1:] if not math.isnan(value)]
            if usual and not math.isnan(values[0]) and not math.isnan(values[1]):
                found[who] = values[0] - float(np.mean(usual))
        return found

    def value(self, name: str, row: pd.Series) -> float:
        named = row["named"]
        if name == "rating":
            return float(row["rating"])
        if name == "unknown_share":
            return float(row["letter"] == "" if self.is_choice else not named)
        if self.is_choice:
            return float(row["letter"] == self.key) if name == "correct_share" and self.key else math.nan
        if not named:
            return math.nan
        if name == "items":
            return float(len(named))
        return len(self.frequent & set(named)) / len(named) if name == "top5_share" else math.nan
