"""Models as raters: shown what people are shown, read strictly, kept once, in both orders."""

import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command

from analysis.agreement.agreements import position_bias
from analysis.endpoints.endpoints import add_endpoint
from analysis.models import Completion, Run, Task
from analysis.runs.asking.judges import rater_of
from analysis.runs.asking.plans import plan_judging
from analysis.runs.asking.replies import count_replies, read_replies, unreadable
from analysis.runs.lanes.runs import cancel, resume, retry_failed, run_inline
from analysis.runs.recipes.messages import messages_for
from analysis.runs.recipes.plans import RunPlanError
from surveys.models import Annotation
from surveys.studies.lifecycle import load_definition
from tests.analysis.runs.judge_samples import BOTH, contents, judge, make_judge, plan, study_of, work_off
from tests.factories import definition_of, make_items
from tests.surveys.participation.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_labels_are_kept_with_all_that_made_them() -> None:
    study = study_of("relevance")
    make_judge('{"relevance": "yes"}')
    run = judge(study, temperature=0.5)
    assert (run.state, count_replies(run)) == ("done", {"read": 3, "unreadable": 0, "waiting": 0})
    kept = Annotation.objects.first()
    assert (kept.judge, kept.labels, kept.participant) == ("judge same-1 t=0.5", {"relevance": "yes"}, None)
    detail, call = kept.detail, run.completions.get(task__annotation_item=kept.item)
    assert (detail["model"], detail["temperature"], detail["prompt"]) == ("judge-1", 0.5, "same-1")
    assert (len(detail["prompt_sha256"]), detail["usd"] > 0) == (64, True)
    assert (detail["run"], detail["call"], call.task.values) == (run.pk, call.pk, kept.labels)
    assert run.spent == sum(run.completions.values_list("cost", flat=True)) > 0


def test_what_is_judged_is_not_asked_again() -> None:
    study = study_of("relevance")
    make_judge("Yes")
    run = judge(study, limit=2)
    assert run.completions.count() == 2
    assert judge(study) == run
    assert (run.completions.count(), Annotation.objects.count()) == (3, 3)
    assert plan(study, "optimised").completions.count() == 3


def test_items_that_came_later_extend_the_run() -> None:
    study = study_of("relevance")
    make_judge("Yes")
    run = judge(study)
    make_items(study, 2, start=3)
    assert judge(study) == run
    assert list(run.completions.order_by("position").values_list("attempts", flat=True)) == [1] * 5
    assert (run.state, Annotation.objects.count()) == ("done", 5)


def test_labels_from_another_run_of_the_judge_are_not_asked_for_again() -> None:
    study = study_of("preference", 2)
    make_judge(BOTH)
    one = judge(study, both_orders=False)
    both = judge(study)
    assert set(one.tasks.values_list("payload__left", flat=True)) == {"generic"}
    assert set(both.tasks.values_list("payload__left", flat=True)) == {"personalised"}
    assert Annotation.objects.count() == 4


def test_both_orders_are_asked_and_stored() -> None:
    study = study_of("preference", 1)
    make_judge(BOTH)
    run = judge(study)
    rows = Annotation.objects.order_by("left").values_list("left", "labels")
    labels = {"preference/milk": "4", "preference/budget": "3"}
    assert list(rows) == [("generic", labels), ("personalised", labels)]
    # It prefers the right-hand one whichever that is, and ties stay ties.
    assert position_bias(study, rater_of(run)) == {"pairs": 2, "consistent": 0.5, "left": 0.0, "right": 0.5}
    assert plan(study, "optimised", both_orders=False).completions.count() == 1


def test_messages_stay_the_same_when_the_endpoint_changes() -> None:
    study = study_of("attribute", 1)
    make_judge("Yes")
    call = judge(study).completions.get()
    add_endpoint("judge", context_window=200, max_tokens=100)
    again = messages_for(Completion.objects.get(pk=call.pk))
    assert (again.sha256, len(again.sha256)) == (call.messages_sha256, 64)
    assert "I like tea" in again.messages[0]["content"]


def test_run_keeps_the_guidelines_that_it_was_planned_with() -> None:
    study = study_of("relevance", 1)
    make_judge("yes")
    run = plan(study)
    definition = definition_of(study)
    work = replace(definition.annotation, guidelines="Say no when in doubt.", guidelines_version="2")
    study, _ = load_definition(replace(definition, annotation=work), "tests", "Another rule.")
    with pytest.raises(RunPlanError, match=f"already planned: continue with `manage.py run {run.pk} resume"):
        plan(study)
    work_off(run)
    kept = Annotation.objects.get()
    assert (kept.version, kept.guidelines_version) == (run.version, "1")
    make_items(study, 1, start=1)
    later = judge(study)
    assert later != run and contents(later)[0].startswith("Say no when in doubt.")
    assert Annotation.objects.get(item=later.tasks.get().annotation_item).guidelines_version == "2"


