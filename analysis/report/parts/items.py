"""What each source recommends, side by side: every item that is frequent somewhere, with its share everywhere."""

import numpy as np

from analysis.report.parts.heterogeneity import item_rows
from analysis.report.rows import Row
from analysis.report.samples import Data, Source

TOP = 20


def rows(data: Data) -> list[Row]:
    """The `TOP` items of each source; all of them when the filters name a prompt."""
    return [row for prompt in data.lists for row in prompt_rows(data, prompt)]


def prompt_rows(data: Data, prompt: str) -> list[Row]:
    sources = [source for group in data.groups for source in group.sources if data.items(source, prompt).n]
    shown = [source for source in sources if not source.is_field or data.shows_field]
    codes = frequent_items(data, sources, prompt)
    return [
        {"prompt": prompt, **source.key, "n": data.items(source, prompt).n, **row}
        for source in shown
        for row in item_rows(data, source, prompt, codes)
    ]


def frequent_items(data: Data, sources: list[Source], prompt: str) -> list[int]:
    """Codes of the items that are among the most frequent of any source, the most frequent in the field first."""
    counts = [data.items(source, prompt).counts() for source in sources]
    if not counts:
        return []
    most = len(counts[0]) if data.filters.prompt else TOP
    chosen = {int(code) for count in counts for code in (-count).argsort(kind="stable")[:most] if count[code]}
    field = np.sum([data.items(source, prompt).counts() for source in sources if source.is_field] or counts, axis=0)
    return sorted(chosen, key=lambda code: (-field[code], code))
