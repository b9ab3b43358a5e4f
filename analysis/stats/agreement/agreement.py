"""How far raters agree on one question: all measures under Agreement in methods.md, from one bootstrap, and as rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.stats.agreement.coefficients import (
    MEASURES,
    NO_ORDER,
    Coefficients,
    coefficient_statistic,
    make_coefficients,
)
from analysis.stats.agreement.estimates import DRAWS, Estimate, bootstrap, group_units
from analysis.stats.agreement.labels import (
    BASELINE,
    JUDGE,
    KIND_NAMES,
    NOMINAL,
    PERSON,
    TIE,
    Labels,
    Scale,
    choose_voters,
    count_votes,
    find_majority,
)
from analysis.stats.agreement.pairs import (
    RaterPair,
    find_shared,
    group_pairs,
    make_means,
    make_pairs,
    pair_statistic,
    pairs_of_raters,
    rooms_of_kappa,
    split_pairs,
)
from analysis.stats.agreement.raters import (
    RaterScores,
    Scores,
    compare_with_all,
    compare_with_others,
    distribution_statistic,
    leave_out_statistic,
    make_raters,
    make_scores,
    rooms_without,
    score_statistic,
)
from analysis.stats.intervals import Bools, Floats

THRESHOLD = 20  # shared items that a pair needs to count in a mean
SKEWED_RAW, SKEWED_KAPPA = 0.9, 0.4


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement on one question. `items` and `raters` are those with a label; `units`: items or clusters to draw.

    `coefficients` by group: all, and humans and models if there are both. `means` by group of pairs (pairs.GROUPS),
    then measure. `together`: all voters, each against the others. `majority`: items by label, and TIE; of `voters`, who
    are the people if any gave a label. `skew` by group: a sentence if labels are so skewed that kappa is low while
    nearly all agree.
    """

    items: int
    labels: int
    units: int
    draws: int
    coefficients: dict[str, Coefficients]
    means: dict[str, dict[str, Estimate]]
    pairs: list[RaterPair]
    voters: tuple[int, ...]
    majority: dict[int, int]
    raters: list[RaterScores]
    together: Scores
    skew: dict[str, str]


def measure_agreement(
    labels: Labels,
    rng: np.random.Generator,
    scale: Scale = NOMINAL,
    threshold: int = THRESHOLD,
    draws: int = DRAWS,
    positive: int | None = None,
) -> Agreement:
    """Measure every number with its n and its interval over `draws` draws of items, or of clusters if items have them.

    `positive`: the label that precision, recall and F1 are about; None as in `score_tables`.
    """
    shared, rest = split_pairs(find_shared(labels), threshold)
    votes = {name: count_votes(labels, kept) for name, kept in group_raters(labels).items()}
    pair_groups, voters = group_pairs(labels, shared, threshold), choose_voters(labels)
    partners = pairs_of_raters(labels, shared, threshold)
    compared, with_all = compare_with_others(labels, voters), compare_with_all(labels, voters)
    statistics = [
        pair_statistic(labels, shared, pair_groups, scale.ordered, partners),
        score_statistic(compared, positive),
        score_statistic(with_all, positive),
        distribution_statistic(labels),
        leave_out_statistic(labels, scale),
        *(coefficient_statistic(each, scale, int(labels.seen.sum())) for each in votes.values()),
    ]
    units = group_units(labels)
    of_pairs, of_scores, of_all, distribution, without, *of_groups = bootstrap(statistics, units, rng, draws)
    coefficients = {
        name: make_coefficients(spreads, each, scale)
        for (name, each), spreads in zip(votes.items(), of_groups, strict=True)
    }
    means = make_means(of_pairs, pair_groups, threshold, scale.ordered, rooms_of_kappa(labels, shared, pair_groups))
    *scores, together = make_scores(labels, compared, of_scores)
    against_all, own = make_scores(labels, with_all, of_all), distribution | without | of_pairs
    rooms = (rooms_of_kappa(labels, shared, partners), rooms_without(labels, scale))
    return Agreement(
        items=len(labels.rated_items),
        labels=len(labels.values),
        units=units.shape[0],
        draws=draws,
        coefficients=coefficients,
        means=means,
        pairs=make_pairs(labels, shared, rest, of_pairs, scale.ordered),
        voters=tuple(np.flatnonzero(voters & (labels.per_rater > 0)).tolist()),
        majority=count_majorities(count_votes(labels, voters)),
        raters=make_raters(labels, voters, scores, against_all, own, partners, rooms),
        together=together,
        skew={name: explain_skew(each, means[name]["kappa"]) for name, each in coefficients.items()},
    )


