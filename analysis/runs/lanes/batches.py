"""OpenAI's Batch API as a second way to send the same calls: submit, poll, read back; at half the price.

A batch holds its rows under a lease named like the batch, so that no lane takes them. It is noted in the run's
`batch_ids` before it is submitted, and its name goes along as metadata: a process that dies in between finds its
batch again instead of paying for a second one.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from typing import Any, Final

import aiohttp
import httpx2
from django.db import transaction
from django.db.models import Q

from analysis.endpoints.endpoints import EndpointError, calling, cost_of
from analysis.endpoints.limits import Limiter
from analysis.endpoints.providers.calls import CallFailed
from analysis.endpoints.providers.openai import OpenAIProvider, object_of, openai_package, read_reply
from analysis.models import Run
from analysis.models.conditions import DRAWN, ConditionError
from analysis.runs.asking.registry import longest_reply
from analysis.runs.lanes.calls import (
    MOST_ATTEMPTS,
    NOTHING,
    CallBook,
    CallOutcome,
    LeasedCall,
    in_thread,
    open_database,
)
from analysis.runs.lanes.lanes import CANNOT_GO_ON, Bounds, Lane, Prepared
from analysis.runs.recipes.messages import forget_users
from analysis.runs.recipes.plans import BATCH_PRICE
from surveys.reading.nesting import read_json

log = logging.getLogger(__name__)

MOST_CALLS, MOST_BYTES = 50_000, 150 * 2**20
ROWS_AT_ONCE = 200
LEASE_SECONDS = 26 * 3600  # a batch may take 24 hours
ENDED = ("completed", "expired", "cancelled", "failed")
NOTHING_TO_COME = (*ENDED, "not sent", "gone")
TRY_AGAIN = (408, 409, 425, 429)
BROKEN = (TimeoutError, aiohttp.ClientError, httpx2.TransportError)  # while a file is read
PATH: Final = "/v1/chat/completions"


def work(run_id: int) -> int:
    """Submit pending calls and read back ended batches; return the number of rows settled.

    A run that is paused, stopped or cancelled submits nothing, but answers of its batches are paid for, and kept.
    """
    run = Run.objects.select_related("endpoint", "version", "study", *DRAWN).get(pk=run_id)
    if run.state != Run.State.RUNNING and not open_batches(run):
        return 0
    forget_users()
    try:
        return asyncio.run(work_in_loop(run))
    except CANNOT_GO_ON as error:
        stop(run, str(error))
    except (openai_package().APIError, *BROKEN) as error:
        if passes(error):
            log.warning("Run %s, whose batches are looked after again later: %s", run.pk, error or "no answer in time")
        else:
            stop(run, f"The batch API refused: {error}")
    return 0


def passes(error: Any) -> bool:
    """Whether what the batch API could not do now may be done at the next look."""
    if isinstance(error, openai_package().APIStatusError):
        status, has_quota = error.status_code, error.code != "insufficient_quota"
        return has_quota and (status >= 500 or status in TRY_AGAIN)
    return isinstance(error, (openai_package().APIConnectionError, *BROKEN))


def stop(run: Run, reason: str) -> None:
    running = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
    if not running.update(state=Run.State.STOPPED, reason=" ".join(reason.split())[:300]):
        log.warning("Run %s, whose batches are still to be read back: %s", run.pk, reason)


def open_batches(run: Run) -> list[dict[str, Any]]:
    """Batches that were submitted, or may have been, and are not read back yet."""
    return [entry for entry in run.batch_ids if entry.get("state") not in NOTHING_TO_COME]


def runs_with_batches() -> list[Run]:
    """Runs for which `work` has something to do."""
    found = Run.objects.filter(batch=True).exclude(state__in=[Run.State.PLANNED, Run.State.DONE])
    return [run for run in found.only("state", "batch_ids") if run.state == Run.State.RUNNING or open_batches(run)]


async def work_in_loop(run: Run) -> int:
    async with calling(run.endpoint, run.temperature, longest_reply(run)) as (provider, limiter):
        if not isinstance(provider, OpenAIProvider):
            raise EndpointError(f"{run.endpoint.name} has no batch API. Plan the run without it (no --batch).")
        try:
            async with await open_database() as database:
                mine = BatchClient(run, provider, limiter, database)
                if not await mine.is_alone():
                    return 0
                if run.state == Run.State.RUNNING:
                    await mine.submit()
                settled = await mine.collect()
                await mine.book("").finish()
                return settled
        except CallFailed as failure:
            raise EndpointError(failure.reason) from None


class BatchClient:
    """Submits and fetches the batches of one run."""

    def __init__(self, run: Run, provider: OpenAIProvider, limiter: Limiter, database: Any) -> None:
        self.run, self.provider, self.database = run, provider, database
        self.client = provider.client
        self.lane = Lane(run, provider, limiter, Bounds())

    def book(self, name: str) -> CallBook:
        return CallBook(self.database, self.run.pk, name, LEASE_SECONDS)

    async def is_alone(self) -> bool:
        """Whether this is the run's only client: another would take a batch that is being submitted for a lost one."""
        lock = await self.database.execute("SELECT pg_try_advisory_lock(hashtext('batches'), %s)", [self.run.pk])
        return (await lock.fetchone() or (False,))[0]

    # --- submitting

    async def submit(self) -> None:
        while await self.submit_one(f"batch-{uuid.uuid4().hex[:24]}"):
            pass

    async def submit_one(self, name: str) -> bool:
        """Submit one file with as many calls as fit; False if nothing is left to send or to pay with."""
        book = self.book(name)
        calls = await book.lease(MOST_CALLS)
        if not calls:
            return False
        await self.note(name, calls=0, batch="")
        gone: list[CallOutcome] = []
        lines, prepared = await in_thread(self.write_lines, calls, gone)
        if gone:
            await book.settle(gone)
        if not prepared:
            await self.note(name, state="not sent")
            return True
        costs = await self.afford(
            {entry.call.id: (entry.cost * BATCH_PRICE).quantize(Decimal("1e-8")) for entry in prepared}
        )
        await book.give_back([call.id for call in calls if call.id not in costs])
        if not costs or await book.reserve(costs) is None:
            await book.give_back(list(costs))
            await self.note(name, state="not sent")
            await book.stop(
                "The budget has no room for another call. Raise it when you resume the run "
                f"(manage.py run {self.run.pk} resume --budget USD)."
            )
            return False
        await self.hand_in(name, b"".join(lines[: len(costs)]), len(costs))
        return True

    async def afford(self, costs: dict[int, Decimal]) -> dict[int, Decimal]:
        """The first of these calls, as far as the rest of the budget pays for them."""
        now = await self.book("").look()
        if now.budget is None:
            return costs
        left, affordable = now.budget - now.spent - now.reserved, {}
        for call, cost in costs.items():
            left -= cost
            if left < 0:
                break
            affordable[call] = cost
        return affordable

    def write_lines(self, calls: list[LeasedCall], gone: list[CallOutcome]) -> tuple[list[bytes], list[Prepared]]:
        """The file's lines and their calls, in the run's order, as far as the size allows; `gone`: see prepare_each."""
        lines: list[bytes] = []
        prepared: list[Prepared] = []
        size = 0
        for entry in self.lane.prepare_each(calls, gone):
            body = entry.body.decode()
            line = f'{{"custom_id": "{entry.call.id}", "method": "POST", "url": "{PATH}", "body": {body}}}\n'
            size += len(line)
            if size > MOST_BYTES and prepared:
                break
            lines.append(line.encode())
            prepared.append(entry._replace(body=b""))
        return lines, prepared

    async def hand_in(self, name: str, lines: bytes, calls: int) -> None:
        upload = await self.client.files.create(file=(f"{name}.jsonl", lines), purpose="batch")
        batch = await self.client.batches.create(
            input_file_id=upload.id, endpoint=PATH, completion_window="24h", metadata={"name": name}
        )
        await self.note(name, batch=batch.id, calls=calls, state="in_progress")

    async def note(self, name: str, **changes: Any) -> None:
        await in_thread(note_batch, self.run.pk, name, changes)

    # --- fetching

    async def collect(self) -> int:
        settled = 0
        run = await in_thread(Run.objects.only("batch_ids").get, Q(pk=self.run.pk))
        for entry in open_batches(run):
            try:
                settled += await self.collect_one(entry)
            except openai_package().NotFoundError:
                if self.run.state != Run.State.CANCELLED:
                    raise
                await self.give_all_back(entry["name"])  # nobody waits for it, so it is not retrieved again
                await self.note(entry["name"], state="gone")
        return settled

    async def collect_one(self, entry: dict[str, Any]) -> int:
        name = entry["name"]
        batch = await self.find(entry)
        if batch is None:  # it never reached the provider
            await self.give_all_back(name)
            await self.note(name, state="not sent")
            return 0
        if self.run.state == Run.State.CANCELLED and batch.status not in (*ENDED, "cancelling"):
            batch = await self.client.batches.cancel(batch.id)
        if batch.status not in ENDED:
            await self.note(name, batch=batch.id, state=batch.status)
            await self.book(name).renew()
            return 0
        settled = 0
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                settled += await self.read_back(name, file)
        await self.give_all_back(name)
        await self.note(name, batch=batch.id, state=batch.status)
        if batch.status == "failed":
            messages = "; ".join(error.message or "" for error in (batch.errors.data or [])) if batch.errors else ""
            await self.book(name).stop(f"The provider refused the batch: {messages or 'no reason given'}")
        return settled

    async def find(self, entry: dict[str, Any]) -> Any:
        if entry["batch"]:
            return await self.client.batches.retrieve(entry["batch"])
        async for batch in self.client.batches.list():
            if (batch.metadata or {}).get("name") == entry["name"]:
                return batch
        return None

    async def read_back(self, name: str, file: str) -> int:
        """Store a file's answers as its lines arrive, in any order, and return how many."""
        rows = await in_thread(self.rows_of, name)
        read: list[tuple[Any, dict[str, Any]]] = []
        settled = 0
        async for line in self.lines_of(file):
            document = document_of(line)
            row = rows.pop(str(document.get("custom_id")), None)
            if row is not None:  # a line that is not ours, or a second one for the same call, changes nothing
                read.append((row, document))
            if len(read) >= ROWS_AT_ONCE:
                settled += await self.settle(name, read)
                read = []
        return settled + await self.settle(name, read)

    async def settle(self, name: str, read: list[tuple[Any, dict[str, Any]]]) -> int:
        if not read:
            return 0
        outcomes = await in_thread(self.judge_all, read)
        return (await self.book(name).settle(outcomes))[0]

    def judge_all(self, read: list[tuple[Any, dict[str, Any]]]) -> list[CallOutcome]:
        """Judge the lines in the run's order, so that one prompt's messages are built once."""
        ordered = sorted(read, key=lambda pair: pair[0].position)
        calls = [LeasedCall(*(getattr(row, name) for name in LeasedCall._fields)) for row, _ in ordered]
        return [self.judge(*pair, entry) for pair, entry in zip(ordered, self.prepare_again(calls), strict=True)]

    def prepare_again(self, calls: Sequence[LeasedCall]) -> list[Prepared]:
        """The calls as they were sent; of one that cannot be rebuilt, as after erasing a person, the bare call."""
        try:
            return list(self.lane.prepare_each(calls))
        except ConditionError:
            if len(calls) > 1:
                return [entry for call in calls for entry in self.prepare_again([call])]
            return [Prepared(calls[0], b"", "", tokens=0, cost=NOTHING, included=None, skipped=0, sha256="")]

    async def lines_of(self, file: str) -> AsyncIterator[str]:
        async with self.client.files.with_streaming_response.content(file) as response:
            async for line in response.iter_lines():
                if line.strip():
                    yield line

    def rows_of(self, name: str) -> dict[str, Any]:
        rows = self.run.completions.filter(lane=name).order_by("position")
        return {str(row.pk): row for row in rows.only("reserved", *LeasedCall._fields)}

    def judge(self, row: Any, document: dict[str, Any], entry: Prepared) -> CallOutcome:
        """The outcome of a call; one that never comes whole fails at every eighth try, since each may be paid for."""
        outcome = self.judge_response(row, document, entry)
        if outcome.status == "pending" and outcome.attempts % MOST_ATTEMPTS == 0:
            outcome.status = "failed"
        return outcome

    def judge_response(self, row: Any, document: dict[str, Any], entry: Prepared) -> CallOutcome:
        outcome = CallOutcome(
            row.pk, "pending", row.attempts + 1, row.lost_answers, reserved=row.reserved,
            included=entry.included, skipped=entry.skipped, messages_sha256=entry.sha256,
        )  # fmt: skip
        response = object_of(document.get("response"))
        status = response.get("status_code")
        if not isinstance(status, int):  # none, as of a call for which its batch had no time left
            status = 500
        if status == 200:
            return self.judge_reply(outcome, entry, response)
        outcome.error = self.provider.clean(f"{status}: {document.get('error') or response.get('body')}")
        outcome.error_kind = "server"
        if 400 <= status < 500 and status not in TRY_AGAIN:
            outcome.status, outcome.error_kind = "failed", "refused"
        return outcome

    def judge_reply(self, outcome: CallOutcome, entry: Prepared, response: dict[str, Any]) -> CallOutcome:
        try:
            headers = {"x-request-id": response.get("request_id") or ""}
            reply = read_reply(response.get("body"), headers, self.provider.settings.key)
        except CallFailed as failure:
            outcome.error, outcome.error_kind = failure.reason, failure.kind
            outcome.lost_answers += 1
            return outcome
        self.lane.record(outcome, reply, entry, 0)
        outcome.latency_ms = None
        outcome.cost = cost_of(self.run.endpoint, reply, entry.tokens, BATCH_PRICE)
        return outcome

    async def give_all_back(self, name: str) -> None:
        rows = await in_thread(self.rows_of, name)
        await self.book(name).give_back([row.pk for row in rows.values()])


