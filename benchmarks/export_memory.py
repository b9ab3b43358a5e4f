"""Peak memory of an export with few and with many rows: `python -m benchmarks.export_memory --rows 1000000`.

Fills a temporary database of its own and runs `manage.py export` for each format and size.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg

from benchmarks.server import services_folder
from fieldstudy.embedded import servers

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "surveys" / "studies" / "demo.toml"
FEW = 1_000
PROMPTS = 4  # in the sample; each person answers all of them
WORDS = "A longer answer with a reason for each suggestion. " * 20

PEOPLE = """
INSERT INTO surveys_participant (
    study_id, version_id, pid, pseudonym, origin, pilot, state, step, reason, code, overflow, language,
    answers, consent_version, consent_sha256, consented_at, "order", checks, comments, last_seen_at,
    finished_at, consent_language)
SELECT
    id, current_id, 'p' || n, 'n' || n, 'imported', false, 'completed', 'end', '', '', false, 'en',
    '{}', '', '', now(), '[]', '{}', '', now(), now(), ''
FROM surveys_study, generate_series(1, %s) AS n WHERE slug = %s
"""
ANSWERS = """
INSERT INTO surveys_response (
    participant_id, prompt_id, version_id, pilot, revision, accepted, key,
    text, html, text_sha256, evidence, personal, language, submitted_at)
SELECT
    person.id, prompt.id, person.version_id, false, 1, true, gen_random_uuid(),
    person.id || %s, '', '', '{}', '{}', '', now()
FROM surveys_participant AS person
JOIN surveys_study AS study ON study.id = person.study_id
JOIN surveys_prompt AS prompt ON prompt.version_id = person.version_id
WHERE study.slug = %s
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with services_folder() as folder:
        servers.attach()
        manage("migrate")
        for slug, count in (("few", FEW), ("many", rows)):
            fill(folder, slug, count)
        print("| format | rows | seconds | peak memory | file |\n| --- | ---: | ---: | ---: | ---: |")
        for kind in ("csv", "jsonl", "parquet", "sav"):
            for slug, count in (("few", FEW), ("many", rows)):
                print(measure(folder, slug, kind, count), flush=True)


def manage(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def fill(folder: Path, slug: str, rows: int) -> None:
    began = time.monotonic()
    path = folder / f"{slug}.toml"
    path.write_text(SAMPLE.read_text(encoding="utf-8").replace('"demo"', f'"{slug}"', 1), encoding="utf-8")
    manage("load_study", path)
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute(PEOPLE, [rows // PROMPTS, slug])
        connection.execute(ANSWERS, [WORDS, slug])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("ANALYZE")
    print(f"{rows:,} rows made in {time.monotonic() - began:.0f} s", file=sys.stderr)


def measure(folder: Path, slug: str, kind: str, rows: int) -> str:
    """Return one line of the table, with the process's own peak memory as the operating system counts it."""
    command = [sys.executable, "manage.py", "export", slug, "--out", folder / "out"]
    began = time.monotonic()
    process = subprocess.Popen([*command, "--tables", "responses", "--formats", kind], cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    if status:
        sys.exit(f"The export of {slug} as {kind} failed.")
    file = folder / "out" / f"responses.{kind}"
    size, memory = file.stat().st_size / 1e6, usage.ru_maxrss * 1024 / 1e6
    file.unlink()
    return f"| {kind} | {rows:,} | {seconds:.1f} | {memory:.0f} MB | {size:.1f} MB |"


if __name__ == "__main__":
    main()