def group_raters(labels: Labels) -> dict[str, Bools]:
    """(n_raters,) membership in each group: people and judges together, and each of these if both gave labels.

    Baselines are in none, unless nobody else labels.
    """
    kinds = {"humans": labels.kinds == PERSON, "models": labels.kinds == JUDGE}
    others = labels.kinds < BASELINE
    groups = {"all": others if labels.per_rater[others].any() else ~others}
    return groups | kinds if all(labels.per_rater[kind].any() for kind in kinds.values()) else groups


def count_majorities(votes: Floats) -> dict[int, int]:
    """Count items by majority label, in scale order, and last the ties, under TIE."""
    majority = find_majority(votes)
    return {code: int((majority == code).sum()) for code in (*range(votes.shape[1]), TIE)}


def explain_skew(coefficients: Coefficients, mean_kappa: Estimate) -> str:
    """Write a sentence if raw agreement is above 0.9 and kappa below 0.4, else nothing.

    Kappa is the mean over pairs, or alpha if no pair shares enough items.
    """
    name, kappa = (
        ("mean κ", mean_kappa.value) if mean_kappa.value is not None else ("α", coefficients.alpha_nominal.value)
    )
    raw, ac1 = coefficients.raw.value, coefficients.ac1.value
    if raw is None or kappa is None or ac1 is None or raw <= SKEWED_RAW or kappa >= SKEWED_KAPPA:
        return ""
    common = max(each.value or 0.0 for each in coefficients.prevalence)
    return (
        f"Raters agree on {raw:.1%} of what they compare, yet {name} is {kappa:.2f}: one label takes {common:.1%} of "
        f"all labels, so chance alone would agree nearly as often. AC1, which skew does not pull down, is {ac1:.2f}."
    )


# --- as rows: each names what it is about, and each of its numbers is an estimate ---

Row = dict[str, Any]
UNORDERED = Estimate(None, 0, None, NO_ORDER)
COEFFICIENTS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss", "ac1", "raw")


def write_estimate(estimate: Estimate) -> Row:
    """Write a number with its interval and n, and the reason if the number or the interval is undefined."""
    ci = None if estimate.ci is None else list(estimate.ci)
    row: Row = {"value": estimate.value, "ci": ci, "n": estimate.n, "units": estimate.units}
    return row | ({"why": estimate.why} if estimate.value is None or estimate.ci is None else {})


def write_estimates(estimates: Mapping[str, Estimate]) -> Row:
    return {name: write_estimate(each) for name, each in estimates.items()}


def rows_of(found: Agreement, labels: Sequence[str], raters: Sequence[str]) -> Row:
    """Write `groups`, `pairs`, `raters` and `together` as rows, by the names of labels and raters; `group` has the main
    numbers: people's if models label too.
    """
    return {
        "items": found.items,
        "annotators": len(found.raters),
        "labels": found.labels,
        "draws": found.draws,
        "units": found.coefficients[head_group(found)].raw.units,
        "group": head_group(found),
        "groups": [group_row(found, group, labels) for group in find_groups(found)],
        "pairs": [pair_row(pair, raters) for pair in found.pairs],
        "majority": {label: found.majority[code] for code, label in enumerate(labels)},
        "ties": found.majority[TIE],
        "voters": [raters[code] for code in found.voters],
        "raters": [rater_row(rater, labels, raters) for rater in found.raters],
        "together": score_row(found.together),
    }


