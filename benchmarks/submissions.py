"""Submissions a second, each with the page after it, their waits and their cost, beside a minimal Django view.

Also measures the cost of autosaving, and the memory and first request of a process that serves participants.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.goals import ROWS, Goal  # noqa: E402
from benchmarks.server import copy_tables, database_cpu, running_server, services_folder  # noqa: E402

# With DEBUG, Django would record and time each statement.
PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
    "DEBUG": "false",
    "SECRET_KEY": "only-for-this-benchmark-and-known-to-all",
    "ALLOWED_HOSTS": "127.0.0.1",
    "SECURE_SSL_REDIRECT": "false",
}
AT_ONCE = (16, 64, 256)
PEOPLE = 256  # at each of these levels, in each round
# How many answers a person sends in each turn; turns are short, so that other work disturbs both alike.
TURNS = (3, 3, 3, 4)
WARMING = 64
MOST_CPU, MOST_WITH_DATABASE = 1.4, 1.6  # times the minimal view's, at each of these levels; why: README.md
MOST_AUTOSAVE = 0.375  # times the minimal view's submission, both with PostgreSQL
LEAST_GROWTH = 1.0  # times the answers a second, with 256 at once instead of 16
AUTOSAVING = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=8, help="threads of the server (8, as in the demo)")
    parser.add_argument("--rounds", type=int, default=2, help="how often all answers of new people are sent (2)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with services_folder():
        report = measure(options.threads, options.rounds, PEOPLE)
    print(json.dumps(report) if options.json else describe(report))
    sys.exit(0 if all(goal.met for goal in goals_of(report)) else 1)


def measure(threads: int, rounds: int, people: int) -> dict:
    import django

    from fieldstudy.embedded import schema, servers

    copy_tables(servers.var_folder())
    servers.attach()
    os.environ |= PRODUCTION
    django.setup()
    schema.apply_pending_migrations()

    from benchmarks import field

    study, var = field.make_study(), servers.var_folder()
    with running_server("benchmarks.wsgi:front", var / "log" / "benchmark.log", threads) as server:
        before = server.cpu()
        run(server, var, "platform", [field.make_forms(study, 1)[0][:1]], 1)
        worker = {"first_cpu": server.cpu() - before}
        # Afterwards both have served every page and every connection has run every statement.
        warming = field.make_forms(study, WARMING)
        run(server, var, "platform", warming, WARMING)
        run(server, var, "minimal", field.for_minimal(warming), WARMING)
        run(server, var, "autosave", field.make_autosaves(study, 8), 8)
        rows = []
        for _ in range(rounds):
            forms = {at_once: field.make_forms(study, people) for at_once in AT_ONCE}
            rows += take_turns(server, var, forms, partial(field.make_autosaves, study, people // 8))
        worker["memory_mb"] = server.memory_of_worker() / 2**20
    return summarise(rows, worker, threads)


def take_turns(
    server, var: Path, people: dict[int, list[list[tuple[str, str]]]], make_autosaves: Callable
) -> list[dict]:
    """Send the same bodies to the platform and the yardstick at each level; they take turns at going first.

    Autosaves have turns too, since PostgreSQL cleans up after all of them at times of its own.
    """
    from benchmarks.field import for_minimal

    rows, begin = [], 0
    for number, length in enumerate(TURNS):
        for at_once, forms in people.items():
            part = [own[begin : begin + length] for own in forms]
            both = {"minimal": for_minimal(part), "platform": part}
            for kind in sorted(both, reverse=bool(number % 2)):
                rows.append(run(server, var, kind, both[kind], at_once))
        rows.append(run(server, var, "autosave", make_autosaves(), AUTOSAVING))
        begin += length
    return rows


def run(server, var: Path, kind: str, people: list[list[tuple[str, str]]], at_once: int) -> dict:
    job = json.dumps({"port": server.port, "people": people, "at_once": at_once})
    web, database = server.cpu(), database_cpu(var)
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "load.py")], input=job, capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout)
    waits, sent = sorted(seen["waits"]), len(seen["waits"])
    return {
        "kind": kind,
        "at_once": at_once,
        "sent": sent,
        "errors": seen["errors"][:5],
        "per_second": sent / seen["seconds"],
        **{f"p{share}": 1000 * waits[sent * share // 100] for share in (50, 95, 99)},
        "cpu": 1000 * (server.cpu() - web) / sent,
        "database_cpu": 1000 * (database_cpu(var) - database) / sent,
    }


def summarise(rows: list[dict], worker: dict[str, float], threads: int) -> dict:
    """Take medians: a ratio's over pairs of neighbouring turns, a cost's or rate's over all turns."""

    def of(kind: str, at_once: int, *columns: str) -> list[float]:
        return [sum(row[name] for name in columns) for row in rows if (row["kind"], row["at_once"]) == (kind, at_once)]

    def ratios(at_once: int, *columns: str) -> list[float]:
        pairs = zip(of("platform", at_once, *columns), of("minimal", at_once, *columns), strict=True)
        return sorted(ours / least for ours, least in pairs)

    both = ("cpu", "database_cpu")
    web, whole = ({n: ratios(n, *columns) for n in AT_ONCE} for columns in (both[:1], both))
    rate = {kind: {n: median(of(kind, n, "per_second")) for n in AT_ONCE} for kind in ("platform", "minimal")}
    least = median(of("minimal", AUTOSAVING, *both))
    return {
        "threads": threads,
        "rows": rows,
        "worker": worker,
        "web_cpu_ratio": {n: median(found) for n, found in web.items()},
        "with_database_ratio": {n: median(found) for n, found in whole.items()},
        "web_cpu_ratios": web,
        "with_database_ratios": whole,
        "autosave_ratio": median(of("autosave", AUTOSAVING, *both)) / least,
        "growth": {kind: found[256] / found[16] for kind, found in rate.items()},
    }