def test_what_is_no_label_is_counted_and_not_asked_again() -> None:
    study = study_of("relevance", 1)
    make_judge("I would rather not say.")
    run = judge(study)
    assert count_replies(run) == {"read": 0, "unreadable": 1, "waiting": 0}
    assert not Annotation.objects.exists()
    assert unreadable(run).get().task.fault
    assert judge(study).completions.get().attempts == 1


def test_what_has_no_label_is_asked_again_by_a_run_of_its_own() -> None:
    study = study_of("relevance")
    endpoint = make_judge("perhaps")
    first = judge(study, limit=2)
    endpoint.extra = {"reply": "yes"}
    endpoint.save()
    judge(study)
    second = judge(study, again=True)
    assert (first.completions.count(), second.completions.count(), second.first_run) == (3, 2, first)
    assert (count_replies(first)["unreadable"], count_replies(second)["read"]) == (2, 2)
    assert Annotation.objects.count() == 3


def test_replies_that_could_not_be_read_are_read_again_before_anything_is_asked_again() -> None:
    study = study_of("relevance")
    make_judge("perhaps")
    first = judge(study)
    first.completions.exclude(pk=first.completions.latest("pk").pk).update(reply='{"relevance": "no", "x": {}}')
    _, estimate = plan_judging(study, "judge", "same", "tests", again=True, dry_run=True)
    assert (estimate["calls"], count_replies(first)["read"]) == (1, 0)
    Completion.objects.update(reply='{"relevance": "no", "x": {}}')
    with pytest.raises(RunPlanError, match="labelled every item"):
        plan(study, again=True)
    assert (count_replies(first)["read"], Annotation.objects.count(), Run.objects.count()) == (3, 3, 1)


def test_first_label_of_a_judge_stands() -> None:
    study = study_of("relevance", 1)
    endpoint = make_judge("yes")
    first = plan(study)
    # Cancelled with a call in flight, whose reply still comes: the next run has asked about the same item.
    cancel(first)
    judge(study)
    Completion.objects.filter(run=first).update(status="done", reply="no", done_at=first.created_at)
    assert read_replies(first) == 1
    assert Annotation.objects.get().labels == {"relevance": "yes"}
    assert list(Task.objects.values_list("values", flat=True)) == [{"relevance": "yes"}] * 2
    assert Annotation.objects.get().judge == f"{endpoint.name} same-1"


def test_two_readers_at_a_time_read_each_reply_once() -> None:
    study = study_of("relevance", 40)
    make_judge("yes")
    run = resume(plan(study))
    list(run_inline(run))
    read = at_once([lambda: read_replies(Run.objects.get(pk=run.pk))] * 2, 30)
    assert (sum(read), Annotation.objects.count(), count_replies(run)["read"]) == (40, 40, 40)
    assert set(Annotation.objects.values_list("revision", flat=True)) == {1}


def test_calls_that_fail_are_told_apart_and_sent_again_on_demand() -> None:
    study = study_of("relevance")
    endpoint = make_judge("yes", faults={"refused": 1.0})
    run = judge(study)
    assert (run.state, run.completions.filter(status="failed").count()) == ("done", 3)
    assert plan(study).completions.count() == 3
    endpoint.extra = {"reply": "yes"}
    endpoint.save()
    assert retry_failed(run) == 3
    judge(study)
    assert Annotation.objects.count() == 3


def test_command_judges_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    study_of("relevance")
    make_judge("yes")
    call_command("judge", "teas", endpoint="judge", dry_run=True, json=True)
    assert json.loads(capsys.readouterr().out)["calls"] == 3
    assert not Annotation.objects.exists()
    call_command("judge", "teas", endpoint="judge", json=True)
    said = json.loads(capsys.readouterr().out)
    assert (said["labelled"], said["state"], said["usd"] > 0) == (3, "done", True)
    call_command("judge", "teas", endpoint="judge", prompt="optimised")
    assert "judge optimised-2: 3 labelled, 0 replies were no label" in capsys.readouterr().out


def test_command_shows_replies_that_are_no_label(capsys: pytest.CaptureFixture[str]) -> None:
    study_of("relevance", 1)
    make_judge("It depends.")
    call_command("judge", "teas", endpoint="judge")
    assert "1 reply was no label, 0 calls failed" in (said := capsys.readouterr().out)
    assert "no label: 'It depends.'" in said


def test_command_stops_at_a_wrong_key_and_keeps_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    study_of("relevance")
    make_judge("yes", faults={"authentication": 1.0})
    with pytest.raises(CommandError, match="stopped after 0 answers: 401"):
        call_command("judge", "teas", endpoint="judge", json=True)
    assert json.loads(capsys.readouterr().out)["stopped"].startswith("401")
