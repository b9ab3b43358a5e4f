"""What judges are asked, before anything is sent: the same as people, item by item, within window and budget."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from analysis.models import Completion, Run
from analysis.runs.asking.judges import ADVICE, SHOWN, read_reply, write_history
from analysis.runs.asking.kinds import TaskFault
from analysis.runs.asking.plans import plan_judging
from analysis.runs.recipes.plans import RunPlanError
from analysis.stats.agreement.labels import compare_orders
from surveys.studies.files.kinds import KINDS, SIDES, Kind
from tests.analysis.runs.baseline_factories import make_run
from tests.analysis.runs.judge_samples import BOTH, contents, make_judge, plan, study_of
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", list(KINDS))
def test_each_kind_has_an_instruction_of_its_own_that_tells_nothing_about_base_rates(kind: str) -> None:
    study = study_of(kind, 1)
    make_judge("Yes")
    ours, others = contents(plan(study, "optimised"))[0], [text for name, text in ADVICE.items() if name != kind]
    assert ADVICE[kind] in ours and not any(other in ours for other in others)
    assert not re.search(r"\b(seldom|rarely|mostly?|usual(ly)?|often|few|common(ly)?|percent|%)\b", ADVICE[kind])


def test_the_older_instruction_is_rebuilt_for_its_runs_and_marked() -> None:
    study = study_of("relevance", 1)
    make_judge("Yes")
    run = plan(study, "optimised")
    Run.objects.filter(pk=run.pk).update(instruction="optimised-1")
    run.tasks.update(sha256="")  # versions that asked like this did not store it
    run = Run.objects.get(pk=run.pk)
    assert "People say yes seldom" in contents(run)[0]
    assert run.title == "Judge optimised-1 (leading)"
    assert plan(study, "optimised").instruction == "optimised-2"


def test_limit_counts_what_waits_already() -> None:
    study = study_of("relevance", 5)
    make_judge("Yes")
    plan(study, limit=2)
    assert plan(study, limit=3).completions.count() == 3


def test_the_order_shown_is_the_order_asked() -> None:
    study = study_of("preference", 1)
    make_judge(BOTH)
    first, second = contents(plan(study))
    assert "Answer A:\nAssam.\n\nAnswer B:\nAssam, without milk." in first
    assert "Answer A:\nAssam, without milk.\n\nAnswer B:\nAssam." in second


def test_a_judge_reads_what_annotators_read() -> None:
    study = study_of("attribute", 1)
    make_judge("Yes")
    (content,) = contents(plan(study))
    assert content.startswith("Say yes when the response would change.")
    assert "user: I like tea, said 0." in content
    assert "What was concluded: Drinks tea number 0." in content
    assert '"quality": "…"' in content


def test_a_small_window_leaves_the_history_out_and_says_so() -> None:
    study = study_of("attribute", 1)
    make_judge("Yes", context_window=200, max_tokens=100)
    (content,) = contents(plan(study))
    assert "[… 1 conversation left out: the rest does not fit.]" in content


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("yes", "yes"),
        ("**No.**", "no"),
        ('{"relevance": "YES"}', "yes"),
        ('<think>Perhaps {"relevance": "no"}.</think> {"relevance": "yes"}', "yes"),
        ("<think>Is it no?</think>\n\nYes.", "yes"),
        ('The form {"relevance": "…"}, filled in: {"relevance": "yes"} {"sure": 1} Is this {right}?', "yes"),
        ('{"relevance": "yes"} As I said: {"relevance": "Yes"}', "yes"),
    ],
)
def test_a_label_is_read_in_its_usual_dress(reply: str, label: str) -> None:
    assert read_reply(reply, KINDS["relevance"].questions, {}) == {"relevance": label}


@pytest.mark.parametrize(
    "reply",
    [
        "I would rather not say.",
        '{"relevance": "perhaps"}',
        "yes and no",
        "",
        '{"relevance": ',
        '{"other": "yes"}',
        '{"relevance": "yes"} or rather {"relevance": "no"}',
        "<think>Yes",
    ],
)
def test_what_is_no_label_is_not_guessed(reply: str) -> None:
    with pytest.raises(TaskFault):
        read_reply(reply, KINDS["relevance"].questions, {})


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_kind_is_shown_to_judges(kind: Kind) -> None:
    payload = {name: read(kind.sample[name]) for name, read in kind.needs.items() if name != "history"}
    assert payload[kind.headline] in SHOWN[kind.name](payload, (), SIDES[0], 1_000)


def test_a_toggle_must_be_said() -> None:
    questions = KINDS["attribute"].questions
    with pytest.raises(TaskFault, match="uncomfortable: cannot be 'not said'"):
        read_reply('{"quality": "yes"}', questions, {})
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
    assert compare_orders(int(first) - 3, int(second) - 3) == what


def test_the_estimate_counts_calls_and_dollars() -> None:
    study = study_of("relevance")
    make_judge("yes")
    _, estimate = plan_judging(study, "judge", "same", "tests", dry_run=True)
    assert (estimate["calls"], estimate["completion_tokens"]) == (3, 120)
    assert estimate["usd"] == pytest.approx((estimate["prompt_tokens"] + 120) / 1e6)
    assert not Run.objects.exists()


def test_a_study_without_items_is_refused() -> None:
    make_judge("yes")
    with pytest.raises(RunPlanError, match="not an annotation study"):
        plan(make_study("draft", slug="coffees"))
    with pytest.raises(RunPlanError, match="no pilot items"):
        plan(study_of("relevance"), pilot=True)


def test_the_database_refuses_a_judge_that_is_none() -> None:
    study = study_of("relevance", 1)
    for wrong in ({"condition": "judge"}, {"condition": "offline", "instruction": "same-1"}):
        with pytest.raises(IntegrityError, match="run_judges_as_instructed"), transaction.atomic():
            make_run(study=study, **wrong)
    make_judge("yes")
    call = plan(study).completions.get()
    with pytest.raises(IntegrityError, match="call_asks_one_thing"), transaction.atomic():
        Completion.objects.filter(pk=call.pk).update(task=None)
    task, call.pk = call.task, None
    with pytest.raises(IntegrityError, match="call_once"), transaction.atomic():
        call.save(force_insert=True)
    task.pk = None
    with pytest.raises(IntegrityError, match="task_once"), transaction.atomic():
        task.save(force_insert=True)


def test_command_says_where_the_rest_is_planned() -> None:
    study = study_of("relevance", 1)
    make_judge("yes")
    run = plan(study)
    with pytest.raises(CommandError, match=f"manage.py run {run.pk} resume"):
        call_command("judge", "teas", endpoint="judge", new=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"study": "coffees"}, "no study coffees"),
        ({"endpoint": "none"}, "none"),
        ({"budget": Decimal(0)}, "above 0 dollars"),
        ({"budget": Decimal("0.000001")}, "above the budget of"),
        ({"temperature": 9.0}, "outside 0 to 2"),
        ({"pilot": True}, "no pilot items"),
        ({"limit": 0}, "1 or more"),
    ],
)
def test_command_says_what_is_wrong(given: dict[str, Any], words: str) -> None:
    study_of("relevance")
    make_judge("yes")
    options = {"study": "teas", "endpoint": "judge"} | given
    with pytest.raises(CommandError, match=words):
        call_command("judge", options.pop("study"), **options)
