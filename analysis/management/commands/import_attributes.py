"""Import attributes of a corpus's users that were extracted elsewhere."""

from pathlib import Path

from analysis.people.attributes import LEAST_CONFIDENCE, import_attributes
from analysis.people.steps import PeopleError
from surveys.studies.imports.actions import Action, Options, Report, arg, flag, reading
from surveys.studies.wording import fill


class Command(Action):
    help = (
        "Import attributes (JSON lines or CSV): user, text, and optionally confidence, evidence (quotes), "
        "conversation, reasoning, generator. All of them or none; those that are there already are left alone."
    )
    arguments = (
        arg("corpus", help="the corpus's name; made if needed"),
        arg("file", type=Path),
        arg(
            "--least-confidence",
            type=float,
            default=LEAST_CONFIDENCE,
            help=f"attributes of less are kept and left out (default {LEAST_CONFIDENCE})",
        ),
        flag("--allow-erased", "bring back users who were erased"),
    )
    reads = {"file": ".csv"}  # noqa: RUF012
    faults = (PeopleError,)

    def run(self, options: Options) -> Report:
        given = (options[name] for name in ("corpus", "file", "least_confidence"))
        with reading(options["file"]):
            return import_attributes(*given, allow_erased=options["allow_erased"])

    def tell(self, report: Report, options: Options) -> str:
        line = "{corpus}: {attributes:attribute} of {users:user}, {new:,} new"
        if report["unlocated"]:
            line += "; {unlocated:,} of {quotes:,} quotes stand in no conversation of their user"
        if report["erased"]:
            line += "; {erased:,} about erased users were left out"
        return fill(line, **report)
