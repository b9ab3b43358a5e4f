"""The field and its neighbours on one prompt, compared once for all parts that need it."""

from analysis.report.rows import name_of
from analysis.report.samples import Data, Group, Source
from analysis.stats import distances
from analysis.stats.distances import Comparison, Distance, compare_sources
from analysis.stats.heterogeneity import Difference


def comparison(data: Data, group: Group, prompt: str) -> Comparison:
    """All sources that were asked, rarefied to the smallest of them; the field against each other one."""

    def compute() -> Comparison:
        samples = {name_of(source): data.items(source, prompt) for source in group.sources}
        pairs = [(name_of(group.field), name_of(source)) for source in group.others]
        return compare_sources(samples, pairs, data.shared_draws)

    return data.once(("comparison", group, prompt), compute)


def against_field(data: Data, group: Group, source: Source, prompt: str) -> dict[str, Difference] | None:
    """Field minus source; None where one of them was not asked."""
    return comparison(data, group, prompt).differences.get((name_of(group.field), name_of(source)))


def to_field(data: Data, group: Group, source: Source, prompt: str) -> Distance | None:
    """From the field to any source, one that other parts leave out too; None where one of them was not asked."""
    names = name_of(group.field), name_of(source)
    if source in group.others:
        return comparison(data, group, prompt).distances.get(names)
    field, other = data.items(group.field, prompt), data.items(source, prompt)
    if not (field.n and other.n):
        return None
    shared = data.shared_draws
    drawn = shared.redraw(field, names[0]), shared.redraw(other, names[1])
    return distances.compare_redrawn(*drawn, shared.split(field, other, *names))
