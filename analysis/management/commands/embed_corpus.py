"""Make the embeddings of a corpus, for SP-RAG."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.corpora import embeddings
from analysis.corpora.embeddings import Embedder, EmbeddingError, embed_corpus, endpoint_embedder, missing_vectors
from analysis.corpora.retrieval import build_index, measure_recall
from analysis.endpoints.endpoints import EndpointError, find_endpoint
from analysis.models import Corpus
from analysis.runs.progress import ProgressLine
from analysis.runs.recipes.recipes import say_effort

RECALL_AT = 100


class Command(BaseCommand):
    help = "Embed the conversations that have no embedding yet; stopped in the middle, it goes on where it was."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the corpus")
        parser.add_argument("--endpoint", help="an endpoint that serves /embeddings, instead of the local model")
        parser.add_argument(
            "--index",
            action="store_true",
            help="also build the approximate index, and measure what it misses",
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            corpus = find_corpus(options["name"])
            embedder = choose_embedder(options["endpoint"])
            report = {"corpus": corpus.name, "model": embedder.name, "new": self.embed(corpus, embedder)}
        except (EmbeddingError, EndpointError) as error:
            raise CommandError(str(error)) from None
        line = f"{corpus.name}: {report['new']:,} conversations embedded by {embedder.name}"
        if options["index"]:
            build_index()
            report["recall"] = measure_recall(corpus, embedder.name, RECALL_AT)
            line += f"; the approximate index finds {report['recall']:.1%} of the {RECALL_AT} nearest"
        self.stdout.write(json.dumps(report) if options["json"] else line)

    def embed(self, corpus: Corpus, embedder: Embedder) -> int:
        missing = missing_vectors(corpus, embedder.name)
        wanted = missing.count()
        if wanted:
            self.stderr.write(f"{wanted:,} conversations to embed{say_effort(missing, embedder.name)}.")
        progress, done = ProgressLine("conversations", self.stderr._out), 0
        try:
            for number in embed_corpus(corpus, embedder):
                done += number
                progress.show(done / max(wanted, done), done)
        finally:
            progress.end()
        return done


def find_corpus(name: str) -> Corpus:
    corpus = Corpus.objects.filter(name=name).first()
    if corpus is None:
        known = ", ".join(Corpus.objects.order_by("name").values_list("name", flat=True)) or "none yet"
        raise CommandError(f"There is no corpus {name!r} ({known}). Make it with import_corpus.")
    return corpus


def choose_embedder(endpoint: str | None) -> Embedder:
    return endpoint_embedder(find_endpoint(endpoint)) if endpoint else embeddings.local_embedder()
