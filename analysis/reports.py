"""A study's report: every part computed from the same answers, kept until something of it changes."""

import hashlib
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any

from analysis.aliases import alias_version
from analysis.answer_frames import load_frames
from analysis.definitions import DEFINITIONS
from analysis.filters import Filters
from analysis.fingerprints import fingerprint
from analysis.kept_parts import find_part, keep_part, newest_part
from analysis.metrics import METRICS
from analysis.metrics.rows import tidy
from analysis.models import MetricValue
from analysis.samples import Data
from analysis.stats.resampling import DRAWS
from surveys.answers import RULES_VERSION
from surveys.models import Study
from surveys.studies import definition_of

PARTS = tuple(METRICS)
Progress = Callable[[int, int, str], None]  # parts done, parts in all, the part that comes next


class ReportError(Exception):
    """A report that cannot be made; the message says why and what to do."""


def check_definition(study: Study) -> None:
    """ReportError when the study has nothing to report on."""
    if study.current_id is None:
        raise ReportError(f"{study.slug} has no definition yet. Load its study file first.")


class Reporting:
    """One view of one study: `part` reads what is kept and computes what is not, loading the answers once."""

    def __init__(self, study: Study, filters: Filters | None = None, seed: int = 0, draws: int = DRAWS) -> None:
        check_definition(study)
        self.study, self.filters, self.seed, self.draws = study, filters or Filters(), seed, draws
        self.fingerprint = fingerprint(study, self.filters, seed, draws)
        # The same view of other data has the same name, so that what it was before can be thrown away.
        view = repr((self.filters.to_pairs(), seed, draws))
        self.view = hashlib.sha256(view.encode()).hexdigest()[:16]

    @cached_property
    def data(self) -> Data:
        definition = definition_of(self.study.current_id)
        frames = load_frames(self.study)
        return Data(self.study, definition, frames, self.filters, self.seed, self.draws)

    def part(self, name: str) -> Any:
        """The rows of one of PARTS; of `about` and `flow` one object."""
        return self.kept(name).value

    def kept(self, name: str) -> MetricValue:
        def compute() -> Any:
            return tidy(METRICS[name](self.data))

        return keep_part(self.study, f"{name}:{self.view}", self.fingerprint, compute)

    def is_ready(self, name: str) -> bool:
        """Whether the part is kept, so that reading it takes no time."""
        return find_part(self.study, f"{name}:{self.view}", self.fingerprint) is not None

    def ready_or_older(self, name: str) -> tuple[Any, bool]:
        """What is kept of the part, and whether it is of today's answers; None when it was never computed."""
        kept = newest_part(self.study, f"{name}:{self.view}")
        return (None, False) if kept is None else (kept.value, kept.fingerprint == self.fingerprint)

    def heading(self) -> dict[str, Any]:
        """What every view says of itself."""
        study = self.study
        return {
            "study": study.slug,
            "title": study.title,
            "version": study.current.number,
            "version_sha256": study.current.sha256,
            "rules_version": RULES_VERSION,
            "alias_version": alias_version(study),
            "filters": {"query": self.filters.to_query(), "words": self.filters.describe()},
            "prompts": prompt_rows(study),
            "seed": self.seed,
            "draws": self.draws,
        }


def report(
    study: Study,
    filters: Filters | None = None,
    *,
    seed: int = 0,
    draws: int = DRAWS,
    parts: Collection[str] = PARTS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The report as one JSON object; `parts` leaves out others (what it rests on is always there)."""
    reporting = Reporting(study, filters, seed, draws)
    wanted = [name for name in PARTS if name in parts or name == "about"]
    kept = dict(compute_parts(reporting, wanted, progress))
    newest = max(part.computed_at for part in kept.values())
    about = kept.pop("about").value
    return {
        **reporting.heading(),
        "generated_at": newest.isoformat(timespec="seconds"),
        **{name: part.value for name, part in kept.items()},
        **about,
        "definitions": DEFINITIONS,
    }


def compute_parts(
    reporting: Reporting, names: list[str], progress: Progress | None
) -> Iterator[tuple[str, MetricValue]]:
    for number, name in enumerate(names):
        if progress:
            progress(number, len(names), name)
        yield name, reporting.kept(name)
    if progress:
        progress(len(names), len(names), "")


def prompt_rows(study: Study) -> list[dict[str, Any]]:
    fields = ("slug", "title", "kind", "text", "items", "choices", "answer")
    return list(study.current.prompts.order_by("position").values(*fields))
