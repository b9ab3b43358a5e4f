"""Models as raters: shown what people are shown, read strictly, kept once, in both orders."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis import asking
from analysis.judge_prompts import write_history
from analysis.judges import (
    JudgeError,
    compare_orders,
    estimate,
    find_judge,
    judge_items,
    open_tasks,
    position_bias,
    read_reply,
    write_asks,
)
from analysis.models import Endpoint
from surveys.annotation_kinds import KINDS
from surveys.models import Annotation, Study
from tests.analysis.baseline_factories import make_endpoint
from tests.factories import make_annotation_study, make_items, make_study

pytestmark = pytest.mark.django_db(transaction=True)
BOTH = '{"preference/milk": 4, "preference/budget": "No difference"}'


def make_judge(reply: str, **changes: Any) -> Endpoint:
    return make_endpoint(name="judge", model="judge-1", extra={"reply": reply}, price_in=1, price_out=1, **changes)


def study_of(kind: str, count: int = 3) -> Study:
    study = make_annotation_study(kind=kind)
    make_items(study, count)
    return study


def test_labels_are_kept_with_all_that_made_them() -> None:
    study = study_of("relevance")
    make_judge('{"relevance": "yes"}')
    judge = find_judge(study, "judge", temperature=0.5)
    judged = judge_items(judge, open_tasks(judge))
    assert (judged.labelled, judged.unread, judged.failed) == (3, 0, 0)
    kept = Annotation.objects.first()
    assert (kept.judge, kept.labels, kept.participant) == ("judge same-1 t=0.5", {"relevance": "yes"}, None)
    detail = kept.detail
    assert (detail["model"], detail["temperature"], detail["prompt"]) == ("judge-1", 0.5, "same-1")
    assert (len(detail["prompt_sha256"]), detail["usd"] > 0) == (64, True)


def test_what_is_judged_is_not_asked_again() -> None:
    study = study_of("relevance")
    make_judge("Yes")
    judge = find_judge(study, "judge")
    judge_items(judge, open_tasks(judge, limit=2))
    assert [len(open_tasks(judge)), len(open_tasks(find_judge(study, "judge", "optimised")))] == [1, 3]


def test_both_orders_are_asked_and_stored() -> None:
    study = study_of("preference", 1)
    make_judge(BOTH)
    judge = find_judge(study, "judge")
    judge_items(judge, open_tasks(judge))
    rows = Annotation.objects.order_by("left").values_list("left", "labels")
    labels = {"preference/milk": "4", "preference/budget": "3"}
    assert list(rows) == [("generic", labels), ("personalised", labels)]
    # It prefers the right one wherever it stands, and ties stay ties.
    assert position_bias(study, judge.name) == {"pairs": 2, "consistent": 0.5, "left": 0.0, "right": 0.5}
    assert len(open_tasks(find_judge(study, "judge", "optimised"), both_orders=False)) == 1


def test_the_order_shown_is_the_order_asked() -> None:
    study = study_of("preference", 1)
    make_judge(BOTH)
    judge = find_judge(study, "judge")
    first, second = (ask.messages[0]["content"] for ask in write_asks(judge, open_tasks(judge)))
    assert "Answer A:\nAssam.\n\nAnswer B:\nAssam, without milk." in first
    assert "Answer A:\nAssam, without milk.\n\nAnswer B:\nAssam." in second


def test_a_judge_reads_what_annotators_read() -> None:
    study = study_of("attribute", 1)
    make_judge("Yes")
    (ask,) = write_asks(judge := find_judge(study, "judge"), open_tasks(judge))
    content = ask.messages[0]["content"]
    assert content.startswith("Say yes when the response would change.")
    assert "user: I like tea, said 0." in content
    assert "What was concluded: Drinks tea number 0." in content
    assert '"quality": "…"' in content


@pytest.mark.parametrize(
    "reply",
    ["I would rather not say.", '{"relevance": "perhaps"}', "yes and no", "", '{"relevance": ', '{"other": "yes"}'],
)
def test_what_is_no_label_is_counted_and_not_guessed(reply: str) -> None:
    study = study_of("relevance", 1)
    make_judge(reply or " ")
    judge = find_judge(study, "judge")
    judged = judge_items(judge, open_tasks(judge))
    assert (judged.labelled, judged.unread) == (0, 1)
    assert not Annotation.objects.exists()


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("yes", "yes"),
        ("**No.**", "no"),
        ('{"relevance": "YES"}', "yes"),
        ('Thinking… {"relevance": "no"} but then {"relevance": "yes"}', "yes"),
        ('```json\n{"relevance": "No"}\n```', "no"),
    ],
)
def test_a_label_is_read_in_its_usual_dress(reply: str, label: str) -> None:
    assert read_reply(reply, KINDS["relevance"].questions, {}) == {"relevance": label}


def test_a_toggle_must_be_said() -> None:
    questions = KINDS["attribute"].questions
    assert read_reply('{"quality": "yes"}', questions, {})["uncomfortable"] == "not said"
    said = read_reply('{"quality": "yes", "uncomfortable": "no"}', questions, {})
    assert said == {"quality": "yes", "uncomfortable": "no"}


def test_a_long_history_keeps_the_conversations_with_evidence() -> None:
    history = [{"title": str(n), "turns": [{"role": "user", "text": f"{n} " * 100}]} for n in range(1, 6)]
    written = write_history(history, {4}, 500)
    assert "Conversation 4" in written
    assert "Conversation 1 (1)" in written
    assert "Conversation 2" not in written
    assert written.endswith("[… 3 conversations left out: the rest does not fit.]")


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [("1", "5", "consistent"), ("1", "1", "left"), ("5", "4", "right"), ("3", "3", "consistent"), ("3", "5", "mixed")],
)
def test_two_orders_compared(first: str, second: str, what: str) -> None:
    assert compare_orders(first, second) == what


def test_the_budget_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "BATCH", 1)
    study = study_of("relevance")
    make_judge("yes")
    judge = find_judge(study, "judge")
    judged = judge_items(judge, open_tasks(judge), Decimal("0.0000001"))
    assert (judged.labelled, "could exceed" in judged.stopped) == (1, True)


def test_the_estimate_counts_calls_and_dollars() -> None:
    study = study_of("relevance")
    make_judge("yes")
    judge = find_judge(study, "judge")
    planned = estimate(judge, open_tasks(judge))
    assert (planned["calls"], planned["tokens_out"]) == (3, 120)
    assert planned["usd"] == pytest.approx((planned["tokens_in"] + 120) / 1e6)


def test_a_study_without_items_is_refused() -> None:
    make_judge("yes")
    with pytest.raises(JudgeError, match="no annotation study"):
        find_judge(make_study("draft", slug="coffees"), "judge")


def test_command_judges_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    study_of("relevance")
    make_judge("yes")
    call_command("judge", "teas", endpoint="judge", dry_run=True, json=True)
    assert json.loads(capsys.readouterr().out)["calls"] == 3
    assert not Annotation.objects.exists()
    call_command("judge", "teas", endpoint="judge", json=True)
    assert json.loads(capsys.readouterr().out)["labelled"] == 3
    call_command("judge", "teas", endpoint="judge", prompt="optimised")
    assert "judge optimised-1: 3 labelled, 0 replies were no label" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"study": "coffees"}, "no study coffees"),
        ({"endpoint": "none"}, "none"),
        ({"budget": "0"}, "above --budget 0"),
        ({"budget": "much"}, "must be dollars"),
        ({"temperature": 9.0}, "from 0 to 2"),
        ({"limit": 0}, "1 or more"),
    ],
)
def test_command_says_what_is_wrong(given: dict[str, Any], words: str) -> None:
    study_of("relevance")
    make_judge("yes")
    options = {"study": "teas", "endpoint": "judge"} | given
    with pytest.raises(CommandError, match=words):
        call_command("judge", options.pop("study"), **options)
