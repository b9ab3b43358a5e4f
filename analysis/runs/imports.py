"""Completions that were collected elsewhere: stored as finished runs, marked as imported."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from django.db import connection, reset_queries, transaction
from django.utils import timezone

from analysis.models import Completion, Run
from analysis.runs.recipes.questions import Question
from surveys.access import audit
from surveys.imports.files import Columns, Fault, Faults, ImportFault, batches, near, read_csv
from surveys.models import BenchmarkItem, Study
from surveys.reading.answers import clean_text
from surveys.studies.lifecycle import prompts_of

COLUMNS = Columns(needed=("source", "model", "prompt", "text"), optional=("run", "repeat", "temperature"))
SOURCE = re.compile(r"[a-z0-9][a-z0-9._-]{0,49}")
HIGHEST_TEMPERATURE = 5.0
MOST_REPEATS = 1_000_000


class RunKey(NamedTuple):
    """What becomes one run: the same source, model, run and temperature."""

    source: str
    model: str
    run: str
    temperature: float | None


@dataclass(frozen=True)
class CompletionRow:
    """One row of the file, checked by itself; `repeat` is None where the file does not count."""

    number: int
    group: RunKey
    asked: Question
    text: str
    repeat: int | None


class CompletionReader:
    """What rows may hold, given what they can answer by its name, and the faults found on the way."""

    def __init__(self, asked: Mapping[str, Question], what: str) -> None:
        self.asked, self.what = asked, what
        self.faults = Faults()

    def read_lines(self, path: Path) -> Iterator[CompletionRow]:
        """Row after row; the file is never held as a whole."""
        return read_csv(path, COLUMNS, self.faults, self.read_row)

    def read_row(self, number: int, row: Mapping[str, str]) -> CompletionRow | None:
        before = self.faults.count
        group = RunKey(
            self.read_source(number, row["source"].strip().lower()),
            self.read_word(number, "model", row["model"].strip(), Run._meta.get_field("imported_model").max_length),
            self.read_word(number, "run", row.get("run", "").strip(), 100, needed=False),
            self.read_temperature(number, row.get("temperature", "").strip()),
        )
        asked = self.asked.get(row["prompt"].strip())
        if asked is None:
            self.faults.add(
                number, f"{self.what} has no prompt {row['prompt'][:60]!r}{near(row['prompt'], self.asked)}"
            )
        repeat = self.read_repeat(number, row.get("repeat", "").strip())
        if self.faults.count > before or asked is None:
            return None
        return CompletionRow(number, group, asked, clean_text(row["text"]), repeat)

    def read_source(self, number: int, source: str) -> str:
        if source == "field":
            self.faults.add(number, "source 'field' is for people's answers: use import_responses for them")
        elif not SOURCE.fullmatch(source):
            words = "must be a name such as offline, sp-rag or other-lab: at most 50 small letters, digits, . _ -"
            self.faults.add(number, f"source {source[:60]!r} {words}")
        return source

    def read_word(self, number: int, name: str, value: str, longest: int, needed: bool = True) -> str:
        if len(value) > longest or not value.isprintable() or (needed and not value):
            self.faults.add(number, f"{name} must be a name of 1 to {longest} printable characters")
        return value

    def read_temperature(self, number: int, value: str) -> float | None:
        if not value:
            return None
        try:
            temperature = float(value)
        except ValueError:
            temperature = -1.0
        if not 0 <= temperature <= HIGHEST_TEMPERATURE:
            self.faults.add(
                number, f"temperature must be a number from 0 to {HIGHEST_TEMPERATURE:g}, not {value[:40]!r}"
            )
        return temperature

    def read_repeat(self, number: int, value: str) -> int | None:
        if not value:
            return None
        if not value.isdecimal() or int(value[:10]) >= MOST_REPEATS:
            self.faults.add(number, f"repeat must be a whole number below {MOST_REPEATS:,}, not {value[:40]!r}")
            return None
        return int(value)


BATCH = 1000


@dataclass
class ImportedCompletions:
    runs: int = 0
    completions: int = 0
    skipped: int = 0


def import_completions(study: Study, path: Path, actor: str, benchmark: str = "") -> ImportedCompletions:
    """Read the whole file once for its faults, then once more to store it. All of it, or nothing.

    With `benchmark`, the file's prompts are that benchmark's items and each run is one benchmark run.
    Raises ImportFault, OSError.
    """
    asked, what = askable(study, benchmark)
    check_file(CompletionReader(asked, what), path)
    reader = CompletionReader(asked, what)
    with transaction.atomic():
        # Two imports into one study come one after the other; answering goes on meanwhile.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        store = Store(study, actor, benchmark, reader)
        for batch in batches(reader.read_lines(path), BATCH):
            store.add(batch)
            reset_queries()  # with DEBUG, Django would keep the texts of every batch in its list of statements
        reader.faults.raise_any()
        audit.record(study, actor, "imported completions", path.name, benchmark=benchmark, **vars(store.done))
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE analysis_run, analysis_completion")
    return store.done


def askable(study: Study, benchmark: str) -> tuple[dict[str, Question], str]:
    if not study.current_id:
        raise ImportFault([Fault(0, f"{study.slug} has no definition yet. Load its study file first.")], 1)
    if not benchmark:
        return dict(prompts_of(study.current_id)), "the study"
    items: dict[str, Question] = {item.item: item for item in BenchmarkItem.objects.filter(benchmark=benchmark)}
    if not items:
        names = BenchmarkItem.objects.order_by("benchmark").values_list("benchmark", flat=True).distinct()
        known = ", ".join(names) or "none yet"
        message = f"There is no benchmark {benchmark!r} ({known}). Import it with import_benchmark."
        raise ImportFault([Fault(0, message)], 1)
    return items, f"the benchmark {benchmark}"


def check_file(reader: CompletionReader, path: Path) -> None:
    """Each row by itself, and against the rows above it. Only what tells rows apart is kept, never their texts."""
    seen: dict[int, int] = {}
    repeats = Repeats()
    for line in reader.read_lines(path):
        key = hash((line.group, line.asked.pk, repeats.number(line)))
        if key in seen:
            where = f"on line {seen[key]} already"
            reader.faults.add(line.number, f"this repeat of this prompt stands {where}; count them in `repeat`")
        seen[key] = line.number
    reader.faults.raise_any()


@dataclass
class Repeats:
    """Numbers the answers to one prompt in one run by their order, where the file does not number them."""

    counts: Counter[tuple[RunKey, int]] = field(default_factory=Counter)

    def number(self, line: CompletionRow) -> int:
        if line.repeat is not None:
            return line.repeat
        key = (line.group, line.asked.pk)
        self.counts[key] += 1
        return self.counts[key] - 1


class Store:
    """Writes batch after batch; rows that are there already with the same text are skipped."""

    def __init__(self, study: Study, actor: str, benchmark: str, reader: CompletionReader) -> None:
        self.study, self.actor, self.benchmark, self.reader = study, actor, benchmark, reader
        self.runs: dict[RunKey, Run] = {}
        self.repeats, self.done, self.moment = Repeats(), ImportedCompletions(), timezone.now()

    def add(self, batch: list[CompletionRow]) -> None:
        numbered = [(self.run_for(line.group), line, self.repeats.number(line)) for line in batch]
        there = self.find(numbered)
        rows = []
        for run, line, repeat in numbered:
            known = there.get((run.pk, line.asked.pk, repeat))
            if known is None:
                rows.append(self.make_row(run, line, repeat))
            elif known == line.text:
                self.done.skipped += 1
            else:
                words = f"repeat {repeat} of this prompt is in the study already with another text"
                self.reader.faults.add(line.number, words)
        Completion.objects.bulk_create(rows)
        self.done.completions += len(rows)

    def run_for(self, group: RunKey) -> Run:
        if group not in self.runs:
            known = {
                "study": self.study,
                "benchmark": self.benchmark,
                "condition": Run.Condition.IMPORTED,
                "imported_source": group.source,
                "imported_model": group.model,
                "imported_run": group.run,
                "temperature": group.temperature,
            }
            same = {name: value for name, value in known.items() if value is not None}
            run = Run.objects.filter(**same, temperature__isnull=group.temperature is None).first()
            if run is None:
                run = self.make_run(known)
            self.runs[group] = run
        return self.runs[group]

    def make_run(self, known: dict[str, object]) -> Run:
        self.done.runs += 1
        return Run.objects.create(
            **known,
            version_id=self.study.current_id,
            state=Run.State.DONE,
            created_by=self.actor,
            began_at=self.moment,
            ended_at=self.moment,
        )

    def find(self, numbered: list[tuple[Run, CompletionRow, int]]) -> dict[tuple[int, int, int], str]:
        asked = "item" if self.benchmark else "prompt"
        wanted = {
            "run__in": {run.pk for run, _, _ in numbered},
            f"{asked}__in": {line.asked.pk for _, line, _ in numbered},
            "repeat__in": {repeat for _, _, repeat in numbered},
        }
        rows = Completion.objects.filter(**wanted).values_list("run", asked, "repeat", "reply")
        return {(run, about, repeat): reply for run, about, repeat, reply in rows}

    def make_row(self, run: Run, line: CompletionRow, repeat: int) -> Completion:
        asked = {"item": line.asked} if self.benchmark else {"prompt": line.asked}
        return Completion(
            run=run,
            repeat=repeat,
            position=line.number,
            status=Completion.Status.DONE,
            reply=line.text,
            model_served=line.group.model,
            done_at=self.moment,
            **asked,
        )
