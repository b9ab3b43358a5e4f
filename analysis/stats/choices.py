"""Which option people and models choose: counts, shares, correct share, and how far two sources differ."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.stats.heterogeneity import entropy
from analysis.stats.intervals import Interval, interval, share_interval
from analysis.stats.resampling import DRAWS, ChoiceSample, p_value

NO_RESPONSES = "There are no responses."
ALL_UNKNOWN = "No response names an option."


@dataclass(frozen=True)
class Choices:
    """The answers of one prompt, source and model; None where undefined, and `why` says so.

    `counts`, `shares` and `share_ci` have one entry for each option; shares are of all `n`, unknown ones included.
    `correct_share` counts unknown answers as wrong; `bounds` are its values if they were all wrong and if all right.
    `entropy` is over the known answers. What needs a correct option is None when the prompt has none.
    """

    n: int
    counts: tuple[int, ...]
    shares: tuple[float | None, ...]
    share_ci: tuple[Interval | None, ...]
    unknown: int
    unknown_share: float | None
    unknown_ci: Interval | None
    correct: int | None
    correct_share: float | None
    ci: Interval | None
    bounds: Interval | None
    entropy: float | None
    entropy_ci: Interval | None
    why: str | None


@dataclass(frozen=True)
class ChoiceDifference:
    """Correct share of one source minus that of another, and total variation of their options, unknown being one."""

    effect: float | None
    ci: Interval | None
    p: float | None
    tv: float | None
    ci_tv: Interval | None
    p_tv: float | None
    why: str | None


def describe(sample: ChoiceSample, rng: np.random.Generator, draws: int = DRAWS) -> Choices:
    """Counts and shares with Wilson's intervals; that of the entropy is by bootstrap over responses."""
    counts, n = _counts(sample), sample.n
    shares = [int(count) / n if n else None for count in counts]
    cis = [share_interval(int(count), n) for count in counts]
    key = sample.correct if n else None
    return Choices(
        n=n,
        counts=tuple(int(count) for count in counts[:-1]),
        shares=tuple(shares[:-1]),
        share_ci=tuple(cis[:-1]),
        unknown=sample.unknown,
        unknown_share=shares[-1],
        unknown_ci=cis[-1],
        correct=sample.correct,
        correct_share=None if key is None else shares[key],
        ci=None if key is None else cis[key],
        bounds=None if key is None else (int(counts[key]) / n, int(counts[key] + counts[-1]) / n),
        entropy=float(entropy(counts[:-1])) if n > sample.unknown else None,
        entropy_ci=interval(entropy(_redrawn(counts, draws, rng)[:, :-1])),
        why=NO_RESPONSES if not n else ALL_UNKNOWN if n == sample.unknown else None,
    )


def compare(a: ChoiceSample, b: ChoiceSample, rng: np.random.Generator, draws: int = DRAWS) -> ChoiceDifference:
    """Correct share of `a` minus that of `b`, and total variation Σ |p - q|/2 over options and unknown.

    Intervals: percentile bootstrap over responses of both. p: responses are permuted between the two, two-sided for the
    correct share, one-sided for the total variation, which a difference can only enlarge. ValueError when the two have
    different options or keys.
    """
    if (a.options, a.correct) != (b.options, b.correct):
        raise ValueError("Two sources can be compared when they have the same options and the same correct one.")
    if not (a.n and b.n):
        return ChoiceDifference(None, None, None, None, None, None, NO_RESPONSES)
    counts = _counts(a), _counts(b)
    drawn = [_redrawn(count, draws, rng) / count.sum() for count in counts]
    split = _split(*counts, draws, rng)
    shares = [count / count.sum() for count in counts]
    effect, ci, p = _gap(a.correct, shares, drawn, split)
    tv = float(_variation(*shares))
    ci_tv, p_tv = interval(_variation(*drawn)), p_value(tv, _variation(*split))
    return ChoiceDifference(effect, ci, p, tv, ci_tv, p_tv, None)


def _counts(sample: ChoiceSample) -> NDArray[np.int64]:
    """Responses per option, and unknown ones last; shape (options + 1,)."""
    return np.append(sample.counts(), sample.unknown)


def _redrawn(counts: NDArray[np.int64], draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Counts of as many responses drawn with replacement, shape (draws, options + 1): they are multinomial."""
    n = int(counts.sum())
    return rng.multinomial(n, counts / n, size=draws) if n else np.zeros((0, len(counts)), dtype=np.int64)


def _split(
    a: NDArray[np.int64], b: NDArray[np.int64], draws: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares in two parts of the sizes of `a` and `b`, into which all responses are split at random."""
    first = rng.multivariate_hypergeometric(a + b, int(a.sum()), size=draws, method="marginals")
    return first / a.sum(), (a + b - first) / b.sum()


def _gap(key: int | None, shares: Any, drawn: Any, split: Any) -> tuple[float | None, Interval | None, float | None]:
    """Difference of the shares of option `key` in two parts, its interval and its two-sided p."""
    if key is None:
        return None, None, None
    effect, redrawn, permuted = (part[0][..., key] - part[1][..., key] for part in (shares, drawn, split))
    return float(effect), interval(redrawn), p_value(abs(float(effect)), np.abs(permuted))


def _variation(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(p - q).sum(axis=-1) / 2