def head_group(found: Agreement) -> str:
    return "humans" if "humans" in found.coefficients else "all"


def find_groups(found: Agreement) -> list[str]:
    """List the groups of raters, that of baselines only if there are some."""
    has_baselines = any(rater.kind >= BASELINE for rater in found.raters)
    return [name for name in found.means if has_baselines or name != "baselines"]


def group_row(found: Agreement, group: str, labels: Sequence[str]) -> Row:
    """Write a group's numbers; of one of pairs alone, only their means."""
    row: Row = {"group": group, "means": write_estimates(name_measures(found.means[group]))}
    if group not in found.coefficients:
        return row
    coefficients = found.coefficients[group]
    return row | {
        "n": coefficients.raw.n,
        "units": coefficients.raw.units,
        **{name: write_estimate(getattr(coefficients, name)) for name in COEFFICIENTS},
        "shares": share_row(labels, coefficients.prevalence),
        "skew": found.skew[group],
    }


def name_measures(measures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    return {name: measures.get(name, UNORDERED) for name in MEASURES}


def share_row(labels: Sequence[str], shares: Sequence[Estimate]) -> Row:
    return write_estimates(dict(zip(labels, shares, strict=True)))


def pair_row(pair: RaterPair, raters: Sequence[str]) -> Row:
    named = name_measures(pair.measures)
    units = max(each.units for each in named.values())
    return {"a": raters[pair.a], "b": raters[pair.b], "n": pair.n, "units": units, **write_estimates(named)}


def rater_row(rater: RaterScores, labels: Sequence[str], raters: Sequence[str]) -> Row:
    return {
        "rater": raters[rater.rater],
        "is_model": rater.is_model,
        "kind": KIND_NAMES[rater.kind],
        "n": rater.n,
        "units": rater.distribution[0].units,
        "partners": rater.mean_kappa.n,
        **score_row(rater),
        **write_estimates({"alpha_without": rater.alpha_without, "mean_kappa": rater.mean_kappa}),
        **({"against_all": score_row(rater.against_all)} if rater.against_all else {}),
        "shares": share_row(labels, rater.distribution),
    }


def score_row(scores: Scores) -> Row:
    """Write scores; `comparisons` exceed `compared` items if an item is compared with several majorities."""
    return {
        "compared": scores.compared,
        "comparisons": int(scores.confusion.sum()),
        "ties": scores.ties,
        "alone": scores.alone,
        "confusion": scores.confusion.tolist(),
        **write_estimates(scores.scores),
    }


def head_row(found: Agreement, labels: Sequence[str] | None = None) -> Row:
    """Write alpha, mean kappa, AC1 and raw agreement of people, or of all without models; with `labels` also shares."""
    group = head_group(found)
    coefficients = found.coefficients[group]
    ordinal = coefficients.alpha_ordinal
    named = {
        "alpha": coefficients.alpha_nominal if ordinal.value is None else ordinal,
        "kappa": found.means[group]["kappa"],
        "ac1": coefficients.ac1,
        "raw": coefficients.raw,
    }
    shares = {} if labels is None else {"shares": share_row(labels, found.coefficients["all"].prevalence)}
    return write_estimates(named) | shares


def beside(row: Mapping[str, Any], names: Iterable[str]) -> Row:
    """Write a row's estimates as plain values, with intervals under `ci` and reasons under `why`."""
    named = {name: row[name] for name in names}
    return {**row} | every(named, "value") | {"ci": every(named, "ci")}


def every(named: Mapping[str, Any], part: str) -> Row:
    """Write the estimates' `value` or `ci`, with reasons under `why` for those without."""
    why = {name: each["why"] for name, each in named.items() if each[part] is None}
    return {name: each[part] for name, each in named.items()} | ({"why": why} if why else {})
