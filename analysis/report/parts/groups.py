"""The field's measures in parts of the people: by demographic cell, by chatbot context, and by what is left out."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from analysis.report.parts.choices import TESTS, option_shares
from analysis.report.parts.choices import difference_row as choice_difference_row
from analysis.report.parts.heterogeneity import difference_rows, measured
from analysis.report.rows import Row, correct_over_prompts, generator_for, span, spans
from analysis.report.samples import Data, Rows, Source
from analysis.stats import choices, heterogeneity
from analysis.stats.heterogeneity import MEASURES, Difference, Heterogeneity
from analysis.stats.resampling import Redrawn
from analysis.stats.samples import ItemSample

CONTEXTS = ("memory", "plan", "model_shown")
Parts = dict[str, Rows]
FEWEST = 5  # people of a context value; a product's name that one person typed is no group
SETS: dict[str, dict[str, str]] = {
    "as analysed": {},
    "with excluded": {"excluded": "with"},
    "without flagged": {"flagged": "without"},
    "with flagged": {"flagged": "with"},
    "everybody": {"people": "all", "excluded": "with", "flagged": "with"},
}


def cells(data: Data) -> list[Row]:
    names = {cell.slug: cell.name for cell in data.definition.cells}
    found = [
        {"cell": value, "name": names.get(value, value), **row}
        for value, row in parted(data, "cell", [*names, *sorted(set(values_of(data, "cell")) - set(names))])
    ]
    return corrected(found, ("cell",))


def contexts(data: Data) -> list[Row]:
    found = [
        {"context": context, "value": value, **row}
        for context in CONTEXTS
        for value, row in parted(data, context, frequent(data, context))
    ]
    return corrected(found, ("context", "value"))


def values_of(data: Data, column: str) -> list[str]:
    return [str(value) for value in data.people[column].dropna().unique() if value != ""]


def frequent(data: Data, column: str) -> list[str]:
    counts = data.people[column].value_counts()
    return sorted(str(value) for value, people in counts.items() if people >= FEWEST and value != "")


def parted(data: Data, column: str, values: list[str]) -> Iterable[tuple[str, Row]]:
    """Each chatbot's field in parts by a column of its people; a part without answers has no row."""
    units = data.frames.field.table["unit"].to_numpy()
    for group in data.groups:
        for prompt in data.prompts:
            rows = data.rows_of(group.field, prompt)
            given = data.people[column].reindex(units[rows]).to_numpy(object)
            parts = {value: rows[given == value] for value in values if (given == value).any()}
            split = choice_parts if prompt in data.choices else item_parts
            for value, measures in split(data, group.field, prompt, rows, parts):
                yield value, common(data, group.field, prompt, parts[value]) | measures


def item_parts(data: Data, source: Source, prompt: str, rows: Rows, parts: Parts) -> Iterable[tuple[str, Row]]:
    """The parts rarefied to the smallest of them, and each against all other answers of the same chatbot."""
    least = min(map(len, parts.values()), default=0)
    drawn = Drawn(data, prompt, least)
    for value, part in parts.items():
        rarefied = drawn.rarefied(part)
        row = measured(drawn.described(part)) | {
            "rarefied": {"n": least, **rarefied.values, "ci": spans(rarefied.ci)},
        }
        rest = np.setdiff1d(rows, part)
        if len(rest) >= least:
            row["against_rest"] = difference_rows(drawn.compared(part, rest))
        yield value, row


