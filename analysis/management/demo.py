"""Scripted models for the demo, and made-up sources to ask them with; in its last stages they are asked like real ones.

Conversations, personas, questions and endpoints exist from the first stage on, so that a run can be started.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from django.db.models import F

from analysis.answers.readings import read_new
from analysis.endpoints.endpoints import add_endpoint
from analysis.endpoints.local_model import ENDPOINT, LocalModelError, add_local_endpoint, start_server
from analysis.models import Completion, Corpus, Endpoint, PersonaSet, Run
from analysis.models.conditions import CONDITIONS
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.corpora.embeddings import Embedder, EmbeddingError, embed_corpus, endpoint_embedder, local_embedder
from analysis.people.corpora.importing import import_corpus, note_origin
from analysis.people.corpora.personas import import_personas
from analysis.people.funnel import FilterSettings, filter_users
from analysis.people.merging import merge_attributes
from analysis.people.pushing import push_attributes
from analysis.people.sampling import sample_users
from analysis.people.steps import NAMES, PeopleError, step_of
from analysis.runs.asking.plans import order_asking, plan_judging
from analysis.runs.asking.replies import read_replies
from analysis.runs.lanes.runs import run_inline, start
from analysis.runs.recipes.plans import Plan, plan_run
from surveys.models import BenchmarkItem, Prompt, Study, asked_of_all
from surveys.simulation.demo import ACTOR, LARGE, PROFILES, SMALL, demo_user
from surveys.studies.imports.benchmarks import import_benchmark
from surveys.studies.wording import RaisedAs

# One for each of field-13's chatbots: dollars per million tokens in and out, usual milliseconds.
MODELS = {
    "simulated-gpt-4o-mini": ("gpt-4o-mini-simulated", "0.15", "0.60", 55),
    "simulated-gemini-flash": ("gemini-2.0-flash-simulated", "0.10", "0.40", 40),
}
EMBEDDINGS = "simulated-embeddings"
DRIFTS = "simulated-gemini-flash"  # is another release when it is asked again
DAYS_BETWEEN = 14

Step = tuple[str, Callable[[], Any]]
ShowProgress = Callable[[int, int, str], None]  # steps done, steps in all, the step that comes next


@dataclass(frozen=True)
class DemoRun:
    """A run to make with each model: the condition, how often, and the settings of its plan."""

    condition: str
    repeats: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    benchmark: bool = False


RUNS = (
    DemoRun("offline", 60),
    DemoRun("sp-history", settings={"users": 40, "history_size": 20}),
    DemoRun("sp-history", settings={"users": 40, "history_size": 5}),
    DemoRun("sp-rag", settings={"users": 40, "history_size": 5, "per_user": True}),
    DemoRun("sp-profile", settings={"users": 40}),
    DemoRun("sp-memory", settings={"users": 40, "memory_size": 3}),
    DemoRun("offline", 8, benchmark=True),
    DemoRun("offline", 3, {"temperature": 0.0}, benchmark=True),
    DemoRun("sp-history", settings={"users": 8, "history_size": 20}, benchmark=True),
    DemoRun("sp-profile", settings={"users": 8}, benchmark=True),
)


def analyse(study: Study, progress: ShowProgress) -> None:
    """Make endpoints, sources, runs and their answers for a study with people. Running it again changes nothing."""
    carry_out(list(steps_of(study)), progress)


def carry_out(steps: Sequence[Step], progress: ShowProgress) -> None:
    for number, (name, step) in enumerate(steps):
        progress(number, len(steps), name)
        step()
    progress(len(steps), len(steps), "")


def steps_of(study: Study) -> Iterator[Step]:
    yield "invented conversations, personas and questions", partial(make_sources, study)
    for name in MODELS:
        for asked in RUNS:
            what = f"{name}: {asked.condition}, {BENCHMARK if asked.benchmark else study.slug}"
            yield what, partial(ask, study, name, asked)
        yield f"{name}: offline again, {DAYS_BETWEEN} days later", partial(ask_again, study, name)
        yield f"{name}: judging {PROFILES}", partial(judge, name)
    yield "reading the answers", partial(read_new, study)


def analyse_repeats(progress: ShowProgress) -> None:
    """Ask for stateless answers to the prompts of `demo`, beside people who were asked one of them twice."""
    study = Study.objects.select_related("current").get(slug=SMALL)
    for number, name in enumerate(MODELS):
        progress(number, len(MODELS), f"{name}: {RUNS[0].condition}, {study.slug}")
        ask(study, name, RUNS[0])
    read_new(study)
    progress(len(MODELS), len(MODELS), "")


def make_sources(study: Study) -> None:
    corpus = import_sources()
    embedder = endpoint_embedder(embeddings_endpoint())
    for _ in embed_corpus(corpus, embedder):
        pass
    if not corpus.steps.filter(name=NAMES.MERGE).exists():
        keep_attributes(corpus, attributes())
        merge_attributes(corpus, embedder, ALIKE, actor=ACTOR)
    for name in MODELS:
        if not Endpoint.objects.filter(name=name).exists():
            # The right letter for each question, which the scripted models may know.
            studies = Study.objects.filter(slug__in=(study.slug, SMALL)).values("current")
            choices = Prompt.objects.filter(asked_of_all(), version__in=studies, kind=Prompt.Kind.CHOICE)
            own = choices.values_list("text", "answer")
            items = BenchmarkItem.objects.filter(benchmark=BENCHMARK).values_list("question", "answer")
            add_model(name, dict(own) | dict(items))


def embeddings_endpoint() -> Endpoint:
    return Endpoint.objects.filter(name=EMBEDDINGS).first() or add_endpoint(
        EMBEDDINGS, provider=Endpoint.Provider.FAKE, model="words-simulated", embeddings=True
    )


def add_model(name: str, known: dict[str, str]) -> Endpoint:
    model, price_in, price_out, wait = MODELS[name]
    return add_endpoint(
        name,
        provider=Endpoint.Provider.FAKE,
        model=model,
        price_in=Decimal(price_in),
        price_out=Decimal(price_out),
        concurrency=64,
        extra={"script": "lifelike", "latency_ms": wait, "knows": known},
    )


def ask(study: Study, name: str, asked: DemoRun) -> Run:
    run, _ = plan_run(plan_of(study, name, asked), asked.repeats, ACTOR)
    return send(run)


def judge(name: str) -> None:
    """Let this model judge the demo's items, if there are any."""
    study = Study.objects.select_related("current").filter(slug=PROFILES).first()
    if study is None:
        return
    run, _ = plan_judging(study, name, "same", ACTOR)
    send(run)
    read_replies(run)


