"""A made-up study of full size, written in bulk: people's answers and the runs beside them."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import F
from django.utils import timezone

from analysis.answers.aliases import accept
from analysis.answers.readings import read_everywhere
from analysis.models import Answer, Completion, Endpoint, Run, SimulatedUser
from surveys.models import ChatbotContext, Participant, Prompt, QuotaCell, ReadBack, Response, Study
from surveys.reading.answers import RULES_VERSION
from surveys.studies import lifecycle
from surveys.studies.access import make_pseudonym
from surveys.studies.files.definitions import read_study
from surveys.studies.files.hypotheses import Hypothesis

ITEMS = 150
MODELS = ("gpt-4o-mini", "gemini-2.0-flash")
# How steeply popularity falls from item to item: the steeper, the less heterogeneous.
SLOPES = {"field": 0.9, "offline": 1.8, "sp-history": 1.5, "sp-rag": 1.4, "sp-profile": 0.8}
RIGHT = {"field": 0.6, "offline": 0.9, "sp-history": 0.85, "sp-rag": 0.8, "sp-profile": 0.75}
SILENT = 0.02  # share of answers in which nothing is found
BATCH = 2_000


def make_world(people: int = 800, repeats: int = 400, seed: int = 1, hypotheses: Sequence[Hypothesis] = ()) -> Study:
    """Make field-13 with this many people, and 4 conditions x 2 models with `repeats` completions of each prompt."""
    definition = read_study(lifecycle.__file__.replace("lifecycle.py", "field-13.toml"))
    # With hypotheses, the study must be at its end: it has places, and more people than these.
    cells = tuple(replace(cell, places=1 if hypotheses else 0) for cell in definition.cells)
    planned = replace(definition, cells=cells, hypotheses=tuple(hypotheses))
    study, _ = lifecycle.load_definition(planned, "benchmark")
    lifecycle.launch(study, "benchmark")
    study = Study.objects.select_related("current").get(pk=study.pk)
    rng = np.random.default_rng(seed)
    prompts = list(study.current.prompts.all())
    make_people(study, prompts, people, rng)
    for model in MODELS:
        for condition in ("offline", "sp-history", "sp-rag", "sp-profile"):
            make_run(study, prompts, model, condition, repeats, rng)
    read_everywhere()  # as the beat does: notes for each run that all is read
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return study


def make_varied(people: int, repeats: int, hypotheses: Sequence[Hypothesis]) -> Study:
    """Make this world at its end, with people left out, readings in doubt and a spelling for a multiverse to vary."""
    study = make_world(people, repeats, hypotheses=hypotheses)
    failed = {"attention": {name: {"passed": False} for name in ("first", "second")}}
    Participant.objects.annotate(of_all=F("id") % 17).filter(of_all=0).update(checks=failed)
    Answer.objects.annotate(of_all=F("id") % 25).filter(of_all=0).update(doubt="no-items")
    accept(study, "movies", ["movies 004"], "movies 003", "benchmark")
    return study


def somebody_done(study: Study, number: int, cell: QuotaCell, **more: Any) -> Participant:
    """Return a participant who has completed, not saved yet."""
    return Participant(
        study=study,
        version_id=study.current_id,
        pid=f"{number:024x}",
        pseudonym=make_pseudonym(),
        state=Participant.State.COMPLETED,
        step=Participant.Step.END,
        code="CODE",
        cell=cell,
        consent_version="1",
        consent_sha256="",
        **more,
    )


def make_people(study: Study, prompts: list[Prompt], count: int, rng: np.random.Generator) -> None:
    before = Participant.objects.count()
    cells = list(QuotaCell.objects.filter(study=study))
    known = {"origin": Participant.Origin.SIMULATED, "finished_at": timezone.now()}
    people = Participant.objects.bulk_create(
        somebody_done(study, before + number, cells[number % len(cells)], **known) for number in range(count)
    )
    ChatbotContext.objects.bulk_create(
        ChatbotContext(
            participant=person,
            product=person.cell.chatbot,
            model_shown="",
            plan=("free", "paid")[number % 5 == 0],
            memory=("on", "off")[number % 3 == 0],
            personalisation="off",
            chat="new",
            device="computer",
        )
        for number, person in enumerate(people)
    )
    said = list(zip(*(answers_to(prompt, "field", count, rng) for prompt in prompts), strict=True))
    responses = Response.objects.bulk_create(
        (
            Response(
                participant=person,
                prompt=prompt,
                version_id=study.current_id,
                pilot=False,
                revision=1,
                accepted=True,
                key=uuid.uuid4(),
                text=write_text(*answer),
                text_sha256="",
            )
            for person, said_by in zip(people, said, strict=True)
            for prompt, answer in zip(prompts, said_by, strict=True)
        ),
        batch_size=BATCH,
    )
    keys, given = [response.pk for response in responses], list(chain.from_iterable(said))
    write_answers("response_id", keys, given)
    ReadBack.objects.bulk_create(map(read_back, range(len(keys)), keys, given), batch_size=BATCH)


def read_back(number: int, response: int, answer: tuple[list[str], str]) -> ReadBack:
    """Return an unsaved read-back: one in ten was misread and corrected to what counts; four in ten are unsaid."""
    names, letter = [item.title() for item in answer[0]], answer[1]
    is_corrected = number % 10 == 0 and answer != ([], "")
    return ReadBack(
        response_id=response,
        rules_version=RULES_VERSION,
        read_names=[*names[:-1], "Misread"] if is_corrected and names else names,
        read_letter="" if is_corrected else letter,
        verdict="corrected" if is_corrected else "unsaid" if number % 10 > 5 else "right",
        names=names,
        letter=letter,
    )


def make_run(
    study: Study, prompts: list[Prompt], model: str, condition: str, repeats: int, rng: np.random.Generator
) -> None:
    endpoint, _ = Endpoint.objects.get_or_create(name=model.replace(".", "-"), model=model, provider="fake")
    run = Run.objects.create(
        study=study,
        version_id=study.current_id,
        endpoint=endpoint,
        condition=condition,
        history_size=100 if condition in ("sp-history", "sp-rag") else None,
        created_by="benchmark",
        state="done",
    )
    indexes = range(repeats) if condition != "offline" else ()
    users = SimulatedUser.objects.bulk_create(SimulatedUser(run=run, index=index) for index in indexes)
    now = timezone.now()
    said = [answers_to(prompt, condition, repeats, rng) for prompt in prompts]
    calls = Completion.objects.bulk_create(
        (
            Completion(
                run=run,
                prompt=prompt,
                user=users[number] if users else None,
                repeat=0 if users else number,
                position=number,
                status="done",
                done_at=now,
                reply=write_text(*answer),
                prompt_tokens=200,
                completion_tokens=50,
                latency_ms=int(rng.gamma(4, 200)),
                cost="0.0001",
            )
            for prompt, answers in zip(prompts, said, strict=True)
            for number, answer in enumerate(answers)
        ),
        batch_size=BATCH,
    )
    write_answers("completion_id", [call.pk for call in calls], chain.from_iterable(said))


def answers_to(prompt: Prompt, source: str, count: int, rng: np.random.Generator) -> list[tuple[list[str], str]]:
    """Draw the items and letter of this many answers."""
    silent = rng.random(count) < SILENT
    if prompt.kind == Prompt.Kind.CHOICE:
        others = [letter for letter in "ABCD"[: len(prompt.choices)] if letter != prompt.answer]
        right = rng.random(count) < RIGHT[source]
        letters = np.where(right, prompt.answer, rng.choice(others, count))
        return [([], "" if quiet else str(letter)) for letter, quiet in zip(letters, silent, strict=True)]
    popularity = -SLOPES[source] * np.log(np.arange(1, ITEMS + 1))
    # The five largest of popularity plus Gumbel noise are five draws without replacement.
    chosen = np.argsort(-(popularity + rng.gumbel(size=(count, ITEMS))), axis=1)[:, :5]
    names = [f"{prompt.slug} {item:03d}" for item in range(ITEMS)]
    return [([] if quiet else [names[item] for item in row], "") for row, quiet in zip(chosen, silent, strict=True)]


def write_text(items: Sequence[str], letter: str) -> str:
    return "\n".join(f"{place}. {item.title()}" for place, item in enumerate(items, 1)) or letter or "I cannot say."


def write_answers(key: str, keys: list[int], said: Iterable[tuple[list[str], str]]) -> None:
    Answer.objects.bulk_create(
        (
            Answer(
                **{key: pk},
                items=items,
                names=[item.title() for item in items],
                letter=letter,
                rules_version=RULES_VERSION,
            )
            for pk, (items, letter) in zip(keys, said, strict=True)
        ),
        batch_size=BATCH,
    )
