"""The yardstick: one prompt's numbers as one would compute them with pandas and scipy, draw by draw."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from analysis.models import Answer
from surveys.models import Study

Lists = list[list[str]]
MEASURES = ("unique", "top5_coverage", "entropy_bits")


def read_lists(study: Study, prompt: str) -> dict[tuple[str, str], Lists]:
    """Read each answer's items, by source and model."""
    field = Answer.objects.filter(response__participant__study=study, response__prompt__slug=prompt)
    runs = Answer.objects.filter(completion__run__study=study, completion__prompt__slug=prompt)
    rows = [
        *(
            ("field", chatbot, items)
            for chatbot, items in field.values_list("response__participant__cell__chatbot", "items")
        ),
        *runs.values_list("completion__run__condition", "completion__run__endpoint__model", "items"),
    ]
    table = pd.DataFrame(rows, columns=["source", "model", "items"])
    return {key: list(group["items"]) for key, group in table.groupby(["source", "model"])}


def count(lists: Lists) -> pd.Series:
    return pd.Series([item for items in lists for item in items], dtype=object).value_counts()


def measure(counts: pd.Series) -> np.ndarray:
    return np.array([len(counts), counts.iloc[:5].sum() / counts.sum(), entropy(counts, base=2)])


def divergence(one: pd.Series, other: pd.Series) -> float:
    both = pd.concat([one, other], axis=1).fillna(0)
    return float(jensenshannon(both.iloc[:, 0], both.iloc[:, 1], base=2) ** 2)


def plain_numbers(study: Study, prompt: str, chatbots: dict[str, str], draws: int) -> dict[tuple[str, ...], Any]:
    """Compute measures with intervals, and the field's p and distance to each source. Samples must be of one size."""
    rng = np.random.default_rng(7)
    lists = read_lists(study, prompt)
    found: dict[tuple[str, ...], Any] = {}
    drawn = {}
    for key, mine in lists.items():
        found[key, "values"] = measure(count(mine))
        draw_counts = [count([mine[i] for i in rng.integers(0, len(mine), len(mine))]) for _ in range(draws)]
        drawn[key] = draw_counts
        found[key, "ci"] = np.quantile([measure(counts) for counts in draw_counts], [0.025, 0.975], axis=0)
    for key, mine in lists.items():
        if key[0] != "field":
            field = ("field", chatbots[key[1]])
            found[key, "jsd"] = divergence(count(lists[field]), count(mine))
            pairs = zip(drawn[field], drawn[key], strict=True)
            found[key, "ci_jsd"] = np.quantile([divergence(*pair) for pair in pairs], [0.025, 0.975])
            found[key, "p"], found[key, "p_jsd"] = permute(lists[field], mine, found[key, "jsd"], draws, rng)
    return found


def permute(one: Lists, other: Lists, jsd: float, draws: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return p of each measure's difference, two-sided, and of the divergence."""
    pooled = [*one, *other]
    seen = np.abs(measure(count(one)) - measure(count(other)))
    hits, hits_jsd = np.ones(3), 1
    for _ in range(draws):
        order = rng.permutation(len(pooled))
        first, second = (count([pooled[i] for i in part]) for part in (order[: len(one)], order[len(one) :]))
        hits += np.abs(measure(first) - measure(second)) >= seen - 1e-9
        hits_jsd += divergence(first, second) >= jsd - 1e-9
    return hits / (draws + 1), hits_jsd / (draws + 1)
