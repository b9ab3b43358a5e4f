"""What rows of every part share: generators, comparisons, plain JSON values, and Holm's correction over prompts."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.report.samples import Data, Group, Rows, Source
from analysis.stats import distances, heterogeneity
from analysis.stats.distances import Comparison, Distance, compare_sources
from analysis.stats.heterogeneity import Difference, Heterogeneity
from analysis.stats.intervals import Interval
from analysis.stats.resampling import Redrawn, generator, holm
from analysis.stats.samples import ItemSample

Row = dict[str, Any]

# What rows that differ in their prompt only have in common.
FAMILY = ("source", "model", "temperature", "history_size", "per_user", "corpus", "personas", "imported")


def name_of(source: Source) -> str:
    """The source in one line: what random draws are named by."""
    return "|".join(str(part) for part in (source.name, source.model, *source.settings.values()))


def generator_for(data: Data, what: str, source: Source, prompt: str, *more: object) -> np.random.Generator:
    """Independent for each source and prompt, and the same whatever else is computed."""
    return generator(data.seed, what, f"{prompt}|{name_of(source)}", *more)


def low_highs(intervals: Mapping[str, Interval | None]) -> dict[str, list[float] | None]:
    return {name: low_high(found) for name, found in intervals.items()}


def low_high(found: Interval | None) -> list[float] | None:
    return None if found is None else [float(found[0]), float(found[1])]


def correct_over_prompts(
    rows: Iterable[Row], test_of: Callable[[Row], Row | None], family: Sequence[str] = FAMILY
) -> None:
    """Put `p_holm` beside the `p` of each row's test: Holm's over the prompts of one family of rows."""
    families: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if test := test_of(row):
            families.setdefault(tuple(row.get(name) for name in family), []).append(test)
    for tests in families.values():
        for test, corrected in zip(tests, holm([test["p"] for test in tests]), strict=True):
            test["p_holm"] = corrected


def difference_in(inside: str, name: str) -> Callable[[Row], Row | None]:
    """Where rows have the test of one measure."""
    return lambda row: row.get(inside, {}).get(name)


def tidy(value: Any) -> Any:
    """The same as plain JSON values: no numpy, no NaN, nine significant digits."""
    if isinstance(value, Mapping):
        return {str(key): tidy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [tidy(entry) for entry in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.9g}") if np.isfinite(value) else None
    return value


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


class Drawn:
    """Random draws from parts of the field's answers to one prompt, each made once: of two parts, one is the rest."""

    def __init__(self, data: Data, prompt: str, least: int) -> None:
        self.data, self.prompt, self.least = data, prompt, least
        self.found: dict[Any, Any] = {}

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = compute()
        return self.found[key]

    def name(self, rows: Rows) -> str:
        """The same for every prompt that the same people answered."""
        units = np.sort(self.data.frames.field.table["unit"].to_numpy()[rows])
        return hashlib.sha256(units.tobytes()).hexdigest()

    def sample(self, rows: Rows) -> ItemSample:
        return self.data.items_in(True, self.prompt, rows)

    def redrawn(self, rows: Rows) -> Redrawn:
        def compute() -> Redrawn:
            return self.data.shared_draws.redraw(self.sample(rows), self.name(rows))

        return self.once(("redrawn", rows.tobytes()), compute)

    def described(self, rows: Rows) -> Heterogeneity:
        key = ("part", self.prompt, rows.tobytes())
        return self.data.once_for_all(key, lambda: heterogeneity.describe_redrawn(self.redrawn(rows)))

    def rarefied(self, rows: Rows) -> Heterogeneity:
        def compute() -> Heterogeneity:
            drawn, shared = self.redrawn(rows), self.data.shared_draws
            subsets = shared.subsets(drawn.sample, self.least, self.name(rows)) if self.least < len(rows) else None
            return heterogeneity.rarefy_redrawn(drawn, self.least, subsets)

        return self.once(("rarefied", rows.tobytes()), compute)

    def compared(self, part: Rows, rest: Rows) -> dict[str, Difference]:
        """Part minus rest. The test is the same for rest minus part."""

        def compute() -> dict[str, float | None]:
            samples, names = (self.sample(part), self.sample(rest)), (self.name(part), self.name(rest))
            splits = self.data.shared_draws.split(*samples, *names)
            return heterogeneity.permutation_test(splits, self.least)

        chances = self.once(frozenset((part.tobytes(), rest.tobytes())), compute)
        return heterogeneity.differences(self.rarefied(part), self.rarefied(rest), chances)
