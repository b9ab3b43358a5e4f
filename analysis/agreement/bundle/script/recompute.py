"""Recomputes the numbers of this bundle's report from its labels alone, compares them with report.json, prints tables.

    python recompute.py [FOLDER]

Needs only Python 3.11 with numpy and pandas. Exits with 1 if a number differs. Values are compared to six digits;
intervals of coefficients over at least ten users or items are drawn anew and may differ as draws do. All other
intervals, p values and what models were asked beside labels come from the platform alone.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from bundle_checks import OF_WIDTH, Check, Checks, compare, interval_checks, known
from bundle_labels import (
    COEFFICIENTS,
    JUDGE,
    PAIR_MEASURES,
    PEOPLE,
    PERSON,
    TRAINED,
    Compared,
    LabelCodes,
    LabelTables,
    QuestionTable,
    Row,
    beside_all,
    beside_others,
    coefficients,
    interval,
    majority,
    mean_kappa,
    once,
    pair_measures,
    rank_correlation,
    room_of_alpha,
    room_of_kappa,
    value_of,
)

SCORES = ("accuracy", "precision", "recall", "f1")
VIEWS = {"nominal": (0, 1, 2), "ordinal": (0, 1, 2), "maybe_is_no": (0, 0, 1), "maybe_is_yes": (0, 1, 1)}
GENERATOR, RELEVANT_BY = "generator", "relevant by"  # tags: who wrote a response, and who called attributes relevant


def ratings_of(question: QuestionTable, rows: pd.DataFrame | None = None) -> LabelCodes:
    table = question.labels if rows is None else rows
    return LabelCodes(table, len(question.values), question.ordered, question.numbers)


def pairs_in(ratings: LabelCodes, group: str, threshold: int) -> list[np.ndarray]:
    """Return the pairs of a group that share enough items to count in a mean."""
    shared = ratings.pairs.items()
    return [rows for pair, rows in shared if ratings.is_pair_of(group, *pair) and len(rows) >= threshold]


def mean_over(ratings: LabelCodes, pairs: list[np.ndarray]) -> float | None:
    return known(mean_kappa(ratings, pairs, once(ratings))[0]) if pairs else None


def in_report(row: Row, name: str) -> float | None:
    """Read a group's coefficient from the report."""
    found: float | None = row["alpha"][name.removeprefix("alpha_")] if name.startswith("alpha_") else row[name]
    return found


# --- coefficients ------------------------------------------------------------


def check_coefficients(bundle: LabelTables) -> Checks:
    """Check each group of raters, with the intervals of all coefficients but raw agreement, which is a share."""
    for question in bundle.questions:
        ratings, row = ratings_of(question), question.row
        yield Check(question.name, "labels", row["labels"], len(question.labels))
        yield Check(question.name, "items", row["items"], ratings.n_units)
        yield Check(question.name, "annotators", row["annotators"], len(ratings.names))
        yield from majority_checks(question, ratings)
        for group, raters in ratings.groups.items():
            votes, where = ratings.votes(raters), f"{question.name}, {group}"
            found, said = coefficients(ratings, votes), row["groups"][group]
            two = votes.sum(axis=1) > 1
            yield Check(where, "n", said["n"], int(two.sum()))
            yield Check(where, "units", said["units"], len(set(ratings.drawn[two])))
            for name in COEFFICIENTS:
                yield Check(where, name, in_report(said, name), value_of(found, name, once(ratings)))
                if name in found and name != "raw":
                    kind = {"fleiss": "nominal"}.get(name, name.removeprefix("alpha_"))
                    above = 0.0 if name == "ac1" else room_of_alpha(kind, votes, ratings.numbers)
                    ends, drawn = interval(found[name], ratings, two, bundle.rng, above)
                    room = OF_WIDTH if drawn else 0.0
                    yield from interval_checks(where, f"interval of {name}", said["ci"][name], ends, room)
            for label, votes_for in zip(question.values, votes.sum(axis=0), strict=True):
                share = known(votes_for / votes.sum()) if votes.sum() else None
                yield Check(where, f"share of {label}", said["prevalence"][label], share)


