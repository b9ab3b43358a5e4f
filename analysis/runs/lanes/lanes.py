"""A lane: one event loop that takes a run's pending calls and holds `concurrency` of them in flight.

It leases rows, sets their cost aside, sends them, and stores the answers in small batches. It ends itself
after a bounded time, far below the broker's visibility timeout, and its caller starts the next one.
"""

import asyncio
import gc
import logging
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from random import uniform
from typing import Any, NamedTuple

import uvloop

from analysis.endpoints.endpoints import EndpointError, calling, cost_of, price
from analysis.endpoints.limits import LONGEST_PAUSE, Limiter
from analysis.endpoints.providers.calls import FAILS_CALL, MISLED, STOPS_RUN, CallFailed, Provider, Reply
from analysis.models import Completion, Run, SimulatedUser, Task
from analysis.models.conditions import DRAWN, ConditionError, GoneError
from analysis.runs.asking.registry import kind_of, longest_reply
from analysis.runs.lanes.calls import (
    MOST_ATTEMPTS,
    CallBook,
    CallOutcome,
    LeasedCall,
    in_thread,
    open_database,
    take_place,
    write_outcome,
)
from analysis.runs.lanes.journal import Journal
from analysis.runs.recipes.fitting import counter_for
from analysis.runs.recipes.messages import estimate_prompt_tokens, forget_users, messages_for
from analysis.runs.recipes.questions import Subject, reply_format
from surveys.models import BenchmarkItem, Prompt
from surveys.studies.wording import dollars, exact_dollars

log = logging.getLogger(__name__)

# Answers not stored yet wait in the journal; if that is lost with its computer, this much is paid for twice.
FLUSH_SECONDS, FLUSH_ROWS = 0.05, 50
LEASED_AT_ONCE = 256
TASKS_AT_ONCE = 16  # conversations and histories may be large
MOST_BYTES_AHEAD = 16 * 2**20  # of messages that wait to be sent
LONGEST_BACKOFF = 30.0
MISLED_BEFORE_STOP = 3
TICK = 0.5
ASKED: dict[str, Any] = {"prompt": Prompt, "item": BenchmarkItem}
CANNOT_GO_ON = (EndpointError, ConditionError)


class LaneInterrupted(Exception):
    """A request to end this process; calls in flight are stored, the rest given back."""


class LaneTaken(Exception):
    """Another lane of this run is working at this one's place."""


@dataclass(frozen=True)
class Bounds:
    """How long a lane works, and how long it keeps its rows without a sign of life."""

    seconds: float = 240
    lease_seconds: float = 10  # renewed four times as often; what a killed worker held is free after that


class Prepared(NamedTuple):
    """A leased call, ready to be sent."""

    call: LeasedCall
    body: bytes
    key: str
    tokens: int  # estimated, of the prompt
    cost: Decimal  # at most
    included: int | None
    skipped: int
    sha256: str


