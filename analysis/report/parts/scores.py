"""Whether offline scores foretell the field's: rank correlations over prompts and models, labels nearly right."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from analysis.report.parts import choices, heterogeneity
from analysis.report.rows import Row, span
from analysis.report.samples import FIELD, Data
from analysis.stats.heterogeneity import MEASURES
from analysis.stats.resampling import generator
from analysis.stats.samples import UNKNOWN
from analysis.stats.scores import accuracy_within, rank_correlation

NO_SCALE = "No choice prompt of this study has options that are rising numbers."
LEADING_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
Pair = tuple[str, str, str, str, float, float]  # measure, source, model, prompt, its value, the field's


def rows(data: Data) -> list[Row]:
    pairs = list(pairs_of(data))
    return [*over_prompts(data, pairs), *over_models(data, pairs), *over_all(data, pairs), *near(data)]


def pairs_of(data: Data) -> Iterable[Pair]:
    """Each source's value beside its field's: rarefied measures of lists, correct shares of choices."""
    for group in data.groups:
        for prompt in data.lists:
            found = heterogeneity.group_rows(data, group, prompt)
            yield from beside_field(found, prompt, {name: ("rarefied", name) for name in MEASURES})
        for prompt in data.choices:
            found = choices.group_rows(data, group, prompt)
            yield from beside_field(found, prompt, {"correct_share": ("correct_share",)})


def beside_field(found: list[Row], prompt: str, paths: dict[str, tuple[str, ...]]) -> Iterable[Pair]:
    field = next((row for row in found if row["source"] == FIELD), None)
    for row in found:
        if field is None or row is field:
            continue
        for name, path in paths.items():
            mine, theirs = value_at(row, path), value_at(field, path)
            if mine is not None and theirs is not None:
                yield name, row["source"], row["model"], prompt, mine, theirs


def value_at(row: Row, path: tuple[str, ...]) -> Any:
    for key in path:
        row = row[key]
    return row


def over_prompts(data: Data, pairs: list[Pair]) -> list[Row]:
    """One model: do prompts that are varied offline vary in the field too?"""
    families = values_by(pairs, lambda pair: pair[:3])
    return [
        correlated(data, name, "prompts", source, model, values) for (name, source, model), values in families.items()
    ]


def over_models(data: Data, pairs: list[Pair]) -> list[Row]:
    """Means over prompts: would offline scores put the models in the field's order?"""
    means: dict[tuple[str, str], list[Any]] = {}
    for (name, source, _), values in values_by(pairs, lambda pair: pair[:3]).items():
        means.setdefault((name, source), []).append(np.mean(values, axis=0))
    return [correlated(data, name, "models", source, None, values) for (name, source), values in means.items()]


def over_all(data: Data, pairs: list[Pair]) -> list[Row]:
    families = values_by(pairs, lambda pair: pair[:2])
    return [
        correlated(data, name, "prompts and models", source, None, values)
        for (name, source), values in families.items()
    ]


def values_by(pairs: Iterable[Pair], key: Callable[[Pair], Any]) -> dict[Any, list[tuple[float, float]]]:
    found: dict[Any, list[tuple[float, float]]] = {}
    for pair in pairs:
        found.setdefault(key(pair), []).append(pair[4:])
    return found


def correlated(data: Data, measure: str, over: str, source: str, model: str | None, values: Iterable[Any]) -> Row:
    both = np.array(list(values), dtype=float).reshape(-1, 2)
    rng = generator(data.seed, "scores", measure, over, source, model)
    found = rank_correlation(both[:, 0], both[:, 1], rng, data.draws)
    return {
        "measure": measure,
        "over": over,
        "source": source,
        "model": model,
        "n": found.n,
        "spearman": found.spearman,
        "ci_spearman": span(found.ci_spearman),
        "kendall": found.kendall,
        "ci_kendall": span(found.ci_kendall),
        **({"why": found.why} if found.why else {}),
    }


# --- labels on a scale


def near(data: Data) -> list[Row]:
    """Accuracy, and accuracy within one step, of choices whose options are a scale of numbers."""
    scales = [slug for slug in data.choices if data.prompts[slug].answer and is_scale(data.prompts[slug].choices)]
    if not scales:
        nobody = {"measure": "accuracy_within_1", "over": "answers", "source": None, "model": None}
        return [nobody | {"n": 0, "within_1": None, "why": NO_SCALE}]
    return [
        near_row(data, prompt, source)
        for prompt in scales
        for group in data.groups
        for source in group.sources
        if data.options(source, prompt).n
    ]


def is_scale(options: list[str]) -> bool:
    """Whether the options begin with rising numbers: 1, 2, 3 or "1 – poor", "2 – fair", …"""
    found = [LEADING_NUMBER.match(option.strip()) for option in options]
    numbers = [float(match[0]) for match in found if match]
    return len(numbers) == len(options) > 2 and numbers == sorted(set(numbers))


def near_row(data: Data, prompt: str, source: Any) -> Row:
    sample = data.options(source, prompt)
    labels = np.where(sample.codes == UNKNOWN, np.nan, sample.codes)
    found = accuracy_within(labels, np.full(sample.n, sample.correct))
    return {
        "measure": "accuracy_within_1",
        "over": "answers",
        "prompt": prompt,
        **source.key,
        "n": found.n,
        "unknown": found.unknown,
        "exact": found.exact,
        "ci_exact": span(found.ci_exact),
        "within_1": found.near,
        "ci": span(found.ci_near),
        **({"why": found.why} if found.why else {}),
    }
