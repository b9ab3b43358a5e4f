"""What is reported, and what is not, while the database or the queue is away; and what no log may hold."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import redis
from celery import Celery, beat
from celery.worker import consumer as celery_consumer
from django.conf import settings
from django.db import IntegrityError, OperationalError, connection
from django.test import Client
from django.utils import timezone

from analysis.endpoints.limits import Limiter
from analysis.runs import tasks
from fieldstudy.celery import app
from fieldstudy.consumer import Consumer
from fieldstudy.health import ask_worker
from fieldstudy.logs import OneLine, PrivateFormatter
from surveys.models import Participant, Place, Study
from surveys.participation.steps import address
from tests.analysis.runs.servers import make_fake
from tests.factories import make_participant, make_response, make_study

pytestmark = pytest.mark.django_db
PLANTED = "what-somebody-wrote-and-nobody-may-read"


def failing(cause: Exception, fault: type[Exception] = OperationalError) -> Callable[..., Any]:
    """A wrapper that fails as Django does: with its own exception, caused by the driver's."""

    def fail(execute: Any, statement: str, *more: Any) -> Any:
        raise fault(str(cause)) from cause

    return fail


def open_while_failing(cause: Exception, caplog: pytest.LogCaptureFixture) -> tuple[Any, str, str]:
    """The response to a participant, the log as written, and the link it must not hold."""
    path = address(make_participant(), "prompt", 1)
    caplog.handler.setFormatter(PrivateFormatter("%(levelname)s %(message)s"))
    with connection.execute_wrapper(failing(cause)), caplog.at_level(logging.DEBUG):
        response = Client(raise_request_exception=False).get(path)
    return response, "\n".join(map(caplog.handler.format, caplog.records)), path.split("/")[3]


@pytest.mark.parametrize(
    "cause",
    [
        psycopg.OperationalError("server closed the connection unexpectedly"),
        psycopg.errors.AdminShutdown("terminating connection due to administrator command"),
        psycopg.errors.CannotConnectNow("the database system is starting up"),
        psycopg.errors.TooManyConnections("sorry, too many clients already"),
    ],
    ids=lambda cause: type(cause).__name__,
)
def test_page_says_to_come_back_while_the_database_is_away(cause: Exception, caplog: pytest.LogCaptureFixture) -> None:
    response, log, link = open_while_failing(cause, caplog)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "try once more in a minute" in response.content.decode()
    assert str(cause) in log and link not in log and "Traceback" not in log


def test_fault_of_ours_stays_one_and_its_log_names_nobody(caplog: pytest.LogCaptureFixture) -> None:
    words = f"deadlock detected\nDETAIL:  Failing row contains (1, {PLANTED},\n    {PLANTED}).\nHINT:  Look."
    response, log, link = open_while_failing(psycopg.errors.DeadlockDetected(words), caplog)
    assert response.status_code == 500 and PLANTED not in response.content.decode()
    assert "Traceback" in log and "HINT:  Look." in log
    assert link not in log and PLANTED not in log


def test_log_names_no_submission_of_prolific() -> None:
    line = "GET /s/teas/?PROLIFIC_PID=5f00000000000000000000aa&STUDY_ID=1&SESSION_ID=5f00000000000000000000bb failed"
    record = logging.LogRecord("x", logging.ERROR, "x", 1, line, None, None)
    assert PrivateFormatter("%(message)s").format(record) == (
        "GET /s/teas/?PROLIFIC_PID=…&STUDY_ID=1&SESSION_ID=… failed"
    )


@pytest.mark.django_db(transaction=True)
def test_log_of_the_embedded_database_has_no_rows(db: None) -> None:
    someone = make_participant()
    with pytest.raises(IntegrityError):
        Study.objects.create(pk=someone.study_id, slug="again", title=PLANTED)
    with pytest.raises(IntegrityError):
        Participant.objects.create(study=someone.study, pid=someone.pid, pseudonym=PLANTED[:12])
    log = (settings.SERVICES_FOLDER / "log" / "postgres.log").read_text()
    assert "duplicate key value" in log
    assert PLANTED[:12] not in log and someone.pid not in log


