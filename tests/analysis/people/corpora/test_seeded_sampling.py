"""Draws by seed: the same on any machine, without replacement, and fair."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as some

from analysis.people.corpora.seeded_sampling import draw, generator


def test_draw_is_what_it_was_when_this_was_written() -> None:
    # Runs in existing databases were drawn like this: another result here would break them.
    assert draw("abcdefghij", 5, generator(7, 0, "history")) == ["b", "f", "j", "a", "d"]


@given(some.integers(0, 60), some.integers(0, 60), some.integers())
def test_draw_takes_each_item_once(size: int, wanted: int, seed: int) -> None:
    number = min(size, wanted)
    drawn = draw(range(size), number, generator(seed))
    assert len(set(drawn)) == len(drawn) == number
    assert set(drawn) <= set(range(size))


def test_draw_is_fair() -> None:
    counted = Counter(item for seed in range(3000) for item in draw("abcde", 2, generator(seed)))
    # 3000 draws of 2 out of 5: each item 1200 times; four standard deviations are 107.
    assert all(abs(number - 1200) < 107 for number in counted.values())


def test_longer_draw_begins_like_the_shorter_one() -> None:
    assert draw("abcdefgh", 8, generator(1))[:3] == draw("abcdefgh", 3, generator(1))


def test_draw_of_more_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="4 can't be drawn from 3"):
        draw("abc", 4, generator(1))
