"""Submissions a second, each with the page after it, their waits and their cost, beside a minimal Django view.

Also what autosaving costs, and what a process that serves participants holds and takes to begin.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.goals import ROWS, Goal  # noqa: E402

# (people at once, people in all): each person sends each of the 13 answers once.
LEVELS = ((1, 16), (16, 64), (64, 128), (256, 256))
FEW, QUICK = ((16, 48), (64, 96), (256, 256)), ((16, 16), (64, 64), (256, 256))
# With DEBUG, Django would keep and time each statement.
PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
    "DEBUG": "false",
    "SECRET_KEY": "only-for-this-benchmark-and-known-to-all",
    "ALLOWED_HOSTS": "127.0.0.1",
    "SECURE_SSL_REDIRECT": "false",
}
LEVELS_OF_GOALS = (16, 64, 256)
MOST_CPU, MOST_WITH_DATABASE = 1.2, 1.4  # times the minimal view's, at each of these levels
MOST_AUTOSAVE = 0.375  # times the minimal view's submission, both with PostgreSQL
LEAST_GROWTH = 1.0  # times the answers a second, with 256 at once instead of 16
AUTOSAVING = 16
KINDS = ("minimal", "platform", "autosave")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=8, help="threads of the server (8, as in the demo)")
    parser.add_argument("--rounds", type=int, default=1, help="how often each level is measured (1)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fieldstudy-benchmark-") as folder:
        os.environ.setdefault("FIELDSTUDY_VAR", folder)
        report = measure(options.threads, options.rounds, LEVELS)
    print(json.dumps(report) if options.json else describe(report))
    sys.exit(0 if all(goal.met for goal in goals_of(report)) else 1)


def measure(threads: int, rounds: int, levels: tuple[tuple[int, int], ...]) -> dict:
    import django

    from benchmarks.server import copy_tables
    from fieldstudy.embedded import schema, servers

    copy_tables(servers.var_folder())
    servers.attach()
    os.environ |= PRODUCTION
    django.setup()
    schema.apply_pending_migrations()

    from benchmarks import field
    from benchmarks.server import running_server

    study = field.make_study()
    makers = dict(zip(KINDS, (field.make_minimal_forms, field.make_forms, field.make_autosaves), strict=True))
    var = servers.var_folder()
    rows = []
    with running_server("benchmarks.wsgi:application", var / "log" / "benchmark.log", threads) as server:
        before = server.cpu()
        run(server, var, "platform", [field.make_forms(study, 1)[0][:1]], 1)
        first = server.cpu() - before
        for make in makers.values():
            run(server, var, "warming up", make(study, 8), 8)
        for at_once, people in levels:
            for _ in range(rounds):
                for kind, make in makers.items():
                    if kind != "autosave" or at_once == AUTOSAVING:
                        rows.append(run(server, var, kind, make(study, people), at_once))
        worker = {"first_cpu": first, "memory_mb": server.memory_of_worker() / 2**20}
    return summarise(rows, worker, threads)


def run(server, var: Path, kind: str, people: list[list[tuple[str, str]]], at_once: int) -> dict:
    from benchmarks.server import database_cpu

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
    def mean(kind: str, at_once: int, *columns: str) -> float:
        found = [sum(row[name] for name in columns) for row in rows if (row["kind"], row["at_once"]) == (kind, at_once)]
        return sum(found) / len(found)

    both = ("cpu", "database_cpu")
    web = {n: mean("platform", n, "cpu") / mean("minimal", n, "cpu") for n in LEVELS_OF_GOALS}
    whole = {n: mean("platform", n, *both) / mean("minimal", n, *both) for n in LEVELS_OF_GOALS}
    growth = {kind: mean(kind, 256, "per_second") / mean(kind, 16, "per_second") for kind in ("platform", "minimal")}
    return {
        "threads": threads,
        "rows": rows,
        "worker": worker,
        "web_cpu_ratio": web,
        "with_database_ratio": whole,
        "autosave_ratio": mean("autosave", AUTOSAVING, *both) / mean("minimal", AUTOSAVING, *both),
        "growth": growth,
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
    """Fewer people than the program by itself sends, so that all goals take minutes."""
    with tempfile.TemporaryDirectory(prefix="fieldstudy-benchmark-") as folder:
        os.environ.setdefault("FIELDSTUDY_VAR", folder)
        report = measure(8, 1, QUICK if quick else FEW)
    print(describe(report))
    if errors := [error for row in report["rows"] for error in row["errors"]]:
        raise ValueError(f"{len(errors)} requests failed: {errors[0]}")
    return goals_of(report)


def describe(report: dict) -> str:
    lines = ["kind      at once   sent  per s   p50 ms   p95 ms   p99 ms  CPU s/1000  PostgreSQL s/1000"]
    for row in report["rows"]:
        lines.append(
            "{kind:9} {at_once:7} {sent:6} {per_second:6.0f} {p50:8.1f} {p95:8.1f} {p99:8.1f} {cpu:11.2f} "
            "{database_cpu:18.2f}".format(**row)
        )
        lines += [f"  {error}" for error in row["errors"]]
    for name in ("web_cpu_ratio", "with_database_ratio", "growth"):
        lines.append(f"{name}: {', '.join(f'{at} {ratio:.2f}' for at, ratio in report[name].items())}")
    worker = report["worker"]
    lines.append(f"process: {worker['memory_mb']:.0f} MB PSS, {worker['first_cpu']:.2f} s of CPU for its first answer")
    return "\n".join([*lines, *map(str, goals_of(report))])


if __name__ == "__main__":
    main()
