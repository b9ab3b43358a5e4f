"""How far each source's recommendations are from the field's."""

from analysis.report.comparing import to_field
from analysis.report.rows import Row, correct_over_prompts, span
from analysis.report.samples import Data
from analysis.stats.distances import Distance


def rows(data: Data) -> list[Row]:
    found = [
        {
            "prompt": prompt,
            "model": source.model,
            "source": source.name,
            "chatbot": group.chatbot,
            "n": data.items(source, prompt).n,
            "n_field": data.items(group.field, prompt).n,
            **distance_values(distance),
            **source.settings,
        }
        for prompt in data.lists
        for group in data.groups
        for source in group.others
        if (distance := to_field(data, group, source, prompt))
    ]
    correct_over_prompts(found, lambda row: row)
    return found


def distance_values(found: Distance) -> Row:
    values = {
        "jsd_bits": found.jsd_bits,
        "tv": found.tv,
        "ci": span(found.ci_jsd),
        "ci_tv": span(found.ci_tv),
        "around": span(found.around_jsd),
        "around_tv": span(found.around_tv),
        "chance": found.chance_jsd,
        "chance_tv": found.chance_tv,
        "p": found.p,
        "p_holm": None,
    }
    return values | ({"why": found.why} if found.why else {})
