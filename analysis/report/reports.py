"""A study's report: every part computed from the same answers, kept until something of it changes."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from analysis.answers.aliases import alias_version
from analysis.models import MetricValue
from analysis.report.dataset import Frames, load_frames
from analysis.report.filters.filters import Filters, chatbots_of, computed_with, narrow, narrow_groups
from analysis.report.metric_cache import fingerprint, keep_part
from analysis.report.parts import DEFINITIONS, INTERVALS, PARTS
from analysis.report.rows import tidy
from analysis.report.samples import Data
from analysis.stats.resampling import DRAWS
from surveys.models import Study
from surveys.reading.answers import RULES_VERSION
from surveys.studies.lifecycle import definition_of

Progress = Callable[[int, int, str], None]  # parts done, parts in all, the part that comes next


class ReportError(Exception):
    """A report that cannot be made; the message says why and what to do."""


def check_definition(study: Study) -> None:
    """ReportError when the study has nothing to report on."""
    if study.current_id is None:
        raise ReportError(f"{study.slug} has no definition yet. Load its study file first.")


class Reporting:
    """One view of one study: `part` reads what is kept and computes what is not, loading the answers once.

    `load` is for views that share the answers between them.
    """

    def __init__(
        self,
        study: Study,
        filters: Filters | None = None,
        seed: int = 0,
        draws: int = DRAWS,
        load: Callable[[Study], Frames] = load_frames,
    ) -> None:
        check_definition(study)
        self.load = load
        self.study, self.filters, self.seed, self.draws = study, filters or Filters(), seed, draws
        self.fingerprint = fingerprint(study, self.filters, seed, draws)
        # The same view of other data has the same name, so that what it was before can be thrown away.
        view = repr((self.filters.to_pairs(), seed, draws))
        self.view = hashlib.sha256(view.encode()).hexdigest()[:16]

    @cached_property
    def data(self) -> Data:
        definition = definition_of(self.study.current_id)
        return Data(self.study, definition, self.load(self.study), self.filters, self.seed, self.draws)

    def part(self, name: str) -> Any:
        """The rows of one of PARTS; of `about` and `flow` one object."""
        return self.kept(name).value

    def kept(self, name: str) -> MetricValue:
        def compute() -> Any:
            return tidy(PARTS[name].compute(self.data))

        return keep_part(self.study, f"{name}:{self.view}", self.fingerprint, compute)

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
            "prompts": prompt_rows(study),
            "seed": self.seed,
            "draws": self.draws,
        }


def views_for(
    study: Study,
    filters: Filters,
    parts: Collection[str],
    *,
    seed: int = 0,
    draws: int = DRAWS,
    every_item: bool = False,
) -> dict[str, Reporting]:
    """For each part, and `about`, the view that it is computed in. The answers are loaded once for all of them."""
    load, views = cache(load_frames), {}
    asked = {part: computed_with(part, filters, every_item) for part in ("about", *parts)}
    for computed in asked.values():
        if computed not in views:
            views[computed] = Reporting(study, computed, seed, draws, load)
    return {part: views[computed] for part, computed in asked.items()}


def report(
    study: Study,
    filters: Filters | None = None,
    *,
    seed: int = 0,
    draws: int = DRAWS,
    parts: Collection[str] = tuple(PARTS),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The report as one JSON object; `parts` leaves out others (what it rests on is always there)."""
    filters = filters or Filters()
    wanted = [name for name in PARTS if name in parts and name != "about"]
    views = views_for(study, filters, wanted, seed=seed, draws=draws, every_item=True)
    return write_report(views["about"], filters, dict(compute_parts(views, progress)))


def write_report(about: Reporting, filters: Filters, kept: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Of the parts that are kept, what the filters leave."""
    rests_on = dict(kept["about"].value)
    rests_on["groups"] = narrow_groups(rests_on["groups"], filters.model)
    chatbots = chatbots_of(rests_on["groups"])
    newest = max(part.computed_at for part in kept.values())
    return {
        **about.heading(),
        "filters": {"query": filters.to_query(), "words": filters.describe()},
        "generated_at": newest.isoformat(timespec="seconds"),
        **{name: narrow(part.value, filters, chatbots) for name, part in kept.items() if name != "about"},
        **rests_on,
        "definitions": DEFINITIONS,
        "intervals": {name: INTERVALS[name] for name in kept if name in INTERVALS},
    }


def compute_parts(views: Mapping[str, Reporting], progress: Progress | None) -> Iterator[tuple[str, MetricValue]]:
    for number, (name, view) in enumerate(views.items()):
        if progress:
            progress(number, len(views), name)
        yield name, view.kept(name)
    if progress:
        progress(len(views), len(views), "")


def prompt_rows(study: Study) -> list[dict[str, Any]]:
    fields = ("slug", "title", "kind", "text", "items", "choices", "answer")
    return list(study.current.prompts.order_by("position").values(*fields))
