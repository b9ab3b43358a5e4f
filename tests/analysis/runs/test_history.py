"""SP-History: which conversations are drawn, how they are fitted, and that repetitions keep them."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from analysis.endpoints.endpoints import price
from analysis.models import Corpus
from analysis.models.conditions import ConditionError
from analysis.people.corpora.embeddings import CHARACTERS, effort_of, endpoint_name
from analysis.runs.recipes.fitting import counter_for, make_context
from analysis.runs.recipes.messages import estimate_prompt_tokens, make_users, messages_for
from analysis.runs.recipes.plans import Plan, plan_run, say_notes
from analysis.runs.recipes.recipes import names_of
from tests.analysis.runs.baseline_factories import (
    embed_all,
    make_call,
    make_conversation,
    make_corpus,
    make_endpoint,
    make_personas,
    make_run,
    use_letters,
    write_messages,
)
from tests.analysis.runs.recipe_samples import (
    build_afresh,
    contents,
    make_long_corpus,
    make_planned,
    users_of,
    window_for,
)
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_history_is_whole_conversations_and_the_question_last() -> None:
    corpus = make_long_corpus(6)
    make_conversation(corpus, 4)  # not more than 4 turns
    run = make_planned("sp-history", corpus=corpus, history_size=6, users=1)
    [user] = users_of(run)
    built = messages_for(make_call(run, user=user))

    rows = {row.sha256: row.messages for row in corpus.conversations.filter(turns=5)}
    recipe = user.recipe["conversations"]
    assert sorted(recipe) == sorted(rows)
    assert built.messages[:-1] == [message for sha256 in recipe for message in rows[sha256]]
    assert built.messages[-1]["content"] == run.version.prompts.get(position=1).text
    assert (built.included, built.skipped) == (6, 0)


def test_history_of_a_user_is_the_same_for_every_prompt_and_repeat() -> None:
    run = make_planned("sp-history", corpus=make_long_corpus(8), history_size=3, users=2)
    first, second = users_of(run)
    prompts = run.version.prompts.all()
    fronts = [
        contents(messages_for(make_call(run, prompt, user=first, repeat=repeat)).messages[:-1])
        for prompt in prompts
        for repeat in range(2)
    ]

    assert all(front == fronts[0] for front in fronts)
    assert first.recipe["conversations"] != second.recipe["conversations"]


def test_same_seed_same_messages_whatever_the_database_numbers() -> None:
    words = [f"conversation {number}" for number in range(30)]
    recipes = []
    for name, order in (("one", words), ("two", words[::-1])):
        corpus = make_corpus(name)
        for text in order:
            make_conversation(corpus, messages=write_messages(5, text))
        run = make_planned("sp-history", corpus=corpus, history_size=10, users=3, seed=42)
        recipes.append([user.recipe["conversations"] for user in users_of(run)])

    assert recipes[0] == recipes[1]
    other = make_planned("sp-history", corpus=corpus, history_size=10, users=3, seed=43)
    assert [user.recipe["conversations"] for user in users_of(other)] != recipes[0]


def test_more_users_leave_the_first_as_they_were() -> None:
    run = make_planned("sp-history", corpus=make_long_corpus(9), history_size=4, users=2)
    before = [(user.pk, user.recipe) for user in users_of(run)]
    run.users = 5
    run.save()
    make_users(run)

    after = [(user.pk, user.recipe) for user in users_of(run)]
    assert after[:2] == before
    assert len(after) == 5


def test_what_does_not_fit_is_left_out_by_seed_whatever_its_date() -> None:
    corpus = make_corpus()
    for day in range(1, 13):
        make_conversation(corpus, 5, began_at=datetime(2024, 1, day, tzinfo=UTC))
    days = dict(corpus.conversations.values_list("sha256", "began_at__day"))
    endpoint = window_for([corpus.conversations.order_by("-characters").first()] * 4)
    fields = {"corpus": corpus, "history_size": 12, "users": 60, "endpoint": endpoint}
    users = users_of(make_planned("sp-history", **fields))
    kept = [[days[sha256] for sha256 in user.recipe["conversations"]] for user in users]

    assert all((user.recipe["included"], user.recipe["left_out"]) == (4, 8) for user in users)
    assert all(one == sorted(one) for one in kept)  # kept conversations are ordered by age
    # 240 of 12 days: each is kept 20 times on average; with p = 1/3 of 60, five standard deviations are 18
    counts = Counter(day for one in kept for day in one)
    assert all(2 <= counts[day] <= 38 for day in range(1, 13))
    assert kept == [
        [days[sha256] for sha256 in user.recipe["conversations"]]
        for user in users_of(make_planned("sp-history", **fields))
    ]


# the pool of sp-history


def make_mixed_corpus() -> dict[str, str]:
    """Make one conversation per trait; return their hashes by trait."""
    corpus = make_corpus()
    kinds: dict[str, dict[str, Any]] = {
        "English": {"language": "English"},
        "German": {"language": "German"},
        "unknown": {},
        "toxic": {"language": "English", "toxic": True},
        "redacted": {"language": "English", "redacted": True},
        "fine": {"language": "en", "toxic": False, "redacted": False},
    }
    return {name: make_conversation(corpus, 5, **changes).sha256 for name, changes in kinds.items()}


@pytest.mark.parametrize(("condition", "drawn", "more"), [("sp-history", "conversations", 0), ("sp-rag", "hashes", 3)])
@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, {"English", "unknown", "fine"}),
        ({"toxic": True}, {"English", "unknown", "toxic", "redacted", "fine"}),
        ({"language": "de"}, {"German", "unknown"}),
        ({"language": "German"}, {"German", "unknown"}),
        ({"toxic": True, "language": "de"}, {"German", "unknown"}),
        ({"language": "any"}, {"English", "German", "unknown", "fine"}),
    ],
)
def test_histories_and_retrieval_draw_from_what_the_run_may_draw(
    settings: dict[str, Any], kinds: set[str], condition: str, drawn: str, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_letters(monkeypatch)
    found = make_mixed_corpus()
    corpus = Corpus.objects.get()
    embed_all(corpus)
    settings = settings | {"corpus": corpus, "history_size": len(kinds) + more}
    plan = Plan(make_endpoint(), condition, make_study("draft").current, **settings)
    run, _ = plan_run(plan, 1, "tests")
    [user] = users_of(run)
    assert {name for name, sha256 in found.items() if sha256 in user.recipe[drawn]} == kinds
    assert (user.recipe["pool"], run.language) == (len(kinds), {"any": ""}.get(plan.language, plan.language))


def test_retrieval_begins_with_the_vectors_that_are_there_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_letters(monkeypatch)
    corpus = make_long_corpus(4)
    embed_all(corpus)
    later = [make_conversation(corpus, 5).sha256 for _ in range(2)]
    plan = Plan(make_endpoint(), "sp-rag", make_study("draft").current, corpus=corpus, history_size=9)
    note = say_notes(plan, 1)
    assert note.startswith("4 of 6 conversations have a vector and are searched.") and "makes the other 2" in note
    run, _ = plan_run(plan, 1, "tests")
    assert len(set(users_of(run)[0].recipe["hashes"]) - set(later)) == users_of(run)[0].recipe["pool"] == 4
    embed_all(corpus)
    assert say_notes(plan, 1) == ""


def test_what_vectors_cost_is_said_before_they_are_made() -> None:
    corpus = make_long_corpus(2)
    priced = make_endpoint(name="vectors", price_in=300, embeddings=True)
    effort = effort_of(corpus.conversations.all(), endpoint_name(priced))
    read = sum(min(row.characters, CHARACTERS) for row in corpus.conversations.all())
    assert (effort.conversations, effort.usd) == (2, price(priced, read // 3, 0)) and effort.usd > 0
    assert effort_of(corpus.conversations.all(), "of-nobody/model").usd is None


def test_pool_that_is_too_small_says_what_it_leaves_out() -> None:
    make_mixed_corpus()
    plan = Plan(make_endpoint(), "sp-history", make_study("draft").current, corpus=Corpus.objects.get(), history_size=4)
    words = r"3 conversations .* in the language en \(--language any takes all\), toxic and redacted ones left out"
    with pytest.raises(ConditionError, match=words):
        plan_run(plan, 1, "tests")


@pytest.mark.parametrize(
    ("language", "name"), [("en", "english"), ("pt-BR", "portuguese"), ("zh", "chinese"), ("Russian", "russian")]
)
def test_language_of_a_corpus_is_known_by_code_and_name(language: str, name: str) -> None:
    assert name in names_of(language)
    assert "latin" not in names_of("sr")


def test_conversation_too_long_for_the_window_is_skipped_and_counted() -> None:
    corpus = make_long_corpus(3)
    make_conversation(corpus, messages=write_messages(5, "long " * 3000))
    endpoint = make_endpoint(context_window=4000, max_tokens=100)
    run = make_planned("sp-history", corpus=corpus, history_size=4, users=1, endpoint=endpoint)
    built = messages_for(make_call(run, user=users_of(run)[0]))

    assert (built.included, built.skipped) == (3, 1)
    tokens = estimate_prompt_tokens(run, run.version.prompts.first(), users_of(run)[0])
    assert tokens + endpoint.max_tokens <= endpoint.context_window


def test_estimate_is_the_count_of_the_messages() -> None:
    run = make_planned("sp-history", corpus=make_long_corpus(4), history_size=3, users=1)
    [user] = users_of(run)
    for prompt in run.version.prompts.all():
        built = messages_for(make_call(run, prompt, user=user))
        assert estimate_prompt_tokens(run, prompt, user) == counter_for(run.endpoint).messages(built.messages)


def test_corpus_without_enough_long_conversations_is_refused() -> None:
    run = make_run("sp-history", corpus=make_long_corpus(3))

    with pytest.raises(ConditionError, match="has 3 conversations with more than 4 turns.*takes 100"):
        make_users(run)
    assert not users_of(run)


@pytest.mark.parametrize("length", [{"max_tokens": 100}, {"max_tokens": 1, "extra": {"max_completion_tokens": 100}}])
def test_prompt_longer_than_the_window_is_refused(length: dict[str, Any]) -> None:
    endpoint = make_endpoint(context_window=120, **length)
    run = make_run("sp-history", corpus=make_long_corpus(3), history_size=1, endpoint=endpoint)

    with pytest.raises(ConditionError, match="does not fit into .* window of 120"):
        make_users(run)


def test_conversation_that_is_gone_is_named() -> None:
    corpus = make_long_corpus(3)
    run = make_planned("sp-history", corpus=corpus, history_size=3, users=1)
    call = make_call(run, user=users_of(run)[0])
    corpus.conversations.first().delete()

    with pytest.raises(ConditionError, match="1 conversations of the recipe .* no longer in the corpus"):
        build_afresh(call)


@pytest.mark.parametrize("condition", ["sp-history", "sp-rag", "sp-profile"])
def test_repetitions_keep_the_simulated_users_though_there_is_more_to_draw_from(
    condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_letters(monkeypatch)
    corpus, personas = make_long_corpus(12), make_personas("people", [("", [f"I have {n} dogs."]) for n in range(20)])
    embed_all(corpus)
    settings = {"corpus": corpus, "personas": personas, "history_size": 3, "users": 3}
    first = make_planned(condition, **settings)
    for _ in range(40):
        make_conversation(corpus, 5)
    embed_all(corpus)
    make_personas("people", [("", [f"I have {n} cats."]) for n in range(60)])
    again = make_planned(condition, study=first.study, endpoint=first.endpoint, first_run=first, **settings)
    assert [user.recipe for user in users_of(again)] == [user.recipe for user in users_of(first)]


def test_who_lost_a_conversation_or_room_is_drawn_anew_in_a_repetition() -> None:
    corpus = make_long_corpus(12)
    first = make_planned("sp-history", corpus=corpus, history_size=2, users=6)
    settings = {"study": first.study, "endpoint": first.endpoint, "first_run": first}
    gone = users_of(first)[0].recipe["conversations"][0]
    corpus.conversations.filter(sha256=gone).delete()
    again = make_planned("sp-history", corpus=corpus, history_size=2, users=6, **settings)
    for user, before in zip(users_of(again), users_of(first), strict=True):
        assert (user.recipe == before.recipe) == (gone not in before.recipe["conversations"])
    first.endpoint.max_tokens += make_context(first).room - max(user.recipe["tokens"] for user in users_of(again)) + 1
    first.endpoint.save()
    short = make_planned("sp-history", corpus=corpus, history_size=2, users=6, **settings)
    assert max(user.recipe["tokens"] for user in users_of(short)) <= make_context(short).room
