"""How costs grow with ten times the rows and with twice the processes: `python -m benchmarks.growth [WORK ...]`.

    python -m benchmarks.growth [import|people|retrieval|report|pages|lanes|submissions ...] [--json]

Each size runs in a process and on a PostgreSQL of its own. What counts is processor time, ours and PostgreSQL's, since
other work on the computer changes elapsed time. `lanes` and `submissions` grow in processes, as they would in hosts;
their milliseconds are per call and per submission.
"""

import argparse
import json
import logging
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
import numpy as np
from django.core.management import call_command

from benchmarks.server import services_folder
from fieldstudy.embedded import servers

# The sizes of each work, and their unit.
SIZES = {
    "import": ((10_000, 100_000), "conversations of 9,000 characters"),
    "people": ((1_657, 16_573), "users of 4 conversations and 10 attributes"),
    "retrieval": ((10_000, 100_000), "conversations, 514 questions"),
    "report": ((5_200, 52_000, 520_000), "answers"),
    "pages": ((800, 8_000), "people of 13 answers"),
    "lanes": ((1, 2), "processes, 4,000 calls"),
    "submissions": ((1, 2), "server processes, 64 people at once"),
}
# With DEBUG, Django would record and time each statement.
PRODUCTION = {
    "DEBUG": "false",
    "SECRET_KEY": "only-for-this-benchmark-and-known-to-all",
    "ALLOWED_HOSTS": "127.0.0.1,testserver",
    "SECURE_SSL_REDIRECT": "false",
    "LIMIT_FACTOR": "0",
    "ALLOW_PRIVATE_ENDPOINTS": "true",
}
CALLS, QUESTIONS, NEAREST = 4_000, 514, 100
PAGES = ("collect/", "flow/", "participants/", "answers/")
Found = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", nargs="*", choices=[*SIZES, []], help="all, if none is named")
    parser.add_argument("--size", type=int, help="of one work, in this process")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.size:
        print(json.dumps(measure(options.work[0], options.size)))
        return
    for work in options.work or SIZES:
        sizes, unit = SIZES[work]
        for size in sizes:
            command = [sys.executable, "-m", "benchmarks.growth", work, "--size", str(size)]
            done = subprocess.run(command, cwd=servers.ROOT, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            print(json.dumps(found) if options.json else f"{work}, {size:,} {unit}: {tell(found)}", flush=True)


def tell(found: Found) -> str:
    return "; ".join(f"{name} {value:g}" for name, value in found.items() if isinstance(value, int | float))


def measure(work: str, size: int) -> Found:
    with services_folder():
        os.environ |= {"FIELDSTUDY_FSYNC": "off", "DJANGO_SETTINGS_MODULE": "fieldstudy.settings"}
        servers.attach()
        os.environ |= PRODUCTION
        django.setup()
        logging.disable(logging.INFO)
        call_command("migrate", verbosity=0)
        found = {"work": work, "size": size} | WORKS[work](size)
        django.db.connection.close()
    return found | {"peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}


def spent(name: str, work: Callable[[], Any]) -> Found:
    """Return processor seconds of this process and of PostgreSQL, and elapsed seconds."""
    from benchmarks.server import database_cpu

    var = servers.var_folder()
    began, used, database = time.perf_counter(), time.process_time(), database_cpu(var)
    work()
    return {
        f"{name}_cpu_s": round(time.process_time() - used, 3),
        f"{name}_postgres_s": round(database_cpu(var) - database, 3),
        f"{name}_wall_s": round(time.perf_counter() - began, 3),
    }


# --- rows -------------------------------------------------------------------


def import_file(size: int) -> Found:
    from analysis.people.corpora.importing import import_corpus

    path = servers.var_folder() / "chats.jsonl"
    dice = random.Random(1)
    with path.open("w") as file:
        for number in range(size):
            said = [
                {"role": role, "content": dice.randbytes(length // 2).hex()}
                for _ in range(3)
                for role, length in (("user", 600), ("assistant", 2_400))
            ]
            record = {"hashed_ip": f"user{number // 4}", "language": "English", "conversation": said}
            file.write(json.dumps(record) + "\n")
    megabytes = path.stat().st_size / 1e6
    found = spent("import", lambda: import_corpus("grown", path, "wildchat", None, lambda share, number: None))
    return found | {"mb": round(megabytes), "mb_a_cpu_s": round(megabytes / found["import_cpu_s"], 1)}


def people(size: int) -> Found:
    from analysis.models import Corpus
    from analysis.people.corpora.embeddings import Embedder
    from analysis.people.funnel import FilterSettings, filter_users
    from analysis.people.merging import merge_attributes
    from analysis.people.sampling import sample_users
    from benchmarks.people import draw_vectors, fill

    corpus = Corpus.objects.create(name="simulated", format="wildchat")
    fill(corpus.pk, argparse.Namespace(users=size, conversations=4, attributes=10))
    vectors = draw_vectors()
    embedder = Embedder("drawn", lambda texts: np.stack([vectors[int(text.split()[1])] for text in texts]))
    return {
        **spent("filter", lambda: filter_users(corpus, FilterSettings())),
        **spent("merge", lambda: merge_attributes(corpus, embedder)),
        **spent("sample", lambda: sample_users(corpus, size * 3 // 10)),
    }


def retrieval(size: int) -> Found:
    from analysis.models import Corpus
    from analysis.people.corpora import retrieval as nearest
    from benchmarks.retrieval import MODEL, fill, unit_vectors

    corpus = Corpus.objects.create(name="benchmark", format="wildchat")
    fill(corpus.pk, unit_vectors(size, seed=1))
    questions = unit_vectors(QUESTIONS, seed=2)

    def find() -> Any:
        return nearest.nearest_to_many(corpus, MODEL, questions, NEAREST)

    return {**spent("first", find), **spent("again", find), "product_cpu_s": bare_product(size, questions)}


def bare_product(size: int, questions: np.ndarray) -> float:
    from benchmarks.retrieval import unit_vectors

    matrix = unit_vectors(size, seed=1)
    used = time.process_time()
    _ = questions @ matrix.T
    return round(time.process_time() - used, 3)


def report(size: int) -> Found:
    from analysis.report.reports import Reporting
    from analysis.report.reports import report as whole
    from benchmarks.report_world import make_world

    study = make_world(size // 65, size // 130)  # a fifth by people, four fifths by eight runs
    load = spent("load", lambda: Reporting(study).data)
    return {**load, **spent("whole", lambda: whole(study)), **spent("kept", lambda: whole(study))}


def pages(size: int) -> Found:
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    from benchmarks.pages import read_back_ms
    from benchmarks.report_world import make_world

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}  # needs no collected style sheets
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}
    study = make_world(size, 100)
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("benchmark"))
    found: Found = {}
    for page in PAGES:
        address = f"/console/{study.slug}/{page}"
        assert client.get(address).status_code == 200, address

        def thrice(address: str = address) -> None:
            for _ in range(3):
                client.get(address)

        times = spent(page.strip("/"), thrice)
        found |= {name.replace("_s", "_ms"): round(value / 3 * 1000, 1) for name, value in times.items()}
    return found | {"read_backs_after_new_answers_ms": round(read_back_ms(5), 1)}


# --- processes --------------------------------------------------------------

LANE = """
import os, time, django; django.setup()
import logging; logging.disable(logging.INFO)
from analysis.runs.lanes.lanes import run_lane
used, began = time.process_time(), time.time()
run_lane(int(os.environ["RUN"]))
print(time.process_time() - used, began, time.time())
"""


def lanes(size: int) -> Found:
    from benchmarks.runs import plan, serving
    from benchmarks.server import database_cpu

    call_command("load_study", str(servers.ROOT / "surveys" / "studies" / "demo.toml"), verbosity=0)
    with serving("--latency", "fixed:20") as address:
        run = plan(address, CALLS)
        before = database_cpu(servers.var_folder())
        command, env = [sys.executable, "-c", LANE], {**os.environ, "RUN": str(run.pk)}
        workers = [
            subprocess.Popen(command, cwd=servers.ROOT, env=env, stdout=subprocess.PIPE, text=True) for _ in range(size)
        ]
        ended = [[float(word) for word in worker.communicate()[0].split()] for worker in workers]
        database = database_cpu(servers.var_folder()) - before
    done = run.completions.filter(status="done").count()
    return {
        "calls": done,
        "lane_ms_a_call": round(1000 * sum(used for used, _, _ in ended) / done, 3),
        "postgres_ms_a_call": round(1000 * database / done, 3),
        "wall_s": round(max(end for _, _, end in ended) - min(began for _, began, _ in ended), 2),
    }


def submissions(size: int) -> Found:
    from benchmarks import field
    from benchmarks.server import running_server
    from benchmarks.submissions import run

    study, var = field.make_study(), servers.var_folder()
    people = 128
    with running_server("benchmarks.wsgi:front", Path(var) / "log" / "web.log", 8, size) as server:
        run(server, var, "platform", field.make_forms(study, 16), 16)
        row = run(server, var, "platform", field.make_forms(study, people), 64)
    assert not row["errors"], row["errors"]
    return {"sent": row["sent"], "web_ms": round(row["cpu"], 3), "postgres_ms": round(row["database_cpu"], 3)} | {
        "per_second": round(row["per_second"], 1)
    }


WORKS: dict[str, Callable[[int], Found]] = {
    "import": import_file,
    "people": people,
    "retrieval": retrieval,
    "report": report,
    "pages": pages,
    "lanes": lanes,
    "submissions": submissions,
}

if __name__ == "__main__":
    main()
