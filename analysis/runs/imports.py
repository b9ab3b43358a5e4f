"""Importing completions collected elsewhere: stored as finished runs, marked as imported."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.db import reset_queries
from django.utils import timezone

from analysis.models import Completion, Run, SimulatedUser
from analysis.runs.recipes.questions import Question
from surveys.models import BenchmarkItem, Study
from surveys.studies import audit
from surveys.studies.imports import files
from surveys.studies.imports.files import CellFault, FileColumn, batches, name_column, optional, parsed
from surveys.studies.lifecycle import prompts_of

SOURCE = re.compile(r"[a-z0-9][a-z0-9._-]{0,49}")
HIGHEST_TEMPERATURE = 5.0
MOST_REPEATS = 1_000_000
NO_REPEAT = f"repeat must be a whole number below {MOST_REPEATS:,}, not {{!r}}"
NO_TEMPERATURE = f"temperature must be a number from 0 to {HIGHEST_TEMPERATURE:g}, not {{!r}}"
SEEN = 250  # bytes that are kept of a row while a file is checked


class RunKey(NamedTuple):
    """What rows of one run share: source, model, run, temperature and settings."""

    source: str
    model: str
    run: str
    temperature: float | None
    settings: str


@dataclass(frozen=True)
class CompletionRow:
    """One row of the file, checked by itself; `repeat` is None if the file gives none.

    `user` names the simulated user, empty without one.
    """

    line: int
    key: RunKey
    asked: Question
    text: str
    user: str
    repeat: int | None


class CompletionReader:
    """Reads rows, given what they can answer by its name, and collects the faults."""

    def __init__(self, asked: Mapping[str, Question], what: str) -> None:
        self.faults = files.Faults()
        self.table = files.TableReader(
            FileColumn("source", _read_source, needed=True),
            name_column("model", Run._meta.get_field("imported_model").max_length),
            files.choice_column("prompt", asked, what),
            files.text_column("text"),
            name_column("run", 100, needed=False),
            name_column("user", SimulatedUser._meta.get_field("name").max_length, needed=False),
            name_column("settings", Run._meta.get_field("imported_settings").max_length, needed=False),
            FileColumn("repeat", optional(parsed(_parse_repeat, NO_REPEAT))),
            FileColumn("temperature", optional(parsed(_parse_temperature, NO_TEMPERATURE))),
            faults=self.faults,
        )

    def read(self, path: Path) -> Iterator[CompletionRow]:
        """Yield row after row; the file is never held as a whole."""
        for row in self.table.read(path):
            key = RunKey(*(row.values[name] for name in RunKey._fields))
            user = row.values["user"] or ""
            yield CompletionRow(row.line, key, row.values["prompt"], row.values["text"], user, row.values["repeat"])


def _read_source(cell: str) -> str:
    source = cell.strip().lower()
    if source == "field":
        raise CellFault("source 'field' is for people's answers: use import_responses for them")
    if not SOURCE.fullmatch(source):
        words = "must be a name such as offline, sp-rag or other-lab: at most 50 lower-case letters, digits, . _ -"
        raise CellFault(f"source {source[:60]!r} {words}")
    return source


def _parse_temperature(text: str) -> float | None:
    return float(text) if 0 <= float(text) <= HIGHEST_TEMPERATURE else None


def _parse_repeat(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text) < MOST_REPEATS else None


BATCH = 1000
ANALYZE = "ANALYZE analysis_run, analysis_completion"


@dataclass
class ImportedCompletions:
    runs: int = 0
    completions: int = 0
    skipped: int = 0


def import_completions(study: Study, path: Path, actor: str, benchmark: str = "") -> ImportedCompletions:
    """Read the whole file once for its faults, then once more to store it: all or nothing.

    With `benchmark`, the file's prompts are that benchmark's items and each run is one benchmark run.
    Raises ImportFault, OSError.
    """
    asked, what = _askable(study, benchmark)
    _check_file(CompletionReader(asked, what), path)
    reader = CompletionReader(asked, what)
    with files.storing(study, ANALYZE):
        store = CompletionStore(study, actor, benchmark, reader)
        for batch in batches(reader.read(path), BATCH, lambda row: len(row.text)):
            store.add(batch)
            reset_queries()  # with DEBUG, Django would keep the texts of every batch in its list of statements
        reader.faults.raise_any()
        audit.record(study, actor, "imported completions", path.name, benchmark=benchmark, **vars(store.done))
    return store.done


def _askable(study: Study, benchmark: str) -> tuple[dict[str, Question], str]:
    if not study.current_id:
        files.refuse(f"{study.slug} has no definition yet. Load its study file first.")
    if not benchmark:
        return {slug: prompt for slug, prompt in prompts_of(study.current_id).items() if not prompt.asks}, "the study"
    items: dict[str, Question] = {item.item: item for item in BenchmarkItem.objects.filter(benchmark=benchmark)}
    if not items:
        names = BenchmarkItem.objects.order_by("benchmark").values_list("benchmark", flat=True).distinct()
        known = ", ".join(names) or "none yet"
        files.refuse(f"There is no benchmark {benchmark!r} ({known}). Import it with import_benchmark.")
    return items, f"the benchmark {benchmark}"


def _check_file(reader: CompletionReader, path: Path) -> None:
    """Check each row by itself and against those above it. Keep only what tells rows apart, never their texts."""
    seen: dict[int, int] = {}
    repeats = RepeatCounts()
    for row in reader.read(path):
        key = hash((row.key, row.asked.pk, row.user, repeats.number_of(row)))
        if key in seen:
            where = f"on line {seen[key]} already"
            reader.faults.add(row.line, f"this repeat of this prompt stands {where}; count them in `repeat`")
        seen[key] = row.line
        reader.faults.keep(more=SEEN)
    reader.faults.raise_any()


class RepeatCounts(Counter[tuple[RunKey, int, str]]):
    """Numbers a user's answers to one prompt in one run by their order, if the file does not number them."""

    def number_of(self, row: CompletionRow) -> int:
        if row.repeat is not None:
            return row.repeat
        key = (row.key, row.asked.pk, row.user)
        self[key] += 1
        return self[key] - 1


