"""Every text read once by the one reader, old readings anew; beside what is in doubt a model's second opinion."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from analysis.answers.reviews import LETTERS, answers_of, asked_of, superseded, text_of, waiting
from analysis.endpoints.endpoints import find_endpoint
from analysis.endpoints.llm_queries import Ask, Exchange, Spent, ask_all
from analysis.models import Answer, Completion, Endpoint, Run, SecondOpinion
from analysis.models.runs import ASIDE
from surveys.models import Prompt, ReadBack, Response, Study
from surveys.reading.answers import RULES_VERSION, AnswerReading, normalise_item, outer_text, read_answer

BATCH = 1000
OTHER_RULES = ~Q(answer__rules_version=RULES_VERSION)
READ_BY_RULES = ("items", "names", "letter", "doubt", "rules_version", "read_at")

Progress = Callable[[int, int], None]


def read_new(
    study: Study, progress: Progress | None = None, runs: Collection[int] | None = None, anew: bool = True
) -> int:
    """Read what has no answer yet and, `anew`, what other rules read, but for people's decisions; return how many.

    Of completions those of `runs`, with which runs that belong to no study are read too, or else all of the study.
    """
    total, done = unread(study) + (outdated(study) if anew else 0) if progress else 0, 0
    completions = open_completions(study, anew, runs)
    for kind, rows in ((Response, open_responses(study, anew)), (Completion, completions)):
        for batch in batches_of(rows):
            done += store(kind, batch)
            if progress:
                progress(done, max(total, done))
    return done


def unread(study: Study) -> int:
    return open_responses(study, anew=False).count() + open_completions(study, anew=False).count()


def outdated(study: Study) -> int:
    """How many readings are by other rules; they stay until somebody has seen what would change."""
    everything = open_responses(study).count() + open_completions(study).count()
    return everything - unread(study)


def studies_to_read(runs: Collection[int]) -> list[Study]:
    """The studies with texts that are to be read; one at least where benchmark runs of no study have some."""
    owners = {*_responses(anew=False).values_list("participant__study", flat=True).distinct()}
    owners |= {*_completions(anew=False).filter(run__in=runs).values_list("run__study", flat=True).distinct()}
    found = list(Study.objects.filter(pk__in=owners).order_by("pk"))
    return found or list(Study.objects.order_by("pk")[:1] if owners else ())


def read_everywhere() -> int:
    """Read what is new in every study. Only runs are looked at that have other replies, or rules, than last time."""
    now = runs_to_read()
    studies = studies_to_read(now)
    done = sum(read_new(study, runs=now, anew=False) for study in studies)
    if studies or not _completions(anew=False).filter(run__in=now).exists():
        Run.objects.bulk_update([Run(pk=run, texts_read=stamp) for run, stamp in now.items()], ["texts_read"])
    return done


def runs_to_read() -> dict[int, str]:
    """The runs that were not read since a reply came, each with the stamp of today: rules, and number of replies."""
    replies = Completion.objects.filter(status=Completion.Status.DONE).order_by().values_list("run")
    counted = dict(replies.annotate(number=Count("*")))
    known = dict(Run.objects.filter(pk__in=counted).exclude(condition__in=ASIDE).values_list("pk", "texts_read"))
    now = {run: f"{RULES_VERSION}:{counted[run]}" for run in known}
    return {run: stamp for run, stamp in now.items() if stamp != known[run]}


def open_responses(study: Study, anew: bool = True) -> QuerySet[Response]:
    """The newest accepted revision of each answer that is to be read."""
    ours = _responses(anew).filter(participant__study=study)
    return ours.values_list("pk", "text", "prompt_id", "language", named=True).order_by("pk")


def open_completions(study: Study, anew: bool = True, runs: Collection[int] | None = None) -> QuerySet[Completion]:
    """Those of the runs that the study sees; or of `runs`, its own and those of no study, whoever sees them."""
    if runs is None:
        ours = _completions(anew).filter(run__in=Run.objects.of_study(study))
    else:
        ours = _completions(anew).filter(Q(run__study=study) | Q(run__study__isnull=True), run__in=runs)
    return ours.values_list("pk", "reply", "prompt_id", "item__choices", named=True).order_by("pk")


def _responses(anew: bool) -> QuerySet[Response]:
    return _to_read(Response.objects.filter(accepted=True).filter(~superseded()), anew)


def _completions(anew: bool) -> QuerySet[Completion]:
    rows = Completion.objects.filter(status=Completion.Status.DONE).exclude(run__condition__in=ASIDE)
    return _to_read(rows, anew)


def _to_read(rows: QuerySet, anew: bool) -> QuerySet:
    new = Q(answer__isnull=True)
    return rows.filter(new | (OTHER_RULES & Q(answer__decided=False)) if anew else new)


def batches_of(rows: QuerySet) -> Iterator[Sequence[Any]]:
    """The open rows in order of their keys; each batch is read before the next one is asked for."""
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        yield batch
        last = batch[-1].pk


@transaction.atomic
def store(kind: type[Response | Completion], batch: Sequence[Any]) -> int:
    name = kind.__name__.lower()
    answers = [Answer(**{f"{name}_id": key}, **fields_of(reading)) for key, reading in _readings_of(kind, batch)]
    # A text that was withdrawn since it was listed is left out; one that is there stays until its answer is. Texts are
    # locked before answers, as by a withdrawal.
    texts = kind.objects.select_for_update(no_key=True).filter(pk__in=[row.pk for row in batch]).order_by("pk")
    wanted = set(texts.values_list("pk", flat=True))
    # What a person decided is left alone; the lock makes somebody who is deciding wait for this batch, or us for them.
    there = Answer.objects.select_for_update().filter(**{f"{name}__in": wanted}).order_by("pk")
    wanted -= {key for key, is_decided in there.values_list(f"{name}_id", "decided") if is_decided}
    answers = [answer for answer in answers if getattr(answer, f"{name}_id") in wanted]
    Answer.objects.bulk_create(answers, update_conflicts=True, unique_fields=[name], update_fields=READ_BY_RULES)
    return len(batch)


def _readings_of(kind: type[Response | Completion], batch: Sequence[Any]) -> Iterator[tuple[int, AnswerReading]]:
    """What the rules of today, and who saw the answer, make of each text."""
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
    """The answers that other rules read and those of today read differently, as they are and as they would be.

    Nothing is written, and what a person decided is not asked about.
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
    """What is different, empty where nothing is: a name that is only written differently is the same item."""
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
    """What the reader has to know of the prompt or benchmark item that a text answers."""
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


