"""The field and its neighbours on one prompt, compared once for all parts that need it."""

from analysis.metrics.rows import generator_for, label_of
from analysis.samples import Data, Group, Source
from analysis.stats import distances
from analysis.stats.comparisons import Comparison, compare_sources
from analysis.stats.distances import Distance
from analysis.stats.heterogeneity import Difference


def comparison(data: Data, group: Group, prompt: str) -> Comparison:
    """All sources that were asked, rarefied to the smallest of them; the field against each other one."""

    def compute() -> Comparison:
        samples = {label_of(source, prompt): data.items(source, prompt) for source in group.sources}
        field = label_of(group.field, prompt)
        pairs = [(field, label_of(source, prompt)) for source in group.others]
        return compare_sources(samples, pairs, data.seed, data.draws)

    return data.once(("comparison", group, prompt), compute)


def against_field(data: Data, group: Group, source: Source, prompt: str) -> dict[str, Difference] | None:
    """Field minus source; None where one of them was not asked."""
    return comparison(data, group, prompt).differences.get((label_of(group.field, prompt), label_of(source, prompt)))


def to_field(data: Data, group: Group, source: Source, prompt: str) -> Distance | None:
    """From the field to any source, one that other parts leave out too; None where one of them was not asked."""
    if source in group.others:
        pair = label_of(group.field, prompt), label_of(source, prompt)
        return comparison(data, group, prompt).distances.get(pair)
    field, other = data.items(group.field, prompt), data.items(source, prompt)
    if not (field.n and other.n):
        return None
    return distances.compare(field, other, generator_for(data, "distance", source, prompt), data.draws)