def majority_checks(question: QuestionTable, ratings: LabelCodes) -> Checks:
    most = majority(ratings.votes(ratings.voters))
    yield Check(question.name, "ties", question.row["majority"]["tie"], int((most == -2).sum()))
    for code, label in enumerate(question.values):
        if label != "tie":  # the report has one name for a tie and a label of this name
            yield Check(question.name, f"majority {label}", question.row["majority"][label], int((most == code).sum()))


# --- pairs -------------------------------------------------------------------


def check_pairs(bundle: LabelTables) -> Checks:
    for question in bundle.questions:
        ratings = ratings_of(question)
        place = {name: number for number, name in enumerate(ratings.names)}
        measured = {}
        for said in question.row["pairs"]:
            key = tuple(sorted((place[said["a"]], place[said["b"]])))
            pair, where = ratings.pairs[key], f"{question.name}, {said['a']} and {said['b']}"
            measured[key] = pair_measures(ratings, pair)
            yield Check(where, "n", said["n"], len(pair))
            for name in PAIR_MEASURES:
                yield Check(where, name, said[name], measured[key][name])
        for group, said in question.row["groups"].items():
            yield from mean_checks(bundle, question, ratings, group, said["mean_pairwise"], measured)


def mean_checks(
    bundle: LabelTables, question: QuestionTable, ratings: LabelCodes, group: str, said: Row, measured: dict[Any, Row]
) -> Checks:
    kept = [
        pair
        for pair, rows in ratings.pairs.items()
        if ratings.is_pair_of(group, *pair) and len(rows) >= question.threshold
    ]
    where = f"{question.name}, {group}"
    for name in PAIR_MEASURES:
        values = [measured[pair][name] for pair in kept if measured[pair][name] is not None]
        yield Check(where, f"mean {name}", said[name], float(np.mean(values)) if values else None)
    if kept and said["kappa"] is not None:
        pairs = [ratings.pairs[pair] for pair in kept]
        touched = np.isin(np.arange(ratings.n_units), np.concatenate([pair[:, 0] for pair in pairs]))
        ends, drawn = interval(
            lambda weights: mean_kappa(ratings, pairs, weights),
            ratings,
            touched,
            bundle.rng,
            room_of_kappa(ratings, pairs),
        )
        room = OF_WIDTH if drawn else 0.0
        yield from interval_checks(where, "interval of mean kappa", said["ci"]["kappa"], ends, room)


# --- raters ------------------------------------------------------------------


def check_raters(bundle: LabelTables) -> Checks:
    for question in bundle.questions:
        ratings = ratings_of(question)
        yield from rater_checks(question.name, ratings, question.row["raters"], question.positive)
        for said in question.row["raters"]:
            rater, where = ratings.names.index(said["rater"]), f"{question.name}, {said['rater']}"
            mine = ratings.code[ratings.rater == rater]
            yield Check(where, "labels", said["n"], len(mine))
            for code, label in enumerate(question.values):
                yield Check(where, f"share of {label}", said["distribution"][label], float((mine == code).mean()))
            same = ratings.kinds == ratings.kinds[rater]
            left = coefficients(ratings, ratings.votes(same & (np.arange(len(same)) != rater)))
            name = "alpha_ordinal" if ratings.ordered else "alpha_nominal"
            yield Check(where, "alpha without it", said["alpha_without"], value_of(left, name, once(ratings)))
            pairs = [
                rows
                for (a, b), rows in ratings.pairs.items()
                if rater in (a, b) and ratings.kinds[a] == ratings.kinds[b] and len(rows) >= question.threshold
            ]
            yield Check(where, "mean kappa", said["mean_kappa"], mean_over(ratings, pairs))
        voters = [beside_others(ratings, rater) for rater in np.flatnonzero(ratings.voters)]
        together = Compared(np.concatenate(voters), ratings.k)
        yield from score_checks(f"{question.name}, together", question.row["together"], together, question.positive)
        yield from time_checks(bundle, question)


