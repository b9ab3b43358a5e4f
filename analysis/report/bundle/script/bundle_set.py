"""Checks for recompute.py of the set: benchmark questions of which each person was asked some."""

import math
from typing import Any

import numpy as np
import pandas as pd
from bundle_checks import Check, Checks, Ends, interval_checks, known, row_checks, t_quantile
from bundle_data import FEWEST_UNITS, Bundle, Row, Z, ends_of, place, run_letters, setting_key, wilson_interval

Side = Any  # a table with a row an answer: item, unit, right (1 or 0), letter
Numbers = tuple[float, float, int] | None  # value, standard error, units


def check_field_benchmark(bundle: Bundle) -> Checks:
    rows = bundle.report["field_benchmark"]
    if not rows:
        return
    questions = bundle.read("questions")
    keys, size = questions.set_index("item")["correct"].to_dict(), len(questions)
    fields = {row["chatbot"]: people_on(bundle, row, questions, keys) for row in rows if row["source"] == "field"}
    runs = {(row["model"], setting_key(row)): calls_on(bundle, row, keys) for row in rows if row["source"] != "field"}
    for row in rows:
        where = place(row, "benchmark", "source", "model", "settings")
        is_field = row["source"] == "field"
        side = fields[row["chatbot"]] if is_field else runs[row["model"], setting_key(row)]
        yield from side_checks(where, row, side, size)
        field = fields.get(row["chatbot"])
        if row["against_field"] and field is not None:
            yield from difference_checks(where, row["against_field"], field, side, size)
        for order in row["orders"]:
            other = next(found for (model, key), found in runs.items() if is_other(row, order, model, key))
            yield from order_checks(where, order, [side, other, field, fields.get(order["other_chatbot"])], size)


def is_other(row: Row, order: Row, model: str, key: Any) -> bool:
    return model == order["other_model"] and key == setting_key(row | {"model": model})


# --- whose answers -----------------------------------------------------------


def people_on(bundle: Bundle, row: Row, questions: pd.DataFrame, keys: dict[str, str]) -> Side:
    table = bundle.read("question_answers")
    item = table["prompt"].map(questions.set_index("prompt")["item"])
    table = table.assign(item=item, unit=table["participant"])
    counted = [bundle.counted(table, row["model"], prompt) for prompt in questions["prompt"]]
    return scored(pd.concat(counted), keys)


def calls_on(bundle: Bundle, row: Row, keys: dict[str, str]) -> Side:
    """The answers of complete runs; all runs of one simulated user are one unit."""
    wide = run_letters(bundle, row)
    calls = bundle.completions.assign(user=bundle.completions["user"].fillna(-1))
    whose = calls.groupby(["run", "user", "repeat"])["respondent"].first()
    named = [str(at) if whose[at].startswith("call ") else whose[at] for at in wide.index]
    long = wide.set_axis(pd.MultiIndex.from_arrays([named, range(len(wide))], names=["unit", "row"]))
    return scored(long.stack().rename("letter").reset_index().rename(columns={"level_2": "item"}), keys)


def scored(table: pd.DataFrame, keys: dict[str, str]) -> Side:
    found = table[table["item"].isin(keys)].reset_index(drop=True)
    right = found["letter"] == found["item"].map(keys)
    return found[["item", "unit", "letter"]].assign(right=right.astype(float))


# --- the numbers -------------------------------------------------------------


def side_checks(where: str, row: Row, side: Side, size: int) -> Checks:
    unknown, sizes = known((side["letter"] == "").mean()) if len(side) else None, side.nunique()
    yield from row_checks(where, row, n=len(side), questions=sizes["item"], units=sizes["unit"], unknown=unknown)
    value, error, units = numbers([(side, 1)], sorted(set(side["item"])), size) or (None, math.nan, 0)
    yield from row_checks(where, row, accuracy=value)
    ends = None if value is None or units < FEWEST_UNITS else wilson(value, error, units)
    yield from interval_checks(where, "interval of accuracy", row["ci"], ends)


