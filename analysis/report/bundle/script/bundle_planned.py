"""Checks for recompute.py of planned hypotheses: differences, intervals and p of shares, and Holm's steps; and of their
multiverse's summaries.
"""

import math

import numpy as np
import pandas as pd
from bundle_checks import Check, Checks, Ends, interval_checks, known, row_checks
from bundle_data import Bundle, Row, incidence, item_intervals, place, vocabulary_of
from bundle_pair import side_rows, splits_of

SHARES = ("item_share", "letter_share", "correct_share")
CLOSE = 1e-9


def check_planned(bundle: Bundle) -> Checks:
    """Check hypotheses; no shares at a look before the end, or if people came later: tables do not say who counts."""
    planned = bundle.report.get("as_planned") or {}
    rows = planned.get("hypotheses") or []
    for family in dict.fromkeys(row["family"] for row in rows):
        yield from holm_checks([row for row in rows if row["family"] == family])
    plan = planned.get("plan") or {}
    if planned and (plan["next"] is None or plan["look"] is None) and not plan["came_later"]:
        for row in rows:
            if row["measure"] in SHARES and row["value"] is not None:
                yield from share_checks_of(bundle, row)


def holm_checks(rows: list[Row]) -> Checks:
    """Check p corrected over all rows, those without a p included."""
    known, highest = sorted((row for row in rows if row["p"] is not None), key=lambda row: row["p"]), 0.0
    for step, row in enumerate(known):
        highest = max(highest, min(1.0, row["p"] * (len(rows) - step)))
        yield Check(place(row, "hypothesis"), "p by Holm", row["p_holm"], highest)


def share_checks_of(bundle: Bundle, row: Row) -> Checks:
    where = ", ".join([row["hypothesis"], *row["prompts"]])
    gaps, several = [], len(row["prompts"]) > 1
    for prompt in row["prompts"]:
        tables = [side_rows(bundle, row[side], prompt) for side in "ab"]
        if not all(map(len, tables)):
            continue
        found = [hits_of(bundle, row, prompt, table) for table in tables]
        hits = [each for each in found if each is not None]
        if len(hits) < len(found):
            return  # the item is named as written, which the tables may not hold
        shares = [float(each.mean()) for each in hits]
        gaps.append(shares[0] - shares[1])
        if not several and row["expected"] != "equal":
            ends = [item_intervals(table, each[:, None])[0] for table, each in zip(tables, hits, strict=True)]
            yield from interval_checks(where, "interval", row["ci"], newcombe(shares, ends))
            if all(table["respondent"].is_unique for table in tables):
                yield Check(where, "p", row["p"], split_p(hits[0], hits[1]))
    yield Check(where, "difference", row["value"], float(np.mean(gaps)))


def hits_of(bundle: Bundle, row: Row, prompt: str, table: pd.DataFrame) -> np.ndarray | None:
    """Which answers (1 or 0) name the item or take the letter; None if no answer of the table names the item."""
    if row["measure"] == "item_share":
        wanted = [item for item in vocabulary_of(table) if item.casefold() == row["of"].casefold()]
        return incidence(table, wanted)[:, 0] if wanted else None
    right = (one["correct"] for one in bundle.report["choices"] if one["prompt"] == prompt)
    letter = row["of"] or next(right)
    return (table["letter"] == letter).to_numpy(float)


def newcombe(shares: list[float], ends: list[Ends]) -> Ends:
    """The interval of a difference of two shares, from the interval of each (Newcombe 1998)."""
    if ends[0] is None or ends[1] is None:
        return None
    (low, high), (other_low, other_high), gap = ends[0], ends[1], shares[0] - shares[1]
    below = math.hypot(shares[0] - low, other_high - shares[1])
    above = math.hypot(high - shares[0], shares[1] - other_low)
    return max(gap - below, -1.0), min(gap + above, 1.0)


def split_p(one: np.ndarray, other: np.ndarray) -> float:
    """The share of all splits of the answers into the two sizes that differ at least as much."""
    gaps, chance = splits_of(int(one.sum() + other.sum()), len(one), len(other))
    return float(min(1.0, chance[gaps >= abs(one.mean() - other.mean()) - CLOSE].sum()))


def check_multiverse(bundle: Bundle) -> Checks:
    """Check curves against the universes' rows, and the planned universe against its hypothesis in the report."""
    curves = bundle.report.get("multiverse", {}).get("curves", [])
    table = bundle.read("multiverse") if curves else pd.DataFrame()
    for curve in curves:
        asked = ",".join(curve["prompts"])
        rows = table[(table["hypothesis"] == curve["hypothesis"]) & (table["prompts"] == asked)]
        numbers = rows.assign(**rows[["universe", "value", "low", "high", "p"]].apply(pd.to_numeric))
        where, there = f"{curve['hypothesis']}, {asked}", numbers.dropna(subset="value")
        (planned,) = numbers[numbers["universe"] == 1].to_dict("records")
        yield from curve_checks(where, curve, there, np.sign(planned["value"]))
        yield Check(where, "computed", curve["computed"], len(rows))
        for row in bundle.report["as_planned"]["hypotheses"]:
            if (row["hypothesis"], row["prompts"]) == (curve["hypothesis"], curve["prompts"]):
                low, high = row["ci"] or (None, None)
                for name, said in (("value", row["value"]), ("low", low), ("high", high), ("p", row["p"])):
                    yield Check(where, f"{name} as planned", said, known(planned[name]))


def curve_checks(where: str, curve: Row, there: pd.DataFrame, way: float) -> Checks:
    values, tested = there["value"], there["p"].dropna()
    same_sign = known((values * way > 0).mean()) if abs(way) == 1 else None
    significant = known((tested <= curve["alpha"]).mean())
    yield from row_checks(where, curve, n=len(values), tested=len(tested), same_sign=same_sign, significant=significant)
    for name in ("same_sign", "significant"):
        column = there.loc[there[name] != "", name]
        yield Check(where, f"{name} by its column", curve[name], known((column == "true").mean()))
    least, median, most = map(known, (values.min(), values.median(), values.max()))
    yield from row_checks(where, curve, least=least, median=median, most=most)
