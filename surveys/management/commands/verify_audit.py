"""Verify the chain of a study's decisions."""

from typing import Any

from django.core.management.base import CommandError

from surveys.access.audit import find_breaks
from surveys.imports.study_command import StudyCommand
from surveys.models import Study


class Command(StudyCommand):
    help = "Checks that no event of a study's audit trail was changed, left out or put in later."

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        breaks = list(find_breaks(study))
        events = study.audit_events.count()
        report = {"study": study.slug, "events": events, "holds": not breaks, "breaks": breaks}
        holds = f"The chain of {study.slug} holds: {events} events."
        self.tell(options, report, "\n".join(breaks) or holds)
        if breaks:
            raise CommandError(f"The chain of {study.slug} does not hold in {len(breaks)} place(s).")
