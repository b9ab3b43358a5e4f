"""The order in which a person is asked the prompts, some of them again.

Orders are balanced rows, or a shuffle from a seed. An asking is a prompt asked once of a person: on a first or second
occasion, in the usual state of their account or another.
"""

import hashlib
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import StrictInt

from surveys.studies.files.values import Line, LongText, OneOrMore, Slug, entries, number, one_of, within


def order_rows(n: int, scheme: str) -> list[list[int]]:
    """The rows of a scheme for n prompts, each row a permutation of 0 … n-1. Raises ValueError.

    `williams` has n rows for even n and 2n for odd n > 1, `latin` n rows, `fixed` one. A `shuffle` has no rows: each
    person gets an order of their own from `order_for`.
    """
    if n < 1:
        raise ValueError(f"An order needs at least one prompt, not {n}.")
    if scheme not in ROWS:
        raise ValueError(f"The order scheme {scheme!r} has no rows; the schemes with rows are {', '.join(ROWS)}.")
    return ROWS[scheme](n)


def order_for(n: int, scheme: str, number: int, seed: str) -> list[int]:
    """The order of the person with this running number (from 0); only `shuffle` uses the seed."""
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


def shuffled(n: int, seed: str) -> list[int]:
    if n < 1:
        raise ValueError(f"An order needs at least one prompt, not {n}.")
    order = list(range(n))
    random.Random(seed_of(seed)).shuffle(order)
    return order


def seed_of(words: str) -> int:
    """The seed as a number, through SHA-256: Python's own hash of a string changes with each process."""
    return int.from_bytes(hashlib.sha256(words.encode()).digest(), "big")


ROWS: dict[str, Callable[[int], list[list[int]]]] = {
    "williams": _williams,
    # The cyclic square: positions are balanced, neighbours are not.
    "latin": lambda n: [[(position + shift) % n for position in range(n)] for shift in range(n)],
    "fixed": lambda n: [list(range(n))],
}
SCHEMES = (*ROWS, "shuffle")


# --- askings ------------------------------------------------------------------

EVERY = ("all",)
BLOCK = 4  # successive places of a cell; the share of people is kept to in each block
APART = 2  # another prompt comes between two askings of one


@dataclass(frozen=True)
class Repeats:
    """Prompts that a share of the people are asked twice, in the usual state of their account."""

    prompts: Annotated[tuple[Slug, ...], entries(1)]
    apart: Annotated[StrictInt, within(1, 100)] = APART
    people: Annotated[float, number(0, 1, above=True)] = 1.0


@dataclass(frozen=True)
class Arm:
    """Another state of the account in which some prompts are asked once more, before or after the usual one."""

    slug: Slug
    name: Line
    instruction: LongText
    prompts: Annotated[tuple[Slug, ...], entries(1)]
    order: Annotated[str, one_of("balanced", "before", "after")] = "balanced"


@dataclass(frozen=True)
class Rating:
    """One question about a pasted answer, to be rated from 1 to 5 or by "I can't say"."""

    text: Line
    prompts: OneOrMore = EVERY

    def is_asked_of(self, prompt: str) -> bool:
        return self.prompts == EVERY or prompt in self.prompts


class Asking(NamedTuple):
    """A prompt as it is asked of a person: in which state of the account, and on which occasion."""

    prompt: str
    arm: str = ""  # empty: the usual state
    occasion: int = 1

    @property
    def is_first(self) -> bool:
        """Whether it is the prompt itself, which everybody is asked."""
        return not self.arm and self.occasion == 1

    @property
    def slug(self) -> str:
        return self.prompt if self.is_first else f"{self.prompt}--{self.arm or self.occasion}"


def askings_of(prompts: Sequence[str], repeats: Repeats | None, arms: Sequence[Arm]) -> list[Asking]:
    """All prompts, and then their further askings, prompt by prompt."""
    return [*map(Asking, prompts), *(asking for prompt in prompts for asking in again(prompt, repeats, arms))]


