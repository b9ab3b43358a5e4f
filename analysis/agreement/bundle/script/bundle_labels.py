"""The labels of this bundle as tables in memory, and the coefficients that recompute.py checks."""

import json
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from bundle_checks import Ends, known, read_table, t_quantile

Row = dict[str, Any]
DRAWS = 1000
PERSON, JUDGE, BASELINE, TRAINED = range(4)
KINDS = {"bm25": BASELINE, "embeddings": BASELINE, "trained": TRAINED}  # by the first word of a model's name
FEW, FEWEST = 10, 3  # units: below FEW a jackknife, below FEWEST no interval
FEW_ALIKE = 5  # items
PEOPLE = "people"
NORMAL = NormalDist()
COEFFICIENTS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss", "ac1", "raw")
PAIR_MEASURES = ("raw", "kappa", "ac1", "kappa_linear", "kappa_quadratic", "spearman")


class LabelTables:
    """The bundle's tables and report; `questions` are those with labels."""

    def __init__(self, folder: Path) -> None:
        self.report: Row = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        items = read_table(folder, "items").set_index("item")
        tags = pd.DataFrame({"tags": [json.loads(text) for text in items["tags"]]}, index=items.index)
        about = items[["cluster", "corpus", "revises"]].join(tags)
        said = read_table(folder, "annotations")
        said = said[(said["counted"] == "true") & (said["purpose"] == "work")]
        said = said.join(about, on="item")
        self.naming = read_table(folder, "naming").set_index(["item", "part"])["named"].to_dict()
        asked = [row for row in self.report["questions"] if row["labels"]]
        self.questions = [QuestionTable(row, said[said["revises"] == ""], self.report["threshold"]) for row in asked]
        self.rng = np.random.default_rng(0)


class QuestionTable:
    """One question: `given` has a row per label, `labels` one per rater and unit."""

    def __init__(self, row: Row, said: pd.DataFrame, threshold: int) -> None:
        self.row, self.name, self.values, self.threshold = row, row["question"], row["values"], threshold
        codes = {value: code for code, value in enumerate(self.values)}
        given = said[(said["question"] == self.name) & said["value"].isin(codes)].copy()
        given["code"], given["shown"] = (given[name].map(codes) for name in ("value", "shown_value"))
        given["unit"] = given["item"] + "\0" + given["part"]
        given["kind"] = [kind_of(*pair) for pair in zip(given["rater"], given["is_model"], strict=True)]
        by_user = (given["cluster"] != "").any()
        named = by_user & (given["cluster"] != "")
        given["drawn"] = ("user " + given["cluster"]).where(named, "item " + given["item"])
        self.given = given
        joined = given.groupby(["unit", "rater"], sort=False)["code"].agg(list)
        first = given.drop_duplicates(["unit", "rater"]).set_index(["unit", "rater"])
        self.labels = first.assign(code=joined.map(self.between)).reset_index()
        try:
            self.numbers = [float(value) for value in self.values]
        except ValueError:
            self.numbers = []
        if self.numbers != sorted(set(self.numbers)):
            self.numbers = []
        self.ordered = bool(self.numbers) or row["scale"] == "ordinal"

    def between(self, codes: list[int]) -> int:
        """Mean of a judge's two labels; halves are rounded towards the middle of the scale."""
        mean, middle = sum(codes) / len(codes), (len(self.values) - 1) / 2
        return math.ceil(mean) if mean < middle else math.floor(mean)

    @property
    def positive(self) -> int | None:
        return self.values.index(self.row["positive"]) if self.row["positive"] else None


def kind_of(rater: str, is_model: str) -> int:
    return KINDS.get(rater.split(" ")[0], JUDGE) if is_model == "true" else PERSON


