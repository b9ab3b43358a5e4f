"""SP-Memory: whose attributes are standing, which of them go in front of which prompt, and that they are rebuilt."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from analysis.models import Attribute, Corpus, Run
from analysis.models.conditions import ConditionError
from analysis.people.erasing import erase_user
from analysis.people.stages.judged import StandingAttribute, known_attributes
from analysis.runs.lanes.runs import run_inline, start
from analysis.runs.pages.reads import read_messages
from analysis.runs.recipes.fitting import counter_for
from analysis.runs.recipes.memory import nearest
from analysis.runs.recipes.messages import make_users, messages_for
from analysis.runs.recipes.plans import Plan, plan_run, say_notes
from surveys.annotation.items import push_items
from surveys.models import Study
from surveys.studies.labels import record_judgement
from tests.analysis.people.people_samples import judge_items
from tests.analysis.runs.baseline_factories import (
    LETTERS,
    make_call,
    make_conversation,
    make_corpus,
    make_endpoint,
    make_run,
    use_letters,
)
from tests.analysis.runs.recipe_samples import build_afresh, make_planned, remember, users_of
from tests.factories import make_annotation_study, make_study

pytestmark = pytest.mark.django_db
KNOWN = {
    "ann": ["Bakes dark bread.", "Quizzes judge foxes.", "Drinks tea daily.", "Owns two bikes.", "Wants rugs."],
    "bob": ["Plays vivid jazz.", "Mends old cups.", "Reads of whales.", "Sells zinc."],
    "eve": ["Hums.", "Jogs."],
}


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> Corpus:
    use_letters(monkeypatch)
    return remember(make_corpus(), KNOWN)


def pk_of(text: str) -> int:
    return int(Attribute.objects.get(text=text).pk)


def judged(corpus: Corpus, kind: str, question: str, votes: Mapping[str, str], prompt: str = "") -> Study:
    """A study that may use the corpus; three people label its items by `votes`, a mapping of attribute texts."""
    study = make_annotation_study(kind=kind, slug=f"{kind}s")
    corpus.shared_with.add(study)
    rows = [item_of(corpus, kind, text, prompt) for text in votes]
    push_items(study, rows, "tests")
    judge_items(study, question, {str(pk_of(text)): said for text, said in votes.items()})
    return study


def item_of(corpus: Corpus, kind: str, text: str, prompt: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"prompt": prompt}
    if kind == "attribute":
        turns = [{"role": "user", "text": text}, {"role": "assistant", "text": "Yes."}]
        shown = {"evidence": [{"quote": text}], "history": [{"title": "A talk", "turns": turns}]}
    return shown | {
        **{"key": str(pk_of(text)), "attribute": text, "cluster": "ann", "corpus": corpus.name},
        "source": str(pk_of(text)),
    }


def texts_in(call: Any) -> list[str]:
    front = messages_for(call).messages[0]
    assert front["role"] == "system"
    return [line.removeprefix("- ") for line in front["content"].splitlines() if line.startswith("- ")]


def test_the_most_alike_stand_in_front_first(corpus: Corpus) -> None:
    run = make_planned("sp-memory", corpus=corpus, memory_size=3, users=2)
    for user in users_of(run):
        own = KNOWN[user.recipe["corpus_user"]]
        for prompt in run.version.prompts.all():
            call = make_call(run, prompt, user=user)
            told = texts_in(call)
            [question] = LETTERS.embed([prompt.text])
            near = sorted(own, key=lambda text: -float(LETTERS.embed([text])[0].astype(float) @ question.astype(float)))
            assert told == near[:3]
            built = messages_for(call)
            assert [message["role"] for message in built.messages] == ["system", "user"]
            assert (built.included, built.messages[-1]["content"]) == (3, prompt.text)


def test_users_are_drawn_by_seed_from_those_with_enough(corpus: Corpus) -> None:
    drawn = {
        seed: [
            user.recipe["corpus_user"]
            for user in users_of(make_planned("sp-memory", corpus=corpus, memory_size=3, users=2, seed=seed))
        ]
        for seed in range(8)
    }
    assert {tuple(sorted(keys)) for keys in drawn.values()} == {("ann", "bob")}
    assert len({tuple(keys) for keys in drawn.values()}) == 2
    [alone] = users_of(make_planned("sp-memory", corpus=corpus, memory_size=3, users=1, seed=3))
    assert alone.recipe["corpus_user"] == drawn[3][0]


def test_sampled_users_only_where_some_are_sampled(corpus: Corpus) -> None:
    corpus.users.filter(key="bob").update(place=1, band=1)
    assert known_attributes(corpus).users.keys() == {"bob"}
    with pytest.raises(ConditionError, match=r"1 of 1 sampled users have 3 attributes .* simulates 2: ask for fewer"):
        make_users(make_run("sp-memory", corpus=corpus, memory_size=3, users=2))


def test_what_people_reject_never_stands_and_the_recipe_says_who_let_it(corpus: Corpus) -> None:
    votes = {"Bakes dark bread.": "yyn", "Owns two bikes.": "nny", "Drinks tea daily.": "nmy"}
    judged(corpus, "attribute", "quality", votes)
    run = make_planned("sp-memory", corpus=corpus, memory_size=3, users=1, version=None)
    stands = {row.sha256: row.by for row in known_attributes(corpus).users["ann"]}
    texts = dict(Attribute.objects.values_list("sha256", "text"))
    assert {texts[sha256]: by for sha256, by in stands.items()} == {
        "Bakes dark bread.": "people", "Quizzes judge foxes.": "nobody", "Wants rugs.": "nobody",
    }  # fmt: skip
    for user in users_of(run):
        pairs = zip(user.recipe["attributes"], user.recipe["stand_by"], strict=True)
        assert user.recipe["corpus_user"] != "ann" or dict(pairs) == stands


def test_models_decide_only_where_no_people_do(corpus: Corpus) -> None:
    study = judged(corpus, "attribute", "quality", {"Bakes dark bread.": "yyy"})
    rows = [item_of(corpus, "attribute", text, "") for text in ("Wants rugs.", "Owns two bikes.")]
    push_items(study, rows, "tests")
    for text, value in {"Bakes dark bread.": "no", "Wants rugs.": "no", "Owns two bikes.": "yes"}.items():
        item = study.annotation_items.get(source=str(pk_of(text)))
        record_judgement(item, "judge same-1", {"quality": value}, only=["quality"])
    by = {row.pk: row.by for row in known_attributes(corpus).users["ann"]}
    assert by[pk_of("Bakes dark bread.")] == "people"
    assert by[pk_of("Owns two bikes.")] == "models"
    assert pk_of("Wants rugs.") not in by


def test_labels_of_a_study_that_may_not_use_the_corpus_count_nowhere(corpus: Corpus) -> None:
    study = judged(corpus, "attribute", "quality", {"Bakes dark bread.": "nnn"})
    assert known_attributes(corpus).rejected == 1
    corpus.shared_with.remove(study)
    assert known_attributes(corpus).rejected == 0


def test_judged_relevance_comes_before_likeness(corpus: Corpus) -> None:
    prompts = make_study("draft").current.prompts.order_by("position")
    likest = texts_in(call_of(corpus, "ann"))
    votes = {likest[-1]: "yyn", likest[0]: "nnn"}
    judged(corpus, "relevance", "relevance", votes, prompts[0].text)
    assert texts_in(call_of(corpus, "ann")) == [likest[-1], *likest[1:-1], likest[0]]
    other = texts_in(call_of(corpus, "ann", place=1))
    [question] = LETTERS.embed([prompts[1].text])
    assert other == sorted(KNOWN["ann"], key=lambda text: -float(LETTERS.embed([text])[0] @ question))
    part = users_of(Run.objects.latest("pk"))[0].recipe["questions"][prompts[0].slug]
    assert part["judged_relevant"] == 1


def call_of(corpus: Corpus, key: str, place: int = 0) -> Any:
    """A call of the study's prompt at `place`, with all five attributes of the user `key`."""
    run = make_planned("sp-memory", corpus=corpus, memory_size=5, users=1)
    [user] = users_of(run)
    assert user.recipe["corpus_user"] == key
    return make_call(run, run.version.prompts.order_by("position")[place], user=user)