def plan_of(study: Study, name: str, asked: DemoRun) -> Plan:
    takes = CONDITIONS[asked.condition].takes
    return Plan(
        endpoint=Endpoint.objects.get(name=name),
        condition=asked.condition,
        version=study.current,
        benchmark=BENCHMARK if asked.benchmark else "",
        corpus=Corpus.objects.get(name=CORPUS) if "corpus" in takes else None,
        personas=PersonaSet.objects.get(name=PERSONAS) if "personas" in takes else None,
        **asked.settings,
    )


def send(run: Run) -> Run:
    if run.state == Run.State.DONE:
        return run
    for _ in run_inline(start(run)):
        pass
    run.refresh_from_db()
    return run


def ask_again(study: Study, name: str) -> None:
    """Move the first run to an earlier day, and repeat it today."""
    asked = RUNS[0]
    first = Run.objects.get(endpoint__name=name, study=study, benchmark="", condition="offline", first_run=None)
    if first.repetitions.exists():
        send(first.repetitions.get())
        return
    move_back(first)
    if name == DRIFTS:
        endpoint = first.endpoint
        add_endpoint(name, extra={**endpoint.extra, "release": "later"})
    again, _ = plan_run(plan_of(study, name, asked), asked.repeats, ACTOR, again=True)
    send(again)


def move_back(run: Run) -> None:
    """Move a run some days back; it took no time then, like the people of the demo."""
    days = timedelta(days=DAYS_BETWEEN)
    times = ("created_at", "began_at", "ended_at")
    Run.objects.filter(pk=run.pk).update(**{name: F(name) - days for name in times})
    Completion.objects.filter(run=run).update(sent_at=F("sent_at") - days, done_at=F("done_at") - days)


# --- made-up sources, written by templates and imported like real ones

