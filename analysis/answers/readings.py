"""Every text read once by the one reader: new responses and completions get an Answer, old readings a new one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from analysis.models import Answer, Completion
from surveys.models import Prompt, Response, Study
from surveys.reading.answers import RULES_VERSION, AnswerReading, read_answer

BATCH = 1000
LETTERS = "ABCDEFGH"
OTHER_RULES = ~Q(answer__rules_version=RULES_VERSION)
READ_BY_RULES = ("items", "names", "letter", "doubt", "rules_version", "read_at")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Asked:
    """What a text answers: all that the reader has to know."""

    kind: str
    limit: int = 5
    letters: str = ""
    choices: tuple[str, ...] = ()


def read_new(study: Study, progress: Progress | None = None) -> int:
    """Read what has no answer yet or one by other rules, but for people's decisions; return how many.

    Benchmark runs that belong to no study are read along with every study's.
    """
    total, done = unread(study), 0
    for kind, rows in ((Response, open_responses(study)), (Completion, open_completions(study))):
        for batch in batches_of(rows):
            done += store(kind, batch)
            if progress:
                progress(done, max(total, done))
    return done


def unread(study: Study) -> int:
    return open_responses(study).count() + open_completions(study).count()


def open_responses(study: Study) -> QuerySet[Response]:
    """The newest accepted revision of each answer that is to be read."""
    newer = Response.objects.filter(
        participant=OuterRef("participant"), prompt=OuterRef("prompt"), accepted=True, revision__gt=OuterRef("revision")
    )
    responses = Response.objects.filter(participant__study=study, accepted=True).filter(~Exists(newer))
    return to_read(responses).values_list("pk", "text", "prompt_id", named=True).order_by("pk")


def open_completions(study: Study) -> QuerySet[Completion]:
    ours = Q(run__study=study) | Q(run__study__isnull=True)
    completions = Completion.objects.filter(ours, status=Completion.Status.DONE, annotation_item__isnull=True)
    fields = ("pk", "reply", "prompt_id", "item__choices")
    return to_read(completions).values_list(*fields, named=True).order_by("pk")


def to_read(rows: QuerySet) -> QuerySet:
    return rows.filter(Q(answer__isnull=True) | (OTHER_RULES & Q(answer__decided=False)))


def batches_of(rows: QuerySet) -> Iterator[Sequence[Any]]:
    """The open rows in order of their keys; each batch is read before the next one is asked for."""
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        yield batch
        last = batch[-1].pk


@transaction.atomic
def store(kind: type[Response | Completion], batch: Sequence[Any]) -> int:
    asked = asked_by_prompt({row.prompt_id for row in batch if row.prompt_id})
    name = kind.__name__.lower()
    answers = []
    for row in batch:
        text = row.text if kind is Response else row.reply
        what = asked[row.prompt_id] if row.prompt_id else of_item(row.item__choices)
        answers.append(Answer(**{f"{name}_id": row.pk}, **fields_of(read(text, what))))
    # What a person decided is left alone; the lock makes somebody who is deciding wait for this batch, or us for them.
    there = Answer.objects.select_for_update().filter(**{f"{name}__in": [row.pk for row in batch]}).order_by("pk")
    decided = {key for key, is_decided in there.values_list(f"{name}_id", "decided") if is_decided}
    # A text that was withdrawn since it was listed is left out; one that is there stays until its answer is.
    texts = kind.objects.select_for_update(no_key=True).filter(pk__in=[row.pk for row in batch]).order_by("pk")
    wanted = set(texts.values_list("pk", flat=True)) - decided
    answers = [answer for answer in answers if getattr(answer, f"{name}_id") in wanted]
    Answer.objects.bulk_create(answers, update_conflicts=True, unique_fields=[name], update_fields=READ_BY_RULES)
    return len(batch)


def asked_by_prompt(keys: set[int]) -> dict[int, Asked]:
    return {prompt.pk: of_prompt(prompt) for prompt in Prompt.objects.filter(pk__in=keys)}


def of_prompt(prompt: Prompt) -> Asked:
    if prompt.kind == Prompt.Kind.CHOICE:
        return of_item(prompt.choices)
    return Asked("recommendation", prompt.items or 5)


def of_item(choices: Sequence[str]) -> Asked:
    return Asked("choice", letters=LETTERS[: len(choices)], choices=tuple(choices))


def read(text: str, asked: Asked) -> AnswerReading:
    return read_answer(text, asked.kind, limit=asked.limit, letters=asked.letters, choices=asked.choices)


def fields_of(reading: AnswerReading) -> dict[str, Any]:
    return {
        "items": list(reading.items),
        "names": list(reading.names),
        "letter": reading.letter,
        "doubt": reading.doubt,
        "rules_version": RULES_VERSION,
    }
