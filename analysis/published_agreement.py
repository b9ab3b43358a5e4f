"""What the study of personalization with people in the middle published for the three kinds of annotation."""

from collections.abc import Mapping
from typing import Any

from analysis.agreement_tables import Line, Number, coefficient, mean

# By kind of annotation, for its first question: name, published value, group and measure of ours ("" where ours is
# none of agreement's own numbers).
PUBLISHED: dict[str, tuple[tuple[str, float, str, str], ...]] = {
    "attribute": (("Mean κ of people", 0.314, "humans", "kappa"),),
    "relevance": (
        ("Mean κ of people", 0.426, "humans", "kappa"),
        ("Mean κ of judges", 0.597, "models", "kappa"),
        ("Mean κ of judges with people", 0.300, "across", "kappa"),
        ("Share of yes among people", 0.20, "humans", "share:yes"),
        ("F1 of BM25", 0.243, "rater:bm25", "f1"),
        ("F1 of embeddings", 0.384, "rater:embeddings", "f1"),
    ),
    "preference": (
        ("Mean Spearman’s ρ of people", 0.325, "humans", "spearman"),
        ("Mean weighted κ of people (ours linear)", 0.310, "humans", "kappa_linear"),
        ("Share of ratings no better than generic (1 to 3)", 0.546, "humans", "share:1,2,3"),
    ),
}
PILOT = ("Mean κ of people, pilot", 0.35, "humans", "kappa")


def compare_published(kind: str, question: Mapping[str, Any], pilot: bool) -> list[Line]:
    """Published beside ours; nothing for kinds of which nothing is published."""
    rows = (PILOT,) if kind == "attribute" and pilot else PUBLISHED.get(kind, ())
    if not question["labels"]:
        return []
    return [
        Line(name, [Number(value, is_share=measure.startswith("share:"), digits=3), ours_of(question, group, measure)])
        for name, value, group, measure in rows
    ]


def ours_of(question: Mapping[str, Any], group: str, measure: str) -> Number:
    kind, _, name = group.partition(":")
    if kind == "rater":
        return rater_score(question, name, measure)
    groups = question["groups"]
    found = groups[group if "n" in groups.get("humans", {}) else "all" if group == "humans" else group]
    if not measure.startswith("share:"):
        return mean(found, measure)
    if "n" not in found:
        return coefficient(found, "raw")
    labels = [label for label in measure.removeprefix("share:").split(",") if label in found["prevalence"]]
    shares = [found["prevalence"][label] for label in labels]
    ci = found["ci"]["prevalence"][labels[0]] if len(labels) == 1 else None
    return Number(sum(shares), ci, is_share=True, why="" if ci else "no interval for a sum of shares")


def rater_score(question: Mapping[str, Any], name: str, measure: str) -> Number:
    for rater in question["raters"]:
        if rater["is_model"] and name in rater["rater"].lower():
            return Number(rater[measure], rater["ci"].get(measure), rater["compared"])
    return Number(None, why="not among the raters")
