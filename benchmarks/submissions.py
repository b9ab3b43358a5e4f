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
# (people at once, people in all): each person sends each of the 13 answers once.
LEVELS = ((1, 16), (16, 64), (64, 128), (256, 256))
# With DEBUG, Django would keep and time each statement.
PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
    "DEBUG": "false",
    "SECRET_KEY": "only-for-this-benchmark-and-known-to-all",
    "ALLOWED_HOSTS": "127.0.0.1",
    "SECURE_SSL_REDIRECT": "false",
}
GOALS = (16, 64, 256)
MOST_CPU, MOST_WITH_DATABASE = 1.2, 1.4  # times the minimal view's, at each of these levels
MOST_AUTOSAVE = 0.375  # times the minimal view's submission, both with PostgreSQL
MOST_MEMORY, MOST_FIRST = 110, 0.6  # MB of the process that serves, and processor seconds of its first request
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
        report = measure(options.threads, options.rounds)
    print(json.dumps(report) if options.json else describe(report))
    sys.exit(0 if all(goal["met"] for goal in report["goals"]) else 1)


def measure(threads: int, rounds: int) -> dict:
    import django

    from fieldstudy.embedded import schema, servers

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
        for at_once, people in LEVELS:
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
    web = {n: mean("platform", n, "cpu") / mean("minimal", n, "cpu") for n in GOALS}
    whole = {n: mean("platform", n, *both) / mean("minimal", n, *both) for n in GOALS}
    autosave = mean("autosave", AUTOSAVING, *both) / mean("minimal", AUTOSAVING, *both)
    growth = {kind: mean(kind, 256, "per_second") / mean(kind, 16, "per_second") for kind in ("platform", "minimal")}
    at = f"at {GOALS[0]} / {GOALS[1]} / {GOALS[2]} at once"
    return {
        "threads": threads,
        "rows": rows,
        "worker": worker,
        "web_cpu_ratio": web,
        "with_database_ratio": whole,
        "autosave_ratio": autosave,
        "growth": growth,
        "goals": [
            goal(f"web CPU × minimal {at}", slashed(web), f"≤ {MOST_CPU}", max(web.values()) <= MOST_CPU),
            goal(
                f"the same with PostgreSQL's {at}",
                slashed(whole),
                f"≤ {MOST_WITH_DATABASE}",
                max(whole.values()) <= MOST_WITH_DATABASE,
            ),
            goal(
                "rate at 256 over rate at 16",
                f"{growth['platform']:.2f} (minimal {growth['minimal']:.2f})",
                "≥ 1",
                growth["platform"] >= 1,
            ),
            goal(
                "an autosave × a minimal submission, with PostgreSQL's",
                f"{autosave:.2f}",
                f"≤ {MOST_AUTOSAVE}",
                autosave <= MOST_AUTOSAVE,
            ),
            goal(
                "memory of the serving process, PSS",
                f"{worker['memory_mb']:.0f} MB",
                f"≤ {MOST_MEMORY} MB",
                worker["memory_mb"] <= MOST_MEMORY,
            ),
            goal(
                "CPU of the first submission and page",
                f"{worker['first_cpu']:.2f} s",
                f"≤ {MOST_FIRST} s",
                worker["first_cpu"] <= MOST_FIRST,
            ),
            goal("errors", str(sum(len(row["errors"]) for row in rows)), "0", not any(row["errors"] for row in rows)),
        ],
    }


def goal(what: str, value: str, limit: str, met: bool) -> dict[str, object]:
    return {"what": what, "value": value, "limit": limit, "met": met}


def slashed(ratios: dict[int, float]) -> str:
    return " / ".join(f"{ratio:.2f}" for ratio in ratios.values())


def describe(report: dict) -> str:
    lines = ["kind      at once   sent  per s   p50 ms   p95 ms   p99 ms  CPU s/1000  PostgreSQL s/1000"]
    for row in report["rows"]:
        lines.append(
            "{kind:9} {at_once:7} {sent:6} {per_second:6.0f} {p50:8.1f} {p95:8.1f} {p99:8.1f} {cpu:11.2f} "
            "{database_cpu:18.2f}".format(**row)
        )
        lines += [f"  {error}" for error in row["errors"]]
    lines += [
        f"{'met    ' if goal['met'] else 'NOT MET'} {goal['what']}: {goal['value']} (goal {goal['limit']})"
        for goal in report["goals"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
