"""Recomputes the numbers of this bundle's figures from its data alone and compares them with report.json.

    python recompute.py [FOLDER]

Needs only Python 3.11 with numpy and pandas. Exits with 1 if a number or a file differs. Values are compared to six
digits; random ones (rarefied measures, intervals of distances) are drawn anew and may differ as draws do. Not
recomputed are p values other than those of planned shares, `precision`, and the intervals of differences and rarefied
measures, which come from the platform alone.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from bundle_beyond import check_mixes, distance_bounds, missing_from, population_checks, share_checks
from bundle_blend import check_blend
from bundle_checks import OF_WIDTH, Check, Checks, compare, interval_checks, known, row_checks
from bundle_data import (
    DRAWS,
    MEASURES,
    SETTINGS,
    Bundle,
    Row,
    by_unit,
    distance,
    divergence,
    drawn_interval,
    error_interval,
    incidence,
    item_intervals,
    letter_counts,
    measure,
    novel_share,
    novel_split,
    place,
    redraw,
    run_letters,
    setting_key,
    spread,
    spread_of_letters,
    vocabulary_of,
)
from bundle_pair import check_pair
from bundle_persons import check_arms, check_persons
from bundle_planned import check_multiverse, check_planned
from bundle_set import check_field_benchmark

SPLITS = 100  # of offline runs into a reference and those held out

# --- figures -----------------------------------------------------------------


def check_heterogeneity(bundle: Bundle) -> Checks:
    for row in bundle.report["heterogeneity"]:
        table, where = bundle.rows(row, row["prompt"]), place(row, "prompt", "source", "model")
        vocabulary = vocabulary_of(table)
        matrix = incidence(table, vocabulary)
        yield from item_measures(where, row, table, matrix)
        yield from row_checks(where, row, units=table["respondent"].nunique())
        yield from population_checks(where, row, table, matrix)
        missing = missing_from(bundle, row["model"], row["prompt"]) if row["source"] == "field" else 0
        yield from row_checks(where, row, missing=missing)
        if matrix.any():
            units = by_unit(table, matrix)
            for name in MEASURES:
                yield from interval_checks(where, f"interval of {name}", row["ci"][name], error_interval(name, units))
            if row["rarefied"]["n"] is not None:
                yield from rarefied(where, row["rarefied"], table, matrix, bundle.rng)
        counts = dict(zip(vocabulary, matrix.sum(axis=0), strict=True))
        ends = dict(zip(vocabulary, item_intervals(table, matrix), strict=True))
        for item in row["top_items"]:
            yield Check(where, f"count of {item['item']}", item["count"], counts.get(item["item"], 0))
            yield from interval_checks(where, f"interval of {item['item']}", item["ci"], ends.get(item["item"]))


def item_measures(where: str, row: Row, table: pd.DataFrame, matrix: np.ndarray) -> Checks:
    values = measure(matrix.sum(axis=0)) if matrix.any() else dict.fromkeys(MEASURES) | {"unique": 0.0}
    yield from row_checks(where, row, n=len(table), unknown=sum(not named for named in table["named"]))
    yield from row_checks(where, row, **{name: known(values[name]) for name in MEASURES})


def rarefied(where: str, row: Row, table: pd.DataFrame, matrix: np.ndarray, rng: np.random.Generator) -> Checks:
    """Check rarefied measures by draws of `n` units, one answer of each."""
    whose, size = pd.factorize(table["respondent"])[0], row["n"]
    chosen = []
    for _ in range(DRAWS // 4):
        shuffled = rng.permutation(len(matrix))
        one_each = shuffled[np.unique(whose[shuffled], return_index=True)[1]]
        chosen.append(matrix[rng.permutation(one_each)[:size]].sum(axis=0))
    for name, drawn in measure(np.array(chosen)).items():
        room = 6 * float(np.nanstd(drawn)) / math.sqrt(len(drawn))
        yield Check(where, f"rarefied {name}", row[name], known(np.nanmean(drawn)), room)


def check_items(bundle: Bundle) -> Checks:
    for key, rows in grouped(bundle.report["items"], "prompt", "source", "model"):
        table = bundle.rows(rows[0], key[0])
        counts = Counter(item for named in table["named"] for item in named)
        for row in rows:
            where, count = place(row, "prompt", "source", "model", "item"), counts[row["item"]]
            yield from row_checks(where, row, count=count, share=count / len(table) if len(table) else None)


def check_choices(bundle: Bundle) -> Checks:
    for row in bundle.report["choices"]:
        table, where = bundle.rows(row, row["prompt"]), place(row, "prompt", "source", "model")
        counts = letter_counts(bundle, table, row["prompt"])
        for letter, count in counts.items():
            yield Check(where, f"count of {letter}", row["counts"][letter], count)
        yield from letter_measures(where, row, counts)
        yield from share_checks(bundle, where, row, counts.get(row["correct"], 0), row["n"])
        if row["n"] and row["correct_share"] is not None:
            yield from row_checks(where, row, units=table["respondent"].nunique())
            letters = [*counts][:-1]
            given = np.array([[letter == other for other in letters] for letter in table["letter"]], dtype=float)
            shares = np.column_stack([given, given.sum(axis=1) == 0])
            ends = item_intervals(table, shares)[letters.index(row["correct"])]
            yield from interval_checks(where, "interval of correct_share", row["ci"], ends)


def letter_measures(where: str, row: Row, counts: dict[str, int]) -> Checks:
    n, correct = sum(counts.values()), row.get("correct")
    if correct:
        yield from row_checks(where, row, correct_share=counts[correct] / n if n else None)
    named = np.array([count for letter, count in counts.items() if letter != "unknown"])
    entropy = known(measure(named)["entropy_bits"]) if named.sum() else None
    yield from row_checks(where, row, n=n, entropy_bits=entropy)


def check_distances(bundle: Bundle) -> Checks:
    for row in bundle.report["distances"]:
        where = place(row, "prompt", "source", "model")
        field = bundle.field(row["chatbot"] or "all", row["prompt"])
        yield from distance_checks(bundle, where, row, field, bundle.rows(row, row["prompt"]))


def distance_checks(bundle: Bundle, where: str, row: Row, one: pd.DataFrame, other: pd.DataFrame) -> Checks:
    vocabulary = vocabulary_of(one, other)
    a, b = incidence(one, vocabulary), incidence(other, vocabulary)
    if not (a.any() and b.any()):
        yield from row_checks(where, row, jsd_bits=None)
        return
    jsd, tv = distance(a.sum(axis=0), b.sum(axis=0))
    yield from row_checks(where, row, jsd_bits=float(jsd), tv=float(tv))
    units = by_unit(one, a), by_unit(other, b)
    drawn = distance(*(redraw(part, bundle.rng) for part in units))
    smaller = min(map(len, units))
    for name, value, draws in (("jsd_bits", jsd, drawn[0]), ("tv", tv, drawn[1])):
        found, reported = drawn_interval(draws, float(value), smaller), row["ci" if name == "jsd_bits" else "ci_tv"]
        yield from interval_checks(where, f"interval of {name}", reported, found, OF_WIDTH)


def check_calibration(bundle: Bundle) -> Checks:
    for row in bundle.report["calibration"]:
        where, found = place(row, "source", "model", "history_size", "memory_size", "corpus", "personas"), []
        for part in row["by_prompt"]:
            field = bundle.field(row["chatbot"] or "all", part["prompt"])
            other = bundle.rows(row, part["prompt"])
            found.append(divergence(field, other))
            yield from row_checks(f"{where}, {part['prompt']}", part, jsd_bits=found[-1])
        yield from bound_checks(bundle, where, row)
        there = [value for value in found if value is not None]
        yield Check(where, "mean jsd_bits", row["jsd_bits"], float(np.mean(there)) if there else None)


def bound_checks(bundle: Bundle, where: str, row: Row) -> Checks:
    """Check how many people have no answer, and the bounds of the mean distance whatever they had answered."""
    model, prompts = row["chatbot"] or "all", [part["prompt"] for part in row["by_prompt"]]
    missing = [missing_from(bundle, model, prompt) for prompt in prompts]
    for said, count in zip(row["missing"] or [], (min(missing, default=0), max(missing, default=0)), strict=False):
        yield Check(where, "missing", said, count)
    if row["bounds"]:
        pairs = [(bundle.field(model, prompt), bundle.rows(row, prompt), prompt) for prompt in prompts]
        ends = [distance_bounds(bundle, *pair[:2], m, pair[2]) for pair, m in zip(pairs, missing, strict=True)]
        for side, said, found in zip(("least", "largest"), row["bounds"], np.mean(ends, axis=0), strict=True):
            yield Check(where, f"{side} with missing answers", said, float(found))


def check_parts(part: str, name: str, column_of: Callable[[Row], str]) -> Callable[[Bundle], Checks]:
    """Make a check of the field by groups: the people whose value in a column is the row's."""

    def check(bundle: Bundle) -> Checks:
        for row in bundle.report[part]:
            table = bundle.field(row["model"], row["prompt"])
            table = table[bundle.told(table, column_of(row)) == row[name]]
            where = place(row, "prompt", "model", "context", name)
            yield from field_measures(bundle, where, row, table)

    return check


