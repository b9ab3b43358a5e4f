"""Import a file of personas or of sentences that describe people."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.corpora.personas import PersonaFileError, import_personas
from surveys.imports.study_command import FileCommand


class Command(FileCommand):
    help = "Import personas for SP-Profile: JSONL with 'persona' or 'sentences', or a text file with one a line."
    reads = {"file": ".txt"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the set; files that are imported into one set complement each other")
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--lines",
            choices=("persona", "sentence"),
            default="persona",
            help="what a line of a text file is: a description of a person, or one sentence about somebody",
        )
        parser.add_argument("--source", default="", help="where they come from")
        parser.add_argument("--licence", default="", help="under which they may be used")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            origin = {name: options[name] for name in ("source", "licence")}
            new, number = import_personas(options["name"], options["file"], options["lines"], **origin)
        except PersonaFileError as error:
            raise CommandError(str(error)) from None
        report = {"personas": options["name"], "lines": number, "new": new}
        line = "{personas}: {lines:,} lines, {new:,} new"
        self.stdout.write(json.dumps(report) if options["json"] else line.format(**report))
