"""What a made-up annotator says about an item: mostly what others say too, by how much they agree and lean aside."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from surveys.study_files.kinds import LabelQuestion, fields_of, turn_back

OPINIONS = ("yes", "yes", "yes", "maybe", "no")  # of a question with these three, most say yes
SWITCHED_ON = 0.08


class Item(Protocol):
    """An item as the database has it."""

    payload: dict[str, Any]
    gold: dict[str, Any]


@dataclass(frozen=True)
class Rater:
    """`contrary`: how often they say anything at all instead of what most say. `leaning`: how often they are for the
    response on the left, whatever it says.
    """

    random: Random
    contrary: float
    leaning: float = 0.0


def draw_rater(random: Random) -> Rater:
    """Most are careful, some are not, and few see what stands on the left before anything else."""
    return Rater(random, random.choice((0.05, 0.15, 0.15, 0.3, 0.8)), random.choice((0, 0, 0, 0.25)))


def say(item: Item, questions: Iterable[LabelQuestion], rater: Rater, left: str = "") -> dict[str, str]:
    """A label for every question about the item that has labels, as they stand on the page; right ones are known."""
    usual = Random(json.dumps(item.payload, sort_keys=True))
    return {
        name: turn_back(question, choose(item.gold.get(name), question, usual, rater, left), left)
        for name, question in fields_of(questions, item.payload).items()
        if question.is_label
    }


def choose(right: list[str] | str | None, question: LabelQuestion, usual: Random, rater: Rater, left: str) -> str:
    """As it counts for analysis: of a question with sides from 1 = generic to 5 = personalised."""
    values, random = question.values, rater.random
    said = usual.choice(OPINIONS) if set(OPINIONS) <= set(values) else usual.choice(values)
    if question.toggle:
        said = values[-1] if random.random() < SWITCHED_ON else values[0]
    elif left and rater.leaning and random.random() < rater.leaning:
        said = turn_back(question, values[0], left)
    elif random.random() < rater.contrary:
        said = random.choice(values)
    return (right[0] if isinstance(right, list) else right) if right else said


def say_wrong(item: Item, questions: Iterable[LabelQuestion], rater: Rater, left: str = "") -> dict[str, str]:
    """As `say`, with a wrong label wherever the right ones are known and there is one."""
    labels = say(item, questions, rater, left)
    for name, question in fields_of(questions, item.payload).items():
        wrong = [value for value in question.values if value not in item.gold.get(name, question.values)]
        if wrong:
            labels[name] = turn_back(question, wrong[0], left)
    return labels
