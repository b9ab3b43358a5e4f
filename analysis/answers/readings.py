"""Reading texts: each once, outdated readings anew, and a model's second opinion on those in doubt."""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

from celery import shared_task
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from analysis.answers.reviews import LETTERS, answers_of, asked_of, superseded, text_of, waiting
from analysis.endpoints.endpoints import calling, cost_of, find_endpoint, most_tokens, price
from analysis.endpoints.limits import LONGEST_PAUSE, Limiter
from analysis.endpoints.providers.calls import STOPS_RUN, CallFailed, Provider, Reply
from analysis.models import Answer, Completion, Endpoint, Run, SecondOpinion
from analysis.models.runs import ASIDE
from surveys.models import Prompt, ReadBack, Response, Study, locks
from surveys.reading.answers import RULES_VERSION, AnswerReading, normalise_item, outer_text, read_answer

BATCH = 1000
UNREAD = Q(answer__isnull=True)
_OTHER_RULES = Q(answer__rules_version__lt=RULES_VERSION) | Q(answer__rules_version__gt=RULES_VERSION)  # by its index
OUTDATED = _OTHER_RULES & Q(answer__decided=False)
TO_READ = UNREAD | OUTDATED
READ_BY_RULES = ("items", "names", "letter", "doubt", "rules_version", "read_at")

Progress = Callable[[int, int], None]


def read_new(
    study: Study, progress: Progress | None = None, runs: Collection[int] | None = None, anew: bool = True
) -> int:
    """Read unread texts and, if `anew`, those that other rules read and no person decided; return how many.

    `runs` limits completions to these, including runs of no study; without it all completions of the study are read.
    """
    total, done = unread(study) + (outdated(study) if anew else 0) if progress else 0, 0
    wanted = TO_READ if anew else UNREAD
    completions = open_completions(study, wanted, runs)
    for kind, rows in ((Response, open_responses(study, wanted)), (Completion, completions)):
        for batch in batches_of(rows):
            done += store(kind, batch)
            if progress:
                progress(done, max(total, done))
    return done


@shared_task(name="analysis.answers.tasks.read_answers")
def read_answers(study_id: int) -> int:
    """Read the study's unread texts, and anew those that other rules read."""
    return read_new(Study.objects.get(pk=study_id))


def unread(study: Study) -> int:
    return open_responses(study, UNREAD).count() + open_completions(study, UNREAD).count()


def outdated(study: Study) -> int:
    """Number of readings by other rules; they stay until somebody has seen what would change."""
    return open_responses(study, OUTDATED).count() + open_completions(study, OUTDATED).count()


def studies_to_read(runs: Collection[int]) -> list[Study]:
    """Studies with unread texts; the first study if only benchmark runs of no study have some."""
    owners = {*_responses(UNREAD).values_list("participant__study", flat=True).distinct()}
    owners |= {*_completions(UNREAD).filter(run__in=runs).values_list("run__study", flat=True).distinct()}
    found = list(Study.objects.filter(pk__in=owners).order_by("pk"))
    return found or list(Study.objects.order_by("pk")[:1] if owners else ())


def read_everywhere() -> int:
    """Read unread texts in every study, except in runs with the same rules and number of replies as last time."""
    now = runs_to_read()
    studies = studies_to_read(now)
    done = sum(read_new(study, runs=now, anew=False) for study in studies)
    if studies or not _completions(UNREAD).filter(run__in=now).exists():
        Run.objects.bulk_update([Run(pk=run, texts_read=stamp) for run, stamp in now.items()], ["texts_read"])
    return done


@shared_task(name="analysis.answers.tasks.read_new_texts")
def read_new_texts() -> int:
    """Read new responses and completions, imported ones too, in every study; one worker at a time."""
    with locks.alone("read new texts") as is_mine:
        return read_everywhere() if is_mine else 0


def runs_to_read() -> dict[int, str]:
    """Runs whose rules or number of replies changed since they were last read, with today's stamp of both."""
    replies = Completion.objects.filter(status=Completion.Status.DONE).order_by().values_list("run")
    counted = dict(replies.annotate(number=Count("*")))
    known = dict(Run.objects.filter(pk__in=counted).exclude(condition__in=ASIDE).values_list("pk", "texts_read"))
    now = {run: f"{RULES_VERSION}:{counted[run]}" for run in known}
    return {run: stamp for run, stamp in now.items() if stamp != known[run]}


