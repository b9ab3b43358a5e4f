"""A study of known truth, written in bulk: people were asked twice, and in another state of their account."""

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils import timezone

from analysis.answers.readings import read_everywhere
from analysis.models import Answer, Completion, Endpoint, Run, SimulatedUser
from benchmarks.coverage import answers, zipf
from benchmarks.report_world import somebody_done
from surveys.models import ChatbotContext, Participant, Prompt, QuotaCell, ReadBack, Response, Study
from surveys.reading.answers import RULES_VERSION
from surveys.studies.files.askings import Arm, Rating, Repeats
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.factories import make_study

ITEMS = 30
ARM = "temporary"


@dataclass(frozen=True)
class Truth:
    """How far persons differ (`taste`), beside the product's dice (`heat`) and those of calls (1)."""

    people: int = 40
    calls: int = 60
    users: int = 0
    taste: float = 2.0
    heat: float = 1.3
    memory: float = 1.0  # taste with memory on, relative to memory off
    reach: float = 0.8  # share of people who find the other state, in which there is no taste


def make_asked_twice(truth: Truth = Truth(), **changes: Any) -> Study:
    """Everybody with ChatGPT is asked teas and water twice, and teas in a temporary chat too; they rate from 1 to 5."""
    asked = {
        "repeats": Repeats(("teas", "water"), apart=1),
        "arms": (Arm(ARM, "Temporary chat", "Open a temporary chat.", ("teas",)),),
        "rating": Rating("How useful is it?"),
    }
    study = make_study(places=200, **asked, **changes)
    prompts = {(prompt.base, prompt.arm, prompt.occasion): prompt for prompt in study.current.prompts.all()}
    teas, water = prompts["teas", "", 1], prompts["water", "", 1]
    again = [prompts["teas", "", 2], prompts["water", "", 2], prompts["teas", ARM, 1]]
    rng = np.random.default_rng(7)
    everybody = make_people(study, truth, [teas, water, *again], rng)
    taste = tastes(everybody, truth, rng)
    base = zipf(ITEMS, 0.8)[None] + taste
    letters = np.array([0.5, 0.0, 1.5])[None] + taste[:, :3]
    reached = rng.random(truth.people) < truth.reach
    write_lists(everybody, teas, answers(base / truth.heat, rng))
    write_lists(everybody, again[0], answers(base / truth.heat, rng))
    write_letters(everybody, water, choose(letters, rng))
    write_letters(everybody, again[1], choose(letters, rng))
    flat = np.tile(zipf(ITEMS, 0.8), (truth.people, 1))
    write_lists(everybody, again[2], answers(flat / truth.heat, rng), reached)
    make_runs(study, truth, [teas, water], rng)
    read_everywhere()
    return Study.objects.select_related("current").get(pk=study.pk)


def tastes(everybody: list[Participant], truth: Truth, rng: np.random.Generator) -> np.ndarray:
    strength = np.array([truth.memory if person.context.memory == "on" else 1.0 for person in everybody])
    return truth.taste * strength[:, None] * rng.normal(size=(len(everybody), ITEMS))


def make_people(study: Study, truth: Truth, asked: list[Prompt], rng: np.random.Generator) -> list[Participant]:
    cells = list(QuotaCell.objects.filter(study=study, chatbot="chatgpt"))
    now, slugs = timezone.now(), [prompt.slug for prompt in asked]
    people = Participant.objects.bulk_create(
        somebody_done(study, number, cells[number % len(cells)], order=rng.permutation(slugs).tolist(), finished_at=now)
        for number in range(truth.people)
    )
    ChatbotContext.objects.bulk_create(
        ChatbotContext(
            participant=person,
            product="chatgpt",
            model_shown="",
            plan=("free", "paid")[number % 3 == 0],
            memory=("on", "off")[number % 2],
            personalisation=("on", "off")[number % 5 > 1],
            chat="new",
            device="computer",
        )
        for number, person in enumerate(people)
    )
    return list(Participant.objects.filter(study=study).select_related("context").order_by("pk"))


