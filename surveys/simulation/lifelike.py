"""Answers as different chatbots give them to different people: whose taste they follow, and how they are written."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from surveys.simulation.answers import CLOSINGS, OPENINGS, AskedPrompt, items_for

LETTERS = "ABCDEFGH"
OWN_FAVOURITES = 0.45  # how far a chatbot's order is from that of the lists
OF_THE_GROUP = 0.5  # how far a group's order is from its chatbot's, at full spread
ABILITY = 0.9  # of questions of usual difficulty
SURENESS = 2.4  # how much the same question gets the same answer
FAVOURITE_MISTAKE = 0.75
RESPELLED = 0.04
PRAISE = (
    *("well loved and hard to get wrong", "popular right now", "a little unexpected", "friendly to beginners"),
    *("a true classic", "perfect for a slow afternoon", "little effort, big effect"),
    *("bold and memorable", "kind to your budget", "warm and easygoing", "highly rated lately"),
    *("best when shared", "quietly brilliant", "versatile and long lasting"),
)


@dataclass(frozen=True)
class Taste:
    """How a chatbot ranks what it may recommend. Asked by nobody in particular it has no spread."""

    chatbot: str
    skew: float  # how much more often the first of its order come
    spread: float = 0.0  # how far the person's order is from the chatbot's
    person: str = ""
    group: str = ""


def write_lifelike(prompt: AskedPrompt, rng: Random, taste: Taste) -> str:
    if prompt.kind == "choice":
        letter = choose_letter(prompt.text, len(prompt.choices), prompt.answer, rng, taste)
        return write_letter(letter, prompt.choices[LETTERS.index(letter)], rng)
    return write_items(pick_items(items_for(prompt.text), prompt.items or 5, rng, taste), rng)


# --- which -------------------------------------------------------------------


def pick_items(items: Sequence[str], wanted: int, rng: Random, taste: Taste) -> list[str]:
    """Distinct items, drawn with the weights of the taste (each weight's logarithm with Gumbel noise, sorted)."""
    own = Random(f"{taste.person} {items[0]}")
    shifts = order_of(taste.chatbot, taste.group, tuple(items))
    scores = [
        -taste.skew * (shift[0] + taste.spread * (OF_THE_GROUP * shift[1] + own.gauss(0, 1)))
        - math.log(-math.log(rng.random() or 0.5))
        for shift in shifts
    ]
    ranked = sorted(range(len(items)), key=lambda place: -scores[place])
    return [items[place] for place in ranked[:wanted]]


@lru_cache(maxsize=1024)
def order_of(chatbot: str, group: str, items: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """For each item the logarithm of its rank with the chatbot, and what the group adds."""
    bot, shared = Random(f"{chatbot} {items[0]}"), Random(f"{group} {items[0]}")
    return tuple(
        (math.log(rank) + bot.gauss(0, OWN_FAVOURITES), shared.gauss(0, 1) if group else 0.0)
        for rank in range(1, len(items) + 1)
    )


def choose_letter(question: str, options: int, right: str, rng: Random, taste: Taste) -> str:
    """The right one when chatbot and person make it likely; else mostly the chatbot's usual mistake."""
    letters = LETTERS[:options]
    usual, own = Random(f"{taste.chatbot} {question}"), Random(f"{taste.person} {question}")
    strength = ABILITY + usual.gauss(0, 1) + taste.spread * own.gauss(0, 1)
    wrong = [letter for letter in letters if letter != right]
    mistake = usual.choice(wrong)
    if right and rng.random() < 1 / (1 + math.exp(-SURENESS * strength)):
        return right
    if taste.spread and own.random() < taste.spread / 3:
        mistake = own.choice(wrong)
    return mistake if rng.random() < FAVOURITE_MISTAKE else rng.choice(wrong)


# --- how it is written -------------------------------------------------------


def write_items(items: Sequence[str], rng: Random) -> str:
    names = [respell(item) if rng.random() < RESPELLED else item for item in items]
    form = rng.choices(list(LIST_FORMS), list(LIST_FORMS.values()))[0]
    return form(names, rng)


def respell(name: str) -> str:
    """The same as it is also written."""
    if " & " in name:
        return name.replace(" & ", " and ")
    if ", " in name or ": " in name:
        return name.replace(", ", " ").replace(": ", " ")
    if name.startswith("A "):
        return f"{name[2:].capitalize()}s"
    return name.replace(" ", "-", 1) if name.count(" ") == 1 else name


def numbered(pattern: str, end: str = "\n") -> Callable[[Sequence[str], Random], str]:
    def write(names: Sequence[str], rng: Random) -> str:
        lines = [
            pattern.format(n=n, item=name, why=rng.choice(PRAISE), Why=rng.choice(PRAISE).capitalize())
            for n, name in enumerate(names, 1)
        ]
        return "\n\n".join(part for part in (opening(len(names), rng), end.join(lines), closing(rng)) if part)

    return write


def opening(number: int, rng: Random) -> str:
    return rng.choice((*OPENINGS, "")).format(n=number)


def closing(rng: Random) -> str:
    return rng.choice((*CLOSINGS, "", ""))


def write_table(names: Sequence[str], rng: Random) -> str:
    rows = [f"| {n} | {name} | {rng.choice(PRAISE)} |" for n, name in enumerate(names, 1)]
    return "\n".join(["| # | Recommendation | Why |", "| --- | --- | --- |", *rows])


def write_prose(names: Sequence[str], rng: Random) -> str:
    return f"I would go with {', '.join(names[:-1])} or {names[-1]}: {rng.choice(PRAISE)}."


def write_fewer(names: Sequence[str], rng: Random) -> str:
    return numbered("{n}. {item}")(names[: rng.choice((3, 4))], rng)


def write_refusal(names: Sequence[str], rng: Random) -> str:
    return rng.choice(
        (
            "I'm sorry, but I can't help with that request.",
            "I don't know enough about you to recommend anything. Could you tell me what you like?",
        )
    )


# Each form with its share in a thousand.
LIST_FORMS: dict[Callable[[Sequence[str], Random], str], int] = {
    numbered("{n}. **{item}**: {why}."): 320,
    numbered("{n}. **{item}** – {Why}."): 170,
    numbered("{n}. {item}"): 170,
    numbered("{n}. {item}: {why}."): 110,
    numbered("{n}) {item} - {why}"): 60,
    numbered("### {n}. {item}\n\n{Why}.", end="\n\n"): 60,
    numbered("{n}. **{item}**\n   - {Why}.\n   - It is {why}."): 50,
    write_table: 15,
    write_prose: 20,
    write_fewer: 15,
    write_refusal: 10,
}
CHOICE_FORMS = {
    "{letter}": 250,
    "**{letter}. {choice}**": 250,
    "The answer is {letter}.": 130,
    "The correct answer is **{letter}**.\n\n{why}": 160,
    "{letter}. {choice}\n\n{why}": 160,
    "{choice}": 20,
    "It depends on what exactly is meant, so I can't settle on one of these options.": 15,
    "Either {letter} or {other} could be defended here.": 15,
}
WHY = (
    *("The other options don't fit what is described.", "Each other option can be ruled out."),
    *("Of all these, it is the one that follows from the text.", "That is what one would expect here."),
    *("Nothing in the text speaks for another option.", "This is the usual answer in textbooks."),
)


def write_letter(letter: str, choice: str, rng: Random) -> str:
    form = rng.choices(list(CHOICE_FORMS), list(CHOICE_FORMS.values()))[0]
    other = "A" if letter != "A" else "B"
    return form.format(letter=letter, choice=choice, why=" ".join(rng.sample(WHY, rng.choice((1, 2)))), other=other)