# --- a model's second opinion, never in the place of the answer ----------------------

TEMPERATURE = 0.0
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


def open_answers(study: Study, endpoint: Endpoint) -> QuerySet[Answer]:
    """Those in doubt that this model has not read yet."""
    return waiting(answers_of(study)).exclude(opinions__endpoint=endpoint)


def give_opinions(
    study: Study,
    endpoint_name: str,
    limit: int | None = None,
    budget: Decimal | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Spent:
    """Ask the endpoint about the texts in doubt. Raises EndpointError where there is none, or no key."""
    endpoint = find_endpoint(endpoint_name)
    keys = list(open_answers(study, endpoint).values_list("pk", flat=True)[:limit])

    def store(told: list[Exchange]) -> None:
        opinions = [make_opinion(endpoint, done) for done in told]
        with transaction.atomic():  # of whoever withdrew while the model was asked nothing is kept
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
    """The reply read as any other one: by the rules, from its JSON or from what it says instead."""
    key, how = told.ask.about
    said = read_answer(told.reply.text, **how)
    return SecondOpinion(
        answer_id=key, endpoint=endpoint, items=list(said.items), letter=said.letter, reply=told.reply.text
    )


# --- where the person who saw an answer has said what it says


def said_of(responses: Collection[int]) -> dict[int, ReadBack]:
    """By response what a person said of its reading; where they said nothing there is none."""
    rows = ReadBack.objects.filter(response__in=responses).exclude(verdict=ReadBack.Verdict.UNSAID)
    return {row.response_id: row for row in rows.order_by("rules_version")}


def reading_that_counts(reading: AnswerReading, said: ReadBack | None, limit: int) -> AnswerReading:
    """What the person said, cut to the `limit` that rules read; else what the rules read.

    A name that the text does not hold is left in and is a doubt: somebody should look.
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
