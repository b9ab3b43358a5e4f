"""Made-up conversations, personas and questions, written by templates and imported like real ones."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from analysis.corpora.importing import import_corpus
from analysis.corpora.persona_files import import_personas
from analysis.models import Corpus, PersonaSet
from surveys.imports.benchmarks import import_benchmark
from surveys.simulation.demo import ACTOR

CORPUS, PERSONAS, BENCHMARK = "made-up-conversations", "made-up-personas", "made-up-times"
USERS, CONVERSATIONS = 64, 5  # conversations of each user
QUESTIONS = 24
SEED = "demo sources"

SUBJECTS = {
    "cooking": ("a lentil stew", "a birthday cake", "packed lunches", "a dinner for six", "sourdough bread"),
    "work": ("a cover letter", "a difficult e-mail", "my first presentation", "a shift plan", "a job interview"),
    "home": ("a leaking tap", "a small balcony", "an old bicycle", "a shared flat", "a noisy fridge"),
    "study": ("a statistics exam", "a history essay", "a Spanish test", "a lab report", "note taking"),
    "health": ("sleeping better", "a first five-kilometre run", "a sore back", "screen time", "drinking less coffee"),
    "music": ("a playlist for a long drive", "learning the bass", "a choir audition", "a small concert", "old records"),
    "travel": ("a train journey with children", "three days in a city", "a packing list", "camping in rain", "a visa"),
    "family": ("my mother's birthday", "a shy toddler", "a teenager and homework", "a reunion", "a wedding speech"),
}
ASKING = (
    "Can you help me with {about}?",
    "I have to deal with {about} this week. Where do I start?",
    "What would you do first about {about}?",
    "I tried something with {about} yesterday and it went wrong. Any ideas?",
    "Could you make that shorter? I only have an evening for {about}.",
    "And if I have almost no money for {about}?",
    "Thanks. What do most people forget about {about}?",
    "One more thing about {about}: how do I know that it worked?",
)
ANSWERING = (
    "Start small: write down what you have, what you need, and by when. Then take the first point only.",
    "Most people begin with what is easiest. Try that, look at it the next day, and change one thing.",
    "You could split it into three evenings: one to plan, one to do it, one to put it right.",
    "That happens. Leave out what is not needed, and ask somebody who has done it before.",
    "A simple rule is to stop while it still goes well, and to keep notes for the next time.",
)
TRADES = (
    "nurse",
    "electrician",
    "student",
    "librarian",
    "bus driver",
    "accountant",
    "barber",
    "biologist",
    "carpenter",
)
PLACES = ("a small town", "a large city", "the coast", "a suburb", "the mountains", "a farm")
PASTIMES = (
    "plays chess",
    "sings in a choir",
    "runs before work",
    "repairs radios",
    "reads crime novels",
    "bakes bread",
)
TRAITS = (
    "likes quiet mornings",
    "prefers plain words",
    "saves for a house",
    "is new in town",
    "cares for two children",
)


def make_corpus() -> Corpus:
    if Corpus.objects.filter(name=CORPUS).exists():
        return Corpus.objects.get(name=CORPUS)
    with lines_in_file(conversations()) as path:
        import_corpus(CORPUS, path, "wildchat", None, lambda share, number: None)
    return Corpus.objects.get(name=CORPUS)


def conversations() -> Iterator[dict[str, Any]]:
    for user in range(USERS):
        random = Random(f"{SEED} {user}")
        interests = random.sample(list(SUBJECTS), 2)
        for number in range(CONVERSATIONS):
            about = random.choice(SUBJECTS[interests[number % 2]])
            yield {
                "conversation_hash": f"made-up-{user}-{number}",
                "hashed_ip": f"made-up-user-{user}",
                "language": "English",
                "conversation": list(messages(about, random, turns=random.choice((5, 6, 7)))),
            }


def messages(about: str, random: Random, turns: int) -> Iterator[dict[str, str]]:
    for question in random.sample(ASKING, turns):
        yield {"role": "user", "content": question.format(about=about)}
        yield {"role": "assistant", "content": random.choice(ANSWERING)}


def make_personas() -> PersonaSet:
    if not PersonaSet.objects.filter(name=PERSONAS).exists():
        with lines_in_file(personas()) as path:
            import_personas(PERSONAS, path)
    return PersonaSet.objects.get(name=PERSONAS)


def personas() -> Iterator[dict[str, str]]:
    random = Random(f"{SEED} personas")
    ways = [(trade, place, pastime) for trade in TRADES for place in PLACES for pastime in PASTIMES]
    for trade, place, pastime in random.sample(ways, 80):
        yield {"persona": f"A made-up {trade} from {place} who {pastime} and {random.choice(TRAITS)}."}


def make_benchmark() -> None:
    with lines_in_file(questions()) as path:
        import_benchmark(BENCHMARK, path, ACTOR)


def questions() -> Iterator[dict[str, Any]]:
    """When a journey ends: the right time among three that are off by usual slips."""
    random = Random(f"{SEED} questions")
    for number in range(1, QUESTIONS + 1):
        leaves, takes = random.randrange(6 * 60, 20 * 60, 5), random.randrange(35, 200, 5)
        ends = leaves + takes
        times = [ends, ends + 60, ends - 60, ends + 10]
        random.shuffle(times)
        yield {
            "id": f"{BENCHMARK}/{number}",
            "subject": "travel_times",
            "question": f"Train {number} leaves at {clock(leaves)} and takes {takes} minutes. When does it arrive?",
            "choices": [clock(time) for time in times],
            "answer": "ABCD"[times.index(ends)],
        }


def clock(minutes: int) -> str:
    return f"{minutes // 60 % 24}:{minutes % 60:02}"


@contextmanager
def lines_in_file(records: Iterable[dict[str, Any]]) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made-up.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        yield path
