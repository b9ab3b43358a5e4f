"""Say what it costs to test a study's hypotheses: widths, chances, money, by scenario and number of people; and, for
annotators, how sure agreement will be, by items and labels per item.
"""

from pathlib import Path

from django.core.management.base import CommandError
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.plans.annotators.simulating import FEWEST_ITEMS, MOST_ITEMS, WITHIN, RaterSetting, plan_annotators
from analysis.plans.annotators.texts import lines_of_annotators
from analysis.plans.beside import beside_frozen, lines_of_frozen
from analysis.plans.kept import KeptCells, has_annotators
from analysis.plans.registries import write_registration
from analysis.plans.simulating import CALLS, REPLICATES, WISH, PlanError, Setting, plan_study
from analysis.plans.texts import lines_of
from analysis.report.reports import tidy
from surveys.models import Study
from surveys.studies.imports.actions import Options, ProgressLine, Report, StudyAction, arg, find_study

MOST_PEOPLE, MOST_REPLICATES = 100_000, 10_000
OF_PEOPLE, OF_ANNOTATORS = ("people", "calls", "wish", "like", "pdf"), ("items", "overlap", "within")


class Command(StudyAction):
    help = (
        "Simulate a study's hypotheses many times, for three scenarios: how wide intervals will be, how often each is "
        "supported, what that costs. Of a study of annotators also: how wide the intervals of agreement will be."
    )
    arguments = (
        arg("--people", nargs="+", type=int, metavar="N", help="numbers of people (parts of the places)"),
        arg("--replicates", type=int, default=REPLICATES, help=f"simulated studies of each kind ({REPLICATES})"),
        arg("--calls", type=int, help=f"answers of a model to each prompt ({CALLS})"),
        arg("--wish", type=float, help=f"the chance that is wanted ({WISH})"),
        arg(
            "--like", metavar="STUDY", help="one more scenario, from how people answered there (default: in the pilot)"
        ),
        arg("--items", nargs="+", type=int, metavar="N", help="of annotators: numbers of items (parts of the study's)"),
        arg("--overlap", nargs="+", type=int, metavar="N", help="of annotators: labels an item (2, 3, 5, the study's)"),
        arg("--within", type=float, help=f"of annotators: half the interval that is wanted ({WITHIN})"),
        arg("--seed", type=int, default=0),
        arg(
            "--pdf",
            type=Path,
            metavar="FILE",
            help="write it as a registration on paper, with what was simulated (launched: as frozen)",
        ),
    )
    writes = {"pdf": False}  # noqa: RUF012
    faults = (PlanError,)

    def carry_out(self, study: Study, options: Options) -> Report | None:
        if not 20 <= options["replicates"] <= MOST_REPLICATES:
            raise CommandError(f"--replicates takes 20 to {MOST_REPLICATES:,}.")
        annotates = has_annotators(study)
        strange = OF_PEOPLE if annotates else OF_ANNOTATORS
        if given := [name for name in strange if options[name] is not None]:
            whose = "a study of annotators" if annotates else "a study whose people paste answers"
            raise CommandError(f"--{given[0]} is not for {whose}.")
        return self.of_annotators(study, options) if annotates else self.of_people(study, options)

    def of_annotators(self, study: Study, options: Options) -> Report:
        items, overlaps = (tuple(sorted(set(options[name] or ()))) for name in ("items", "overlap"))
        within = WITHIN if options["within"] is None else options["within"]
        if items and not (items[0] >= FEWEST_ITEMS and items[-1] <= MOST_ITEMS):
            raise CommandError(f"--items takes {FEWEST_ITEMS} to {MOST_ITEMS:,}.")
        if overlaps and not (overlaps[0] >= 2 and overlaps[-1] <= 20) or not 0 < within < 1:
            raise CommandError("--overlap takes 2 to 20, --within a number between 0 and 1.")
        setting = RaterSetting(items, overlaps, options["replicates"], options["seed"], within)
        cells = KeptCells(study, setting)
        with ProgressLine("scenarios and designs") as progress:
            found = plan_annotators(study, setting, progress.count, cells)
        cells.forget()
        return found

    def of_people(self, study: Study, options: Options) -> Report | None:
        sizes = tuple(sorted(set(options["people"] or ())))
        calls = CALLS if options["calls"] is None else options["calls"]
        wish = WISH if options["wish"] is None else options["wish"]
        if sizes and not (sizes[0] >= 10 and sizes[-1] <= MOST_PEOPLE):
            raise CommandError(f"--people takes 10 to {MOST_PEOPLE:,}.")
        if calls < 5 or not 0 < wish < 1:
            raise CommandError("--calls takes 5 or more, --wish a share between 0 and 1.")
        like = find_study(options["like"]) if options["like"] else study
        read_new(like, anew=False)
        setting = Setting(sizes, options["replicates"], calls, options["seed"], wish)
        cells = KeptCells(study, setting)
        with ProgressLine("scenarios and sizes") as progress:
            found = plan_study(study, setting, progress.count, like, cells)
        cells.forget()
        if options["pdf"]:
            options["pdf"].write_bytes(write_registration(study, found))
        if beside := beside_frozen(study, tidy(found), timezone.now()):
            found["frozen"] = beside
        return None if options["pdf"] and not options["json"] else found

    def tell(self, report: Report, options: Options) -> str:
        if "measures" in report:
            return "\n".join(lines_of_annotators(report))
        return "\n".join([*lines_of(report), *(lines_of_frozen(report["frozen"]) if "frozen" in report else ())])
