"""Read what is new, or was read by older rules."""

import time
from typing import Any

from analysis.answers.readings import RULES_VERSION, read_new
from analysis.runs.progress import ProgressLine
from surveys.imports.study_command import StudyCommand
from surveys.models import Study


class Command(StudyCommand):
    help = "Read the texts that have no answer yet or one by older rules. What a person decided is left alone."

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        began = time.monotonic()
        with ProgressLine("texts") as progress:
            count = read_new(study, progress.count)
        seconds = round(time.monotonic() - began, 2)
        report = {"study": study.slug, "read": count, "rules_version": RULES_VERSION, "seconds": seconds}
        line = "{study}: {read:,} texts read by version {rules_version} of the rules in {seconds} s"
        self.tell(options, report, line.format(**report))
