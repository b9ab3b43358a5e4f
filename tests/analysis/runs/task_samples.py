"""A corpus with one kept user, and tasks asked about it."""

from typing import Any

from analysis.models import Corpus
from tests.analysis.people.people_samples import make_person, people, talk


def corpus_of(*texts: str) -> Corpus:
    """One kept user with a conversation for each text, and enough others to pass the filter."""
    rows = make_person("ann", [[text] for text in texts] + talk("ann", 3))
    people(rows[0].corpus.name, "filter", "--without-assistant-use")
    return rows[0].corpus


def extract(corpus: Corpus, endpoint: str = "scripted", *options: str) -> dict[str, Any]:
    return people(corpus.name, "extract", "--endpoint", endpoint, *options)