def open_responses(study: Study, wanted: Q = TO_READ) -> QuerySet[Response]:
    """Responses to read: the newest accepted revision of each answer."""
    ours = _responses(wanted).filter(participant__study=study)
    return ours.values_list("pk", "text", "prompt_id", "language", named=True).order_by("pk")


def open_completions(study: Study, wanted: Q = TO_READ, runs: Collection[int] | None = None) -> QuerySet[Completion]:
    """Completions to read: of the runs that the study sees; or of `runs`, its own and those of no study."""
    if runs is None:
        ours = _completions(wanted).filter(run__in=Run.objects.of_study(study))
    else:
        ours = _completions(wanted).filter(Q(run__study=study) | Q(run__study__isnull=True), run__in=runs)
    return ours.values_list("pk", "reply", "prompt_id", "item__choices", named=True).order_by("pk")


def _responses(wanted: Q) -> QuerySet[Response]:
    return Response.objects.filter(~superseded(), wanted, accepted=True)


def _completions(wanted: Q) -> QuerySet[Completion]:
    return Completion.objects.filter(wanted, status=Completion.Status.DONE).exclude(run__condition__in=ASIDE)


def batches_of(rows: QuerySet) -> Iterator[Sequence[Any]]:
    """Yield the rows in batches by key; each is read before the next one is queried."""
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        yield batch
        last = batch[-1].pk


@transaction.atomic
def store(kind: type[Response | Completion], batch: Sequence[Any]) -> int:
    name = kind.__name__.lower()
    answers = [Answer(**{f"{name}_id": key}, **fields_of(reading)) for key, reading in _readings_of(kind, batch)]
    # Leave out texts withdrawn since they were listed; the lock keeps the others until their answers are stored. Texts
    # are locked before answers, as in a withdrawal.
    texts = kind.objects.select_for_update(no_key=True).filter(pk__in=[row.pk for row in batch]).order_by("pk")
    wanted = set(texts.values_list("pk", flat=True))
    # Leave a person's decisions alone; with the lock, a concurrent decision waits for this batch, or the batch for it.
    there = Answer.objects.select_for_update().filter(**{f"{name}__in": wanted}).order_by("pk")
    wanted -= {key for key, is_decided in there.values_list(f"{name}_id", "decided") if is_decided}
    answers = [answer for answer in answers if getattr(answer, f"{name}_id") in wanted]
    Answer.objects.bulk_create(answers, update_conflicts=True, unique_fields=[name], update_fields=READ_BY_RULES)
    return len(batch)


def _readings_of(kind: type[Response | Completion], batch: Sequence[Any]) -> Iterator[tuple[int, AnswerReading]]:
    """Key and reading of each text, by today's rules and what the person who saw the answer said."""
    prompts = Prompt.objects.in_bulk({row.prompt_id for row in batch if row.prompt_id})
    said = said_of([row.pk for row in batch]) if kind is Response else {}
    for row in batch:
        text = row.text if kind is Response else row.reply
        asked = prompts.get(row.prompt_id)
        if asked and kind is Response:
            asked = asked.in_language(row.language)
        how = how_to_read(asked) if asked else of_choices(row.item__choices)
        yield row.pk, reading_that_counts(read_answer(text, **how), said.get(row.pk), how.get("limit", 0))


def find_changes(study: Study) -> Iterator[dict[str, Any]]:
    """Answers that today's rules read differently from those that read them, before and after.

    Writes nothing, and skips what a person decided.
    """
    for kind, rows in ((Response, open_responses(study)), (Completion, open_completions(study))):
        name = kind.__name__.lower()
        for batch in batches_of(rows.filter(answer__isnull=False)):
            asked = Answer.objects.filter(**{f"{name}__in": [row.pk for row in batch]})
            asked = asked.select_related("response__prompt", "completion__prompt", "completion__item")
            before = {getattr(answer, f"{name}_id"): answer for answer in asked}
            for key, reading in _readings_of(kind, batch):
                if (old := before.get(key)) and change_of(old, reading):
                    yield change_of(old, reading)


def change_of(old: Answer, reading: AnswerReading) -> dict[str, Any]:
    """The difference, empty if there is none: a name that is only written differently is the same item."""
    if (old.items, old.letter, old.doubt) == (list(reading.items), reading.letter, reading.doubt):
        return {}
    asked = asked_of(old)
    return {
        "answer": old.pk,
        "prompt": asked.slug if isinstance(asked, Prompt) else asked.item,
        "is_of": "field" if old.response_id else "models",
        "rules_version": old.rules_version,
        "before": {"names": old.names, "letter": old.letter, "doubt": old.doubt},
        "after": {"names": list(reading.names), "letter": reading.letter, "doubt": reading.doubt},
    }


