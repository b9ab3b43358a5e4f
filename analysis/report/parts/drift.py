"""The same plan again on another day: how far its answers are from those of the first run."""

from analysis.models import Run
from analysis.report.parts.distances import distance_values
from analysis.report.rows import Row, correct_over_prompts, generator_for, span
from analysis.report.samples import Data, Source, source_of
from analysis.stats import choices, distances


def rows(data: Data) -> list[Row]:
    found = [
        row
        for again in data.frames.runs.values()
        if again.first_run_id in data.frames.runs and data.filters.wants_source(source_of(again, data.definition))
        for row in run_rows(data, data.frames.runs[again.first_run_id], again)
    ]
    correct_over_prompts(found, lambda row: row, ("kind", "again"))
    return found


def run_rows(data: Data, first: Run, again: Run) -> list[Row]:
    """Both runs as sources of their own; a prompt that one of them has no answer to has no row."""
    old, new = (source_of(run, data.definition).of_run(run.pk) for run in (first, again))
    found = []
    for prompt, asked in data.prompts.items():
        sizes = [len(data.rows_of(source, prompt)) for source in (old, new)]
        if not all(sizes):
            continue
        compare = compare_choices if prompt in data.choices else compare_items
        head = {
            "prompt": prompt,
            "kind": asked.kind,
            **new.key,
            **new.settings,
            "first": first.pk,
            "again": again.pk,
            "first_date": day_of(first),
            "date": day_of(again),
            "n_first": sizes[0],
            "n": sizes[1],
            "simulated": sizes[1] if new.simulated else 0,
        }
        found.append(head | compare(data, old, new, prompt))
    return found


def day_of(run: Run) -> str:
    return (run.began_at or run.created_at).date().isoformat()


def compare_items(data: Data, old: Source, new: Source, prompt: str) -> Row:
    rng = generator_for(data, "drift", new, prompt, old.runs, new.runs)
    return distance_values(distances.compare(data.items(old, prompt), data.items(new, prompt), rng, data.draws))


def compare_choices(data: Data, old: Source, new: Source, prompt: str) -> Row:
    """Correct share of the repetition minus that of the first run."""
    rng = generator_for(data, "drift", new, prompt, old.runs, new.runs)
    before, now = data.options(old, prompt), data.options(new, prompt)
    found = choices.compare(now, before, rng, data.draws)
    return {
        "correct_share_first": choices.describe(before, rng, data.draws).correct_share,
        "correct_share": choices.describe(now, rng, data.draws).correct_share,
        "effect": found.effect,
        "ci": span(found.ci),
        "tv": found.tv,
        "ci_tv": span(found.ci_tv),
        "p": found.p_tv,
        "p_holm": None,
        **({"why": found.why} if found.why else {}),
    }
