"""The sides of a pair: their syntax, the sides on offer, the answers of each, and one name for each item of both.

A side is `field`, `field/CHATBOT`, `SOURCE/MODEL` or `run/NUMBER`; all but runs may be narrowed:
`field/chatgpt/plan=free`, `sp-history/gpt-4o-mini/history_size=25`. `field/chatgpt/arm=temporary` and
`field/chatgpt/occasion=2` are the same people's answers in another state of their account, or when asked again.
`other-study:field/chatgpt` is the field of another study, which the reader must be allowed to see.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import QueryDict
from numpy.typing import NDArray

from analysis.answers.aliases import alias_map
from analysis.answers.compared import runs_of, spellings_of
from analysis.charts.figure import Row
from analysis.charts.theme import printable
from analysis.models import Completion, Run
from analysis.models.conditions import LABELS
from analysis.report.columns import settings as settings_of
from analysis.report.dataset import ALL, FIELD, load_frames
from analysis.report.filters import (
    FILTERS,
    OF_SETTINGS,
    FilterError,
    Filters,
    Offer,
    check_filters,
    filter_options,
)
from analysis.report.samples import FIRST, Data, Rows, Source
from analysis.stats.resampling import ChoiceSample, ItemSample
from surveys.models import Prompt, Study
from surveys.studies.lifecycle import definition_of, prompts_of
from surveys.studies.wording import plural, say_offered

RUN = "run"
OF_FIELD = tuple(name for name, entry in FILTERS.items() if entry.is_of_field and name != "chatbot")
PARTED_BY = ("cell", "plan", "memory", "personalisation")
ASKED_AGAIN = ("arm", "occasion")
IN_FIELD, OF_MODELS, OF_OTHERS = "In the field", "Models", "In the field of another study"
IN_FIELD_AGAIN = "In the field, asked again"
FORMS = (
    "Write field, field/CHATBOT, SOURCE/MODEL, run/NUMBER or OTHER-STUDY:field, and what narrows it, such as "
    "field/chatgpt/plan=free."
)
NO_STUDY = "there is no such study among those that you may see."
MOST_OTHERS = 20  # studies in a menu


@dataclass(frozen=True)
class Side:
    """A side as written. `of`: the chatbot or model, "" for everybody; `run`: only for a single run; `study`: "" for
    the study being viewed; `arm` and `occasion`: the asking of a field, by default the first.
    """

    text: str
    source: str
    of: str = ""
    run: int | None = None
    narrowed: tuple[tuple[str, str], ...] = ()
    study: str = ""
    arm: str = ""
    occasion: int = 1

    @property
    def is_field(self) -> bool:
        return self.source == FIELD

    @cached_property
    def filters(self) -> Filters:
        """The filters that narrow the side. Raises FilterError."""
        query = QueryDict(mutable=True)
        for name, value in self.narrowed:
            query.appendlist(name, value)
        return Filters.from_query(query)

    @property
    def changes(self) -> dict[str, Any]:
        """The filters that it sets, which override the page's."""
        return {name: getattr(self.filters, name) for name, _ in self.narrowed}


def read_side(text: str) -> Side:
    """Parse a side. Raises FilterError."""
    head, *rest = text.strip().split("/")
    study, _, head = head.rpartition(":")
    if study and head != FIELD:
        raise FilterError(f"{text[:60]}: of another study only the field is a side, such as {study[:40]}:field.")
    narrowed: list[tuple[str, str]] = []
    again: dict[str, Any] = {}
    known = (*OF_FIELD, *ASKED_AGAIN) if head == FIELD else OF_SETTINGS
    while rest and "=" in rest[-1]:
        name, _, value = rest.pop().partition("=")
        if name not in known:
            raise FilterError(f"{text[:60]}: {name[:40]} narrows no such side. {say_offered(name, known)}")
        if name in ASKED_AGAIN:
            again[name] = read_asking(text, name, unquote(value), again)
        else:
            narrowed.insert(0, (name, unquote(value)))
    of = "/".join(rest)
    if head == RUN:
        if narrowed or not (of.isascii() and of.isdecimal() and len(of) < 10):
            raise FilterError(f"{text[:60]} is no side: write run and a number, such as run/12.")
        return Side(text, RUN, run=int(of))
    if not head or head != FIELD and not of:
        raise FilterError(f"{text[:60]} is no side. {FORMS}")
    return Side(text, head, of, narrowed=tuple(narrowed), study=study, **again)


