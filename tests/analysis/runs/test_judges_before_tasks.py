"""Judges' runs from before their calls were tasks: migrated, rebuilt to the letter, continued."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from analysis.models import Completion, Endpoint, Run
from analysis.runs.asking.replies import count_replies
from analysis.runs.pages.reads import read_messages
from surveys.models import Annotation, Study
from tests.analysis.runs.judge_samples import plan, work_off
from tests.lasting import database_before

pytestmark = pytest.mark.django_db(transaction=True)
# Rows by table, as such a version wrote them: a judge in both orders with calls in every possible state, the older
# leading instruction, and an endpoint so small that a history is left out.
ROWS = json.loads(Path(__file__).with_name("judges_before_tasks.json").read_text(encoding="utf-8"))
BEFORE = ("analysis", "0008_tasks")


@pytest.fixture
def brought_forward() -> Iterator[None]:
    """Migrate a separate database that has `ROWS`."""
    with database_before("judges_before_tasks", *BEFORE):
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            for table, rows in ROWS.items():
                cursor.execute(
                    f"INSERT INTO {table} SELECT * FROM json_populate_recordset(NULL::{table}, %s)", [json.dumps(rows)]
                )
                last = max(row["id"] for row in rows)
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, last])
            cursor.execute("SET session_replication_role = origin")
        call_command("migrate", verbosity=0)
        yield


@pytest.mark.slow
def test_calls_of_earlier_versions_become_tasks(brought_forward: None) -> None:
    before = {row["id"]: row for row in ROWS["analysis_completion"]}
    calls = Completion.objects.select_related("run", "task").order_by("pk")
    assert [call.pk for call in calls] == sorted(before)
    for call in calls:
        was = before[call.pk]
        assert (call.task.annotation_item_id, call.task.payload["left"]) == (was["annotation_item_id"], was["left"])
        reading = read_messages(call)
        assert reading.is_same if was["messages_sha256"] else reading.built and not reading.stored
    done = {call.pk: call.task for call in calls if call.status == "done"}
    for judgement in ROWS["analysis_judgement"]:
        task = done.pop(judgement["completion_id"])
        assert (task.fault, task.read_at is None) == (judgement["fault"], False)
        label = Annotation.objects.filter(pk=judgement["annotation_id"]).first()
        assert task.values == (label and label.labels)
    assert len(done) == 1 and not any(task.read_at for task in done.values())
    assert count_replies(Run.objects.get(pk=900001)) == {"read": 2, "unreadable": 1, "waiting": 1}

    # The same command continues: it reads what was unread, sends what was unsent, and asks nothing twice.
    Endpoint.objects.filter(name="judge").update(extra={"reply": '{"preference/milk": 4, "preference/budget": 3}'})
    run = work_off(plan(Study.objects.get(slug="teas")))
    assert (run.pk, run.completions.count(), run.state) == (900001, 6, "done")
    assert count_replies(run) == {"read": 4, "unreadable": 1, "waiting": 0}
    assert list(run.completions.filter(status="failed").values_list("pk", flat=True)) == [900005]
    assert Annotation.objects.filter(judge="judge same-1").count() == 4
    again = work_off(plan(Study.objects.get(slug="teas"), again=True))
    assert (again.completions.count(), count_replies(again)["read"]) == (2, 2)
