"""Order schemes: what each one balances, for every number of prompts a study can have."""

from collections import Counter
from itertools import pairwise

import pytest

from surveys.studies.files.askings import SCHEMES, order_for, order_rows

SIZES = range(1, 25)


def count_positions(rows: list[list[int]]) -> Counter[tuple[int, int]]:
    return Counter((position, item) for row in rows for position, item in enumerate(row))


def count_neighbours(rows: list[list[int]]) -> Counter[tuple[int, int]]:
    return Counter(pair for row in rows for pair in pairwise(row))


def test_williams_rows_for_four_prompts():
    # The zigzag 0, 1, n-1, 2; each further row adds 1, modulo 4.
    assert order_rows(4, "williams") == [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]


@pytest.mark.parametrize(("n", "rows"), [(1, 1), (2, 2), (4, 4), (5, 10), (12, 12), (13, 26)])
def test_williams_has_n_rows_for_even_and_twice_n_for_odd(n, rows):
    assert len(order_rows(n, "williams")) == rows


@pytest.mark.parametrize("scheme", ["williams", "latin", "fixed"])
@pytest.mark.parametrize("n", SIZES)
def test_each_row_holds_every_prompt_once(scheme, n):
    assert all(sorted(row) == list(range(n)) for row in order_rows(n, scheme))


@pytest.mark.parametrize("scheme", ["williams", "latin"])
@pytest.mark.parametrize("n", SIZES)
def test_each_prompt_is_equally_often_at_each_position(scheme, n):
    counts = count_positions(order_rows(n, scheme))
    assert len(counts) == n * n
    assert len(set(counts.values())) == 1


@pytest.mark.parametrize("n", range(2, 25))
def test_williams_lets_each_prompt_follow_each_other_equally_often(n):
    counts = count_neighbours(order_rows(n, "williams"))
    assert len(counts) == n * (n - 1)
    assert set(counts.values()) == {2 if n % 2 else 1}


def test_latin_repeats_the_same_neighbours_and_fixed_is_the_order_of_the_file():
    # In a cyclic square 1 follows 0 in every row but the one that ends with 0.
    counts = count_neighbours(order_rows(5, "latin"))
    assert counts[0, 1] == 4
    assert counts[1, 0] == 0
    assert order_rows(4, "fixed") == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("scheme", "rows"), [("williams", 26), ("latin", 13), ("fixed", 1)])
def test_order_for_goes_through_the_rows_and_begins_again(scheme, rows):
    given = [order_for(13, scheme, number, "any") for number in range(2 * rows)]
    assert given[:rows] == given[rows:] == order_rows(13, scheme)


def test_shuffle_is_the_same_for_the_same_person_in_every_process():
    # A literal: a change of it would mean that stored orders cannot be drawn again.
    assert order_for(8, "shuffle", 3, "study-seed") == [7, 4, 5, 3, 2, 1, 6, 0]


def test_shuffle_differs_between_people_and_seeds():
    orders = [order_for(13, "shuffle", number, seed) for number in range(5) for seed in ("a", "b")]
    assert len({tuple(order) for order in orders}) == 10
    assert all(sorted(order) == list(range(13)) for order in orders)


def test_shuffle_uses_every_position_for_every_prompt():
    counts = count_positions([order_for(4, "shuffle", number, "s") for number in range(4000)])
    # 1,000 expected in each of 16 places; the standard deviation is 27, so 150 is more than five of them.
    assert len(counts) == 16
    assert all(abs(count - 1000) < 150 for count in counts.values())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_of_no_prompts_is_refused(scheme):
    with pytest.raises(ValueError, match="at least one prompt"):
        order_for(0, scheme, 0, "s")


@pytest.mark.parametrize("scheme", ["shuffle", "williamz"])
def test_rows_of_a_scheme_without_rows_are_refused(scheme):
    with pytest.raises(ValueError, match=scheme):
        order_rows(4, scheme)