class CompletionStore:
    """Writes batch after batch, and skips rows stored before with the same text."""

    def __init__(self, study: Study, actor: str, benchmark: str, reader: CompletionReader) -> None:
        self.study, self.actor, self.benchmark, self.reader = study, actor, benchmark, reader
        self.runs: dict[RunKey, Run] = {}
        self.users: dict[int, dict[str, SimulatedUser]] = {}  # by run and name
        self.repeats, self.done, self.moment = RepeatCounts(), ImportedCompletions(), timezone.now()

    def add(self, batch: list[CompletionRow]) -> None:
        numbered = [(self.run_for(row.key), row, self.repeats.number_of(row)) for row in batch]
        self.make_users(numbered)
        there = self.find(numbered)
        rows = []
        for run, row, repeat in numbered:
            known = there.get((run.pk, row.asked.pk, row.user, repeat))
            if known is None:
                rows.append(self.make_row(run, row, repeat))
            elif known == row.text:
                self.done.skipped += 1
            else:
                words = f"repeat {repeat} of this prompt is already in the study with another text"
                self.reader.faults.add(row.line, words)
        Completion.objects.bulk_create(rows)
        self.done.completions += len(rows)

    def run_for(self, key: RunKey) -> Run:
        if key not in self.runs:
            known = {
                **{"study": self.study, "benchmark": self.benchmark, "condition": Run.Condition.IMPORTED},
                **{f"imported_{name}": getattr(key, name) for name in ("source", "model", "run", "settings")},
                "temperature": key.temperature,
            }
            same = {name: value for name, value in known.items() if value is not None}
            run = Run.objects.filter(**same, temperature__isnull=key.temperature is None).first()
            if run is None:
                self.done.runs += 1
                fixed = {"version_id": self.study.current_id, "state": Run.State.DONE, "created_by": self.actor}
                run = Run.objects.create(**known, **fixed, began_at=self.moment, ended_at=self.moment)
            self.runs[key] = run
        return self.runs[key]

    def make_users(self, numbered: list[tuple[Run, CompletionRow, int]]) -> None:
        """Make the simulated users that the rows name and that do not exist yet."""
        named: dict[int, dict[str, None]] = {}
        for run, row, _ in numbered:
            if row.user:
                named.setdefault(run.pk, {})[row.user] = None
        for pk, wanted in named.items():
            if pk not in self.users:
                self.users[pk] = {user.name: user for user in SimulatedUser.objects.filter(run=pk)}
            known = self.users[pk]
            new = [name for name in wanted if name not in known]
            numbers = range(len(known), len(known) + len(new))
            rows = [SimulatedUser(run_id=pk, index=place, name=name) for place, name in zip(numbers, new, strict=True)]
            known.update({user.name: user for user in SimulatedUser.objects.bulk_create(rows)})

    def find(self, numbered: list[tuple[Run, CompletionRow, int]]) -> dict[tuple[int, int, str, int], str]:
        asked = "item" if self.benchmark else "prompt"
        wanted = {
            "run__in": {run.pk for run, _, _ in numbered},
            f"{asked}__in": {row.asked.pk for _, row, _ in numbered},
            "repeat__in": {repeat for _, _, repeat in numbered},
        }
        rows = Completion.objects.filter(**wanted).values_list("run", asked, "user__name", "repeat", "reply")
        return {(run, about, user or "", repeat): reply for run, about, user, repeat, reply in rows}

    def make_row(self, run: Run, row: CompletionRow, repeat: int) -> Completion:
        asked = {"item": row.asked} if self.benchmark else {"prompt": row.asked}
        return Completion(
            run=run,
            user=self.users[run.pk][row.user] if row.user else None,
            repeat=repeat,
            position=row.line,
            status=Completion.Status.DONE,
            reply=row.text,
            model_served=row.key.model,
            done_at=self.moment,
            **asked,
        )
