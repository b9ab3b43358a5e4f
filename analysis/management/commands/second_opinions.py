"""Let a model read the texts that the rules are not sure of."""

from decimal import Decimal, InvalidOperation

from django.core.management.base import CommandError

from analysis.answers.readings import give_opinions
from analysis.endpoints.endpoints import EndpointError
from surveys.models import Study
from surveys.studies.imports.actions import Options, ProgressLine, Report, StudyAction, arg
from surveys.studies.wording import dollars, fill


class Command(StudyAction):
    help = "Ask a model what the texts in doubt say. The review page shows it; no answer changes by itself."
    arguments = (
        arg("--endpoint", required=True),
        arg("--limit", type=int, help="at most this many texts"),
        arg("--budget", help="the most to spend, in dollars"),
    )
    faults = (EndpointError,)

    def carry_out(self, study: Study, options: Options) -> Report:
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit must be 1 or more.")
        try:
            budget = None if options["budget"] is None else Decimal(options["budget"])
            with ProgressLine("texts") as progress:
                given = give_opinions(study, options["endpoint"], options["limit"], budget, progress.count)
        except InvalidOperation:
            raise CommandError(f"--budget must be dollars such as 2.50, not {options['budget']!r}.") from None
        return {"study": study.slug, **vars(given), "usd": float(given.usd)}

    def tell(self, report: Report, options: Options) -> str:
        line = "{study}: {replies:text} read, {failed:call} failed, {cost}"
        why = f"\n  last failure: {report['reason']}" if report["failed"] else ""
        return fill(line, **report, cost=dollars(report["usd"])) + why

    def failure(self, report: Report) -> str:
        if report["failed"] and not report["replies"] and not report["stopped"]:
            return "No call was answered."
        return f"Stopped early: {report['stopped']}" if report["stopped"] else ""
