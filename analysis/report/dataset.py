"""All answers of a study as arrays: one query each for people and models, spellings merged by the alias table."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, compress
from typing import Any

import numpy as np
import pandas as pd
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from numpy.typing import NDArray
from psycopg import sql

from analysis.answers.aliases import alias_map
from analysis.answers.compared import (
    Spellings,
    families_of,
    load_askings,
    load_drawn,
    load_prompts,
    named,
    runs_of,
    simulated_users,
    spellings_of,
)
from analysis.models import Completion, Run
from analysis.models.conditions import DRAWN
from analysis.stats.resampling import UNKNOWN
from surveys.models import Participant, Prompt, ReadBack, Response, Study
from surveys.studies.exclusions import excluded_people, excluded_responses, kept_flags
from surveys.studies.files.definitions import Definition
from surveys.studies.lifecycle import definition_of

FIELD, OFFLINE = "field", "offline"
ALL = "all"  # the model of a field that is not one chatbot's
LETTERS = "ABCDEFGH"
# The columns about people, and where they come from.
PEOPLE = {
    **{name: name for name in ("id", "origin", "pilot", "state", "answers", "order", "finished_at")},
    **{name: f"context__{name}" for name in ("memory", "personalisation", "plan", "model_shown", "device")},
    "chatbot": Coalesce(F("cell__chatbot"), F("context__product")),
    "cell": "cell__slug",
    "version": "version__number",
}
TOLD = "answer_"  # the prefix of a question's slug
ANSWER = ("prompt_id", "answer__letter", "answer__items", Coalesce("answer__id", 0))

WRITTEN = """
    SELECT slug, item, name, count(*) FROM (
        SELECT prompt.slug, unnest(answer.items) AS item, unnest(answer.names) AS name
        FROM analysis_answer AS answer
        LEFT JOIN surveys_response AS response ON response.id = answer.response_id
        LEFT JOIN analysis_completion AS completion ON completion.id = answer.completion_id
        JOIN surveys_prompt AS prompt ON prompt.id = coalesce(response.prompt_id, completion.prompt_id)
        JOIN surveys_studyversion AS version ON version.id = prompt.version_id
        WHERE version.study_id = %s
    ) AS said
    WHERE name <> ''
    GROUP BY 1, 2, 3