def read_asking(text: str, name: str, value: str, given: Mapping[str, Any]) -> Any:
    """Parse the value of `arm` or `occasion`; a side has only one of them. Raises FilterError."""
    if given:
        raise FilterError(f"{text[:60]}: a side has one arm or one occasion; an arm is asked once.")
    if name == "arm":
        return value
    if not (value.isascii() and value.isdecimal() and 0 < len(value) < 4):
        raise FilterError(f"{text[:60]}: occasion is the number of the time that people were asked, such as 2.")
    return int(value)


def checked(study: Study, filters: Filters, others: QuerySet[Study] | None = None) -> Filters:
    """Return the filters. Raises FilterError if anything they name is missing.

    `others`: the studies that the reader may see.
    """
    if filters.to_pairs():
        check_filters(filters, filter_options(study))
        check_pair(study, filters.compare, others)
    return filters


def check_pair(study: Study, texts: tuple[str, ...], others: QuerySet[Study] | None = None) -> None:
    """Raise FilterError unless these are two sides that exist for the reader, or none.

    A hidden study gets the same message as a missing one.
    """
    if not texts:
        return
    if len(texts) != 2 or texts[0] == texts[1]:
        raise FilterError("compare takes two different sides: compare=field/chatgpt&compare=field/gemini.")
    offer = Offer(study)
    for side in map(read_side, texts):
        if side.study in ("", study.slug):
            check_side(offer, side)
            continue
        seen = Study.objects.none() if others is None else others
        other = seen.filter(slug=side.study, current__isnull=False).first()
        if other is None:
            raise FilterError(f"{side.text[:60]}: {NO_STUDY}")
        check_side(Offer(other), side)


def sides_in(options: Mapping[str, Any]) -> list[str]:
    """The sides given to a command as --compare and --with. Raises FilterError if only one is."""
    given = [options[name] for name in ("compare", "with")]
    if any(given) and not all(given):
        raise FilterError("--compare takes one side and --with the other.")
    return [side for side in given if side]


def others_in(study: Study, filters: Filters) -> list[Study]:
    """The other studies of a pair's sides, by primary key."""
    named = {side.study for side in map(read_side, filters.compare)} - {"", study.slug}
    return list(Study.objects.filter(slug__in=named).order_by("pk")) if named else []


def check_side(offer: Offer, side: Side) -> None:
    check_filters(side.filters, filter_options(offer.study))
    if side.run is not None:
        if side.run not in {run.pk for run in offer.runs}:
            raise FilterError(f"There is no run {side.run} that this study compares.")
        return
    bots = [bot.slug for bot in offer.definition.chatbots]
    if side.is_field:
        if side.of and side.of not in bots:
            raise FilterError(f"{side.text} names no chatbot of the study. {say_offered(side.of, bots)}")
        if (side.arm, side.occasion) != FIRST and (side.arm, side.occasion) not in asked_again(offer):
            there = [f"{FIELD}/{words}" for words in map(written, asked_again(offer))]
            raise FilterError(f"{side.text[:60]}: people were not asked so. {say_offered(side.text, there)}")
        return
    there = sorted({f"{run.source}/{run.model}" for run in offer.runs})
    if f"{side.source}/{side.of}" not in there:
        raise FilterError(f"{side.text[:60]}: there is no such side. {say_offered(side.text, [FIELD, *there])}")


def asked_again(offer: Offer) -> list[tuple[str, int]]:
    """The arms and occasions in which the study asks some prompt again."""
    return list(dict.fromkeys((one.arm, one.occasion) for one in offer.definition.askings if not one.is_first))


