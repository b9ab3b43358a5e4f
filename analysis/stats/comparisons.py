"""All sources of one prompt at once: each described and rarefied, pairs compared, from shared draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.stats.distances import Distance, compare_redrawn
from analysis.stats.heterogeneity import (
    Difference,
    Heterogeneity,
    describe_redrawn,
    differences,
    permutation_test,
    rarefy_redrawn,
)
from analysis.stats.samples import ItemSample
from analysis.stats.shared_draws import SharedDraws

Pair = tuple[str, str]


@dataclass(frozen=True)
class Comparison:
    """What `compare_sources` found, by source and by pair; differences are of measures rarefied to `n` responses."""

    n: int
    raw: dict[str, Heterogeneity]
    rarefied: dict[str, Heterogeneity]
    differences: dict[Pair, dict[str, Difference]]
    distances: dict[Pair, Distance]


def compare_sources(
    samples: Mapping[str, ItemSample], pairs: Sequence[Pair], shared: SharedDraws, n: int | None = None
) -> Comparison:
    """Measures of each source of a prompt, and for each pair (a, b) their differences a - b and their distance.

    All samples share one vocabulary. Measures and differences are rarefied to `n` responses, by default those of the
    smallest source that has any. Sources with fewer than n have no rarefied measures and no differences; those without
    responses are left out. Each source is redrawn once and each pair split once for all of its numbers, so that this
    takes less than half the time of the single functions. What is drawn depends on the names of the source or pair
    and their numbers of responses, not on what else is compared.
    """
    some = {name: sample for name, sample in samples.items() if sample.n}
    size = min((sample.n for sample in some.values()), default=0) if n is None else n
    drawn = {name: shared.redraw(sample, name) for name, sample in some.items()}
    found = Comparison(size, {name: describe_redrawn(draw) for name, draw in drawn.items()}, {}, {}, {})
    for name in [name for name in some if some[name].n >= size]:
        subsets = shared.subsets(some[name], size, name) if size < some[name].n else None
        found.rarefied[name] = rarefy_redrawn(drawn[name], size, subsets)
    for a, b in [(a, b) for a, b in pairs if a in some and b in some]:
        splits = shared.split(some[a], some[b], a, b)
        found.distances[a, b] = compare_redrawn(drawn[a], drawn[b], splits)
        if a in found.rarefied and b in found.rarefied:
            chances = permutation_test(splits, size)
            found.differences[a, b] = differences(found.rarefied[a], found.rarefied[b], chances)
    return found
