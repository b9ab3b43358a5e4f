"""Bring the words in which models are asked."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.models.conditions import ConditionError
from analysis.runs.asking.instructions import TOLD, keep_instruction
from analysis.runs.asking.registry import kind_told
from surveys.imports.study_command import ACTOR, FileCommand, reading


class Command(FileCommand):
    help = "Keep a text as the instruction of a task, or of judges. A changed text is another version; both stay."
    reads = {"file": ".txt"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("task", choices=TOLD)
        parser.add_argument("name", help="by which it is chosen: --instruction NAME, of judges --prompt NAME")
        parser.add_argument("file", type=Path)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with reading(options["file"]):
                kept, is_new = keep_instruction(options["task"], options["name"], options["file"], ACTOR)
        except ConditionError as error:
            raise CommandError(str(error)) from None
        label = kind_told(kept).label
        report = {"task": kept.task, "name": kept.name, "version": kept.version, "label": label, "new": is_new}
        words = f"{label}: {'kept' if is_new else 'already there'}, {len(kept.text):,} characters for {kept.task}"
        self.stdout.write(json.dumps(report) if options["json"] else words)
