"""How long a full-size report takes, beside a plain pandas and scipy version: `python -m benchmarks.report`.

The study, with 800 people and 41,600 completions, is made in a temporary database of its own.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.goals import ROWS, Goal
from benchmarks.server import database_of_its_own

MOST_SECONDS = 3.0
ROUNDS = 3
CORE = ("heterogeneity", "choices", "distances", "calibration", "items")
CHATBOTS = {"gpt-4o-mini": "chatgpt", "gemini-2.0-flash": "gemini"}


def main() -> None:
    parser = world_parser(__doc__)
    parser.add_argument("--prompt", default="companies", help="the one that the plain version computes")
    options = parser.parse_args()
    with database_of_its_own():
        found = measure(options)
    print(json.dumps(found, indent=1) if options.json else "\n".join(describe(found)))


def world_parser(description: str | None) -> argparse.ArgumentParser:
    """Make the parser of a benchmark on this world: its size, the number of draws, and JSON or text."""
    parser = argparse.ArgumentParser(description=description)
    for name, size in (("people", 800), ("repeats", 400), ("draws", 2000)):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--json", action="store_true")
    return parser


def goals(quick: bool) -> list[Goal]:
    """Time the whole report three times, with nothing kept and the answers loaded each time; the median counts."""
    with database_of_its_own():
        from analysis.models import MetricValue
        from analysis.report.reports import report
        from benchmarks.report_world import make_world

        study, spent = make_world(80 if quick else 800, 40 if quick else 400), []
        for _ in range(ROUNDS):
            MetricValue.objects.all().delete()
            spent.append(timed(lambda: report(study, draws=200 if quick else 2000))[0])
    print(", ".join(f"{each['wall_s']} s with {each['cpu_s']} s of CPU" for each in spent))
    return [Goal(ROWS["report"][0], median(each["wall_s"] for each in spent), MOST_SECONDS, "s")]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from analysis.models import MetricValue
    from analysis.report.dataset import load_frames
    from analysis.report.filters import Filters
    from analysis.report.pages.views import WantedText, behind
    from analysis.report.parts import PARTS
    from analysis.report.reports import Reporting, report
    from benchmarks.plain_report import plain_numbers
    from benchmarks.report_world import make_world

    study = make_world(options.people, options.repeats)
    found: dict[str, Any] = {"load": timed(lambda: load_frames(study))[0]}
    reporting = Reporting(study, draws=options.draws)
    _ = reporting.data
    found["parts"] = {name: timed(lambda name=name: reporting.part(name))[0] for name in PARTS}
    found["core"] = total(found["parts"], CORE)
    found["whole"] = total(found["parts"], PARTS) | {"with": "the answers loaded"}
    found["kept_report"] = timed(lambda: report(study, draws=options.draws))[0]
    found["kept_part"] = timed(lambda: Reporting(study, draws=options.draws).part("heterogeneity"))[0]
    one = WantedText("companies", "offline", "gpt-4o-mini", item="companies 000")
    found["answers_behind"] = timed(lambda: behind(study, Filters(), one))[0]
    filters = Filters(prompt=(options.prompt,))
    parts = ("heterogeneity", "distances")
    MetricValue.objects.all().delete()  # or it would read kept rows
    found["one_prompt"], ours = timed(lambda: report(study, filters, draws=options.draws, parts=parts))
    found["plain_one_prompt"], plain = timed(lambda: plain_numbers(study, options.prompt, CHATBOTS, options.draws))
    found["ratio"] = round(found["plain_one_prompt"]["cpu_s"] / found["one_prompt"]["cpu_s"], 1)
    found["largest_difference"] = compare(ours, plain)
    found["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return found


def timed(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    began, used = time.perf_counter(), time.process_time()
    result = work()
    spent = time.process_time() - used
    return {"wall_s": round(time.perf_counter() - began, 3), "cpu_s": round(spent, 3)}, result


def total(parts: dict[str, dict[str, float]], names: tuple[str, ...]) -> dict[str, Any]:
    return {unit: round(sum(parts[name][unit] for name in names), 2) for unit in ("wall_s", "cpu_s")}


def compare(ours: dict[str, Any], plain: dict[tuple[str, ...], Any]) -> dict[str, float]:
    """Return the largest difference of each kind of number; those of drawn numbers are due to chance alone.

    Numbers that are None, such as an interval of a measure that has reached its end, are not compared.
    """
    from analysis.stats.intervals import t_quantile
    from analysis.stats.item_measures import MEASURES
    from analysis.stats.simultaneous import no_surer

    def no_surer_than_interval(p: float, test: dict[str, Any]) -> float | None:
        if not test["ci"]:
            return p
        freedom, (low, high) = test["n"] - 1, test["ci"]
        return no_surer(p, test["effect"], (high - low) / 2 / float(t_quantile(freedom)), freedom)

    worst: dict[str, float] = {}

    def note(name: str, one: Any, other: Any) -> None:
        if one is None:
            return
        worst[name] = max(worst.get(name, 0.0), float(np.max(np.abs(np.asarray(one) - np.asarray(other)))))

    for row in ours["heterogeneity"]:
        key = (row["source"], row["model"])
        note("values", [row[name] for name in MEASURES], plain[key, "values"])
        for place, name in enumerate(MEASURES):
            note(f"ci_{name}", row["ci"][name], plain[key, "ci"][:, place])
            if test := row.get("against_field", {}).get(name):
                note("p", test["p"], no_surer_than_interval(plain[key, "p"][place], test))
    for row in ours["distances"]:
        key = (row["source"], row["model"])
        note("jsd_bits", row["jsd_bits"], plain[key, "jsd"])
        note("ci_jsd", row["ci"], plain[key, "ci_jsd"])
        note("p", row["p"], plain[key, "p_jsd"])
    return {name: float(f"{value:.2g}") for name, value in worst.items()}


def describe(found: dict[str, Any]) -> list[str]:
    def spent(name: str) -> str:
        return f"{found[name]['wall_s']:.2f} s ({found[name]['cpu_s']:.2f} s of CPU)"

    slowest = sorted(found["parts"].items(), key=lambda part: -part[1]["cpu_s"])[:6]
    return [
        f"answers into arrays: {spent('load')}",
        f"core parts ({', '.join(CORE)}): {spent('core')}",
        f"whole report, {len(found['parts'])} parts: {spent('whole')}",
        "dearest parts: " + ", ".join(f"{name} {part['cpu_s']:.2f} s" for name, part in slowest),
        f"the same again, kept: {spent('kept_report')}; one part as a page reads it: {spent('kept_part')}",
        f"the answers behind one number: {spent('answers_behind')}",
        f"one prompt, heterogeneity and distances: {spent('one_prompt')}",
        f"the same by pandas and scipy, draw by draw: {spent('plain_one_prompt')} = {found['ratio']} x the CPU",
        f"largest differences of the two: {found['largest_difference']}",
        f"peak memory: {found['peak_memory_mb']} MB",
    ]


if __name__ == "__main__":
    main()
