"""Noisy variants of a prompt, with typos, slang or in other languages, beside the original."""

import numpy as np
from numpy.typing import NDArray

from analysis.report.parts.distances import distance_values
from analysis.report.rows import Row, correct_over_prompts, generator_for, span
from analysis.report.samples import Data, Source
from analysis.stats import distances
from analysis.stats.samples import UNKNOWN
from analysis.stats.scores import paired_difference

UNIT = ["unit", "user", "repeat"]


def rows(data: Data) -> list[Row]:
    variants = {prompt.slug: prompt for prompt in data.definition.prompts if prompt.variant_of}
    found = []
    for slug, prompt in variants.items():
        if not {slug, prompt.variant_of} <= data.frames.prompts.keys() or slug not in data.prompts:
            continue
        for source in (source for group in data.groups for source in group.sources):
            sizes = [len(data.rows_of(source, part)) for part in (prompt.variant_of, slug)]
            if all(sizes):
                head = {"prompt": prompt.variant_of, "variant_prompt": slug, "variant": prompt.variant}
                counts = {"n_original": sizes[0], "n": sizes[1]}
                compare = compare_choices if prompt.kind == "choice" else compare_items
                head |= {"kind": prompt.kind, **source.key, **counts}
                found.append(head | compare(data, source, prompt.variant_of, slug))
    correct_over_prompts(found, lambda row: row, ("kind", "variant", "source", "model"))
    return found


def compare_items(data: Data, source: Source, original: str, variant: str) -> Row:
    """The distance between the items of both; they share the original's vocabulary."""
    rng = generator_for(data, "variant", source, variant)
    before, after = data.items(source, original), data.items(source, variant)
    return distance_values(distances.compare(before, after, rng, data.draws))


def compare_choices(data: Data, source: Source, original: str, variant: str) -> Row:
    """Correct answers of the same person, or of the same repeat of the same simulated user, to both."""
    before, after = (scores_by_unit(data, source, prompt) for prompt in (original, variant))
    both = sorted(before.keys() & after.keys())
    rng = generator_for(data, "variant", source, variant)
    found = paired_difference([before[unit] for unit in both], [after[unit] for unit in both], rng, data.draws)
    return {
        "pairs": found.n,
        "correct_share_original": found.original,
        "correct_share": found.variant,
        "effect": found.effect,
        "ci": span(found.ci),
        "p": found.p,
        "p_holm": None,
        "changed": changed(data, source, original, variant),
        **({"why": found.why} if found.why else {}),
    }


def scores_by_unit(data: Data, source: Source, prompt: str) -> dict[tuple[int, ...], float]:
    sample = data.options(source, prompt)
    return dict(zip(units_of(data, source, prompt), (sample.codes == sample.correct).astype(float), strict=True))


def units_of(data: Data, source: Source, prompt: str) -> list[tuple[int, ...]]:
    table = data.frame(source.is_field).table.iloc[data.rows_of(source, prompt)]
    if source.is_field:  # a person answers once; `repeat` is the revision
        return [(unit,) for unit in table["unit"]]
    return list(table[UNIT].itertuples(index=False, name=None))


def changed(data: Data, source: Source, original: str, variant: str) -> float | None:
    """Share of the pairs in which another letter is given."""
    before, after = (letters_by_unit(data, source, prompt) for prompt in (original, variant))
    both = before.keys() & after.keys()
    known: NDArray[np.bool_] = np.array([UNKNOWN not in (before[unit], after[unit]) for unit in both], dtype=bool)
    differ = np.array([before[unit] != after[unit] for unit in both], dtype=bool)
    return float(differ[known].mean()) if known.any() else None


def letters_by_unit(data: Data, source: Source, prompt: str) -> dict[tuple[int, ...], int]:
    return dict(zip(units_of(data, source, prompt), data.options(source, prompt).codes.tolist(), strict=True))
