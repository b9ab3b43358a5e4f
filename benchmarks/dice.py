"""How often "person or dice" is right in worlds whose truth is known, with 20 to 400 people.

    python -m benchmarks.dice [split | choices | null | explained | taken | carried | arms …] [--studies 400]

`split`: the means, and how often their 95 % intervals hold the true value. `choices`: the same for questions with
letters. `null`: people who do not differ at all. `explained`: one explanation planted among ten; `taken`: the same by
PERMANOVA. `carried`: answers that repeat an item of the one before, and answers that do not. `arms`: a state of the
account with and without effect, which a fifth of the people cannot reach. Needs no database.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.stats.intervals import holm
from analysis.stats.persons import shares
from analysis.stats.persons.arms import Carried, Change, States, carried_over, change_of
from analysis.stats.persons.explaining import Explained, by_level, by_step, centre, explain, permanova
from analysis.stats.persons.shares import ReadableAnswers, pairs_of, unlike_choices, unlike_lists
from analysis.stats.resampling import ChoiceSample, ItemSample
from benchmarks.coverage import answers, zipf

ITEMS, NAMED, PROMPTS, CALLS = 30, 5, 4, 200
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A world in which an answer is the best five of ITEMS by log odds + taste of the person + dice of the moment.

    `taste` is how far people differ; `heat` is how hot the product's dice are, where the API's are 1. If `options` is
    set, an answer is one of so many letters.
    """

    taste: float = 1.0
    heat: float = 1.3
    options: int = 0

    @property
    def size(self) -> int:
        return self.options or ITEMS

    def tastes(self, people: int, rng: np.random.Generator) -> Floats:
        """Draw tastes (PROMPTS, people, items); how strong they are is the person's, the same in all prompts."""
        strength = np.abs(rng.normal(size=(1, people, 1))) + 0.2
        return self.taste * strength * rng.normal(size=(PROMPTS, people, self.size))

    def say(self, logits: Floats, heat: float, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one answer for each row of log odds: the codes of five items, or one letter."""
        if self.options:
            return np.argmax(logits / heat + rng.gumbel(size=logits.shape), axis=1)[:, None]
        return answers(logits / heat, rng)

    def unlike(self, said: NDArray[np.int64], of: NDArray[np.int64]) -> ReadableAnswers:
        if self.options:
            return unlike_choices(ChoiceSample(said[:, 0].astype(np.int8), self.options, 0), of)
        rows = np.repeat(np.arange(len(said), dtype=np.int32), said.shape[1])
        return unlike_lists(ItemSample(len(said), rows, said.ravel().astype(np.int32), ITEMS), of)

    def logits(self, prompt: int) -> Floats:
        return np.roll(zipf(self.size, 0.8), prompt)[None]


@dataclass(frozen=True)
class Truth:
    within: float
    between: float
    offline: float

    @property
    def known(self) -> dict[str, float]:
        return {
            "within": self.within,
            "between": self.between,
            "person": self.between - self.within,
            "share": 1 - self.within / self.between,
            "dice": self.within - self.offline,
            "added": self.between - self.offline,
        }


@lru_cache
def truth_of(world: World, many: int = 40_000, prompts: int = PROMPTS) -> Truth:
    """Compute the means over `many` people, each compared with the next."""
    rng, found = np.random.default_rng(0), []
    tastes = world.tastes(many, rng)
    for prompt in range(prompts):
        base = world.logits(prompt)
        first, second = (world.say(base + tastes[prompt], world.heat, rng) for _ in range(2))
        calls = world.say(np.repeat(base, many, axis=0), 1.0, rng)
        pairs = (first, second), (first, np.roll(second, 1, axis=0)), (calls, np.roll(calls, 1, axis=0))
        found.append([unlike_rows(one, other) for one, other in pairs])
    return Truth(*np.mean(found, axis=0))


def unlike_rows(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    shared = (one[:, :, None] == other[:, None, :]).sum(axis=(1, 2))
    return float(1 - shared.mean() / one.shape[1])


def study_of(
    world: World, people: int, repeated: int, rng: np.random.Generator
) -> tuple[list[ReadableAnswers], list[ReadableAnswers]]:
    """Draw the answers of the field, `repeated` of the people asked twice, and of stateless calls, by prompt."""
    tastes, field, offline = world.tastes(people, rng), [], []
    for prompt in range(PROMPTS):
        base = world.logits(prompt)
        first, second = (world.say(base + tastes[prompt], world.heat, rng) for _ in range(2))
        said = np.concatenate([first, second[:repeated]])
        field.append(world.unlike(said, np.concatenate([np.arange(people), np.arange(repeated)])))
        calls = world.say(np.repeat(base, CALLS, axis=0), 1.0, rng)
        offline.append(world.unlike(calls, np.arange(CALLS)))
    return field, offline


def measure_study(world: World, people: int, repeated: int, study: int, draws: int = 400) -> dict[str, object]:
    rng = np.random.default_rng([study, people, repeated])
    field, offline = map(shares.measure, study_of(world, people, repeated, rng))
    side, split = shares.describe(field, shares.Assignments(rng, draws)), shares.split(field, offline)
    names = ("within", "between", "person", "share")
    found: dict[str, object] = {name: getattr(side, name) for name in names}
    return found | {"dice": split.dice, "added": split.added, "p": side.p}


def coverage(world: World, people: int, repeated: int, studies: int) -> dict[str, tuple[float, float]]:
    """Return, for each number, how often its interval holds the truth and how far its mean is off."""
    truth = truth_of(world).known
    found = [measure_study(world, people, repeated, study) for study in range(studies)]
    held = {}
    for name, true in truth.items():
        of_name = [each[name] for each in found]
        hits = [each.ci is not None and each.ci[0] <= true <= each.ci[1] for each in of_name]
        held[name] = float(np.mean(hits)), float(np.mean([each.value for each in of_name]) - true)
    return held


def split(studies: int, world: World = World()) -> Iterator[str]:
    truth = truth_of(world)
    yield f"truth: within {truth.within:.3f}, between {truth.between:.3f}, offline {truth.offline:.3f}"
    for people, repeated in ((20, 20), (40, 20), (50, 50), (200, 200), (400, 200)):
        found = coverage(world, people, repeated, studies)
        told = ", ".join(f"{name} {held:.3f} (off {off:+.4f})" for name, (held, off) in found.items())
        yield f"{people} people, {repeated} asked twice: intervals hold {told}"


def of_choices(studies: int) -> Iterator[str]:
    yield from split(studies, World(taste=1.0, heat=1.0, options=4))


def null(studies: int) -> Iterator[str]:
    """Tell how often, if people do not differ at all, the share's interval holds 0 and the test finds a person."""
    world = World(taste=0.0)
    for people in (20, 50, 200):
        found = [measure_study(world, people, people, study) for study in range(studies)]
        holds = np.mean([each["share"].ci[0] <= 0 <= each["share"].ci[1] for each in found])
        wrong = np.mean([each["p"] < 0.05 for each in found])
        yield f"{people} people: the share's interval holds 0 in {holds:.3f}, p < .05 in {wrong:.3f}"


# --- one explanation among ten

MEMORY = "memory"
OTHERS = tuple(f"level {number}" for number in range(8))
MOVED = 8  # taste of people with memory, as a multiple of others': moves their distance to the crowd by half of .1


def explained_study(
    people: int, rng: np.random.Generator, moved: float = MOVED
) -> tuple[list[ReadableAnswers], NDArray[np.int64], list[NDArray[np.int64]]]:
    """Draw answers by prompt, the position of each (itself an explanation), and the levels of nine, memory first."""
    world = World(taste=0.6)
    levels = [rng.integers(0, 2 if at < 5 else 3, people) for at in range(1 + len(OTHERS))]
    tastes = world.tastes(people, rng) * np.where(levels[0], moved or 1.0, 1.0)[None, :, None]
    positions = rng.permuted(np.tile(np.arange(PROMPTS), (people, 1)), axis=1).T
    found = []
    for prompt in range(PROMPTS):
        said = world.say(world.logits(prompt) + tastes[prompt], 1.0, rng)
        found.append(world.unlike(said, np.arange(people)))
    return found, positions, levels


def explain_study(people: int, study: int, moved: float = MOVED) -> list[Explained]:
    found, positions, levels = explained_study(people, np.random.default_rng([study, people, 7]), moved)
    y = np.concatenate([pairs_of(each).others for each in found])
    prompts, persons = np.repeat(np.arange(PROMPTS), people), np.tile(np.arange(people), PROMPTS)
    named = [
        by_level(name, [f"{level}" for level in np.tile(level, PROMPTS)], persons, order=("0", "1", "2"))
        for name, level in zip((MEMORY, *OTHERS), levels, strict=True)
    ]
    steps = by_step("position", positions.ravel().astype(float))
    return explain(y, prompts, persons, [each for each in (*named, steps) if each])


def explained(studies: int) -> Iterator[str]:
    for people in (50, 200):
        for words, moved in (("memory planted", MOVED), ("nothing planted", 0.0)):
            found = [explain_study(people, study, moved) for study in range(studies)]
            right, wrong, values = 0, 0, []
            for study in found:
                corrected = dict(zip([each.name for each in study], holm([each.p for each in study]), strict=True))
                named = {name for name, p in corrected.items() if p is not None and p < 0.05}
                right += MEMORY in named
                wrong += bool(named - {MEMORY})
                values.append(study[0].effects[0].value)
            yield (
                f"{people} people, {words}: y moves by {np.mean(values):+.3f}, named in {right / studies:.3f}, "
                f"another of the ten in {wrong / studies:.3f} of {studies} studies"
            )


def taken(studies: int) -> Iterator[str]:
    """Run PERMANOVA on the first prompt of such studies: how often memory, and another explanation, has p < .05."""
    for words, moved in (("memory planted", MOVED), ("nothing planted", 0.0)):
        right, spread, wrong = 0, 0, 0
        for study in range(studies):
            rng = np.random.default_rng([study, 9])
            found, _, levels = explained_study(100, rng, moved)
            centred = centre(found[:1])
            memory, other = permanova(centred, [levels[0], levels[6]], rng, 199)
            right += memory.p < 0.05
            spread += memory.p_spread < 0.05
            wrong += other.p < 0.05
        yield (
            f"100 people, {words}: p < .05 of memory in {right / studies:.3f} (of its spread in "
            f"{spread / studies:.3f}), of another in {wrong / studies:.3f} of {studies} studies"
        )


# --- carry-over


def carried_study(people: int, repeats: float, rng: np.random.Generator) -> Carried:
    """Draw answers to four prompts over one vocabulary; a share `repeats` has the previous answer's first item."""
    world = World(taste=0.5)
    positions = rng.permuted(np.tile(np.arange(PROMPTS), (people, 1)), axis=1)
    tastes = world.tastes(people, rng)
    said = np.stack(
        [world.say(np.roll(world.logits(0), 7 * at) + tastes[at], 1.0, rng) for at in range(PROMPTS)], axis=1
    )
    order = np.argsort(positions, axis=1)
    for step in range(1, PROMPTS):
        now, last = order[:, step], order[:, step - 1]
        carry = rng.random(people) < repeats
        item = said[np.arange(people), last, 0]
        there = (said[np.arange(people), now] == item[:, None]).any(axis=1)
        said[np.arange(people)[carry & ~there], now[carry & ~there], 0] = item[carry & ~there]
    rows = np.repeat(np.arange(people * PROMPTS), NAMED)
    ones = np.ones(len(rows), dtype=np.float32)
    named = sparse.csr_array((ones, (rows, said.reshape(-1))), shape=(people * PROMPTS, ITEMS))
    persons, prompts = np.repeat(np.arange(people), PROMPTS), np.tile(np.arange(PROMPTS), people)
    return carried_over(named, persons, prompts, positions.ravel(), np.zeros_like(persons))[0]


def carried(studies: int) -> Iterator[str]:
    for repeats in (0.0, 0.3):
        found = [carried_study(100, repeats, np.random.default_rng([study, 3])) for study in range(studies)]
        told = np.mean([one.excess.ci is not None and one.excess.ci[0] > 0 for one in found])
        less = np.mean([one.excess.ci is not None and one.excess.ci[1] < 0 for one in found])
        excess = np.mean([one.excess.value for one in found])
        yield (
            f"100 people, {repeats:.0%} of later answers repeat an item: excess {excess:+.3f}, its interval above 0 in "
            f"{told:.3f}, below 0 in {less:.3f} of {studies} studies"
        )


# --- arms


def arm_study(people: int, effect: float, rng: np.random.Generator) -> tuple[Change, Change]:
    """Return the change beyond the dice and that of a length; a fifth of the people cannot reach the state."""
    world = World()
    tastes = world.tastes(people, rng)[0]
    base = world.logits(0)
    usual = [world.say(base + tastes, world.heat, rng) for _ in range(2)]
    other = world.say(base + (1 - effect) * tastes, world.heat, rng)
    reached = np.flatnonzero(rng.random(people) >= 0.2)
    said = np.concatenate([*usual, other[reached]])
    of = np.concatenate([np.arange(people), np.arange(people), reached])
    unlike = world.unlike(said, of)
    states = States(unlike.unlike, unlike.of, np.arange(len(said)) >= 2 * people)
    lengths = rng.poisson(200, len(said)) + 30.0 * effect * states.is_other
    return tuple(change_of([trio], rng, 400) for trio in (states.beyond_dice(), states.change(lengths)))


def arms(studies: int) -> Iterator[str]:
    for people in (20, 50, 200):
        for effect in (0.0, 1.0):
            found = [arm_study(people, effect, np.random.default_rng([study, 5])) for study in range(studies)]
            told = [np.mean([one[at].p < 0.05 for one in found]) for at in (0, 1)]
            value = np.mean([one[0].mean.value for one in found])
            words = "taste switched off" if effect else "no effect"
            yield (
                f"{people} people, {words}: beyond the dice {value:+.4f}, p < .05 in {told[0]:.3f}, of the length in "
                f"{told[1]:.3f} of {studies} studies"
            )


PROGRAMS = {
    "explained": explained,
    "taken": taken,
    "carried": carried,
    "arms": arms,
    "split": split,
    "choices": of_choices,
    "null": null,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all by default")
    parser.add_argument("--studies", type=int, default=400)
    options = parser.parse_args()
    for name in options.names or PROGRAMS:
        for line in PROGRAMS[name](options.studies):
            print(f"{name}: {line}", flush=True)


if __name__ == "__main__":
    main()
