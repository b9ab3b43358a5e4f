"""Play simulated participants against a running server, and check afterwards that nothing went wrong."""

import argparse
import secrets
import sys
from urllib.parse import urlsplit

from django.core.management.base import CommandError

from surveys.annotation.items import has_items
from surveys.models import Study
from surveys.simulation.browser import TurnedAway, Unreachable
from surveys.simulation.run import NotSimulated, simulate
from surveys.studies.imports.actions import Action, Options, ProgressLine, Report, arg, flag, say
from surveys.studies.lifecycle import definition_of
from surveys.studies.wording import plural


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


class Command(Action):
    help = (
        "Play simulated participants, or annotators, over HTTP against a running server; every row of theirs is marked "
        "as simulated. With --faults things go wrong on the way; for that the lease of those who come too late "
        "is ended in the database, which stands for the time that they were away, and the gate decides against a "
        "few simulated annotators. Exit status 1 when "
        "something that was confirmed is not there, or somebody is where they should not be."
    )
    arguments = (
        arg("study"),
        arg("--participants", type=positive, required=True, metavar="N"),
        arg("--concurrency", type=positive, default=8, metavar="C", help="people at once (8)"),
        flag("--faults", "dropped connections, double clicks, people who come late …"),
        arg("--url", default="http://127.0.0.1:8000", help="the server (http://127.0.0.1:8000)"),
        arg("--seed", type=int, help="repeat the same choices; Prolific IDs are always new"),
    )
    faults = (NotSimulated,)

    def run(self, options: Options) -> None:
        study = Study.objects.select_related("current").filter(slug=options["study"]).first()
        check(study, options)
        seed = secrets.randbelow(1_000_000) if options["seed"] is None else options["seed"]
        settings = {name: options[name] for name in ("participants", "concurrency", "faults")}
        try:
            with ProgressLine("people") as progress:
                report = simulate(study, options["url"], seed=seed, progress=progress.count, **settings)
            say("{participants} of {participants} people".format(**options))
        except Unreachable as fault:
            raise CommandError(f"{fault}. Start the server (make demo), or name another with --url.") from None
        except TurnedAway as fault:
            raise CommandError(
                f"{fault}: too many visits from one address. Start the server with LIMIT_FACTOR=0."
            ) from None
        self.show({"study": study.slug, "concurrency": options["concurrency"], "seed": seed, **report}, options)
        for violation in report["violations"]:
            self.stderr.write(violation)
        if report["violations"]:
            sys.exit(1)

    def tell(self, report: Report, options: Options) -> str:
        return describe(report)


def check(study: Study | None, options: dict) -> None:
    if study is None:
        raise CommandError(f"There is no study {options['study']}. Load it first: manage.py load_study FILE.toml")
    if not study.is_open:
        raise CommandError(f"{study.slug} is {study.get_state_display().lower()}: nobody is let in. Launch it first.")
    if definition_of(study.current_id).annotation and not has_items(study, study.state == Study.State.PILOT):
        raise CommandError(f"{study.slug} has no items to annotate. Import some first: manage.py import_items")
    if urlsplit(options["url"]).scheme != "http" or not urlsplit(options["url"]).hostname:
        raise CommandError(f"--url {options['url']} is not an address such as http://127.0.0.1:8000")


def describe(report: dict) -> str:
    items, people = report.get("items"), plural(report["participants"], "person", "people")
    lines = [
        "{people} in {seconds} s: {requests} requests ({requests_per_second}/s), {submissions} answers sent, "
        "{confirmed} confirmed, {questioned} questioned".format(people=people, **report),
        "ends: " + ", ".join(f"{code} {n}" for code, n in report["ends"].items()),
        "mishaps: " + (", ".join(f"{name} {n}" for name, n in report["mishaps"].items()) or "none"),
        *([f"items: {items['full']} with all their labels, {items['open']} open"] if items else []),
        f"seed {report['seed']}; {len(report['violations']) or 'no'} violations",
    ]
    return "\n".join(lines)