SOURCE, LICENCE = "Invented for this demo; nobody said it", "Apache-2.0"
CORPUS, PERSONAS, BENCHMARK = "made-up-conversations", "made-up-personas", "made-up-times"
USERS, CONVERSATIONS = 64, 5  # conversations of each user
QUESTIONS = 24
ALIKE = 0.95  # similarity at which attributes merge: all share one template's words
SEED = "demo sources"

MADE_UP = tomllib.loads(Path(__file__).with_name("made_up_sources.toml").read_text(encoding="utf-8"))
SUBJECTS, TRADES, PLACES, PASTIMES, TRAITS = (
    MADE_UP[name] for name in ("subjects", "trades", "places", "pastimes", "traits")
)


def import_sources() -> Corpus:
    if not PersonaSet.objects.filter(name=PERSONAS).exists():
        with lines_in_file(personas()) as path:
            import_personas(PERSONAS, path, source=SOURCE, licence=LICENCE)
    with lines_in_file(questions()) as path:
        import_benchmark(BENCHMARK, path, ACTOR)
    return make_corpus(CORPUS, conversations())


def make_corpus(name: str, records: Iterable[dict[str, Any]]) -> Corpus:
    if not Corpus.objects.filter(name=name).exists():
        with lines_in_file(records) as path:
            import_corpus(name, path, "wildchat", None, lambda share, number: None)
        note_origin(name, SOURCE, LICENCE)
    return Corpus.objects.get(name=name)


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
                "about": about,
                "conversation": list(messages(about, random, turns=random.choice((5, 6, 7)))),
            }


def attributes() -> Iterator[NewAttribute]:
    """Yield what each user's conversations are about, with the words that say so, and who the user may be."""
    for conversation in conversations():
        name, user = conversation["conversation_hash"], conversation["hashed_ip"]
        about = conversation["about"]
        yield NewAttribute(user, f"Had to deal with {about}.", 0.9, [about], name, generator="made up")
    for number in range(USERS):
        random = Random(f"{SEED} attributes {number}")
        said = f"{random.choice(TRADES)} from {random.choice(PLACES)}"
        for text in (said, *random.sample(PASTIMES, 4), *random.sample(TRAITS, 4)):
            yield NewAttribute(f"made-up-user-{number}", f"{text.capitalize()}.", 0.8, generator="made up")


def messages(about: str, random: Random, turns: int) -> Iterator[dict[str, str]]:
    for question in random.sample(MADE_UP["asking"], turns):
        yield {"role": "user", "content": question.format(about=about)}
        yield {"role": "assistant", "content": random.choice(MADE_UP["answering"])}


def give_to_demo() -> None:
    """Give the made-up sources to the demo's account, and let its studies use them."""
    account, studies = demo_user(), Study.objects.filter(slug__in=[SMALL, LARGE, PROFILES])
    rows: list[Any] = [row for model in (Corpus, PersonaSet) for row in model.objects.filter(source=SOURCE, owner=None)]
    rows += Run.objects.filter(study=None, owner=None, created_by=ACTOR)
    for row in rows:
        row.owner = account
        row.save(update_fields=["owner"])
        row.shared_with.set(studies)


def personas() -> Iterator[dict[str, str]]:
    random = Random(f"{SEED} personas")
    ways = [(trade, place, pastime) for trade in TRADES for place in PLACES for pastime in PASTIMES]
    for trade, place, pastime in random.sample(ways, 80):
        yield {"persona": f"A made-up {trade} from {place} who {pastime} and {random.choice(TRAITS)}."}


def questions() -> Iterator[dict[str, Any]]:
    """Yield questions about when a journey ends: the right time among three that are off by common slips."""
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


# --- the stage of people: a scripted model takes invented conversations all the way to items for annotators

PEOPLE_FILE = Path(__file__).with_name("made_up_people.toml")
PEOPLE, LOCAL_PEOPLE = "made-up-people", "made-up-people-local"
READER = "simulated-reader"
SAMPLED = 8  # people
LOCAL_CONVERSATIONS, LOCAL_PORT = 3, 8091
BETWEEN = (
    "Can you help with {about}?",
    "What is the first thing to do about {about}?",
    "Could you make that shorter?",
    "And what do beginners usually get wrong with {about}?",
    "Is there a cheaper way?",
)
REPLY = "Gladly. Start small, write down what is there and what is missing, and change one thing at a time."


