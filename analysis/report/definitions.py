"""Each number that the platform shows, defined in a sentence, and which interval it has; docs/methods.md says more."""

from typing import Any

DEFINITIONS = {
    # heterogeneity
    "unique": "How many distinct items the responses name.",
    "top5_coverage": "Share of all mentions that the five most frequent items take.",
    "outside_top5": "1 minus top5_coverage: higher is more heterogeneous.",
    "entropy_bits": "Shannon entropy, in bits, of the items' shares of all mentions, or of the known options' shares.",
    "item_share": "Responses that name the item, divided by all responses.",
    "rarefied": "The measure that responses drawn down to the smallest source's number have on average.",
    "ci": "95 % interval: Wilson's for a share of answers, else by percentile bootstrap over responses.",
    "around": "95 % bootstrap interval moved by the draws' bias, so that it lies around the value.",
    "against_field": "Field minus source, rarefied to one n; p by permuting responses, two-sided, Holm over prompts.",
    "unknown": "Answers in which no item or no single letter was found; nothing is guessed.",
    # distances
    "jsd_bits": "Jensen–Shannon divergence (base 2) between the item distributions of field and source, 0 to 1.",
    "tv": "Total variation: half the sum of the absolute differences of shares, 0 to 1.",
    "chance": "The distance that one source, split at random into two such samples, shows on average.",
    "calibration": "Mean distance over prompts for each sock puppet and history size; the nearest one is marked.",
    # choices
    "correct_share": "Correct answers divided by all answers, unknown ones counted as wrong.",
    "bounds": "The share if all unknown answers were wrong, and if all were right.",
    # benchmarks
    "benchmark_run": "Accuracy of one repeat, or of one simulated user, over all questions; unknown counts as wrong.",
    "noise_floor": "The range, highest minus lowest, that as many offline repeats have though nothing differs.",
    "overlaps_offline": "Whether the range of the runs meets the range of the offline runs at temperature 1.",
    "novel_share": "Share of questions on which a run gives a letter that no offline run at temperature 1 gives.",
    # groups of people
    "cell": "The field's measures in one demographic group of the study, rarefied to the smallest group.",
    "contexts": "The field's measures by how people's chatbots were set: memory, plan, model shown.",
    "against_rest": "This group minus all other answers of the same chatbot; p by permutation, Holm over prompts.",
    "sensitivity": "The field's measures with excluded or flagged answers left in or out.",
    # what else there is
    "drift": "The same run again on another day against its first: distance, p by permutation, Holm over prompts.",
    "scores": "Spearman's and Kendall's rank correlation of a source's measures with the field's.",
    "accuracy_within_1": "Answers at most one step of the scale from the key, divided by all answers.",
    "variants": "A noisy variant of a prompt beside the original: distance, or correct answers pair by pair.",
    "precision": "Mean width of the 95 % interval of so many answers, drawn from those that there are.",
    "usd": "What the provider's prices make of the tokens, failed calls that were paid included.",
    "latency_s": "Seconds from sending a call to its whole reply.",
    # what the numbers rest on
    "excluded": "Left out by a rule of the study file, declared before the launch or labelled as later.",
    "flagged": "A paste check asked about the answer, and the person said that it is what they got.",
    "simulated": "Made up by the platform: people that a program plays, models whose answers are scripted.",
}


def _interval(kind: str, unit: str, *columns: str, of: str = "") -> list[dict[str, Any]]:
    return [{"column": column, "kind": kind, "unit": unit} | ({"of": of} if of else {}) for column in columns]


_ITEMS = _interval("bootstrap", "response", "ci.*", "around.*", "rarefied.ci.*")
_CHOICES = [*_interval("wilson", "response", "ci", "shares.*.ci"), *_interval("bootstrap", "response", "ci_entropy")]
_DISTANCES = ("ci", "ci_tv", "around", "around_tv")
_GROUPS = [*_ITEMS, *_CHOICES, *_interval("bootstrap", "response", "against_rest.*.ci")]
# Of each part's columns that are an interval the kind, and the unit that is independent; kinds and units are those of
# docs/methods.md. A star is any name; `of` is the kind of prompt, where rows of both kinds have the column.
INTERVALS: dict[str, list[dict[str, Any]]] = {
    "heterogeneity": [
        *_ITEMS,
        *_interval("bootstrap", "response", "against_field.*.ci"),
        *_interval("wilson", "response", "top_items.ci"),
    ],
    "choices": [*_CHOICES, *_interval("bootstrap", "response", "against_field.*.ci")],
    "distances": _interval("bootstrap", "response", *_DISTANCES),
    "calibration": [
        *_interval("bootstrap", "respondent", "ci", "around"),
        *_interval("bootstrap", "response", "by_prompt.ci", "by_prompt.around"),
    ],
    "items": _interval("wilson", "response", "ci"),
    "benchmarks": [
        *_interval("bootstrap", "run", "ci"),
        *_interval("bootstrap", "question", "ci_entropy"),
        *_interval("wilson", "question", "novel_ci"),
        *_interval("simulation", "run", "noise_floor.ci"),
    ],
    "costs": _interval("exact", "call", "latency_s.ci_p50", "latency_s.ci_p95"),
    "latency": _interval("exact", "call", "ci_p50", "ci_p95"),
    "cells": _GROUPS,
    "contexts": _GROUPS,
    "drift": _interval("bootstrap", "response", *_DISTANCES),
    "scores": [
        *_interval("bootstrap", "pair", "ci_spearman", "ci_kendall"),
        *_interval("wilson", "response", "ci_exact", "ci"),
    ],
    "variants": [
        *_interval("bootstrap", "response", *_DISTANCES, of="recommendation"),
        *_interval("bootstrap", "respondent", "ci", of="choice"),
    ],
    "precision": _interval("simulation", "sample", "ci"),
    "sensitivity": [*_ITEMS, *_CHOICES],
}
