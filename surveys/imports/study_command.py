"""What commands about a study share: how it is found, how faults are told, and what is printed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from surveys.imports.files import ImportFault
from surveys.models import Study

ACTOR = "command line"


class StudyCommand(BaseCommand):
    """A command whose first argument is a study; `faults` are told in their own words, with exit status 1."""

    faults: tuple[type[Exception], ...] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="its short name, as in its address")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            self.carry_out(study, options)
        except self.faults as fault:
            raise CommandError(str(fault)) from None

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def tell(self, options: dict[str, Any], report: dict[str, Any], words: str) -> None:
        """The report as it is, or in words."""
        self.stdout.write(json.dumps(report) if options["json"] else words)


def find_study(slug: str) -> Study:
    study = Study.objects.select_related("current").filter(slug=slug).first()
    if study is None:
        known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no study {slug}. Studies: {known}. `load_study` makes one from its file.")
    return study


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """While a file is imported: what is wrong with it is told with its name."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path}: cannot be read: {error.strerror}") from None
    except ImportFault as fault:
        raise CommandError(f"{path}: nothing was imported. Faults: {fault.count}\n{fault}") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from None
