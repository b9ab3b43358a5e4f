"""Erase a person, and everything about them, from a corpus."""

from analysis.management.corpus_action import CorpusAction
from analysis.models import Corpus
from analysis.people.erasing import erase_user
from analysis.people.steps import PeopleError
from surveys.studies.imports.actions import Options, Report, arg


class Command(CorpusAction):
    help = (
        "Take a user's conversations, attributes, items and labels away. It can't be undone. Files that are imported "
        "later leave the person out, unless --allow-erased is given there."
    )
    arguments = (arg("key", help="the user's key in the corpus"),)
    faults = (PeopleError,)
    words = (
        "{corpus}: {conversations:conversation}, {attributes:attribute}, {items:item}, {labels:label} "
        "and {completions:model call} erased"
    )

    def carry_out(self, corpus: Corpus, options: Options) -> Report:
        return erase_user(corpus, options["key"])
