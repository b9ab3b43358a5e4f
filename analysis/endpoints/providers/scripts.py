"""Scripted answers: what the fake provider says, by the topic of the question and the number of the draw."""

import json
import re
from collections.abc import Sequence
from random import Random

from surveys.simulation.answers import items_for

# The form in which a judge is asked (runs.judging.prompts.ask_for): each field with its labels, then the object.
FORM = re.compile(r"^Answer with JSON and nothing else: (\{.*\})\s*\Z", re.M)
FIELD = re.compile(r"^(\S+): .*\[(.+)\]$", re.M)
LABEL = re.compile(r'"([^"]+)" = ')
OWN_SHARE = 0.25  # of labels that a scripted judge gives for itself; the others all scripted judges share
OPTION = re.compile(r"^\s*([A-H])[.)] ", re.M)
SAFE_SHARE = 3  # without a context the most popular items come up that much more often


def scripted_reply(messages: Sequence[dict[str, str]], draw: str) -> str:
    """The same words for the same messages and draw; a context in front spreads the recommendations."""
    random = Random(draw)
    question = messages[-1]["content"]
    if judged := judge(question, random):
        return judged
    letters = OPTION.findall(question[question.rfind("Question:") :] if "Question:" in question else question)
    if len(letters) >= 2:
        return f"{random.choice(letters)}"
    items = items_for(question)
    skew = SAFE_SHARE if len(messages) == 1 else 1
    return "\n".join(f"{n}. {item}" for n, item in enumerate(draw_items(items, 5, skew, random), 1))


def judge(question: str, random: Random) -> str:
    """Labels in the form that a judge is asked for, of what the question shows; empty where it asks for none."""
    form = FORM.search(question)
    if form is None:
        return ""
    usual, fields = Random(question), json.loads(form[1])
    labels = {name: LABEL.findall(listed) for name, listed in FIELD.findall(question[: form.start()]) if name in fields}
    return json.dumps(
        {
            name: (random if random.random() < OWN_SHARE else usual).choice(values)
            for name, values in labels.items()
            if values
        }
    )


def draw_items(items: Sequence[str], wanted: int, skew: float, random: Random) -> list[str]:
    """Distinct items; the one at rank r has a weight of 1 / r ** skew."""
    left, drawn = list(items), []
    while left and len(drawn) < wanted:
        weights = [1 / rank**skew for rank in range(1, len(left) + 1)]
        drawn.append(left.pop(random.choices(range(len(left)), weights)[0]))
    return drawn
