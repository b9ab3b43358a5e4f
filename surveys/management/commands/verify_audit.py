"""Verify the chain of a study's decisions."""

import json

from django.core.management.base import BaseCommand, CommandError, CommandParser

from surveys.audit import find_breaks
from surveys.models import Study


class Command(BaseCommand):
    help = "Checks that no event of a study's audit trail was changed, left out or put in later."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="the study's slug")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, study: str, **options: object) -> None:
        found = Study.objects.filter(slug=study).first()
        if found is None:
            raise CommandError(f"There is no study called {study}.")
        breaks = list(find_breaks(found))
        events = found.audit_events.count()
        if options["json"]:
            report = {"study": study, "events": events, "holds": not breaks, "breaks": breaks}
            self.stdout.write(json.dumps(report))
        elif not breaks:
            self.stdout.write(f"The chain of {study} holds: {events} events.")
        else:
            self.stdout.write("\n".join(breaks))
        if breaks:
            raise CommandError(f"The chain of {study} does not hold in {len(breaks)} place(s).")
