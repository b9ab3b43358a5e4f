"""Memory of a web worker that serves participants, and the cost of its first page: `python -m benchmarks worker`."""

import time
import urllib.request
from pathlib import Path

import psutil
from django.core.management import call_command

from benchmarks.goals import ROWS, Goal
from benchmarks.server import ROOT, Server, database_of_its_own, running_server
from fieldstudy.embedded import servers

APPLICATION = "fieldstudy.wsgi:front"
ARRIVAL = "/s/demo/?PROLIFIC_PID={:024x}&STUDY_ID=5f000000000000000000de30&SESSION_ID=5f00000000000000000005e5"
MOST_MEMORY, MOST_CPU = 110.0, 0.6  # MB, s
PATIENCE = 60


def goals(quick: bool) -> list[Goal]:
    """Take the medians of three servers, or of one if `quick`."""
    with database_of_its_own():
        call_command("collectstatic", interactive=False, verbosity=0)
        launch_demo()
        found = sorted(measure(number) for number in range(1 if quick else 3))
    memory, cpu = zip(*found, strict=True)
    memory, cpu = sorted(memory)[len(memory) // 2], sorted(cpu)[len(cpu) // 2]
    works = ROWS["worker"]
    return [Goal(works[0], memory, MOST_MEMORY, "MB"), Goal(works[1], cpu, MOST_CPU, "s")]


def launch_demo() -> None:
    from surveys.models import Study
    from surveys.studies.lifecycle import launch

    call_command("load_study", str(ROOT / "surveys" / "studies" / "demo.toml"), verbosity=0)
    launch(Study.objects.get(slug="demo"), "benchmark")


def measure(person: int) -> tuple[float, float]:
    """Return MB of the worker's proportional memory (PSS), and processor seconds of the first page that it serves."""
    log = servers.var_folder() / "log" / "worker.log"
    with running_server(APPLICATION, log, 8) as server:
        worker = wait_until_it_rests(server)
        before = server.cpu()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{ARRIVAL.format(person)}") as page:
            assert page.status == 200 and b"</html>" in page.read()
        return proportional_memory(worker) / 1e6, server.cpu() - before


def wait_until_it_rests(server: Server) -> psutil.Process:
    """Return the process that serves, once it has loaded the application: its server used under 0.03 s in a second."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        before = server.cpu()
        time.sleep(1)
        if (workers := server.process.children()) and server.cpu() - before < 0.03:
            return workers[0]
    raise SystemExit("The server does not come to rest.")


def proportional_memory(process: psutil.Process) -> int:
    """Return the process's own bytes plus its share of those it has in common with others (PSS)."""
    lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