def choose(logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)


def write_lists(people: list[Participant], prompt: Prompt, said: np.ndarray, reached: np.ndarray | None = None) -> None:
    found = respond(people, prompt, reached)
    items = [[f"tea {item:02d}" for item in row] for row in said]
    Answer.objects.bulk_create(
        Answer(
            response=response,
            items=items[at] if reached is None or reached[at] else [],
            names=[name.title() for name in items[at]] if reached is None or reached[at] else [],
            rules_version=RULES_VERSION,
        )
        for at, response in enumerate(found)
    )
    if reached is not None:
        ReadBack.objects.bulk_create(
            ReadBack(
                response=response, rules_version=RULES_VERSION, verdict="right", no_answer=ReadBack.NoAnswer.UNREACHED
            )
            for at, response in enumerate(found)
            if not reached[at]
        )


def write_letters(people: list[Participant], prompt: Prompt, said: np.ndarray) -> None:
    found = respond(people, prompt)
    Answer.objects.bulk_create(
        Answer(response=response, letter="ABC"[letter], rules_version=RULES_VERSION)
        for response, letter in zip(found, said, strict=True)
    )


def respond(people: list[Participant], prompt: Prompt, reached: np.ndarray | None = None) -> list[Response]:
    return Response.objects.bulk_create(
        Response(
            participant=person,
            prompt=prompt,
            version_id=prompt.version_id,
            pilot=False,
            revision=1,
            accepted=True,
            key=uuid.uuid4(),
            text="" if reached is not None and not reached[at] else f"{prompt.slug} {at}",
            text_sha256="",
            rating=1 + at % 5,
        )
        for at, person in enumerate(people)
    )


def make_runs(study: Study, truth: Truth, prompts: list[Prompt], rng: np.random.Generator) -> None:
    """Make a run of stateless calls and, if there are `users`, one of simulated users who are each asked twice."""
    endpoint = make_endpoint(model="gpt-4o-mini", provider="openai")
    for condition, users in (("offline", 0), ("sp-profile", truth.users)):
        if condition == "offline" or users:
            run, whose = make_users(study, endpoint, condition, users)
            for prompt in prompts:
                count = 2 * users or truth.calls
                logits = np.tile(zipf(3 if prompt.kind == "choice" else ITEMS, 0.8), (count, 1))
                if users:
                    taste = np.random.default_rng(3).normal(size=(users, logits.shape[1]))
                    logits = logits + np.repeat(2.0 * taste, 2, axis=0)
                reply_all(run, prompt, whose, logits, rng)


def make_users(
    study: Study, endpoint: Endpoint, condition: str, users: int, **changes: Any
) -> tuple[Run, list[SimulatedUser]]:
    run = Run.objects.create(
        study=study, version_id=study.current_id, endpoint=endpoint, condition=condition, created_by="t", state="done",
        **changes,
    )  # fmt: skip
    return run, SimulatedUser.objects.bulk_create(
        SimulatedUser(run=run, index=index, recipe={"n": index}) for index in range(users)
    )


def reply_all(
    run: Run, prompt: Prompt, users: list[SimulatedUser], logits: np.ndarray, rng: np.random.Generator
) -> None:
    """Replies once for each row of `logits`: twice for every simulated user, or any number of times without users."""
    calls = Completion.objects.bulk_create(
        Completion(
            run=run, prompt=prompt, user=users[at // 2] if users else None, repeat=at % 2 if users else at, position=at,
            status="done", done_at=timezone.now(), reply="said",
        )
        for at in range(len(logits))
    )  # fmt: skip
    if prompt.kind == "choice":
        said = [([], "ABC"[letter]) for letter in choose(logits, rng)]
    else:
        said = [([f"tea {item:02d}" for item in row], "") for row in answers(logits, rng)]
    Answer.objects.bulk_create(
        Answer(completion=call, items=items, names=[name.title() for name in items], letter=letter,
               rules_version=RULES_VERSION)
        for call, (items, letter) in zip(calls, said, strict=True)
    )  # fmt: skip