class LabelCodes:
    """Labels as codes from 0 to k - 1; `drawn` is the user or item of each unit, `used` the codes in use."""

    def __init__(self, table: pd.DataFrame, k: int, ordered: bool, numbers: list[float]) -> None:
        self.table, self.k, self.ordered, self.numbers = table, k, ordered, numbers
        self.unit, units = pd.factorize(table["unit"])
        self.rater, names = pd.factorize(table["rater"])
        self.names, self.n_units = list(names), len(units)
        self.code = table["code"].to_numpy(int)
        kinds = table.drop_duplicates("rater").set_index("rater")["kind"]
        self.kinds = np.array([kinds[name] for name in names])
        self.drawn, drawn = pd.factorize(table.drop_duplicates("unit").set_index("unit")["drawn"].loc[units])
        self.n_drawn = len(drawn)
        self.used = np.flatnonzero(np.bincount(self.code, minlength=k))

    def votes(self, raters: np.ndarray) -> np.ndarray:
        """Count labels, (units, k), of the raters in a mask."""
        found = np.zeros((self.n_units, self.k))
        mine = raters[self.rater]
        np.add.at(found, (self.unit[mine], self.code[mine]), 1)
        return found

    @property
    def groups(self) -> dict[str, np.ndarray]:
        """Masks of raters by group; baselines and trained models are in none, unless there is nobody else."""
        others = self.kinds < BASELINE
        found = {"all": others if others.any() else ~others}
        if (self.kinds == PERSON).any() and (self.kinds == JUDGE).any():
            found |= {"humans": self.kinds == PERSON, "models": self.kinds == JUDGE}
        return found

    @property
    def voters(self) -> np.ndarray:
        """Mask of the raters whose labels make the majority: people, else judges, else everybody."""
        return next((self.kinds <= kind for kind in (PERSON, JUDGE) if (self.kinds <= kind).any()), self.kinds >= 0)

    @cached_property
    def pairs(self) -> dict[tuple[int, int], np.ndarray]:
        """Rows (unit, code of one, code of the other) that both labelled, by pair of raters."""
        wide = np.full((self.n_units, len(self.names)), -1)
        wide[self.unit, self.rater] = self.code
        found = {}
        for a, b in combinations(range(len(self.names)), 2):
            both = np.flatnonzero((wide[:, a] >= 0) & (wide[:, b] >= 0))
            found[a, b] = np.column_stack([both, wide[both, a], wide[both, b]])
        return found

    def is_pair_of(self, group: str, a: int, b: int) -> bool:
        one, other = sorted((self.kinds[a], self.kinds[b]))
        if group == "all":
            return bool(other < BASELINE or (self.kinds >= BASELINE).all())
        kinds = {"humans": (PERSON, PERSON), "models": (JUDGE, JUDGE), "across": (PERSON, JUDGE)}
        return (one, other) == kinds[group] if group in kinds else bool(one == PERSON and other >= BASELINE)


# --- coefficients, of sums over units with draws in front ---------------------


def distances(kind: str, margins: np.ndarray, numbers: list[float]) -> np.ndarray:
    """Distances between labels, (draws, k, k): 0 or 1 if nominal, else squared."""
    k = margins.shape[-1]
    if kind == "nominal":
        return np.broadcast_to(1 - np.eye(k), (*margins.shape[:-1], k, k))
    if kind == "interval":
        places = np.broadcast_to(np.array(numbers), margins.shape)
    else:  # ordinal: the number of labels between the two, with half of those at either end
        places = np.cumsum(margins, axis=-1) - margins / 2
    return (places[..., :, None] - places[..., None, :]) ** 2


def alpha(kind: str, votes: np.ndarray, weights: np.ndarray, numbers: list[float]) -> np.ndarray:
    """Krippendorff's alpha, (draws,), of votes (units, k) with weights (draws, units)."""
    m, k = votes.sum(axis=1), votes.shape[1]
    pairs = votes[:, :, None] * votes[:, None, :] - votes[:, :, None] * np.eye(k)
    each = np.where(m[:, None, None] > 1, pairs / np.maximum(m - 1, 1)[:, None, None], 0)
    o = (weights @ each.reshape(len(votes), k * k)).reshape(-1, k, k)
    n_c = o.sum(axis=2)
    n, apart = n_c.sum(axis=1), distances(kind, n_c, numbers)
    observed = (o * apart).sum(axis=(1, 2)) / n
    expected = (n_c[:, :, None] * n_c[:, None, :] * apart).sum(axis=(1, 2)) / (n * (n - 1))
    return 1 - observed / expected


