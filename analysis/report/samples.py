"""From filtered answers to what is compared: the field of each chatbot, the sources beside it, and their samples."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.models import Endpoint, Run
from analysis.report.dataset import ALL, FIELD, Frame, Frames
from analysis.report.filters.filters import Filters
from analysis.stats.resampling import SharedDraws
from analysis.stats.samples import ChoiceSample, ItemSample
from surveys.models import Participant, Prompt, Study
from surveys.study_files.definitions import Definition, chatbot_of

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """Whose answers are compared: people's with one chatbot, or those of runs of one kind with one model.

    `chatbot` says which field the runs are compared with; None is everybody's.
    """

    name: str
    model: str
    chatbot: str | None
    temperature: float | None = None
    history_size: int | None = None
    per_user: bool = False
    corpus: str = ""
    personas: str = ""
    imported: bool = False
    runs: tuple[int, ...] = ()
    simulated: bool = False

    @property
    def is_field(self) -> bool:
        return self.name == FIELD

    @property
    def key(self) -> dict[str, str]:
        """What every row of a report says of its source."""
        return {"source": self.name, "model": self.model}

    def of_run(self, run: int) -> "Source":
        """The same of one run alone."""
        return replace(self, runs=(run,))

    @property
    def settings(self) -> dict[str, Any]:
        """What sets it apart from other sources of the same name and model."""
        names = ("temperature", "history_size", "per_user", "corpus", "personas", "imported")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Group:
    """A field and the sources that are compared with it."""

    chatbot: str | None
    field: Source
    others: tuple[Source, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.field, *self.others)


@dataclass(frozen=True, eq=False)
class Data:
    """All that a metric needs: answers, filters, and how the random draws are made."""

    study: Study
    definition: Definition
    frames: Frames
    filters: Filters
    seed: int = 0
    draws: int = 2000
    of_view: dict[Any, Any] = field(default_factory=dict)  # results that several parts share
    of_frames: dict[Any, Any] = field(default_factory=dict)  # and those that are the same through any filters

    def narrowed(self, **filters: Any) -> "Data":
        """The same answers through other filters."""
        return replace(self, filters=replace(self.filters, **filters), of_view={})

    def once(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The result under this key; computed when a part first asks for it."""
        if key not in self.of_view:
            self.of_view[key] = compute()
        return self.of_view[key]

    def once_for_all(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """The same for results that depend on the rows in the key and on no filter."""
        if key not in self.of_frames:
            self.of_frames[key] = compute()
        return self.of_frames[key]

    # --- what is asked

    @cached_property
    def prompts(self) -> dict[str, Prompt]:
        """The prompts that are shown, in the order of the study."""
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
        return np.isin(table["unit"], self.people.index) & self.filters.mask_answers(table)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Every kind of run that the filters leave, repetitions for drift left out."""
        kinds: dict[Source, list[int]] = {}
        for run in self.frames.runs.values():
            if run.first_run_id is None and self.frames.calls_of(run.pk):
                kinds.setdefault(source_of(run, self.definition), []).append(run.pk)
        found = [replace(kind, runs=tuple(sorted(runs))) for kind, runs in kinds.items()]
        return tuple(sorted((source for source in found if self.filters.wants_source(source)), key=source_order))

    @cached_property
    def main_sources(self) -> tuple[Source, ...]:
        """One source for each name and model: of several, temperature 1, the longest history, the most answers."""
        best: dict[tuple[str, str], Source] = {}
        for source in sorted(self.sources, key=self.preference):
            best.setdefault((source.name, source.model), source)
        return tuple(source for source in self.sources if best[source.name, source.model] == source)

    def preference(self, source: Source) -> tuple[float, ...]:
        warmth = abs((1.0 if source.temperature is None else source.temperature) - 1)
        answers = sum(self.frames.calls_of(run) for run in source.runs)
        return (warmth, -(source.history_size or 0), -answers, min(source.runs))

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
        """Which rows of the source's frame are its answers to the prompt."""
        return self.once(("rows", source, prompt), lambda: self._find_rows(source, prompt))

    def _find_rows(self, source: Source, prompt: str) -> Rows:
        mask = self._prompt_mask(source.is_field, prompt)
        if not source.is_field:
            return np.flatnonzero(mask & np.isin(self.frames.calls.table["unit"], source.runs))
        if source.chatbot is not None:
            mask = mask & (self.frames.field_chatbots == source.chatbot)
        return np.flatnonzero(mask & self.field_mask)

    def _prompt_mask(self, of_field: bool, prompt: str) -> NDArray[np.bool_]:
        codes = self.frame(of_field).table["prompt"].cat
        place = codes.categories.get_indexer([prompt])[0]
        return codes.codes.to_numpy() == place

    def frame(self, of_field: bool) -> Frame:
        return self.frames.field if of_field else self.frames.calls

    def items(self, source: Source, prompt: str) -> ItemSample:
        def read() -> ItemSample:
            return self.items_in(source.is_field, prompt, self.by_unit(source, self.rows_of(source, prompt)))

        return self.once(("items", source, prompt), read)

    def by_unit(self, source: Source, rows: Rows) -> Rows:
        """In the same order for every prompt: by person, or by run, simulated user and repeat."""
        table = self.frame(source.is_field).table
        keys = [table[name].to_numpy()[rows] for name in ("repeat", "user", "unit")]
        return rows[np.lexsort(keys)]

    def items_in(self, of_field: bool, prompt: str, rows: Rows) -> ItemSample:
        frame = self.frame(of_field)
        place = np.full(len(frame.table), -1, dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        mentioned = place[frame.rows]
        there = mentioned >= 0
        codes = frame.codes[there].astype(np.int32)
        return ItemSample(len(rows), mentioned[there], codes, len(self.frames.vocabulary(prompt)))

    def options(self, source: Source, prompt: str) -> ChoiceSample:
        return self.options_in(source.is_field, prompt, self.rows_of(source, prompt))

    def options_in(self, of_field: bool, prompt: str, rows: Rows) -> ChoiceSample:
        asked = self.frames.prompts[prompt]
        codes = self.frame(of_field).table["option"].to_numpy()[rows]
        correct = "ABCDEFGH".find(asked.answer) if asked.answer else None
        return ChoiceSample(codes, len(asked.choices), correct)

    def simulated_in(self, source: Source, rows: Rows) -> int:
        """How many of the answers are made up."""
        if not source.is_field:
            return len(rows) if source.simulated else 0
        units = self.frames.field.table["unit"].to_numpy()[rows]
        return int((self.frames.people["origin"].loc[units] == Participant.Origin.SIMULATED).sum())


def source_of(run: Run, definition: Definition) -> Source:
    return Source(
        name=run.source,
        model=run.model,
        chatbot=chatbot_of(definition, run.model),
        temperature=run.temperature,
        history_size=run.history_size,
        per_user=run.per_user,
        corpus=run.corpus.name if run.corpus else "",
        personas=run.personas.name if run.personas else "",
        imported=run.condition == Run.Condition.IMPORTED,
        simulated=is_made_up(run),
    )


def is_made_up(run: Run) -> bool:
    return run.endpoint is not None and run.endpoint.provider == Endpoint.Provider.FAKE


CONDITIONS = list(Run.Condition.values)


def source_order(source: Source) -> tuple:
    """Offline first, then the sock puppets by history size, then what was imported."""
    place = CONDITIONS.index(source.name) if source.name in CONDITIONS else len(CONDITIONS)
    settings = (source.imported, source.history_size or 0, source.temperature or 0)
    return (source.model, place, source.name, *settings, source.runs)