def test_toxic_ones_only_on_request(corpus: Corpus) -> None:
    row = make_conversation(corpus, user="ann", toxic=True)
    Attribute.objects.filter(text="Wants rugs.").update(conversation=row)
    assert len(known_attributes(corpus).users["ann"]) == 4
    assert len(known_attributes(corpus, toxic=True).users["ann"]) == 5


def test_personal_details_go_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    use_letters(monkeypatch)
    corpus = remember(make_corpus(), {"ann": ["Writes from ann@example.org."]})
    run = make_planned("sp-memory", corpus=corpus, memory_size=1, users=1)
    [told] = texts_in(make_call(run, user=users_of(run)[0]))
    assert "ann@example.org" not in told and "[e-mail address]" in told


def test_what_matters_least_is_left_out_where_the_window_is_small(corpus: Corpus) -> None:
    prompts = make_study("draft").current.prompts.all()
    whole = make_planned("sp-memory", corpus=corpus, memory_size=5, users=1)
    first = texts_in(make_call(whole, user=users_of(whole)[0]))
    count = counter_for(whole.endpoint).messages
    longest = max(count([{"role": "user", "content": prompt.text}]) for prompt in prompts)
    room = max(part["tokens"] for part in users_of(whole)[0].recipe["questions"].values()) - 1
    small = make_endpoint(context_window=longest + room + 100, max_tokens=100)
    run = make_planned("sp-memory", corpus=corpus, memory_size=5, users=1, endpoint=small)
    told = texts_in(make_call(run, user=users_of(run)[0]))
    parts = users_of(run)[0].recipe["questions"].values()
    assert told == first[: len(told)] and sum(part["left_out"] for part in parts) > 0
    assert all(part["tokens"] <= room for part in parts)


