"""From filtered answers to rows: sources and groups, samples of answers, and fields shared by the rows of all parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.models import Run
from analysis.models.conditions import AMOUNTS, IN_ROWS, with_fields
from analysis.report.dataset import ALL, FIELD, LETTERS, OWN, Frame, Frames
from analysis.report.filters import Filters
from analysis.stats.heterogeneity import Comparison, Difference, Distance, compare_redrawn, compare_sources
from analysis.stats.intervals import Interval, TestedDifference, holm
from analysis.stats.resampling import UNKNOWN, ChoiceSample, ItemSample, Roll, SharedDraws, generator
from analysis.stats.simultaneous import ShareGaps, share_gaps
from analysis.stats.speed import Memo
from surveys.models import Prompt, Study
from surveys.studies.files.definitions import Definition, chatbot_of

Rows = NDArray[np.int64]
Cell = TypeVar("Cell")
Value = TypeVar("Value")

FIRST = ("", 1)  # the arm and the occasion of what everybody is asked
NOTHING = {setting.name: "" if setting.chooses_row else setting.default for setting in IN_ROWS}
SourceSettings: Any = with_fields("SourceSettings", NOTHING)


@dataclass(frozen=True)
class Source(SourceSettings):
    """Whose answers are compared: people's with one chatbot, or those of runs of one kind with one model.

    `chatbot` is the field that runs are compared with; None is everybody's. `other` holds settings in words,
    `asked_with` those of them that are not about what precedes a prompt.
    """

    name: str
    model: str
    chatbot: str | None
    temperature: float | None = None
    imported: bool = False
    other: str = ""
    asked_with: str = ""
    runs: tuple[int, ...] = ()
    simulated: bool = False

    @property
    def is_field(self) -> bool:
        return self.name == FIELD

    @property
    def key(self) -> dict[str, str]:
        """The fields that name the source in every row of a report."""
        return {"source": self.name, "model": self.model}

    def of_run(self, run: int) -> "Source":
        """The same source with one run alone."""
        return replace(self, runs=(run,))

    @property
    def amount(self) -> int:
        """How much precedes a prompt."""
        return sum(getattr(self, setting.name) or 0 for setting in AMOUNTS)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that distinguish sources of one name and model."""
        names = ("temperature", *(setting.name for setting in IN_ROWS), "imported")
        return {**{name: getattr(self, name) for name in names}, "settings": self.other}


@dataclass(frozen=True)
class Group:
    """A field and the sources compared with it."""

    chatbot: str | None
    field: Source
    others: tuple[Source, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.field, *self.others)


