"""How often intervals hold the true value, and a page of tests errs, in studies drawn from known populations.

    python -m benchmarks.coverage [missing | population | page | mix …] [--studies 600]

`missing`: the calibration's interval if one to nine people lack each prompt, with people redrawn per prompt or once for
all. `population`: the interval of the entropy of all that people would name. `page`: how many studies without any
difference have a corrected p below .05. `mix`: shares standardised to the field's mix. Needs no database.
"""

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analysis.stats import population
from analysis.stats.heterogeneity import compare_redrawn, mean_excess, measure_distance, permutation_test
from analysis.stats.intervals import holm, share_interval
from analysis.stats.item_measures import MEASURES
from analysis.stats.resampling import ItemSample, Roll, SharedDraws

NAMED = 5
Logits = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all by default")
    parser.add_argument("--studies", type=int, default=600)
    options = parser.parse_args()
    for name in options.names or PROGRAMS:
        for line in PROGRAMS[name](options.studies):
            print(f"{name}: {line}", flush=True)


# --- answers


def zipf(items: int, steepness: float = 1.0) -> Logits:
    return -steepness * np.log(np.arange(1, items + 1))


def answers(logits: Logits, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw five different items for each row of log odds: the largest of these plus Gumbel noise."""
    return np.argpartition(-(logits + rng.gumbel(size=logits.shape)), NAMED - 1, axis=1)[:, :NAMED]


def sample_of(best: NDArray[np.int64], size: int, roll: Roll | None = None) -> ItemSample:
    rows = np.repeat(np.arange(len(best), dtype=np.int32), NAMED)
    return ItemSample(len(best), rows, np.sort(best, axis=1).ravel().astype(np.int32), size, roll=roll)


def true_counts(logits: Logits, many: int = 200_000) -> NDArray[np.int64]:
    rng, width = np.random.default_rng(0), max(1, 2_000_000 // len(logits))
    parts = [answers(np.tile(logits, (min(width, many - at), 1)), rng) for at in range(0, many, width)]
    return np.bincount(np.concatenate(parts).ravel(), minlength=len(logits))


# --- the calibration with missing answers

PEOPLE, PROMPTS, ITEMS, DRAWS = 100, 9, 40, 400


def missing(studies: int) -> Iterator[str]:
    dice = np.random.default_rng(7)
    base, taste = zipf(ITEMS), 2.0 * dice.normal(size=ITEMS)
    offline = base + 0.6 * dice.normal(size=ITEMS)
    field = true_counts(base) + true_counts(base + taste)  # half of the people each, the same half in every prompt
    true = float(measure_distance(field, true_counts(offline))[0])
    for words, most, once in (("nothing missing", 0, True), ("drawn apart", 9, False), ("drawn once for all", 9, True)):
        hits = 0
        for study in range(studies):
            rng, shared, found = np.random.default_rng(study), SharedDraws(study, DRAWS), []
            kinds = rng.integers(0, 2, PEOPLE)[:, None]
            for prompt in range(PROMPTS):
                said = answers(base + taste * kinds, rng)
                there = np.sort(rng.permutation(PEOPLE)[: PEOPLE - (prompt % most + 1 if most else 0)])
                roll = (there, PEOPLE) if once and most else None
                pair = (
                    sample_of(said[there], ITEMS, roll),
                    sample_of(answers(np.tile(offline, (PEOPLE, 1)), rng), ITEMS),
                )
                drawn = shared.redraw(pair[0], "field"), shared.redraw(pair[1], "offline")
                found.append(compare_redrawn(*drawn, shared.split(*pair, "field", "offline")))
            ci = mean_excess(found).ci
            hits += ci is not None and ci[0] <= true <= ci[1]
        yield f"{words}: the interval holds the mean divergence in {hits / studies:.3f} of {studies} studies"


# --- the entropy of a population


def population_entropy(studies: int) -> Iterator[str]:
    for items, steepness in ((60, 1.0), (200, 1.0), (60, 0.0), (1000, 1.0)):
        logits = zipf(items, steepness)
        counts = true_counts(logits)
        shares = counts[counts > 0] / counts.sum()
        true = float(-(shares * np.log2(shares)).sum()) + (len(shares) - 1) / (2 * counts.sum() * np.log(2))
        for n in (20, 50, 100, 400):
            rng, hits, values, covered = np.random.default_rng(n), 0, [], []
            for _ in range(studies):
                found = population.population_entropy(sample_of(answers(np.tile(logits, (n, 1)), rng), items))
                if found.ci and found.bits is not None:
                    hits += found.ci[0] <= true <= found.ci[1]
                    values.append(found.bits)
                    covered.append(found.coverage)
            off = np.mean(values) - true
            yield (
                f"{items} items, steepness {steepness:g}, {n} people: coverage of mentions {np.mean(covered):.2f}, "
                f"off by {off:+.3f} of {true:.2f} bits, interval holds it in {hits / max(1, len(values)):.3f}"
            )


# --- a page of tests where nothing differs


def page(studies: int) -> Iterator[str]:
    """Test nine prompts, four sources and three measures (108 tests); all sources are compared with the same field."""
    logits, wrong = zipf(30), {"by draws": 0, "by tail": 0}
    for study in range(studies):
        rng, shared = np.random.default_rng(study), SharedDraws(study, 1000)
        chances: list[tuple[float | None, float | None]] = []
        for prompt in range(PROMPTS):
            field, *calls = (sample_of(answers(np.tile(logits, (100, 1)), rng), 30) for _ in range(5))
            for source, sample in enumerate(calls):
                found = permutation_test(shared.split(field, sample, "field", f"{prompt} {source}"), 100)
                chances += [found[name] for name in MEASURES]
        for place, words in enumerate(wrong):
            corrected = holm([chance[place] for chance in chances])
            wrong[words] += any(p is not None and p < 0.05 for p in corrected)
    for words, count in wrong.items():
        yield f"p {words}: {count} of {studies} studies of {len(chances)} tests have a corrected p below .05"


# --- another mix


def mix(studies: int) -> Iterator[str]:
    truth, field, calls = np.array([0.9, 0.1]), np.array([180, 20]), np.array([100, 100])
    weights, hits, raw = field / field.sum(), 0, 0
    for study in range(studies):
        rng = np.random.default_rng(study)
        people, answered = rng.binomial(field, truth), rng.binomial(calls, truth)
        parts = [
            population.StratumShare(some / n, share_interval(int(some), int(n)))
            for some, n in (*zip(people, field, strict=True), *zip(answered, calls, strict=True))
        ]
        found = population.weighted([*weights, *-weights], parts).ci
        hits += found is not None and found[0] <= 0 <= found[1]
        whole = [
            population.StratumShare(some.sum() / n.sum(), share_interval(int(some.sum()), int(n.sum())))
            for some, n in ((people, field), (answered, calls))
        ]
        found = population.weighted([1, -1], whole).ci
        raw += found is not None and found[0] <= 0 <= found[1]
    held = f"raw in {raw / studies:.3f}, standardised in {hits / studies:.3f} of {studies} studies"
    yield f"90:10 beside 50:50, each chatbot the same: the interval holds no difference {held}"


PROGRAMS = {"missing": missing, "population": population_entropy, "page": page, "mix": mix}

if __name__ == "__main__":
    main()
