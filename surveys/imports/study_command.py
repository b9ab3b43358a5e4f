"""What commands share: which files `-` stands for, how a study is found, how faults are told, what is printed."""

import json
import shutil
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from surveys.imports.files import ImportFault
from surveys.models import Study

ACTOR = "command line"


DASH = Path("-")
UNNAMED = "standard-input"


class FileCommand(BaseCommand):
    """A command whose files may be `-`: standard input or output; all it says then goes to standard error.

    `reads`: the option of a file and the ending of one that is no JSON and has no name. `writes`: the option of a file
    (False) or a folder (True), which becomes a tar archive.
    """

    reads: ClassVar[dict[str, str]] = {}
    writes: ClassVar[dict[str, bool]] = {}

    def execute(self, *args: Any, **options: Any) -> str | None:
        with ExitStack() as stack:
            for name, ending in self.reads.items():
                if options.get(name) == DASH:
                    options[name] = keep_input(Path(stack.enter_context(TemporaryDirectory())), ending)
            outputs = [name for name in self.writes if options.get(name) == DASH]
            if not outputs:
                return super().execute(*args, **options)
            if len(outputs) > 1:
                raise CommandError("Only one file can go to standard output.", returncode=2)
            made = Path(stack.enter_context(TemporaryDirectory())) / "output"
            done = super().execute(*args, **options | {outputs[0]: made, "stdout": options.get("stderr") or sys.stderr})
            if made.exists():
                pour(made)
            return done


def keep_input(folder: Path, ending: str) -> Path:
    """Standard input as a file of this folder, which readers can look at twice."""
    path = folder / UNNAMED
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with path.open("rb") as file:
        start = file.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n")
    return path.rename(path.with_suffix(".jsonl" if start[:1] in (b"{", b"[") else ending))


def pour(made: Path) -> None:
    output = sys.stdout.buffer
    if made.is_dir():
        with tarfile.open(fileobj=output, mode="w|") as archive:
            for path in sorted(made.iterdir()):
                archive.add(path, path.name)
    else:
        with made.open("rb") as file:
            shutil.copyfileobj(file, output)
    output.flush()


class StudyCommand(FileCommand):
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
