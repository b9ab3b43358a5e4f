"""Proposes spellings in the answers to a prompt that may be one item, for a person to judge.

Apart from the decisions, which participants' pages import without numpy and rapidfuzz.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from django.db import connection
from rapidfuzz import fuzz, process

from analysis.answers.aliases import PromptTable, decisions_of
from analysis.models import AliasDecision
from surveys.models import Study

# From this likeness on (0 to 100, of letters, words sorted) two spellings are worth a look.
ALIKE = 86
# In shorter names one letter makes another name: Ford, Fjord.
SHORTEST = 6
SHORTEST_PLURAL = 5
MARKS = re.compile(r"[^\w\s]|_")
# Numbers that tell items of a series apart: 2, or II.
DIGITS = re.compile(r"\d+|\b[ivx]{1,5}\b")

# One row per spelling and source, over field answers (newest revisions) and completions.
COUNTS = """
SELECT coalesce(nullif(prompt.asks, ''), prompt.slug) AS asked, spelling, source, count(*)
FROM (
    SELECT response.prompt_id, answer.items, 'field' AS source
    FROM analysis_answer answer
    JOIN surveys_response response ON response.id = answer.response_id
    JOIN surveys_participant participant ON participant.id = response.participant_id
    WHERE participant.study_id = %(study)s AND NOT participant.pilot AND participant.origin <> 'preview'
      AND NOT EXISTS (
        SELECT FROM surveys_response newer
        WHERE newer.participant_id = response.participant_id AND newer.prompt_id = response.prompt_id
          AND newer.accepted AND newer.revision > response.revision)
    UNION ALL
    SELECT completion.prompt_id, answer.items, coalesce(nullif(run.imported_source, ''), run.condition)
    FROM analysis_answer answer
    JOIN analysis_completion completion ON completion.id = answer.completion_id
    JOIN analysis_run run ON run.id = completion.run_id
    WHERE run.study_id = %(study)s AND completion.prompt_id IS NOT NULL
) AS answered
JOIN surveys_prompt prompt ON prompt.id = answered.prompt_id
CROSS JOIN LATERAL unnest(answered.items) AS spelling
GROUP BY asked, spelling, source
ORDER BY asked, spelling COLLATE "C", source
"""


@dataclass(frozen=True)
class Spelling:
    name: str
    count: int
    sources: Mapping[str, int]


@dataclass(frozen=True)
class Proposal:
    """Spellings that may be one item; `why`: `marks` (equal but for marks and endings) or `letters` (a few differ)."""

    prompt: str
    item: Spelling
    others: tuple[Spelling, ...]
    why: str

    @property
    def spellings(self) -> tuple[Spelling, ...]:
        """All of them, the one to keep first."""
        return (self.item, *self.others)

    @property
    def count(self) -> int:
        """Mentions that would be renamed."""
        return sum(other.count for other in self.others)


SpellingCounts = Mapping[str, Mapping[str, Counter[str]]]


def count_spellings(study: Study) -> dict[str, dict[str, Counter[str]]]:
    """Count mentions by prompt, spelling as read, and source."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, {"study": study.pk})
        for slug, spelling, source, count in cursor.fetchall():
            counts.setdefault(slug, {}).setdefault(spelling, Counter())[source] += count
    return counts


def propose(study: Study, counts: SpellingCounts | None = None) -> list[Proposal]:
    """Proposals that no decision has settled, most mentions first; from these counts, or all the study's."""
    found: list[Proposal] = []
    decided: dict[str, list[AliasDecision]] = {}
    for decision in decisions_of(study):
        decided.setdefault(decision.prompt, []).append(decision)
    for slug, spellings in (count_spellings(study) if counts is None else counts).items():
        standing = PromptTable(decided.get(slug, []))
        merged: dict[str, Counter[str]] = {}
        for spelling, sources in spellings.items():
            merged.setdefault(standing.items.get(spelling, spelling), Counter()).update(sources)
        found += propose_for(slug, merged, standing.apart)
    return sorted(found, key=lambda proposal: (-proposal.count, proposal.prompt, proposal.item.name))


def propose_for(prompt: str, counts: Mapping[str, Counter[str]], apart: set[frozenset[str]]) -> Iterator[Proposal]:
    """Yield proposals: each spelling, most mentioned first, gathers those like it that no other has gathered."""
    names = sorted(counts, key=lambda name: (-counts[name].total(), name))
    bare = [strip_marks(name) for name in names]
    likeness = compare(bare)
    taken = np.zeros(len(names), bool)
    for head, name in enumerate(names):
        if taken[head]:
            continue
        near = [
            other
            for other in np.flatnonzero(likeness[head])
            if other > head and not taken[other] and frozenset((name, names[other])) not in apart
        ]
        if near:
            taken[near] = True
            others = tuple(spelling_of(names[other], counts) for other in near)
            same = all(endless(bare[other]) == endless(bare[head]) for other in near)
            yield Proposal(prompt, spelling_of(name, counts), others, "marks" if same else "letters")


def spelling_of(name: str, counts: Mapping[str, Counter[str]]) -> Spelling:
    return Spelling(name, counts[name].total(), dict(counts[name]))


def compare(bare: list[str]) -> np.ndarray:
    """Symmetric matrix of which spellings may be one item. Numbers tell items apart: Toy Story 2 is not 3."""
    ordered = [" ".join(sorted(name.split())) for name in bare]
    scores = process.cdist(ordered, ordered, scorer=fuzz.ratio, score_cutoff=ALIKE, dtype=np.uint8)
    alike = scores >= ALIKE
    endings = groups([endless(name) for name in bare])
    alike |= endings[:, None] == endings[None, :]
    long = np.array([len(name) >= SHORTEST for name in bare], bool)
    alike &= (long[:, None] & long[None, :]) | (endings[:, None] == endings[None, :])
    digits = groups([" ".join(DIGITS.findall(name)) for name in bare])
    alike &= digits[:, None] == digits[None, :]
    np.fill_diagonal(alike, False)
    return alike


def groups(keys: list[str]) -> np.ndarray:
    """A number for each key, the same for equal ones."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)


def strip_marks(name: str) -> str:
    """Remove accents, punctuation and repeated spaces."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    return " ".join(MARKS.sub(" ", plain.replace("&", " and ").replace("'", "").replace("’", "")).split())


def endless(bare: str) -> str:
    """Remove spaces, and the s of plurals."""
    return "".join(word.removesuffix("s") if len(word) >= SHORTEST_PLURAL else word for word in bare.split())
