"""Which users of a corpus are kept: real corpora with known numbers, and users planted to be found."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, transaction

from analysis.models import Corpus, CorpusUser
from analysis.people.corpora.importing import Report, make_row, store
from analysis.people.corpora.records import Record
from analysis.people.funnel import (
    FilterSettings,
    TemplateCounter,
    conversations_to_ask,
    filter_users,
    keep_verdicts,
    normalise,
    windows,
)
from analysis.people.steps import PeopleError
from tests.analysis.people.people_samples import (
    CHITCHAT,
    OASST,
    import_real,
    make_person,
    people,
    said,
    talk,
    write_lines,
)
from tests.analysis.runs.baseline_factories import import_file, make_conversation, make_corpus, real_data

pytestmark = pytest.mark.django_db
TEMPLATE = (
    "Write a product description of at most eighty words for the following article of our online shop, in a friendly "
    "tone, with three advantages as a list and a last sentence that invites to buy: "
)


def steps_of(report: dict) -> dict[str, tuple[int, int]]:
    return {step["name"]: (step["left_out"], step["left"]) for step in report["steps"]}


def left_out() -> dict[str, str]:
    return dict(CorpusUser.objects.values_list("key", "left_out_by"))


def test_chitchat_loses_thirty_of_its_users_for_little_activity() -> None:
    import_real(CHITCHAT)
    report = people("corpus", "filter")
    assert (report["users"], report["kept"], report["user_messages"]) == (120, 90, 11_146)
    assert (report["conversations"], report["long_conversations"]) == (658, 438)
    assert list(steps_of(report).items()) == [
        ("language", (0, 120)), ("templates", (0, 120)), ("activity", (30, 90)), ("assistant-use", (0, 90)),
    ]  # fmt: skip


def test_oasst_keeps_nobody() -> None:
    import_real(OASST)
    report = people("corpus", "filter")
    assert (report["users"], report["kept"]) == (183, 0)


def test_russian_conversations_leave_everybody_out_by_language(tmp_path: Path) -> None:
    rows = map(json.loads, real_data("conversations/wildchat_ru_first_turns.jsonl").open())
    lines = [
        {"conversation": [{"role": "user", "content": row["content"]}]}
        | {"language": row["language"], "hashed_ip": f"user{number // 5}"}
        for number, row in enumerate(rows)
    ]
    import_file(write_lines(tmp_path / "ru.jsonl", lines))
    report = people("corpus", "filter")
    assert steps_of(report)["language"] == (30, 0)
    verdict = {"kept": False, "reason": "0 of 5 conversations in English", "of": 5, "labelled": 0, "in_language": 0}
    assert CorpusUser.objects.first().verdicts == {"language": verdict}


def test_scripted_account_is_found_and_a_chatty_person_is_not() -> None:
    corpus = make_corpus()
    make_person("script", [[TEMPLATE + f"cup {n} {m}" for m in range(6)] for n in range(3)], corpus)
    make_person("chatty", [["ok", "haha", f"thanks {n}!", "ok", "and then?", "haha"] for n in range(5)], corpus)
    make_person("person", talk("person", 3), corpus)
    report = people("corpus", "filter")
    assert left_out() == {"script": "templates", "chatty": "", "person": ""}
    assert steps_of(report)["templates"] == (1, 2)
    verdict = CorpusUser.objects.get(key="script").verdicts["templates"]
    assert verdict == {"kept": False, "reason": "the same 120 characters in 18 of 18 messages", "turns": 18, "of": 18}


@pytest.mark.parametrize(
    ("repeated", "others", "scripted"),
    [(4, 0, False), (5, 7, True), (5, 8, False), (7, 30, False), (8, 30, True)],
    ids=["four of four", "five of twelve", "five of thirteen", "seven of 37", "eight of 38"],
)
def test_window_in_five_turns_counts_above_forty_per_cent_and_in_eight_always(
    repeated: int, others: int, scripted: bool
) -> None:
    texts = [TEMPLATE + str(n) for n in range(repeated)] + [f"something else {n}" for n in range(others)]
    make_person("user", [texts])
    filter_users(Corpus.objects.get(), FilterSettings(conversations=1, messages=0))
    assert left_out() == {"user": "templates" if scripted else ""}


def test_window_counts_once_in_a_turn() -> None:
    make_person("user", [["abcdefghij" * 100, *talk("user", 1)[0]]])
    filter_users(Corpus.objects.get(), FilterSettings(conversations=1, messages=0))
    assert CorpusUser.objects.get().verdicts["templates"]["turns"] == 1


def test_windows_stand_every_sixty_characters_of_normalised_text() -> None:
    assert [len(window) for window in windows("x" * 239, 120, 60)] == [120, 120]
    assert list(windows("x" * 119, 120, 60)) == []
    assert normalise("  Ｎumber\n 12 of  340 ") == "number 0 of 0"
    counter = TemplateCounter(120, 60)
    counter.add(f"Article 7: {TEMPLATE}")
    counter.add(f"ARTICLE 12:\n{TEMPLATE}")
    assert (counter.turns, counter.most) == (2, 2)


def test_activity_needs_three_conversations_and_more_than_fifteen_messages() -> None:
    corpus = make_corpus()
    make_person("two long", talk("two long", 2, 20), corpus)
    make_person("fifteen", talk("fifteen", 3, 5), corpus)
    make_person("sixteen", [*talk("sixteen", 2, 5), talk("more", 1, 6)[0]], corpus)
    people("corpus", "filter")
    assert left_out() == {"two long": "activity", "fifteen": "activity", "sixteen": ""}
    assert CorpusUser.objects.get(key="fifteen").verdicts["activity"]["reason"] == "3 conversations, 15 user messages"


def test_unanswered_last_messages_count() -> None:
    corpus = make_corpus()
    for number in range(4):
        texts = [f"{number} {m}" for m in range(4)]
        make_conversation(corpus, messages=said(*texts, answered=False), user="user", language="English")
    report = people("corpus", "filter")
    assert (report["user_messages"], report["kept"]) == (16, 1)


def test_what_was_said_twice_counts_twice_and_with_everybody_who_said_it() -> None:
    corpus = make_corpus()
    records = [Record(said("Hello?"), f"id {n}", user, "English") for n, user in enumerate(["a", "a", "b", "a"])]
    for _ in range(2):  # the second import adds nothing
        store(corpus, [make_row(record) for record in records], Report("corpus"))
    report = people("corpus", "filter")
    assert (report["users"], report["conversations"], report["user_messages"]) == (2, 4, 4)
    assert dict(CorpusUser.objects.values_list("key", "conversations")) == {"a": 3, "b": 1}
    assert corpus.conversations.count() == 1


def test_who_said_only_what_others_said_too_stays_the_same_user() -> None:
    first, gone = make_person("first", talk("first", 1)), make_person("gone", talk("gone", 1), Corpus.objects.get())
    first[0].repeats.create(source_id="other", user="second")
    people("corpus", "filter")
    before = CorpusUser.objects.get(key="second").pk
    gone[0].delete()
    people("corpus", "filter")
    assert dict(CorpusUser.objects.values_list("key", "pk")).keys() == {"first", "second"}
    assert CorpusUser.objects.get(key="second").pk == before


def test_conversations_in_another_language_do_not_count_as_activity() -> None:
    corpus = make_corpus()
    make_person("both", talk("both", 2, 10), corpus)
    make_person("both", [[f"frage {n}" for n in range(10)]], corpus, language="German")
    people("corpus", "filter")
    user = CorpusUser.objects.get()
    assert (user.conversations, user.messages, user.left_out_by) == (3, 30, "activity")
    assert user.verdicts["language"]["kept"] and user.verdicts["activity"]["messages"] == 20


def test_conversations_without_a_language_count_on_request() -> None:
    make_person("user", talk("user", 3), language="")
    assert people("corpus", "filter")["kept"] == 0
    assert people("corpus", "filter", "--unlabelled")["kept"] == 1


def test_a_model_that_sees_another_language_leaves_the_conversation_out() -> None:
    rows = make_person("user", talk("user", 3))
    keep_verdicts("language", [(rows[0].pk, "English", 1.0), (rows[1].pk, "English", 0.0)], "scripted")
    report = people("corpus", "filter")
    assert (report["kept"], report["language_asked"], report["language_disagree"]) == (0, 2, 1)
    assert left_out() == {"user": "activity"}
    keep_verdicts("language", [(rows[1].pk, " english", 1.0)], "scripted, asked again")
    assert people("corpus", "filter")["kept"] == 1


def test_a_verdict_on_one_language_says_nothing_of_another() -> None:
    rows = make_person("user", talk("user", 3))
    keep_verdicts("language", [(row.pk, language, 0.0) for row in rows for language in ("German", "french")], "x")
    report = people("corpus", "filter", "--without-assistant-use")
    assert (report["kept"], report["language_asked"]) == (1, 0)
    assert conversations_to_ask(rows[0].corpus, "extract").count() == 3
    keep_verdicts("language", [(row.pk, "English", 1.0) for row in rows], "x")
    assert people("corpus", "filter", "--language", "German", "--unlabelled")["language_asked"] == 3


@pytest.mark.parametrize(("scores", "kept"), [((0.5, 0.7, 0.6), 1), ((0.5, 0.6, 0.6), 0), ((0.6,), 1), ((), 1)])
def test_mean_score_of_use_as_an_assistant_decides_where_there_is_one(scores: tuple[float, ...], kept: int) -> None:
    rows = make_person("user", talk("user", 3))
    keep_verdicts("assistant-use", [(row.pk, "", score) for row, score in zip(rows, scores, strict=False)], "scripted")
    report = people("corpus", "filter")
    assert (report["kept"], report["assistant_use_asked"]) == (kept, len(scores))


def test_filtering_again_with_other_thresholds_replaces_the_verdicts() -> None:
    make_person("user", talk("user", 3, 5))
    assert people("corpus", "filter")["kept"] == 0
    assert people("corpus", "filter", "--messages", "14")["kept"] == 1
    assert CorpusUser.objects.get().left_out_by == ""
    assert Corpus.objects.get().steps.get().settings["messages"] == 14


def test_corpus_without_users_is_told_so() -> None:
    make_conversation(make_corpus())
    with pytest.raises(CommandError, match="corpus has no users: none of its 1 conversations names its user"):
        people("corpus", "filter")
    with pytest.raises(CommandError, match="There is no corpus 'nowhere'"):
        people("nowhere", "filter")


def test_user_named_like_sql_and_an_empty_conversation_are_users_like_others() -> None:
    name = "'; DROP TABLE analysis_corpususer; --"
    make_person(name, talk("user", 3))
    make_conversation(make_corpus(), messages=[{"role": "assistant", "content": "Hello?"}], user="silent")
    people("corpus", "filter")
    assert left_out() == {name: "", "silent": "language"}


def test_batches_do_not_change_the_funnel(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        make_person(f"User {number}", talk(str(number), number))
    whole = people("corpus", "filter")
    monkeypatch.setattr("analysis.people.funnel.USERS_AT_ONCE", 2)
    assert people("corpus", "filter") == whole


def test_database_keeps_who_was_left_out_from_the_sample() -> None:
    make_person("user", talk("user", 1))
    people("corpus", "filter")
    with pytest.raises(IntegrityError), transaction.atomic():
        CorpusUser.objects.update(place=1, band=1)


def test_a_model_is_asked_of_the_language_that_labels_name_and_all_of_it_must_be_in_it() -> None:
    rows = make_person("user", talk("user", 4))
    other = make_person("user", [["Bonjour."]], rows[0].corpus, language="French")
    assert set(conversations_to_ask(rows[0].corpus, "language")).isdisjoint(other)
    keep_verdicts("language", [(rows[0].pk, "English", 0.95)], "scripted")
    people("corpus", "filter", "--without-assistant-use")
    assert set(conversations_to_ask(rows[0].corpus, "extract")) == set(rows[1:])
    people("corpus", "filter", "--without-assistant-use", "--language-share", "0.9")
    assert set(conversations_to_ask(rows[0].corpus, "extract")) == set(rows)


def test_use_as_an_assistant_is_asked_or_waived_before_anything_is_concluded() -> None:
    rows = make_person("user", talk("user", 3))
    people("corpus", "filter")
    words = r"No model has been asked whether the 1 kept user uses .* By command: people corpus ask assistant-use"
    with pytest.raises(PeopleError, match=words):
        conversations_to_ask(rows[0].corpus, "extract")
    keep_verdicts("assistant-use", [(row.pk, "", 0.9) for row in rows], "scripted")
    people("corpus", "filter")
    assert conversations_to_ask(rows[0].corpus, "extract").count() == 3
    keep_verdicts("assistant-use", [(row.pk, "", 0.1) for row in rows], "scripted")
    assert people("corpus", "filter")["kept"] == 0
    assert people("corpus", "filter", "--without-assistant-use")["kept"] == 1
