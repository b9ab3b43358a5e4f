"""The rows of a run as lanes use them: leased, reserved, settled and given back, in few statements.

Lanes use their own connections to PostgreSQL and no ORM, whose objects would cost more per call than the call.
A lane may be killed between any two transactions. Each locks completions first and their run second, so that
lanes never deadlock.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

import psycopg
from django.db import connection, connections, transaction
from psycopg.rows import namedtuple_row
from pydantic import TypeAdapter

from analysis.runs.lanes.journal import left_behind

T = TypeVar("T")
MOST_ATTEMPTS = 8
NOTHING = Decimal(0)

LEASE = """
WITH chosen AS (
  SELECT c.id FROM analysis_completion c JOIN analysis_run r ON r.id = c.run_id
  WHERE c.run_id = %(run)s AND c.status = 'pending' AND r.state = 'running'
  ORDER BY c.position LIMIT %(count)s FOR UPDATE OF c SKIP LOCKED)
UPDATE analysis_completion c
SET status = 'leased', lane = %(lane)s, sent_at = NULL,
  lease_until = now() + make_interval(secs => %(seconds)s)
FROM chosen WHERE c.id = chosen.id
RETURNING {columns}
"""
# Skips rows that the lane is just reserving on its other connection: that renews them too, and to wait for each other
# would be a deadlock.
RENEW = """
UPDATE analysis_completion c SET lease_until = now() + make_interval(secs => %(seconds)s)
FROM (
  SELECT id FROM analysis_completion
  WHERE run_id = %(run)s AND status = 'leased' AND lane = %(lane)s FOR UPDATE SKIP LOCKED) AS ours
WHERE c.id = ours.id
"""
# Only a leased row has a lane, so id and lane suffice. Lost leases and a budget without room leave rows out;
# completions are locked before the run, as everywhere.
RESERVE = """
WITH held AS (
  SELECT c.id, u.value::numeric AS amount
  FROM json_each_text(%(amounts)s::json) AS u JOIN analysis_completion c ON c.id = u.key::bigint
  WHERE c.lane = %(lane)s FOR UPDATE OF c),
whole AS (SELECT coalesce(sum(amount), 0) AS amount FROM held),
allowed AS (
  UPDATE analysis_run r SET reserved = r.reserved + whole.amount FROM whole
  WHERE r.id = %(run)s AND r.state = 'running'
    AND (r.budget IS NULL OR r.spent + r.reserved + whole.amount <= r.budget)
  RETURNING r.id),
marked AS (
  UPDATE analysis_completion c SET reserved = held.amount, sent_at = now(),
    lease_until = now() + make_interval(secs => %(seconds)s)
  FROM held, allowed WHERE c.id = held.id RETURNING c.id)
SELECT EXISTS (SELECT FROM allowed), array(SELECT id FROM marked)
"""
SETTLE = """
WITH settled AS (
  UPDATE analysis_completion c SET
    status = u.status, lane = '', lease_until = NULL, reserved = 0, attempts = u.attempts,
    lost_answers = u.lost_answers, sent_at = coalesce(to_timestamp(u.sent), c.sent_at), included = u.included,
    skipped = u.skipped, messages_sha256 = u.messages_sha256, reply = u.reply,
    finish_reason = u.finish_reason, model_served = u.model_served, fingerprint = u.fingerprint,
    request_id = u.request_id, prompt_tokens = u.prompt_tokens, cached_tokens = u.cached_tokens,
    completion_tokens = u.completion_tokens, latency_ms = u.latency_ms, cost = u.cost, error = u.error,
    error_kind = u.error_kind, done_at = CASE WHEN u.status = 'pending' THEN NULL ELSE now() END
  FROM json_to_recordset(%(outcomes)s::json) AS u({columns})
  WHERE c.id = u.id AND c.lane = %(lane)s
  RETURNING u.reserved, c.cost),
whole AS (
  SELECT count(*) AS rows, coalesce(sum(reserved), 0) AS reserved, coalesce(sum(cost), 0) AS cost FROM settled)
