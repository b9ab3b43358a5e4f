"""How fast a corpus file is imported, and with how much memory: `python -m benchmarks importing`.

The file is a ShareGPT JSON array of made-up conversations, a fifth of them with letters beyond ASCII. Each import runs
in a process of its own, whose peak memory the operating system counts.
"""

import json
import random
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.goals import ROWS, Goal
from benchmarks.server import ROOT, database_of_its_own

LEAST, MOST_MEMORY = 40.0, 1.15  # MB/s; times the memory of a tenth
MB = 1_000_000
WORDS = (
    *("a list of reasons", "the river", "def main():\n    return 1", '"quoted"', "please, explain"),
    "1. First\n2. Second",
)
ACCENTS = ("für die Übung", "naïve", "東京", "— and then")
IMPORT = """
import os, sys, time, resource, django
django.setup()
from pathlib import Path
from analysis.people.corpora.importing import import_corpus
began, used = time.perf_counter(), time.process_time()
report = import_corpus(sys.argv[1], Path(sys.argv[2]), "sharegpt", None, lambda share, whole: None)
assert report.new == report.whole > 0 and not report.faults, report
print(time.perf_counter() - began, time.process_time() - used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def goals(quick: bool) -> list[Goal]:
    size, rounds = (6, 1) if quick else (60, 3)
    with database_of_its_own() as var:
        few, many = write_file(var, size / 10), write_file(var, size)
        small = [import_file(f"few-{n}", few) for n in range(rounds)]
        large = [import_file(f"many-{n}", many) for n in range(rounds)]
        rate = many.stat().st_size / MB / statistics.median(wall for wall, _, _ in large)
        print(f"{[f'{wall:.2f} s, {cpu:.2f} s of CPU, {memory:.0f} MB' for wall, cpu, memory in large]}")
    memory = statistics.median(row[2] for row in large) / statistics.median(row[2] for row in small)
    works = ROWS["importing"]
    return [Goal(works[0], rate, LEAST, "MB/s", at_least=True), Goal(works[1], memory, MOST_MEMORY, "×")]


def write_file(folder: Path, megabytes: float) -> Path:
    path, rng = folder / f"sharegpt-{megabytes:g}.json", random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < megabytes * MB:
            file.write("[" if number == 0 else ",\n")
            json.dump(write_conversation(rng, number), file, ensure_ascii=False)
            number += 1
        file.write("]")
    return path


def write_conversation(rng: random.Random, number: int) -> dict:
    words = WORDS + ACCENTS if number % 5 == 0 else WORDS

    def write(turn: int) -> dict:
        spoken = rng.choices(words, k=rng.randint(5, 40 + 120 * (turn % 2)))
        return {"from": ("human", "gpt")[turn % 2], "value": " ".join(spoken)}

    turns = [write(turn) for turn in range(2 * rng.randint(1, 5))]
    return {"id": f"{number}_{rng.random()}", "conversations": turns}


def import_file(name: str, path: Path) -> tuple[float, float, float]:
    """Import the file; return elapsed and processor seconds (without PostgreSQL's) and peak MB."""
    command = [sys.executable, "-c", IMPORT, name, str(path)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    wall, cpu, kilobytes = map(float, done.stdout.split())
    return wall, cpu, kilobytes * 1024 / MB