def difference_checks(where: str, told: Row, one: Side, other: Side, size: int) -> Checks:
    shared = sorted(set(one["item"]) & set(other["item"]))
    yield Check(where, "questions of both", told["questions"], len(shared))
    yield from signed_checks(
        where, "field minus source", told["value"], told["ci"], [(one, 1), (other, -1)], shared, size
    )


def order_checks(where: str, order: Row, sides: list[Any], size: int) -> Checks:
    """Check the order of two models by their runs (the first two sides), and for people (the others)."""
    shared = sorted(set.intersection(*(set(side["item"]) for side in sides)))
    found = []
    for name, (one, other) in (("runs", sides[:2]), ("field", sides[2:])):
        pair = [(one, 1), (other, -1)]
        yield from signed_checks(where, name, order[name], order[f"ci_{name}"], pair, shared, size)
        found.append(numbers(pair, shared, size))
    known_pairs = [each for each in found if each and each[1] > 0]
    flips: float | None = None
    if len(known_pairs) == 2:
        first, second = (0.5 * math.erfc(-value / error / math.sqrt(2)) for value, error, _ in known_pairs)
        flips = first * (1 - second) + second * (1 - first)
    yield Check(where, "chance that the order flips", order["flips"], flips)


def signed_checks(
    where: str, name: str, value: Any, ci: Any, pair: list[tuple[Side, int]], shared: list[str], size: int
) -> Checks:
    found, error, units = numbers(pair, shared, size) or (None, math.nan, 0)
    yield Check(where, name, value, found)
    ends = None if found is None else ends_of(found, error, units - 1, units, -1.0, 1.0)
    yield from interval_checks(where, f"interval of {name}", ci, ends)


def numbers(sides: list[tuple[Side, int]], items: list[str], size: int) -> Numbers:
    """The mean of signed shares over questions, its error in two stages, and the units of the smaller side."""
    if not items:
        return None
    here = [(side[side["item"].isin(items)], sign) for side, sign in sides]
    shares = [sign * side.groupby("item")["right"].mean().reindex(items) for side, sign in here]
    values = sum(share.to_numpy() for share in shares)
    k, f = len(items), len(items) / size
    between = float(values.var(ddof=1)) / k if k > 1 else 0.0
    chance = [chance_of(side, k) for side, _ in here]
    alone, together = (sum(each[part] for each in chance) for part in (0, 1))
    variance = between if math.isnan(alone) else (1 - f) * between + f * alone
    units = min(side["unit"].nunique() for side, _ in here)
    error = math.sqrt(max(variance + together, variance / 2)) if units >= FEWEST_UNITS else math.nan
    return float(values.mean()), error, units


def chance_of(side: Side, k: int) -> tuple[float, float]:
    """The variance due to chance in the answers to k questions, and that due to the correlation of a unit's answers."""
    of = side.groupby("item")["right"].agg(["mean", "count"])
    several = of[of["count"] > 1]
    spread = of["mean"] * (1 - of["mean"]) * of["count"] / (of["count"] - 1).clip(lower=1)
    spread[of["count"] == 1] = spread[several.index].mean() if len(several) else math.nan
    least = 0.5 / (several["count"].sum() - len(several) + 1)
    alone = max((spread / of["count"]).sum(), least * (1 / of["count"]).sum()) / k**2 if len(several) else math.nan
    at = of.loc[side["item"]].reset_index(drop=True)
    others = (at["mean"] * at["count"] - side["right"].to_numpy()) / (at["count"] - 1).clip(lower=1)
    others[at["count"] == 1] = of["mean"].mean()
    off = (side["right"].to_numpy() - others) / at["count"] / k
    together = off.groupby(side["unit"].to_numpy()).sum().pow(2).sum() - off.pow(2).sum()
    return float(alone), float(together)


def wilson(share: float, error: float, units: int) -> Ends:
    """Wilson's interval at the number of independent answers with this error; one per unit if all or none are right."""
    spread, t2 = share * (1 - share), t_quantile(units - 1) ** 2
    n = units if spread < 1e-12 else max(spread / error**2, 1.0) if error > 0 else math.inf
    low, high = wilson_interval(share, n * Z * Z / t2)
    return float(np.clip(low, 0, share)), float(np.clip(high, share, 1))
