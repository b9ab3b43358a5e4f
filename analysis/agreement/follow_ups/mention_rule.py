"""A rule about words that decides whether a response names an attribute of the person."""

import re
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from surveys.studies.files.kinds import GENERIC, PERSONALISED

MENTION_RULE = 1  # raise when a word of the rule changes: every number that rests on it names it
WORD = re.compile(r"[^\W_]+")
SENTENCE = re.compile(r"[.!?;:](?=\s|$)|\n")
SHORTEST = 3  # letters of a word that carries meaning; numbers may be shorter
ENDINGS = ("ers", "ing", "ies", "er", "ed", "es", "s", "e", "y")
# Function words, and words in which attributes are phrased: "The user is interested in …".
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
    """Map attribute ids to whether the personalised response names each, and whether the item itself says so."""
    sentences = [words_of(sentence) for sentence in SENTENCE.split(payload[PERSONALISED])]
    common = words_of(payload["prompt"]) | words_of(payload[GENERIC])
    return {
        part["id"]: (part["mentioned"], True)
        if "mentioned" in part
        else (names_attribute(part["text"], sentences, common), False)
        for part in payload["attributes"]
    }


def names_attribute(attribute: str, sentences: Iterable[set[str]], common: set[str]) -> bool | None:
    """Decide whether one sentence of the response has at least half of the attribute's own words.

    `common` are the words of the prompt and of the generic response, which are not about this person. None if no own
    word is left.
    """
    own = words_of(attribute) - common
    if not own:
        return None
    needed = ceil(len(own) / 2)
    return any(len(own & sentence) >= needed for sentence in sentences)


def words_of(text: str) -> set[str]:
    """Return the words that carry meaning, without their endings."""
    words = (word for word in WORD.findall(text.casefold()) if word not in EMPTY_WORDS)
    return {cut_ending(word) for word in words if len(word) >= SHORTEST or word.isdecimal()}


def cut_ending(word: str) -> str:
    """Shorten `developers` and `developing` to `develop`; keep at least three letters, and `class` as it is."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word