def written(asking: tuple[str, int]) -> str:
    arm, occasion = asking
    return f"arm={quote(arm, safe='')}" if arm else f"occasion={occasion}"


# --- whose answers a side has


@dataclass(frozen=True, eq=False)
class Chosen:
    """A side with its answers that pass the filters; `name` is for sentences."""

    side: Side
    data: Data
    source: Source
    name: str

    def rows(self, prompt: str) -> Rows:
        return self.data.rows_of(self.source, prompt)

    def items(self, prompt: str) -> ItemSample:
        return self.data.items(self.source, prompt)

    def options(self, prompt: str) -> ChoiceSample:
        return self.data.options(self.source, prompt)

    @property
    def heading(self) -> Row:
        """The side in a report; `texts`: the parameters of the address of its texts, empty if there is none."""
        given = self.side.narrowed if self.source.is_field else ()
        narrowed = dict(given)
        of_other = {"study": self.data.study.slug} if self.side.study else {}
        again = {name: getattr(self.side, name) for name in ASKED_AGAIN} if self.data.asking != FIRST else {}
        return {
            "side": self.side.text,
            "name": self.name,
            "unit": self.data.unit_of(self.source),
            "simulated": self.is_simulated,
            "runs": list(self.source.runs),
            "texts": {**self.source.key, **narrowed, **of_other, **again} if len(narrowed) == len(given) else {},
        }

    @property
    def is_simulated(self) -> bool:
        return any(self.data.simulated_in(self.source, self.rows(prompt)) for prompt in self.data.prompts)


def choose(data: Data, text: str) -> Chosen:
    """The side's answers; of several settings of a model, the preferred one's. Raises FilterError if no run fits."""
    side = read_side(text)
    if side.is_field:
        own = data_of(data, side).narrowed(chatbot=(), **side.changes).asked(side.arm, side.occasion)
        source = Source(FIELD, side.of or ALL, side.of or None)
        field = Chosen(side, own, source, name_of_field(own, side))
        return replace(field, name=f"{field.name} (simulated)") if side.study and field.is_simulated else field
    own = data.narrowed(chatbot=(), **side.changes)
    if side.run is not None:
        found = [source.of_run(side.run) for source in own.sources if side.run in source.runs]
    else:
        found = sorted(
            (one for one in own.sources if (one.name, one.model) == (side.source, side.of)), key=own.preference
        )
    if not found:
        raise FilterError(f"{text[:60]}: no run with answers fits.")
    return Chosen(side, own, found[0], name_of_runs(found[0], side))


def data_of(data: Data, side: Side) -> Data:
    """The answers of the side's study, through the same filters."""
    if side.study in ("", data.study.slug):
        return data

    def load() -> Data:
        other = Study.objects.select_related("current").get(slug=side.study)
        return Data(other, definition_of(other.current_id), load_frames(other), data.filters, data.seed, data.draws)

    found: Data = data.once(("data of", side.study), load)
    return found


def why_not(data: Data, a: Chosen, b: Chosen) -> str:
    """Why sides that share answers are not compared: sharing makes their difference too small. Else empty."""
    if a.source.is_field != b.source.is_field or a.data.frames is not b.data.frames:
        return ""
    shared = sum(len(np.intersect1d(a.rows(prompt), b.rows(prompt))) for prompt in data.prompts)
    if not shared:
        return ""
    return f"Both sides have the same {plural(shared, 'answer')}: choose sides that share none, such as two plans."


def name_of_field(data: Data, side: Side) -> str:
    names = {bot.slug: bot.name for bot in data.definition.chatbots}
    whose = f"{printable(names.get(side.of, side.of))} in the field" if side.of else "The field"
    if side.study:
        whose = f"{whose} of “{printable(data.study.title)}”"
    return ", ".join([whose, *asking_words(data, side), *narrowed_words(side)])


