"""A study's report: its parts, computed from the same answers and kept until something changes, and its sentences."""

import gc
import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from django.db import connection, transaction
from django.db.models import QuerySet

from analysis.answers.compared import runs_of
from analysis.answers.kept import MARK, answer_stamp
from analysis.charts.figure import Report, Row
from analysis.models import MetricValue
from analysis.report.claims.gate import KINDS, claims_of
from analysis.report.dataset import ALL, FIELD, Frames, load_frames
from analysis.report.filters import ROW_FILTERS, Filters
from analysis.report.pairs.sides import others_in
from analysis.report.parts import DEFINITIONS, INTERVALS, PARTS
from analysis.report.planned.looks import ACTION
from analysis.report.samples import Data
from analysis.stats.resampling import DRAWS
from analysis.stats.speed import uncollected
from surveys.models import Study, asked_of_all, locks
from surveys.reading.answers import RULES_VERSION
from surveys.studies.lifecycle import definition_of, hold_withdrawals, withdrawals

HERE = Path(__file__).parent
# What numbers come from: after a change in any of these, kept results are computed again.
CODE = (
    *("parts", "pairs", "persons", "planned", "multiverse", "questions", "claims/enough.py"),
    *("beyond.py", "columns.py", "dataset.py", "samples.py", "../answers/compared.py"),
    *("../stats", "../stats/agreement", "../stats/persons", "../stats/hypotheses"),
)


def code_files() -> list[Path]:
    return [found for name in CODE for found in sorted((HERE / name).glob("*.py")) or [HERE / name]]


@cache
def code_version() -> str:
    digest = hashlib.sha256()
    for path in code_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()


code_version()  # of the code that was loaded: its files may change while this process runs


def stamp_of(study: Study) -> dict[str, Any]:
    """What the results of any view rest on: runs, answers, the plan's dates, and `people` as in `people_stamp`."""
    asked = ("model", "provider", "extra", "json_schema")
    endpoint = [f"endpoint__{name}" for name in asked]
    runs = list(runs_of(study).values_list("pk", "benchmark", *endpoint, "first_run", "spent"))
    return {
        "people": people_stamp(study),
        "answers": answer_stamp(study),
        "runs": sorted(runs),
        "plan": [study.launched_at, study.closed_at],
    }


def fingerprint(filters: Filters, seed: int, draws: int, stamp: dict[str, Any]) -> str:
    """The hash under which results are kept; `stamp` is from `stamp_of`."""
    content = {
        "code": code_version(),
        "rules": RULES_VERSION,
        "filters": filters.to_pairs(),
        "draws": [seed, draws],
        **stamp,
    }
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


# In one round trip: a page asks this each time before it shows what is kept.
PEOPLE = """
SELECT
  (SELECT json_agg(json_build_array(sha256, amendment) ORDER BY id)
    FROM surveys_studyversion WHERE study_id = %(study)s),
  (SELECT json_agg(people::text ORDER BY people::text) FROM (
    SELECT state, origin, pilot, step, overflow, count(*), max(id), max(finished_at)
    FROM surveys_participant WHERE study_id = %(study)s GROUP BY 1, 2, 3, 4, 5) AS people),
  (SELECT json_build_array(count(*), max(context.id), max(recorded_at))
    FROM surveys_chatbotcontext context JOIN surveys_participant person ON person.id = context.participant_id
    WHERE person.study_id = %(study)s),
  (SELECT json_agg(flags::text ORDER BY flags::text) FROM (
    SELECT outcome, count(*), max(decided_at)
    FROM surveys_flag flag JOIN surveys_participant person ON person.id = flag.participant_id
    WHERE person.study_id = %(study)s GROUP BY outcome) AS flags),
  (SELECT json_build_array(count(*), max(exit.id))
    FROM surveys_anonymousexit exit JOIN surveys_studyversion version ON version.id = exit.version_id
    WHERE version.study_id = %(study)s),
  (SELECT md5(string_agg(md5(concat(item.benchmark, item.item, item.question, item.choices::text, item.answer)), ''
      ORDER BY item.id)) FROM surveys_benchmarkitem item
    WHERE item.benchmark IN (SELECT benchmark FROM analysis_run WHERE study_id = %(study)s OR study_id IS NULL)),
  -- scores of replies, for the best of n
  (SELECT json_agg(json_build_array(id, scores) ORDER BY id) FROM (
    SELECT model.id, count(*) AS scores FROM analysis_replyscore score
    JOIN analysis_trainedmodel model ON model.id = score.model_id
    WHERE model.study_id = %(study)s OR model.id IN (
      SELECT trainedmodel_id FROM analysis_trainedmodel_shared_with WHERE study_id = %(study)s)
    GROUP BY model.id) AS scored),
  (SELECT count(*) FROM surveys_auditevent WHERE study_id = %(study)s AND action = %(look)s),
  (SELECT coalesce(max(number), 0) FROM analysis_aliasdecision WHERE study_id = %(study)s)
"""