def rater_checks(name: str, ratings: LabelCodes, raters: list[Row], positive: int | None) -> Checks:
    for said in raters:
        rater, where = ratings.names.index(said["rater"]), f"{name}, {said['rater']}"
        yield from score_checks(where, said, Compared(beside_others(ratings, rater), ratings.k), positive)
        if "against_all" in said:
            found = Compared(beside_all(ratings, rater), ratings.k)
            yield from score_checks(f"{where} against all", said["against_all"], found, positive)


def score_checks(where: str, said: Row, found: Compared, positive: int | None) -> Checks:
    yield Check(where, "compared", said["compared"], found.compared)
    yield Check(where, "ties", said["ties"], found.ties)
    for name, value in found.scores(positive).items():
        yield Check(where, name, said[name], value)


def time_checks(bundle: LabelTables, question: QuestionTable) -> Checks:
    if question is not bundle.questions[0]:
        return
    every = pd.concat([each.given for each in bundle.questions])
    every = every[(every["kind"] == PERSON) & (every["active_seconds"] != "")].drop_duplicates(["item", "rater"])
    seconds = every.assign(seconds=every["active_seconds"].astype(float)).groupby("rater")["seconds"].median()
    for said in bundle.report["times"]:
        yield Check(said["rater"], "median seconds", said["median_seconds"], float(seconds[said["rater"]]))


# --- parts of the labels, and readings of Maybe ------------------------------


