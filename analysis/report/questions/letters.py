"""How far a source's letters are from the field's, as lists of one item are."""

import numpy as np

from analysis.report.samples import Data, Group, Source, name_of
from analysis.stats.heterogeneity import Distance, compare_redrawn
from analysis.stats.resampling import UNKNOWN, ItemSample


def letters_to_field(data: Data, group: Group, source: Source, prompt: str) -> Distance | None:
    """From the field; None where one of them was not asked."""
    names = name_of(group.field), name_of(source)
    field, other = (letters_of(data, side, prompt) for side in (group.field, source))
    if not (field.n and other.n):
        return None
    shared = data.shared_draws
    drawn = shared.redraw(field, names[0]), shared.redraw(other, names[1])
    return compare_redrawn(*drawn, shared.split(field, other, *names))


def letters_of(data: Data, source: Source, prompt: str) -> ItemSample:
    """The answers to a choice as lists of one item, their letter; of an unknown one nothing."""

    def read() -> ItemSample:
        rows = data.by_unit(source, data.rows_of(source, prompt))
        codes = data.frame(source.is_field).columns["option"][rows].astype(np.int32)
        known = np.flatnonzero(codes != UNKNOWN).astype(np.int32)
        size, units = len(data.frames.prompts[prompt].choices), data.units_in(source.is_field, rows)
        return ItemSample(len(rows), known, codes[known], size, units, checked=True)

    return data.once(("letters", source, prompt), read)
