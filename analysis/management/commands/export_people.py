"""Write the people of a corpus as files."""

from pathlib import Path

from analysis.management.corpus_action import CorpusAction
from analysis.models import Corpus
from analysis.people.exporting import export_people
from analysis.people.steps import PeopleError
from surveys.studies.imports.actions import Options, Report, arg, writing


class Command(CorpusAction):
    help = "Write users with their verdicts, attributes with their evidence, and how they were made, as JSON."
    arguments = (arg("--out", type=Path, required=True, metavar="DIR", help="the folder, made if needed"),)
    writes = {"out": True}  # noqa: RUF012
    faults = (PeopleError,)
    words = "{folder}: {users:user} and {attributes:attribute} of {corpus}"

    def carry_out(self, corpus: Corpus, options: Options) -> Report:
        with writing(options["out"]):
            return export_people(corpus, options["out"])
