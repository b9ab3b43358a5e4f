"""What a family of tests supports: Holm's steps at the level of a look, of those that spend alpha on the way."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

GRID = 1601  # points of the density between two looks
REACH = 8.0  # standard deviations of the last look


def level_at(look: int, times: tuple[float, ...], alpha: float) -> float:
    """The two-sided p from which on the k-th look (from 0) says something, so that all looks together keep alpha.

    `times`: the share of all people at each look, rising, the last of them 1. On each side α/2 is spent by the function
    of O'Brien and Fleming's kind, 2 - 2 Φ(z / √t) with Φ(z) = 1 - α/4 (Lan and DeMets 1983, Biometrika 70:659-663).
    """
    return float(2 * ndtr(-boundaries(times, alpha)[look]))


def spent_at(time: float, alpha: float) -> float:
    """What looks up to this share of all people may spend of alpha, on both sides together."""
    return float(4 * ndtr(ndtri(alpha / 4) / time**0.5))


@lru_cache(maxsize=256)
def boundaries(times: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """The strength at each look beyond which alpha is spent: by the density of what has stayed within all before."""
    spent = [spent_at(time, alpha) for time in times]
    x = np.linspace(-REACH, REACH, GRID)
    step = x[1] - x[0]
    density, before, at, found = np.zeros(GRID), 0.0, 0.0, []
    for number, time in enumerate(times):
        spread = (time - at) ** 0.5
        if number:
            moves = np.exp(-(((x[:, None] - x) / spread) ** 2) / 2) / (spread * (2 * np.pi) ** 0.5)
            density = moves @ density * step
        else:
            density = np.exp(-((x / spread) ** 2) / 2) / (spread * (2 * np.pi) ** 0.5)
        beyond = np.append(0.0, np.cumsum((density[:-1] + density[1:])[::-1] / 2 * step))  # from the far end inwards
        tail = np.maximum(2 * beyond[: GRID // 2 + 1], 1e-300)
        ends = x[::-1][: GRID // 2 + 1]
        end = float(np.interp(np.log(max(spent[number] - before, 1e-300)), np.log(tail), ends))
        found.append(end / time**0.5)
        density, before, at = np.where(np.abs(x) < end, density, 0.0), spent[number], time
    return tuple(found)


def passed(p_values: Sequence[float | None], level: Callable[[float], float], alpha: float) -> list[bool]:
    """Which pass by Holm's steps: the smallest p at the level of alpha / m, the next at that of alpha / (m - 1), …

    `level` makes of an alpha what a look may spend of it.
    """
    found = [False] * len(p_values)
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    for step, (p, at) in enumerate(known):
        if p > level(alpha / (len(p_values) - step)):
            break
        found[at] = True
    return found
