"""A figure that is seen only while dots move: the mask of a person's figure, and the record of their answer."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from django.utils.crypto import salted_hmac

from surveys.studies.files.schema import Perception

SIDE = 32  # cells of the mask; the page draws several dots in each
UNSEEN, UNSEEN_LABEL = "unseen", "I cannot see it"
LONGEST = 86_400_000  # the largest number believed of a browser, of milliseconds and of anything else
# Each figure fills most of the square from -1 to 1, and differs from the others by more than its edge.
Inside = Callable[[float, float], bool]
FIGURES: dict[str, tuple[str, Inside]] = {
    "circle": ("A circle", lambda x, y: x * x + y * y < 0.72),
    "triangle": ("A triangle", lambda x, y: y > -0.75 and abs(x) < 0.58 * (0.9 - y)),
    "plus": ("A plus sign", lambda x, y: min(abs(x), abs(y)) < 0.28 and max(abs(x), abs(y)) < 0.9),
    "arrow": ("An arrow", lambda x, y: (-0.95 < x < 0.1 and abs(y) < 0.24) or (0 < x < 0.95 and abs(y) < 0.95 - x)),
    "heart": ("A heart", lambda x, y: (1.6 * x * x + 1.6 * y * y - 1) ** 3 < 3.2 * x * x * y**3),
    "moon": ("A crescent moon", lambda x, y: x * x + y * y < 0.85 and (x - 0.5) ** 2 + y * y > 0.5),
}
# Asked in words if the study has no question of its own.
OWN_QUESTION = Perception(
    text="It looks like rain. What would you take with you?",
    options=("A candle", "An umbrella", "A frying pan", "A pillow"),
    answer="An umbrella",
)


def figure_for(pseudonym: str) -> tuple[str, str]:
    """The person's figure and its mask in hexadecimal digits, row by row; the address does not give it away."""
    rng = Random(salted_hmac("perception", pseudonym, algorithm="sha256").hexdigest())
    figure = rng.choice(list(FIGURES))
    size, right, up = rng.uniform(0.7, 0.8), rng.uniform(-0.15, 0.15), rng.uniform(-0.15, 0.15)
    places = [(2 * cell + 1) / SIDE - 1 for cell in range(SIDE)]
    inside = FIGURES[figure][1]
    dots = "".join(str(int(inside((x - right) / size, (-y - up) / size))) for y in places for x in places)
    return figure, f"{int(dots, 2):0{SIDE * SIDE // 4}x}"


def note_seen(pseudonym: str, asked: Perception, given: Mapping[str, str], in_words: bool) -> dict[str, Any]:
    """The record of an answer; it never ends a participation. `right` is None for people who cannot see the figure."""
    plays, ms = count_in(given, "plays"), count_in(given, "ms")
    figure = "" if in_words and plays is None else figure_for(pseudonym)[0]  # without scripts nobody is shown one
    picked = given["answer" if in_words else "seen"]
    right = picked == ((asked.answer or OWN_QUESTION.answer) if in_words else figure)
    is_known = in_words or picked != UNSEEN
    noted = {"figure": figure, "picked": picked, "right": right if is_known else None, "alternative": in_words}
    return noted | {"ms": ms, "plays": plays}


def count_in(given: Mapping[str, str], name: str) -> int | None:
    said = given.get(name, "")
    return min(int(said), LONGEST) if said.isascii() and said.isdecimal() and len(said) < 20 else None


def outcome_of(noted: Mapping[str, Any] | None) -> str:
    """`right`, `wrong` or `unseen` for the figure; empty for people who were asked in words, or not at all."""
    if not noted or noted["alternative"]:
        return ""
    return UNSEEN if noted["right"] is None else "right" if noted["right"] else "wrong"
