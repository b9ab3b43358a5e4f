"""Time to plan `field-13` (four hypotheses, three scenarios, five numbers of people, 200 replicates), and the cost of
each universe of its multiverse when 800 people have answered, beside the hypotheses as planned.
"""

import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import psutil

from benchmarks.goals import ROWS, Goal
from benchmarks.server import database_of_its_own
from surveys.studies.files.hypotheses import Hypothesis

MOST = 120.0  # seconds
MOST_TIME, MOST_MEMORY = 1.5, 1.25  # of a universe and of the whole multiverse, as multiples of those as planned
A, B = "field/gemini", "field/chatgpt"
HYPOTHESES = (
    Hypothesis("one-film", "", "item_share", A, "more", B, 0.1, prompts=("movies",), item="movies 003"),
    Hypothesis("varied", "", "entropy_bits", A, "less", B, 0.3),
    Hypothesis("apart", "", "jsd_excess", A, "more", "offline/gemini-2.0-flash", 0.03),
    Hypothesis("right", "", "correct_share", "field", "equal", "offline/gpt-4o-mini", 0.1, prompts=("medicine-2",)),
)


def goals(quick: bool) -> list[Goal]:
    with database_of_its_own():
        measured = plan(20 if quick else 200), *multiverse(*(80, 40) if quick else (800, 400))
    most = (MOST, "s"), (MOST_TIME, "×"), (MOST_MEMORY, "×")
    return [Goal(work, found, *goal) for work, found, goal in zip(ROWS["plan"], measured, most, strict=True)]


def plan(replicates: int) -> float:
    from analysis.plans.simulating import Setting, simulate, usual_sizes
    from surveys.studies import lifecycle
    from surveys.studies.files.definitions import read_study

    definition = replace(read_study(Path(lifecycle.__file__).parent / "field-13.toml"), hypotheses=HYPOTHESES)
    setting = Setting(usual_sizes(definition), replicates)
    began = time.monotonic()
    simulate(definition, setting)
    return time.monotonic() - began


def multiverse(people: int, repeats: int) -> tuple[float, float]:
    """Return a universe's processor time over that of a hypothesis as planned (answers loaded), and the most memory
    after one over that before the first. Vary two rules that leave people out, doubtful readings and spellings.
    """
    from analysis.models import MetricValue
    from analysis.report.multiverse.universes import keep_multiverse
    from analysis.report.reports import Reporting
    from benchmarks.report_world import make_varied

    study, process, spent = make_varied(people, repeats, HYPOTHESES), psutil.Process(), list[float]()
    for _ in range(3):
        MetricValue.objects.all().delete()
        reporting = Reporting(study)
        _ = reporting.data
        began = time.process_time()
        reporting.part("as_planned")
        spent.append((time.process_time() - began) / len(HYPOTHESES))
    planned, before, memory = median(spent), process.memory_info().rss, list[int]()
    began = time.process_time()
    done = keep_multiverse(study, progress=lambda done, total: memory.append(process.memory_info().rss))["done"]
    each = (time.process_time() - began) / done
    told = f"{done} universes of {each:.3f} s each, {planned:.3f} s as planned; {max(memory) / 1e6:.0f} MB"
    print(told, f"after {before / 1e6:.0f} MB")
    return each / planned, max(memory) / before
