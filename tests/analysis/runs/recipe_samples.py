"""Planned runs with their simulated users, and messages rebuilt as another process would."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.models import Completion, Conversation, Corpus, Endpoint, Run, SimulatedUser
from analysis.people.attributes import NewAttribute, keep_attributes
from analysis.people.merging import merge_attributes
from analysis.runs.recipes.fitting import MESSAGE_TOKENS, counter_for, estimate_tokens
from analysis.runs.recipes.messages import Built, forget_users, make_users, messages_for
from tests.analysis.runs.baseline_factories import LETTERS, make_conversation, make_corpus, make_endpoint, make_run
from tests.factories import make_study


def make_planned(condition: str, **changes: Any) -> Run:
    run = make_run(condition, **changes)
    make_users(run)
    return run


def users_of(run: Run) -> list[SimulatedUser]:
    return list(run.simulated_users.order_by("index"))


def build_afresh(call: Completion) -> Built:
    """Rebuild the messages with empty caches, as another process would."""
    forget_users()
    return messages_for(Completion.objects.get(pk=call.pk))


def contents(messages: list[dict[str, str]]) -> list[str]:
    return [message["content"] for message in messages]


def make_long_corpus(number: int) -> Corpus:
    corpus = make_corpus()
    for _ in range(number):
        make_conversation(corpus, 5)
    return corpus


def remember(corpus: Corpus, known: Mapping[str, Sequence[str]]) -> Corpus:
    """Give the users attributes that the made-up embedding keeps apart in merging."""
    rows = [NewAttribute(user, text, 0.9) for user, texts in known.items() for text in texts]
    keep_attributes(corpus, rows)
    merge_attributes(corpus, LETTERS, similarity=0.9999)
    return corpus


def window_for(rows: Sequence[Conversation]) -> Endpoint:
    """An endpoint whose window just fits the study's longest prompt and these conversations."""
    prompts = make_study("draft").current.prompts.all()
    tokens = max(estimate_tokens(prompt.text) + MESSAGE_TOKENS for prompt in prompts)
    tokens += sum(counter_for(Endpoint()).messages(row.messages) for row in rows)
    return make_endpoint(context_window=tokens + 100, max_tokens=100)