def field_measures(bundle: Bundle, where: str, row: Row, table: pd.DataFrame) -> Checks:
    if row["kind"] == "choice":
        row = row | {"correct": bundle.prompts[row["prompt"]]["correct"]}
        yield from letter_measures(where, row, letter_counts(bundle, table, row["prompt"]))
    else:
        yield from item_measures(where, row, table, incidence(table, vocabulary_of(table)))


def check_readings(bundle: Bundle) -> Checks:
    """Check what people said about the readings of their answers, and what that changes."""
    shown = bundle.first_time(bundle.read("read_backs"))
    kinds = shown["prompt"].map(lambda prompt: bundle.prompts[prompt]["kind"])
    for row in bundle.report["readings"]:
        table = shown[shown["newest"] & (shown["prompt"] == row["prompt"] if row["prompt"] else kinds == row["kind"])]
        where, said = place(row, "prompt", "kind"), table[(table["verdict"] != "unsaid") & (table["no_answer"] == "")]
        was, now = said["read_letter"], said["letter"]
        yield from row_checks(
            where,
            row,
            said=len(said),
            right=(said["verdict"] == "right").sum(),
            unsaid=(table["verdict"] == "unsaid").sum(),
            read=said["names_read"].sum() + (was != "").sum(),
            taken_out=said["taken_out"].sum() + ((was != "") & (was != now)).sum(),
            added=said["added"].sum() + ((now != "") & (was != now)).sum(),
            absent=said["absent"].sum(),
        )
        if row["prompt"]:
            everybody = bundle.answers[bundle.answers["prompt"] == row["prompt"]]
            everybody = everybody[everybody["rules_version"].notna()]
            before = bundle.as_read(row["prompt"])
            pairs = ([*zip(table["named"], table["letter"], strict=True)] for table in (before, everybody))
            yield from row_checks(where, row, changed=sum(one != other for one, other in zip(*pairs, strict=True)))
            yield from reading_checks(f"{where}, before", row["before"], before)
            yield from reading_checks(f"{where}, after", row["after"], everybody)


