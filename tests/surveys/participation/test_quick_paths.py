"""Wherever something quicker replaces plain Django, the outcome for people is the same."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from psycopg_pool import ConnectionPool

from fieldstudy.pooled import PooledConnection, hand_out_newest_first
from surveys.models import Draft, Participant, Place
from surveys.participation import recruitment
from surveys.participation.pasting import views
from surveys.participation.sending import ask
from surveys.participation.steps import address
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db
State = Participant.State


def lose_place(person: Participant) -> None:
    Place.objects.filter(participant=person).update(participant=None, expires_at=None)


def time_out(person: Participant) -> None:
    lose_place(person)
    Participant.objects.filter(pk=person.pk).update(state=State.TIMED_OUT)


def save_elsewhere(person: Participant) -> None:
    Draft.objects.create(participant=person, step=f"prompt:{person.order[0]}", number=7, data={"text": "newer"})


def end(person: Participant) -> None:
    recruitment.stop(person, State.TECHNICAL, "no words")


def nothing(person: Participant) -> None:
    pass


def outcome(person: Participant, sent: dict[str, str]) -> dict[str, Any]:
    answer = Client().post(address(person, "draft"), sent, headers={"Accept": "application/json"})
    told = {name: value for name, value in answer.json().items() if name not in ("saved_at", "next")}
    place = Place.objects.filter(participant=person).first()
    minutes = place and round((place.expires_at - timezone.now()) / timedelta(minutes=1))
    drafts = list(person.drafts.values_list("step", "number", "data"))
    person.refresh_from_db()
    return {"status": answer.status_code, "told": told, "drafts": drafts, "minutes": minutes, "state": person.state}


@pytest.mark.parametrize("before", [nothing, lose_place, time_out, save_elsewhere, end])
@pytest.mark.parametrize("changes", [{}, {"number": "7"}, {"step": "prompt:nowhere"}, {"step": "debrief"}])
@pytest.mark.parametrize("how", [{}, {"origin": "preview"}])
def test_autosave_in_one_statement_does_what_it_does_for_who_is_looked_up(
    before: Callable[[Participant], None], changes: dict[str, str], how: dict[str, Any]
) -> None:
    study, found = make_study(), []
    for is_known in (True, False):
        person = make_participant(study, **how)
        Client().get(address(person, "prompt", 1))
        Place.objects.filter(participant=person).update(expires_at=timezone.now() + timedelta(minutes=1))
        before(person)
        if not is_known:
            views.LEASES.clear()
        sent = {"step": f"prompt:{person.order[0]}", "number": "0", "text": "half\x00 an answer"} | changes
        result = outcome(person, sent)
        found.append({**result, "drafts": [(step[:6], number, data) for step, number, data in result["drafts"]]})
    assert found[0] == found[1]


def test_autosave_of_everything_else_is_looked_up() -> None:
    person = make_participant()
    Client().get(address(person, "prompt", 1))
    sent = {"step": f"prompt:{person.order[0]}", "text": "Sorry, I can't help with that.", "check": "1"}
    assert "panel" in Client().post(address(person, "draft"), sent).json()
    assert Client().get(address(person, "draft")).status_code == 405


@pytest.fixture
def pool() -> Iterator[ConnectionPool]:
    given = connection.get_connection_params() | {"autocommit": True}
    pool = ConnectionPool(
        kwargs=given,
        connection_class=PooledConnection,
        check=ConnectionPool.check_connection,
        min_size=2,
        max_size=2,
        open=False,
    )
    hand_out_newest_first(pool)
    pool.open(wait=True)
    yield pool
    pool.close()


def test_pool_hands_out_what_came_back_last(pool: ConnectionPool) -> None:
    first, second = pool.getconn(), pool.getconn()
    pool.putconn(second)
    pool.putconn(first)
    assert pool.getconn() is first


def test_pool_hands_out_no_connection_that_the_server_has_ended(pool: ConnectionPool) -> None:
    ended = pool.getconn()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [ended.info.backend_pid])
    pool.putconn(ended)
    assert pool.getconn().execute("SELECT 1").fetchone() == (1,)


def test_nothing_is_sent_to_learn_that_a_connection_is_there(
    pool: ConnectionPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psycopg.Connection, "execute", lambda *given, **more: pytest.fail("It was sent."))
    pool.putconn(pool.getconn())


def test_statement_without_a_connection_takes_one_prepares_there_and_gives_it_back(pool: ConnectionPool) -> None:
    statement = "SELECT %(text)s || unnest(%(list)s::text[]), %(none)s::int"
    values = {"text": "a", "list": ['"b\\', "c,{"], "none": None}
    wrapper = SimpleNamespace(connection=None, pool=pool, wrap_database_errors=nullcontext())
    for _ in range(3):
        assert ask(statement, values, False, {"connection": wrapper}) == ('a"b\\', None)
    assert pool.get_stats()["pool_available"] == 2
    with pool.connection() as link:
        prepared = link.execute("SELECT count(*) FROM pg_prepared_statements WHERE from_sql = false").fetchone()
    assert prepared == (1,)
