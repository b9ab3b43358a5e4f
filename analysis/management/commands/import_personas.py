"""Import a file of personas or of sentences that describe people."""

from pathlib import Path

from analysis.people.corpora.personas import PersonaFileError, import_personas
from surveys.studies.imports.actions import Action, Options, Report, arg


class Command(Action):
    help = "Import personas for SP-Profile: JSONL with 'persona' or 'sentences', or a text file with one a line."
    arguments = (
        arg("name", help="the set's name; files imported into one set complement each other"),
        arg("file", type=Path),
        arg(
            "--lines",
            choices=("persona", "sentence"),
            default="persona",
            help="what a line of a text file is: a description of a person, or one sentence about somebody",
        ),
        arg("--source", default="", help="where the personas come from"),
        arg("--licence", default="", help="the licence of the personas"),
    )
    reads = {"file": ".txt"}  # noqa: RUF012
    faults = (PersonaFileError,)
    words = "{personas}: {lines:line}, {new:,} new"

    def run(self, options: Options) -> Report:
        origin = {name: options[name] for name in ("source", "licence")}
        new, number = import_personas(options["name"], options["file"], options["lines"], **origin)
        return {"personas": options["name"], "lines": number, "new": new}