def of_voters(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the labels of people; without any, those of judges; without these too, all."""
    return next((rows[rows["kind"] <= kind] for kind in (PERSON, JUDGE) if (rows["kind"] <= kind).any()), rows)


def check_parts(bundle: LabelTables) -> Checks:
    for question in bundle.questions:
        rows = of_voters(question.labels)
        of = {
            "corpus": lambda label: [label["corpus"]],
            "user": lambda label: [label["cluster"]],
            "tag": lambda label: [f"{name}:{value}" for name, value in label["tags"].items()],
        }
        for name, groups in of.items():
            member = [groups(label) for label in rows.to_dict("records")]
            for said in question.row[f"by_{name}"]:
                part = rows[[said[name] in values for values in member]]
                if name == "user":
                    part = part.assign(drawn="item " + part["item"])
                yield from head_checks(question, f"{name} {said[name]}", ratings_of(question, part), said)
                for code, label in enumerate(question.values):
                    share = float((part["code"] == code).mean())
                    yield Check(f"{question.name}, {name} {said[name]}", label, said["shares"][label], share)


def head_checks(question: QuestionTable, what: str, ratings: LabelCodes, said: Row) -> Checks:
    """Check α (ordinal if labels have an order), mean κ, AC1 and raw agreement, of people or else of all."""
    where, group = f"{question.name}, {what}", "humans" if "humans" in ratings.groups else "all"
    found = coefficients(ratings, ratings.votes(ratings.groups[group]))
    head = {name: value_of(found, name, once(ratings)) for name in COEFFICIENTS}
    values = {
        "alpha": head["alpha_nominal"] if head["alpha_ordinal"] is None else head["alpha_ordinal"],
        "kappa": mean_over(ratings, pairs_in(ratings, group, question.threshold)),
        "ac1": head["ac1"],
        "raw": head["raw"],
    }
    for name, value in values.items():
        yield Check(where, name, said[name]["value"], value)


def check_maybe(bundle: LabelTables) -> Checks:
    """Check the four readings of Maybe; if two labels are left, score raters on what is not supported."""
    for question in bundle.questions:
        for name, said in question.row.get("maybe", {}).items():
            codes = np.array(VIEWS[name])
            rows = question.labels.assign(code=codes[question.labels["code"]])
            ratings = LabelCodes(rows, codes.max() + 1, name == "ordinal", [])
            yield from head_checks(question, name, ratings, said)
            if "raters" in said:
                yield from rater_checks(f"{question.name}, {name}", ratings, said["raters"], 0)


# --- two responses side by side ----------------------------------------------


def check_ratings(bundle: LabelTables) -> Checks:
    for question in bundle.questions:
        if said := question.row.get("ratings"):
            given = rated(bundle, question)
            yield from rating_checks(question, given, said["raters"], "rater", "who")
            voting = of_voters(given)
            yield from rating_checks(question, voting, said["generators"], "generator", "generator")
            yield from rating_checks(question, voting, said.get("conditions", []), "relevant_by", "relevant_by")
            units = given.drop_duplicates("unit")
            for row in said["generators"]:
                mine = units[(units["generator"] == row["generator"]) & (units["named"] != "")]
                rate = float((mine["named"] == "true").mean()) if len(mine) else None
                where = f"{question.name}, {row['generator']}"
                yield Check(where, "mention_rate", row["mention_rate"]["value"], rate)
                for rater, gap in row["gaps"].items():
                    table = given[(given["who"] == rater) & (given["generator"] == row["generator"])]
                    yield Check(f"{where} by {rater}", "gap", gap["value"], gap_of(table))


def rated(bundle: LabelTables, question: QuestionTable) -> pd.DataFrame:
    given = question.given.assign(number=[question.numbers[code] for code in question.given["code"]])
    given["who"] = given["rater"].where(given["kind"] != PERSON, PEOPLE)
    given["generator"] = [str(tags.get(GENERATOR, "")) for tags in given["tags"]]
    given["relevant_by"] = [str(tags.get(RELEVANT_BY, PEOPLE)) for tags in given["tags"]]
    given["named"] = [bundle.naming[key] for key in zip(given["item"], given["part"], strict=True)]
    return given


def rating_checks(question: QuestionTable, given: pd.DataFrame, rows: list[Row], key: str, column: str) -> Checks:
    middle = (question.numbers[0] + question.numbers[-1]) / 2
    for said in rows:
        table, where = given[given[column] == said[key]], f"{question.name}, {said[key]}"
        means = table.groupby("unit")["number"].mean().round(9)
        yield Check(where, "n", said["n"], len(table))
        yield Check(where, "mean", said["mean"]["value"], mean_of(table["number"]))
        yield Check(where, "no_better", said["no_better"]["value"], mean_of(table["number"] <= middle))
        yield Check(where, "no_better_means", said["no_better_means"]["value"], mean_of(means <= middle))
        for code, label in enumerate(question.values):
            yield Check(where, f"share of {label}", said["shares"][label]["value"], mean_of(table["code"] == code))
        if "gap" in said:
            yield Check(where, "gap", said["gap"]["value"], gap_of(table))
        if "difference" in said:
            people = given[given[column] == PEOPLE]["number"]
            yield Check(where, "difference", said["difference"]["value"], table["number"].mean() - people.mean())
        if "spearman" in said:
            people = given[given["who"] == PEOPLE].groupby("unit")["number"].mean().round(9)
            both = means.index.intersection(people.index)
            rho = rank_correlation(means[both].to_numpy(), people[both].to_numpy())
            yield Check(where, "spearman", said["spearman"]["value"], rho)


def mean_of(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def gap_of(table: pd.DataFrame) -> float | None:
    named, others = (table[table["named"] == said]["number"] for said in ("true", "false"))
    return float(named.mean() - others.mean()) if len(named) and len(others) else None


def check_sides(bundle: LabelTables) -> Checks:
    """Check how often the left side is preferred, and how often judges choose one side or response in both orders."""
    for question in bundle.questions:
        if said := question.row.get("sides"):
            given = question.given[(question.given["left"] != "") & (question.given["kind"] != TRAINED)]
            given = given[given["guidelines_version"] != ""]  # imported labels have none, and no side
            place = given["shown"] - (len(question.values) - 1) / 2
            yield Check(question.name, "neither", said["neither"], int((place == 0).sum()))
            for who, share in said["left"].items():
                sided = place[(place != 0) & ((given["rater"] == who) | (who == "all"))]
                yield Check(f"{question.name}, {who}", "left", share["value"], mean_of(sided < 0))
            for row in question.row["orders"]:
                mine = given.assign(place=place)[given["rater"] == row["rater"]]
                both = mine.groupby("unit")["place"].agg(list)
                both = [pair for pair in both if len(pair) == 2]
                yield Check(f"{question.name}, {row['rater']}", "pairs", row["pairs"], len(both))
                for name, holds in ORDERS.items():
                    share = float(np.mean([holds(*pair) for pair in both]))
                    yield Check(f"{question.name}, {row['rater']}", name, row[name]["value"], share)


ORDERS: dict[str, Callable[[float, float], bool]] = {
    "consistent": lambda one, other: one * other < 0 or one == other == 0,
    "left": lambda one, other: one < 0 and other < 0,
    "right": lambda one, other: one > 0 and other > 0,
    "mixed": lambda one, other: (one == 0) != (other == 0),
}
PARTS: dict[str, Callable[[LabelTables], Checks]] = {
    "coefficients": check_coefficients,
    "pairs": check_pairs,
    "raters": check_raters,
    "parts": check_parts,
    "maybe": check_maybe,
    "ratings": check_ratings,
    "sides": check_sides,
}


# --- tables ------------------------------------------------------------------


def tables(bundle: LabelTables) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield tables by question, from labels alone: coefficients by group, raters against the majority, and ratings."""
    for question in bundle.questions:
        ratings = ratings_of(question)
        groups = {group: coefficient_column(ratings, group, question.threshold) for group in ratings.groups}
        yield f"{question.name}: agreement of", pd.DataFrame(groups).dropna(how="all")
        yield f"{question.name}: against the majority of the others", score_table(ratings, question.positive)
        for name in ("maybe_is_no", "maybe_is_yes") if "maybe" in question.row else ():
            codes = np.array(VIEWS[name])
            read = LabelCodes(question.labels.assign(code=codes[question.labels["code"]]), 2, False, [])
            yield f"{question.name}: as verifiers of what is not supported, {name}", score_table(read, 0)
        if "ratings" in question.row:
            yield f"{question.name}: ratings", rating_table(question, rated(bundle, question))


def coefficient_column(ratings: LabelCodes, group: str, threshold: int) -> dict[str, float | None]:
    found = coefficients(ratings, ratings.votes(ratings.groups[group]))
    return {name: value_of(found, name, once(ratings)) for name in COEFFICIENTS} | {
        "mean kappa": mean_over(ratings, pairs_in(ratings, group, threshold))
    }


def rating_table(question: QuestionTable, given: pd.DataFrame) -> pd.DataFrame:
    """Compare judges with people: mean rating, share no better than generic, and rank correlation."""
    middle = (question.numbers[0] + question.numbers[-1]) / 2
    means = given.groupby(["who", "unit"])["number"].mean().round(9).unstack("who")
    rows = {}
    for who, numbers in given.groupby("who")["number"]:
        rows[who] = {"n": str(len(numbers)), "mean": numbers.mean(), "no better": (numbers <= middle).mean()}
        if who != PEOPLE and PEOPLE in means:
            both = means[[who, PEOPLE]].dropna()
            rows[who]["spearman"] = rank_correlation(both[who].to_numpy(), both[PEOPLE].to_numpy())
    return pd.DataFrame(rows).T


def score_table(ratings: LabelCodes, positive: int | None) -> pd.DataFrame:
    """Score everybody against the others; `f1 against all` is as in published tables."""
    rows = {}
    for rater, name in enumerate(ratings.names):
        found = Compared(beside_others(ratings, rater), ratings.k)
        rows[name] = {"n": str(found.compared)} | found.scores(positive)
        if not ratings.voters[rater]:
            rows[name]["f1 against all"] = Compared(beside_all(ratings, rater), ratings.k).scores(positive)["f1"]
    return pd.DataFrame(rows).T


def main() -> int:
    loaded: list[LabelTables] = []

    def load(folder: Any) -> LabelTables:
        loaded.append(LabelTables(folder))
        return loaded[0]

    status = compare(load, PARTS)
    for title, table in tables(loaded[0]):
        known = table.where(table.notna(), np.nan)  # None too is written as a dash
        print(f"\n{title}\n{known.to_string(float_format='{:.3f}'.format, na_rep='–')}")
    return status


if __name__ == "__main__":
    sys.exit(main())