def reading_checks(where: str, row: Row, table: pd.DataFrame) -> Checks:
    yield from row_checks(where, row, answers=len(table))
    for letter, count in row.get("letters", {}).items():
        yield Check(where, f"count of {letter or 'unknown'}", count, int((table["letter"] == letter).sum()))
    if "mentions" in row:
        counts = Counter(item for named in table["named"] for item in named)
        entropy = known(measure(np.array([*counts.values()]))["entropy_bits"]) if counts else None
        yield from row_checks(where, row, mentions=counts.total(), distinct=len(counts), entropy_bits=entropy)


SETS: dict[str, dict[str, str]] = {
    "as analysed": {},
    "with excluded": {"excluded": "with"},
    "without flagged": {"flagged": "without"},
    "with flagged": {"flagged": "with"},
    "everybody": {"people": "all", "excluded": "with", "flagged": "with"},
}


def check_sensitivity(bundle: Bundle) -> Checks:
    for row in bundle.report["sensitivity"]:
        of_set = SETS.get(row["set"], {"flagged": row["set"].removeprefix("without ")})
        table = bundle.field(row["model"], row["prompt"], **of_set)
        yield from field_measures(bundle, place(row, "prompt", "model", "set"), row, table)


def check_drift(bundle: Bundle) -> Checks:
    for row in bundle.report["drift"]:
        where = place(row, "prompt", "source", "model", "again")
        before, now = (bundle.calls([row[name]], row["prompt"]) for name in ("first", "again"))
        yield from row_checks(where, row, n=len(now))
        if row["kind"] != "choice":
            yield from row_checks(where, row, jsd_bits=divergence(before, now))
        elif correct := bundle.prompts[row["prompt"]]["correct"]:
            first, again = (float((table["letter"] == correct).mean()) for table in (before, now))
            yield from row_checks(where, row, correct_share_first=first, correct_share=again)


