"""Work for several cores: cells computed side by side, and what they share computed once.

numpy and scipy let other threads run while they work through arrays, so that threads use two cores nearly as well as
processes would, start at no cost in any process, and share the answers and the draws.
"""

import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from typing import Any, Generic, TypeVar, overload

Cell = TypeVar("Cell")
Value = TypeVar("Value")
MOST_THREADS = 4  # more wait for each other: between two arrays only one of them runs


def each(work: Callable[[Cell], Value], cells: Sequence[Cell]) -> list[Value]:
    """The work of every cell, in their order. It must not use the database: threads have no connection of their own."""
    threads = min(len(cells), MOST_THREADS, _cores())
    if threads < 2:
        return [work(cell) for cell in cells]
    # Neighbours often need the same draws. Each thread has a stretch of its own, lest they wait for each other.
    stretch = -(-len(cells) // threads)
    order = [place for start in range(stretch) for place in range(start, len(cells), stretch)]
    with ThreadPoolExecutor(threads) as pool:
        found = dict(zip(order, pool.map(work, [cells[place] for place in order]), strict=True))
    return [found[place] for place in range(len(cells))]


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Once:
    """Results by key, each computed when it is first asked for; who asks meanwhile waits for it."""

    def __init__(self) -> None:
        self.found: dict[Hashable, Any] = {}
        self.turns: dict[Hashable, RLock] = {}

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        if key not in self.found:
            with self.turns.setdefault(key, RLock()):
                if key not in self.found:
                    self.found[key] = compute()
            self.turns.pop(key, None)
        return self.found[key]


class computed_once(Generic[Value]):  # noqa: N801 - used as a property is
    """functools.cached_property without its lock, which until Python 3.12 is one for all instances."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> "computed_once[Value]": ...

    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...

    def __get__(self, owner: object | None, kind: type) -> "computed_once[Value] | Value":
        if owner is None:
            return self
        value = owner.__dict__[self.name] = self.compute(owner)
        return value