"""

BY_LIST = "SELECT {} FROM ({}) AS found ({})"
TEXTS = ("letter", "items")  # the columns of answers that are not numbers
AS_KEPT: Mapping[int, tuple[Sequence[str], str]] = {}
OWN = -1  # the simulated user of an answer that has none


@dataclass(frozen=True, eq=False)
class Said:
    """Answers by column: id (of the response or completion), unit (participant or run), user (simulated, or 0), repeat
    (for a response its revision), prompt (its id), letter, items, and the answer's id, 0 for texts not read yet.
    """

    id: NDArray[np.int64]
    unit: NDArray[np.int64]
    user: NDArray[np.int64]
    repeat: NDArray[np.int64]
    prompt: NDArray[np.int64]
    letter: Sequence[str]
    items: Sequence[Sequence[str]]
    answer: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Iterable[Sequence[Any]]) -> "Said":
        """Make it from lists, in the order of the fields."""
        given: dict[str, Any] = dict(zip((each.name for each in fields(cls)), columns, strict=True))
        numbers: dict[str, Any] = {name: np.array(given[name], np.int64) for name in given if name not in TEXTS}
        return cls(**(given | numbers))

    def where(self, wanted: NDArray[np.bool_]) -> "Said":
        if wanted.all():
            return self
        given: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        given |= {name: column[wanted] for name, column in given.items() if name not in TEXTS}
        given |= {name: list(compress(given[name], wanted)) for name in TEXTS}
        return Said(**given)

    def read_as(self, anew: Mapping[int, tuple[Sequence[str], str]]) -> "Said":
        """Replace items and letter by those in `anew`, by the answer's id."""
        if not anew:
            return self
        read = zip(self.answer.tolist(), self.items, self.letter, strict=True)
        found = [anew.get(answer, (items, letter)) for answer, items, letter in read]
        return replace(self, items=[items for items, _ in found], letter=[letter for _, letter in found])

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, eq=False)
class Frame:
    """Answers in a fixed order, and which of them mentions which item.

    `table` has a row for each answer: id (of the response or completion), unit (participant or run), user (simulated),
    respondent (of completions: the simulated user, whom runs share), repeat, prompt (slug) and option (of a choice;
    UNKNOWN if none was found). Mention k says that row `rows[k]` names item `codes[k]` of its prompt; a row names an
    item at most once.
    """

    table: pd.DataFrame
    rows: NDArray[np.int64]
    codes: NDArray[np.int64]

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The table's columns but `prompt` as arrays; getting one from pandas takes longer than making most samples."""
        return {str(name): self.table[name].to_numpy() for name in self.table.columns if name != "prompt"}

    @cached_property
    def who(self) -> NDArray[np.int64]:
        """A number for each respondent, the same in all prompts: a person, a simulated user, or a repeat of a run."""
        columns = self.columns
        if "respondent" not in columns:
            return np.asarray(columns["unit"])
        alone = np.zeros(len(self.table), np.int64)
        for name in ("unit", "user", "repeat"):
            codes = pd.factorize(columns[name])[0]
            alone = alone * (int(codes.max(initial=0)) + 1) + codes
        return np.where(columns["respondent"] == OWN, OWN - 1 - alone, columns["respondent"])

    @cached_property
    def prompt_rows(self) -> dict[str, NDArray[np.int64]]:
        """The rows of each prompt."""
        asked = self.table["prompt"].cat
        codes = asked.codes.to_numpy()
        return {str(slug): np.flatnonzero(codes == place) for place, slug in enumerate(asked.categories)}

    @cached_property
    def mentions_before(self) -> NDArray[np.int64]:
        """The number of mentions before each row, and of all; mentions are in the order of rows."""
        return np.searchsorted(self.rows, np.arange(len(self.table) + 1))

    def where(self, wanted: NDArray[np.bool_]) -> "Frame":
        """Keep only these answers."""
        named = wanted[self.rows]
        places = np.cumsum(wanted) - 1
        return Frame(self.table[wanted].reset_index(drop=True), places[self.rows[named]], self.codes[named])


@dataclass(frozen=True, eq=False)
class Frames:
    """Everything a report is computed from; only previews are left out."""

    prompts: dict[str, Prompt]  # the newest wording of each, in the order of the study
    askings: dict[str, Prompt]  # prompts that ask one of them again, in another arm or on another occasion
    drawn: dict[str, Prompt]  # the questions of the set, of which each person is asked some
    people: pd.DataFrame  # by participant
    field: Frame
    runs: dict[int, Run]
    calls: Frame
    families: dict[str, str]  # prompt → the prompt that it is a variant of, or itself
    vocabularies: dict[str, list[str]]  # family → its items in order; an item's code is its place
    names: dict[tuple[str, str], str]  # family and item → its most frequent spelling
    unread: int  # answers not read yet
    reworded: int  # answers to a choice with other options than today's: their letters mean something else
    unread_of_field: int = 0  # the people's among the unread ones

    def __len__(self) -> int:
        """The number of answers."""
        return len(self.field.table) + len(self.calls.table)

    def vocabulary(self, prompt: str) -> list[str]:
        return self.vocabularies.get(self.families.get(prompt, prompt), [])

    def name_of(self, prompt: str, item: str) -> str:
        """The item's most frequent spelling."""
        return self.names.get((self.families.get(prompt, prompt), item), item)

    @cached_property
    def field_chatbots(self) -> NDArray[np.object_]:
        """The chatbot of the person behind each row of `field`."""
        return self.people["chatbot"].reindex(self.field.table["unit"]).to_numpy(object)

    @cached_property
    def field_simulated(self) -> NDArray[np.bool_]:
        """Whether the person behind each row of `field` is simulated."""
        origins = self.people["origin"].reindex(self.field.table["unit"])
        return (origins == Participant.Origin.SIMULATED).to_numpy(bool)

    @cached_property
    def first_time(self) -> NDArray[np.bool_]:
        """Whether each row of `field` is from a first asking, in the usual state, and not of the set."""
        return ~self.field.table["prompt"].isin([*self.askings, *self.drawn]).to_numpy(bool)

    def calls_of(self, run: int) -> int:
        """How many answers a run has."""
        return int(self._calls_by_run.get(run, 0))

    @cached_property
    def _calls_by_run(self) -> dict[int, int]:
        return self.calls.table["unit"].value_counts().to_dict()


