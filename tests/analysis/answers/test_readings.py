"""Each text is read once, by the newest rules, and a person's decision stays."""

from io import StringIO
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from analysis.answers import readings
from analysis.answers.readings import (
    find_changes,
    open_responses,
    outdated,
    read_new,
    read_new_texts,
    runs_to_read,
    store,
    unread,
)
from analysis.answers.reviews import decide, undo_last
from analysis.models import Answer, AnswerDecision
from surveys.models import Response
from surveys.participation import recruitment
from surveys.reading.answers import RULES_VERSION
from tests.analysis.answers.answer_samples import LIST
from tests.analysis.runs.baseline_factories import make_call, make_item, make_run
from tests.analysis.runs.run_samples import answer
from tests.factories import make_participant, make_response, make_study

pytestmark = pytest.mark.django_db


def make_answer(study: Any, text: str = LIST) -> Response:
    return make_response(make_participant(study), "teas", text=text, keep=True)


def test_responses_and_completions_are_read_by_the_same_rules() -> None:
    run = make_run()
    make_answer(run.study)
    answer(make_call(run), LIST)
    assert (unread(run.study), read_new(run.study), unread(run.study)) == (2, 2, 0)
    field, offline = Answer.objects.order_by("completion")
    assert field.items == offline.items == ["assam", "sencha", "earl grey", "oolong", "rooibos"]
    assert offline.names == ["Assam", "Sencha", "Earl Grey", "Oolong", "Rooibos"]
    assert field.rules_version == RULES_VERSION


def test_new_texts_of_every_study_are_read_on_schedule() -> None:
    tasks = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert read_new_texts.name in tasks
    assert read_new_texts() == 0
    run = make_run()
    make_answer(make_study(slug="water"))
    answer(make_call(run), LIST)
    assert (read_new_texts(), read_new_texts(), unread(run.study)) == (2, 0, 0)


def test_benchmark_runs_of_no_study_are_read_on_schedule_too() -> None:
    make_study()
    answer(make_call(make_run(benchmark="sums"), make_item()), "B")
    assert read_new_texts() == 1


def test_runs_without_new_replies_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = make_run(), make_run(study=make_study(slug="water"))
    for run in (old, new):
        answer(make_call(run), LIST)
    assert (read_new_texts(), runs_to_read()) == (2, {})
    answer(make_call(new, repeat=1), LIST)
    assert (runs_to_read().keys(), read_new_texts(), runs_to_read()) == ({new.pk}, 1, {})
    monkeypatch.setattr(readings, "RULES_VERSION", RULES_VERSION + 1)
    assert runs_to_read().keys() == {old.pk, new.pk}


def test_older_readings_wait_until_somebody_has_them_read_anew() -> None:
    run = make_run()
    answer(make_call(run), LIST)
    read_new_texts()
    Answer.objects.update(rules_version=RULES_VERSION - 1, items=["old"])
    decide(run.study, Answer.objects.get().pk, "ada", seen=0, names=["Matcha"])
    assert outdated(run.study) == 0
    undo_last(run.study, "ada")
    assert (read_new_texts(), unread(run.study), outdated(run.study)) == (0, 0, 1)
    assert read_new(run.study) == 1
    assert (Answer.objects.get().rules_version, Answer.objects.get().items[0]) == (RULES_VERSION, "assam")
    assert outdated(run.study) == 0


def test_changes_are_listed_where_the_rules_differ_and_nothing_is_written() -> None:
    run = make_run("offline", make_study(places=10))
    for at, reply in enumerate((LIST, "1. Matcha\n2. Sencha")):
        answer(make_call(run, repeat=at), reply)
    make_answer(run.study)
    decided = make_answer(run.study)
    read_new(run.study)
    Answer.objects.update(rules_version=RULES_VERSION - 1)
    Answer.objects.filter(response=decided).update(items=["matcha"], decided=True)
    changed = Answer.objects.get(completion__reply=LIST)
    Answer.objects.filter(pk=changed.pk).update(items=["old"], names=["Old"])
    (found,) = find_changes(run.study)
    assert (found["answer"], found["before"]["names"], found["after"]["names"][0]) == (changed.pk, ["Old"], "Assam")
    assert Answer.objects.get(pk=changed.pk).items == ["old"]
    listed = StringIO()
    call_command("read_answers", run.study.slug, list=True, stdout=listed)
    assert f"{changed.pk} " in listed.getvalue() and "reads 1 answers differently" in listed.getvalue()
    assert Answer.objects.get(pk=changed.pk).items == ["old"]