def asking_words(data: Data, side: Side) -> Iterator[str]:
    """The state of the account, or the occasion, in words."""
    if side.arm:
        yield next((printable(arm.name) for arm in data.definition.arms if arm.slug == side.arm), printable(side.arm))
    elif side.occasion > 1:
        yield f"occasion {side.occasion}"


def narrowed_words(side: Side) -> Iterator[str]:
    for name, value in side.changes.items():
        yield from (printable(words) for words in FILTERS[name].say(value))


def name_of_runs(source: Source, side: Side) -> str:
    number = f"run {side.run}" if side.run is not None else ""
    settings = printable(settings_of(source.settings) or "")
    return ", ".join(filter(None, [name_of_model(source.name, source.model), settings, number]))


# --- the sides that a study offers


def offered_sides(study: Study, others: QuerySet[Study]) -> list[tuple[str, Mapping[str, str]]]:
    """The sides for menus: headings, and for each the sides as written, with names."""
    offer = Offer(study)
    bots = {bot.slug: printable(bot.name) for bot in offer.definition.chatbots}
    field = {FIELD: "Everybody in the field"}
    field |= {f"{FIELD}/{slug}": f"{name} in the field" for slug, name in bots.items()}
    narrowed = [(f"In the field, by {FILTERS[name].label.lower()}", parts_of(offer, bots, name)) for name in PARTED_BY]
    again = (IN_FIELD_AGAIN, again_in(offer, bots))
    models = {f"{run.source}/{run.model}": name_of_model(run.source, run.model) for run in runs_as_sides(study)}
    models = dict(sorted(models.items()))
    found = [(IN_FIELD, field), again, *narrowed, (OF_MODELS, models), (OF_OTHERS, fields_of_others(offer, others))]
    return [(heading, sides) for heading, sides in found if sides]


def fields_of_others(offer: Offer, others: QuerySet[Study]) -> dict[str, str]:
    """Fields of other studies that ask one of this study's prompts in the same words."""
    same = [
        Q(slug=prompt.slug, text=prompt.text)
        for prompt in prompts_of(offer.study.current_id).values()
        if not (prompt.asks or prompt.is_drawn)
    ]
    if not same:
        return {}
    asked = Prompt.objects.filter(reduce(or_, same), version=OuterRef("current"))
    found = others.filter(Exists(asked)).exclude(pk=offer.study.pk).order_by("title", "pk")[:MOST_OTHERS]
    return {
        f"{other.slug}:{side}": f"{name} in the field of “{printable(other.title)}”"
        for other in found
        for side, name in {
            FIELD: "Everybody",
            **{f"{FIELD}/{bot.slug}": printable(bot.name) for bot in definition_of(other.current_id).chatbots},
        }.items()
    }


def again_in(offer: Offer, bots: Mapping[str, str]) -> dict[str, str]:
    """Each chatbot's field in other states of the account and on other occasions."""
    arms = {arm.slug: printable(arm.name) for arm in offer.definition.arms}
    return {
        f"{FIELD}/{slug}/{written((arm, occasion))}": f"{bot}, {arms[arm] if arm else f'occasion {occasion}'}"
        for slug, bot in bots.items()
        for arm, occasion in asked_again(offer)
    }


def parts_of(offer: Offer, bots: Mapping[str, str], name: str) -> dict[str, str]:
    """Each chatbot's field, divided by one filter."""
    return {
        f"{FIELD}/{slug}/{name}={quote(str(value), safe='')}": f"{bot}, {FILTERS[name].label.lower()} {words}"
        for slug, bot in bots.items()
        for value, words in FILTERS[name].offered(offer).items()
    }


def name_of_model(source: str, model: str) -> str:
    return printable(f"{LABELS.get(source, source)} with {model}")


def runs_as_sides(study: Study) -> QuerySet[Run]:
    """The runs with answers to the study's prompts, without repetitions, by age."""
    answered = Completion.objects.filter(run=OuterRef("pk"), prompt__isnull=False, answer__isnull=False)
    return runs_of(study).filter(Exists(answered), first_run=None).select_related("endpoint").order_by("pk")


