"""Random draws that come out the same on any machine and with any version of Python."""

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")

# Python promises only that `random()` of its generator stays as it is, so nothing else is used.


def generator(*parts: object) -> random.Random:
    """A generator seeded by what it is for, such as the run's seed, the user's number and "history"."""
    words = "\0".join(str(part) for part in parts)
    return random.Random(int.from_bytes(hashlib.sha256(words.encode()).digest(), "big"))


def draw(items: Sequence[Item], number: int, dice: random.Random) -> list[Item]:
    """Draw `number` different items, in the order drawn. Raises ValueError if there are fewer."""
    if number > len(items):
        raise ValueError(f"{number} can't be drawn from {len(items)} without replacement.")
    places = list(range(len(items)))
    for at in range(number):
        other = at + int(dice.random() * (len(places) - at))
        places[at], places[other] = places[other], places[at]
    return [items[place] for place in places[:number]]