def people_stamp(study: Study) -> list[Any]:
    """The state of the study's versions, people, contexts, flags and exits; of benchmark items, which a new import may
    change; of reply scores and looks taken; and, last, the version of the spellings.
    """
    with connection.cursor() as cursor:
        cursor.execute(PEOPLE, {"study": study.pk, "look": ACTION})
        return list(cursor.fetchone())


# --- what is kept

MOST_KEPT = 500  # of one study: parts × views that somebody has looked at
LASTING = ("multiverse", "plan", "plan cell")  # minutes of work each, under no view


def mark_of(others: Iterable[Study]) -> str:
    """A mark in the name of results that also rest on other studies: they are dropped with any person of those."""
    marks = "".join(f"{MARK}{other.pk}" for other in others)
    return marks and marks + MARK


def find_part(study: Study, name: str, fingerprint: str) -> MetricValue | None:
    return kept_as(study, name, fingerprint).first()


def kept_as(study: Study, name: str, fingerprint: str) -> QuerySet[MetricValue]:
    return MetricValue.objects.filter(study=study, name=name, fingerprint=fingerprint)


def keep_part(
    study: Study, name: str, fingerprint: str, compute: Callable[[], Any], beside: Sequence[Study] = ()
) -> MetricValue:
    """The part of this name and fingerprint, computed if need be. Concurrent callers wait for the first one.

    `beside`: other studies whose answers it rests on too.
    """
    if found := find_part(study, name, fingerprint):
        return found
    with transaction.atomic():
        locks.hold(f"report {name}", study.pk)
        if found := find_part(study, name, fingerprint):
            return found
        rests_on = sorted({study, *beside}, key=lambda each: each.pk)
        began, before = time.monotonic(), [withdrawals(each) for each in rests_on]
        value = compute()
        kept = MetricValue(
            study=study, name=name, fingerprint=fingerprint, value=value, seconds=time.monotonic() - began
        )
        for each in rests_on:
            hold_withdrawals(each)
        if [withdrawals(each) for each in rests_on] == before:  # else it may hold answers withdrawn meanwhile
            kept.save()
            discard_old(kept)
    return kept


def discard_old(kept: MetricValue) -> None:
    """Delete earlier results of the same part, and beyond MOST_KEPT the oldest others."""
    rows = MetricValue.objects.filter(study=kept.study_id)
    rows.filter(name=kept.name).exclude(pk=kept.pk).delete()
    oldest = rows.exclude(name__in=LASTING).order_by("-computed_at", "-pk").values_list("pk", flat=True)[MOST_KEPT:]
    rows.filter(pk__in=list(oldest)).delete()


# --- filters that only choose among rows

# For parts whose rows combine several prompts or sources: the filters that still choose among these rows.
MIXED = {"calibration": ("source", "model"), "scores": (), "blend": (), "pair": ("source", "model")}


def computed_with(part: str, filters: Filters, every_item: bool = False) -> Filters:
    """The filters a part is computed with: none that only choose among its rows, so that one result serves many views.

    `every_item`: for prompts named in the filters all items are wanted, not only the frequent ones.
    """
    if part == "as_planned":
        return Filters()
    names = MIXED.get(part, ROW_FILTERS)
    if part == "items" and every_item:
        names = tuple(name for name in names if name != "prompt")
    dropped: dict[str, Any] = dict.fromkeys(names if part == "pair" else (*names, "compare"), ())
    return replace(filters, **dropped)


def narrow_groups(groups: Iterable[Row], models: Collection[str]) -> list[Row]:
    """The groups narrowed to these models; all if none are named."""
    if not models:
        return list(groups)
    kept = [{**group, "models": [model for model in group["models"] if model in models]} for group in groups]
    return [group for group in kept if group["models"]]


def narrow(rows: Any, filters: Filters, chatbots: Collection[str]) -> Any:
    """The rows of a part that the filters leave; a part that is one object stays as it is."""
    return [row for row in rows if is_left(row, filters, chatbots)] if isinstance(rows, list) else rows