def again(prompt: str, repeats: Repeats | None, arms: Sequence[Arm]) -> Iterator[Asking]:
    if repeats and prompt in repeats.prompts:
        yield Asking(prompt, occasion=2)
    yield from (Asking(prompt, arm.slug) for arm in arms if prompt in arm.prompts)


def most_apart(prompts: int, times: int) -> int:
    """How far apart the askings of one prompt can be for everybody, wherever an order puts the prompt.

    With d other prompts between each two of `times` askings, one of them fits at any of the places as long as times · d
    ≤ prompts.
    """
    return 1 + prompts // times


def is_drawn(share: float, place: int, seed: str) -> bool:
    """Whether the person in this place of a cell is drawn, in blocks, so that the share of people is kept to."""
    block, within_block = divmod(place, BLOCK)
    wanted = math.floor((block + 1) * BLOCK * share + 0.5) - math.floor(block * BLOCK * share + 0.5)
    return within_block in shuffled(BLOCK, f"{seed}\n{block}")[:wanted]


def put_in(row: Sequence[str], repeats: Repeats | None, arms: Sequence[Arm], place: int, seed: str) -> list[str]:
    """Insert this person's further askings into an order of prompts, determined by place and seed.

    One asking of a prompt takes the prompt's place in the row, the first of the usual state if it can; the others come
    before and after it at random, each two at least `apart`.
    """
    is_repeated = repeats and is_drawn(repeats.people, place, f"{seed}\nrepeats")
    sequences = {
        prompt: [asking.slug for asking in sequence_of(prompt, repeats if is_repeated else None, arms, place, seed)]
        for prompt in row
    }
    most = max((1 + len([*again(prompt, repeats, arms)]) for prompt in row), default=1)
    between = (repeats.apart if repeats else min(APART, most_apart(len(row), most))) - 1
    order = list(row)
    for prompt, sequence in sequences.items():
        if len(sequence) > 1:
            generator = random.Random(seed_of(f"{seed}\n{place}\n{prompt}"))
            order = spread(order, prompt, sequence, between, generator)
    return order


def sequence_of(prompt: str, repeats: Repeats | None, arms: Sequence[Arm], place: int, seed: str) -> list[Asking]:
    """A person's askings of a prompt, in order: arms before the usual state, or between or after its two occasions."""
    before: list[Asking] = []
    after: list[Asking] = []
    for asking in again(prompt, repeats, arms):
        arm = next((arm for arm in arms if arm.slug == asking.arm), None)
        comes_first = arm and (
            arm.order == "before"
            or (arm.order == "balanced" and is_drawn(0.5, place, f"{seed}\n{asking.arm}\n{prompt}"))
        )
        (before if comes_first else after).append(asking)
    generator = random.Random(seed_of(f"{seed}\n{place}\n{prompt}\nsequence"))
    for askings in (before, after):
        generator.shuffle(askings)
    return [*before, Asking(prompt), *after]


def spread(
    order: Sequence[str], prompt: str, sequence: Sequence[str], between: int, generator: random.Random
) -> list[str]:
    """Put the sequence at and around its prompt's place in the order, with at least `between` others between two."""
    place, others = order.index(prompt), [slug for slug in order if slug != prompt]
    last = len(sequence) - 1
    fits = [at for at in range(last + 1) if at * between <= place <= len(others) - (last - at) * between]
    usual = sequence.index(prompt)
    at = usual if usual in fits else generator.choice(fits)
    gaps = [place] * len(sequence)  # how many others come before each asking
    for later in range(at + 1, last + 1):
        gaps[later] = generator.randint(gaps[later - 1] + between, len(others) - (last - later) * between)
    for earlier in range(at - 1, -1, -1):
        gaps[earlier] = generator.randint(earlier * between, gaps[earlier + 1] - between)
    for gap, slug in reversed([*zip(gaps, sequence, strict=True)]):
        others.insert(gap, slug)
    return others
