"""What rows of every part share: their generators, plain JSON values, and Holm's correction over prompts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.report.samples import Data, Source
from analysis.stats.intervals import Interval
from analysis.stats.resampling import generator, holm

Row = dict[str, Any]

# What rows that differ in their prompt only have in common.
FAMILY = ("source", "model", "temperature", "history_size", "per_user", "corpus", "personas", "imported")


def name_of(source: Source) -> str:
    """The source in one line: what random draws are named by."""
    return "|".join(str(part) for part in (source.name, source.model, *source.settings.values()))


def generator_for(data: Data, what: str, source: Source, prompt: str, *more: object) -> np.random.Generator:
    """Independent for each source and prompt, and the same whatever else is computed."""
    return generator(data.seed, what, f"{prompt}|{name_of(source)}", *more)


def spans(intervals: Mapping[str, Interval | None]) -> dict[str, list[float] | None]:
    return {name: span(found) for name, found in intervals.items()}


def span(found: Interval | None) -> list[float] | None:
    return None if found is None else [float(found[0]), float(found[1])]


def correct_over_prompts(
    rows: Iterable[Row], test_of: Callable[[Row], Row | None], family: Sequence[str] = FAMILY
) -> None:
    """Put `p_holm` beside the `p` of each row's test: Holm's over the prompts of one family of rows."""
    families: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if test := test_of(row):
            families.setdefault(tuple(row.get(name) for name in family), []).append(test)
    for tests in families.values():
        for test, corrected in zip(tests, holm([test["p"] for test in tests]), strict=True):
            test["p_holm"] = corrected


def tidy(value: Any) -> Any:
    """The same as plain JSON values: no numpy, no NaN, nine significant digits."""
    if isinstance(value, Mapping):
        return {str(key): tidy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [tidy(entry) for entry in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.9g}") if np.isfinite(value) else None
    return value
