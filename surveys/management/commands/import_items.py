"""Read the items that annotators will judge into a study."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from surveys.annotation.items import import_items
from surveys.imports.study_command import ACTOR, StudyCommand, reading
from surveys.models import Study


class Command(StudyCommand):
    help = (
        "Import annotation items from a file of JSON lines (.jsonl) or a table (.csv). All of them or none; items "
        "that are there already are skipped. docs/annotation.md lists the keys of each kind."
    )
    reads = {"file": ".csv"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path)
        parser.add_argument("--pilot", action="store_true", help="for the pilot's annotators only")

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        with reading(options["file"]):
            done = import_items(study, options["file"], ACTOR, pilot=options["pilot"])
        line = "{study}: {items} items with {slots} slots, {skipped} already there"
        if done.unlocated:
            line += "\n{unlocated} quotes are not found in their history; they are shown without a place"
        report = {"study": study.slug, "pilot": options["pilot"], **vars(done)}
        self.tell(options, report, line.format(**report))
