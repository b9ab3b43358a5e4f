"""What commands about corpora share: finding a corpus, embedding its texts, choosing how much goes to annotators."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.endpoints.endpoints import find_endpoint
from analysis.models import Corpus
from analysis.people.corpora import embeddings
from analysis.people.corpora.embeddings import Embedder, endpoint_embedder
from analysis.people.pushing import WHOLE, Portion
from surveys.studies.imports.actions import Action, Options, Report, arg, flag


class CorpusAction(Action):
    """An action on the corpus that its first argument names; `argument` is the name of that argument."""

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


PORTION = (
    arg("--items", type=int, metavar="N", help="at most so many in all (default as many as there are)"),
    arg("--people", type=int, metavar="N", help="of at most so many users, by seed (default all)"),
    arg("--seed", type=int, default=WHOLE.seed, help="which ones, and of pairs in which order"),
    flag("--toxic", "also conversations marked as toxic or redacted"),
    flag("--both", "also what the pilot has, or of the pilot the main study"),
)


def portion_of(options: Mapping[str, Any]) -> Portion:
    items, people, seed = (options[name] for name in ("items", "people", "seed"))
    return Portion(items, people, seed, options["both"], options["toxic"], options.get("sample") or "")


def say_portion(report: Mapping[str, Any]) -> str:
    left = [f"{report['beyond']:,} more wait for a larger portion"] if report["beyond"] else []
    left += [f"{report['in_other_part']:,} are in the other part of the study"] if report["in_other_part"] else []
    return "".join(f"; {words}" for words in left)
