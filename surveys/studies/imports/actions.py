"""The base of commands: arguments, finding studies and files, reporting faults, and output."""

import json
import shutil
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple, TextIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from surveys.models import Study
from surveys.studies.imports.files import ImportFault
from surveys.studies.wording import RaisedAs, duration, fill, percent

ACTOR = "command line"
DASH = Path("-")
UNNAMED = "standard-input"
ON_TERMINAL, IN_LOG = 0.3, 10.0  # seconds between two lines of progress
Report = dict[str, Any]
Options = dict[str, Any]


class Argument(NamedTuple):
    names: tuple[str, ...]
    settings: dict[str, Any]


def arg(*names: str, **settings: Any) -> Argument:
    return Argument(names, settings)


def flag(name: str, words: str = "") -> Argument:
    return arg(name, action="store_true", help=words)


class Action(BaseCommand):
    """A command that makes one report and prints it as JSON or in words.

    `faults` become errors in their own words, with exit status 1. A file may be `-`: standard input, or standard
    output, whereupon all other output goes to standard error. `reads`: options of files, with the suffix of nameless
    input that is not JSON. `writes`: options of files (False) or folders (True), which become a tar archive.
    """

    arguments: ClassVar[Sequence[Argument]] = ()
    faults: ClassVar[tuple[type[Exception], ...]] = ()
    words: ClassVar[str] = ""  # with names of the report and the options in braces, and words to count: {items:item}
    reads: ClassVar[dict[str, str]] = {}
    writes: ClassVar[dict[str, bool]] = {}

    def add_arguments(self, parser: CommandParser) -> None:
        for names, settings in self.arguments:
            parser.add_argument(*names, **settings)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

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
                write_to_stdout(made)
            return done

    def handle(self, *args: Any, **options: Any) -> None:
        with RaisedAs(CommandError, *self.faults):
            report = self.run(options)
        if report is not None:
            self.show(report, options)

    def show(self, report: Report, options: Options) -> None:
        self.stdout.write(self.as_json(report) if options["json"] else self.tell(report, options))
        if reason := self.failure(report):
            raise CommandError(reason)

    def run(self, options: Options) -> Report | None:
        """Make the report; None if nothing more is to be printed."""
        raise NotImplementedError

    def tell(self, report: Report, options: Options) -> str:
        return fill(self.words, **options | report)

    def as_json(self, report: Report) -> str:
        return json.dumps(report)

    def failure(self, report: Report) -> str:
        """Why the exit status is 1 although there is a report; empty if it is 0."""
        return str(report.get("stopped") or "")


class StudyAction(Action):
    """An action whose first argument is a study."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="its short name, as in its address")
        super().add_arguments(parser)

    def run(self, options: Options) -> Report | None:
        return self.carry_out(find_study(options["study"]), options)

    def carry_out(self, study: Study, options: Options) -> Report | None:
        raise NotImplementedError


def find_study(slug: str) -> Study:
    study = Study.objects.select_related("current").filter(slug=slug).first()
    if study is None:
        known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no study {slug}. Studies: {known}. `load_study` makes one from its file.")
    return study


def keep_input(folder: Path, ending: str) -> Path:
    """Save standard input to a file in this folder, since readers may need it twice."""
    path = folder / UNNAMED
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with path.open("rb") as file:
        start = file.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n")
    return path.rename(path.with_suffix(".jsonl" if start[:1] in (b"{", b"[") else ending))


def write_to_stdout(made: Path) -> None:
    output = sys.stdout.buffer
    if made.is_dir():
        with tarfile.open(fileobj=output, mode="w|") as archive:
            for path in sorted(made.iterdir()):
                archive.add(path, path.name)
    else:
        with made.open("rb") as file:
            shutil.copyfileobj(file, output)
    output.flush()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn faults of an imported file into a CommandError with its name."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path}: cannot be read: {error.strerror}") from None
    except ImportFault as fault:
        raise CommandError(f"{path}: nothing was imported. Faults: {fault.count}\n{fault}") from None


@contextmanager
def pushing(study: Study) -> Iterator[None]:
    """Turn faults of items added to a study into a CommandError with its name."""
    try:
        yield
    except ImportFault as fault:
        raise CommandError(f"{study.slug}: nothing was added. Faults: {fault.count}\n{fault}") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from None


def say(words: str) -> None:
    """Print progress to standard error at once."""
    print(words, file=sys.stderr, flush=True)


def say_closed(study: Study, added: int, what: str) -> None:
    """Warn that only models will label the items added to a closed study."""
    if added and study.state == Study.State.CLOSED:
        say(f"{study.slug} is closed: judges can label {what}, but nobody new comes to do so.")


class ProgressLine:
    """A line with a long command's progress and remaining time; `what` names the units, such as "conversations"."""

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self.what = what
        self.stream = sys.stderr if stream is None else stream
        self.began = self.shown = time.monotonic()
        self.pause = ON_TERMINAL if self.stream.isatty() else IN_LOG

    def show(self, share: float, number: int) -> None:
        """Report that `share` of the work, from 0 to 1, is done; most calls print nothing."""
        now = time.monotonic()
        if now - self.shown < self.pause:
            return
        self.shown = now
        left = (now - self.began) * (1 - share) / share if share else None
        until = "" if left is None else f", {duration(left)} to go"
        self.write(f"{number:,} {self.what}, {percent(share)}{until}")

    def count(self, done: int, total: int) -> None:
        self.show(done / max(done, total, 1), done)

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *error: object) -> None:
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")

    def write(self, line: str) -> None:
        self.stream.write(f"\r\x1b[K{line}" if self.stream.isatty() else f"{line}\n")
        self.stream.flush()
