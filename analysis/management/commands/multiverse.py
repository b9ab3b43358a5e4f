"""Test a study's hypotheses under every choice that could have been made otherwise."""

from typing import ClassVar

from analysis.answers.readings import read_new
from analysis.report.multiverse.curve import rows_alone, say_curve
from analysis.report.multiverse.universes import MultiverseError, curves_of, keep_multiverse
from analysis.report.reports import ReportError
from surveys.models import Study
from surveys.studies.imports.actions import Options, ProgressLine, Report, StudyAction


class Command(StudyAction):
    help = (
        "Test a study's hypotheses under every choice: exclusions, flagged answers, doubtful readings, spellings, "
        "reader, language, temperature, pilot, people. What is there already is not computed again."
    )
    faults: ClassVar = (MultiverseError, ReportError)

    def carry_out(self, study: Study, options: Options) -> Report:
        read_new(study, anew=False)
        with ProgressLine("universes") as progress:
            return keep_multiverse(study, progress=progress.count)

    def tell(self, report: Report, options: Options) -> str:
        found = []
        for curve in curves_of(report):
            found += [f"{curve['hypothesis']}: {curve['text']}", f"  {say_curve(curve)}"]
            for row in rows_alone(curve):
                name = ": ".join(filter(None, (row["choice"], row["option"])))
                p = "" if row["p"] is None else f"p {row['p']}, "
                found.append(f"  {name:36} {row['found']}, {p}n {row['n_a']} and {row['n_b']}")
            found.append("")
        return "\n".join(found).rstrip()
