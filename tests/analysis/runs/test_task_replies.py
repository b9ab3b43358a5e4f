"""Models' replies to tasks are read once, listed if they can't be, and verdicts reach the funnel."""

import json
from importlib import import_module

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analysis.models import Attribute, Completion, ConversationVerdict
from analysis.runs import tasks
from analysis.runs.asking import replies
from analysis.runs.asking.conversations import EXTRACT
from analysis.runs.asking.plans import plan_conversations, say_nothing_left
from analysis.runs.asking.registry import TASKS
from analysis.runs.asking.replies import count_replies, read_replies
from analysis.runs.lanes.runs import resume, run_inline
from tests.analysis.people.people_samples import make_person, people, talk
from tests.analysis.runs.servers import make_fake
from tests.analysis.runs.task_samples import corpus_of, extract

pytestmark = pytest.mark.django_db(transaction=True)


# --- replies


def test_no_json_is_listed_and_asked_again_in_a_run_of_its_own() -> None:
    endpoint = make_fake(extra={"reply": "I cannot do that."})
    corpus = corpus_of("I live in Leeds.")
    report = extract(corpus)
    assert (report["read"], report["unreadable"], report["attributes"]) == (0, 4, 0)
    assert report["examples"][0]["fault"] == "The reply is no JSON with attributes: “I cannot do that.”"
    endpoint.extra = {}
    endpoint.save()
    assert extract(corpus)["planned"] == 4  # nothing is asked again without --new
    again = extract(corpus, "scripted", "--new")
    assert again["run"] != report["run"] and (again["planned"], again["read"], again["attributes"]) == (4, 4, 1)
    with pytest.raises(CommandError, match="every reply could be read"):
        extract(corpus, "scripted", "--new")


def test_a_long_attribute_is_refused_in_words_and_the_others_stay() -> None:
    entry = {"reasoning": "", "attribute": "x" * 10_000, "confidence": 0.9, "evidence": []}
    good = {"reasoning": "", "attribute": "Likes tea.", "confidence": "0.9", "evidence": ["J'aime le thé"]}
    make_fake(extra={"reply": json.dumps({"attributes": [entry, good, "nonsense"]})})
    report = extract(corpus_of("I live in Leeds."))
    assert report["attributes"] == 4 and report["unlocated"] == 4 and report["refused"] == 8
    long, other = "text has 10,000 characters; the limit is 2,000.", "An entry of the list is no attribute."
    assert report["refused_examples"] == [long, other, long, other, long]  # as each reply has them
    assert len(Completion.objects.first().reply) > 10_000  # as it came


def test_replies_are_read_once_whoever_reads() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    run, _ = plan_conversations(EXTRACT, corpus, "scripted", "test")
    list(run_inline(resume(run)))
    assert count_replies(run) == {"read": 0, "unreadable": 0, "waiting": 4}
    tasks.read_left_replies()
    assert count_replies(run) == {"read": 4, "unreadable": 0, "waiting": 0}
    assert read_replies(run) == 0 and Attribute.objects.count() == 1


def test_replies_left_unread_are_read_by_resuming_a_run_that_is_done() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    run, _ = plan_conversations(EXTRACT, corpus, "scripted", "test")
    list(run_inline(resume(run)))
    assert say_nothing_left(run, again=False).endswith(f"continue with `manage.py run {run.pk} resume --inline`.")
    call_command("run", str(run.pk), "resume", "--inline")
    assert count_replies(run)["waiting"] == 0
    with pytest.raises(CommandError, match=f"Run {run.pk} is done, so it can't be resumed"):
        call_command("run", str(run.pk), "resume", "--inline")


def test_characters_that_no_database_takes_stop_no_reading() -> None:
    entry = {"reasoning": "\0", "attribute": "Likes\0 tea.", "confidence": 0.9, "evidence": ["tea\ud800"]}
    make_fake(extra={"reply": json.dumps({"attributes": [entry, "\0"]})})
    report = extract(corpus_of("I live in Leeds."))
    assert (report["read"], report["attributes"], report["refused"]) == (4, 4, 4)
    assert {row.text for row in Attribute.objects.all()} == {"Likes tea."}


def test_one_runs_replies_are_read_whatever_stands_in_the_way_of_anothers(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    for name in ("scripted", "other"):
        make_fake(name=name)
        corpus = runs[0].corpus if runs else corpus_of("I live in Leeds.")
        runs.append(plan_conversations(EXTRACT, corpus, name, "test")[0])
        list(run_inline(resume(runs[-1])))
    read_each = replies.read_batch
    monkeypatch.setattr(replies, "read_batch", lambda run: read_each(run) if run == runs[1] else 1 // 0)
    tasks.read_left_replies()
    assert [count_replies(run)["waiting"] for run in runs] == [4, 0]


# --- verdicts


def test_language_verdicts_reach_the_funnel() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    make_person("boris", [[f"Где находится библиотека {n}?"] * 6 for n in range(3)], corpus)
    for option in ("--prompts", "--sample"):
        with pytest.raises(CommandError, match=f"{option} is for candidates only"):
            people(corpus.name, "ask", "language", "--endpoint", "scripted", option, "teas")
    report = people(corpus.name, "ask", "language", "--endpoint", "scripted")
    assert report["read"] == ConversationVerdict.objects.filter(question="language").count() == 7
    after = people(corpus.name, "filter")
    assert after["language_asked"] and after["language_disagree"] and after["kept"] == 1
    assert after["steps"][0] == {"name": "language", "left_out": 1, "left": 1}


def test_a_conversation_may_be_asked_about_in_two_languages_at_once() -> None:
    make_fake()
    corpus = corpus_of("I live in Leeds.")
    run, _ = plan_conversations(TASKS["language"], corpus, "scripted", "test")
    corpus.conversations.update(language="German")
    people(corpus.name, "filter", "--language", "German")
    plan_conversations(TASKS["language"], corpus, "scripted", "test")
    list(run_inline(resume(run)))
    assert read_replies(run) == ConversationVerdict.objects.count() == 8
    assert set(ConversationVerdict.objects.values_list("language", flat=True)) == {"english", "german"}


def test_earlier_verdicts_are_given_the_language_that_was_asked_about() -> None:
    make_fake()
    corpus = corpus_of()
    people(corpus.name, "ask", "language", "--endpoint", "scripted")
    make_person("carl", talk("carl", 1), corpus)[0].verdicts.create(question="language", language="?", value=1)
    people(corpus.name, "filter", "--language", " German ", "--unlabelled")
    ConversationVerdict.objects.update(language="?")
    migration = import_module("analysis.migrations.0011_verdicts_name_their_language")
    with connection.cursor() as cursor:
        cursor.execute(migration.NAME)
    found = ConversationVerdict.objects.values_list("conversation__user", "language")
    assert set(found) == {("ann", "english"), ("carl", "german")}


def test_use_is_asked_of_those_whom_no_earlier_filter_left_out() -> None:
    make_fake()
    corpus = corpus_of()
    script = [[f"Write a prompt for a picture of a thing: {n}{m}" for m in range(6)] for n in range(3)]
    make_person("script", script, corpus)
    make_person("idle", [["Hello."]], corpus)
    assert people(corpus.name, "filter")["kept"] == 2
    report = people(corpus.name, "ask", "assistant-use", "--endpoint", "scripted")
    assert report["planned"] == 6
    steps = people(corpus.name, "filter")["steps"]
    assert steps[-1] == {"name": "assistant-use", "left_out": 1, "left": 1}
