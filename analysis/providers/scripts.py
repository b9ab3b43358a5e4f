"""Scripted answers: what the fake provider says, by the topic of the question and the number of the draw."""

import re
from collections.abc import Sequence
from random import Random

from surveys.simulation.items import items_for

OPTION = re.compile(r"^\s*([A-H])[.)] ", re.M)
SAFE_SHARE = 3  # without a context the most popular items come up that much more often


def scripted_reply(messages: Sequence[dict[str, str]], draw: str) -> str:
    """The same words for the same messages and draw; a context in front spreads the recommendations."""
    random = Random(draw)
    question = messages[-1]["content"]
    letters = OPTION.findall(question[question.rfind("Question:") :] if "Question:" in question else question)
    if len(letters) >= 2:
        return f"{random.choice(letters)}"
    items = items_for(question)
    skew = SAFE_SHARE if len(messages) == 1 else 1
    return "\n".join(f"{n}. {item}" for n, item in enumerate(draw_items(items, 5, skew, random), 1))


def draw_items(items: Sequence[str], wanted: int, skew: float, random: Random) -> list[str]:
    """Distinct items; the one at rank r has a weight of 1 / r ** skew."""
    left, drawn = list(items), []
    while left and len(drawn) < wanted:
        weights = [1 / rank**skew for rank in range(1, len(left) + 1)]
        drawn.append(left.pop(random.choices(range(len(left)), weights)[0]))
    return drawn
