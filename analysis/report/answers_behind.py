"""The answers that a number counts: from a row of the report to the texts behind it."""

from dataclasses import dataclass

import numpy as np

from analysis.report.dataset import ALL, FIELD, LETTERS, load_frames
from analysis.report.filters import Filters
from analysis.report.samples import Data, Rows, Source
from analysis.stats.resampling import UNKNOWN
from surveys.models import Study
from surveys.studies.lifecycle import definition_of


@dataclass(frozen=True)
class Behind:
    """Ids of responses (the field's) or completions, in the order in which they are counted."""

    kind: str
    ids: list[int]


def behind(
    study: Study,
    filters: Filters,
    prompt: str,
    source: str,
    model: str,
    item: str | None = None,
    letter: str | None = None,
) -> Behind:
    """The answers of a row; with `item` those that name it, with `letter` those that choose it ("" is unknown)."""
    frames = load_frames(study, [prompt])
    data = Data(study, definition_of(study.current_id), frames, filters)
    found = find_source(data, source, model)
    if found is None or prompt not in frames.prompts:
        return Behind("completion" if source != FIELD else "response", [])
    rows = data.rows_of(found, prompt)
    if item is not None:
        rows = naming(data, found, prompt, rows, item)
    if letter is not None:
        options = data.frame(found.is_field).table["option"].to_numpy()[rows]
        rows = rows[options == (LETTERS.index(letter) if letter and letter in LETTERS else UNKNOWN)]
    ids = data.frame(found.is_field).table["id"].to_numpy()[rows]
    return Behind("response" if found.is_field else "completion", ids.tolist())


def find_source(data: Data, source: str, model: str) -> Source | None:
    if source == FIELD:
        return Source(FIELD, model, None if model == ALL else model)
    return next((found for found in data.main_sources if (found.name, found.model) == (source, model)), None)


def naming(data: Data, source: Source, prompt: str, rows: Rows, item: str) -> Rows:
    vocabulary = data.frames.vocabulary(prompt)
    if item not in vocabulary:
        return rows[:0]
    frame = data.frame(source.is_field)
    named = np.zeros(len(frame.table), dtype=bool)
    named[frame.rows[frame.codes == vocabulary.index(item)]] = True
    return rows[named[rows]]
