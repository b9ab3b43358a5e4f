"""Limits on requests and tokens a minute, and pauses, shared by all lanes of an endpoint through Valkey."""

import asyncio
import math
import time
from collections import deque
from contextlib import suppress
from random import uniform

import redis
import redis.asyncio
from django.conf import settings

from analysis.models import Endpoint

# A caller that comes late may catch up on this much; more would let a minute begin with a burst.
SLACK = 0.25
LONGEST_PAUSE = 120.0
REMEMBERED = 20  # answers and refusals of a lane; a quarter refused is many
POLL = 0.2

# Each bucket is the time at which its next unit is due. A caller takes a slot at once and waits until it
# comes, so that nobody asks twice and the spacing is exact however many workers there are. A slot that comes
# later than the caller can wait (ARGV[6], seconds) is left to others: the result is negative.
TAKE = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1e6
local slot = math.max(now, tonumber(redis.call('GET', KEYS[3]) or 0))
local taken = {}
for bucket = 1, 2 do
  local amount, rate = tonumber(ARGV[bucket * 2 - 1]), tonumber(ARGV[bucket * 2])
  if rate > 0 and amount ~= 0 then
    local due = math.max(tonumber(redis.call('GET', KEYS[bucket]) or 0), now - tonumber(ARGV[5]))
    if due > slot then slot = due end
    taken[bucket] = due + amount * 60 / rate
  end
end
if slot - now > tonumber(ARGV[6]) then return -1 end
for bucket, after in pairs(taken) do
  local seconds = math.max(1, math.ceil(after - now) + 60)
  redis.call('SET', KEYS[bucket], string.format('%.6f', after), 'EX', seconds)
end
return math.floor((slot - now) * 1e6)
"""
LONGEST_WAIT = 1e9  # seconds; for callers that may wait for ever
PAUSE = """
local clock = redis.call('TIME')
local till = clock[1] + clock[2] / 1e6 + tonumber(ARGV[1])
if till > tonumber(redis.call('GET', KEYS[1]) or 0) then
  redis.call('SET', KEYS[1], string.format('%.6f', till), 'EX', math.ceil(tonumber(ARGV[1])) + 1)
end
return 1
"""


def keys_of(endpoint_name: str) -> list[str]:
    return [f"limits:{endpoint_name}:{name}" for name in ("requests", "tokens", "not-before")]


class Limiter:
    """One lane's access to the endpoint's limits."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.keys = keys_of(endpoint.name)
        self.requests = endpoint.requests_per_minute or 0
        self.tokens = endpoint.tokens_per_minute or 0
        self.valkey = redis.asyncio.Redis.from_url(settings.REDIS_URL)
        self.take = self.valkey.register_script(TAKE)
        self.set_pause = self.valkey.register_script(PAUSE)
        self.paused_until = 0.0  # by this process's monotonic clock
        self.turn = asyncio.Lock()
        self.refusals: deque[bool] = deque(maxlen=REMEMBERED)
        self.pauses = 0

    @property
    def has_rates(self) -> bool:
        return bool(self.requests or self.tokens)

    async def wait(self, tokens: int, until: float = LONGEST_WAIT) -> bool:
        """Wait until one more request of this many tokens may be sent; False, at `until` by the monotonic clock, if
        that is later.
        """
        if self.has_rates:
            async with self.turn:  # one at a time, so that a lane that ends leaves one unused slot at most
                left = max(0.0, until - time.monotonic())
                slot = await self.take_slot([1, self.requests, tokens, self.tokens, SLACK, left])
                await asyncio.sleep(left if slot < 0 else slot / 1e6)
            if slot < 0:
                return False
        while (left := self.paused_until - time.monotonic()) > 0:
            await asyncio.sleep(left + uniform(0, min(1.0, left)))
        return True

    async def take_slot(self, arguments: list[float]) -> int:
        """Take a slot; return microseconds until it comes, below 0 if that is too late. Wait for Valkey, without
        which nobody knows the rate.
        """
        while True:
            try:
                return await self.take(self.keys, arguments)
            except redis.RedisError:
                await asyncio.sleep(POLL)

    async def settle(self, planned: int, used: int) -> None:
        """Give back tokens that were planned and not used, or take those used beyond the plan."""
        if self.tokens and used != planned:
            with suppress(redis.RedisError):
                await self.take(self.keys, [0, 0, used - planned, self.tokens, SLACK, LONGEST_WAIT])

    async def note(self, refused: bool, retry_after: float | None = None) -> None:
        """Count an answer or a refusal (429); many refusals together pause all lanes.

        Scattered ones concern the refused call alone: pausing everybody for each would leave a fleet of
        lanes standing still while the provider serves nineteen calls of twenty.
        """
        self.refusals.append(refused)
        if not refused:
            self.pauses = 0
        elif self.refusals.count(True) >= REMEMBERED // 4 and self.paused_until <= time.monotonic():
            self.pauses += 1
            seconds = retry_after or min(2.0**self.pauses / 2, 30.0)
            await self.pause(min(seconds, LONGEST_PAUSE))

    async def pause(self, seconds: float) -> None:
        self.paused_until = max(self.paused_until, time.monotonic() + seconds)
        self.refusals.clear()
        with suppress(redis.RedisError):  # then this lane pauses alone
            await self.set_pause(self.keys[2:], [seconds])

    async def follow(self, ended: asyncio.Event) -> None:
        """Learn of pauses that other lanes set, until this lane has ended."""
        while not ended.is_set():
            with suppress(redis.RedisError):
                left = float(await self.valkey.get(self.keys[2]) or 0) - time.time()
                if left > 0:
                    self.paused_until = max(self.paused_until, time.monotonic() + left)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), POLL)

    async def close(self) -> None:
        await self.valkey.aclose()


def waiting_until(endpoint_name: str) -> float | None:
    """The Unix time before which nothing is sent to the endpoint; None if nothing holds it up."""
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1) as valkey:
        till = float(valkey.get(keys_of(endpoint_name)[2]) or 0)
    return till if till > time.time() and math.isfinite(till) else None
