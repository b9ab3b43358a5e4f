"""Rates hold across all lanes together, and a pause stops all of them."""

import asyncio
import time
from collections.abc import Iterator

import pytest
import redis
from django.conf import settings as django_settings

from analysis.endpoints.limits import Limiter, waiting_until
from analysis.models import Endpoint


@pytest.fixture(autouse=True)
def empty_valkey() -> Iterator[None]:
    with redis.Redis.from_url(django_settings.REDIS_URL) as valkey:
        for key in valkey.scan_iter("limits:*"):
            valkey.delete(key)
        yield


def endpoint(**changes: int) -> Endpoint:
    return Endpoint(name="limited", model="m", **changes)


async def send_for(limiter: Limiter, seconds: float, tokens: int = 1) -> list[float]:
    sent, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        await limiter.wait(tokens)
        sent.append(time.monotonic())
    return sent


def times_of(lanes: int, seconds: float, tokens: int = 1, **rates: int) -> list[float]:
    async def together() -> list[float]:
        limiters = [Limiter(endpoint(**rates)) for _ in range(lanes)]
        sent = await asyncio.gather(*(send_for(limiter, seconds, tokens) for limiter in limiters))
        for limiter in limiters:
            await limiter.close()
        return sorted(moment for moments in sent for moment in moments)

    return asyncio.run(together())


def test_two_lanes_share_one_rate_of_requests() -> None:
    sent = times_of(2, 4.0, requests_per_minute=600)
    within = [moment for moment in sent if moment < sent[0] + 4.0]
    assert 0.95 * 40 <= len(within) <= 40 + 3  # 10 a second, plus what may be caught up at the start


def test_tokens_space_out_long_requests() -> None:
    sent = times_of(1, 2.0, tokens=500, tokens_per_minute=60_000)  # one every half second
    within = [moment for moment in sent if moment < sent[0] + 2.0]
    assert 3 <= len(within) <= 5


def test_tokens_that_were_not_used_are_given_back() -> None:
    async def wait_after(used: int) -> float:
        limiter = Limiter(endpoint(tokens_per_minute=60_000))
        await limiter.valkey.delete(*limiter.keys)
        await limiter.wait(1000)
        await limiter.settle(1000, used)
        began = time.monotonic()
        await limiter.wait(1)
        await limiter.close()
        return time.monotonic() - began

    assert asyncio.run(wait_after(used=1000)) > 0.5 > asyncio.run(wait_after(used=10))


def test_one_lane_s_pause_is_seen_by_another_and_on_the_run_page() -> None:
    async def pause_and_follow() -> float:
        first, second, ended = Limiter(endpoint()), Limiter(endpoint()), asyncio.Event()
        following = asyncio.create_task(second.follow(ended))
        await first.pause(1.0)
        await asyncio.sleep(0.4)
        began = time.monotonic()
        await second.wait(1)
        ended.set()
        await following
        await asyncio.gather(first.close(), second.close())
        return time.monotonic() - began

    assert 0.3 < asyncio.run(pause_and_follow()) < 3


def test_pause_is_told_until_it_is_over() -> None:
    async def pause() -> None:
        limiter = Limiter(endpoint())
        await limiter.pause(0.5)
        await limiter.close()

    asyncio.run(pause())
    assert time.time() < waiting_until("limited") < time.time() + 0.6
    time.sleep(0.6)
    assert waiting_until("limited") is None


def test_shorter_pause_does_not_end_a_longer_one() -> None:
    async def pause_twice() -> None:
        limiter = Limiter(endpoint())
        await limiter.pause(30)
        await limiter.pause(1)
        await limiter.close()

    asyncio.run(pause_twice())
    assert waiting_until("limited") > time.time() + 20


@pytest.mark.parametrize(("every", "pauses"), [(20, False), (2, True)])
def test_scattered_refusals_do_not_pause_everybody(every: int, pauses: bool) -> None:
    async def note() -> bool:
        limiter = Limiter(endpoint())
        for number in range(60):
            await limiter.note(number % every == 0, retry_after=5)
        await limiter.close()
        return limiter.paused_until > time.monotonic()

    assert asyncio.run(note()) is pauses
