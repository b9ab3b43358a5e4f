"""Read the items that annotators will judge into a study."""

from pathlib import Path

from surveys.annotation.items import import_items
from surveys.models import Study
from surveys.studies.imports.actions import ACTOR, Options, Report, StudyAction, arg, flag, reading, say_closed


class Command(StudyAction):
    help = (
        "Import annotation items from a file of JSON lines (.jsonl) or a table (.csv). All of them or none; items "
        "that are there already are skipped. docs/annotation.md lists the keys of each kind."
    )
    arguments = (arg("file", type=Path), flag("--pilot", "for the pilot's annotators only"))
    reads = {"file": ".csv"}  # noqa: RUF012
    words = "{study}: {items:item} with {slots:slot}, {skipped} already there"

    def carry_out(self, study: Study, options: Options) -> Report:
        with reading(options["file"]):
            done = import_items(study, options["file"], ACTOR, pilot=options["pilot"])
        say_closed(study, done.items, "these items")
        return {"study": study.slug, "pilot": options["pilot"], **vars(done)}

    def tell(self, report: Report, options: Options) -> str:
        lost = "\n{unlocated} quotes are not found in their history; they are shown without a place"
        return super().tell(report, options) + (lost.format(**report) if report["unlocated"] else "")
