"""Simulated people, the ends they go to, and their own records."""

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from surveys.participation.prolific import Visit
from surveys.studies.files.definitions import Definition
from surveys.studies.files.schema import NONE, SEVERAL

# How a participation ends under faults, with its weight. Without faults everybody finishes.
WAYS = {
    "finish": 64,
    "late": 8,
    "no_consent": 4,
    "screened_out": 5,
    "withdraw": 4,
    "return": 4,
    "come_back": 4,
    "technical": 3,
    "misunderstand": 2,
    "walk_away": 2,
    "stop_early": 10,
    "excluded": 3,
    "fail_training": 2,
}
OF_ANNOTATORS = ("stop_early", "excluded", "fail_training")
LONGEST_STAY = 8  # items after which annotators who leave on the way have left
CANNOT_REACH = 0.2  # share of people, for each arm
STUDY_ID = "5f0000000000000000051111"


@dataclass(frozen=True)
class Sent:
    """An answer or an item's labels that the server confirmed; `text` is None if it was asked to take details out."""

    slug: str  # of the prompt; the key of an item
    key: str
    text: str | None


@dataclass
class Person:
    pid: str
    way: str
    rng: Random
    chatbot: str
    cell: str
    stops_at: int
    scripts: bool  # whether their browser notes how they paste
    cannot_reach: frozenset[str] = frozenset()  # arms that their account, or their app, does not have

    def visit(self) -> Visit:
        """A new visit, as by one more submission on Prolific."""
        return Visit(self.pid, STUDY_ID, secrets.token_hex(12))


@dataclass
class Story:
    """A person's own record of pages and answers, to be compared with the database."""

    person: Person
    sent: set[tuple[str, str]] = field(default_factory=set)  # (prompt or item, text), confirmed or not
    confirmed: list[Sent] = field(default_factory=list)
    newest: dict[str, set[str | None]] = field(default_factory=dict)  # texts that may be the answer
    kept: set[str] = field(default_factory=set)  # prompts whose answer was questioned and kept, or
    fixed: set[str] = field(default_factory=set)  # put right
    mishaps: Counter[str] = field(default_factory=Counter)
    habits: Counter[str] = field(default_factory=Counter)  # of annotators: skipping, undoing, changing
    troubles: list[str] = field(default_factory=list)
    consented: bool = False
    refusals: int = 0  # times that "I don't agree" was sent
    lapsed: bool = False
    end: str = ""  # name of the last page
    code: str = ""
    submissions: int = 0
    requests: int = 0
    waits: list[float] = field(default_factory=list)

    def confirm(self, *together: Sent) -> None:
        """Note that the server took these; of several sent at the same moment, any may be the newest."""
        self.confirmed += together
        for slug in {sent.slug for sent in together}:
            self.newest[slug] = {sent.text for sent in together if sent.slug == slug}


def make_people(definition: Definition, count: int, faults: bool, seed: int) -> list[Person]:
    """`count` people over all cells. Prolific IDs are new in each run; all else follows from the seed."""
    rng = Random(seed)
    ways = draw_ways(definition, count, rng) if faults else ["finish"] * count
    cells = [(slug, cell.slug) for slug, _ in definition.branches for cell in definition.cells]
    work = definition.annotation
    # After the last item there is no work page on which an annotator could leave.
    longest, least = (max(1, min(work.quota - 1, LONGEST_STAY)), work.least) if work else (len(definition.prompts), 0)
    return [
        Person(
            pid=secrets.token_hex(12),
            way=way,
            rng=Random(f"{seed} {number}"),
            chatbot=cells[number % len(cells)][0],
            cell=cells[number % len(cells)][1],
            stops_at=max(rng.randrange(1, longest + 1), least if way == "stop_early" else 0),
            scripts=rng.random() < 0.85,
            cannot_reach=frozenset(arm.slug for arm in definition.arms if rng.random() < CANNOT_REACH),
        )
        for number, way in enumerate(ways)
    ]


def draw_ways(definition: Definition, count: int, rng: Random) -> list[str]:
    """A way for each person: every way at least once if there are enough people; the first person always finishes."""
    possible = {way: share for way, share in WAYS.items() if can_go(definition, way)}
    drawn = rng.choices(list(possible), list(possible.values()), k=count)
    rest = [*possible, *drawn][1:count]
    rng.shuffle(rest)
    return ["finish", *rest]


def can_go(definition: Definition, way: str) -> bool:
    if way in OF_ANNOTATORS:
        return definition.annotation is not None
    if way == "misunderstand":
        return bool(definition.comprehension)
    if way == "screened_out":
        screening = any(question.purpose == "screening" for question in definition.questions)
        return screening or bool(definition.chatbot_question.none)
    return True


def first_answers(definition: Definition, person: Person) -> Iterator[tuple[str, str]]:
    """Fields of the first questions with this person's answers."""
    screened_out = person.way == "screened_out"
    several = definition.chatbot_question.several and person.rng.random() < 0.15
    no_chatbot = screened_out and definition.chatbot_question.none
    yield "chatbot", NONE if no_chatbot else SEVERAL if several else person.chatbot
    where = next(cell.where for cell in definition.cells if cell.slug == person.cell)
    for question in definition.questions:
        refused = [option for option in question.options if option not in question.accept]
        if screened_out and question.accept and refused:
            offered = refused
        else:
            offered = list(where.get(question.slug) or question.accept or question.options)
        if question.kind == "choice":
            yield f"q-{question.slug}", person.rng.choice(offered)
        else:
            yield f"q-{question.slug}", "30" if question.kind == "number" else "As it comes."
