"""How often a blend of sources is told from luck, and its weights are found, in worlds whose truth is known.

    python -m benchmarks.blends [null | blend] [--studies 200]

`null`: people answer as one of the sources does; the sources differ in how concentrated their answers are and in their
number of answers. `blend`: half of the people answer as one source does, half as another. Needs no database.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from analysis.stats.intervals import Interval
from analysis.stats.persons.blends import Blend, BlendSides, PromptAnswers, blend, chance_of_luck, compare
from benchmarks.coverage import answers

ITEMS, PROMPTS, TASTE = 40, 4, 0.5


@dataclass(frozen=True)
class Kind:
    """A source: how even its items' shares are (Dirichlet's parameter), its units, and the answers of each."""

    even: float
    units: int
    repeats: int = 1


SHARP, USUAL, FLAT = Kind(0.05, 40), Kind(0.3, 30, 3), Kind(1.0, 60)
FEW, MANY = Kind(0.3, 20, 2), Kind(1.0, 200)
# The sources of each world, and how many people answer.
WORLDS: dict[str, tuple[Sequence[Kind], int]] = {
    "unequal": ((SHARP, USUAL, FLAT, FEW), 60),
    "flat field": ((FLAT, SHARP, USUAL, MANY), 40),
    "few people": ((USUAL, FLAT, SHARP), 20),
    "two alike": ((USUAL, USUAL, FLAT, SHARP), 60),
    "calls": ((MANY, Kind(0.05, 200)), 100),
}


def make_world(kinds: Sequence[Kind], shares: NDArray[np.float64], people: int, rng: np.random.Generator) -> BlendSides:
    """Draw a world in which `shares` of the people answer as each source; equal kinds give items equally often."""
    logits = {kind: np.log(rng.dirichlet(np.full(ITEMS, kind.even), size=PROMPTS) + 1e-9) for kind in kinds}
    of_people = rng.choice(len(kinds), size=people, p=shares)
    units = people + sum(kind.units for kind in kinds)
    return BlendSides([make_prompt(kinds, logits, at, of_people, rng) for at in range(PROMPTS)], len(kinds) + 1, units)


def make_prompt(
    kinds: Sequence[Kind],
    logits: dict[Kind, NDArray[np.float64]],
    prompt: int,
    of_people: NDArray[np.int64],
    rng: np.random.Generator,
) -> PromptAnswers:
    odds, side, unit = [np.array([logits[kinds[kind]][prompt] for kind in of_people])], [np.zeros(len(of_people))], []
    odds[0] = odds[0] + TASTE * rng.normal(size=odds[0].shape)
    unit.append(np.arange(len(of_people)))
    first = len(of_people)
    for number, kind in enumerate(kinds, 1):
        taste = TASTE * rng.normal(size=(kind.units, ITEMS))
        odds.append(np.repeat(logits[kind][prompt] + taste, kind.repeats, axis=0))
        unit.append(first + np.repeat(np.arange(kind.units), kind.repeats))
        side.append(np.full(len(unit[-1]), number))
        first += kind.units
    said = answers(np.concatenate(odds), rng)
    rows = np.repeat(np.arange(len(said)), said.shape[1])
    named = csr_matrix((np.ones(said.size), (rows, said.ravel())), (len(said), ITEMS))
    return compare(named, np.concatenate(side).astype(np.int64), np.concatenate(unit))


def null(studies: int) -> Iterator[str]:
    for name, (kinds, people) in WORLDS.items():
        shares = np.eye(len(kinds))[0]
        found = [
            chance_of_luck(make_world(kinds, shares, people, np.random.default_rng([study, people])).measured)
            for study in range(studies)
        ]
        yield f"{name}: p at most .05 in {np.mean(np.array(found) <= 0.05):.3f} of {studies} null worlds"


def of_two(studies: int) -> Iterator[str]:
    """Half the people answer as the first source, half as the last. Skips worlds with equal sources: any split fits."""
    for name, (kinds, people) in WORLDS.items():
        if len(set(kinds)) < len(kinds):
            continue
        truth = np.zeros(len(kinds))
        truth[[0, -1]] = 0.5
        found = []
        for study in range(studies):
            rng = np.random.default_rng([study, people, 1])
            found.append(blend(make_world(kinds, truth, people, rng), rng, 200))
        held = np.array([[holds(*pair) for pair in zip(each.weights_ci, truth, strict=True)] for each in found])
        mean = np.mean([each.weights for each in found], axis=0)
        others = f", of the others in {held[:, 1:-1].mean():.3f}" if len(kinds) > 2 else ""
        yield (
            f"{name}: p at most .05 in {np.mean([(each.p or 0) <= 0.05 for each in found]):.3f} of {studies}; mean "
            f"weights {', '.join(f'{weight:.3f}' for weight in mean)}; intervals hold those of the two in "
            f"{held[:, [0, -1]].mean():.3f}{others}; the blend is nearer by {gain_of(found)}"
        )


def holds(ci: Interval | None, true: float) -> bool:
    return ci is not None and ci[0] <= true <= ci[1]


def gain_of(found: Sequence[Blend]) -> str:
    gains = [each.held_out.gain for each in found if each.held_out.gain.value is not None]
    sure = np.mean([each.ci is not None and each.ci[0] > 0 for each in gains]) if gains else np.nan
    return f"{np.mean([each.value for each in gains]):.3f} held out, surely in {sure:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["null", "blend"])
    parser.add_argument("--studies", type=int, default=200)
    options = parser.parse_args()
    for name in options.names:
        for line in {"null": null, "blend": of_two}[name](options.studies):
            print(line, flush=True)


if __name__ == "__main__":
    main()
