"""Import attributes of a corpus's users that were extracted elsewhere."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.people.attributes import LEAST_CONFIDENCE, import_attributes
from analysis.people.steps import PeopleError
from surveys.imports.study_command import FileCommand, reading


class Command(FileCommand):
    help = (
        "Import attributes (JSON lines or CSV): user, text, and optionally confidence, evidence (quotes), "
        "conversation, reasoning, generator. All of them or none; those that are there already are left alone."
    )
    reads = {"file": ".csv"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", help="its name; made when it is not there yet")
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--least-confidence", type=float, default=LEAST_CONFIDENCE,
            help=f"attributes of less are kept and left out (default {LEAST_CONFIDENCE})",
        )  # fmt: skip
        parser.add_argument("--allow-erased", action="store_true", help="bring back users who were erased")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with reading(options["file"]):
                report = import_attributes(
                    options["corpus"],
                    options["file"],
                    options["least_confidence"],
                    allow_erased=options["allow_erased"],
                )
        except PeopleError as error:
            raise CommandError(str(error)) from None
        line = "{corpus}: {attributes:,} attributes of {users:,} users, {new:,} new"
        if report["unlocated"]:
            line += "; {unlocated:,} of {quotes:,} quotes stand in no conversation of their user"
        if report["erased"]:
            line += "; {erased:,} about erased users were left out"
        self.stdout.write(json.dumps(report) if options["json"] else line.format(**report))
