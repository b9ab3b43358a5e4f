"""Read the texts that are new, or were read by older rules."""

import time

from analysis.answers.readings import RULES_VERSION, find_changes, read_new
from surveys.models import Study
from surveys.studies.imports.actions import Options, ProgressLine, Report, StudyAction, flag


class Command(StudyAction):
    help = "Read the texts that have no answer yet or one by older rules. What a person decided is left alone."
    arguments = (flag("--list", "list what the rules of today read differently, and change nothing"),)
    words = "{study}: {read:text} read by version {rules_version} of the rules in {seconds} s"

    def carry_out(self, study: Study, options: Options) -> Report:
        if options["list"]:
            return {"study": study.slug, "rules_version": RULES_VERSION, "changes": list(find_changes(study))}
        began = time.monotonic()
        with ProgressLine("texts") as progress:
            count = read_new(study, progress.count)
        seconds = round(time.monotonic() - began, 2)
        return {"study": study.slug, "read": count, "rules_version": RULES_VERSION, "seconds": seconds}

    def tell(self, report: Report, options: Options) -> str:
        if not options["list"]:
            return super().tell(report, options)
        total = "{study}: version {rules_version} of the rules reads {count:,} answers differently"
        lines = map(line_of, report["changes"])
        return "\n".join([*lines, total.format(**report, count=len(report["changes"]))])


def line_of(change: Report) -> str:
    before, after = (
        (said["letter"] or ", ".join(said["names"]) or "nothing") + (f" ({said['doubt']})" if said["doubt"] else "")
        for said in (change["before"], change["after"])
    )
    return f"{change['answer']} {change['prompt']} {change['is_of']}: {before} → {after}"
