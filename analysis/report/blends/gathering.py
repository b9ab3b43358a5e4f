"""What is blended: the sources of a chatbot that answered the same prompts, and what their answers name."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, vstack

from analysis.report.samples import Data, Group, Rows, Source
from analysis.stats.blends.sides import BlendSides, compare
from analysis.stats.intervals import FEWEST_UNITS
from analysis.stats.resampling import UNKNOWN

FEWEST_PEOPLE = 3  # to a prompt: without any one of them two are left to compare


@dataclass(frozen=True)
class Blended:
    """The field's side and those of `sources`, to `prompts`; `left_out` are sources without enough answers to these."""

    field: Source
    sources: tuple[Source, ...]
    left_out: tuple[Source, ...]
    prompts: tuple[str, ...]

    @property
    def sides(self) -> tuple[Source, ...]:
        return (self.field, *self.sources)


def gather(data: Data, group: Group) -> Blended:
    """All settings of all sources; as many sources times prompts as can be had, since all have to answer the same."""
    sources = [source for source in data.sources if source.chatbot == group.chatbot]
    asked = [prompt for prompt in data.prompts if units_of(data, group.field, prompt) >= FEWEST_PEOPLE]
    answered = {
        source: {prompt for prompt in asked if units_of(data, source, prompt) >= FEWEST_UNITS} for source in sources
    }

    def with_all(prompts: Collection[str]) -> list[Source]:
        return [source for source in sources if prompts and answered[source].issuperset(prompts)]

    both = [answered[one] & answered[other] for one in sources for other in sources if one is not other]
    best = max(both, key=lambda prompts: len(prompts) * len(with_all(prompts)), default=set())
    chosen = with_all(best)
    left_out = tuple(source for source in sources if source not in chosen)
    return Blended(group.field, tuple(chosen), left_out, tuple(prompt for prompt in asked if prompt in best))


def units_of(data: Data, source: Source, prompt: str) -> int:
    """Persons, simulated users or repeats with a readable answer."""

    def count() -> int:
        rows = data.rows_of(source, prompt)
        named = names_in(data, source, prompt, rows).getnnz(axis=1) > 0
        return len(np.unique(data.frame(source.is_field).who[rows][named]))

    return int(data.once(("readable units", source, prompt), count))


def names_in(data: Data, source: Source, prompt: str, rows: Rows) -> csr_matrix:
    """Which answer (row) names which item, or takes which letter (column)."""
    if prompt in data.choices:
        sample = data.options_in(source.is_field, prompt, rows)
        read = np.flatnonzero(sample.codes != UNKNOWN)
        return csr_matrix((np.ones(len(read)), (read, sample.codes[read])), (sample.n, sample.options))
    items = data.items_in(source.is_field, prompt, rows)
    return csr_matrix((np.ones(len(items.rows)), (items.rows, items.codes)), (items.n, items.size))


def sides_of(data: Data, blended: Blended) -> BlendSides:
    """A person, and a simulated user or repeat, is the same unit to all prompts."""
    found = [whose_and_what(data, blended.sides, prompt) for prompt in blended.prompts]
    whose = np.concatenate([who for _, _, who in found], axis=1)
    names, unit = np.unique(whose, axis=1, return_inverse=True)
    ends = np.cumsum([who.shape[1] for _, _, who in found])[:-1]
    units = np.split(unit.ravel(), ends)
    prompts = [compare(named, side, of) for (named, side, _), of in zip(found, units, strict=True)]
    return BlendSides(prompts, len(blended.sides), names.shape[1])


def whose_and_what(data: Data, sides: Sequence[Source], prompt: str) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
    """Of all answers to a prompt what they name, their side, and whose they are: a person, or whose call."""
    rows = [data.rows_of(side, prompt) for side in sides]
    named = vstack([names_in(data, side, prompt, some) for side, some in zip(sides, rows, strict=True)], "csr")
    side = np.repeat(np.arange(len(sides)), [len(some) for some in rows])
    who = np.concatenate([data.frame(each.is_field).who[some] for each, some in zip(sides, rows, strict=True)])
    return named, side, np.stack([side > 0, who])
