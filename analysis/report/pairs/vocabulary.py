"""One name for each item of two sides: the study's own, or for two studies one by the aliases of both."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.answers.aliases import alias_map
from analysis.answers.compared import spellings_of
from analysis.report.pairs.sides import Chosen
from analysis.report.samples import Data, Row
from analysis.stats.resampling import ItemSample
from surveys.models import Prompt


def shared_prompts(data: Data, a: Chosen, b: Chosen) -> list[str]:
    """Prompts that both sides answered and both studies ask in the same words."""
    there = [prompt for prompt in data.prompts if a.rows(prompt).size and b.rows(prompt).size]
    return [prompt for prompt in there if len({wording(side.data.frames.prompts[prompt]) for side in (a, b)}) == 1]


def wording(prompt: Prompt) -> tuple[str, str, str]:
    return prompt.kind, prompt.text, repr(prompt.choices)


@dataclass(frozen=True, eq=False)
class Named:
    """The items of one prompt for both sides. `own`: for sides of two studies, each study's items behind each."""

    items: list[str]
    names: list[str]
    samples: tuple[ItemSample, ItemSample]
    own: tuple[list[list[str]], list[list[str]]] | None = None

    def behind(self, side: int, code: int) -> Row:
        """The study's own items behind this one, for a row; empty within one study."""
        return {"items": self.own[side][code]} if self.own else {}


def name_items(a: Chosen, b: Chosen, prompt: str) -> Named:
    samples = a.items(prompt), b.items(prompt)
    frames = a.data.frames, b.data.frames
    if frames[0] is frames[1]:
        items = frames[0].vocabulary(prompt)
        return Named(items, [frames[0].name_of(prompt, item) for item in items], samples)
    call = united(spellings_in(side, prompt) for side in sorted((a, b), key=lambda side: -side.data.study.pk))
    theirs = [each.vocabulary(prompt) for each in frames]
    called = [[call(item) for item in items] for items in theirs]
    items = sorted({*called[0], *called[1]})
    place = {item: number for number, item in enumerate(items)}
    own: tuple[list[list[str]], list[list[str]]] = ([[] for _ in items], [[] for _ in items])
    for side, pairs in zip(own, (zip(*both, strict=True) for both in zip(theirs, called, strict=True)), strict=True):
        for item, name in pairs:
            side[place[name]].append(item)
    names = [next(each.name_of(prompt, item) for each, some in zip(frames, behind, strict=True) for item in some)
             for behind in zip(*own, strict=True)]  # fmt: skip
    codes = [np.array([place[name] for name in some], np.int64) for some in called]
    first, second = (recoded(*each, len(items)) for each in zip(samples, codes, strict=True))
    return Named(items, names, (first, second), own)


def spellings_in(side: Chosen, prompt: str) -> Mapping[str, str]:
    families = side.data.frames.families
    tables = side.data.once_for_all(("spellings",), lambda: spellings_of(alias_map(side.data.study), families))
    found: Mapping[str, str] = tables.get(families.get(prompt, prompt), {})
    return found


def united(tables: Iterable[Mapping[str, str]]) -> Callable[[str], str]:
    """Return a function that gives one name to all items that any of the tables makes one."""
    above: dict[str, str] = {}

    def call(item: str) -> str:
        while item in above:
            item = above[item]
        return item

    for table in tables:
        for spelling, item in sorted(table.items()):
            one, other = call(spelling), call(item)
            if one != other:
                above[one] = other
    return call


def recoded(sample: ItemSample, codes: NDArray[np.int64], size: int) -> ItemSample:
    """The same answers with other codes; merges items that an answer then names twice."""
    width = max(1, size)
    once = np.unique(sample.rows.astype(np.int64) * width + codes[sample.codes])
    rows, renamed = (once // width).astype(np.int32), (once % width).astype(np.int32)
    return replace(sample, rows=rows, codes=renamed, size=size, checked=True)
