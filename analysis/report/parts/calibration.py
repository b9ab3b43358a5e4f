"""Which sock puppet, at which history size, is nearest to the field: per prompt and over all prompts."""

from collections.abc import Iterable

from analysis.models.conditions import PUPPETS
from analysis.report.comparing import to_field
from analysis.report.rows import Row, span
from analysis.report.samples import Data, Group, Source
from analysis.stats import distances

NO_PROMPT = "No prompt has answers of both the field and this source."


def rows(data: Data) -> list[Row]:
    """Every setting of every source is a row here, the ones that other parts leave out too."""
    found = []
    for chatbot in dict.fromkeys(source.chatbot for source in data.sources):
        group = data.group_of(chatbot)
        of_group = [source_row(data, group, source) for source in data.sources if source.chatbot == chatbot]
        for model in dict.fromkeys(row["model"] for row in of_group):
            mark_nearest([row for row in of_group if row["model"] == model and row["source"] in PUPPETS])
        found += of_group
    return found


def source_row(data: Data, group: Group, source: Source) -> Row:
    tried = {prompt: to_field(data, group, source, prompt) for prompt in data.lists}
    found = {prompt: distance for prompt, distance in tried.items() if distance is not None}
    mean = distances.average(list(found.values()))
    by_prompt = [
        {
            "prompt": prompt,
            "jsd_bits": distance.jsd_bits,
            "ci": span(distance.ci_jsd),
            "around": span(distance.around_jsd),
            "chance": distance.chance_jsd,
            "p": distance.p,
            "n": data.items(source, prompt).n,
            "nearest": False,
        }
        for prompt, distance in found.items()
    ]
    return {
        **source.key,
        "chatbot": source.chatbot,
        **source.settings,
        "jsd_bits": mean.jsd_bits,
        "ci": span(mean.ci),
        "around": span(mean.around),
        "prompts": mean.prompts,
        "nearest": False,
        "nearest_for": [],
        "by_prompt": by_prompt,
        **({} if mean.prompts else {"why": NO_PROMPT}),
    }


def mark_nearest(puppets: list[Row]) -> None:
    """Say of one model's sock puppets which is nearest, by prompt among those that answered it."""
    complete = max((row["prompts"] for row in puppets), default=0)
    # A mean over other prompts is no mean to compare with.
    if best := nearest(row for row in puppets if row["prompts"] == complete):
        best["nearest"] = True
    by_prompt: dict[str, list[tuple[Row, Row]]] = {}
    for row in puppets:
        for entry in row["by_prompt"]:
            by_prompt.setdefault(entry["prompt"], []).append((entry, row))
    for prompt, pairs in by_prompt.items():
        entry = nearest(entry for entry, _ in pairs)
        for one, row in pairs:
            if one is entry:
                one["nearest"] = True
                row["nearest_for"].append(prompt)


def nearest(rows: Iterable[Row]) -> Row | None:
    known = [row for row in rows if row["jsd_bits"] is not None]
    return min(known, key=lambda row: row["jsd_bits"], default=None)
