"""Offline and the sock puppets: what goes in front, how it is fitted, and that its recipe rebuilds it to the letter."""

from itertools import product

import numpy as np
import pytest

from analysis.models import Corpus
from analysis.models.conditions import CONDITIONS, ConditionError
from analysis.runs.recipes.messages import hash_messages, make_users, messages_for
from tests.analysis.runs.baseline_factories import (
    LETTERS,
    embed_all,
    import_file,
    make_call,
    make_conversation,
    make_corpus,
    make_endpoint,
    make_item,
    make_personas,
    make_run,
    real_data,
    use_letters,
)
from tests.analysis.runs.recipe_samples import (
    build_afresh,
    contents,
    make_long_corpus,
    make_planned,
    remember,
    users_of,
    window_for,
)
from tests.factories import make_study

pytestmark = pytest.mark.django_db


# offline


def test_offline_is_one_user_message() -> None:
    run = make_planned("offline")
    prompt = run.version.prompts.get(position=1)
    built = messages_for(make_call(run, prompt))

    assert built.messages == [{"role": "user", "content": prompt.text}]
    assert (built.included, built.skipped) == (None, 0)
    assert built.sha256 == hash_messages(built.messages)
    assert not users_of(run)


def test_hash_is_of_one_line_for_each_message() -> None:
    # printf '["user","café"]\n' | sha256sum
    assert hash_messages([{"role": "user", "content": "café"}]) == (
        "bc18a037bd287982df896db2814e7e87e88b3c3c5d974fc638fe7e2139f2f711"
    )


