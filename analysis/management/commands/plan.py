"""Say what a study's hypotheses cost to know: widths, chances, money, by scenario and number of people."""

from django.core.management.base import CommandError

from analysis.answers.readings import read_new
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
    )
    faults = (PlanError,)

    def carry_out(self, study: Study, options: Options) -> Report:
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
        with ProgressLine("scenarios and sizes") as progress:
            return plan_study(study, Setting(sizes, *given), progress.count, like)

    def tell(self, report: Report, options: Options) -> str:
        return "\n".join(lines_of(report))