# --- the queue ----------------------------------------------------------------------------------------------


def test_worker_goes_on_where_the_lost_broker_cannot_be_cleaned_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, fault: Exception) -> None:
        raise AttributeError("'NoneType' object has no attribute 'hostname'")

    monkeypatch.setattr(celery_consumer.Consumer, "on_connection_error_after_connected", fail)
    Consumer.on_connection_error_after_connected(object.__new__(Consumer), ConnectionError())
    assert app.conf.worker_consumer == "fieldstudy.consumer:Consumer"
    assert app.conf.broker_connection_max_retries is None


def test_task_that_ends_while_the_broker_is_away_does_not_end_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[tuple[type[Exception], ...]] = []
    monkeypatch.setattr(
        celery_consumer.Consumer, "update_strategies", lambda self: noted.append(self.connection_errors)
    )
    consumer = object.__new__(Consumer)
    consumer.connection_errors = (OSError,)
    consumer.update_strategies()
    assert noted == [(OSError, AttributeError, AssertionError)]  # what acknowledging through a closed connection raises
    assert consumer.connection_errors == (OSError,)


def test_health_is_told_where_the_broker_was_restarted_just_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def broadcast(*given: Any, **more: Any) -> None:
        raise redis.ConnectionError("Connection closed by server.")

    monkeypatch.setattr(app.control, "broadcast", broadcast)
    assert ask_worker() == "unknown"


class Away:
    """A Valkey that is away for the first `times` calls and back after them."""

    def __init__(self, times: int) -> None:
        self.times = times

    async def __call__(self, *given: Any) -> int:
        self.times -= 1
        if self.times >= 0:
            raise redis.ConnectionError("Valkey is away")
        return 0


def test_lane_with_a_rate_waits_for_valkey_and_one_without_works_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(rate: int | None) -> Limiter:
        limiter = Limiter(make_limited(rate))
        limiter.take, limiter.set_pause = Away(2), Away(2)
        monkeypatch.setattr(limiter.valkey, "get", Away(2))
        await limiter.wait(10)
        for _ in range(20):
            await limiter.note(refused=True, retry_after=0)
        ended = asyncio.Event()
        following = asyncio.create_task(limiter.follow(ended))
        await asyncio.sleep(0.01)
        ended.set()
        await following
        await limiter.close()
        return limiter

    limited, free = make_fake(name="limited", requests_per_minute=60), make_fake(name="free")
    make_limited = {60: limited, None: free}.__getitem__
    assert asyncio.run(ask(60)).take.times == -1
    assert asyncio.run(ask(None)).take.times == 2


def test_lane_does_not_end_because_nobody_can_say_whether_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "valkey", lambda: redis.Redis(unix_socket_path="/nowhere/valkey.sock"))
    assert tasks.worker_is_stopping() is False


# --- the clock ----------------------------------------------------------------------------------------------


def test_clock_that_jumps_an_hour_costs_a_place_at_most_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(places=1, lease_minutes=30)
    first = make_participant(study)
    clock = timezone.now
    with monkeypatch.context() as later:  # one of two web servers
        later.setattr(timezone, "now", lambda: clock() + timedelta(hours=1))
        second = make_participant(study)
    make_response(first)
    assert list(Place.objects.filter(cell=first.cell).values_list("participant", flat=True)) == [second.pk]
    assert first.responses.filter(accepted=True).count() == 1


def test_a_tick_that_the_broker_does_not_take_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    away = Celery("ticks", broker="redis://127.0.0.1:9/0", set_as_current=False)
    away.conf.update(broker_connection_retry=False, broker_transport_options={"max_retries": 0})
    away.conf.beat_schedule = {"each": {"task": "anything", "schedule": 3.0}}
    scheduler = beat.Scheduler(app=away)
    with caplog.at_level(logging.ERROR):
        scheduler.apply_entry(scheduler.schedule["each"])
    (record,) = caplog.records
    assert OneLine().filter(record)
    (line,) = caplog.handler.format(record).splitlines()
    assert "Couldn't apply scheduled task each: Error 111 connecting to 127.0.0.1:9." in line
