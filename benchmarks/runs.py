"""How fast a lane sends a run, beside bare loops over as many calls: `python -m benchmarks.runs`.

Each round starts a model server (tests/fake_server.py) in a process of its own. One bare loop sends by aiohttp, with
the lane's event loop, and reads each reply's text; the other sends by an AsyncOpenAI client.
"""

import argparse
import asyncio
import itertools
import json
import logging
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import openai
import uvloop
from django.core.management import call_command

from benchmarks.goals import ROWS, Goal
from benchmarks.server import database_of_its_own
from fieldstudy.embedded import servers
from fieldstudy.embedded.children import following_parent

IN_FLIGHT = 64
MOST = 1.15  # times the bare aiohttp loop, at 20 ms
QUESTION = "Recommend five books for me to read next. Please give a numbered list."
FAULTS = ("--fault", "429=0.05", "--fault", "500=0.02", "--retry-after", "0.2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--planned", type=int, default=100_000, help="calls of the plan whose memory is measured")
    options = parser.parse_args()
    with database_of_its_own():
        prepare()
        for latency in (200, 20):
            compare(options, latency, BARE)
        measure_extraction(options)
        measure_faults(options.calls)
        measure_rate()
        measure_memory(options.planned)


def goals(quick: bool) -> list[Goal]:
    options = argparse.Namespace(calls=500 if quick else 2000, rounds=1 if quick else 5)
    with database_of_its_own():
        prepare()
        ratio = compare(options, 20, (AIOHTTP,))
    return [Goal(ROWS["runs"][0], ratio, MOST, "×")]


def prepare() -> None:
    logging.disable(logging.INFO)  # one line per request would slow the bare loop, whose package writes it
    call_command("load_study", str(servers.ROOT / "surveys" / "studies" / "demo.toml"), verbosity=0)


def compare(options: argparse.Namespace, latency: int, others: tuple[str, ...]) -> float:
    """Return the median over rounds of the lane's wall time divided by that of the first other.

    They take turns in each round, so that all meet the same load on the machine.
    """
    limit = options.calls / IN_FLIGHT * latency / 1000
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in ("lane", *others)}
    for _ in range(options.rounds):
        for name, rounds in results.items():
            with serving("--latency", f"fixed:{latency}") as address:
                rounds.append(SENDERS[name](address, options.calls))
    for name, rounds in results.items():
        wall = statistics.median(seconds for seconds, _ in rounds)
        cpu = statistics.median(used for _, used in rounds) / options.calls * 1000
        print(
            f"{latency} ms, {name}: {wall:.2f} s = {wall / limit:.2f} x the limit, {cpu:.2f} ms of CPU a call "
            f"({' '.join(f'{seconds:.2f}' for seconds, _ in rounds)} s)",
            flush=True,
        )
    pairs = zip(results["lane"], results[others[0]], strict=True)
    ratios = sorted(ours / theirs for (ours, _), (theirs, _) in pairs)
    print(f"{latency} ms, lane beside the {others[0]}: {' '.join(f'{ratio:.2f}' for ratio in ratios)} x", flush=True)
    return statistics.median(ratios)


