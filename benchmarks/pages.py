"""What every console page asks of the database: `python -m benchmarks.pages [--statements PAGE] [--json]`.

The study has 800 people x 13 prompts and 41,600 completions; its owner opens each page several times, with the report
computed. Milliseconds of SQL are the median of these visits. Files, and addresses that only accept POST, are left out.
For the page of read-backs it prints the processor time, ours and PostgreSQL's, just after somebody gave 13 answers.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management import call_command

from benchmarks.goals import ROWS, Goal
from benchmarks.report import world_parser
from benchmarks.server import database_of_its_own

MOST_MS, MOST_STATEMENTS = 60, 15
READ_BACKS_MS = 200  # processor time, right after new answers


def main() -> None:
    parser = world_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--statements", metavar="PAGE", help="only this page, with its statements and their times")
    options = parser.parse_args()
    with database_of_its_own():
        found = measure(options)
        read_backs = read_back_ms(options.rounds)
    print(json.dumps(found, indent=1) if options.json else "\n".join(describe(found)))
    print(f"read-backs after new answers: {read_backs:.0f} ms of processor", file=sys.stderr)


def goals(quick: bool) -> list[Goal]:
    size = {"people": 80, "repeats": 40, "draws": 200} if quick else {"people": 800, "repeats": 400, "draws": 2000}
    with database_of_its_own():
        found = measure(argparse.Namespace(**size, rounds=1 if quick else 5, statements=None))
        read_backs = read_back_ms(1 if quick else 5)
    print("\n".join(describe(found)))
    worst = [max(page[name] for page in found.values()) for name in ("statements", "sql_ms")]
    worst.append(read_backs / READ_BACKS_MS)
    limits = ((MOST_STATEMENTS, "statements"), (MOST_MS, "ms"), (1, f"× {READ_BACKS_MS} ms"))
    return [Goal(work, got, *limit) for work, got, limit in zip(ROWS["pages"], worst, limits, strict=True)]


def measure(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    from analysis.report.reports import report
    from benchmarks.report_world import make_world

    call_command("collectstatic", interactive=False, verbosity=0)
    study = make_world(options.people, options.repeats)
    report(study, draws=options.draws)
    return open_pages(study, options.rounds, options.statements)


def open_pages(study: Any, rounds: int, only: str | None = None) -> dict[str, dict[str, float]]:
    """Return each page's most statements, the median of their milliseconds, and PostgreSQL's mean processor time."""
    from django.test import Client

    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(owner_of(study))
    found = {}
    for address in addresses_of(study):
        if only and only not in address:
            continue
        if not is_page(client.get(address)):
            continue
        began = cpu_seconds()
        watched = [watch(lambda address=address: client.get(address)) for _ in range(rounds)]
        spent = [1000 * sum(seconds for _, seconds in asked) for asked in watched]
        found[address] = {
            "statements": max(len(asked) for asked in watched),
            "sql_ms": statistics.median(spent),
            "cpu_ms": 1000 * (cpu_seconds() - began) / rounds,
        }
        if only:
            for sql, seconds in watched[-1]:
                print(f"{1000 * seconds:7.1f} ms  {sql}")
    return found


def read_back_ms(rounds: int) -> float:
    """Return processor milliseconds, ours and PostgreSQL's: the median of the first views after each new person."""
    from django.test import Client
    from django.urls import reverse

    from benchmarks.report_world import make_people
    from surveys.models import Study

    study = Study.objects.select_related("current").get()
    prompts, rng = list(study.current.prompts.all()), np.random.default_rng(2)
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(owner_of(study))
    spent = []
    for _ in range(rounds + 1):
        make_people(study, prompts, 1, rng)
        began = time.process_time() + cpu_seconds()
        assert client.get(reverse("answers:accuracy", args=[study.slug])).status_code == 200
        spent.append(1000 * (time.process_time() + cpu_seconds() - began))
    return statistics.median(spent[1:])  # the first view counts all answers


def cpu_seconds() -> float:
    """Return the processor time of this connection's PostgreSQL process; on a busy machine statements mostly wait."""
    from django.db import connection

    schedule = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return int(schedule.read_text().split()[0]) / 1e9 if schedule.exists() else 0.0


def is_page(response: Any) -> bool:
    return response.status_code < 300 and response.get("Content-Type", "").startswith("text/html")


