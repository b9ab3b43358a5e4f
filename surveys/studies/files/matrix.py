"""The benchmark in the field: a set of questions with right answers, a few of which each person is asked."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import StrictInt

from surveys.studies.files.askings import seed_of, shuffled
from surveys.studies.files.values import Line, Slug, Title, listed, nearest, stored, within

REQUEST = "Please answer with the letter of one option."
TITLE = "Ask a question with several options"
SLUG = "question-"  # in front of a question's number in the set
MOST_QUESTIONS = 2_000  # a version of the study holds them all
MOST_EACH = 50
# For the width announced before the launch: an accuracy of one half has the widest interval, and two answers of one
# person's chatbot are assumed to share so much of the variance.
WIDEST, ALIKE = 0.25, 0.1


@dataclass(frozen=True)
class SetQuestion:
    """A question as it was when the study was loaded, so that the version's hash covers it."""

    item: str
    subject: str
    question: str
    choices: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Matrix:
    """How many questions of an imported benchmark each person is asked, spread evenly over all questions."""

    set: Slug
    each: Annotated[StrictInt, within(1, MOST_EACH)]
    title: Title = TITLE
    request: Line = REQUEST
    questions: tuple[SetQuestion, ...] = stored(())

    @cached_property
    def by_slug(self) -> dict[str, SetQuestion]:
        return {f"{SLUG}{number}": question for number, question in enumerate(self.questions, 1)}

    def drawn(self, draw: int, seed: str) -> list[str]:
        """The questions of a draw, by slug: the next `each` from random orders of the set, one after the other.

        Draws from 0 on without a gap ask no question twice before every question was asked once. Each order is
        different, or else people who arrive in turns of their groups would always have the questions of their group.
        """
        slugs, begin = list(self.by_slug), draw * self.each
        first, last = begin // len(slugs), (begin + self.each - 1) // len(slugs)
        found = [question for row in self._orders(last + 1, seed)[first:] for question in row]
        return [slugs[question] for question in found[begin - first * len(slugs) :][: self.each]]

    def _orders(self, count: int, seed: str) -> list[list[int]]:
        """Make `count` orders of all questions; none repeats a question in the draw that spans two orders."""
        size, rows = len(self.questions), list[list[int]]()
        for number in range(count):
            row, missing = shuffled(size, f"{seed}\n{self.set}\n{number}\nquestions"), -number * size % self.each
            before = rows[-1][missing - self.each :] if missing else []
            head = [question for question in row if question not in before][:missing]
            rows.append([*head, *(question for question in row if question not in head)])
        return rows

    def put_in(self, order: Sequence[str], draw: int, seed: str) -> list[str]:
        """Put the questions of this draw into an order of prompts, at random places."""
        found, generator = list(order), random.Random(seed_of(f"{seed}\n{draw}\nplaces"))
        for slug in self.drawn(draw, seed):
            found.insert(generator.randint(0, len(found)), slug)
        return found

    def half_width(self, people: float) -> float:
        """Half the 95 % interval of the accuracy of this many people, at its widest, as a share."""
        alike = 1 + (self.each - 1) * ALIKE
        return 1.96 * math.sqrt(WIDEST * alike / (people * self.each))

    def say_width(self, people: int, chatbots: int) -> str:
        """A sentence for researchers on how exact the accuracy of this many people in all will be."""
        apart = f", {self._points(people / chatbots)} with each chatbot" if chatbots > 1 else ""
        return (
            f"{people:,} people × {self.each} of {len(self.questions):,} questions = {people * self.each:,} answers: "
            f"the 95 % interval of the field’s accuracy will be about {self._points(people)} points{apart}, or less."
        )

    def _points(self, people: float) -> str:
        return f"±{100 * self.half_width(people):.1f}"


def set_misfits(study: Mapping[str, Any], sets: Mapping[str, int]) -> list[tuple[str, str]]:
    """Misfits of a study's set; `sets` are the imported ones with their numbers of questions."""
    matrix = study.get("matrix") or {}
    name, each = matrix.get("set", ""), matrix.get("each", 0)
    if not name:
        return []
    if name not in sets:
        known = tuple(sorted(sets))
        there = f"; there is {listed(known)}" if known else ""
        return [
            (
                "matrix.set",
                f"names the set `{name}`, which is not here{nearest(name, known) or there}. "
                f"Import it first: manage.py import_benchmark {name} FILE",
            )
        ]
    if sets[name] > MOST_QUESTIONS:
        return [("matrix.set", f"has {sets[name]:,} questions; a study can hold {MOST_QUESTIONS:,}")]
    if each > sets[name]:
        return [("matrix.each", f"is {each}, but `{name}` has {sets[name]} questions; ask fewer or import more")]
    return []
