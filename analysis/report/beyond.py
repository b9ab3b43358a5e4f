"""Beyond the sample: the population's entropy, and bounds for missing answers."""

from collections.abc import Sequence

from analysis.charts.figure import Row
from analysis.charts.rows import ends_in
from analysis.charts.tables import FINE_ENDS, PLAIN, SHARE, Column, NumberFormat, at
from analysis.report import columns as col
from analysis.report.samples import Data, Group, Source, interval_cells, reasons
from analysis.stats.choices import Choices
from analysis.stats.population import divergence_bounds, population_entropy, share_bounds
from surveys.studies.wording import count_range

# --- the population's entropy

OF_POPULATION = {
    "population": "The entropy of what all such people, or calls, would name (Chao, Wang and Jost), and coverage: the "
    "share of their mentions that goes to items named here. If that is below two thirds, the entropy is too low.",
    "missing": "People who answered other prompts and have no counted answer to this one.",
}
POPULATION_DRAWN = [
    Column(
        "population",
        "entropy in the population",
        unit="bits",
        value=lambda row: at(row, f"population.{col.ENTROPY.key}"),
    ),
    *ends_in("bits", "population.ci", "population_"),
    Column(
        "coverage",
        "share of the population’s mentions covered",
        unit="share",
        value=lambda row: at(row, "population.coverage"),
    ),
]
POPULATION = Column(
    f"population.{col.ENTROPY.name}", "In the population, bits", PLAIN, "population.ci", why="population.why"
)
COVERED = Column("population.coverage", "Coverage", SHARE)


def population_columns(rows: Sequence[Row]) -> list[Column]:
    return [POPULATION, COVERED] if any((row.get("population") or {}).get("coverage") for row in rows) else []


def population_row(data: Data, source: Source, prompt: str) -> Row:
    """The population's entropy (of people or calls), and the share of its mentions that the sample's items cover."""
    found = population_entropy(data.items(source, prompt))
    value = {col.ENTROPY.key: found.bits, "coverage": found.coverage}
    return value | interval_cells("ci", found.ci, found.ci_why) | reasons(why=found.why)


# --- missing answers

OF_MISSING_SHARES = {
    "bounds_missing": "The share among everybody if the answers of people who have none here were all wrong, and if "
    "all were right: what holds whatever made them skip it (Manski’s bounds)."
}
OF_MISSING_DISTANCES = {
    "bounds_distance": "`bounds`: the least and the largest mean distance that is possible with the answers of people "
    "who have none to a prompt, whatever they would have been (Manski’s bounds)."
}
DISTANCE_WITH_MISSING = Column("bounds", "With missing answers", NumberFormat("ends", 3), nothing="")
SHARE_WITH_MISSING = Column(
    "bounds_missing",
    "With missing answers",
    FINE_ENDS,
    soft=lambda row: f"{row['missing']:,} missing" if row.get("missing") else "",
    nothing="",
)


def missing_share_row(missing: int, found: Choices) -> Row:
    """The number of people without a counted answer, and the correct share if theirs were all wrong, or all right."""
    if not missing or found.correct is None or not found.n:
        return {"missing": missing, "bounds_missing": None}
    return {"missing": missing, "bounds_missing": [*share_bounds(found.counts[found.correct], found.n, missing)]}


def missing_share_words(rows: Sequence[Row]) -> str:
    missing = [row["missing"] for row in rows if row.get("missing")]
    if not missing:
        return ""
    return (
        f" {count_range(*missing)} people have no answer to a question: if that went with what they got, the share "
        "that is right lies anywhere between the ends under “With missing answers” (theirs all wrong, and all right)."
    )


NAMED = 5  # items read from an answer, unless the prompt asks for fewer


def missing_distance_row(data: Data, group: Group, source: Source, prompts: list[str]) -> Row:
    """The least and largest number of people missing at a prompt, and the bounds of the mean distance."""
    missing = {prompt: data.missing(group.field, prompt) for prompt in prompts}
    if not any(missing.values()):
        return {"missing": [0, 0] if prompts else None, "bounds": None}
    ends = []
    for prompt, count in missing.items():
        people, calls = (data.items(of, prompt).counts() for of in (group.field, source))
        ends.append(divergence_bounds(people, calls, count, min(NAMED, data.frames.prompts[prompt].items or NAMED)))
    low, high = (sum(values) / len(ends) for values in zip(*ends, strict=True))
    return {"missing": [min(missing.values()), max(missing.values())], "bounds": [low, high]}


def missing_distance_words(rows: Sequence[Row]) -> list[str]:
    known = [row for row in rows if row.get("bounds")]
    if not known:
        return []
    counts = count_range(*(count for row in known for count in row["missing"]))
    return [
        f"{counts} people of a field have no answer to a prompt. If that went with what they got, the mean distance "
        "lies anywhere between the ends under “With missing answers”."
    ]
