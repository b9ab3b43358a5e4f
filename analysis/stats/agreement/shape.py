"""The agreement on one question as a JSON object; what is undefined is null, and the `why` beside it says so."""

from collections.abc import Iterable, Sequence
from typing import Any

from analysis.stats.agreement.agreement import Agreement
from analysis.stats.agreement.coefficients import Coefficients
from analysis.stats.agreement.estimates import Estimate
from analysis.stats.agreement.kappa import MEASURES, NO_ORDER
from analysis.stats.agreement.pairs import Pair
from analysis.stats.agreement.raters import RaterScores
from analysis.stats.agreement.votes import TIE

Shape = dict[str, Any]
UNORDERED = Estimate(None, 0, None, NO_ORDER)


def shape_agreement(agreement: Agreement, labels: Sequence[str], raters: Sequence[str]) -> Shape:
    """The names of labels and raters by code. The coefficients are those of people where models label too."""
    group = "humans" if "humans" in agreement.coefficients else "all"
    return {
        "items": agreement.items,
        "annotators": len(agreement.raters),
        "labels": agreement.labels,
        "units": agreement.units,
        "draws": agreement.draws,
        "group": group,
        **shape_group(agreement, group, labels),
        "groups": {name: shape_group(agreement, name, labels) for name in agreement.means},
        "pairs": [shape_pair(pair, raters) for pair in agreement.pairs],
        "majority": {"tie" if code == TIE else labels[code]: n for code, n in agreement.majority.items()},
        "voters": [raters[code] for code in agreement.voters],
        "raters": [shape_rater(rater, labels, raters) for rater in agreement.raters],
    }


def shape_group(agreement: Agreement, group: str, labels: Sequence[str]) -> Shape:
    means = agreement.means[group]
    pairwise = {"mean_pairwise": shape_estimates(name_measures(means))}
    if group not in agreement.coefficients:
        return pairwise
    found = agreement.coefficients[group]
    return shape_coefficients(found, means["kappa"], labels) | pairwise | {"skew": agreement.skew[group]}


def shape_coefficients(found: Coefficients, mean_kappa: Estimate, labels: Sequence[str]) -> Shape:
    alphas = [("nominal", found.alpha_nominal), ("ordinal", found.alpha_ordinal), ("interval", found.alpha_interval)]
    shape = {
        "n": found.raw.n,
        "alpha": shape_values(alphas),
        **shape_values([("fleiss", found.fleiss), ("ac1", found.ac1), ("raw", found.raw)]),
        "ci": shape_intervals([*name_coefficients(found), ("kappa", mean_kappa)]),
    }
    add_shares(shape, "prevalence", labels, found.prevalence)
    return shape


def name_coefficients(found: Coefficients) -> list[tuple[str, Estimate]]:
    names = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss", "ac1", "raw")
    return [(name, getattr(found, name)) for name in names]


def name_measures(measures: dict[str, Estimate]) -> list[tuple[str, Estimate]]:
    return [(name, measures.get(name, UNORDERED)) for name in MEASURES]


def shape_pair(pair: Pair, raters: Sequence[str]) -> Shape:
    return {"a": raters[pair.a], "b": raters[pair.b], "n": pair.n, **shape_estimates(name_measures(pair.measures))}


def add_shares(shape: Shape, name: str, labels: Sequence[str], shares: Sequence[Estimate]) -> None:
    """The share of each label under `name`, its interval under `ci`; a label may be any word, so `why` is above."""
    shape[name] = {label: share.value for label, share in zip(labels, shares, strict=True)}
    shape["ci"][name] = {label: write_interval(share) for label, share in zip(labels, shares, strict=True)}
    for place, reasons in (
        (shape, [share.why for share in shares if share.value is None]),
        (shape["ci"], [share.why for share in shares if share.ci is None]),
    ):
        if reasons:
            place.setdefault("why", {})[name] = reasons[0]


def shape_rater(rater: RaterScores, labels: Sequence[str], raters: Sequence[str]) -> Shape:
    shape = {
        "rater": raters[rater.rater],
        "is_model": rater.is_model,
        "n": rater.n,
        "compared": int(rater.confusion.sum()),
        "ties": rater.ties,
        "alone": rater.alone,
        "confusion": rater.confusion.tolist(),
        **shape_estimates([*rater.scores.items(), ("alpha_without", rater.alpha_without)]),
    }
    add_shares(shape, "distribution", labels, rater.distribution)
    return shape


def shape_estimates(estimates: Iterable[tuple[str, Estimate]]) -> Shape:
    """Values by name, with their intervals under `ci`."""
    named = list(estimates)
    return shape_values(named) | {"ci": shape_intervals(named)}


def shape_values(named: Sequence[tuple[str, Estimate]]) -> Shape:
    why = {name: each.why for name, each in named if each.value is None}
    return {name: each.value for name, each in named} | ({"why": why} if why else {})


def shape_intervals(named: Sequence[tuple[str, Estimate]]) -> Shape:
    why = {name: each.why for name, each in named if each.ci is None}
    return {name: write_interval(each) for name, each in named} | ({"why": why} if why else {})


def write_interval(estimate: Estimate) -> list[float] | None:
    return None if estimate.ci is None else list(estimate.ci)


def write_estimate(estimate: Estimate) -> Shape:
    """A number that stands by itself, with its interval and n."""
    shape = {"value": estimate.value, "ci": write_interval(estimate), "n": estimate.n}
    return shape | ({"why": estimate.why} if estimate.value is None or estimate.ci is None else {})


def shape_head(found: Agreement) -> Shape:
    """Alpha, mean kappa, AC1 and raw agreement of people, or of all where there are no models."""
    group = "humans" if "humans" in found.coefficients else "all"
    coefficients, means = found.coefficients[group], found.means[group]
    named = {
        "alpha": coefficients.alpha_ordinal
        if coefficients.alpha_ordinal.value is not None
        else coefficients.alpha_nominal,
        "kappa": means["kappa"],
        "ac1": coefficients.ac1,
        "raw": coefficients.raw,
    }
    return {name: write_estimate(each) for name, each in named.items()}
