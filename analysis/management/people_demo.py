"""The demo's stage of people: a scripted model takes invented conversations all the way to items for annotators."""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from analysis.endpoints.endpoints import add_endpoint
from analysis.endpoints.local_model import ENDPOINT, LocalModelError, add_local_endpoint, start_server
from analysis.management.demo import EMBEDDINGS, ShowProgress, make_corpus
from analysis.models import Corpus, Endpoint
from analysis.people.corpora.embeddings import Embedder, EmbeddingError, endpoint_embedder, local_embedder
from analysis.people.filters import FilterSettings
from analysis.people.funnel import filter_users
from analysis.people.merging import merge_attributes
from analysis.people.pushing import push_attributes
from analysis.people.sampling import sample_users
from analysis.people.steps import NAMES, PeopleError, step_of
from analysis.runs.asking.orders import order_asking
from analysis.runs.asking.replies import read_replies
from analysis.runs.lanes.runs import run_inline
from surveys.models import Study
from surveys.simulation.demo import ACTOR, PROFILES

FILE = Path(__file__).with_name("made_up_people.toml")
CORPUS, LOCAL_CORPUS = "made-up-people", "made-up-people-local"
MODEL = "simulated-reader"
SIZE = 8
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
    """Makes the corpus with all conclusions about its people; running it again changes nothing."""
    steps = [*_steps(), *_local_steps()]
    for number, (name, step) in enumerate(steps):
        progress(number, len(steps), name)
        step()
    progress(len(steps), len(steps), "")


def _steps() -> Iterator[tuple[str, Callable[[], Any]]]:
    corpus = make_corpus(CORPUS, _records())
    if corpus.steps.filter(name=NAMES.PUSH, state="done").exists():
        return
    endpoint = _make_endpoint(MODEL, "reader-simulated").name
    yield "people: verdicts on language", partial(_ask, corpus, "language", endpoint)
    yield "people: the first filter", partial(filter_users, corpus, FilterSettings(), actor=ACTOR)
    yield "people: verdicts on use", partial(_ask, corpus, "assistant-use", endpoint)
    yield "people: the filter", partial(filter_users, corpus, FilterSettings(), actor=ACTOR)
    yield "people: extraction", partial(_ask, corpus, "extract", endpoint)
    yield "people: merging", lambda: merge_attributes(corpus, _embedder(), actor=ACTOR)
    yield "people: the sample", partial(sample_users, corpus, SIZE, actor=ACTOR)
    yield f"people: items for {PROFILES}", partial(_push, corpus)


def _local_steps() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields steps for LOCAL_MODEL, if set: a small real model extracts from three conversations, in its own corpus."""
    if not os.environ.get("LOCAL_MODEL"):
        return
    corpus = make_corpus(LOCAL_CORPUS, list(_records())[:LOCAL_CONVERSATIONS])
    if corpus.steps.filter(name=NAMES.EXTRACT, state="done").exists():
        return
    few = FilterSettings(conversations=1, messages=0)
    yield "people: three conversations for the local model", partial(filter_users, corpus, few, actor=ACTOR)
    yield "people: extraction by the local model", partial(_ask_local_model, corpus)


def _records() -> Iterator[dict[str, Any]]:
    for person in tomllib.loads(FILE.read_text(encoding="utf-8"))["people"]:
        for number, conversation in enumerate(person["conversations"], 1):
            yield {
                "conversation_hash": f"{person['key']}-{number}",
                "hashed_ip": person["key"],
                "language": person.get("language", "English"),
                "timestamp": f"2026-03-{number * 6:02}T10:00:00",
                "conversation": [
                    message
                    for text in _says(person, conversation, number)
                    for message in ({"role": "user", "content": text}, {"role": "assistant", "content": REPLY})
                ],
            }


def _says(person: Mapping[str, Any], conversation: Mapping[str, Any], number: int) -> list[str]:
    if template := person.get("template"):
        return [template.format(number=f"{number}{place}") for place in range(len(BETWEEN))]
    asked = [words.format(about=conversation["about"]) for words in BETWEEN]
    own = conversation["says"]
    return [f"{asked[place]} {own[place]}" if place < len(own) else asked[place] for place in range(len(asked))]


def _make_endpoint(name: str, model: str) -> Endpoint:
    known = Endpoint.objects.filter(name=name).first()
    given = {"price_in": 1, "price_out": 4, "embeddings": name == EMBEDDINGS}
    return known or add_endpoint(name, provider=Endpoint.Provider.FAKE, model=model, **given)


def _ask(corpus: Corpus, task: str, endpoint: str, **settings: Any) -> None:
    run = order_asking(corpus, task, {"endpoint": endpoint} | settings, ACTOR)
    assert run is not None
    for _ in run_inline(run):
        pass
    read_replies(run)


def _embedder() -> Embedder:
    try:
        return local_embedder()
    except EmbeddingError:  # the weights are not installed: shared words count instead
        return endpoint_embedder(_make_endpoint(EMBEDDINGS, "words-simulated"))


def _push(corpus: Corpus) -> None:
    study = Study.objects.select_related("current").get(slug=PROFILES)
    with step_of(corpus, NAMES.PUSH, {"study": study.slug, "pilot": False}, ACTOR) as step:
        step.report = push_attributes(corpus, study, ACTOR)


def _ask_local_model(corpus: Corpus) -> None:
    try:
        server = start_server(LOCAL_PORT, 1)
        add_local_endpoint(LOCAL_PORT, 1)
        _ask(corpus, "extract", ENDPOINT, limit=LOCAL_CONVERSATIONS)
        del server
    except LocalModelError as error:
        raise PeopleError(str(error)) from None