@contextmanager
def serving(*options: str) -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "tests.fake_server",
        "--reply",
        "1. Circe\n2. Kindred",
        *options,
    ]
    dying_with_us = following_parent(signal.SIGKILL)
    process = subprocess.Popen(command, cwd=servers.ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=dying_with_us)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def requests_of(address: str) -> list[dict]:
    with urllib.request.urlopen(address.removesuffix("/v1") + "/log") as response:
        return json.load(response)["requests"]


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def plan(address: str, calls: int, **changes: object):
    """Start a run of at least this many calls, over the demo's prompts."""
    from analysis.runs.lanes.runs import start
    from analysis.runs.recipes.plans import Plan, plan_run
    from surveys.models import Study

    endpoint = add_bench_endpoint(address, **changes)
    version = Study.objects.get(slug="demo").current
    repeats = -(-calls // version.prompts.count())
    run, _ = plan_run(Plan(endpoint=endpoint, condition="offline", version=version), repeats, "benchmark")
    return start(run)


def add_bench_endpoint(address: str, **changes: object):
    from analysis.endpoints.endpoints import add_endpoint

    given = {"base_url": address, "model": "fake-1", "concurrency": IN_FLIGHT, "max_tokens": 200} | changes
    return add_endpoint(f"bench-{time.time_ns()}", **given)


def send_by_lane(address: str, calls: int) -> tuple[float, float]:
    """Return seconds from the first request to the last committed reply, and the CPU seconds of the whole lane."""
    from analysis.runs.lanes.lanes import run_lane

    run = plan(address, calls)
    before = cpu_seconds()
    run_lane(run.pk)
    used = cpu_seconds() - before
    return sending_seconds(run, address), used


def sending_seconds(run, address: str) -> float:
    last = run.completions.filter(status="done").latest("done_at").done_at.timestamp()
    return last - min(request["at"] for request in requests_of(address))


def send_by_aiohttp(address: str, calls: int) -> tuple[float, float]:
    before = cpu_seconds()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        ended = runner.run(aiohttp_loop(address, calls))
    return ended - min(request["at"] for request in requests_of(address)), cpu_seconds() - before


async def aiohttp_loop(address: str, calls: int) -> float:
    """Send this many calls; return when the last reply's text was read."""
    body = json.dumps({"model": "fake-1", "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 200})
    headers = {"Authorization": "Bearer none", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:
        left = iter(range(calls))

        async def send() -> None:
            for _ in left:
                async with session.post(f"{address}/chat/completions", data=body.encode()) as response:
                    assert (await response.json())["choices"][0]["message"]["content"]

        await asyncio.gather(*(send() for _ in range(IN_FLIGHT)))
    return time.time()


def send_by_openai(address: str, calls: int) -> tuple[float, float]:
    before, began = cpu_seconds(), time.time()
    asyncio.run(openai_loop(address, calls))
    return time.time() - began, cpu_seconds() - before


async def openai_loop(address: str, calls: int) -> None:
    transport = openai.DefaultAioHttpClient()
    async with openai.AsyncOpenAI(base_url=address, api_key="none", http_client=transport) as client:
        left = iter(range(calls))

        async def send() -> None:
            for _ in left:
                message = {"role": "user", "content": QUESTION}
                await client.chat.completions.create(model="fake-1", messages=[message])

        await asyncio.gather(*(send() for _ in range(IN_FLIGHT)))


AIOHTTP, OPENAI = BARE = ("bare aiohttp loop", "bare AsyncOpenAI loop")
SENDERS = {"lane": send_by_lane, AIOHTTP: send_by_aiohttp, OPENAI: send_by_openai}

TOLD = '{"attributes": [{"reasoning": "r", "attribute": "Likes tea.", "confidence": 0.9, "evidence": ["tea"]}]}'


def measure_extraction(options: argparse.Namespace) -> None:
    """Time extraction at 200 ms: planning a corpus, writing calls from its conversations, sending, reading replies."""
    from analysis.runs.asking.conversations import EXTRACT
    from analysis.runs.asking.plans import plan_conversations
    from analysis.runs.asking.replies import read_replies
    from analysis.runs.lanes.lanes import run_lane
    from analysis.runs.lanes.runs import start

    corpus = make_corpus(options.calls)
    limit = options.calls / IN_FLIGHT * 0.2
    walls, used = [], []
    for _ in range(options.rounds):
        with serving("--latency", "fixed:200", "--reply", TOLD) as address:
            endpoint = add_bench_endpoint(address)
            steps = [cpu_seconds()]
            run, _ = plan_conversations(EXTRACT, corpus, endpoint.name, "benchmark")
            steps.append(cpu_seconds())
            run_lane(start(run).pk)
            steps.append(cpu_seconds())
            read_replies(run)
            steps.append(cpu_seconds())
            walls.append(sending_seconds(run, address))
        used.append([(after - before) / options.calls * 1000 for before, after in itertools.pairwise(steps)])
        assert run.tasks.filter(values__isnull=False).count() == options.calls
    wall = statistics.median(walls)
    planned, sent, read = (statistics.median(column) for column in zip(*used, strict=True))
    print(
        f"200 ms, extraction: {wall:.2f} s = {wall / limit:.2f} x the limit, {sent:.2f} ms of CPU a call for sending, "
        f"{planned:.2f} for planning, {read:.2f} for reading ({' '.join(f'{seconds:.2f}' for seconds in walls)} s)",
        flush=True,
    )


def make_corpus(calls: int):
    """Make users with four conversations of 9,000 characters each; the filter keeps them all."""
    from django.db import connection

    from analysis.models import Corpus
    from analysis.people.funnel import FilterSettings, filter_users
    from benchmarks.people import CONVERSATIONS, TURNS

    corpus = Corpus.objects.create(name="simulated", format="wildchat")
    with connection.cursor() as cursor:
        cursor.execute(CONVERSATIONS, [corpus.pk, TURNS, TURNS, calls // 4, 4])
    filter_users(corpus, FilterSettings())
    return corpus


def measure_faults(calls: int) -> None:
    from analysis.runs.lanes.lanes import run_lane

    with serving("--latency", "fixed:200", *FAULTS) as address:
        run = plan(address, calls)
        began = time.time()
        run_lane(run.pk)
        seen = requests_of(address)
    answered = Counter(request["key"] for request in seen if request["whole"])
    twice = sum(number > 1 for number in answered.values())
    done = run.completions.filter(status="done").count()
    limit = calls / IN_FLIGHT * 0.2
    print(
        f"5 % 429 and 2 % 500: {time.time() - began:.2f} s = {(time.time() - began) / limit:.2f} x the limit, "
        f"{len(seen)} requests, {calls - done} lost, {twice} answered twice"
    )


WORKER = (
    "import os, django; django.setup(); from analysis.runs.lanes.lanes import run_lane; "
    "run_lane(int(os.environ['RUN']))"
)


def measure_rate() -> None:
    """Count the requests of two lanes in two processes in their first minute, at a limit of 600 a minute."""
    with serving("--latency", "fixed:100") as address:
        run = plan(address, 900, requests_per_minute=600)
        env = {**os.environ, "RUN": str(run.pk)}
        workers = [subprocess.Popen([sys.executable, "-c", WORKER], cwd=servers.ROOT, env=env) for _ in range(2)]
        time.sleep(70)
        times = sorted(request["at"] for request in requests_of(address))
        for worker in workers:
            worker.kill()
            worker.wait()
    within = sum(moment < times[0] + 60 for moment in times)
    print(f"two workers, 600 requests a minute: {within} in the first minute ({within / 6 - 100:+.1f} %)")


def measure_memory(calls: int) -> None:
    """Measure peak memory of planning and of a lane's first 15 seconds; a lane never holds all its rows in memory."""
    from analysis.runs.lanes.lanes import Bounds, run_lane

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with serving() as address:
        began = time.time()
        run = plan(address, calls)
        planned = time.time() - began
        answered = run_lane(run.pk, Bounds(seconds=15))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{calls:,} planned calls: written in {planned:.1f} s; {answered:,} answered in 15 s; peak memory "
        f"{before / 1024:.0f} MB before, {after / 1024:.0f} MB after"
    )


if __name__ == "__main__":
    main()
