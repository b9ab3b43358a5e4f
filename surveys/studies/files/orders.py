"""In which order a person meets the prompts: balanced rows, or a shuffle from a seed."""

import hashlib
import random
from collections.abc import Callable


def order_rows(n: int, scheme: str) -> list[list[int]]:
    """The rows of a scheme for n prompts, each row a permutation of 0 … n-1.

    `williams` has n rows for even n and 2n for odd n, `latin` n rows, `fixed` one. A `shuffle` has no
    rows: each person gets an order of their own from `order_for`.
    """
    if n < 1:
        raise ValueError(f"An order needs at least one prompt, not {n}.")
    if scheme not in ROWS:
        raise ValueError(f"The order scheme {scheme!r} has no rows; the schemes with rows are {', '.join(ROWS)}.")
    return ROWS[scheme](n)


def order_for(n: int, scheme: str, number: int, seed: str) -> list[int]:
    """The order of the person with this running number (from 0); the seed matters to `shuffle` only."""
    if scheme == "shuffle":
        return shuffled(n, f"{seed}\n{number}")
    rows = order_rows(n, scheme)
    return rows[number % len(rows)]


def _williams(n: int) -> list[list[int]]:
    """Williams (1949): every prompt equally often at each position and after each other prompt.

    The first row zigzags 0, 1, n-1, 2, n-2, …, so that its neighbours differ by every step 1 … n-1 once when
    n is even; adding 1 (mod n) gives the other rows. For odd n each step comes twice or never, which the
    mirrored rows repair.
    """
    zigzag = [0] + [(step + 1) // 2 if step % 2 else n - step // 2 for step in range(1, n)]
    rows = [[(item + shift) % n for item in zigzag] for shift in range(n)]
    if n % 2 and n > 1:
        rows += [row[::-1] for row in rows]
    return rows


def _latin(n: int) -> list[list[int]]:
    """The cyclic square: positions are balanced, neighbours are not."""
    return [[(position + shift) % n for position in range(n)] for shift in range(n)]


def _fixed(n: int) -> list[list[int]]:
    return [list(range(n))]


def shuffled(n: int, seed: str) -> list[int]:
    if n < 1:
        raise ValueError(f"An order needs at least one prompt, not {n}.")
    order = list(range(n))
    random.Random(seed_of(seed)).shuffle(order)
    return order


def seed_of(words: str) -> int:
    """Python's own hash of a string changes with each process, so the seed goes through SHA-256."""
    return int.from_bytes(hashlib.sha256(words.encode()).digest(), "big")


ROWS: dict[str, Callable[[int], list[list[int]]]] = {"williams": _williams, "latin": _latin, "fixed": _fixed}
SCHEMES = (*ROWS, "shuffle")
