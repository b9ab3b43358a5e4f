"""Each number that the platform shows, defined in one sentence; docs/methods.md says more under the same names."""

DEFINITIONS = {
    "unique": "How many distinct items the responses name.",
    "top5_coverage": "Share of all mentions that the five most frequent items take.",
    "outside_top5": "1 minus top5_coverage: higher is more heterogeneous.",
    "entropy_bits": "Shannon entropy of the items' (or options') shares of all mentions, in bits.",
    "item_share": "Responses that name the item, divided by all responses.",
    "rarefied": "The measure that responses drawn down to the smallest source's number have on average.",
    "ci": "95 % percentile bootstrap interval over responses.",
    "around": "The bootstrap interval moved by the draws' bias, so that it lies around the value.",
    "against_field": "Field minus source, both rarefied; p by permuting responses, two-sided, Holm over prompts.",
    "jsd_bits": "Jensen–Shannon divergence (base 2) between the item distributions of field and source: 0 to 1.",
    "tv": "Total variation: half the sum of the absolute differences of shares, 0 to 1.",
    "chance": "The distance that one source split at random into two such samples would show.",
    "correct_share": "Correct answers divided by all answers, unknown ones counted as wrong.",
    "bounds": "The share if all unknown answers were wrong, and if all were right.",
    "unknown": "Answers in which no item or no single letter was found; nothing is guessed.",
}