class Lane:
    def __init__(self, run: Run, provider: Provider, limiter: Limiter, bounds: Bounds) -> None:
        self.run, self.provider, self.limiter, self.bounds = run, provider, limiter, bounds
        self.width = run.endpoint.concurrency
        # Rows are marked as sent a little ahead of sending. After a crash those count as maybe paid too,
        # so the lead is short, and just one call if a rate makes calls wait.
        self.ahead = 1 if limiter.has_rates else max(1, min(self.width // 2, 64))
        self.queue: asyncio.Queue[Prepared | None] = asyncio.Queue()
        self.room, self.has_room = 0, asyncio.Event()
        self.make_room(self.width + self.ahead)
        self.outcomes: list[str] = []
        self.unsent: list[int] = []  # marked as sent when the lane had to end
        self.full, self.done = asyncio.Event(), asyncio.Event()
        self.stopping = self.empty = self.interrupted = False
        self.body_size = 1
        self.answered = self.misled = 0
        self.deadline = time.monotonic() + bounds.seconds
        self.fronts: dict[tuple, tuple] = {}
        self.subjects: dict[tuple[str, int | None], Prompt | BenchmarkItem] = {}

    async def work(self, place: int | None) -> int:
        """Send calls until none are left, time is up or the run is stopped; return the number of answers."""
        name = uuid.uuid4().hex
        async with await open_database() as first, await open_database() as second:
            if place is not None and not await take_place(first, self.run.pk, place):
                raise LaneTaken
            self.feed_book = CallBook(first, self.run.pk, name, self.bounds.lease_seconds)
            self.book = CallBook(second, self.run.pk, name, self.bounds.lease_seconds)
            await self.book.expire()
            self.journal = Journal(self.run.pk, name)
            self.answered_before = (await self.book.look()).answered
            try:
                # One group: when answers can't be stored any more, nothing further may be sent.
                async with asyncio.TaskGroup() as group:
                    steps = (self.store(), self.keep(), self.limiter.follow(self.done))
                    helpers = [group.create_task(step) for step in steps]
                    await asyncio.gather(self.feed(), *(self.send() for _ in range(self.width)))
                    await self.feed_book.give_back(self.unsent)
                    self.empty = True
                    self.full.set()
                    self.done.set()
                    await asyncio.gather(*helpers)
            except BaseExceptionGroup as group_error:
                raise group_error.exceptions[0] from None
            finally:
                self.journal.close()
            await self.book.finish()
        return self.answered

    def end(self) -> None:
        self.stopping = True

    def interrupt(self) -> None:
        self.stopping = self.interrupted = True

    @property
    def is_over(self) -> bool:
        return self.stopping or time.monotonic() > self.deadline

    # --- rows in

    async def feed(self) -> None:
        """Lease ahead, set the budget aside, hand over; at the end give back unsent calls."""
        ready = asyncio.create_task(self.lease())
        while not self.is_over and (calls := await ready):
            ready = asyncio.create_task(self.lease())
            await self.hand_over(calls)
        await self.feed_book.give_back([entry.call.id for entry in await ready])
        for _ in range(self.width):
            self.queue.put_nowait(None)

    async def lease(self) -> list[Prepared]:
        while not self.is_over:
            most = max(self.width, MOST_BYTES_AHEAD // self.body_size)
            calls = await self.book.lease(min(LEASED_AT_ONCE, 4 * self.width, most))
            gone: list[CallOutcome] = []
            try:
                ready: list[Prepared] = await in_thread(list, self.prepare_each(calls, gone)) if calls else []
            except Exception:
                await self.feed_book.give_back([call.id for call in calls])
                raise
            if gone:
                await self.book.settle(gone)
            if ready or not calls:
                return ready
        return []

    async def hand_over(self, calls: list[Prepared]) -> None:
        left = list(calls)
        while left and not self.is_over:
            await self.has_room.wait()
            part = left[: 1 if self.limiter.has_rates else self.room]
            if not await self.limiter.wait(sum(entry.tokens for entry in part), self.deadline):
                break
            ids = await self.reserve(part)
            if ids is None:
                break
            left = left[len(part) :]
            self.make_room(-len(ids))
            for entry in part:
                if entry.call.id in ids:
                    self.queue.put_nowait(entry)
        await self.feed_book.give_back([entry.call.id for entry in left])

    def make_room(self, calls: int) -> None:
        """Let this many more calls be marked as sent; a few at a time, since each marking is a transaction."""
        self.room += calls
        if self.room >= max(1, self.ahead // 2):
            self.has_room.set()
        else:
            self.has_room.clear()

    async def reserve(self, part: list[Prepared]) -> set[int] | None:
        """Wait for room in the budget, and cut `part` to the calls that get it; None if the run is not to go on."""
        while not self.is_over:
            for size in sorted({len(part), 1}, reverse=True):
                ids = await self.feed_book.reserve({entry.call.id: entry.cost for entry in part[:size]})
                if ids is not None:
                    del part[size:]
                    return ids
            if not await self.has_hope(part[0].cost):
                return None
            await asyncio.sleep(TICK / 5)
        return None

    async def has_hope(self, cost: Decimal) -> bool:
        """Whether the budget may still get room from calls under way that turn out cheaper; if not, stop the run."""
        now = await self.feed_book.look()
        if now.state != Run.State.RUNNING or now.budget is None:
            return now.state == Run.State.RUNNING
        if now.reserved > 0 or now.spent + cost <= now.budget:
            return True
        await self.feed_book.stop(
            f"The budget of {exact_dollars(now.budget)} is used up: {exact_dollars(round(now.spent, 4))} spent, and "
            f"the next call may cost {dollars(cost)}. Raise it when you resume the run "
            f"(manage.py run {self.run.pk} resume --budget USD)."
        )
        return False

    # --- messages

    def prepare_each(self, calls: Sequence[LeasedCall], gone: list[CallOutcome] | None = None) -> Iterator[Prepared]:
        """Yield calls ready to be sent. Repeats of one prompt are adjacent and share a body, which is built once.

        Calls whose simulated user is gone fail into `gone`; without it, they raise GoneError.
        """
        for first in range(0, len(calls), TASKS_AT_ONCE):
            group = calls[first : first + TASKS_AT_ONCE]
            tasks = self.find_tasks([call.task_id for call in group if call.task_id])
            for call in group:
                about = (call.user_id, call.prompt_id, call.item_id, call.task_id)
                try:
                    if about not in self.fronts:
                        self.fronts = {about: self.build(call, *self.find_subject(call, tasks))}
                except GoneError as error:
                    if gone is None:
                        raise
                    given = call.id, "failed", call.attempts, call.lost_answers
                    gone.append(CallOutcome(*given, error=str(error), error_kind="refused"))
                    continue
                key = f"{self.run.created_at:%Y%m%d%H%M%S%f}-{self.run.pk}-{call.id}"
                yield Prepared(call, self.fronts[about][0], key, *self.fronts[about][1:])

    def build(self, call: LeasedCall, field: str, subject: Subject) -> tuple:
        built = messages_for(Completion(pk=call.id, run=self.run, user_id=call.user_id, **{field: subject}))
        if isinstance(subject, Task):
            tokens = counter_for(self.run.endpoint).messages(built.messages)
        else:
            user = SimulatedUser.objects.get(pk=call.user_id) if call.user_id else None
            tokens = estimate_prompt_tokens(self.run, subject, user)
        endpoint = self.run.endpoint
        cost = price(endpoint, tokens, longest_reply(self.run))
        body = self.provider.encode(built.messages, reply_format(endpoint, subject))
        self.body_size = len(body)
        return body, tokens, cost, built.included, built.skipped, built.sha256

    def find_tasks(self, keys: Sequence[int]) -> dict[int, Task]:
        """The tasks, with what they are about prefetched, since neighbours share much of it."""
        if not keys:
            return {}
        return Task.objects.prefetch_related(*kind_of(self.run).about).in_bulk(keys)

    def find_subject(self, call: LeasedCall, tasks: Mapping[int, Task]) -> tuple[str, Subject]:
        """The field of what the call asks, and what it is."""
        if call.task_id:
            tasks[call.task_id].run = self.run
            return "task", tasks[call.task_id]
        field, pk = ("prompt", call.prompt_id) if call.prompt_id else ("item", call.item_id)
        if (field, pk) not in self.subjects:
            self.subjects[field, pk] = ASKED[field].objects.get(pk=pk)
        return field, self.subjects[field, pk]

    # --- calls out

    async def send(self) -> None:
        while (entry := await self.queue.get()) is not None:
            if self.is_over:
                self.unsent.append(entry.call.id)
                continue
            outcome = write_outcome(await self.ask(entry))
            self.journal.note(outcome)
            self.make_room(1)
            self.outcomes.append(outcome)  # looked up only now: the list is swapped while a call is in flight
            if len(self.outcomes) >= FLUSH_ROWS:
                self.full.set()

    async def ask(self, entry: Prepared) -> CallOutcome:
        """Try until there is an answer, there is no hope of one, or the lane must end."""
        outcome = CallOutcome(
            entry.call.id, "pending", entry.call.attempts, entry.call.lost_answers, reserved=entry.cost,
            included=entry.included, skipped=entry.skipped, messages_sha256=entry.sha256,
        )  # fmt: skip
        faults, tries, chain = 0, 0, 0
        while True:
            outcome.attempts += 1
            outcome.sent, began = time.time(), time.perf_counter()
            try:
                reply = await self.provider.complete(entry.body, f"{entry.key}-{chain}" if chain else entry.key)
            except CallFailed as failure:
                tries += 1
                faults += failure.kind != "rate-limit"
                # A whole reply that cannot be used would be repeated under its idempotency key.
                chain += failure.kind in ("bad-reply", "no-choices")
                outcome.lost_answers += failure.maybe_paid
                outcome.error, outcome.error_kind = failure.reason, failure.kind
                await self.limiter.note(failure.kind == "rate-limit", failure.retry_after)
                if await self.is_final(failure, outcome, faults):
                    return outcome
                if not await self.back_off(failure, tries, entry.tokens):
                    return outcome
            else:
                await self.limiter.note(refused=False)
                await self.limiter.settle(entry.tokens, reply.prompt_tokens or entry.tokens)
                self.answered += 1
                return self.record(outcome, reply, entry, time.perf_counter() - began)

    async def is_final(self, failure: CallFailed, outcome: CallOutcome, faults: int) -> bool:
        self.misled += failure.kind in MISLED
        misled = not (self.answered or self.answered_before) and self.misled >= min(MISLED_BEFORE_STOP, self.width)
        if failure.kind in STOPS_RUN or (misled and failure.kind in MISLED):
            await self.book.stop(failure.reason)
            self.end()
            return True
        # Answers that other lanes lost count too; a call that somebody retried may lose as many again.
        has_lost_most = failure.maybe_paid and outcome.lost_answers % MOST_ATTEMPTS == 0
        if failure.kind in FAILS_CALL or faults >= MOST_ATTEMPTS or has_lost_most:
            outcome.status = "failed"
        return outcome.status == "failed" or self.stopping

    async def back_off(self, failure: CallFailed, tries: int, tokens: int) -> bool:
        """Wait before the next try; False if the lane should end first."""
        seconds = uniform(0, min(LONGEST_BACKOFF, 0.5 * 2**tries))
        if failure.retry_after:  # a provider that says 0 is asked again with growing pauses too
            seconds = failure.retry_after + uniform(0, min(1.0, failure.retry_after / 4))
        if seconds > LONGEST_PAUSE:
            await self.book.stop(f"The provider asks to wait {seconds / 60:.0f} minutes: {failure.reason}")
            self.end()
        if self.stopping or time.monotonic() + seconds > self.deadline:
            return False
        await asyncio.sleep(seconds)
        return await self.limiter.wait(tokens, self.deadline) and not self.is_over

    def record(self, outcome: CallOutcome, reply: Reply, entry: Prepared, seconds: float) -> CallOutcome:
        outcome.status, outcome.error, outcome.error_kind = "done", "", ""
        outcome.reply, outcome.finish_reason = reply.text, reply.finish_reason
        outcome.model_served, outcome.fingerprint = reply.model, reply.fingerprint
        outcome.request_id, outcome.latency_ms = reply.request_id, round(seconds * 1000)
        outcome.prompt_tokens, outcome.completion_tokens = reply.prompt_tokens, reply.completion_tokens
        outcome.cached_tokens = reply.cached_tokens
        outcome.cost = cost_of(self.run.endpoint, reply, entry.tokens)
        return outcome

    # --- rows out

    async def store(self) -> None:
        while not self.empty:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.full.wait(), FLUSH_SECONDS)
            self.full.clear()
            await self.flush()
        await self.flush()

    async def flush(self) -> None:
        ready, self.outcomes = self.outcomes, []
        if not ready:
            return
        self.journal.turn()
        settled, state = await self.book.settle_written(ready)
        self.journal.forget()
        if settled < len(ready):
            log.warning("%s answers of run %s came after their lease", len(ready) - settled, self.run.pk)
        if state != Run.State.RUNNING:
            self.end()

    async def keep(self) -> None:
        """Renew our leases, take back those of dead lanes, and notice when the run is stopped."""
        renewed = time.monotonic()
        while not self.empty:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.done.wait(), min(TICK, self.bounds.lease_seconds / 4))
            if (await self.book.look()).state != Run.State.RUNNING:
                self.end()
            if time.monotonic() - renewed > self.bounds.lease_seconds / 4:
                renewed = time.monotonic()
                await self.book.renew()
                await self.book.expire()


def run_lane(
    run_id: int,
    bounds: Bounds = Bounds(),  # noqa: B008
    should_stop: Callable[[], bool] | None = None,
    place: int | None = None,
) -> int:
    """Work on a run in this thread; return how many calls were answered.

    If a `place` is given, only one lane of the run works there at a time. A run that cannot go on (no key, messages
    that cannot be built) is stopped with the reason.
    """
    run = Run.objects.select_related("endpoint", "version", "study", *DRAWN).get(pk=run_id)
    if run.state != Run.State.RUNNING:
        return 0
    forget_users()
    try:
        longest_reply(run)  # caches the run's kind for the loop, which may not query the database
        with frozen_heap(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(open_lane(run, bounds, should_stop, place))
    except CANNOT_GO_ON as error:
        open_state = Run.objects.filter(pk=run_id, state=Run.State.RUNNING)
        open_state.update(state=Run.State.STOPPED, reason=str(error)[:300])
        return 0


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Keep the garbage collector from scanning what is in memory already while every call waits."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


async def open_lane(run: Run, bounds: Bounds, should_stop: Callable[[], bool] | None, place: int | None) -> int:
    async with calling(run.endpoint, run.temperature, longest_reply(run)) as (provider, limiter):
        lane = Lane(run, provider, limiter, bounds)
        watcher = asyncio.create_task(watch_for_stop(lane, should_stop))
        try:
            answered = await lane.work(place)
        finally:
            watcher.cancel()
        if lane.interrupted:
            raise LaneInterrupted
        return answered


async def watch_for_stop(lane: Lane, should_stop: Callable[[], bool] | None) -> None:
    """End the lane gracefully on Ctrl-C or SIGTERM (in a process of our own), or when the worker ends."""
    loop = asyncio.get_running_loop()
    if should_stop is None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, lane.interrupt)
        return
    while not await asyncio.to_thread(should_stop):
        await asyncio.sleep(1)
    lane.end()
