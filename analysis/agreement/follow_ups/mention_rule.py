"""Whether a response names an attribute of the person, by a rule about words."""

import re
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from surveys.studies.files.kinds import GENERIC, PERSONALISED

MENTION_RULE = 1  # raise when a word of the rule changes: it stands beside every number that rests on it
WORD = re.compile(r"[^\W_]+")
SENTENCE = re.compile(r"[.!?;:](?=\s|$)|\n")
SHORTEST = 3  # letters of a word that says something; figures may be shorter
ENDINGS = ("ers", "ing", "ies", "er", "ed", "es", "s", "e", "y")
# Words that join others, and those with which attributes are put: "The user is interested in …".
EMPTY_WORDS = frozenset(
    WORD.findall(
        """
    about also and any are because been being but can could did does doing for from get gets had has have having her
    hers him his how into its just lot lots made make makes many may might more most much not off often one other our
    out over she should since some sometimes such than that the their them then there these they this those through
    too under until very was way well were what when where which while who whom whose why will with would you your
    yours
    appears attribute enjoys enjoy interest interested interests keen likely like likes love loves person prefer
    preference prefers regular regularly seems tend tends use user users uses usually want wants
    """
    )
)


def read_mentions(payload: Mapping[str, Any]) -> dict[str, tuple[bool | None, bool]]:
    """Of each attribute of an item, by id: whether the personalised response names it, and whether the item says so."""
    sentences = [words_of(sentence) for sentence in SENTENCE.split(payload[PERSONALISED])]
    common = words_of(payload["prompt"]) | words_of(payload[GENERIC])
    return {
        part["id"]: (part["mentioned"], True)
        if "mentioned" in part
        else (names_attribute(part["text"], sentences, common), False)
        for part in payload["attributes"]
    }


def names_attribute(attribute: str, sentences: Iterable[set[str]], common: set[str]) -> bool | None:
    """Whether one sentence of the response holds at least half of the words that are the attribute's own.

    Its own are those that are not `common`, the words of the prompt and of the generic response: they would be there
    for anybody. None where no word is left, so that nothing can be told.
    """
    own = words_of(attribute) - common
    if not own:
        return None
    needed = ceil(len(own) / 2)
    return any(len(own & sentence) >= needed for sentence in sentences)


def words_of(text: str) -> set[str]:
    """The words that say something, without their endings."""
    words = (word for word in WORD.findall(text.casefold()) if word not in EMPTY_WORDS)
    return {cut_ending(word) for word in words if len(word) >= SHORTEST or word.isdecimal()}


def cut_ending(word: str) -> str:
    """`developers` and `developing` are `develop`; at least three letters stay, and `class` is left as it is."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word