UPDATE analysis_run r SET reserved = r.reserved - whole.reserved, spent = r.spent + whole.cost
FROM whole WHERE r.id = %(run)s
RETURNING whole.rows, r.state
"""
GIVE_BACK = """
UPDATE analysis_completion c SET status = 'pending', lane = '', lease_until = NULL, reserved = 0, sent_at = NULL
FROM (SELECT id, reserved FROM analysis_completion WHERE id = ANY(%(ids)s) FOR UPDATE) AS held
WHERE c.id = held.id AND c.lane = %(lane)s
RETURNING held.reserved
"""
# A row that was marked as sent may have been paid for; after MOST_ATTEMPTS such losses it fails, and as many again if
# it was retried.
EXPIRE = """
UPDATE analysis_completion c SET
  status = CASE WHEN ended.sent > 0 AND mod(c.lost_answers + 1, %(most)s) = 0 THEN 'failed' ELSE 'pending' END,
  error_kind = CASE WHEN ended.sent > 0 THEN 'lost' ELSE c.error_kind END,
  error = CASE WHEN ended.sent > 0 THEN 'The worker ended before the answer was stored.' ELSE c.error END,
  lane = '', lease_until = NULL, reserved = 0,
  attempts = c.attempts + ended.sent, lost_answers = c.lost_answers + ended.sent
FROM (
  SELECT id, reserved, (sent_at IS NOT NULL)::int AS sent FROM analysis_completion
  WHERE run_id = %(run)s AND status = 'leased' AND lease_until < now() FOR UPDATE SKIP LOCKED) AS ended
WHERE c.id = ended.id RETURNING ended.reserved
"""
# Lets the next EXPIRE free the lane's rows, instead of when their leases end by themselves.
END_LEASES = """
UPDATE analysis_completion SET lease_until = now() - interval '1 second'
WHERE run_id = %(run)s AND status = 'leased' AND lane = %(lane)s
"""
RETURN_BUDGET = "UPDATE analysis_run SET reserved = reserved - %(reserved)s WHERE id = %(run)s"
FINISH = """
UPDATE analysis_run SET state = 'done', ended_at = now(), reason = ''
WHERE id = %(run)s AND state = 'running' AND NOT EXISTS (
  SELECT 1 FROM analysis_completion WHERE run_id = %(run)s AND status IN ('pending', 'leased'))
"""
STOP = "UPDATE analysis_run SET state = 'stopped', reason = %(reason)s WHERE id = %(run)s AND state = 'running'"
LOOK = """
SELECT state, budget, spent, reserved, EXISTS (
  SELECT 1 FROM analysis_completion WHERE run_id = %(run)s AND status = 'done') AS answered
