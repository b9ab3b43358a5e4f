"""What the study of personalization with people in the middle published for each kind of annotation."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from analysis.agreement.tables import Line, Number, coefficient, mean, read_estimate, share_in


class Published(NamedTuple):
    """`where` in the paper a value stands, and of which raters which number of ours it is beside."""

    name: str
    value: float
    where: str
    group: str
    measure: str


# By kind of annotation, for its first question. A group with a colon is found by a part of a name: `rater:bm25`.
PUBLISHED: dict[str, tuple[Published, ...]] = {
    "attribute": (Published("Mean κ of people", 0.314, "section 4.1", "humans", "kappa"),),
    "relevance": (
        Published("Mean κ of people", 0.426, "section 5.2, figure 3", "humans", "kappa"),
        Published("Mean κ of judges", 0.597, "section 5.2, figure 3", "models", "kappa"),
        Published("Mean κ of judges with people", 0.300, "section 5.2, figure 3", "across", "kappa"),
        Published("Share of yes among people", 0.20, "section 5.2, figure 3", "humans", "share:yes"),
        Published("F1 of BM25", 0.243, "section 5.2, figure 4", "rater:bm25", "f1"),
        Published("F1 of embeddings", 0.384, "section 5.2, figure 4", "rater:embeddings", "f1"),
    ),
    "preference": (
        Published("Mean Spearman’s ρ of people", 0.325, "section 6.1", "humans", "spearman"),
        Published("Mean weighted κ of people (ours linear)", 0.310, "section 6.1", "humans", "kappa_linear"),
        Published(
            "Share of ratings no better than generic (1 to 3)", 0.546, "section 6.2", "rated by:people", "no_better"
        ),
        Published("Mean rating by people", 3.176, "table 6", "rated by:people", "mean"),
        Published("Mean rating by Llama 3.3 70B", 4.019, "table 6", "rated by:llama", "mean"),
        Published("Mean rating by GPT-5.4", 3.523, "table 6", "rated by:gpt", "mean"),
        Published("Mean rating by Qwen3.5 27B", 3.487, "table 6", "rated by:qwen", "mean"),
        Published("Mean rating by Claude Sonnet 4.6", 3.428, "table 6", "rated by:claude", "mean"),
        Published("Mean rating by Gemma 4 31B", 3.409, "table 6", "rated by:gemma", "mean"),
        Published("Spearman’s ρ with people, Llama 3.3 70B", 0.376, "table 6", "rated by:llama", "spearman"),
        Published("Spearman’s ρ with people, Claude Sonnet 4.6", 0.362, "table 6", "rated by:claude", "spearman"),
        Published("Spearman’s ρ with people, GPT-5.4", 0.312, "table 6", "rated by:gpt", "spearman"),
        Published("Spearman’s ρ with people, Qwen3.5 27B", 0.182, "table 6", "rated by:qwen", "spearman"),
        Published("Spearman’s ρ with people, Gemma 4 31B", 0.111, "table 6", "rated by:gemma", "spearman"),
        Published(
            "Claude Sonnet 4.6 as a writer names the attribute",
            0.05,
            "section 6.2, figure 7",
            "written by:claude",
            "mention_rate",
        ),
    ),
    "error": (
        Published("Overgeneralisation", 0.539, "table 5", "humans", "share:overgeneralisation"),
        Published("Missing evidence", 0.203, "table 5", "humans", "share:missing-evidence"),
        Published("Task-context confusion", 0.161, "table 5", "humans", "share:task-context"),
        Published("Attribute not standalone", 0.060, "table 5", "humans", "share:not-standalone"),
        Published("Others", 0.037, "table 5", "humans", "share:other"),
    ),
}
PILOT = Published("Mean κ of people, pilot", 0.35, "section 4.1", "humans", "kappa")
SHARES = ("share:", "no_better", "mention_rate")
NOT_THERE = "not among the raters"


def compare_published(kind: str, question: Mapping[str, Any], pilot: bool) -> list[Line]:
    """Published beside ours, with where it stands; nothing for kinds of which nothing is published."""
    rows = (PILOT,) if kind == "attribute" and pilot else PUBLISHED.get(kind, ())
    if not question["labels"]:
        return []
    return [
        Line(
            row.name,
            [
                Number(row.value, is_share=row.measure.startswith(SHARES), digits=3),
                ours_of(question, row.group, row.measure),
            ],
            row.where,
        )
        for row in rows
    ]


def ours_of(question: Mapping[str, Any], group: str, measure: str) -> Number:
    kind, _, name = group.partition(":")
    if kind in NAMED:
        return NAMED[kind](question, name, measure)
    groups = question["groups"]
    found = groups[group if "n" in groups.get("humans", {}) else "all" if group == "humans" else group]
    if not measure.startswith("share:"):
        return mean(found, measure)
    if "n" not in found:
        return coefficient(found, "raw")
    return share_in(found, measure.removeprefix("share:"))


def rater_score(question: Mapping[str, Any], name: str, measure: str) -> Number:
    for rater in question["raters"]:
        if rater["is_model"] and name in rater["rater"].lower():
            return Number(rater[measure], rater["ci"].get(measure), rater["compared"])
    return Number(None, why=NOT_THERE)


def rated_by(question: Mapping[str, Any], name: str, measure: str) -> Number:
    return find_rating(question, "raters", "rater", name, measure)


def written_by(question: Mapping[str, Any], name: str, measure: str) -> Number:
    return find_rating(question, "generators", "generator", name, measure)


def find_rating(question: Mapping[str, Any], part: str, key: str, name: str, measure: str) -> Number:
    """The number of the first one with this in its name."""
    for row in question.get("ratings", {}).get(part, ()):
        if name in row[key].lower() and measure in row:
            return read_estimate(row[measure], is_share=measure.startswith(SHARES))
    return Number(None, why=NOT_THERE)


# How a group that is known by a part of a name is found.
NAMED: dict[str, Callable[[Mapping[str, Any], str, str], Number]] = {
    "rater": rater_score,
    "rated by": rated_by,
    "written by": written_by,
}
