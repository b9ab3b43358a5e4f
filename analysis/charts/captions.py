"""What stands below every figure: n, study version, exclusions, definitions, and what is simulated."""

from collections.abc import Iterable

from analysis.charts.figure import Report, Row
from analysis.charts.rows import number, plural
from analysis.charts.theme import printable

# Said where the report brings no sentence of its own under the name.
MEANINGS = {
    "unique": "How many distinct items the responses name.",
    "outside_top5": "1 minus the share of mentions that the five most frequent items take.",
    "entropy_bits": "Shannon entropy of the items' shares of all mentions, in bits.",
    "item_share": "Responses that name the item, divided by all responses.",
    "jsd_bits": "Jensen–Shannon divergence (base 2) between two item distributions: 0 to 1.",
    "tv": "Total variation: half the sum of the absolute differences of shares, 0 to 1.",
    "chance": "The distance that one source split at random into two such samples would show.",
    "correct_share": "Correct answers divided by all answers, unknown ones counted as wrong.",
    "accuracy": "Questions answered correctly in one run, unknown ones counted as wrong.",
    "noise_floor": "Minimum and maximum to expect of as many repeats of one context.",
    "usd": "What the completions cost by the endpoint's prices, failed ones included.",
    "tokens": "Tokens divided by completions.",
    "latency_s": "Seconds from sending a call to its last byte: median and 95th percentile.",
}


def write_caption(report: Report, *sentences: str, definitions: Iterable[str] = (), missing: int = 0) -> str:
    """The figure's own sentences, then those that all figures share."""
    left_out = f"{plural(missing, 'value')} could not be computed and {'is' if missing == 1 else 'are'} left out."
    parts = [*sentences, left_out if missing else "", *shared_sentences(report)]
    return " ".join(part for part in [*parts, *define(report, definitions)] if part)


def shared_sentences(report: Report) -> list[str]:
    return [study_words(report), filter_words(report), exclusion_words(report), simulated_words(report)]


def study_words(report: Report) -> str:
    return f"Study {printable(report.get('study', 'unnamed'))}, version {printable(report.get('version', 'unknown'))}."


def filter_words(report: Report) -> str:
    filters = report.get("filters")
    words = printable(filters.get("words", "")) if isinstance(filters, dict) else ""
    return f"Answers: {words[:1].lower()}{words[1:]}" if words else ""


def exclusion_words(report: Report) -> str:
    rules = [rule_words(rule) for rule in report.get("exclusions") or []]
    return f"Exclusion rules: {'; '.join(rules)}." if rules else "No exclusion rules."


def rule_words(rule: Row) -> str:
    declared = f", declared {printable(rule['declared'])}" if rule.get("declared") else ""
    met = f" ({plural(int(rule['answers']), 'answer')}{declared})" if number(rule.get("answers")) is not None else ""
    return printable(rule.get("text") or rule.get("slug", "")).rstrip(".") + met


def simulated_words(report: Report) -> str:
    found = report.get("simulated")
    if not isinstance(found, dict) or not found.get("is_any"):
        return ""
    people, all_people = int(found.get("people") or 0), int(found.get("people_in_all") or 0)
    made_up = [f"{people:,} of {plural(all_people, 'participant')}"] if people else []
    made_up += [plural(int(found["completions"]), "completion")] if found.get("completions") else []
    return f"Simulated, not real: {' and '.join(made_up) or 'a part of the data'}."


def define(report: Report, names: Iterable[str]) -> list[str]:
    given = report.get("definitions") or {}
    return [f"{name}: {printable(given.get(name) or MEANINGS[name])}" for name in names]


def bootstrap_words(report: Report, unit: str = "responses") -> str:
    draws = number(report.get("draws"))
    seeded = f" ({int(draws):,} draws)" if draws else ""
    return f"Lines are 95 % bootstrap intervals over {unit}{seeded}."
