"""Sends 800 people through the field study of 13 prompts with everything going wrong; prints what held and how fast."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.server import database_cpu, running_server, services_folder  # noqa: E402
from fieldstudy.embedded import servers  # noqa: E402

# Fewer places than people: cells fill up, some people are turned away, and late ones find their places taken.
LAUNCH = """
from dataclasses import replace
from surveys.studies import lifecycle
from surveys.studies.files.definitions import read_study
definition = read_study("surveys/studies/field-13.toml")
cells = tuple(replace(cell, places={places}) for cell in definition.cells)
study, _ = lifecycle.load_definition(replace(definition, cells=cells), "benchmark")
lifecycle.launch(study, "benchmark")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--participants", type=int, default=800)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--places", type=int, default=60, help="in each of the eight cells (60)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with services_folder():
        sys.exit(play(options))


def play(options: argparse.Namespace) -> int:
    servers.attach()
    var = servers.var_folder()
    manage("migrate", "--verbosity", "0")
    manage("shell", "--no-imports", "-c", LAUNCH.format(places=options.places))
    with running_server("benchmarks.wsgi:front", var / "log" / "benchmark.log", 8) as server:
        web, database = server.cpu(), database_cpu(var)
        done = manage(
            *("simulate", "field-13", "--faults", "--json", "--url", f"http://127.0.0.1:{server.port}"),
            *("--participants", str(options.participants), "--concurrency", str(options.concurrency)),
            *("--seed", str(options.seed)),
            check=False,
        )
        report = json.loads(done.stdout)
        report["cpu_seconds"] = {
            "server": round(server.cpu() - web, 1),
            "postgresql": round(database_cpu(var) - database, 1),
        }
        report["memory_mb"] = round(server.memory() / 2**20, 1)
    print(json.dumps(report, indent=1))
    return done.returncode


def manage(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=check)


if __name__ == "__main__":
    main()
