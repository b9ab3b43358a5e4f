"""What made-up participants paste: answers as chatbots write them, and what each paste check is for."""

from collections.abc import Iterable
from random import Random
from typing import Protocol

from surveys.reading.checks import OtherPrompt, Paste, PasteCheck
from surveys.simulation.items import items_for


class Asked(Protocol):
    """A prompt as the database or a study's definition has it."""

    slug: str
    kind: str
    text: str
    items: int | None
    choices: list[str]
    answer: str


OPENINGS = (
    "Here are {n} suggestions for you:",
    "Sure! Here are {n} that I think you would enjoy:",
    "Based on what you have told me before, I would suggest these:",
    "Of course. A few ideas:",
)
REASONS = (
    "a safe choice that most people like",
    "it fits what you usually go for",
    "popular at the moment, and with good reason",
    "a little different, if you feel like a change",
    "easy to begin with and easy to stop",
    "often named as one of the best of its kind",
    "worth it for the atmosphere alone",
    "a good match for a quiet day",
)
CLOSINGS = (
    "Tell me more about your taste and I can narrow it down.",
    "Would you like more like these?",
    "I hope that helps!",
    "Let me know which one you choose.",
)
RIGHT_SHARE = 0.8


def write_answer(prompt: Asked, rng: Random) -> str:
    """One answer, different for each state of `rng`."""
    return write_choice(prompt, rng) if prompt.kind == "choice" else write_list(prompt, rng)


def write_list(prompt: Asked, rng: Random, wanted: int | None = None) -> str:
    wanted = wanted or prompt.items or 5
    mark = rng.choice(("{n}. **{item}**", "{n}. {item}", "{n}) {item}"))
    lines = [
        f"{mark.format(n=n, item=item)}: {rng.choice(REASONS)}."
        for n, item in enumerate(draw_items(items_for(prompt.text), wanted, rng), 1)
    ]
    return "\n\n".join([rng.choice(OPENINGS).format(n=wanted), "\n".join(lines), rng.choice(CLOSINGS)])


def draw_items(items: tuple[str, ...], wanted: int, rng: Random) -> list[str]:
    """Distinct items with a heavy tail: the one at rank r is drawn about 1/r as often as the first."""
    weights = [1 / rank for rank in range(1, len(items) + 1)]
    drawn: list[str] = []
    while len(drawn) < min(wanted, len(items)):
        item = rng.choices(items, weights)[0]
        if item not in drawn:
            drawn.append(item)
    return drawn


def write_choice(prompt: Asked, rng: Random) -> str:
    letters = "ABCDEFGH"[: len(prompt.choices)]
    letter = prompt.answer if prompt.answer and rng.random() < RIGHT_SHARE else rng.choice(letters)
    choice = prompt.choices[letters.index(letter)]
    form = rng.choice(("{letter}", "**{letter}. {choice}**", "The answer is {letter}.", "{letter}. {choice}\n\n{why}"))
    why = "The other options do not fit what is described, so this one is left."
    return form.format(letter=letter, choice=choice, why=why)


# --- wrong pastes -----------------------------------------------------------------------------------------

NAME, MAIL = "Marguerite", "m.lindqvist.1987@example.org"


def write_personal(prompt: Asked, rng: Random) -> str:
    """An answer that greets by name and repeats an address."""
    return f"Hi {NAME},\n\n{write_answer(prompt, rng)}\n\nI can send this to {MAIL} if you like."


def write_wrong(check: PasteCheck, prompt: Asked, others: Iterable[Asked], rng: Random) -> Paste:
    """A paste that this check is for; `others` are the study's prompts."""
    own = Paste(
        write_answer(prompt, rng),
        prompt.text,
        prompt.kind,
        prompt.items or 0,
        choices=tuple(prompt.choices),
        other_prompts=tuple(OtherPrompt(one.slug, one.text, one.kind) for one in others if one.slug != prompt.slug),
    )
    return check.spoil(own)