def load_frames(
    study: Study,
    only: Collection[str] = (),
    aliases: Callable[[Study], Spellings] = alias_map,
    anew: Mapping[int, tuple[Sequence[str], str]] = AS_KEPT,
) -> Frames:
    """Load all answers, or those to `only` these prompts; `anew` replaces items and letters, by the answer's id."""
    definition = definition_of(study.current_id)
    families = families_of(definition)
    prompts, first = load_prompts(study, only)
    askings, later = ({}, {}) if only else load_askings(study, prompts)
    drawn, of_set = load_drawn(study) if definition.matrix and not only else ({}, {})
    slugs = first | later | of_set
    families |= {slug: families.get(asking.asks, asking.asks) for slug, asking in askings.items()}
    runs = {run.pk: run for run in runs_of(study).select_related("endpoint", *DRAWN).order_by("pk")}
    spellings = spellings_of(aliases(study), families)
    asked = responses_said(study, only), completions_said(runs, only)
    connection.ensure_connection()
    with connection.connection.pipeline():  # PostgreSQL counts names while this process reads the answers
        written = None if only else names_written(study)
        there = [Said.of(columns()).read_as(anew) for columns in asked]
        read = [said.where(said.answer > 0) for said in there]
        kept = [said.where(np.isin(said.prompt, list(slugs))) for said in read]
        vocabularies, (field, calls) = encode(kept, slugs, families, spellings)
        names = most_written(written.fetchall(), families, spellings) if written else {}
    field.table["flags"] = flags_of(study, field.table)
    field.table["flagged"] = field.table["flags"].map(bool).to_numpy(bool)
    field.table["language"] = languages_of(study, field.table)
    field.table["excluded"] = is_excluded(study, field.table)
    field.table["unreached"] = is_unreached(study, field.table) if askings else False
    field.table["rating"] = ratings_of(study, field.table) if definition.rating else np.nan
    calls.table["respondent"] = respondents_of(runs, calls.table)
    return Frames(
        prompts=prompts,
        askings=askings,
        drawn=drawn,
        people=load_people(study, background_of(definition)),
        field=field,
        runs=runs,
        calls=calls,
        families=families,
        vocabularies=vocabularies,
        names=names,
        unread=sum(map(len, there)) - sum(map(len, read)),
        reworded=sum(map(len, read)) - sum(map(len, kept)),
        unread_of_field=len(there[0]) - len(read[0]),
    )


def names_written(study: Study) -> Any:
    """A cursor over prompt, item, written name, and how often it was written."""
    cursor = connection.cursor()
    cursor.execute(WRITTEN, [study.pk])
    return cursor