def goals_of(report: dict) -> list[Goal]:
    measured = [
        *(max(report[name].values()) for name in ("web_cpu_ratio", "with_database_ratio")),
        report["growth"]["platform"],
        report["autosave_ratio"],
    ]
    limits = (MOST_CPU, MOST_WITH_DATABASE, LEAST_GROWTH, MOST_AUTOSAVE)
    return [
        Goal(work, found, limit, "×", at_least=limit == LEAST_GROWTH)
        for work, found, limit in zip(ROWS["submissions"], measured, limits, strict=True)
    ]


def goals(quick: bool) -> list[Goal]:
    with services_folder():
        report = measure(8, *((1, 32) if quick else (2, PEOPLE)))
    print(describe(report))
    if errors := [error for row in report["rows"] for error in row["errors"]]:
        raise ValueError(f"{len(errors)} requests failed: {errors[0]}")
    return goals_of(report)


SUMMED = ("per_second", "p50", "p95", "p99", "cpu", "database_cpu")


def describe(report: dict) -> str:
    lines = ["kind      at once   sent  per s   p50 ms   p95 ms   p99 ms  CPU s/1000  PostgreSQL s/1000"]
    for kind, at_once in dict.fromkeys((row["kind"], row["at_once"]) for row in report["rows"]):
        rows = [row for row in report["rows"] if (row["kind"], row["at_once"]) == (kind, at_once)]
        lines.append(
            f"{kind:9} {at_once:7} {sum(row['sent'] for row in rows):6} "
            "{:6.0f} {:8.1f} {:8.1f} {:8.1f} {:11.2f} {:18.2f}".format(
                *(median(r[name] for r in rows) for name in SUMMED)
            )
        )
        lines += [f"  {error}" for row in rows for error in row["errors"]]
    for name in ("web_cpu_ratio", "with_database_ratio"):
        found = ((at, report[name][at], report[f"{name}s"][at]) for at in AT_ONCE)
        spread = ", ".join(f"{at} {middle:.2f} ({turns[0]:.2f} to {turns[-1]:.2f})" for at, middle, turns in found)
        lines.append(f"{name}: {spread}")
    lines.append(f"growth: {', '.join(f'{kind} {ratio:.2f}' for kind, ratio in report['growth'].items())}")
    worker = report["worker"]
    lines.append(f"process: {worker['memory_mb']:.0f} MB PSS, {worker['first_cpu']:.2f} s of CPU for its first answer")
    return "\n".join([*lines, *map(str, goals_of(report))])


if __name__ == "__main__":
    main()
