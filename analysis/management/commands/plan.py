"""Say what a study's hypotheses cost to know: widths, chances, money, by scenario and number of people."""

from pathlib import Path

from django.core.management.base import CommandError

from analysis.answers.readings import read_new
from analysis.plans.kept import KeptCells
from analysis.plans.outputs.registration import write_registration
from analysis.plans.simulating import CALLS, REPLICATES, WISH, PlanError, Setting, plan_study
from analysis.plans.texts import lines_of
from analysis.runs.progress import ProgressLine
from surveys.imports.actions import Options, Report, StudyAction, arg, find_study
from surveys.models import Study

MOST_PEOPLE, MOST_REPLICATES = 100_000, 10_000


class Command(StudyAction):
    help = (
        "Simulate a study's hypotheses many times, for three scenarios: how wide intervals will be, how often each is "
        "supported, what that costs."
    )
    arguments = (
        arg("--people", nargs="+", type=int, default=[], metavar="N", help="numbers of people (parts of the places)"),
        arg("--replicates", type=int, default=REPLICATES, help=f"simulated studies of each kind ({REPLICATES})"),
        arg("--calls", type=int, default=CALLS, help=f"answers of a model to each prompt ({CALLS})"),
        arg("--wish", type=float, default=WISH, help=f"the chance that is wanted ({WISH})"),
        arg("--like", metavar="STUDY", help="one more scenario: as people answered there (default: in the pilot)"),
        arg("--seed", type=int, default=0),
        arg("--pdf", type=Path, metavar="FILE", help="write it as a registration on paper, with what was simulated"),
    )
    writes = {"pdf": False}  # noqa: RUF012
    faults = (PlanError,)

    def carry_out(self, study: Study, options: Options) -> Report | None:
        sizes = tuple(sorted(set(options["people"])))
        if sizes and not (sizes[0] >= 10 and sizes[-1] <= MOST_PEOPLE):
            raise CommandError(f"--people takes 10 to {MOST_PEOPLE:,}.")
        if not 20 <= options["replicates"] <= MOST_REPLICATES or options["calls"] < 5 or not 0 < options["wish"] < 1:
            raise CommandError(
                f"--replicates takes 20 to {MOST_REPLICATES:,}, --calls 5 or more, --wish a share between 0 and 1."
            )
        like = find_study(options["like"]) if options["like"] else study
        read_new(like, anew=False)
        given = (options[name] for name in ("replicates", "calls", "seed", "wish"))
        setting = Setting(sizes, *given)
        cells = KeptCells(study, setting)
        with ProgressLine("scenarios and sizes") as progress:
            found = plan_study(study, setting, progress.count, like, cells)
        cells.forget()
        if options["pdf"]:
            options["pdf"].write_bytes(write_registration(study, found))
        return None if options["pdf"] and not options["json"] else found

    def tell(self, report: Report, options: Options) -> str:
        return "\n".join(lines_of(report))
