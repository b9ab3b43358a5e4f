"""Write the people of a corpus as files."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.management.commands.embed_corpus import find_corpus
from analysis.people.exporting import export_people
from analysis.people.steps import PeopleError
from surveys.imports.study_command import FileCommand, writing


class Command(FileCommand):
    help = "Write users with their verdicts, attributes with their evidence, and how they were made, as JSON."
    writes = {"out": True}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", help="its name, as import_corpus has it")
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="made when it is not there yet")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with writing(options["out"]):
                report = export_people(find_corpus(options["corpus"]), options["out"])
        except PeopleError as error:
            raise CommandError(str(error)) from None
        line = "{folder}: {users:,} users and {attributes:,} attributes of {corpus}"
        self.stdout.write(json.dumps(report) if options["json"] else line.format(**report))