@dataclass(frozen=True, eq=False)
class Data:
    """All that a measure needs: answers, filters, and how to make random draws.

    `asking` is the arm and the occasion of the field's answers.
    """

    study: Study
    definition: Definition
    frames: Frames
    filters: Filters
    seed: int = 0
    draws: int = 2000
    asking: tuple[str, int] = FIRST
    of_view: Memo = field(default_factory=Memo)  # results that several parts share, and what these are made of
    of_frames: Memo = field(default_factory=Memo)  # results that are the same through any filters

    def narrowed(self, **filters: Any) -> "Data":
        """The same answers through other filters."""
        narrowed = replace(self.filters, **filters)
        return replace(self, filters=narrowed, of_view=Memo())

    def asked(self, arm: str, occasion: int) -> "Data":
        """The same people's answers in another arm, or on another occasion."""
        return replace(self, asking=(arm, occasion), of_view=Memo())

    def once(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The result under this key, computed on first use."""
        return self.of_view.get(key, compute)

    def once_for_all(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The same for results that depend on the rows in the key but on no filter."""
        return self.of_frames.get(key, compute)

    # --- what is asked

    @cached_property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts shown, in the order of the study."""
        return {slug: prompt for slug, prompt in self.frames.prompts.items() if self.filters.wants_prompt(slug)}

    def prompts_of(self, kind: str) -> list[str]:
        return [slug for slug, prompt in self.prompts.items() if prompt.kind == kind]

    @property
    def lists(self) -> list[str]:
        return self.prompts_of(Prompt.Kind.RECOMMENDATION)

    @property
    def choices(self) -> list[str]:
        return self.prompts_of(Prompt.Kind.CHOICE)

    # --- who answers

    @cached_property
    def people(self) -> pd.DataFrame:
        """The people whose answers count."""
        people = self.frames.people
        return people[self.filters.mask_people(people)]

    @cached_property
    def field_mask(self) -> NDArray[np.bool_]:
        table = self.frames.field.table
        return np.isin(table["unit"].to_numpy(), self.people.index.to_numpy()) & self.filters.mask_answers(table)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which of the field's answers the filters keep, at most one per person and prompt."""
        return self.field_mask & self.frames.first_time

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Every kind of run that the filters keep, without repetitions for drift."""
        kinds: dict[Source, list[int]] = {}
        for run in self.frames.runs.values():
            if run.first_run_id is None and self.frames.calls_of(run.pk):
                kinds.setdefault(source_of(run, self.definition), []).append(run.pk)
        found = [replace(kind, runs=tuple(sorted(runs))) for kind, runs in kinds.items()]
        return tuple(sorted((source for source in found if self.filters.wants_source(source)), key=source_order))

    @cached_property
    def main_sources(self) -> tuple[Source, ...]:
        """One source for each name and model: nearest to temperature 1, with the longest history, the most answers."""
        best: dict[tuple[str, str], Source] = {}
        for source in sorted(self.sources, key=self.preference):
            best.setdefault((source.name, source.model), source)
        return tuple(source for source in self.sources if best[source.name, source.model] == source)

    def preference(self, source: Source) -> tuple[float, ...]:
        warmth = np.inf if source.temperature is None else abs(source.temperature - 1)
        answers = sum(self.frames.calls_of(run) for run in source.runs)
        return (warmth, -source.amount, -answers, min(source.runs))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """A group for each chatbot, and one over all people for models that belong to none of them."""
        there = self.people["chatbot"].dropna().unique().tolist() if len(self.people) else []
        chatbots = [bot.slug for bot in self.definition.chatbots]
        used = {source.chatbot for source in self.main_sources}
        named = [bot for bot in [*chatbots, *sorted(set(there) - set(chatbots))] if bot in used or bot in there]
        ends = [*named, None] if None in used or not named else named
        return tuple(self.group_of(chatbot) for chatbot in ends)

    def group_of(self, chatbot: str | None) -> Group:
        others = tuple(source for source in self.main_sources if source.chatbot == chatbot)
        return Group(chatbot, Source(FIELD, chatbot or ALL, chatbot), others)

    @property
    def shows_field(self) -> bool:
        return not self.filters.source or FIELD in self.filters.source

    # --- their answers

    @property
    def shared_draws(self) -> SharedDraws:
        return self.once_for_all(("shared draws",), lambda: SharedDraws(self.seed, self.draws))

    def rows_of(self, source: Source, prompt: str) -> Rows:
        """The rows of the source's frame with its answers to the prompt."""
        return self.once(("rows", source, prompt), lambda: self._find_rows(source, prompt))

    def _find_rows(self, source: Source, prompt: str) -> Rows:
        frame, slug = self.frame(source.is_field), self._asked_as(prompt) if source.is_field else prompt
        rows = frame.prompt_rows.get(slug, np.empty(0, dtype=np.int64))
        if not source.is_field:
            return rows[np.isin(frame.columns["unit"][rows], source.runs)]
        if self.asking != FIRST:
            rows = rows[~frame.columns["unreached"][rows]]
        if source.chatbot is not None:
            rows = rows[self.frames.field_chatbots[rows] == source.chatbot]
        return rows[self.field_mask[rows]]

    def _asked_as(self, prompt: str) -> str:
        """The slug that asks the prompt in this `asking`; "" if there is none."""
        slugs = {(one.asks, one.arm, one.occasion): one.slug for one in self.frames.askings.values()}
        return prompt if self.asking == FIRST else slugs.get((prompt, *self.asking), "")

    def frame(self, of_field: bool) -> Frame:
        return self.frames.field if of_field else self.frames.calls

    def unit_of(self, source: Source) -> str:
        """The unit of its answers: a person, a simulated user, or a repeat."""
        if source.is_field:
            return "person"
        return "simulated user" if source.runs and self._has_users(source) else "repeat"

    def _has_users(self, source: Source) -> bool:
        def look() -> bool:
            columns = self.frames.calls.columns
            return bool((columns["respondent"][np.isin(columns["unit"], source.runs)] != OWN).any())

        return self.once_for_all(("has users", source.runs), look)

    def unit_row(self, source: Source, units: int) -> dict[str, Any]:
        """The fields of a row for its unit and how many there are."""
        return {"unit": self.unit_of(source), "units": units}

    def units(self, source: Source, prompt: str) -> NDArray[np.int64] | None:
        """The number of the unit of each row in `rows_of`; None if each row is its own unit, as for people."""
        return self.units_in(source.is_field, self.rows_of(source, prompt))

    def units_in(self, of_field: bool, rows: Rows) -> NDArray[np.int64] | None:
        if of_field:
            return None
        given = self.frames.calls.columns["respondent"][rows]
        alone = given == OWN
        # By row: if numbered within a sample, answers of two samples would pass for one unit's.
        return None if alone.all() else np.where(alone, OWN - 1 - rows, given)

    def items(self, source: Source, prompt: str) -> ItemSample:
        def read() -> ItemSample:
            rows = self.by_unit(source, self.rows_of(source, prompt))
            sample = self.items_in(source.is_field, prompt, rows)
            return replace(sample, roll=self._roll_of(source, sample, rows), checked=True)

        return self.once(("items", source, prompt), read)

    def letters(self, source: Source, prompt: str) -> ItemSample:
        """The answers to a choice as lists of one item, their letter; unknown ones are empty."""

        def read() -> ItemSample:
            rows = self.by_unit(source, self.rows_of(source, prompt))
            codes = self.frame(source.is_field).columns["option"][rows].astype(np.int32)
            known = np.flatnonzero(codes != UNKNOWN).astype(np.int32)
            size, units = len(self.frames.prompts[prompt].choices), self.units_in(source.is_field, rows)
            return ItemSample(len(rows), known, codes[known], size, units, checked=True)

        return self.once(("letters", source, prompt), read)

    def roll(self, source: Source) -> NDArray[np.int64]:
        """Everybody who answered any recommendation, whatever prompts are shown, in the order of `by_unit`."""

        def call() -> NDArray[np.int64]:
            lists = [slug for slug, asked in self.frames.prompts.items() if asked.kind == Prompt.Kind.RECOMMENDATION]
            rows = np.concatenate([np.empty(0, np.int64), *(self.rows_of(source, prompt) for prompt in lists)])
            return np.asarray(pd.unique(self.frame(source.is_field).who[self.by_unit(source, rows)]))

        return self.once(("roll", source), call)

    def missing(self, source: Source, prompt: str) -> int:
        """How many people of the field have counted answers, but none to this prompt; 0 for models, whose failed calls
        are counted elsewhere.
        """
        if not source.is_field:
            return 0

        def everybody() -> int:
            rows = [self.rows_of(source, slug) for slug in self.frames.prompts]
            return len(np.unique(self.frames.field.who[np.concatenate(rows)])) if rows else 0

        return max(0, int(self.once(("people", source), everybody)) - len(self.rows_of(source, prompt)))

    def _roll_of(self, source: Source, sample: ItemSample, rows: Rows) -> Roll | None:
        """The places of a sample's respondents in `roll`, and its length; None if the sample has them all in order."""
        everybody, given = self.roll(source), self.frame(source.is_field).who[rows]
        who = given
        if sample.clusters:
            who = np.empty(sample.unit_count, np.int64)
            who[sample.clusters.of] = given
        if np.array_equal(who, everybody):
            return None
        return pd.Index(everybody).get_indexer(who).astype(np.int64), len(everybody)

    def by_unit(self, source: Source, rows: Rows) -> Rows:
        """Sort rows the same way for every prompt: by person, or by run, simulated user and repeat."""
        columns = self.frame(source.is_field).columns
        keys = [columns[name][rows] for name in ("repeat", "user", "unit")]
        return rows[np.lexsort(keys)]

    def items_in(self, of_field: bool, prompt: str, rows: Rows) -> ItemSample:
        frame = self.frame(of_field)
        begin = frame.mentions_before[rows]
        lengths = frame.mentions_before[rows + 1] - begin
        of = np.repeat(np.arange(len(rows), dtype=np.int32), lengths)
        mentions = np.arange(len(of)) + np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
        codes = frame.codes[mentions].astype(np.int32)
        size = len(self.frames.vocabulary(prompt))
        return ItemSample(len(rows), of, codes, size, self.units_in(of_field, rows), checked=True)

    def options(self, source: Source, prompt: str) -> ChoiceSample:
        return self.options_in(source.is_field, prompt, self.rows_of(source, prompt))

    def options_in(self, of_field: bool, prompt: str, rows: Rows) -> ChoiceSample:
        asked = self.frames.prompts[prompt]
        codes = self.frame(of_field).columns["option"][rows]
        correct = LETTERS.find(asked.answer) if asked.answer else None
        return ChoiceSample(codes, len(asked.choices), correct, self.units_in(of_field, rows))

    def simulated_in(self, source: Source, rows: Rows) -> int:
        """How many of the answers are simulated."""
        if not source.is_field:
            return len(rows) if source.simulated else 0
        return int(np.count_nonzero(self.frames.field_simulated[rows]))


def source_of(run: Run, definition: Definition) -> Source:
    return Source(
        name=run.source,
        model=run.model,
        chatbot=chatbot_of(definition, run.model),
        temperature=run.temperature,
        **{setting.name: setting.of(run) for setting in IN_ROWS},
        imported=run.condition == Run.Condition.IMPORTED,
        other=run.settings,
        asked_with=run.asked_with,
        simulated=run.is_simulated,
    )


CONDITIONS = list(Run.Condition.values)


def source_order(source: Source) -> tuple:
    """A sort key: by model, then offline, sock puppets, others; then by whether imported, history size, temperature."""
    place = CONDITIONS.index(source.name) if source.name in CONDITIONS else len(CONDITIONS)
    settings = (source.imported, source.amount, source.temperature or 0, source.other)
    return (source.model, place, source.name, *settings, source.runs)


Row = dict[str, Any]
NAMED_WHERE_SET = ("memory_size", "settings")  # so that draws of sources without these stay the same


def name_of(source: Source) -> str:
    """The source in one line, by which random draws are named."""
    named = [value for name, value in source.settings.items() if value or name not in NAMED_WHERE_SET]
    return "|".join(map(str, (source.name, source.model, *named)))


def generator_for(data: Data, what: str, source: Source, prompt: str, *more: object) -> np.random.Generator:
    """A generator that is independent for each source and prompt, and the same whatever else is computed."""
    return generator(data.seed, what, f"{prompt}|{name_of(source)}", *more)


def low_highs(intervals: Mapping[str, Interval | None]) -> dict[str, list[float] | None]:
    return {name: low_high(found) for name, found in intervals.items()}


def low_high(found: Interval | None) -> list[float] | None:
    return None if found is None else [float(found[0]), float(found[1])]


def reasons(**why: str | dict[str, str] | None) -> dict[str, Any]:
    """Why something is undefined or has no interval, as one sentence or one for each measure; leaves out empty ones."""
    return {name: text for name, text in why.items() if text}


def effect_cells(found: TestedDifference, n: int) -> Row:
    """A tested difference of `n` units; correct_over_prompts fills in its corrected p."""
    values = {"effect": found.effect, "ci": low_high(found.ci), "p": found.p, "p_tail": found.p_tail, "p_holm": None}
    return values | {"n": n, **reasons(ci_why=found.ci_why)}


def interval_cells(name: str, found: Interval | None, why: str | None) -> Row:
    """The fields of a row for an interval, or for why there is none."""
    return {name: low_high(found)} | reasons(**{f"{name}_why": None if found else why})


def correct_over_prompts(rows: Iterable[Row], *tests_of: Callable[[Row], Row | None], tables: int = 1) -> None:
    """Put `p_holm` beside the `p` of each row's tests: Holm's over all of them, whatever their prompt, source, model
    or measure, and over as many such `tables` as a page has. It is taken from `p_tail`, since a p by draws is never
    below one draw in all, and is no smaller than `p`.
    """
    tests = [test for row in rows for test_of in tests_of if (test := test_of(row))]
    for test, corrected in zip(tests, holm([test.get("p_tail", test["p"]) for test in tests]), strict=True):
        test["p_holm"] = None if corrected is None else max(test["p"], min(1.0, tables * corrected))


def difference_in(inside: str, name: str) -> Callable[[Row], Row | None]:
    """Return a reader of a row's test of one measure."""
    return lambda row: row.get(inside, {}).get(name)


FEWEST = 20  # units of a sample below which the others are not rarefied to it


def common_n(units: Iterable[int]) -> int:
    """The number of units to which larger samples are rarefied: the smallest of at least FEWEST, else the smallest."""
    known = sorted(count for count in units if count)
    return min((count for count in known if count >= FEWEST), default=min(known, default=0))


def comparison(data: Data, group: Group, prompt: str) -> Comparison:
    """Compare the field with each source asked, both rarefied to the smaller of the two.

    If no people answered, rarefy all sources to the `common_n` of their units.
    """

    def compute() -> Comparison:
        samples = {name_of(source): data.items(source, prompt) for source in group.sources}
        pairs = [(name_of(group.field), name_of(source)) for source in group.others]
        of_models = common_n(sample.unit_count for sample in samples.values())
        alone = None if samples[name_of(group.field)].n else of_models
        return compare_sources(samples, pairs, data.shared_draws, alone)

    return data.once(("comparison", group, prompt), compute)


def item_gaps(samples: Sequence[ItemSample]) -> tuple[list[NDArray[np.float64]], ShareGaps]:
    """The share of each side's units that names each item, at one answer per unit; and the differences."""
    units = [sample.unit_count for sample in samples]
    chances = [np.asarray(sample.chances.sum(axis=1), dtype=float).ravel() for sample in samples]
    one, other = (named / count for named, count in zip(chances, units, strict=True))
    return [one, other], share_gaps(one, units[0], other, units[1])


def against_field(data: Data, group: Group, source: Source, prompt: str) -> dict[str, Difference] | None:
    """The difference of field minus source; None if either was not asked."""
    return comparison(data, group, prompt).differences.get((name_of(group.field), name_of(source)))


def to_field(data: Data, group: Group, source: Source, prompt: str) -> Distance | None:
    """The distance from the field to any source, even one that other parts leave out; None if either was not asked.

    Letters count as lists of one item.
    """
    names, is_choice = (name_of(group.field), name_of(source)), prompt in data.choices
    if source in group.others and not is_choice:
        return comparison(data, group, prompt).distances.get(names)
    field, other = ((data.letters if is_choice else data.items)(side, prompt) for side in (group.field, source))
    if not (field.n and other.n):
        return None
    shared = data.shared_draws
    drawn = shared.redraw(field, names[0]), shared.redraw(other, names[1])
    return compare_redrawn(*drawn, shared.split(field, other, *names))