def owner_of(study: Any) -> Any:
    from django.contrib.auth.models import User

    from surveys.models import Membership

    owner, _ = User.objects.get_or_create(username="owner")
    Membership.objects.get_or_create(study=study, user=owner, defaults={"role": Membership.Role.OWNER})
    return owner


def watch(work: Callable[[], Any]) -> list[tuple[str, float]]:
    """Run the work; return the statements that it executed, each with its seconds."""
    from django.db import connection

    asked: list[tuple[str, float]] = []

    def note(execute: Callable, sql: str, params: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            asked.append((sql, time.perf_counter() - began))

    with connection.execute_wrapper(note):
        work()
    return asked


# --- which pages there are


def addresses_of(study: Any) -> Iterator[str]:
    """Yield every console address that may have a page for this study, filled with what the study has."""
    from django.urls import NoReverseMatch, get_resolver, reverse

    known = values_of(study)
    for space, pattern in patterns(get_resolver()):
        names = list(pattern.pattern.converters)
        for values in fill(space, pattern.name, names, known):
            try:
                address = reverse(f"{space}:{pattern.name}", kwargs=values)
            except NoReverseMatch:  # no converter accepts the value
                continue
            if address.startswith("/console/") and "log" not in pattern.name:
                yield address


def patterns(resolver: Any, space: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every named pattern with its namespace."""
    for entry in resolver.url_patterns:
        if hasattr(entry, "url_patterns"):
            yield from patterns(entry, entry.namespace or space)
        elif space and entry.name:
            yield space, entry


def fill(space: str, page: str, names: list[str], known: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a page, once for each value of its last argument."""
    choices = [known.get(f"{space}:{page}:{name}", known.get(f"{space}:{name}", known.get(name, []))) for name in names]
    if all(choices):
        own = {name: values[0] for name, values in zip(names, choices, strict=True)}
        for last in choices[-1] if names else [None]:
            yield own | ({names[-1]: last} if names else {})


def values_of(study: Any) -> dict[str, list[Any]]:
    """Return the values of each argument: of one page, of a namespace, or of all pages."""
    from analysis.answers.reviews import answers_of
    from analysis.models import Completion, Corpus, Endpoint, PersonaSet, TrainedModel
    from analysis.report.pages.shown import FIGURE_PAGES, OVERVIEW, PAGES
    from surveys.models import AnnotationItem, Participant

    calls = Completion.objects.filter(run__study=study).order_by("run", "pk").values_list("run", "pk")[:1]
    people = Participant.objects.filter(study=study).order_by("pk")
    corpora = list(Corpus.objects.values_list("name", flat=True)[:1])
    return {
        "slug": [study.slug],
        "setup:number": [study.current.number],
        "console:number": [study.current.number],
        "pseudonym": list(people.values_list("pseudonym", flat=True)[:1]),
        "compare:page:name": [name for name in PAGES if name != OVERVIEW.name],
        "compare:computing:name": list(PAGES),
        "compare:figure-part:name": list(FIGURE_PAGES),
        "answers:key": list(answers_of(study).order_by("pk").values_list("pk", flat=True)[:1]),
        "agreement:key": list(AnnotationItem.objects.filter(study=study).values_list("pk", flat=True)[:1]),
        "baselines:name": list(Endpoint.objects.values_list("name", flat=True)[:1]),
        "baselines:number": [run for run, _ in calls],
        "baselines:call": [call for _, call in calls],
        "baselines:corpus": corpora,
        "people:name": corpora,
        "people:persona-set:name": list(PersonaSet.objects.values_list("name", flat=True)[:1]),
        "people:set-origin:name": list(PersonaSet.objects.values_list("name", flat=True)[:1]),
        "training:name": list(TrainedModel.objects.values_list("name", flat=True)[:1]),
    }


# --- in words


def describe(found: dict[str, dict[str, float]]) -> Iterator[str]:
    width = max(map(len, found))
    yield f"{'page':{width}} statements  SQL ms  CPU ms of PostgreSQL"
    for address, spent in sorted(found.items(), key=lambda entry: -entry[1]["sql_ms"]):
        is_met = spent["sql_ms"] <= MOST_MS and spent["statements"] <= MOST_STATEMENTS
        figures = f"{spent['statements']:10} {spent['sql_ms']:7.1f} {spent['cpu_ms']:7.1f}"
        yield f"{address:{width}} {figures}{'' if is_met else '  NOT MET'}"
    yield f"{len(found)} pages; limits: {MOST_STATEMENTS} statements, {MOST_MS} ms"


if __name__ == "__main__":
    main()
