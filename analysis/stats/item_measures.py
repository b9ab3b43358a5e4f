"""Measures of items: distinct ones, share of the top five, entropy; raw and rarefied, with their standard errors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import binom

from analysis.stats.intervals import Floats, Ints

BATCH_CELLS = 2**21  # cells of a batch's widest matrix: tens of megabytes with all that belongs to it

# --- measures of item counts: distinct items, share of the top five, entropy; as they are, and as rarefied

TOP = 5
COMMON = 24  # items among which the top ones are first looked for
CACHED = 2**16  # cells of item counts that are worked on at once
SOME = 128  # draws that show which items these are
EXACT = 2**24  # whole numbers of single precision, and their sums, are exact up to here

Measured = dict[str, Floats]


def in_cache(counts: NDArray[Any]) -> Iterator[slice]:
    """Slices of these draws, so many at once that the processor's cache holds what is made of them."""
    width = max(32, CACHED // max(1, counts.shape[-1]))
    return (slice(at, at + width) for at in range(0, max(1, len(counts)), width))


class Counted:
    """Item counts c_i, shape (..., size), with the numbers that several measures need, each computed once.

    Counts in single precision, as draws are, are whole numbers.
    """

    def __init__(self, counts: NDArray[Any]) -> None:
        self.counts = counts

    @cached_property
    def mentions(self) -> Floats:
        """C = Σ c_i, or NaN if nothing is named."""
        return _total(self.counts)

    @cached_property
    def bits(self) -> Floats:
        """The entropy of whole c_i."""
        return _entropy(self.sum_of(_log_terms(int(self.counts.max(initial=0)))), self.mentions)

    def shares_of(self, some: Any) -> NDArray[Any]:
        """c_i / C in `some` of the rows, in single precision if the counts are; NaN if C = 0."""
        counts, mentions = self.counts[some], self.mentions[some]
        numbers = counts if counts.dtype == np.float32 else counts.astype(np.float64)
        return numbers / mentions[..., None].astype(numbers.dtype)

    def sum_of(self, table: Floats) -> Floats:
        """Σ table[c_i]; `table` reaches the largest c_i, so nothing is clipped: numpy is faster if it may clip."""
        if self.counts.ndim != 2 or self.counts.flags.c_contiguous:
            return np.asarray(table.take(self.counts.astype(np.intp), mode="clip").sum(axis=-1))
        # Draws are stored item by item.
        parts = (self.counts[some].T.astype(np.intp) for some in in_cache(self.counts))
        return np.concatenate([table.take(part, mode="clip").sum(axis=0) for part in parts])


class EachOnce(Counted):
    """Item counts (size,) of m units, none of which names an item twice, and their statistics without each unit, (m,).

    `by_unit`, shape (size, m), says which unit names which item.
    """

    def __init__(self, by_unit: sparse.csr_array) -> None:
        self.items, self.units, self.m = _rows(by_unit), by_unit.indices, by_unit.shape[1]
        super().__init__(np.bincount(self.items, minlength=by_unit.shape[0]))

    @cached_property
    def mentions_left(self) -> Floats:
        left = len(self.items) - np.bincount(self.units, minlength=self.m)
        return np.where(left > 0, left, np.nan)

    def sum_left(self, table: Floats) -> Floats:
        """Σ table[c_i] over the counts left without each unit."""
        less = table[self.counts] - table[np.maximum(self.counts - 1, 0)]
        return np.asarray(table[self.counts].sum() - np.bincount(self.units, less[self.items], self.m))

    @cached_property
    def top_left(self) -> Floats:
        """Sum of the five largest counts that are left; of those at the edge, the ones that lost nothing come first."""
        edge = np.sort(self.counts)[-TOP] if len(self.counts) > TOP else 0
        above, at_edge = self.counts > edge, self.counts == edge
        places = TOP - np.count_nonzero(above)
        lost, touched = (np.bincount(self.units, which[self.items], self.m) for which in (above, at_edge))
        short = np.maximum(places - (np.count_nonzero(at_edge) - touched), 0) if edge else 0
        return np.asarray(self.counts[above].sum() - lost + places * edge - short)


@dataclass(frozen=True)
class ItemMeasure:
    """A measure of item counts: its `value`, shape (...), its mean for n of `total` responses with these counts
    (`rarefied`), and its maximum (`most`). `left` is a shorter way to its values without each unit, if there is one.
    """

    value: Callable[[Counted], NDArray[Any]]
    rarefied: Callable[[Counted, int, int], NDArray[Any]]
    most: float = np.inf
    left: Callable[[EachOnce], Floats] | None = None


def measure(counts: NDArray[Any] | Counted) -> Measured:
    """Measure item counts c_i, shape (..., size), as arrays of shape (...)."""
    counted = counted_once(counts)
    return {name: np.asarray(each.value(counted), dtype=np.float64) for name, each in ITEM_MEASURES.items()}


def counted_once(counts: NDArray[Any] | Counted) -> Counted:
    return counts if isinstance(counts, Counted) else Counted(counts)


def entropy(counts: NDArray[Any]) -> Floats:
    """-Σ (c_i/C) log2(c_i/C) = log2 C - Σ c_i log2 c_i / C of whole c_i, shape (..., size); NaN if C = 0."""
    return Counted(counts).bits


def rarefied_measures(counts: NDArray[Any] | Counted, total: int, n: int) -> Measured:
    """Average the measures over n of `total` responses with these counts, shape (...); exact if n = total."""
    if n == total:
        return measure(counts)
    counted = counted_once(counts)
    return {
        name: np.asarray(each.rarefied(counted, total, n), dtype=np.float64) for name, each in ITEM_MEASURES.items()
    }


def _distinct(counted: Counted) -> NDArray[Any]:
    return (counted.counts > 0).view(np.uint8).sum(axis=-1, dtype=np.uint32)


def _rarefied_distinct(counted: Counted, total: int, n: int) -> NDArray[Any]:
    """Σ_i (1 - C(total - c_i, n) / C(total, n)) (Hurlbert 1971), which is exact."""
    return counted.sum_of(rarefaction_tables(total, n)[0])


def _coverage(counted: Counted, total: int = 0, n: int = 0) -> NDArray[Any]:
    """Share of the five largest counts in C, NaN if C = 0; rarefied, it takes the five items of all responses."""
    return _top(counted.counts) / counted.mentions


def _coverage_left(counted: EachOnce) -> Floats:
    return counted.top_left / counted.mentions_left


def _bits(counted: Counted) -> Floats:
    return counted.bits


def _bits_left(counted: EachOnce) -> Floats:
    return _entropy(counted.sum_left(_log_terms(int(counted.counts.max(initial=0)))), counted.mentions_left)


def _rarefied_bits(counted: Counted, total: int, n: int) -> Floats:
    """Take the number of mentions among the n at its mean: exact if every response names as many items."""
    return _entropy(counted.sum_of(rarefaction_tables(total, n)[1]), counted.mentions * (n / total))


@lru_cache(maxsize=64)
def rarefaction_tables(total: int, n: int) -> tuple[Floats, Floats]:
    """P(X > 0) and E[X log2 X] for an item that c of `total` responses name, X of them among a random n.

    Both for c = 0 … total, shape (total + 1,). X is hypergeometric; one further response that names the item is among
    the n with probability (n - x) / (total - c), which leads from c to c + 1.
    """
    present, terms = np.zeros(total + 1), np.zeros(total + 1)
    chance, number = np.zeros(n + 1), np.arange(n + 1)
    chance[0] = 1.0
    for c in range(total + 1):
        present[c], terms[c] = 1.0 - chance[0], chance @ _log_terms(n)
        # The fraction first: if x can't stay it is exactly 1, and no rounding is left there to grow.
        moved = chance * ((n - number) / max(1, total - c))
        chance -= moved
        chance[1:] += moved[:-1]
    return present, terms


@lru_cache(maxsize=64)
def _log_terms(largest: int) -> Floats:
    """c log2 c for c = 0 … largest, where 0 log2 0 is 0."""
    number = np.arange(largest + 1, dtype=np.float64)
    return number * np.log2(np.maximum(number, 1.0))


def _total(counts: NDArray[Any]) -> Floats:
    """C, or NaN if nothing is named."""
    total = counts.sum(axis=-1, dtype=np.float32 if counts.dtype == np.float32 else np.float64)
    if total.dtype == np.float32 and total.max(initial=0) >= EXACT:
        total = counts.sum(axis=-1, dtype=np.float64)
    return np.where(total > 0, total, np.nan).astype(np.float64, copy=False)


def _entropy(terms: Floats, total: Floats) -> Floats:
    return np.maximum(np.log2(total) - terms / total, 0.0)


def _top(counts: NDArray[Any]) -> NDArray[Any]:
    """Sum of the five largest counts, or of all if there are fewer."""
    if counts.shape[-1] <= TOP:
        return counts.sum(axis=-1)
    if counts.ndim != 2 or counts.shape[1] < 2 * COMMON:
        return _largest(counts).sum(axis=-1)
    # Nearly always they are among the items that are frequent in all rows; the few other rows are looked at again.
    order = np.argpartition(counts[:SOME].sum(axis=0), -COMMON)
    best = _largest(counts[:, order[-COMMON:]])
    missed = counts[:, order[:-COMMON]].max(axis=1) > best[:, 0]
    best[missed] = _largest(counts[missed])
    return best.sum(axis=-1)


def _largest(counts: NDArray[Any]) -> NDArray[Any]:
    """The TOP largest counts, the smallest of them first."""
    return np.partition(counts, -TOP, axis=-1)[..., -TOP:]


ITEM_MEASURES = {
    "unique": ItemMeasure(_distinct, _rarefied_distinct),
    "top5_coverage": ItemMeasure(_coverage, _coverage, most=1.0, left=_coverage_left),
    "entropy_bits": ItemMeasure(_bits, _rarefied_bits, left=_bits_left),
}
MEASURES = tuple(ITEM_MEASURES)


# --- standard errors, by leaving out each unit in turn

DISTINCT, ENTROPY = "unique", "entropy_bits"
NODES = 513  # nodes of the table of E[X log2 X], denser near chance 0


def standard_error(left_out: Floats) -> float | None:
    """sqrt((m - 1)/m Σ (v_u - mean)²) of a measure's values v_u without unit u, shape (m,); None if one is undefined,
    or for one unit (Efron and Stein 1981, Annals of Statistics 9:586-596).
    """
    m = len(left_out)
    return float(np.sqrt((m - 1) * left_out.var())) if m > 1 and not np.isnan(left_out).any() else None


def errors(counts: NDArray[Any], by_unit: sparse.csr_array) -> dict[str, float | None]:
    """Standard errors of the measures of item counts c_i, (size,); columns of `by_unit`, (size, m), are units."""
    found = left_out(counts, by_unit)
    once = by_unit if _each_once(by_unit) else by_unit > 0
    return {name: standard_error(values) for name, values in found.items()} | {DISTINCT: distinct_error(once)}


def left_out(counts: NDArray[Any], by_unit: sparse.csr_array, names: Sequence[str] = MEASURES) -> Measured:
    """The named measures without each unit, shape (m,); the number of items may be missing, and others be included."""
    whole, each = counts.astype(np.int32), _each_once(by_unit)
    return _left_out(each, lambda: (measure(whole - units) for units in _rows_of(by_unit, np.int32)), names)


def rarefied_errors(chances: sparse.csr_array, n: int) -> dict[str, float | None]:
    """Standard errors of the measures of n of the units, one response of each.

    A unit's answer names item i with the chance p_ui that one of its responses does; `chances` are these, shape (size,
    m). Without unit u the others' mean chances are q_i. The entropy of n answers is then log2 Σ n q - Σ E[X log2 X] / Σ
    n q with X binomial (n, q_i), which gives rare items the small weight that they have in n answers; other measures
    are those of the expected counts n q.
    """
    if chances.shape[1] < 2:
        return dict.fromkeys(MEASURES)
    found = {name: standard_error(values) for name, values in rarefied_left_out(chances, n).items()}
    return found | {DISTINCT: distinct_error(chances, n)}


def rarefied_left_out(chances: sparse.csr_array, n: int, names: Sequence[str] = MEASURES) -> Measured:
    """`left_out` for n of the units, of which there are at least two: measures without each unit, shape (m,)."""
    m = chances.shape[1]
    total, each = np.asarray(chances.sum(axis=1), dtype=float).ravel(), _each_once(chances)
    nodes, terms = _log_table(n)

    def dense() -> Iterator[Measured]:
        for units in _rows_of(chances, np.float64):
            q = np.clip((total - units) / (m - 1), 0.0, 1.0)
            yield measure(n * q) | {ENTROPY: bits(n * q.sum(axis=1), np.interp(q, nodes, terms).sum(axis=1))}

    def bits(mentions: Floats, sums: Floats) -> Floats:
        known = np.where(mentions > 0, mentions, np.nan)
        return np.asarray(np.log2(known) - sums / known)

    found = _left_out(each, dense, names)
    if each:
        by_count = np.interp(np.minimum(np.arange(m + 1) / (m - 1), 1.0), nodes, terms)
        found[ENTROPY] = bits(n * each.mentions_left / (m - 1), each.sum_left(by_count))
    return found


def drawn_entropies(by_unit: sparse.csr_array, times: Ints) -> tuple[Floats, Floats]:
    """The entropy of each drawn sample, and its standard error as in `errors`; NaN if undefined.

    Of m units, none of which names an item twice, `by_unit` (size, m), sample k has unit u `times[u, k]` times, each
    time as a unit of its own.
    """
    counts, named = (by_unit @ times).astype(np.int64), np.asarray(by_unit.sum(axis=0), dtype=float)[:, None]
    table, mentions = _log_terms(int(counts.max(initial=0))), counts.sum(axis=0)
    terms = table[counts]
    less = terms - table[np.maximum(counts - 1, 0)]
    left, n = _known_entropy(terms.sum(axis=0) - by_unit.T @ less, mentions - named), times.sum(axis=0)
    left = np.where(times > 0, left, 0.0)
    spread = (times * np.square(left - (times * left).sum(axis=0) / n)).sum(axis=0)
    return _known_entropy(terms.sum(axis=0), mentions), np.sqrt((n - 1) / n * spread)


def _known_entropy(terms: Floats, mentions: NDArray[Any]) -> Floats:
    return _entropy(terms, np.where(mentions > 0, mentions, np.nan))


def _rows(matrix: sparse.csr_array) -> NDArray[np.intp]:
    """The row of each entry; `tocoo` takes ten times as long."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _each_once(by_unit: sparse.csr_array) -> EachOnce | None:
    """None if a unit names an item more than once, or by chance."""
    return EachOnce(by_unit) if np.all(by_unit.data == 1) else None


def _left_out(each: EachOnce | None, dense: Callable[[], Iterator[Measured]], names: Sequence[str]) -> Measured:
    """The measures without each unit, by the shorter way if all but the number of items, which needs none, have one."""
    short = {name: one.left for name, one in ITEM_MEASURES.items() if one.left and name in names}
    if each and {DISTINCT, *short} >= {*names}:
        return {name: left(each) for name, left in short.items()}
    return _joined(dense())


def distinct_error(chances: sparse.csr_array, n: int | None = None) -> float | None:
    """Standard error of the number of distinct items of n (default all m) units, from chances p_ui, shape (size, m).

    Unit u adds g_u = Σ_i p_ui Π (1 - f p_vi) items to n - 1 others, f = (n - 1)/(m - 1) of all. To first order the
    number's variance is (n/m)² m/(m - 1) Σ (g_u - mean)². That is too much if the g_u vary by chance as well, which
    Q1/(Q1 + Q2 n/m) corrects: Q1 and Q2 are the items that one and that two of the n name; if units were independent
    draws of independent items, it would be so to second order. In simulations with 5 to 400 responses of long-tailed
    items, and 5 to 40 users with 5 to 40 answers each, the interval contains the expected number in 92 to 97 of 100.
    """
    size, m = chances.shape
    some = m if n is None else n
    if m < 2:
        return None
    item, unit, p = _rows(chances), chances.indices, chances.data.astype(float)
    left = 1 - (some - 1) / (m - 1) * p
    sure = left <= 0
    logs = np.where(sure, 0.0, np.log(np.where(sure, 1.0, left)))
    others = np.bincount(item, sure, size)[item] - sure
    unseen = np.where(others > 0, 0.0, np.exp(np.bincount(item, logs, size)[item] - logs))
    added = np.bincount(unit, p * unseen, m)
    once, twice = _seen_once_and_twice(np.bincount(item, p, size).astype(float), m, some)
    variance = (some / m) ** 2 * m * added.var(ddof=1) * once / (once + twice * some / m) if once else 0.0
    return float(np.sqrt(variance))


def _seen_once_and_twice(named: Floats, m: int, n: int) -> tuple[float, float]:
    """How many items one and two of n units name, if Σ p of m units do; binomial for n below m."""
    if n == m and np.all(named == np.rint(named)):
        return float(np.count_nonzero(named == 1)), float(np.count_nonzero(named == 2))
    chance = np.clip(named / m, 0.0, 1.0)
    once, twice = n * chance * (1 - chance) ** (n - 1), n * (n - 1) / 2 * chance**2 * (1 - chance) ** max(n - 2, 0)
    return float(once.sum()), float(twice.sum())


@lru_cache(maxsize=64)
def _log_table(n: int) -> tuple[Floats, Floats]:
    """Chances, and E[X log2 X] for X binomial (n, chance)."""
    chance, number = np.linspace(0.0, 1.0, NODES) ** 2, np.arange(n + 1)
    return chance, binom.pmf(number, n, chance[:, None]) @ (number * np.log2(np.maximum(number, 1)))


def _rows_of(by_unit: sparse.csr_array, kind: type) -> Iterator[NDArray[Any]]:
    """The units' columns as rows (units, size), in batches."""
    width = max(1, BATCH_CELLS // max(1, by_unit.shape[0]))
    if by_unit.shape[1] <= width:
        yield by_unit.toarray().T.astype(kind, order="C")
        return
    columns = by_unit.tocsc()
    for at in range(0, by_unit.shape[1], width):
        yield columns[:, at : at + width].toarray().T.astype(kind, order="C")


def _joined(parts: Iterator[dict[str, Floats]]) -> dict[str, Floats]:
    found = list(parts)
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]} if found else {}
