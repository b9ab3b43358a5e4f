"""Compares every goal with what this computer achieves: `python -m benchmarks [NAME …] [--quick]`.

Prints `met` or `NOT MET` for each and updates the table in README.md; a run of some benchmarks updates only their rows.
--quick sends and draws less, to try the programs, and writes nothing. Exits with 1 if a goal is missed.
"""

import argparse
import json
import signal
import subprocess
import sys
import time

from benchmarks.goals import README, ROWS, Goal, write_table
from fieldstudy.embedded.children import following_parent

ROOT = README.parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ROWS)}; all of them without one")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.names) - ROWS.keys():
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    began, found, failed = time.monotonic(), [], []
    for name in options.names or ROWS:
        try:
            rows = measure(name, options.quick)
        except ValueError as error:
            failed.append(name)
            print(f"NOT MET  {name} could not be measured: {error}", flush=True)
            continue
        found += rows
        print("\n".join(map(str, rows)), flush=True)
    print(f"{time.monotonic() - began:.0f} s in all")
    if not options.quick:
        write_table(found)
    sys.exit(1 if failed or not all(goal.met for goal in found) else 0)


def measure(name: str, quick: bool) -> list[Goal]:
    """Run one benchmark and return its rows. Raises ValueError, with the last line of its errors, if it fails."""
    command = [sys.executable, "-m", "benchmarks.goals", name, *(["--quick"] if quick else [])]
    dying_with_us = following_parent(signal.SIGTERM)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=dying_with_us)
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1])
    print(done.stderr, end="", file=sys.stderr)
    rows = [Goal(**row) for row in json.loads(done.stdout)]
    if (works := tuple(row.work for row in rows)) != ROWS[name]:
        raise ValueError(f"benchmarks/goals.py names {ROWS[name]}, benchmarks/{name}.py gives {works}")
    return rows


if __name__ == "__main__":
    main()