def most_written(
    rows: Iterable[Sequence[Any]], families: Mapping[str, str], spellings: Spellings
) -> dict[tuple[str, str], str]:
    """The most frequent written name, by family and item."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for prompt, item, name, count in rows:
        family = families.get(prompt, prompt)
        counts.setdefault((family, spellings.get(family, {}).get(item, item)), Counter())[name] += count
    return {key: max(sorted(written), key=written.__getitem__) for key, written in counts.items()}


def load_people(study: Study, asked: Collection[str]) -> pd.DataFrame:
    """Load people, with a column for their answer to each question in `asked`, named as in the export."""
    people = Participant.objects.filter(study=study).exclude(origin=Participant.Origin.PREVIEW).order_by("id")
    rows = people.values_list(*PEOPLE.values())
    table = pd.DataFrame(list(rows), columns=list(PEOPLE)).set_index("id")
    told = {TOLD + slug: [answers.get(slug) for answers in table["answers"]] for slug in asked}
    return table.assign(**told)


def background_of(definition: Definition) -> list[str]:
    """Background questions with options: those neither for screening nor for groups."""
    asked = (question for question in definition.questions if question.purpose == "background")
    return [question.slug for question in asked if question.kind == "choice"]


def by_column(rows: QuerySet[Any], *fields: Any) -> Callable[[], list[list[Any]]]:
    """Fetch columns instead of rows, at half the cost for 50,000 answers; return a function that reads them."""
    try:
        query, values = rows.values_list(*fields).query.sql_with_params()
    except EmptyResultSet:  # for example if there are no runs
        return lambda: [[] for _ in fields]
    names = [sql.Identifier(f"column_{place}") for place in range(len(fields))]
    lists = sql.SQL(", ").join(sql.SQL("json_agg({})").format(name) for name in names)
    by_list = sql.SQL(BY_LIST).format(lists, sql.SQL(query), sql.SQL(", ").join(names))
    cursor = connection.cursor()
    cursor.execute(by_list, values)
    return lambda: [column or [] for column in cursor.fetchone()]


def responses_said(study: Study, only: Collection[str]) -> Callable[[], list[list[Any]]]:
    """Fetch the newest accepted revision of each person's answer to each prompt, at every asking."""
    people = Q(participant__study=study) & ~Q(participant__origin=Participant.Origin.PREVIEW)
    newest = Response.objects.filter(people, named(only, "prompt__slug"), accepted=True).order_by(
        "participant_id", "prompt_id", "-revision"
    )
    rows = newest.distinct("participant_id", "prompt_id")
    return by_column(rows, "id", "participant_id", Value(0), "revision", *ANSWER)


def completions_said(runs: Iterable[int], only: Collection[str]) -> Callable[[], list[list[Any]]]:
    calls = Completion.objects.filter(
        named(only, "prompt__slug"), run__in=runs, status=Completion.Status.DONE, prompt__isnull=False
    )
    return by_column(calls.order_by("id"), "id", "run_id", Coalesce("user_id", 0), "repeat", *ANSWER)


def respondents_of(runs: Mapping[int, Run], table: pd.DataFrame) -> NDArray[np.int64]:
    """The number of the simulated user behind each answer; OWN if there is none, or all have the same text in front."""
    first: dict[tuple[Any, ...], int] = {}
    same = {0: OWN}
    for user in simulated_users(runs):
        run = runs[user.run]
        same[user.pk] = first.setdefault((run.source, run.condition, user.who), user.pk) if user.who else OWN
    return table["user"].map(same).to_numpy(np.int64)


def flags_of(study: Study, table: pd.DataFrame) -> list[tuple[str, ...]]:
    """The paste checks that flagged each answer and whose flags the person kept."""
    flags = kept_flags(study).order_by("check_name")
    kept: dict[tuple[int, str], tuple[str, ...]] = {}
    for person, prompt, name in flags.values_list("participant_id", "prompt__slug", "check_name"):
        kept[person, prompt] = (*kept.get((person, prompt), ()), name)
    return [kept.get(pair, ()) for pair in zip(table["unit"], table["prompt"], strict=True)]


def languages_of(study: Study, table: pd.DataFrame) -> list[str]:
    """The language in which each answer's prompt was shown."""
    own = definition_of(study.current_id).language
    others = Response.objects.filter(participant__study=study).exclude(language__in=(own, ""))
    asked = dict(others.values_list("id", "language"))
    return [asked.get(response, own) for response in table["id"]]


def ratings_of(study: Study, table: pd.DataFrame) -> NDArray[np.float64]:
    """People's rating of each answer, from 1 to 5; NaN if they gave none."""
    given = Response.objects.filter(participant__study=study, rating__isnull=False)
    ratings = dict(given.values_list("id", "rating"))
    return np.array([ratings.get(response, np.nan) for response in table["id"]], dtype=float)