def check_variants(bundle: Bundle) -> Checks:
    for row in bundle.report["variants"]:
        where = place(row, "variant_prompt", "source", "model")
        before, after = (bundle.rows(row, row[name]) for name in ("prompt", "variant_prompt"))
        yield from row_checks(where, row, n=len(after))
        if row["kind"] != "choice":
            yield from row_checks(where, row, jsd_bits=divergence(before, after))
            continue
        keys = ["unit"] if row["source"] == "field" else ["unit", "user", "repeat"]
        both = before[[*keys, "letter"]].merge(after[[*keys, "letter"]], on=keys)
        yield from row_checks(where, row, pairs=len(both))
        for name, side, prompt in (("correct_share_original", "x", "prompt"), ("correct_share", "y", "variant_prompt")):
            right = both[f"letter_{side}"] == bundle.prompts[row[prompt]]["correct"]
            yield from row_checks(where, row, **{name: known(right.mean()) if len(both) else None})


# --- benchmarks, scores, costs -----------------------------------------------


def check_benchmarks(bundle: Bundle) -> Checks:
    scored = {(row["benchmark"], *setting_key(row)): run_letters(bundle, row) for row in bundle.report["benchmarks"]}
    for row in bundle.report["benchmarks"]:
        where = place(row, "benchmark", "source", "model", "temperature", "history_size")
        wide = scored[row["benchmark"], *setting_key(row)]
        key = np.array([bundle.keys[row["benchmark"], item] for item in wide.columns])
        accuracy = (wide.to_numpy() == key).mean(axis=1) if len(wide) else np.zeros(0)
        yield Check(where, "runs", len(row["runs"]), len(accuracy))
        reported = sorted(run["accuracy"] for run in row["runs"])
        for number, (said, found) in enumerate(zip(reported, sorted(accuracy), strict=False), 1):
            yield Check(where, f"accuracy of run {number} in order", said, float(found))
        unknown = float((wide == "").to_numpy().mean()) if len(wide) else None
        yield from row_checks(where, row, unknown=unknown, **spread(accuracy), **spread_of_letters(wide))
        if row["offline_mean"] is not None:
            yield from offline_checks(where, row, wide, offline_of(row, scored), bundle)


def offline_of(row: Row, scored: dict[tuple[Any, ...], pd.DataFrame]) -> pd.DataFrame:
    """The offline runs with the settings that the row names."""
    return scored[row["benchmark"], "offline", row["model"], *(row["offline"][name] for name in SETTINGS[2:])]


def offline_checks(where: str, row: Row, wide: pd.DataFrame, offline: pd.DataFrame, bundle: Bundle) -> Checks:
    shared = wide.columns.intersection(offline.columns)
    key = np.array([bundle.keys[row["benchmark"], item] for item in shared])
    yield from row_checks(where, row, offline_mean=float((offline[shared].to_numpy() == key).mean()))
    if row["novel_share"] is not None:
        yield from row_checks(where, row, novel_share=novel_share(wide, offline))
    if row["novel_excess"] is not None:
        drawn = np.array([novel_split(wide, offline, row["novel_runs"], bundle) for _ in range(SPLITS)])
        for name, shares in (("novel_chance", drawn[:, 0]), ("novel_excess", drawn[:, 1] - drawn[:, 0])):
            # The platform drew 500 splits.
            room = 6 * float(np.std(shares)) * math.sqrt(1 / SPLITS + 1 / 500)
            yield Check(where, name, row[name], float(np.mean(shares)), room)


def check_scores(bundle: Bundle) -> Checks:
    """Check rank correlations of reported values, which the checks of other figures cover."""
    pairs = list(pairs_of(bundle.report))
    for row in bundle.report["scores"]:
        if row["over"] not in ("prompts", "models", "prompts and models"):
            continue
        if row["measure"] not in (*MEASURES, "correct_share"):  # not one that this script knows
            continue
        mine = [p for p in pairs if p[:2] == (row["measure"], row["source"]) and row["model"] in (None, p[2])]
        values = [pair[4:] for pair in mine]
        if row["over"] == "models":
            values = [np.mean([p[4:] for p in mine if p[2] == model], axis=0) for model in {p[2] for p in mine}]
        where = place(row, "measure", "over", "source", "model")
        yield from row_checks(where, row, n=len(values))
        if row["spearman"] is not None:
            ranks = pd.DataFrame(values).rank()
            yield from row_checks(where, row, spearman=float(np.corrcoef(ranks[0], ranks[1])[0, 1]))


