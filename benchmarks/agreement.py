"""Times all agreement numbers with their intervals, beside a plain scikit-learn and pandas version of some of them.

    python -m benchmarks.agreement [--items 4000] [--draws 1000] [--plain-draws 5] [--json]

The plain version computes the kappas of all pairs, their mean, and nominal alpha. Only a few of its draws are run; the
time for all of them is extrapolated from these. Needs requirements-dev.txt.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score

from analysis.stats.agreement.agreement import measure_agreement
from analysis.stats.agreement.coefficients import coefficient_statistic
from analysis.stats.agreement.estimates import bootstrap, group_units
from analysis.stats.agreement.labels import NOMINAL, Labels, Scale, count_votes
from analysis.stats.agreement.pairs import find_shared, group_pairs, pair_statistic

RATERS, OVERLAP, LABELS, MODELS, THRESHOLD = 30, 3, 3, 5, 20
SCALE = Scale(ordered=True, numbers=(1.0, 2.0, 3.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--plain-draws", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = compare(draw_labels(options.items), options.draws, options.plain_draws)
    print(json.dumps(found) if options.json else "\n".join(f"{name:22} {value}" for name, value in found.items()))


def draw_labels(items: int) -> Labels:
    """Label each item by three of thirty raters (five are models), who know the truth six times in ten, else guess."""
    rng = np.random.default_rng(1)
    raters = np.argsort(rng.random((items, RATERS)), axis=1)[:, :OVERLAP]
    truth = np.repeat(rng.integers(LABELS, size=items), OVERLAP)
    values = np.where(rng.random(items * OVERLAP) < 0.6, truth, rng.integers(LABELS, size=items * OVERLAP))
    rows = np.repeat(np.arange(items), OVERLAP).astype(np.int32)
    models = np.arange(RATERS) >= RATERS - MODELS
    return Labels(rows, raters.ravel().astype(np.int32), values.astype(np.int16), items, RATERS, LABELS, None, models)


def compare(labels: Labels, draws: int, plain_draws: int) -> dict[str, Any]:
    began = time.perf_counter()
    everything, agreement = clock(lambda: measure_agreement(labels, np.random.default_rng(0), SCALE, draws=draws))
    waited = time.perf_counter() - began
    same, kappa_and_alpha = clock(lambda: measure_few(labels, draws))
    frame = pd.DataFrame({"item": labels.items, "rater": labels.raters, "value": labels.values})
    once, plain = clock(lambda: measure_plainly(frame))
    repeated, _ = clock(lambda: bootstrap_plainly(frame, plain_draws))
    assert np.allclose(kappa_and_alpha, plain), "the two versions disagree"
    return {
        "labels": len(labels.values),
        "pairs": len(agreement.pairs),
        "draws": draws,
        "everything_wall_s": round(waited, 3),
        "everything_cpu_s": round(everything, 3),
        "kappa_and_alpha_cpu_s": round(same, 3),
        "plain_once_cpu_s": round(once, 3),
        "plain_draw_cpu_s": round(repeated / plain_draws, 3),
        "plain_all_draws_cpu_s": round(once + draws * repeated / plain_draws),
        "times_faster": round((once + draws * repeated / plain_draws) / same),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds, which other programs on the machine affect least, and the result of `work`."""
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def measure_few(labels: Labels, draws: int) -> tuple[float, float]:
    """Return mean kappa over pairs and nominal alpha; also compute their intervals and those of every pair."""
    shared = find_shared(labels)
    statistics = [
        pair_statistic(labels, shared, group_pairs(labels, shared, THRESHOLD), ordered=False),
        coefficient_statistic(count_votes(labels), NOMINAL, LABELS),
    ]
    pairs, coefficients = bootstrap(statistics, group_units(labels), np.random.default_rng(0), draws)
    return float(pairs["mean_kappa"].value[0]), float(coefficients["alpha_nominal"].value[0])


def measure_plainly(frame: pd.DataFrame) -> tuple[float, float]:
    """Return the same two numbers, computed as one would with scikit-learn and pandas."""
    wide = frame.pivot(index="item", columns="rater", values="value")
    kappas = []
    for a, b in combinations(wide.columns, 2):
        both = wide[[a, b]].dropna()
        if len(both) >= THRESHOLD:
            kappas.append(cohen_kappa_score(both[a], both[b]))
    counts = pd.crosstab(frame["item"], frame["value"])
    counts = counts[counts.sum(axis=1) > 1]
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    n = totals.sum()
    observed = ((sizes**2 - (counts**2).sum(axis=1)) / (sizes - 1)).sum() / n
    expected = (n**2 - (totals**2).sum()) / (n * (n - 1))
    return float(np.mean(kappas)), float(1 - observed / expected)


def bootstrap_plainly(frame: pd.DataFrame, draws: int) -> list[tuple[float, float]]:
    rng, by_item = np.random.default_rng(0), frame.set_index("item")
    n, found = by_item.index.nunique(), []
    for _ in range(draws):
        drawn = pd.DataFrame({"item": rng.integers(n, size=n), "again": np.arange(n)}).set_index("item")
        repeated = drawn.join(by_item).rename(columns={"again": "item"})
        found.append(measure_plainly(repeated))
    return found


if __name__ == "__main__":
    main()