def how_to_read(asked: Any) -> dict[str, Any]:
    """The reader's arguments for answers to this prompt or benchmark item."""
    if isinstance(asked, Prompt) and asked.kind == Prompt.Kind.RECOMMENDATION:
        return {"kind": asked.kind, "limit": asked.items or 5}
    return of_choices(asked.choices)


def of_choices(choices: Sequence[str]) -> dict[str, Any]:
    return {"kind": "choice", "letters": LETTERS[: len(choices)], "choices": tuple(choices)}


def fields_of(reading: AnswerReading) -> dict[str, Any]:
    return {
        "items": list(reading.items),
        "names": list(reading.names),
        "letter": reading.letter,
        "doubt": reading.doubt,
        "rules_version": RULES_VERSION,
    }


# --- a model's second opinions, which never replace an answer ----------------------
# No run asks for them: they are kept beside the answers and counted nowhere, so they need no plan and no budget.

TEMPERATURE = 0.0
ASKED_AT_ONCE = 50
ATTEMPTS = 4
ITEMS = (
    "Below is an answer that somebody got when they asked for recommendations. List what it recommends, in its order, "
    'at most {limit}, as JSON: {{"items": ["...", "..."]}}. Copy the names as they are written, without explanations. '
    'If it recommends nothing, for instance because it refuses, give {{"items": []}}. Give the JSON and nothing else.'
)
LETTER = (
    "Below are a question's options and an answer that somebody got to it. Which one option does the answer settle on? "
    'Give JSON: {{"choice": "A"}} with its letter, or {{"choice": ""}} if it settles on none or on several. Judge only '
    "what it says, not whether it is right. Give the JSON and nothing else.\n\nOptions:\n{options}"
)


@dataclass(frozen=True)
class Ask:
    """One thing to ask: what it is about, its idempotency key, and its messages."""

    about: Any
    key: str
    messages: list[dict[str, str]]


class Exchange(NamedTuple):
    ask: Ask
    reply: Reply
    milliseconds: int


@dataclass
class Spent:
    """The outcome: replies, calls that failed for good and why the last did, dollars, and why it stopped early."""

    replies: int = 0
    failed: int = 0
    usd: Decimal = Decimal(0)
    stopped: str = ""
    reason: str = ""