def is_unreached(study: Study, table: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the person could not reach the state in which they were asked."""
    said = ReadBack.objects.filter(response__participant__study=study, no_answer=ReadBack.NoAnswer.UNREACHED)
    return np.isin(table["id"], list(said.values_list("response_id", flat=True)))


def is_excluded(study: Study, table: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether a rule leaves the answer or the person out; see surveys.exclusions."""
    left_out = np.isin(table["unit"], list(excluded_people(study)))
    return left_out | np.isin(table["id"], list(excluded_responses(study)))


def encode(
    sets: Sequence[Said], slugs: Mapping[int, str], families: Mapping[str, str], spellings: Spellings
) -> tuple[dict[str, list[str]], list[Frame]]:
    """Turn answers into frames over one vocabulary for each family of prompts."""
    prompts = sorted(set(slugs.values()))
    number = {key: prompts.index(slug) for key, slug in slugs.items()}
    originals = [families.get(slug, slug) for slug in prompts]
    asked = [np.array([number[key] for key in said.prompt.tolist()], dtype=np.int64) for said in sets]
    lengths = [np.fromiter(map(len, said.items), np.int64, len(said)) for said in sets]
    written = list(chain.from_iterable(chain.from_iterable(said.items for said in sets)))
    spelt, spelling = pd.factorize(np.array(written, dtype=object))
    prompt_of = np.concatenate([np.repeat(*pair) for pair in zip(asked, lengths, strict=True)])
    vocabularies, codes = name_items(originals, prompt_of, spelt, list(spelling), spellings)
    frames, at = [], 0
    for said, asked_here, long in zip(sets, asked, lengths, strict=True):
        end = at + int(long.sum())
        mentions = np.repeat(np.arange(len(said)), long)
        frames.append(Frame(tabulate(said, prompts, asked_here), *each_once(mentions, codes[at:end])))
        at = end
    return vocabularies, frames


def name_items(
    families: Sequence[str],
    prompt_of: NDArray[np.int64],
    spelt: NDArray[np.int64],
    spelling: Sequence[str],
    spellings: Spellings,
) -> tuple[dict[str, list[str]], NDArray[np.int64]]:
    """Return each family's vocabulary, and the code of each mention in it; `families` is by prompt number."""
    there = np.zeros(len(families) * max(1, len(spelling)), dtype=bool)
    pair_of = prompt_of * max(1, len(spelling)) + spelt
    there[pair_of] = True
    pairs, named = np.flatnonzero(there), []
    for pair in pairs.tolist():
        family, name = families[pair // len(spelling)], spelling[pair % len(spelling)]
        named.append((family, spellings.get(family, {}).get(name, name)))
    vocabularies: dict[str, list[str]] = {family: [] for family in families}
    code: dict[tuple[str, str], int] = {}
    for family, item in sorted(set(named)):
        code[family, item] = len(vocabularies[family])
        vocabularies[family].append(item)
    codes = np.zeros(len(there), dtype=np.int64)
    codes[pairs] = [code[pair] for pair in named]
    return vocabularies, codes[pair_of]


def each_once(rows: NDArray[np.int64], codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Drop mentions duplicated by two spellings of one item."""
    width = int(codes.max(initial=0)) + 1
    ordered = np.sort(rows * width + codes)
    once = ordered[np.diff(ordered, prepend=-1) > 0]
    return once // width, once % width


def tabulate(said: Said, prompts: Sequence[str], asked: NDArray[np.int64]) -> pd.DataFrame:
    option = {"": UNKNOWN} | {letter: place for place, letter in enumerate(LETTERS)}
    return pd.DataFrame(
        {
            "id": said.id,
            "unit": said.unit,
            "user": said.user,
            "repeat": said.repeat,
            "prompt": pd.Categorical.from_codes(asked, categories=list(prompts)),
            "option": np.array([option.get(letter, UNKNOWN) for letter in said.letter], dtype=np.int8),
        }
    )
