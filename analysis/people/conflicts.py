"""Finds statements about one person that contradict each other: by numbers, by negation, or by opposite words.

The rules know English words and miss what only a name or a fact of the world tells apart (two cities, two favourites).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONFLICT_RULE = "conflicts-1"  # rename it with any change of words or rules: it tells merges apart
NUMBERS, NEGATION, OPPOSITES = "numbers", "negation", "opposites"
KINDS = (NUMBERS, NEGATION, OPPOSITES)

WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")
CLAUSE = re.compile(r"[,;:.!?()](?=\s|$)|\b(?:but|because|although|though|while|whereas|since|which|who|when)\b")
_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
SMALL = {word: value for value, word in enumerate([*_SMALL.split(), "seventeen", "eighteen", "nineteen"])}
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), 2)}
LARGE = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
# Words that say nothing about what a statement is about.
_IDLE = """
a an the this that these those i me my mine we our you your he his him she her hers it its they their them user users
person people is are was were be been being am im i'm ive i've has have had do does did will would can could may might
to of in on at for from by with as and or so than too very really quite just also about into over up out own
"""
IDLE = frozenset(_IDLE.split())
# Words that negate a statement, alone or in a hyphenated word.
_TURNING = """
not no never without neither nor cannot hardly barely rarely seldom dislike disliked disliking hate hated hating avoid
avoided avoiding refuse refused refusing detest loathe despise former formerly ex quit stopped lack lacking unable
unwilling nothing nobody none
"""
TURNING = frozenset(_TURNING.split())
TURNING_PAIRS = frozenset({("no", "longer"), ("used", "to"), ("gave", "up"), ("given", "up"), ("instead", "of")})
STILL = frozenset({("not", "only"), ("not", "just")})
NOT = re.compile(r"n['’]t$")
# Synonyms of things that are counted.
SAME = {"kid": "child", "children": "child", "yr": "year", "mom": "mother", "dad": "father", "everyday": "day"}
# Words, or pairs of words, of which only one holds at a time.
OPPOSITE_WORDS: tuple[tuple[str, ...], ...] = (
    ("vegan", "vegetarian", "pescatarian, pescetarian", "omnivore, carnivore, meat eater, meat lover, eat meat"),
    ("single", "married", "divorced", "widowed, widow, widower"),
    ("male, man, boy, guy", "female, woman, girl, lady"),
    ("left handed, lefty", "right handed, righty"),
    ("introvert, introverted, shy", "extrovert, extroverted, extravert, outgoing"),
    ("beginner, novice", "intermediate", "advanced, expert"),
    ("morning person, early bird, early riser", "night owl, night person, evening person"),
    ("short, brief, concise, succinct", "long, detailed, thorough, lengthy, in depth, comprehensive"),
    ("short", "tall"),
    ("formal", "informal, casual"),
    ("cheap, budget, inexpensive, affordable", "expensive, luxury, luxurious, high end"),
    ("city, urban", "rural, countryside, village, small town"),
    ("employed", "unemployed, jobless"),
    ("full time", "part time"),
    ("christian, catholic, protestant", "muslim", "jewish", "hindu", "buddhist", "atheist, agnostic"),
    ("liberal, progressive", "conservative"),
    ("democrat", "republican"),
    ("left wing", "right wing"),
    ("pro choice", "pro life"),
    ("heterosexual", "homosexual, gay, lesbian", "bisexual"),
    ("iphone, ios", "android"),
    ("windows", "mac, macos", "linux"),
    ("hot, warm", "cold, cool"),
    ("sweet", "savory, savoury, salty"),
    ("spicy", "mild, bland"),
    ("gain, increase", "lose, decrease, reduce"),
    ("more", "less, fewer"),
    ("always", "sometimes, occasionally"),
    ("rich, wealthy", "poor"),
    ("happy, satisfied", "unhappy, sad, dissatisfied"),
    ("healthy", "unhealthy, sick, ill"),
    ("indoor, inside", "outdoor, outside"),
    ("quiet, silent", "loud, noisy"),
    ("simple, easy", "complex, complicated, difficult, hard"),
    ("fast, quick", "slow"),
    ("early", "late"),
    ("optimist, optimistic", "pessimist, pessimistic"),
    ("renter, renting, rent", "homeowner"),
    ("buy", "sell"),
    ("day shift", "night shift"),
)


def stem(word: str) -> str:
    word = SAME.get(word, word)
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return SAME.get(word, word)


def _picks() -> dict[tuple[str, ...], list[tuple[int, int]]]:
    """Map each word, or pair of words, to the groups it is in and its side in each."""
    found: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for group, sides in enumerate(OPPOSITE_WORDS):
        for side, listed in enumerate(sides):
            for words in listed.split(", "):
                found.setdefault(tuple(stem(word) for word in words.split()), []).append((group, side))
    return found


PICKS = _picks()


@dataclass(frozen=True)
class Assertion:
    """The parts of a statement that another may contradict.

    `numbers`: each value with the words for what it counts; `clauses`: the content words of each, and whether it is
    negated (an odd number of times); `picks`: the sides named in each group of opposite words.
    """

    numbers: tuple[tuple[float, frozenset[str]], ...]
    clauses: tuple[tuple[frozenset[str], bool], ...]
    picks: tuple[tuple[int, frozenset[int]], ...]

    @property
    def is_plain(self) -> bool:
        """Whether it has no number, negation or opposite word; two plain statements never contradict each other."""
        return not self.numbers and not self.picks and not any(turned for _, turned in self.clauses)


@lru_cache(maxsize=50_000)
def read_statement(text: str) -> Assertion:
    folded = text.casefold().replace("’", "'")
    words = WORD.findall(folded)
    clauses = [WORD.findall(clause) for clause in CLAUSE.split(folded)]
    picked: dict[int, set[int]] = {}
    stems = [stem(word) for word in words]
    for place in range(len(stems)):
        for key in ((stems[place],), tuple(stems[place : place + 2])):
            for group, side in PICKS.get(key, ()):
                picked.setdefault(group, set()).add(side)
    return Assertion(
        numbers=tuple(_numbers(words)),
        clauses=tuple((_about(clause), _is_turned(clause)) for clause in clauses if clause),
        picks=tuple((group, frozenset(sides)) for group, sides in sorted(picked.items())),
    )


def _about(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words if word not in IDLE and not _turns(word))


def _turns(word: str) -> bool:
    return word in TURNING or stem(word) in TURNING or bool(NOT.search(word))


def _is_turned(words: Sequence[str]) -> bool:
    pairs = list(zip(words, words[1:], strict=False))
    turns = sum(map(_turns, words))
    turns += sum(pair in TURNING_PAIRS and pair[0] not in TURNING for pair in pairs)
    turns -= sum(pair in STILL for pair in pairs)
    return turns % 2 == 1


def _numbers(words: Sequence[str]) -> Iterator[tuple[float, frozenset[str]]]:
    at = 0
    while at < len(words):
        value, end = _number_at(words, at)
        if end == at:
            at += 1
            continue
        yield value, _counted(words, at, end)
        at = end


def _number_at(words: Sequence[str], at: int) -> tuple[float, int]:
    """The number that begins at `at`, and the index after it; the index is `at` if no number begins there."""
    word = words[at]
    if word[0].isdecimal():
        return _value(word), at + 1
    value, end = 0.0, at
    while end < len(words):
        word = words[end]
        if word in TENS and value % 100 == 0:
            value += TENS[word]
        elif word in SMALL and (end == at or value % 10 == 0 and SMALL[word] < 10 or value % 100 == 0):
            value += SMALL[word]
        elif word in LARGE and end > at:
            value *= LARGE[word]
        else:
            break
        end += 1
    # "One" alone is less often a number than a pronoun: "one of them", "the one".
    if end == at + 1 and words[at] == "one" and (end == len(words) or words[end] in IDLE):
        return 0.0, at
    return value, end


def _value(word: str) -> float:
    plain = re.sub(r",(?=\d{3}\b)", "", word).replace(",", ".")
    try:
        return float(plain)
    except ValueError:  # a date, a version
        return float(plain.replace(".", "") or 0)


def _counted(words: Sequence[str], at: int, end: int) -> frozenset[str]:
    """What a number counts: `age`, or the content words among the next two, or else among the two before."""
    after, before = [stem(word) for word in words[end : end + 2]], [stem(word) for word in words[max(0, at - 2) : at]]
    if "old" in after or {"age", "aged"} & set(before):
        return frozenset({"age"})
    counted = frozenset(word for word in after if word not in IDLE and not word[0].isdecimal())
    if counted:
        return counted
    if not after and before and before[-1] in ("is", "am", "i'm"):
        return frozenset({"age"})
    return frozenset(word for word in before if word not in IDLE and not word[0].isdecimal())


def conflict_of(one: str, other: str) -> str:
    """Why the two contradict each other: one of KINDS, or empty."""
    return compare(read_statement(one), read_statement(other))


def compare(one: Assertion, other: Assertion) -> str:
    if _numbers_differ(one, other):
        return NUMBERS
    if _is_turned_round(one, other):
        return NEGATION
    theirs = dict(other.picks)
    has_turned = any(turned for said in (one, other) for _, turned in said.clauses)
    if not has_turned and any(sides.isdisjoint(theirs.get(group, sides)) for group, sides in one.picks):
        return OPPOSITES
    return ""


def _numbers_differ(one: Assertion, other: Assertion) -> bool:
    """Whether both count the same thing and share no number of it."""
    mine, theirs = _by_counted(one), _by_counted(other)
    return any(mine[word].isdisjoint(theirs[word]) for word in mine.keys() & theirs.keys())


def _by_counted(said: Assertion) -> dict[str, set[float]]:
    found: dict[str, set[float]] = {}
    for value, counted in said.numbers:
        for word in counted:
            found.setdefault(word, set()).add(value)
    return found


def _is_turned_round(one: Assertion, other: Assertion) -> bool:
    """Whether exactly one is negated in every pair of clauses that share the most words."""
    shared = [(len(mine & theirs), a != b) for mine, a in one.clauses for theirs, b in other.clauses if mine & theirs]
    most = max((n for n, _ in shared), default=0)
    return bool(shared) and all(differs for n, differs in shared if n == most)


def conflict_matrix(texts: Sequence[str]) -> NDArray[np.bool_]:
    """(n, n) booleans: whether two of the statements contradict each other."""
    said = [read_statement(text) for text in texts]
    found = np.zeros((len(said), len(said)), bool)
    for i, one in enumerate(said):
        for j in range(i + 1, len(said)):
            if not (one.is_plain and said[j].is_plain) and compare(one, said[j]):
                found[i, j] = found[j, i] = True
    return found


def conflicts_among(texts: Sequence[str], vectors: NDArray[Any], similarity: float) -> list[tuple[int, int, str]]:
    """Index pairs of statements near enough to merge (cosine) that contradict each other, with the kind of conflict."""
    said, found = [read_statement(text) for text in texts], []
    for i, one in enumerate(said):
        near = np.flatnonzero(vectors[i + 1 :] @ vectors[i] >= similarity) + i + 1
        for j in near.tolist():
            if kind := compare(one, said[j]):
                found.append((i, j, kind))
    return found
