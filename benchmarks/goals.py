"""The goals that `python -m benchmarks` checks: a row for each piece of work, and their table in README.md.

A benchmark with goals offers `goals(quick) -> list[Goal]`; `ROWS` names its rows. Each runs in a process of its own
(`python -m benchmarks.goals NAME [--quick]`, which prints its rows as JSON), with its own databases and settings.
"""

import importlib
import json
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- goals: python -m benchmarks writes from here -->", "<!-- to here -->"
HEAD = ("| work | measured | goal | | measured on, load average |", "|---|---|---|---|---|")
NOT_YET = "| {} | – | – | not measured yet | – |"

# Each benchmark with goals, and the rows it gives.
ROWS: dict[str, tuple[str, ...]] = {
    "submissions": (
        "a submission and its next page: web CPU beside a minimal Django view, the worst of 16, 64 and 256 at once",
        "the same with PostgreSQL's CPU",
        "submissions a second with 256 at once beside those with 16",
        "an autosave beside a minimal submission, CPU with PostgreSQL's",
    ),
    "report": ("report of 52,000 answers, 2,000 draws: wall time on two cores",),
    "plan": (
        "plan of field-13: 4 hypotheses, 3 scenarios, 5 numbers of people, 200 replicates",
        "a universe of their multiverse, 52,000 answers: CPU beside a hypothesis as planned",
        "memory of that multiverse beside that of the hypotheses as planned",
    ),
    "pages": (
        "most statements of a console page at 52,000 answers",
        "most SQL of a console page at 52,000 answers",
        "How well they are read, right after new answers at 52,000: CPU with PostgreSQL's, beside its limit",
    ),
    "worker": ("memory of a web worker that has served one page (PSS)", "processor time of a web worker's first page"),
    "runs": ("a lane at 20 ms with 64 in flight: wall time beside a bare aiohttp loop",),
    "run_workers": (
        "from the console's form of a run to its first call",
        "from the command of a run to its first call",
        "calls paid twice after SIGKILL with 32 in flight",
        "from SIGKILL until the run goes on",
    ),
    "importing": (
        "import of conversations, a ShareGPT file of 60 MB",
        "peak memory of that import beside that of a tenth of the file",
    ),
    "retrieval": ("retrieval: wall time beside the product alone",),
}


@dataclass(frozen=True)
class Goal:
    """One row: a quantity in `unit` that should be at most the goal, or at least the goal if `at_least`."""

    work: str
    measured: float
    goal: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.measured >= self.goal if self.at_least else self.measured <= self.goal

    def __str__(self) -> str:
        work, measured, aim, verdict = self.cells
        return f"{verdict:8} {work}: {measured}, goal {aim}"

    @property
    def verdict(self) -> str:
        return "met" if self.met else "NOT MET"

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return (
            self.work,
            f"{self.measured:.3g} {self.unit}",
            f"{'≥' if self.at_least else '≤'} {self.goal:g} {self.unit}",
            self.verdict,
        )


def main() -> None:
    """Print the rows of one benchmark as JSON; its other output goes to standard error."""
    name, *options = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that what it started is ended
    with redirect_stdout(sys.stderr):
        found = importlib.import_module(f"benchmarks.{name}").goals("--quick" in options)
    print(json.dumps([asdict(goal) for goal in found]))


def all_rows() -> list[str]:
    return [work for rows in ROWS.values() for work in rows]


def write_table(goals: Iterable[Goal], path: Path = README) -> None:
    """Update the rows of these goals in the table; the others stay as they are."""
    text = path.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    lines = read_table(path)
    when = f"{date.today():%Y-%m-%d}, {os.getloadavg()[0]:.1f}"
    lines |= {goal.work: f"| {' | '.join((*goal.cells, when))} |" for goal in goals}
    table = [*HEAD, *(lines.get(work, NOT_YET.format(work)) for work in all_rows())]
    path.write_text("\n".join([f"{before}{BEGIN}", *table, f"{END}{after}"]), encoding="utf-8")


def read_table(path: Path = README) -> dict[str, str]:
    """Read the table's lines, by their work."""
    block = path.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in block.splitlines() if line.startswith("|")][len(HEAD) :]
    return {line.split("|")[1].strip(): line for line in lines}


if __name__ == "__main__":
    main()