FROM analysis_run WHERE id = %(run)s
"""


class LeasedCall(NamedTuple):
    id: int
    prompt_id: int | None
    item_id: int | None
    task_id: int | None
    user_id: int | None
    repeat: int
    position: int
    attempts: int
    lost_answers: int


LEASE = LEASE.format(columns=", ".join(f'c."{name}"' for name in LeasedCall._fields))


@dataclass(slots=True)
class CallOutcome:
    """The outcome of one leased row; `pending` gives it back with its attempts counted."""

    id: int
    status: str
    attempts: int
    lost_answers: int
    reserved: Decimal = NOTHING
    sent: float | None = None
    included: int | None = None
    skipped: int = 0
    messages_sha256: str = ""
    reply: str = ""
    finish_reason: str = ""
    model_served: str = ""
    fingerprint: str = ""
    request_id: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: int | None = None
    cost: Decimal = NOTHING
    error: str = ""
    error_kind: str = ""


NUMBERS = ("attempts", "lost_answers", "included", "skipped", "prompt_tokens", "cached_tokens",
           "completion_tokens", "latency_ms")  # fmt: skip
TYPES = {"id": "bigint", "reserved": "numeric", "cost": "numeric", "sent": "float8"}
TYPES |= dict.fromkeys(NUMBERS, "int")
COLUMNS = ", ".join(f"{field.name} {TYPES.get(field.name, 'text')}" for field in fields(CallOutcome))
SETTLE = SETTLE.format(columns=COLUMNS)
OUTCOME = TypeAdapter(CallOutcome)


def write_outcome(outcome: CallOutcome) -> str:
    """Write it as one line of JSON, in a third of the time that `json` takes."""
    return OUTCOME.dump_json(outcome).decode()


class CallBook:
    """One lane's hold on the rows of its run."""

    def __init__(self, database: psycopg.AsyncConnection, run: int, lane: str, lease_seconds: float) -> None:
        self.database, self.run = database, run
        self.turn = asyncio.Lock()  # one transaction at a time: tasks share the connection
        self.given = {"run": run, "lane": lane, "seconds": lease_seconds, "most": MOST_ATTEMPTS}

    async def ask(self, statement: str, **values: Any) -> psycopg.AsyncCursor:
        return await self.database.execute(statement, {**self.given, **values})

    async def lease(self, count: int) -> list[LeasedCall]:
        """Lease the next pending rows, in the run's order; none if the run is not running."""
        async with self.turn:
            rows = await (await self.ask(LEASE, count=count)).fetchall()
        return sorted((LeasedCall(*row) for row in rows), key=lambda call: call.position)

    async def renew(self) -> None:
        await self.ask(RENEW)

    async def reserve(self, amounts: dict[int, Decimal]) -> set[int] | None:
        """Mark rows as being sent and set their budget aside; None if that is not allowed.

        Rows whose lease another lane has taken over are missing from the result.
        """
        given = json.dumps({key: str(amount) for key, amount in amounts.items()})
        async with self.turn:
            allowed, marked = await (await self.ask(RESERVE, amounts=given)).fetchone() or (False, [])
        return set(marked) if allowed else None

    async def settle(self, outcomes: Sequence[CallOutcome]) -> tuple[int, str]:
        """Store outcomes; return how many rows were still ours, and the run's state."""
        return await self.settle_written([write_outcome(outcome) for outcome in outcomes])

    async def settle_written(self, lines: Sequence[str]) -> tuple[int, str]:
        # One JSON document costs a tenth of the processor time of one array per column.
        async with self.turn:
            return await (await self.ask(SETTLE, outcomes=as_list(lines))).fetchone() or (0, "")

    async def give_back(self, ids: Sequence[int]) -> None:
        """Give back rows that were leased and never sent."""
        if ids:
            await self.free(GIVE_BACK, ids=list(ids))

    async def expire(self) -> int:
        """Store the answers that dead lanes noted and take back their rows; those sent count as lost, perhaps paid."""
        for lane, lines in left_behind(self.run):
            async with self.turn:
                await self.ask(SETTLE, lane=lane, outcomes=as_list(lines))
                await self.ask(END_LEASES, lane=lane)
        return await self.free(EXPIRE)

    async def free(self, statement: str, **values: Any) -> int:
        async with self.turn, self.database.transaction():
            rows = await (await self.ask(statement, **values)).fetchall()
            if reserved := sum((row[0] for row in rows), NOTHING):
                await self.ask(RETURN_BUDGET, reserved=reserved)
            return len(rows)

    async def finish(self) -> None:
        await self.ask(FINISH)

    async def stop(self, reason: str) -> None:
        await self.ask(STOP, reason=reason[:300])

    async def look(self) -> Any:
        async with self.database.cursor(row_factory=namedtuple_row) as cursor:
            return await (await cursor.execute(LOOK, self.given)).fetchone()


def as_list(lines: Sequence[str]) -> str:
    return f"[{','.join(lines)}]"


async def open_database() -> psycopg.AsyncConnection:
    """Open a lane's own connection to Django's database."""
    parameters = connection.get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(name, None)
    return await psycopg.AsyncConnection.connect(**parameters, autocommit=True)


async def in_thread(work: Callable[..., T], *given: Any) -> T:
    """Run work that queries Django's database in a thread, and close its connections afterwards."""

    def work_and_close() -> T:
        try:
            return work(*given)
        finally:
            connections.close_all()

    return await asyncio.to_thread(work_and_close)


async def take_place(database: psycopg.AsyncConnection, run: int, place: int) -> bool:
    """Take the lane's place; False if another has it. It is free again when the connection ends, in whatever way."""
    lock = await database.execute("SELECT pg_try_advisory_lock(hashtext('lane ' || %s), %s)", [str(place), run])
    return (await lock.fetchone() or (False,))[0]


def expire_leases(run: int) -> int:
    """Do what `CallBook.expire` does, from outside any lane."""
    for lane, lines in left_behind(run):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(SETTLE, {"run": run, "lane": lane, "outcomes": as_list(lines)})
            cursor.execute(END_LEASES, {"run": run, "lane": lane})
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(EXPIRE, {"run": run, "most": MOST_ATTEMPTS})
        rows = cursor.fetchall()
        if reserved := sum((row[0] for row in rows), NOTHING):
            cursor.execute(RETURN_BUDGET, {"run": run, "reserved": reserved})
        return len(rows)
