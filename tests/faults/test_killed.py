"""Each process is killed while people answer and a run is being sent: nothing confirmed is lost or doubled."""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import psutil
import psycopg
import pytest

from tests.analysis.runs.servers import Server, serving
from tests.faults.platform import PATIENCE, Platform, wait_for

pytestmark = [pytest.mark.processes, pytest.mark.slow]

WIDTH = 8  # calls in flight in the one lane
PEOPLE = 6
REPEATS = 40  # of each of the demo's prompts
TWO_PLACES = """
SELECT participant_id FROM surveys_place WHERE participant_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1
UNION ALL SELECT min(id) FROM surveys_participant GROUP BY study_id, pid HAVING count(*) > 1
"""


@pytest.fixture(scope="module")
def model(platform: Platform) -> Iterator[Server]:
    with serving("--latency", "fixed:150") as server:
        given = ("--base-url", server.address, "--model", "fake-1", "--concurrency", str(WIDTH), "--max-tokens", "200")
        done = platform.manage("add_endpoint", "served", *given, "--skip-checks")
        assert done.returncode == 0, done.stderr
        yield server


def kill_web_child(platform: Platform) -> None:
    platform.child_of("web").kill()


def kill_lane(platform: Platform) -> None:
    platform.child_of("worker").kill()


def restart(name: str) -> Callable[[Platform], None]:
    def kill_and_start(platform: Platform) -> None:
        platform.kill(name)
        platform.start(name)

    return kill_and_start


def restart_valkey(platform: Platform) -> None:
    """Kill Valkey for long enough that the worker notices while it holds tasks."""
    log = platform.log("worker")
    lost = log.read_text().count("Connection to broker lost")
    platform.kill("valkey")
    time.sleep(4)
    wait_for(lambda: log.read_text().count("Connection to broker lost") > lost, "the worker does not notice")
    platform.start("valkey")
    wait_for(
        lambda: platform.health()["worker"] == "ok", f"the worker hears nothing any more:\n{log.read_text()[-3000:]}"
    )


def pause_and_fill_postgres(platform: Platform) -> None:
    """Suspend PostgreSQL for some seconds, then use up all its connections."""
    server = platform.processes["postgres"]
    server.suspend()  # first, so that it makes no new child meanwhile
    stopped = [server, *server.children(recursive=True)]
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    time.sleep(3)
    for process in stopped:
        with suppress(psutil.NoSuchProcess):  # it had ended by itself and was waited for at last
            process.resume()
    with ExitStack() as held:
        with suppress(psycopg.OperationalError):
            while True:
                held.enter_context(psycopg.connect(platform.database, connect_timeout=10))
        time.sleep(3)


FAULTS = {
    "web child": kill_web_child,
    "worker": restart("worker"),
    "lane": kill_lane,
    "beat": restart("beat"),
    "PostgreSQL": restart("postgres"),
    "PostgreSQL paused and full": pause_and_fill_postgres,
    "Valkey": restart_valkey,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_killed_under_load_nothing_is_lost_or_doubled(platform: Platform, model: Server, fault: str) -> None:
    before, responses = platform.count("analysis_run"), platform.count("surveys_response")
    asked = ("run_baseline", "demo", "--endpoint", "served", "--condition", "offline", "--repeats", str(REPEATS))
    planned = platform.manage(*asked, "--new", "--json")
    assert planned.returncode == 0, planned.stderr
    run = json.loads(planned.stdout)["run"]
    assert platform.count("analysis_run") == before + 1
    people = platform.begin(
        *("simulate", "demo", "--participants", str(PEOPLE), "--concurrency", "3"),
        *("--seed", str(sorted(FAULTS).index(fault))),
        *("--url", platform.site, "--json", "--skip-checks"),
    )
    # In the middle of both: some of it is stored, and most is still to come. After the first person, who gives four
    # answers, the command itself looks into the database; until the end it does not again.
    done = f"analysis_completion WHERE run_id = {run} AND status = 'done'"
    wait_for(lambda: platform.count("surveys_response") >= responses + 6, "nobody answers")
    wait_for(lambda: platform.count(done) >= 2 * WIDTH, "no lane works")
    FAULTS[fault](platform)
    check_people(people, platform)
    check_run(run, platform, model)
    assert platform.ended() == [], "what nobody killed has ended too"


def check_people(people: subprocess.Popen[str], platform: Platform) -> None:
    out, err = people.communicate(timeout=2 * PATIENCE)
    assert out, err
    report = json.loads(out)
    assert report["violations"] == [] and report["confirmed"] >= 4
    assert platform.ask(TWO_PLACES) == []


def check_run(run: int, platform: Platform, model: Server) -> None:
    wait_for(
        lambda: platform.count(f"analysis_run WHERE id = {run} AND state = 'done'"),
        f"the run does not end:\n{platform.log('worker').read_text()[-3000:]}",
    )
    rows = platform.ask(f"SELECT id, status, reply <> '', lost_answers FROM analysis_completion WHERE run_id = {run}")
    assert {(status, answered) for _, status, answered, _ in rows} == {("done", True)}
    paid = Counter({key: n for key, n in model.answers().items() if key.split("-")[1] == str(run)})
    assert {int(key.split("-")[2]) for key in paid} == {row[0] for row in rows}
    twice = {int(key.split("-")[2]) for key, number in paid.items() if number > 1}
    assert max(paid.values()) <= 2 and len(twice) <= WIDTH
    assert twice <= {row[0] for row in rows if row[3]}, "paid twice, and the run's books do not say so"