def usual_pair(study: Study) -> tuple[str, ...]:
    """The pair by default: the first two chatbots, or the field and the first run's model; else none."""
    bots = [f"{FIELD}/{bot.slug}" for bot in definition_of(study.current_id).chatbots]
    if len(bots) > 1:
        return tuple(bots[:2])
    runs = runs_as_sides(study)[:1]
    return (FIELD, *(f"{run.source}/{run.model}" for run in runs)) if runs else ()


# --- one name for each item of both sides


def shared_prompts(data: Data, a: Chosen, b: Chosen) -> list[str]:
    """Prompts that both sides answered and both studies ask in the same words."""
    there = [prompt for prompt in data.prompts if a.rows(prompt).size and b.rows(prompt).size]
    return [prompt for prompt in there if len({wording(side.data.frames.prompts[prompt]) for side in (a, b)}) == 1]


def wording(prompt: Prompt) -> tuple[str, str, str]:
    return prompt.kind, prompt.text, repr(prompt.choices)


@dataclass(frozen=True, eq=False)
class Named:
    """The items of one prompt for both sides. `own`: for sides of two studies, each study's items behind each."""

    items: list[str]
    names: list[str]
    samples: tuple[ItemSample, ItemSample]
    own: tuple[list[list[str]], list[list[str]]] | None = None

    def behind(self, side: int, code: int) -> Row:
        """The study's own items behind this one, for a row; empty within one study."""
        return {"items": self.own[side][code]} if self.own else {}


def name_items(a: Chosen, b: Chosen, prompt: str) -> Named:
    samples = a.items(prompt), b.items(prompt)
    frames = a.data.frames, b.data.frames
    if frames[0] is frames[1]:
        items = frames[0].vocabulary(prompt)
        return Named(items, [frames[0].name_of(prompt, item) for item in items], samples)
    call = united(spellings_in(side, prompt) for side in sorted((a, b), key=lambda side: -side.data.study.pk))
    theirs = [each.vocabulary(prompt) for each in frames]
    called = [[call(item) for item in items] for items in theirs]
    items = sorted({*called[0], *called[1]})
    place = {item: number for number, item in enumerate(items)}
    own: tuple[list[list[str]], list[list[str]]] = ([[] for _ in items], [[] for _ in items])
    for side, pairs in zip(own, (zip(*both, strict=True) for both in zip(theirs, called, strict=True)), strict=True):
        for item, name in pairs:
            side[place[name]].append(item)
    names = [next(each.name_of(prompt, item) for each, some in zip(frames, behind, strict=True) for item in some)
             for behind in zip(*own, strict=True)]  # fmt: skip
    codes = [np.array([place[name] for name in some], np.int64) for some in called]
    first, second = (recoded(*each, len(items)) for each in zip(samples, codes, strict=True))
    return Named(items, names, (first, second), own)


def spellings_in(side: Chosen, prompt: str) -> Mapping[str, str]:
    families = side.data.frames.families
    tables = side.data.once_for_all(("spellings",), lambda: spellings_of(alias_map(side.data.study), families))
    found: Mapping[str, str] = tables.get(families.get(prompt, prompt), {})
    return found


def united(tables: Iterable[Mapping[str, str]]) -> Callable[[str], str]:
    """Return a function that gives one name to all items that any of the tables makes one."""
    above: dict[str, str] = {}

    def call(item: str) -> str:
        while item in above:
            item = above[item]
        return item

    for table in tables:
        for spelling, item in sorted(table.items()):
            one, other = call(spelling), call(item)
            if one != other:
                above[one] = other
    return call


def recoded(sample: ItemSample, codes: NDArray[np.int64], size: int) -> ItemSample:
    """The same answers with other codes; merges items that an answer then names twice."""
    width = max(1, size)
    once = np.unique(sample.rows.astype(np.int64) * width + codes[sample.codes])
    rows, renamed = (once // width).astype(np.int32), (once % width).astype(np.int32)
    return replace(sample, rows=rows, codes=renamed, size=size, checked=True)