def fill_people(progress: ShowProgress) -> None:
    """Make the corpus with all conclusions about its people; running it again changes nothing."""
    carry_out([*people_steps(), *local_steps()], progress)


def people_steps() -> Iterator[Step]:
    corpus = make_corpus(PEOPLE, people())
    if corpus.steps.filter(name=NAMES.PUSH, state="done").exists():
        return
    endpoint = reader().name
    yield "people: verdicts on language", partial(ask_about, corpus, "language", endpoint)
    yield "people: the first filter", partial(filter_users, corpus, FilterSettings(), actor=ACTOR)
    yield "people: verdicts on use", partial(ask_about, corpus, "assistant-use", endpoint)
    yield "people: the filter", partial(filter_users, corpus, FilterSettings(), actor=ACTOR)
    yield "people: extraction", partial(ask_about, corpus, "extract", endpoint)
    yield "people: merging", lambda: merge_attributes(corpus, people_embedder(), actor=ACTOR)
    yield "people: the sample", partial(sample_users, corpus, SAMPLED, actor=ACTOR)
    yield f"people: items for {PROFILES}", partial(push, corpus)


def local_steps() -> Iterator[Step]:
    """Yield steps for LOCAL_MODEL, if set: a small real model extracts from three conversations, in its own corpus."""
    if not os.environ.get("LOCAL_MODEL"):
        return
    corpus = make_corpus(LOCAL_PEOPLE, list(people())[:LOCAL_CONVERSATIONS])
    if corpus.steps.filter(name=NAMES.EXTRACT, state="done").exists():
        return
    few = FilterSettings(conversations=1, messages=0, without_assistant_use=True)
    yield "people: three conversations for the local model", partial(filter_users, corpus, few, actor=ACTOR)
    yield "people: extraction by the local model", partial(ask_local_model, corpus)


def people() -> Iterator[dict[str, Any]]:
    for person in tomllib.loads(PEOPLE_FILE.read_text(encoding="utf-8"))["people"]:
        for number, conversation in enumerate(person["conversations"], 1):
            yield {
                "conversation_hash": f"{person['key']}-{number}",
                "hashed_ip": person["key"],
                "language": person.get("language", "English"),
                "timestamp": f"2026-03-{number * 6:02}T10:00:00",
                "conversation": [
                    message
                    for text in says(person, conversation, number)
                    for message in ({"role": "user", "content": text}, {"role": "assistant", "content": REPLY})
                ],
            }


def says(person: Mapping[str, Any], conversation: Mapping[str, Any], number: int) -> list[str]:
    if template := person.get("template"):
        return [template.format(number=f"{number}{place}") for place in range(len(BETWEEN))]
    asked = [words.format(about=conversation["about"]) for words in BETWEEN]
    own = conversation["says"]
    return [f"{asked[place]} {own[place]}" if place < len(own) else asked[place] for place in range(len(asked))]


def reader() -> Endpoint:
    return Endpoint.objects.filter(name=READER).first() or add_endpoint(
        READER, provider=Endpoint.Provider.FAKE, model="reader-simulated", price_in=1, price_out=4
    )


def ask_about(corpus: Corpus, task: str, endpoint: str, **settings: Any) -> None:
    run = order_asking(corpus, task, {"endpoint": endpoint} | settings, ACTOR)
    assert run is not None
    for _ in run_inline(run):
        pass
    read_replies(run)


def people_embedder() -> Embedder:
    try:
        return local_embedder()
    except EmbeddingError:  # the weights are not installed: shared words count instead
        return endpoint_embedder(embeddings_endpoint())


def push(corpus: Corpus) -> None:
    study = Study.objects.select_related("current").get(slug=PROFILES)
    with step_of(corpus, NAMES.PUSH, {"study": study.slug, "pilot": False}, ACTOR) as step:
        step.report = push_attributes(corpus, study, ACTOR)


def ask_local_model(corpus: Corpus) -> None:
    with RaisedAs(PeopleError, LocalModelError):
        server = start_server(LOCAL_PORT, 1)
        add_local_endpoint(LOCAL_PORT, 1)
        ask_about(corpus, "extract", ENDPOINT, limit=LOCAL_CONVERSATIONS)
        del server
