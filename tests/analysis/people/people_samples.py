"""Corpora of users with known habits, and real corpora."""

import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from rest_framework.authtoken.models import Token

from analysis.models import Conversation, Corpus
from surveys.models import AnnotationItem, Study
from tests.analysis.runs.baseline_factories import import_file, make_conversation, make_corpus, real_data
from tests.factories import annotate, make_annotation_study, make_annotator, make_items, tasks_of

CHITCHAT = "conversations/chitchat_a.wildchat.jsonl"
OASST = "conversations/oasst1_en_validation.wildchat.jsonl"


def people(corpus: str, step: str, *options: str) -> dict[str, Any]:
    return command("people", corpus, step, *options)


def command(name: str, *arguments: str) -> dict[str, Any]:
    """Run a command and return the JSON it prints."""
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def import_real(name: str, corpus: str = "corpus") -> Corpus:
    import_file(real_data(name), name=corpus)
    return Corpus.objects.get(name=corpus)


def said(*texts: str, answered: bool = True) -> list[dict[str, str]]:
    """User messages with replies; without `answered`, the last one has none."""
    messages = [
        m for text in texts for m in ({"role": "user", "content": text}, {"role": "assistant", "content": "Yes."})
    ]
    return messages if answered else messages[:-1]


def make_person(
    key: str, histories: Sequence[Sequence[str]], corpus: Corpus | None = None, language: str = "English"
) -> list[Conversation]:
    """Make one user's conversations, each from the messages that the user wrote."""
    corpus = corpus or make_corpus()
    return [
        make_conversation(corpus, messages=said(*texts), user=key, language=language, source_id=f"{key}-{number}")
        for number, texts in enumerate(histories, 1)
    ]


def talk(key: str, number: int, messages: int = 6) -> list[list[str]]:
    """Conversations in which nothing is said twice."""
    return [[f"{key} asks {n} {m}: what about it?" for m in range(messages)] for n in range(number)]


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def as_program(account: str) -> Client:
    """A client that sends the account's token."""
    token, _ = Token.objects.get_or_create(user=get_user_model().objects.get(username=account))
    return Client(headers={"Authorization": f"Token {token.key}"})


# --- studies whose items people judged

WORDS = {"n": "no", "m": "maybe", "y": "yes"}


def judged(kind: str, question: str, said: Mapping[str, str], **changes: Any) -> Study:
    """A study of this kind whose items three people labelled as `said` says, by key."""
    study = make_annotation_study(kind=kind, slug=f"{kind}s")
    make_items(study, len(said), **{"cluster": "ann"} | changes)
    judge_items(study, question, said)
    return study


def judge_items(study: Study, question: str, said: Mapping[str, str], unsaid: str = "") -> None:
    """Three people label all open items as `said` says, and those that it does not name as `unsaid` says."""
    judge_with(study, lambda item, place: {question: WORDS[said.get(item.key, unsaid)[place]]})


def judge_with(study: Study, labels_of: Callable[[AnnotationItem, int], dict[str, str]]) -> None:
    """Three people label all open items, by the item and their own place."""
    for place in range(3):
        person = make_annotator(study)
        for task in tasks_of(person):
            annotate(person, task, **labels_of(task.item, place))


def ask(study: Study, task: str, *options: str) -> dict[str, Any]:
    """Ask a scripted model a task about the study; return the command's report."""
    return command("ask", study.slug, task, "--endpoint", "scripted", *options)
