"""How varied the recommendations of each source are: raw, rarefied, and the field against every other source."""

from collections.abc import Sequence
from typing import Any

from analysis.report.comparing import against_field, comparison
from analysis.report.rows import Row, correct_over_prompts, name_of, span, spans
from analysis.report.samples import Data, Group, Source
from analysis.stats.heterogeneity import MEASURES, Difference, Heterogeneity
from analysis.stats.intervals import wilson_interval

TOP = 10


def rows(data: Data) -> list[Row]:
    found = [row for prompt in data.lists for group in data.groups for row in group_rows(data, group, prompt)]
    for measure in MEASURES:
        correct_over_prompts(found, lambda row, name=measure: row.get("against_field", {}).get(name))
    return [row for row in found if row["source"] != "field" or data.shows_field]


def group_rows(data: Data, group: Group, prompt: str) -> list[Row]:
    """The field and its neighbours; a source that was not asked has no row."""
    found = []
    for source in group.sources:
        if not data.items(source, prompt).n:
            continue
        row = source_row(data, group, source, prompt)
        if differences := against_field(data, group, source, prompt):
            row["against_field"] = difference_rows(differences)
        found.append(row)
    return found


def source_row(data: Data, group: Group, source: Source, prompt: str) -> Row:
    compared, name = comparison(data, group, prompt), name_of(source)
    raw = compared.raw[name]
    return {
        "prompt": prompt,
        **source.key,
        "chatbot": source.chatbot,
        "n": raw.n,
        **measured(raw),
        "rarefied": {"n": compared.n, **compared.rarefied[name].values, "ci": spans(compared.rarefied[name].ci)},
        "top_items": top_items(data, source, prompt, TOP),
        "simulated": data.simulated_in(source, data.rows_of(source, prompt)),
        **source.settings,
    }


def measured(found: Heterogeneity) -> Row:
    """The three measures with their intervals, and why if they are undefined."""
    return {
        **found.values,
        "ci": spans(found.ci),
        "around": spans(found.around),
        "unknown": found.unknown,
        **({"why": found.why} if found.why else {}),
    }


def difference_rows(differences: dict[str, Difference]) -> dict[str, Any]:
    return {
        name: {"effect": found.effect, "ci": span(found.ci), "p": found.p, "p_holm": None, "n": found.n}
        for name, found in differences.items()
    }


def top_items(data: Data, source: Source, prompt: str, most: int) -> list[Row]:
    """The items that most responses name, equal ones in alphabetical order."""
    count = data.items(source, prompt).counts()
    named = [code for code in (-count).argsort(kind="stable")[:most] if count[code]]
    return item_rows(data, source, prompt, named)


def item_rows(data: Data, source: Source, prompt: str, codes: Sequence[int]) -> list[Row]:
    sample, vocabulary = data.items(source, prompt), data.frames.vocabulary(prompt)
    counts = sample.counts()[list(codes)]
    lows, highs = wilson_interval(counts, sample.n)
    return [
        {
            "item": vocabulary[code],
            "name": data.frames.name_of(prompt, vocabulary[code]),
            "count": int(count),
            "share": int(count) / sample.n,
            "ci": [float(low), float(high)],
        }
        for code, count, low, high in zip(codes, counts, lows, highs, strict=True)
    ]
