"""The walk as docs/people.md prints it, with a scripted model: no command needs what none before it writes."""

import json
import re
import shlex
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command

from analysis.models import Instruction, TrainedModel
from analysis.people.corpora import embeddings
from analysis.people.corpora.embeddings import Embedder
from surveys.models import AnnotationItem, Study
from tests.analysis.people.people_samples import judge_with, said, write_lines
from tests.analysis.runs.servers import make_fake
from tests.analysis.training.training_samples import embed_words, keep_in
from tests.factories import make_annotation_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
DOCS = Path(django_settings.BASE_DIR) / "docs" / "people.md"
QUALITY, RELEVANCE, PREFERENCE = "recenter-1-quality", "recenter-2-relevance", "recenter-3-preference"
KINDS = {QUALITY: "attribute", RELEVANCE: "relevance", PREFERENCE: "preference"}
TOPICS = ("bread", "trains", "chess", "gardens", "running", "painting", "sailing", "cooking", "poetry", "cycling")
USERS = 24
# Each in different words, so that nothing is merged.
SAYINGS = (
    "I wake early because of {}.",
    "My sister taught me {} long ago.",
    "Nobody around here shares my love for {}.",
    "Last winter I sold everything connected to {}.",
    "Cheap books about {} fill my shelves.",
    "Whenever it rains, I turn to {} indoors.",
    "Once I won a small prize in {}!",
    "Honestly, I would never travel without {}.",
)
# Numbers in the docs, at the paper's size, and here.
SMALLER = {"5000": "22", "47": "16", "250": "12", "10": "3", "631": "20", "80": "9"}


def documented() -> list[list[str]]:
    """Return the commands of the first block below "The walk", without their comments."""
    block = DOCS.read_text(encoding="utf-8").partition("## The walk\n")[2].partition("```\n")[2].partition("```")[0]
    lines = [line.partition(" #")[0].strip() for line in block.splitlines()]
    return [shlex.split(line.removeprefix("manage.py ")) for line in lines if line.startswith("manage.py ")]


def labels_of(item: AnnotationItem, place: int) -> dict[str, str]:
    """Labels by the item's words, so that there is something to learn."""
    if item.kind == "preference":
        return {f"preference__{part['id']}": str(3 + place % 2) for part in item.payload["attributes"]}
    if item.kind == "relevance":
        topic = re.search(rf"\b({'|'.join(TOPICS)})\b", item.payload["prompt"])
        return {"relevance": "yes" if topic and topic[0] in item.payload["attribute"] else "no"}
    return {"quality": "yes" if len(item.payload["attribute"]) % 3 else ("no", "maybe", "no")[place]}


def topic_of(number: int) -> str:
    return TOPICS[number % len(TOPICS)]


def conversations(folder: Path) -> None:
    rows = [
        {
            "conversation_hash": f"{user}-{number}",
            "hashed_ip": f"user-{user}",
            "language": "English",
            "conversation": said(
                *(SAYINGS[2 * number + n].format(topic_of(user + number + 3 * n)) for n in range(2)),
                *(f"Question {number} {n} of {user}?" for n in range(5)),
            ),
        }
        for user in range(USERS)
        for number in range(4)
    ]
    write_lines(folder / "chats.jsonl", rows)
    asked = [f"What is best about {topic} today?\n" for topic in TOPICS] + [f"Who likes {topic}?\n" for topic in TOPICS]
    (folder / "prompts.txt").write_text("".join(asked))
    (folder / "verify.txt").write_text("Say whether the statement makes sense. Be strict.")


def run(arguments: list[str], folder: Path) -> Any:
    name, *given = arguments
    given = [SMALLER.get(word, word) for word in given]
    given = [str(folder / word) if (folder / word).is_file() or word == "people/" else word for word in given]
    out = StringIO()
    call_command(name, *given, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_every_command_of_the_walk_does_what_it_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    embedder = Embedder("words", embed_words)
    monkeypatch.setattr(embeddings, "local_embedder", lambda: embedder)
    monkeypatch.setattr(embeddings, "embedder_named", lambda name: embedder)
    monkeypatch.chdir(tmp_path)
    keep_in(settings, tmp_path / "var")
    make_fake(name="reader", extra={})
    conversations(tmp_path)
    for slug, kind in KINDS.items():
        more = {"next": PREFERENCE} if slug == RELEVANCE else {}
        make_annotation_study(kind=kind, slug=slug, quota=500, **more)
    commands = documented()
    assert len(commands) > 25
    for arguments in commands:
        if arguments[0] == "load_study":
            continue
        for slug in KINDS:
            if slug in arguments and arguments[0] not in ("people", "import_instruction"):
                judge_with(Study.objects.select_related("current").get(slug=slug), labels_of)
        run(arguments, tmp_path)
    items = AnnotationItem.objects.filter(study__slug=PREFERENCE)
    assert 0 < items.count() <= 9 and all(len(item.payload["profile"]) >= 1 for item in items)
    pilots = AnnotationItem.objects.filter(pilot=True).values_list("study__slug", flat=True)
    assert set(pilots) == {QUALITY, RELEVANCE} and len(pilots) <= 12 + 20
    assert TrainedModel.objects.filter(state="done").count() >= 2 and Instruction.objects.exists()
    found = json.loads(run(["report", "paper-2", "--json"], tmp_path))
    why = {each["number"]: each["why"] for each in found["exhibits"] if each["why"]}
    # No reasoning model learned here, and the scripted writer names nobody's attributes.
    assert set(why) <= {"Table 7", "Figure 6", "Figure 7"}, why
    assert (tmp_path / "people").is_dir() and (tmp_path / "tables" / "figure-5.svg").is_file()
