"""What each source answers to questions with choices, and how far that is from the field."""

from typing import Any

from analysis.report.dataset import LETTERS
from analysis.report.rows import Row, correct_over_prompts, generator_for, span
from analysis.report.samples import Data, Group, Source
from analysis.stats import choices
from analysis.stats.choices import ChoiceDifference, Choices

TESTS = ("correct_share", "tv")


def rows(data: Data) -> list[Row]:
    found = [row for prompt in data.choices for group in data.groups for row in group_rows(data, group, prompt)]
    for test in TESTS:
        correct_over_prompts(found, lambda row, name=test: row.get("against_field", {}).get(name))
    return [row for row in found if row["source"] != "field" or data.shows_field]


def group_rows(data: Data, group: Group, prompt: str) -> list[Row]:
    found = []
    for source in group.sources:
        if not data.options(source, prompt).n:
            continue
        row = source_row(data, source, prompt)
        if not source.is_field and data.options(group.field, prompt).n:
            row["against_field"] = difference_row(against_field(data, group, source, prompt))
        found.append(row)
    return found


def source_row(data: Data, source: Source, prompt: str) -> Row:
    found = describe(data, source, prompt)
    letters = LETTERS[: len(found.counts)]
    return {
        "prompt": prompt,
        **source.key,
        "chatbot": source.chatbot,
        "n": found.n,
        "counts": dict(zip(letters, found.counts, strict=True)) | {"unknown": found.unknown},
        "correct": None if found.correct is None else LETTERS[found.correct],
        "correct_share": found.correct_share,
        "ci": span(found.ci),
        "entropy_bits": found.entropy_bits,
        "ci_entropy": span(found.entropy_ci),
        "bounds": span(found.bounds),
        "shares": option_shares(found),
        "unknown": found.unknown,
        "simulated": data.simulated_in(source, data.rows_of(source, prompt)),
        **({"why": found.why} if found.why else {}),
        **source.settings,
    }


def option_shares(found: Choices) -> dict[str, Row]:
    letters = [*LETTERS[: len(found.counts)], "unknown"]
    shares, spans = [*found.shares, found.unknown_share], [*found.share_ci, found.unknown_ci]
    return {letter: {"share": share, "ci": span(ci)} for letter, share, ci in zip(letters, shares, spans, strict=True)}


def describe(data: Data, source: Source, prompt: str) -> Choices:
    def compute() -> Choices:
        return choices.describe(
            data.options(source, prompt), generator_for(data, "choices", source, prompt), data.draws
        )

    return data.once(("choices", source, prompt), compute)


def against_field(data: Data, group: Group, source: Source, prompt: str) -> ChoiceDifference:
    """Field minus source; positive when the field is right more often."""

    def compute() -> ChoiceDifference:
        rng = generator_for(data, "choices against field", source, prompt)
        return choices.compare(data.options(group.field, prompt), data.options(source, prompt), rng, data.draws)

    return data.once(("choices against field", source, prompt), compute)


def difference_row(found: ChoiceDifference) -> dict[str, Any]:
    row: Row = {
        "correct_share": {"effect": found.effect, "ci": span(found.ci), "p": found.p, "p_holm": None},
        "tv": {"effect": found.tv, "ci": span(found.ci_tv), "p": found.p_tv, "p_holm": None},
    }
    return row | ({"why": found.why} if found.why else {})