def give_opinions(
    study: Study,
    endpoint_name: str,
    limit: int | None = None,
    budget: Decimal | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Spent:
    """Ask the endpoint about the texts in doubt. Raises EndpointError if it does not exist or has no key."""
    endpoint = find_endpoint(endpoint_name)
    # Undecided answers in doubt that this endpoint has not read yet.
    keys = list(waiting(answers_of(study)).exclude(opinions__endpoint=endpoint).values_list("pk", flat=True)[:limit])

    def store(told: list[Exchange]) -> None:
        opinions = [make_opinion(endpoint, done) for done in told]
        with transaction.atomic():  # keeps nothing of people who withdrew in the meantime
            asked = Answer.objects.filter(pk__in=[opinion.answer_id for opinion in opinions]).order_by("pk")
            there = set(asked.select_for_update(no_key=True).values_list("pk", flat=True))
            opinions = [opinion for opinion in opinions if opinion.answer_id in there]
            SecondOpinion.objects.bulk_create(opinions, ignore_conflicts=True)

    return ask_all(endpoint, TEMPERATURE, keys, write_asks, store, budget, progress)


def write_asks(keys: Sequence[int]) -> list[Ask]:
    own = ("response__prompt", "completion__prompt", "completion__item")
    return [write_ask(answer) for answer in Answer.objects.filter(pk__in=keys).select_related(*own).order_by("pk")]


def write_ask(answer: Answer) -> Ask:
    how = how_to_read(asked_of(answer))
    if how["kind"] == "choice":
        options = zip(how["letters"], how["choices"], strict=False)
        words = LETTER.format(options="\n".join(f"{letter}. {option}" for letter, option in options))
    else:
        words = ITEMS.format(limit=how["limit"])
    message = f"{words}\n\nThe answer:\n{outer_text(text_of(answer))}"
    return Ask((answer.pk, how), f"opinion-{answer.pk}", [{"role": "user", "content": message}])


def make_opinion(endpoint: Endpoint, told: Exchange) -> SecondOpinion:
    """Read the reply by the rules, like any other: from its JSON, or from what it says instead."""
    key, how = told.ask.about
    said = read_answer(told.reply.text, **how)
    return SecondOpinion(
        answer_id=key, endpoint=endpoint, items=list(said.items), letter=said.letter, reply=told.reply.text
    )


def ask_all(
    endpoint: Endpoint,
    temperature: float,
    things: Sequence[Any],
    make: Callable[[Sequence[Any]], list[Ask]],
    store: Callable[[list[Exchange]], None],
    budget: Decimal | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Spent:
    """Ask about `things` in batches: `make` writes a batch's messages, `store` keeps its replies.

    A caller who leaves out what is stored asks about nothing twice. Stop before a batch that could exceed `budget`
    dollars if every reply had its full length. Raises EndpointError for a missing key.
    """
    spent = Spent()
    for begin in range(0, len(things), ASKED_AT_ONCE):
        batch = things[begin : begin + ASKED_AT_ONCE]
        asks = make(batch)
        if budget is not None and spent.usd + cost_at_most(endpoint, asks) > budget:
            spent.stopped = f"The next {len(batch)} could exceed the budget of {budget} dollars."
            break
        told = asyncio.run(ask_batch(endpoint, temperature, asks, spent))  # connections belong to one event loop
        store(told)
        progress(begin + len(batch), len(things))
        if spent.stopped:
            break
    return spent


def cost_at_most(endpoint: Endpoint, asks: Sequence[Ask]) -> Decimal:
    """The most that one try each can cost: a token has at least one byte, and a reply has its limit."""
    tokens = sum(len(json.dumps(ask.messages)) for ask in asks)
    return price(endpoint, tokens, most_tokens(endpoint) * len(asks))


async def ask_batch(endpoint: Endpoint, temperature: float, asks: list[Ask], spent: Spent) -> list[Exchange]:
    room = asyncio.Semaphore(endpoint.concurrency)
    async with calling(endpoint, temperature) as (provider, limiter):

        async def one(ask: Ask) -> Exchange | None:
            async with room:
                return await call(provider, limiter, ask, spent)

        told = [done for done in await asyncio.gather(*map(one, asks)) if done]
    spent.replies += len(told)
    spent.usd += sum((cost_of(endpoint, done.reply, estimate_tokens(done.ask)) for done in told), Decimal(0))
    return told


def estimate_tokens(ask: Ask) -> int:
    return len(json.dumps(ask.messages)) // 4


async def call(provider: Provider, limiter: Limiter, ask: Ask, spent: Spent) -> Exchange | None:
    """Ask until there is a reply, or no hope of one; a failure that would hit every call stops everything."""
    body, reason = provider.encode(ask.messages), ""
    for attempt in range(ATTEMPTS):
        if spent.stopped:
            return None
        await limiter.wait(estimate_tokens(ask))
        began = time.monotonic()
        try:
            reply = await provider.complete(body, f"{ask.key}-{attempt}")
            return Exchange(ask, reply, round((time.monotonic() - began) * 1000))
        except CallFailed as failure:
            if failure.kind in STOPS_RUN:
                spent.stopped = failure.reason
                return None
            if failure.retry_after and failure.retry_after > LONGEST_PAUSE:
                spent.stopped = f"The provider asks to wait {failure.retry_after / 60:.0f} minutes: {failure.reason}"
                return None
            reason = failure.reason
            if failure.kind == "refused":
                break
            await asyncio.sleep(failure.retry_after or 0.25 * 2**attempt)
    spent.failed, spent.reason = spent.failed + 1, reason
    return None


# --- what the person who saw an answer says about its reading


def said_of(responses: Collection[int]) -> dict[int, ReadBack]:
    """What people said about the readings, by response; responses they said nothing about are absent."""
    rows = ReadBack.objects.filter(response__in=responses).exclude(verdict=ReadBack.Verdict.UNSAID)
    return {row.response_id: row for row in rows.order_by("rules_version")}


def reading_that_counts(reading: AnswerReading, said: ReadBack | None, limit: int) -> AnswerReading:
    """What the person said, cut to the rules' `limit`; otherwise what the rules read.

    A name that is not in the text stays and becomes a doubt, so that somebody looks.
    """
    if said is None:
        return reading
    read = dict(zip(reading.names, reading.items, strict=True))
    named = {read.get(name) or normalise_item(name): name for name in reversed(said.names)}
    pairs = [(item, name) for item, name in reversed(named.items()) if item][:limit]
    doubt = "added-name" if set(said.absent) & {name for _, name in pairs} else ""
    return replace(
        reading,
        items=tuple(item for item, _ in pairs),
        names=tuple(name for _, name in pairs),
        letter=said.letter,
        doubt=doubt,
    )
