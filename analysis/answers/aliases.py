"""Spellings of one item in the answers to a prompt: proposals, and the table built from people's decisions."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import connection, transaction
from django.db.models import Max
from rapidfuzz import fuzz, process

from analysis.models import Alias, AliasDecision
from surveys.models import Study, locks
from surveys.studies import audit

Action = AliasDecision.Action
LONGEST = 300


class AliasError(Exception):
    """An impossible decision; its message is for the person who tried to make it."""


def alias_version(study: Study) -> int:
    """Number of the last decision; 0 before the first."""
    return AliasDecision.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0


def alias_map(study: Study) -> dict[str, dict[str, str]]:
    """The item that each spelling stands for, by prompt; items that stand for themselves are absent."""
    found: dict[str, dict[str, str]] = {}
    for prompt, spelling, item in Alias.objects.filter(study=study).values_list("prompt", "spelling", "item"):
        found.setdefault(prompt, {})[spelling] = item
    return found


# --- deciding ---------------------------------------------------------------


def accept(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """Merge these spellings, and all that stood for one of them, into `item`."""
    return decide(study, prompt, Action.ACCEPT, spellings, item, actor, "They are already the same thing.")


def reject(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """Declare these spellings different from `item`; they are not proposed as one again."""
    return decide(study, prompt, Action.REJECT, spellings, item, actor)


def split(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """Separate these spellings from `item` again."""
    return decide(study, prompt, Action.SPLIT, spellings, item, actor, "They do not stand for {item}.")


def undo(study: Study, number: int, actor: str) -> AliasDecision:
    """Rebuild the table as if decision `number` had not been made; later ones stay."""
    with transaction.atomic():
        lock(study)
        decision = AliasDecision.objects.filter(study=study, number=number).first()
        if decision is None or decision.action == Action.UNDO:
            raise AliasError(f"There is no decision {number} to undo.")
        if AliasDecision.objects.filter(undoes=decision).exists():
            raise AliasError(f"Decision {number} is undone already.")
        made = write(study, decision.prompt, Action.UNDO, decision.spellings, decision.item, actor, decision)
        rebuild(study, decision.prompt)
        return made


def check(spellings: Iterable[str], item: str) -> tuple[str, list[str]]:
    """Tidy the item and the other spellings. Raises AliasError."""
    item, *others = (name.replace("\x00", "").strip() for name in (item, *spellings))
    others = sorted({*others} - {item, ""})
    if not item or not others:
        raise AliasError("Give the name to keep and at least one other spelling.")
    if too_long := [name for name in (item, *others) if len(name) > LONGEST]:
        raise AliasError(f"{too_long[0][:60]}… is longer than {LONGEST} characters.")
    return item, others


def decide(
    study: Study, prompt: str, action: str, spellings: Iterable[str], item: str, actor: str, idle: str = ""
) -> AliasDecision:
    """Write the decision and rebuild the table. Raises AliasError with `idle`, if given, when nothing changes."""
    item, others = check(spellings, item)
    with transaction.atomic():
        lock(study)
        before = dict(Alias.objects.filter(study=study, prompt=prompt).values_list("spelling", "item"))
        made = write(study, prompt, action, others, item, actor)
        if rebuild(study, prompt) == before and idle:
            raise AliasError(idle.format(item=item))
        return made


def lock(study: Study) -> None:
    """Allow one decision about a study's spellings at a time; withdrawals take this lock, not the study's."""
    locks.hold("spellings", study.pk)


def write(
    study: Study,
    prompt: str,
    action: str,
    spellings: Sequence[str],
    item: str,
    actor: str,
    undoes: AliasDecision | None = None,
) -> AliasDecision:
    number = alias_version(study) + 1
    # By number only: spellings of people who withdraw go with them, but an audit event stays for good.
    audit.record(study, actor, f"aliases: {action}", number=number, prompt=prompt, spellings=len(spellings))
    return AliasDecision.objects.create(
        study=study,
        number=number,
        prompt=prompt,
        action=action,
        spellings=list(spellings),
        item=item,
        undoes=undoes,
        decided_by=actor,
    )


# --- what the decisions add up to -------------------------------------------


def rebuild(study: Study, prompt: str) -> dict[str, str]:
    """Rewrite the prompt's table from its decisions."""
    standing = PromptTable(decisions_of(study, prompt=prompt))
    Alias.objects.filter(study=study, prompt=prompt).delete()
    Alias.objects.bulk_create(
        Alias(study=study, prompt=prompt, spelling=spelling, item=item, decision=standing.made_by[spelling])
        for spelling, item in standing.items.items()
    )
    return standing.items


def decisions_of(study: Study, **about: str) -> list[AliasDecision]:
    """Decisions that were not undone, oldest first: all, or those `about` one prompt."""
    rows = AliasDecision.objects.filter(study=study, undone_by__isnull=True, **about).exclude(action=Action.UNDO)
    return list(rows.order_by("number"))


class PromptTable:
    """One prompt's table after its decisions, and the pairs declared different."""

    def __init__(self, decisions: Iterable[AliasDecision]) -> None:
        self.items: dict[str, str] = {}
        self.made_by: dict[str, AliasDecision] = {}
        self.apart: set[frozenset[str]] = set()
        for decision in decisions:
            pairs = {frozenset((spelling, decision.item)) for spelling in decision.spellings}
            if decision.action == Action.ACCEPT:
                self.accept(decision)
                self.apart -= pairs
            else:
                self.apart |= pairs
            if decision.action == Action.SPLIT:
                for spelling in decision.spellings:
                    if self.items.get(spelling) == decision.item:
                        del self.items[spelling]

    def accept(self, decision: AliasDecision) -> None:
        """Merge the spellings, and all that stood for one of them, into the item."""
        item = self.items.get(decision.item, decision.item)
        for spelling in decision.spellings:
            followers = [name for name, stands_for in self.items.items() if stands_for == spelling]
            for name in (spelling, *followers):
                if name != item:
                    self.items[name], self.made_by[name] = item, decision


# --- which may be one thing, for a person to judge -------------------------------

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
