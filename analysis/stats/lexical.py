"""Word overlap of two texts: BM25, and numbers for a model to learn from."""

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

WORD = re.compile(r"\w+")
# Okapi BM25 as Robertson and Zaragoza (2009) give it, with the usual constants.
K1, B = 1.5, 0.75
LONG = 4  # letters from which a word is likely to mean something

Scores = np.ndarray


def score_bm25(attributes: Sequence[str], prompts: Sequence[str]) -> Scores:
    """For each pair, how well the attribute as a document answers the prompt as a query; shape (pairs,).

    An attribute is one document, however many prompts it is paired with.
    """
    documents = {text: Counter(words_of(text)) for text in attributes}
    usual = sum(document.total() for document in documents.values()) / max(1, len(documents))
    seen = Counter(word for document in documents.values() for word in document)
    weights = {word: math.log(1 + (len(documents) - n + 0.5) / (n + 0.5)) for word, n in seen.items()}
    scores = np.zeros(len(attributes))
    for place, (attribute, query) in enumerate(zip(attributes, prompts, strict=True)):
        document = documents[attribute]
        room = K1 * (1 - B + B * document.total() / usual) if usual else K1
        for word in set(words_of(query)) & document.keys():
            scores[place] += weights[word] * document[word] * (K1 + 1) / (document[word] + room)
    return scores


def words_of(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def overlap(one: str, other: str) -> list[float]:
    """Eight numbers on what two texts share.

    The shares of the second's different words, word pairs and long words that the first has too, and of the first's
    words that the second has; logarithms of both lengths and of the number of words new in the second; 1 if the second
    has a number that the first lacks.
    """
    first, second = words_of(one), words_of(other)
    known, said = set(first), set(second)
    pairs = set(zip(second, second[1:], strict=False))
    long = {word for word in said if len(word) >= LONG}
    return [
        len(known & said) / max(1, len(said)),
        len(pairs & set(zip(first, first[1:], strict=False))) / max(1, len(pairs)),
        len(known & long) / max(1, len(long)),
        len(known & said) / max(1, len(known)),
        math.log1p(len(first)),
        math.log1p(len(second)),
        math.log1p(len(said - known)),
        float(any(word.isdigit() for word in said - known)),
    ]
