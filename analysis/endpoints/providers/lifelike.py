"""A script for the fake provider that answers as real models do: alike to everybody, less so with a context."""

import hashlib
import math
import re
from collections.abc import Sequence
from random import Random

from analysis.endpoints.providers.calls import Settings
from analysis.endpoints.providers.scripts import judge
from surveys.simulation.answers import items_for
from surveys.simulation.lifelike import Taste, choose_letter, pick_items, write_items, write_letter

OPTION = re.compile(r"^([A-H])[.)] (.+)$", re.M)
SAFE_SKEW = 2.0  # without a context
SKEW_OF_CONTEXT = 0.8  # by so much less with a long one
SPREAD_OF_CONTEXT = 0.75
SPREAD_OF_RELEASE = 0.4  # how far a later release of the same model prefers other things
PATIENT_MESSAGES = 120  # in front, of which the effect of a context is two thirds
PROFILE = 0.7  # of a long context's effect: what a profile has


def lifelike_reply(messages: Sequence[dict[str, str]], draw: str, settings: Settings) -> str:
    """The same words for the same messages, draw and `extra`; at temperature 0 for every draw.

    `extra` may hold `release`, the name of a later state of the model, and `knows`: {part of a question: its right
    letter}.
    """
    question = messages[-1]["content"]
    taste = taste_of(messages[:-1], settings)
    rng = Random(f"{taste} {question}" if settings.temperature == 0 else draw)
    if judged := judge(question, Random(f"{settings.model} {question}")):
        return judged
    for part, letter in settings.extra.get("knows", {}).items():
        if part in question:
            return answer_choice(part, dict(OPTION.findall(question)), letter, rng, taste)
    return write_items(pick_items(items_for(question), 5, rng, taste), rng)


def taste_of(context: Sequence[dict[str, str]], settings: Settings) -> Taste:
    family = "gemini" if "gemini" in settings.model else "chatgpt"
    effect = effect_of(context)
    release = settings.extra.get("release", "")
    person = hashlib.sha256("\n".join(message["content"][:200] for message in context).encode()).hexdigest()
    return Taste(
        chatbot=family,
        skew=SAFE_SKEW - effect * SKEW_OF_CONTEXT,
        spread=effect * SPREAD_OF_CONTEXT if context else SPREAD_OF_RELEASE * bool(release),
        person=person if context else release,
    )


def effect_of(context: Sequence[dict[str, str]]) -> float:
    """How much of what a long history does, from 0 to 1."""
    if any(message["role"] == "system" for message in context):
        return PROFILE
    return 1 - math.exp(-len(context) / PATIENT_MESSAGES)


def answer_choice(question: str, choices: dict[str, str], right: str, rng: Random, taste: Taste) -> str:
    letter = choose_letter(question, len(choices), right, rng, taste)
    return write_letter(letter, choices[letter], rng)


def lifelike_wait(messages: Sequence[dict[str, str]], draw: str, usual: float) -> float:
    """Milliseconds: `usual` for a bare question, more with a long context, different each time."""
    characters = sum(len(message["content"]) for message in messages)
    return usual * (1 + characters / 40_000) * Random(f"wait {draw}").lognormvariate(0, 0.35)
