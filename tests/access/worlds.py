"""Two parties on one server, each with an object of every kind, for trying the table of addresses."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from rest_framework.authtoken.models import Token

from analysis.answers.readings import read_new
from analysis.models import Answer, Completion, Corpus, CorpusStep, CorpusUpload, ExampleSet, Run, Task, TrainedModel
from analysis.runs.asking.conversations import first_span
from surveys.models import Participant, Study, TeamRequest
from surveys.studies.files.hypotheses import Hypothesis
from tests.analysis.agreement.annotation_samples import make_annotated
from tests.analysis.people.people_samples import make_person, talk
from tests.analysis.runs.baseline_factories import make_call, make_endpoint, make_item, make_personas, make_run
from tests.analysis.runs.run_samples import answer, make_running
from tests.factories import make_account, make_annotator, make_definition, make_participant, make_response, make_study

ROLES = ("blinded", "viewer", "researcher", "owner")


@dataclass
class World:
    """A study of people and one of annotators, with members; `maker`, a researcher, owns everything without a study."""

    name: str
    study: Study
    labelled: Study
    ids: dict[str, Any] = field(default_factory=dict)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Words found only in this party's things."""
        return tuple(f"{self.name}{what}" for what in ("confides", "persona", "replies", "endpoint", "model"))


def make_world(name: str) -> World:
    expected = Hypothesis("varied", "Gemini varies more.", "entropy_bits", "field/gemini", "more", "field/chatgpt")
    definition = make_definition(places=9, slug=name, title=name, hypotheses=(expected,))
    world = World(name, make_study(definition=definition), make_annotated(slug=f"{name}-labels")[0])
    for role in ROLES:
        world.labelled.memberships.create(user=make_account(f"{name}-{role}", world.study, role), role=role)
    maker = make_account(f"{name}-maker", world.study, "researcher")
    world.labelled.memberships.create(user=maker, role="researcher")
    spare = make_account(f"{name}-spare", world.study, "viewer")
    person = make_participant(world.study)
    response = make_response(person, "teas", f"1. {name}replies", keep=True)
    world.ids |= {"member": spare.memberships.get().pk, "pseudonym": person.pseudonym, "response": response.pk}
    piloting = make_participant(world.study)
    Participant.objects.filter(pk=piloting.pk).update(pilot=True)
    tried = make_response(piloting, "teas", "1. Assam", keep=True)
    world.ids |= {"piloting": piloting.pseudonym, "pilot response": tried.pk}
    world.ids |= {"annotator": make_annotator(world.labelled).pseudonym}
    world.ids |= {"item": world.labelled.annotation_items.order_by("pk").first().pk}
    listed = {"payout": {"kind": "decide", "meaning": "to-approve", "cell": "", "how": "", "gives": []}, "listed": []}
    asked = TeamRequest.objects.create(study=world.study, what="pay", key="decide", asked_by=maker, detail=listed)
    note = world.study.notes.create(participant=person, text=f"{name}confides", author=maker)
    world.ids |= {"asked to pay": asked.pk, "person": person.pk, "note": note.pk}
    make_sources(world, maker)
    make_models(world, maker)
    make_runs(world, maker)
    read_new(world.study)
    world.ids["answer"] = Answer.objects.filter(response__participant__study=world.study).first().pk
    return world


def give(thing: Any, world: World, maker: Any) -> Any:
    """Give the thing to the world's maker and share it with the world's studies."""
    thing.owner = maker
    thing.save(update_fields=["owner"])
    thing.shared_with.set([world.study, world.labelled])
    return thing


def make_sources(world: World, maker: Any) -> None:
    corpus = give(Corpus.objects.create(name=f"{world.name}-chats", format="wildchat"), world, maker)
    make_person("ann", [*talk("ann", 2), [f"I say {world.name}confides."]], corpus)
    user = corpus.users.create(key="ann", conversations=3, messages=9, place=1, band=1)
    user.attributes.create(text=f"{world.name}confides", sha256="0" * 64)
    report = {"users": 1, "kept": 1, "left_out": {}, "settings": {}}
    CorpusStep.objects.create(corpus=corpus, name="extract", state="waiting", report=report, started_by=maker.username)
    personas = give(make_personas(f"{world.name}-people", [(f"{world.name}persona", [])]), world, maker)
    upload = CorpusUpload.objects.create(
        owner=maker, created_by=maker.username, corpus_name=f"{world.name}-new", format="wildchat",
        source="x", licence="x", filename="x.jsonl", size=9,
    )  # fmt: skip
    world.ids |= {"corpus": corpus.name, "user": user.pk, "personas": personas.name, "upload": upload.pk}


def make_models(world: World, maker: Any) -> None:
    examples = give(
        ExampleSet.objects.create(name=f"{world.name}-examples", task="verifier", file="x", sha256="0" * 64),
        world,
        maker,
    )
    told = {"task": "verifier", "tier": "encoder", "state": "stopped", "started_by": "tests"}
    model = TrainedModel.objects.create(name=f"{world.name}model", examples=examples, **told)
    own = TrainedModel.objects.create(name=f"{world.name}model-own", study=world.study, **told)
    world.ids |= {"model": give(model, world, maker).name, "own_model": own.name}


def make_runs(world: World, maker: Any) -> None:
    endpoint = make_endpoint(name=f"{world.name}endpoint", study=world.study, price_in=1, price_out=1)
    endpoint.shared_with.add(world.labelled)
    run = make_running(world.study, endpoint=endpoint, state="paused", note=f"{world.name}replies")
    corpus = Corpus.objects.get(name=world.ids["corpus"])
    asked = give(
        Run.objects.create(
            condition="task", instruction="extract-1", corpus=corpus, endpoint=endpoint, state="paused", budget=1,
            created_by=maker.username,
        ),
        world, maker,
    )  # fmt: skip
    about = corpus.conversations.first()
    span = first_span(about.messages, 1000)
    task = Task.objects.create(run=asked, key=f"{world.name}-task", conversation=about, payload=span)
    told = {"status": "done", "reply": f"{world.name}replies", "done_at": timezone.now()}
    asking = Completion.objects.create(run=asked, task=task, repeat=0, position=1, **told)
    bench = give(make_run(benchmark=f"{world.name}-sums", endpoint=endpoint, state="done"), world, maker)
    benched = answer(make_call(bench, make_item(1, f"{world.name}-sums")), "B")
    world.ids |= {"endpoint": endpoint.name, "run": run.pk, "call": run.completions.order_by("pk").first().pk}
    world.ids |= {"asked": asked.pk, "asking": asking.pk, "bench": bench.pk, "benched": benched.pk}


def person_of(world: World, annotates: bool = False) -> Participant:
    return Participant.objects.get(pseudonym=world.ids["annotator" if annotates else "pseudonym"])


@cache
def browser_of(name: str) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.get(username=name))
    return client


@cache
def program_of(name: str) -> Client:
    token, _ = Token.objects.get_or_create(user=get_user_model().objects.get(username=name))
    return Client(headers={"Authorization": f"Token {token.key}"}, raise_request_exception=False)
