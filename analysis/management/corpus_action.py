"""Commands about one corpus: how it is found, and by what its texts are embedded."""

from django.core.management.base import CommandError, CommandParser

from analysis.corpora import embeddings
from analysis.corpora.embeddings import Embedder, endpoint_embedder
from analysis.endpoints.endpoints import find_endpoint
from analysis.models import Corpus
from surveys.imports.actions import Action, Options, Report


class CorpusAction(Action):
    """An action whose first argument is a corpus, by this name."""

    argument = "corpus"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(self.argument, help="the corpus's name, as import_corpus has it")
        super().add_arguments(parser)

    def run(self, options: Options) -> Report | None:
        return self.carry_out(find_corpus(options[self.argument]), options)

    def carry_out(self, corpus: Corpus, options: Options) -> Report | None:
        raise NotImplementedError


def find_corpus(name: str) -> Corpus:
    corpus = Corpus.objects.filter(name=name).first()
    if corpus is None:
        known = ", ".join(Corpus.objects.order_by("name").values_list("name", flat=True)) or "none yet"
        raise CommandError(f"There is no corpus {name!r} ({known}). Make it with import_corpus.")
    return corpus


def choose_embedder(endpoint: str | None) -> Embedder:
    return endpoint_embedder(find_endpoint(endpoint)) if endpoint else embeddings.local_embedder()