def test_what_no_study_could_read_is_read_once_there_is_one() -> None:
    answer(make_call(make_run(benchmark="sums"), make_item()), "B")
    assert (read_new_texts(), len(runs_to_read())) == (0, 1)
    make_study()
    assert (read_new_texts(), runs_to_read()) == (1, {})


def test_new_texts_are_left_to_the_worker_that_reads_them() -> None:
    make_answer(make_study())
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_advisory_lock(hashtext('read new texts'), 0)")
        assert read_new_texts() == 0
        other.execute("SELECT pg_advisory_unlock(hashtext('read new texts'), 0)")
    assert read_new_texts() == 1


def test_what_is_decided_while_its_batch_is_read_stays() -> None:
    study = make_study(places=10)
    make_answer(study)
    make_answer(study)
    read_new(study)
    Answer.objects.update(rules_version=0, items=["matcha"])
    batch = list(open_responses(study))
    decided, other = Answer.objects.order_by("pk")
    Answer.objects.filter(pk=decided.pk).update(decided=True)
    store(Response, batch)
    assert Answer.objects.get(pk=decided.pk).items == ["matcha"]
    assert Answer.objects.get(pk=other.pk).items[0] == "assam"


def test_a_text_that_is_withdrawn_while_its_batch_is_read_is_left_out() -> None:
    study = make_study(places=10)
    gone, there = make_answer(study), make_answer(study)
    batch = list(open_responses(study))
    recruitment.withdraw(gone.participant)
    store(Response, batch)
    assert Answer.objects.get().response_id == there.pk


def test_a_new_revision_is_read_and_replaces_the_old_one() -> None:
    study = make_study()
    first = make_answer(study)
    read_new(study)
    make_response(first.participant, "teas", text=LIST.replace("Assam", "Matcha"), keep=True)
    assert (unread(study), read_new(study)) == (1, 1)
    assert Answer.objects.get(response__revision=2).items[0] == "matcha"


def test_an_unfinished_call_is_not_read() -> None:
    run = make_run()
    make_call(run)
    assert unread(run.study) == 0


def test_benchmark_items_are_read_with_their_own_letters() -> None:
    study, run = make_study(), make_run(benchmark="sums")
    answer(make_call(run, make_item(choices=["1", "2"])), "The answer is (B)")
    answer(make_call(run, make_item(2, choices=["2", "4"])), "The answer is (D)")
    read_new(study)
    assert list(Answer.objects.order_by("pk").values_list("letter", flat=True)) == ["B", ""]


def test_long_sets_are_read_in_batches_with_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "BATCH", 2)
    study, seen = make_study(places=10), []
    for _ in range(5):
        make_answer(study)
    read_new(study, lambda done, total: seen.append((done, total)))
    assert seen == [(2, 5), (4, 5), (5, 5)]
    assert Answer.objects.count() == 5


def test_the_number_of_statements_does_not_grow_with_the_texts(django_assert_num_queries: Any) -> None:
    study = make_study(places=30)
    for _ in range(20):
        make_answer(study)
    # Two counts; one batch: its rows, begin, prompts, corrections, locks of answers and texts, write, end; and one look
    # for more of each kind.
    with django_assert_num_queries(10):
        read_new(study)


def test_an_answer_reads_one_text_only() -> None:
    with pytest.raises(IntegrityError, match="answer_reads_one_text"), transaction.atomic():
        Answer.objects.create(rules_version=1)


def test_a_decision_is_never_rewritten() -> None:
    study = make_study()
    make_answer(study)
    read_new(study)
    decision = AnswerDecision.objects.create(answer=Answer.objects.get(), before={}, decided_by="tests")
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        AnswerDecision.objects.filter(pk=decision.pk).update(letter="A")