def same_label(votes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Share of equal pairs of labels, (draws,), as a mean over units with two labels or more."""
    m = votes.sum(axis=1)
    two = m > 1
    equal = (votes * (votes - 1)).sum(axis=1)[two] / (m * (m - 1))[two]
    return (weights[:, two] @ equal) / weights[:, two].sum(axis=1)


def beyond_chance(raw: np.ndarray, chance: np.ndarray) -> np.ndarray:
    return (raw - chance) / (1 - chance)


def fleiss(votes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    sums = weights @ votes
    return beyond_chance(same_label(votes, weights), ((sums / sums.sum(axis=1, keepdims=True)) ** 2).sum(axis=1))


def ac1(votes: np.ndarray, weights: np.ndarray, used: int) -> np.ndarray:
    m = votes.sum(axis=1)
    rated = m > 0
    shares = (weights[:, rated] @ (votes[rated] / m[rated, None])) / weights[:, rated].sum(axis=1, keepdims=True)
    chance = (shares * (1 - shares)).sum(axis=1) / (used - 1) if used > 1 else np.full(len(weights), np.nan)
    return beyond_chance(same_label(votes, weights), chance)


def coefficients(ratings: LabelCodes, votes: np.ndarray) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return each coefficient that is defined for these votes, as a function of weights (draws, units)."""
    m = votes.sum(axis=1)
    if (m < 2).all():
        return {}
    found = {"alpha_nominal": lambda weights: alpha("nominal", votes, weights, [])}
    if ratings.ordered:
        found["alpha_ordinal"] = lambda weights: alpha("ordinal", votes, weights, [])
    if ratings.numbers:
        found["alpha_interval"] = lambda weights: alpha("interval", votes, weights, ratings.numbers)
    if len(set(m[m > 0])) == 1:
        found["fleiss"] = lambda weights: fleiss(votes, weights)
    found["ac1"] = lambda weights: ac1(votes, weights, len(ratings.used))
    found["raw"] = lambda weights: same_label(votes, weights)
    return found


def once(ratings: LabelCodes) -> np.ndarray:
    return np.ones((1, ratings.n_units))


def value_of(found: Mapping[str, Callable[[np.ndarray], np.ndarray]], name: str, weights: np.ndarray) -> float | None:
    with np.errstate(divide="ignore", invalid="ignore"):
        return known(found[name](weights)[0]) if name in found else None


# --- two raters --------------------------------------------------------------


def pair_kappa(cells: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Cohen's kappa, (draws,), of tables (draws, k, k): 1 - observed / expected distance."""
    rows, columns, n = cells.sum(axis=2), cells.sum(axis=1), cells.sum(axis=(1, 2))
    expected = (rows[:, :, None] * columns[:, None, :] * apart).sum(axis=(1, 2)) / n**2
    return 1 - (cells * apart).sum(axis=(1, 2)) / n / expected


def tables_of(ratings: LabelCodes, pair: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Counts, (draws, k, k), of how often one said i and the other j."""
    k = ratings.k
    hot = np.eye(k * k)[pair[:, 1] * k + pair[:, 2]]
    return (weights[:, pair[:, 0]] @ hot).reshape(-1, k, k)


def pair_measures(ratings: LabelCodes, pair: np.ndarray) -> dict[str, float | None]:
    if not len(pair):
        return dict.fromkeys(PAIR_MEASURES)
    cells, places = tables_of(ratings, pair, once(ratings)), np.zeros(ratings.k)
    places[ratings.used] = np.arange(len(ratings.used))
    steps = np.abs(places[:, None] - places)
    raw, shares = float((pair[:, 1] == pair[:, 2]).mean()), np.zeros(ratings.k)
    np.add.at(shares, pair[:, 1:].ravel(), 1 / (2 * len(pair)))
    chance = (shares * (1 - shares)).sum() / (len(ratings.used) - 1) if len(ratings.used) > 1 else math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "raw": raw,
            "kappa": known(pair_kappa(cells, 1 - np.eye(ratings.k))[0]),
            "ac1": known(beyond_chance(np.array(raw), np.array(chance))),
            "kappa_linear": known(pair_kappa(cells, steps)[0]),
            "kappa_quadratic": known(pair_kappa(cells, steps**2)[0]),
            "spearman": rank_correlation(pair[:, 1], pair[:, 2]),
        }
    return found if ratings.ordered else found | dict.fromkeys(PAIR_MEASURES[3:])


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float | None:
    ranks = pd.DataFrame({"one": one, "other": other}).rank()
    if len(ranks) < 2 or (ranks.nunique() < 2).any():
        return None
    return float(np.corrcoef(ranks["one"], ranks["other"])[0, 1])


def mean_kappa(ratings: LabelCodes, pairs: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Mean κ, (draws,), over the pairs for which it is defined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = [pair_kappa(tables_of(ratings, pair, weights), 1 - np.eye(ratings.k)) for pair in pairs]
        kept = ~np.isnan(each)
        return np.where(kept, each, 0).sum(axis=0) / kept.sum(axis=0)


# --- intervals ---------------------------------------------------------------


def more_alike(alike: int, items: int, rarer: float) -> float:
    """How many more items than few may be alike: to the binomial limit of 97.5 %, less by the share of rarer labels."""
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        at_most = sum(math.comb(items, i) * p**i * (1 - p) ** (items - i) for i in range(alike + 1))
        low, high = (p, high) if at_most > 0.025 else (low, p)
    return (items * low - alike) * (1 - rarer) if alike < FEW_ALIKE else 0.0


def room_of_alpha(kind: str, votes: np.ndarray, numbers: list[float]) -> float:
    """How much higher alpha may be if few items have two labels besides the commonest, equal ones if nominal."""
    votes = votes[votes.sum(axis=1) > 1]
    m, n_c = votes.sum(axis=1), votes.sum(axis=0)
    n, common = n_c.sum(), int(np.argmax(n_c))
    rare = np.delete(votes, common, axis=1)
    if not rare.any():
        return 0.0
    each = rare if kind == "nominal" else rare.sum(axis=1, keepdims=True)
    apart = distances(kind, n_c, numbers)
    gains = [2 * j * (j - 1) / (size - 1) for row, size in zip(each, m, strict=True) for j in row if j > 1]
    gain = np.mean(gains) if gains else np.mean(4 / (m - 1))
    one = gain * (n_c * apart[common]).sum() / rare.sum() / ((n_c[:, None] * n_c * apart).sum() / (n - 1))
    return float(one * more_alike(int((each > 1).any(axis=1).sum()), len(votes), rare.sum() / n))


def room_of_kappa(ratings: LabelCodes, pairs: list[np.ndarray]) -> float:
    """The same for mean κ over pairs: items on which one of them shares a rarer label."""
    alike, items, times, shares, gains = set(), set(), 0, [], []
    for pair in pairs:
        cells = tables_of(ratings, pair, once(ratings))[0]
        given, chance = cells.sum(axis=0) + cells.sum(axis=1), (cells.sum(axis=0) * cells.sum(axis=1)).sum() / len(pair)
        twice = pair[(pair[:, 1] == pair[:, 2]) & (pair[:, 1] != np.argmax(given))]
        alike |= set(twice[:, 0])
        items |= set(pair[:, 0])
        times += len(twice)
        shares.append(1 - given.max() / given.sum())
        if len(pair) > chance:
            gains.append(2 / (len(pair) - chance))
    more = more_alike(len(alike), len(items), float(np.mean(shares)))
    return float(more * max(times, 1) / max(len(alike), 1) * np.mean(gains) / len(gains)) if gains else 0.0


def interval(
    measure: Callable[[np.ndarray], np.ndarray],
    ratings: LabelCodes,
    touched: np.ndarray,
    rng: np.random.Generator,
    room: float = 0.0,
) -> tuple[Ends, bool]:
    """Interval, over whole users or items, of a number that rests on the units `touched`, and whether it was drawn; it
    ends at least `room` above the number.
    """
    u, m = len(set(ratings.drawn[touched])), ratings.n_drawn
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(measure(once(ratings))[0])
        if u < FEWEST or math.isnan(value):
            return None, False
        if u < FEW:
            left = measure((1 - np.eye(m))[:, ratings.drawn])
            half = t_quantile(u - 1) * math.sqrt((u - 1) / u * ((left - value) ** 2).sum())
            ends = max(value - half, -1.0), min(value + half, 1.0)
            return reaching(None if math.isnan(half) or ends[1] - ends[0] < 1e-12 else ends, value + room), False
        drawn = measure(rng.multinomial(m, np.full(m, 1 / m), size=DRAWS)[:, ratings.drawn].astype(float))
    some = np.sort(drawn[~np.isnan(drawn)])
    if len(some) < 0.95 * DRAWS:
        return None, True
    tied = np.abs(some - value) < 1e-12
    below = ((some < value) & ~tied).sum() + tied.sum() / 2
    z = NORMAL.inv_cdf(min(max(below, 0.5), len(some) - 0.5) / len(some))
    reach = t_quantile(u - 1) * math.sqrt(u / (u - 1))
    low, high = (float(np.quantile(some, NORMAL.cdf(2 * z + side * reach))) for side in (-1, 1))
    return reaching((low, high) if high - low >= 1e-12 and low <= value <= high else None, value + room), True


def reaching(ends: Ends, high: float) -> Ends:
    return ends and (ends[0], max(ends[1], min(high, 1.0)))


# --- raters against a majority -----------------------------------------------


def majority(votes: np.ndarray) -> np.ndarray:
    """Label with most votes, (units,); -2 for a tie, -1 without votes."""
    most = votes.max(axis=1)
    tied = (votes == most[:, None]).sum(axis=1) > 1
    return np.where(most == 0, -1, np.where(tied, -2, votes.argmax(axis=1)))


class Compared:
    """Labels of one or more raters beside majorities; `rows` are (unit, majority, label)."""

    def __init__(self, rows: np.ndarray, k: int) -> None:
        self.ties = int((rows[:, 1] == -2).sum())
        rows = rows[rows[:, 1] >= 0]
        self.compared = len(set(rows[:, 0]))
        self.confusion = np.zeros((k, k))
        np.add.at(self.confusion, (rows[:, 1], rows[:, 2]), 1)

    def scores(self, positive: int | None) -> dict[str, float | None]:
        hits, given, true = np.diag(self.confusion), self.confusion.sum(axis=0), self.confusion.sum(axis=1)
        if not self.confusion.any():
            return dict.fromkeys(("accuracy", "precision", "recall", "f1"))
        with np.errstate(divide="ignore", invalid="ignore"):
            each = {"precision": hits / given, "recall": hits / true, "f1": 2 * hits / (given + true)}
        if positive is not None:
            chosen = {name: known(values[positive]) for name, values in each.items()}
        else:
            chosen = {name: known(np.nanmean(v)) if (~np.isnan(v)).any() else None for name, v in each.items()}
        return {"accuracy": float(hits.sum() / true.sum())} | chosen


def beside_others(ratings: LabelCodes, rater: int) -> np.ndarray:
    """Rows for Compared: a voter beside the majority of the others; anyone else once without each voter."""
    votes = ratings.votes(ratings.voters)
    mine = ratings.rater == rater
    own = np.eye(ratings.k)
    if ratings.voters[rater]:
        units, codes = ratings.unit[mine], ratings.code[mine]
        return np.column_stack([units, majority(votes[units] - own[codes]), codes])
    said = np.full(ratings.n_units, -1)
    said[ratings.unit[mine]] = ratings.code[mine]
    rows = ratings.voters[ratings.rater] & (said[ratings.unit] >= 0)
    units = ratings.unit[rows]
    return np.column_stack([units, majority(votes[units] - own[ratings.code[rows]]), said[units]])


def beside_all(ratings: LabelCodes, rater: int) -> np.ndarray:
    mine = ratings.rater == rater
    units = ratings.unit[mine]
    return np.column_stack([units, majority(ratings.votes(ratings.voters))[units], ratings.code[mine]])