@transaction.atomic
def note_batch(run_id: int, name: str, changes: dict[str, Any]) -> None:
    run = Run.objects.select_for_update(of=("self",)).get(pk=run_id)
    known = {entry["name"]: entry for entry in run.batch_ids}
    known[name] = {"batch": "", "calls": 0, **known.get(name, {}), **changes, "name": name}
    run.batch_ids = list(known.values())
    run.save(update_fields=["batch_ids"])


def cancel_batches(run_id: int) -> int:
    """Ask the provider to end the run's open batches; what they have answered is still read back and kept."""
    run = Run.objects.select_related("endpoint").get(pk=run_id)
    open_ones = [entry["batch"] for entry in open_batches(run) if entry["batch"]]
    if open_ones:
        asyncio.run(cancel_in_loop(run, open_ones))
    return len(open_ones)


async def cancel_in_loop(run: Run, ids: list[str]) -> None:
    async with calling(run.endpoint, run.temperature) as (provider, _):
        for batch in ids:
            try:
                if isinstance(provider, OpenAIProvider):
                    await provider.client.batches.cancel(batch)
            except openai_package().APIStatusError as error:  # such as of a batch that has ended meanwhile
                log.warning("Batch %s of run %s is not cancelled: %s", batch, run.pk, error)


def document_of(line: str) -> dict[str, Any]:
    """The object in a line of a batch's file; empty if it is no JSON object, such as a proxy's page."""
    try:
        return object_of(read_json(line))
    except ValueError:
        return {}