class Drawn:
    """Random draws from parts of the field's answers to one prompt, each made once: of two parts, one is the rest."""

    def __init__(self, data: Data, prompt: str, least: int) -> None:
        self.data, self.prompt, self.least = data, prompt, least
        self.found: dict[Any, Any] = {}

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = compute()
        return self.found[key]

    def name(self, rows: Rows) -> str:
        """The same for every prompt that the same people answered."""
        units = np.sort(self.data.frames.field.table["unit"].to_numpy()[rows])
        return hashlib.sha256(units.tobytes()).hexdigest()

    def sample(self, rows: Rows) -> ItemSample:
        return self.data.items_in(True, self.prompt, rows)

    def redrawn(self, rows: Rows) -> Redrawn:
        def compute() -> Redrawn:
            return self.data.shared_draws.redraw(self.sample(rows), self.name(rows))

        return self.once(("redrawn", rows.tobytes()), compute)

    def described(self, rows: Rows) -> Heterogeneity:
        key = ("part", self.prompt, rows.tobytes())
        return self.data.once_for_all(key, lambda: heterogeneity.describe_redrawn(self.redrawn(rows)))

    def rarefied(self, rows: Rows) -> Heterogeneity:
        def compute() -> Heterogeneity:
            drawn, shared = self.redrawn(rows), self.data.shared_draws
            subsets = shared.subsets(drawn.sample, self.least, self.name(rows)) if self.least < len(rows) else None
            return heterogeneity.rarefy_redrawn(drawn, self.least, subsets)

        return self.once(("rarefied", rows.tobytes()), compute)

    def compared(self, part: Rows, rest: Rows) -> dict[str, Difference]:
        """Part minus rest. The test is the same for rest minus part."""

        def compute() -> dict[str, float | None]:
            samples, names = (self.sample(part), self.sample(rest)), (self.name(part), self.name(rest))
            splits = self.data.shared_draws.split(*samples, *names)
            return heterogeneity.permutation_test(splits, self.least)

        chances = self.once(frozenset((part.tobytes(), rest.tobytes())), compute)
        return heterogeneity.differences(self.rarefied(part), self.rarefied(rest), chances)


def choice_parts(data: Data, source: Source, prompt: str, rows: Rows, parts: Parts) -> Iterable[tuple[str, Row]]:
    for value, part in parts.items():
        row = choice_values(data, source, prompt, part)
        rest = np.setdiff1d(rows, part)
        if len(rest):
            rng = generator_for(data, "against rest", source, prompt, value)
            one, other = (data.options_in(True, prompt, some) for some in (part, rest))
            row = row | {"against_rest": choice_difference_row(choices.compare(one, other, rng, data.draws))}
        yield value, row


def corrected(found: list[Row], by: tuple[str, ...]) -> list[Row]:
    """The same rows with Holm's correction over prompts within each part of the people."""
    for name in (*MEASURES, *TESTS):
        correct_over_prompts(found, lambda row, name=name: row.get("against_rest", {}).get(name), (*by, "model"))
    return found


def common(data: Data, source: Source, prompt: str, rows: Rows) -> Row:
    return {
        "prompt": prompt,
        "kind": data.prompts[prompt].kind,
        **source.key,
        "n": len(rows),
        "simulated": data.simulated_in(source, rows),
    }


def item_values(data: Data, source: Source, prompt: str, rows: Rows) -> Row:
    return measured(Drawn(data, prompt, len(rows)).described(rows))


def choice_values(data: Data, source: Source, prompt: str, rows: Rows) -> Row:
    def describe() -> Row:
        rng = generator_for(data, "part", source, prompt)
        found = choices.describe(data.options_in(source.is_field, prompt, rows), rng, data.draws)
        return {
            "correct_share": found.correct_share,
            "ci": span(found.ci),
            "bounds": span(found.bounds),
            "entropy_bits": found.entropy_bits,
            "ci_entropy": span(found.entropy_ci),
            "shares": option_shares(found),
            "unknown": found.unknown,
        } | ({"why": found.why} if found.why else {})

    return data.once_for_all(("part", prompt, rows.tobytes()), describe)


def sensitivity(data: Data) -> list[Row]:
    """The field's measures as analysed, and as they would be with other answers left out."""
    found = []
    for name, filters in SETS.items():
        view = data.narrowed(**filters)
        found += [
            {"set": name, **common(view, group.field, prompt, rows), **values(view, group.field, prompt, rows)}
            for group in view.groups
            for prompt in view.prompts
            for rows in [view.rows_of(group.field, prompt)]
            for values in [choice_values if prompt in view.choices else item_values]
            if len(rows)
        ]
    return found
