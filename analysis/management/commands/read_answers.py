"""Read what is new, or was read by older rules."""

import time
from typing import Any

from django.core.management.base import CommandParser

from analysis.answers.readings import RULES_VERSION, find_changes, read_new
from analysis.runs.progress import ProgressLine
from surveys.imports.study_command import StudyCommand
from surveys.models import Study


class Command(StudyCommand):
    help = "Read the texts that have no answer yet or one by older rules. What a person decided is left alone."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--list", action="store_true", help="list what the rules of today read differently, and change nothing"
        )

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        if options["list"]:
            self.list_changes(study, options)
            return
        began = time.monotonic()
        with ProgressLine("texts") as progress:
            count = read_new(study, progress.count)
        seconds = round(time.monotonic() - began, 2)
        report = {"study": study.slug, "read": count, "rules_version": RULES_VERSION, "seconds": seconds}
        line = "{study}: {read:,} texts read by version {rules_version} of the rules in {seconds} s"
        self.tell(options, report, line.format(**report))

    def list_changes(self, study: Study, options: dict[str, Any]) -> None:
        changes = list(find_changes(study))
        lines = [f"{line_of(change)}" for change in changes]
        report = {"study": study.slug, "rules_version": RULES_VERSION, "changes": changes}
        total = f"{study.slug}: version {RULES_VERSION} of the rules reads {len(changes):,} answers differently"
        self.tell(options, report, "\n".join([*lines, total]))


def line_of(change: dict[str, Any]) -> str:
    before, after = (
        (said["letter"] or ", ".join(said["names"]) or "nothing") + (f" ({said['doubt']})" if said["doubt"] else "")
        for said in (change["before"], change["after"])
    )
    return f"{change['answer']} {change['prompt']} {change['is_of']}: {before} → {after}"