# sp-rag


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Conversations whose letters are near those of one prompt of the study of teas, or far from all."""
    use_letters(monkeypatch)
    corpus = make_corpus()
    texts = [prompt.text for prompt in make_study("draft").current.prompts.all()]
    for text in [*texts, *(f"{texts[0]} {'z' * number}" for number in range(1, 6)), "qqq", "xxx"]:
        said = [{"role": "user", "content": text}, {"role": "assistant", "content": "a reply"}]
        make_conversation(corpus, messages=said, user=f"user{len(text) % 2}")
    embed_all(corpus)
    return corpus


def test_rag_puts_the_nearest_in_front_with_the_most_similar_last(topics: Corpus) -> None:
    run = make_planned("sp-rag", corpus=topics, history_size=3, users=1)
    for prompt in run.version.prompts.all():
        built = messages_for(make_call(run, prompt, user=users_of(run)[0]))
        asked = contents(built.messages)[:-1:2]
        [question] = LETTERS.embed([prompt.text])
        near = [float(vector @ question) for vector in LETTERS.embed(asked)]

        assert asked[-1] == prompt.text
        assert near == sorted(near)
        everything = LETTERS.embed(contents([row.messages[0] for row in topics.conversations.all()]))
        assert np.allclose(near, np.sort(everything @ question)[-3:], atol=1e-5)


def test_rag_gives_all_users_one_recipe_unless_per_user(topics: Corpus) -> None:
    run = make_planned("sp-rag", corpus=topics, history_size=3, users=3)
    first, second, third = users_of(run)
    built = [messages_for(make_call(run, user=user)) for user in (first, second, third)]

    assert second.recipe["same_as"] == third.recipe["same_as"] == 0
    assert built[0] == built[1] == built[2]


def test_rag_per_user_draws_within_one_users_history(topics: Corpus) -> None:
    run = make_planned("sp-rag", corpus=topics, history_size=50, users=2, per_user=True)
    people = []
    for user in users_of(run):
        built = messages_for(make_call(run, user=user))
        own = topics.conversations.filter(user=user.recipe["corpus_user"])
        assert sorted(contents(built.messages)[:-1:2]) == sorted(row.messages[0]["content"] for row in own)
        people.append(user.recipe["corpus_user"])

    assert sorted(people) == ["user0", "user1"]


def test_rag_per_user_needs_as_many_people(topics: Corpus) -> None:
    run = make_run("sp-rag", corpus=topics, history_size=5, users=3, per_user=True)

    with pytest.raises(ConditionError, match="knows 2 users with 3 conversations or more.*simulates 3"):
        make_users(run)


def test_rag_leaves_out_the_least_similar(topics: Corpus) -> None:
    prompt = make_study("draft").current.prompts.get(position=1)
    same = [row for row in topics.conversations.all() if row.messages[0]["content"] == prompt.text]
    run = make_planned("sp-rag", corpus=topics, history_size=8, users=1, endpoint=window_for(same))
    built = messages_for(make_call(run, prompt, user=users_of(run)[0]))

    assert contents(built.messages) == [prompt.text, "a reply", prompt.text]
    part = users_of(run)[0].recipe["questions"][prompt.slug]
    assert part["left_out"] > 0
    assert 1 + part["left_out"] + part["skipped"] == 8


def test_rag_without_embeddings_says_how_to_make_them() -> None:
    run = make_run("sp-rag", corpus=make_long_corpus(3), history_size=2)

    with pytest.raises(ConditionError, match="0 of the 3 conversations .* manage.py embed_corpus corpus"):
        make_users(run)


# sp-profile


def test_profile_is_a_system_message() -> None:
    personas = make_personas("people", [("A nurse.", []), ("", ["I sing.", "I dance."])])
    run = make_planned("sp-profile", personas=personas, users=1)
    built = messages_for(make_call(run, user=users_of(run)[0]))

    assert [message["role"] for message in built.messages] == ["system", "user"]
    assert built.messages[0]["content"].startswith("Profile of the user:\nA nurse.\n\nWhat the user says")
    assert built.included == 3


def test_personas_that_are_missing_or_empty_are_named() -> None:
    with pytest.raises(ConditionError, match="Choose one .--personas NAME"):
        make_users(make_run("sp-profile"))
    with pytest.raises(ConditionError, match="The personas nobody are empty"):
        make_users(make_run("sp-profile", personas=make_personas("nobody", [])))


# benchmarks


def test_worked_examples_go_with_the_run() -> None:
    for number in range(10, 15):
        make_item(number, "sums-examples")
    run = make_planned("offline", benchmark="sums", worked_examples=True)
    [message] = messages_for(make_call(run, make_item(3))).messages

    assert message["content"].count("Answer: B") == 5


def test_benchmark_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConditionError, match="There is nothing to ask: sums has no prompts"):
        make_users(make_run("sp-history", benchmark="sums", corpus=make_long_corpus(1)))


# on real conversations

REAL = {
    "offline": {},
    "sp-history": {"history_size": 20, "users": 3, "seed": 11},
    "sp-rag": {"history_size": 20, "users": 2, "seed": 11},
    "sp-profile": {"users": 3, "seed": 11},
    "sp-memory": {"users": 3, "seed": 11, "memory_size": 4},
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_rebuilding_from_the_recipe_gives_the_stored_hash(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    import_file(real_data("conversations/wildchat_a.jsonl"))
    corpus = make_corpus()
    embed_all(corpus)
    lines = real_data("personas/personachat_profiles.jsonl").read_text().splitlines()[:50]
    personas = make_personas("people", [("", [line]) for line in lines])
    remember(corpus, {f"user {n}": lines[n * 10 : n * 10 + 10] for n in range(5)})
    endpoint = make_endpoint(context_window=16_000)
    run = make_planned(condition, corpus=corpus, personas=personas, endpoint=endpoint, **REAL[condition])
    asked = product(users_of(run) or [None], run.version.prompts.all())
    calls = [make_call(run, prompt, user=user) for user, prompt in asked]
    for call in calls:
        call.messages_sha256 = messages_for(call).sha256
        call.save()

    assert len({call.messages_sha256 for call in calls}) == (len(calls) if run.users_differ else 2)
    for call in calls:
        built = build_afresh(call)
        assert built.sha256 == call.messages_sha256 == hash_messages(built.messages)
        roles = [message["role"] for message in built.messages if message["role"] != "system"]
        assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
        assert all(content.strip() for content in contents(built.messages))
