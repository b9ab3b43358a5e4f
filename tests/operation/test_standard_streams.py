"""Commands' input and output: files that may be `-`, as in a container without files, faults, reports as JSON."""

import io
import sys
import tarfile
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from surveys.models import Study
from surveys.studies.imports.actions import Action, Options, Report
from tests.factories import make_participant, make_response, make_study

STUDY = Path(__file__).parents[2] / "surveys" / "studies" / "demo.toml"
# The mock's books are kept; an export to verify against may be a folder.
NAMED = {("rehearse_paying", "books"), ("verify_audit", "against")}


def options_with_files() -> set[tuple[str, str]]:
    found = set()
    for name, app in get_commands().items():
        if app in ("surveys", "analysis"):
            parser = load_command_class(app, name).create_parser("manage.py", name)
            found |= {(name, action.dest) for action in parser._actions if action.type is Path}
    return found


def test_every_file_of_a_command_may_be_a_dash() -> None:
    declared = set()
    for name, app in get_commands().items():
        command = load_command_class(app, name) if app in ("surveys", "analysis") else None
        if isinstance(command, Action):
            declared |= {(name, option) for option in (*command.reads, *command.writes)}
    assert declared == options_with_files() - NAMED
    assert len(declared) > 15


def own_parsers() -> Iterator[tuple[str, ArgumentParser]]:
    """Name and parser of each command, or of each subcommand if it has any."""
    for name, app in get_commands().items():
        if app in ("surveys", "analysis"):
            parser = load_command_class(app, name).create_parser("manage.py", name)
            steps = [action.choices for action in parser._actions if isinstance(action, _SubParsersAction)]
            yield from ((f"{name} {step}", own) for step, own in steps[0].items()) if steps else [(name, parser)]


def test_every_command_tells_programs_what_it_did() -> None:
    silent = [name for name, parser in own_parsers() if "--json" not in parser._option_string_actions]
    assert silent == []


class Failing(Action):
    faults = (LookupError,)
    words = "{done} of {wanted} done"

    def run(self, options: Options) -> Report:
        if not options["wanted"]:
            raise LookupError("There is nothing to do.")
        return {"done": 1, "stopped": "Interrupted." if options["wanted"] > 1 else ""}


@pytest.mark.parametrize(
    ("wanted", "printed", "error"),
    [(1, "1 of 1 done\n", ""), (2, "1 of 2 done\n", "Interrupted."), (0, "", "There is nothing to do.")],
)
def test_faults_are_one_line_and_what_was_done_stands_before_why_it_stopped(
    wanted: int, printed: str, error: str
) -> None:
    out = io.StringIO()
    with pytest.raises(CommandError, match=f"^{error}$") if error else nullcontext():
        Failing(stdout=out).handle(wanted=wanted, json=False)
    assert out.getvalue() == printed


def give(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.django_db
def test_study_comes_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, STUDY.read_bytes())
    call_command("load_study", "-")
    assert Study.objects.get().slug == "demo"


@pytest.mark.django_db
def test_faults_of_standard_input_have_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    give(monkeypatch, b"participant,chatbot,prompt\n1,2,3\n")
    with pytest.raises(CommandError, match=r"standard-input\.csv: nothing was imported(.|\n)*line 1: the column text"):
        call_command("import_responses", study.slug, "-")


@pytest.mark.django_db
@pytest.mark.parametrize(("content", "ending"), [(b'\xef\xbb\xbf\n {"id": 1}\n', "jsonl"), (b"id,profile\n", "csv")])
def test_json_lines_are_told_from_a_table(content: bytes, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    give(monkeypatch, content)
    with pytest.raises(CommandError, match=rf"standard-input\.{ending}"):
        call_command("import_annotations", study.slug, "-")


@pytest.mark.django_db
def test_export_to_standard_output_is_one_archive(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    response = make_response(make_participant())
    slug = response.participant.study.slug
    call_command("export", slug, "--out", "-", "--tables", "responses", "--formats", "csv", "--json")
    out, err = capsysbinary.readouterr()
    with tarfile.open(fileobj=io.BytesIO(out), mode="r|") as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive}
    table = next(name for name in files if name.endswith(".csv"))
    assert response.text.encode() in files[table]
    assert {"codebook.md", "codebook.json"} < set(files)
    assert b'"files"' in err


@pytest.mark.django_db
def test_two_files_cannot_go_to_standard_output() -> None:
    study = make_study()
    with pytest.raises(CommandError, match="Only one file can go to standard output"):
        call_command("report", study.slug, "--html", "-", "--pdf", "-")