def is_left(row: Row, filters: Filters, chatbots: Collection[str]) -> bool:
    """Whether the filters leave the row; a field row belongs to the models that its chatbot is compared with."""
    for name in ROW_FILTERS:
        chosen, value = getattr(filters, name), row.get(name)
        wanted = chatbots if name == "model" and row.get("source") == FIELD else chosen
        if chosen and value is not None and value not in wanted:
            return False
    return True


# --- the report

Progress = Callable[[int, int, str], None]  # parts done, parts in all, the part that comes next


class ReportError(Exception):
    """A report that cannot be made; the message says why and what to do."""


def check_definition(study: Study) -> None:
    """Raise ReportError if the study has no definition yet."""
    if study.current_id is None:
        raise ReportError(f"{study.slug} has no definition yet. Load its study file first.")


def tidy(value: Any) -> Any:
    """Convert to plain JSON values: no numpy, no NaN, nine significant digits."""
    kind = type(value)
    if kind is float or kind is np.float64:
        return float(f"{value:.9g}") if isfinite(value) else None
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is dict or isinstance(value, Mapping):  # a dictionary first: to ask what a Mapping is takes long
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


class Reporting:
    """One view of one study: `part` reads what is kept and computes the rest, loading the answers once.

    `load` and `stamp` let several views share the answers and the stamp of what these rest on.
    """

    def __init__(
        self,
        study: Study,
        filters: Filters | None = None,
        seed: int = 0,
        draws: int = DRAWS,
        load: Callable[[Study], Frames] = load_frames,
        stamp: dict[str, Any] | None = None,
    ) -> None:
        check_definition(study)
        self.study, self.filters, self.seed, self.draws, self.load = study, filters or Filters(), seed, draws, load
        stamp = stamp or stamp_of(study)
        self.aliases = stamp["people"][-1]
        self.beside = others_in(study, self.filters)
        if self.beside:
            stamp = stamp | {"beside": [stamp_of(other) for other in self.beside]}
        self.fingerprint = fingerprint(self.filters, seed, draws, stamp)
        # A view keeps its name when the data change, so that its earlier results can be thrown away.
        view = repr((self.filters.to_pairs(), seed, draws))
        self.view = hashlib.sha256(view.encode()).hexdigest()[:16] + mark_of(self.beside)

    @cached_property
    def data(self) -> Data:
        definition = definition_of(self.study.current_id)
        with uncollected():
            frames = self.load(self.study)
        return Data(self.study, definition, frames, self.filters, self.seed, self.draws)

    def part(self, name: str) -> Any:
        """The rows of one of PARTS; a few parts, such as `about` and `flow`, are one object."""
        return self.kept(name).value

    def is_kept(self, name: str) -> bool:
        """Whether the part is kept for today's answers, so that reading it takes no time."""
        return kept_as(self.study, f"{name}:{self.view}", self.fingerprint).exists()

    def kept(self, name: str) -> MetricValue:
        def compute() -> Any:
            return tidy(PARTS[name].compute(self.data))

        return keep_part(self.study, f"{name}:{self.view}", self.fingerprint, compute, self.beside)

    def heading(self) -> dict[str, Any]:
        """What every view says about its study and its draws."""
        study, definition = self.study, definition_of(self.study.current_id)
        return {
            "study": study.slug,
            "title": study.title,
            "version": study.current.number,
            "version_sha256": study.current.sha256,
            "rules_version": RULES_VERSION,
            "alias_version": self.aliases,
            "prompts": prompt_rows(study),
            "chatbots": {bot.slug: bot.name for bot in definition.chatbots},
            "asks_set": definition.matrix is not None,
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
    """The view that each part, and `about`, is computed in. All of them load the answers once."""
    load, stamp, views = cache(load_frames), stamp_of(study), {}
    asked = {part: computed_with(part, filters, every_item) for part in ("about", *parts)}
    for computed in asked.values():
        if computed not in views:
            views[computed] = Reporting(study, computed, seed, draws, load, stamp)
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
    """The report as one JSON object with only these `parts`; `about`, what it rests on, is always there."""
    filters = filters or Filters()
    wanted = [name for name in PARTS if name in parts and name != "about"]
    views = views_for(study, filters, wanted, seed=seed, draws=draws, every_item=True)
    kept = dict(compute_parts(views, progress))
    return write_report(views["about"], filters, {name: kept[name] for name in ("about", *wanted)})


def write_report(about: Reporting, filters: Filters, kept: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Assemble the report from kept parts: the rows that the filters leave, claims and definitions."""
    rests_on = dict(kept["about"].value)
    rests_on["groups"] = narrow_groups(rests_on["groups"], filters.model)
    chatbots = {str(group["chatbot"] or ALL) for group in rests_on["groups"]}
    newest, heading = max(part.computed_at for part in kept.values()), about.heading()
    narrowed = {name: narrow(part.value, filters, chatbots) for name, part in kept.items()}
    claims, families = claims_of(
        heading | rests_on | {name: part.value for name, part in kept.items()},
        heading | rests_on | narrowed,
        lambda row: is_left(row, filters, chatbots),
    )
    pair = kept["pair"].value if "pair" in kept else {}
    of_pair = {"pair": {**pair, "claims": tidy(claims_on("pair", claims))}} if pair else {}
    return {
        **heading,
        "filters": {"query": filters.to_query(), "words": filters.describe()},
        "generated_at": newest.isoformat(timespec="seconds"),
        **{name: rows for name, rows in narrowed.items() if name != "about"},
        **rests_on,
        **of_pair,
        "claims": narrow(tidy(claims), filters, chatbots),
        "families": tidy(families),
        "definitions": DEFINITIONS,
        "intervals": {name: INTERVALS[name] for name in (*kept, "claims") if name in INTERVALS},
    }


def claims_on(page: str, claims: Iterable[Row]) -> list[Row]:
    return [claim for claim in claims if claim["page"] == page]


def compute_parts(
    views: Mapping[str, Reporting], progress: Progress | None = None
) -> Iterator[tuple[str, MetricValue]]:
    with computed_beside(views):
        for number, (name, view) in enumerate(views.items()):
            if progress:
                progress(number, len(views), name)
            yield name, view.kept(name)
    if progress:
        progress(len(views), len(views), "")


# Nearly half of the work, much of it theirs alone.
APART = ("blend", "taken", "costs", "latency", "cells", "contexts", "choices", "precision", "flow", "sensitivity")
MANY = 20_000  # answers


@contextmanager
def computed_beside(views: Mapping[str, Reporting]) -> Iterator[None]:
    """Compute the parts in APART in a process of its own meanwhile, if there are many answers and it can be.

    It keeps them as any process does; whatever it does not come to is computed as if it were not there.
    """
    second = fork(views) if may_fork() else None
    try:
        yield
    finally:
        if second:  # all is kept by now, or nobody waits for it
            os.kill(second, signal.SIGKILL)
            os.waitpid(second, 0)


def may_fork() -> bool:
    """Whether a second process would see the same data and have a processor."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and not connection.in_atomic_block and sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1


def fork(views: Mapping[str, Reporting]) -> int | None:
    """Return the second process's id, or None if there is little to gain, or a thread that may hold a lock."""
    missing = [name for name, view in views.items() if not view.is_kept(name)]
    apart = [name for name in APART if name in missing]
    if not apart or len(apart) == len(missing) or len(views[apart[0]].data.frames) < MANY:
        return None
    connection.close()  # each process opens its own
    connection.close_pool()
    if threading.active_count() > 1:
        return None
    if second := os.fork():
        return second
    try:
        gc.freeze()  # what both have stays shared
        for name in apart:
            views[name].kept(name)
    finally:
        os._exit(0)


def prompt_rows(study: Study) -> list[dict[str, Any]]:
    fields = ("slug", "title", "kind", "text", "items", "choices", "answer")
    return list(study.current.prompts.filter(asked_of_all()).order_by("position").values(*fields))


# --- in sentences

MOST_OF_A_KIND, MOST_FINDINGS = 4, 12


def findings(report: Report, page: str = "overview") -> list[Row]:
    """A page's claims, each with the `kind` (the page that shows more) and the `query` of that page's address.

    Sizes of different kinds are not comparable, so kinds take turns, the largest claim of each first.
    """
    here = claims_on(page, report.get("claims") or ())
    places: dict[str, int] = {}
    kept = []
    for claim in here:
        places[claim["kind"]] = places.get(claim["kind"], 0) + 1
        if places[claim["kind"]] <= MOST_OF_A_KIND:
            asked = parse_qsl(report["filters"]["query"])
            others = [(name, value) for name, value in asked if name not in claim["params"]]
            query = urlencode([*others, *claim["params"].items()])
            kept.append({**claim, "kind": KINDS[claim["kind"]].page, "query": query})
    return kept[:MOST_FINDINGS]
