"""How wide the field's intervals will be with a planned number of answers, judged from those that there are."""

from collections.abc import Iterator

from analysis.report.rows import Row, generator_for, span
from analysis.report.samples import Data, Source
from analysis.stats import precision
from analysis.stats.precision import ExpectedWidth

PLANNED = (50, 100, 200, 400, 800)
SAMPLES, DRAWS = 6, 200  # of the simulation: the mean width is known to a few per cent


def rows(data: Data) -> list[Row]:
    """From the pilot's answers when the filters say pilot=only, else from those of the main study so far."""
    return [
        {
            "prompt": prompt,
            "kind": data.prompts[prompt].kind,
            **group.field.key,
            "measure": measure,
            "n": found.pilot,
            "planned_n": found.n,
            "width": found.width,
            "ci": span(found.ci),
            **({"why": found.why} if found.why else {}),
        }
        for prompt in data.prompts
        for group in data.groups
        if len(data.rows_of(group.field, prompt))
        for measure, found in widths(data, group.field, prompt)
    ]


def widths(data: Data, field: Source, prompt: str) -> Iterator[tuple[str, ExpectedWidth]]:
    expect = choice_widths if prompt in data.choices else item_widths
    for n in PLANNED:
        yield from expect(data, field, prompt, n)


def item_widths(data: Data, field: Source, prompt: str, n: int) -> Iterator[tuple[str, ExpectedWidth]]:
    pilot, rng = data.items(field, prompt), generator_for(data, "precision", field, prompt, n)
    yield "entropy_bits", precision.entropy_width(pilot, n, rng, SAMPLES, DRAWS)
    if len(pilot.codes):
        yield "item_share", precision.item_share_width(pilot, int(pilot.counts().argmax()), n, rng)


def choice_widths(data: Data, field: Source, prompt: str, n: int) -> Iterator[tuple[str, ExpectedWidth]]:
    pilot, rng = data.options(field, prompt), generator_for(data, "precision", field, prompt, n)
    if pilot.correct is not None:
        yield "correct_share", precision.correct_share_width(pilot, n, rng)