def pairs_of(report: Row) -> Iterator[tuple[Any, ...]]:
    for part, names in (("heterogeneity", MEASURES), ("choices", ("correct_share",))):
        field = {(row["prompt"], row["model"]): row for row in report[part] if row["source"] == "field"}
        for row in report[part]:
            theirs = field.get((row["prompt"], row["chatbot"] or "all"))
            if row["source"] == "field" or theirs is None:
                continue
            for name in names:
                one, other = row.get(name), theirs.get(name)
                if part == "heterogeneity":
                    test = row["against_field"][name]
                    one, other = test["other"], test["value"]
                if one is not None and other is not None:
                    yield name, row["source"], row["model"], row["prompt"], one, other


def check_costs(bundle: Bundle) -> Checks:
    for row in bundle.report["costs"]:
        where, calls = place(row, "source", "model", "benchmark"), calls_of(bundle, row)
        done = calls[calls["status"] == "done"]
        usd, failed = float(calls["usd"].sum()), len(calls) - len(done)
        yield from row_checks(where, row, completions=len(done), failed=failed, usd=usd)
        for name in ("prompt_tokens", "completion_tokens"):
            tokens = float(done[name].sum()) if done[name].notna().any() else None
            yield from row_checks(where, row, **{name: tokens})
        yield from wait_checks(where, row["latency_s"], done)


def check_latency(bundle: Bundle) -> Checks:
    for row in bundle.report["latency"]:
        calls = calls_of(bundle, row | {"benchmark": None})
        done = calls[(calls["prompt"] == row["prompt"]) & (calls["status"] == "done")]
        yield from wait_checks(place(row, "prompt", "source", "model"), row, done)


def calls_of(bundle: Bundle, row: Row) -> pd.DataFrame:
    runs = bundle.runs
    same = (runs["source"] == row["source"]) & (runs["model"] == row["model"])
    return bundle.completions[
        bundle.completions["run"].isin(runs[same & (runs["benchmark"] == (row["benchmark"] or ""))]["run"])
    ]


def wait_checks(where: str, row: Row, done: pd.DataFrame) -> Checks:
    seconds = done["latency_ms"].dropna().to_numpy(float) / 1000
    p50, p95 = map(float, np.percentile(seconds, [50, 95])) if len(seconds) else (None, None)
    yield from row_checks(where, row, p50=p50, p95=p95)


def check_flow(bundle: Bundle) -> Checks:
    table = bundle.read("flow")
    counts = table[~table["pilot"]].groupby("outcome")["people"].sum().to_dict()
    for outcome in set(counts) | {"completed"}:
        yield Check("people", outcome, bundle.report["flow"].get(outcome, 0), int(counts.get(outcome, 0)))


FIGURES: dict[str, Callable[[Bundle], Checks]] = {
    "heterogeneity": check_heterogeneity,
    "choices": check_choices,
    "items": check_items,
    "distances": check_distances,
    "calibration": check_calibration,
    "mixes": check_mixes,
    "blend": check_blend,
    "demographics": check_parts("cells", "cell", lambda row: "cell"),
    "contexts": check_parts("contexts", "value", lambda row: row["context"]),
    "sensitivity": check_sensitivity,
    "readings": check_readings,
    "drift": check_drift,
    "variants": check_variants,
    "benchmarks": check_benchmarks,
    "scores": check_scores,
    "costs": check_costs,
    "latency": check_latency,
    "flow": check_flow,
    "pair": check_pair,
    "person_or_dice": check_persons,
    "arms": check_arms,
    "field_benchmark": check_field_benchmark,
    "as_planned": check_planned,
    "multiverse": check_multiverse,
}


def grouped(rows: list[Row], *names: str) -> list[tuple[tuple[Any, ...], list[Row]]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return list(found.items())


def unknown_measures(bundle: Bundle) -> list[str]:
    return sorted({name for row in bundle.report["heterogeneity"] for name in row["ci"]} - {*MEASURES})


def main() -> int:
    return compare(Bundle, FIGURES, unknown_measures)


if __name__ == "__main__":
    sys.exit(main())