def test_an_erased_user_is_gone_from_the_recipe_too(corpus: Corpus) -> None:
    run = make_planned("sp-memory", corpus=corpus, memory_size=5, users=1)
    call = make_call(run, user=users_of(run)[0])
    assert read_messages(call).built
    erase_user(corpus, "ann")
    assert users_of(run)[0].recipe["attributes"] == []
    assert "user of the recipe was erased from the corpus corpus" in read_messages(call).problem


def test_a_repetition_keeps_its_users_though_labels_came_later(corpus: Corpus) -> None:
    first = make_planned("sp-memory", corpus=corpus, memory_size=3, users=2)
    judged(corpus, "attribute", "quality", dict.fromkeys(KNOWN["ann"], "nnn"))
    again = make_planned("sp-memory", corpus=corpus, memory_size=3, users=2, first_run=first)
    assert [user.recipe for user in users_of(again)] == [user.recipe for user in users_of(first)]


def test_plan_says_what_it_costs_and_who_has_enough(corpus: Corpus) -> None:
    judged(corpus, "attribute", "quality", {"Bakes dark bread.": "yyy", "Wants rugs.": "nnn"})
    plan = Plan(
        endpoint=make_endpoint(name="gpt"), condition="sp-memory", version=make_study("live").current, corpus=corpus,
        users=2, memory_size=4,
    )  # fmt: skip
    _, estimate = plan_run(plan, 3, "tests", dry_run=True)
    assert estimate["calls"] == 2 * 2 * 3 and not Run.objects.exists()
    assert (
        "2 of 3 kept users have 4 attributes or more that stand (1 called sensible by people, 7 judged by nobody). "
        "1 judged otherwise are left out." in say_notes(plan, 3)
    )
    out = StringIO()
    options = ("--endpoint", "gpt", "--condition", "sp-memory", "--corpus", corpus.name, "--memory-size", "4")
    call_command("run_baseline", plan.version.study.slug, *options, "--users", "2", "--dry-run", stdout=out)
    assert "4 calls" in out.getvalue() and "2 of 3 kept users have 4 attributes" in out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_repeats_of_a_user_send_the_same_messages_and_keep_their_hash(corpus: Corpus) -> None:
    plan = Plan(
        endpoint=make_endpoint(), condition="sp-memory", version=make_study("live").current, corpus=corpus, users=2,
        memory_size=3,
    )  # fmt: skip
    run, _ = plan_run(plan, 2, "tests")
    list(run_inline(start(run)))
    calls = list(run.completions.all())
    hashes = {(call.user_id, call.prompt_id, call.messages_sha256) for call in calls}
    assert len(calls) == 8 and len(hashes) == 4
    assert all(build_afresh(call).sha256 == call.messages_sha256 for call in calls)


@pytest.mark.django_db(transaction=True)
def test_a_user_erased_between_two_lanes_is_sent_no_more(corpus: Corpus) -> None:
    plan = Plan(
        endpoint=make_endpoint(), condition="sp-memory", version=make_study("live").current, corpus=corpus, users=1,
        memory_size=3,
    )  # fmt: skip
    run, _ = plan_run(plan, 1, "tests")
    list(run_inline(start(run)))
    erase_user(corpus, users_of(run)[0].recipe["corpus_user"])
    plan_run(plan, 2, "tests")
    list(run_inline(start(run)))
    run.refresh_from_db()
    failed = run.completions.filter(status="failed", error_kind="refused")
    assert (run.state, run.completions.filter(status="done").count(), failed.count()) == ("done", 2, 2)
    assert all("user of the recipe was erased" in call.error for call in failed)


@pytest.mark.django_db(transaction=True)
def test_calls_of_others_are_sent_after_a_user_was_erased(corpus: Corpus) -> None:
    plan = Plan(
        endpoint=make_endpoint(), condition="sp-memory", version=make_study("live").current, corpus=corpus, users=2,
        memory_size=3,
    )  # fmt: skip
    run, _ = plan_run(plan, 2, "tests")
    erased, other = users_of(run)
    erase_user(corpus, erased.recipe["corpus_user"])
    list(run_inline(start(run)))
    run.refresh_from_db()
    assert (run.state, run.reserved) == ("done", 0)
    assert set(run.completions.values_list("user", "status")) == {(erased.pk, "failed"), (other.pk, "done")}


def test_without_merged_attributes_it_says_what_to_do() -> None:
    with pytest.raises(ConditionError, match="attributes of corpus are not merged yet: people corpus merge"):
        make_users(make_run("sp-memory", corpus=make_corpus()))


def test_likeness_that_differs_by_rounding_is_equal() -> None:
    rows = [
        StandingAttribute(1, "b", "nobody"),
        StandingAttribute(2, "a", "nobody"),
        StandingAttribute(3, "c", "nobody"),
    ]
    assert nearest(rows, np.array([0.5, 0.5 + 1e-12, 0.9]), 3, [None] * 3) == [2, 1, 0]
