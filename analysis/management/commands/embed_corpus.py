"""Make the embeddings of a corpus, for SP-RAG."""

from analysis.endpoints.endpoints import EndpointError
from analysis.management.corpus_action import CorpusAction, choose_embedder
from analysis.models import Corpus
from analysis.people.corpora.embeddings import Embedder, EmbeddingError, embed_corpus, missing_vectors
from analysis.people.corpora.retrieval import build_index, measure_recall
from analysis.runs.recipes.recipes import say_effort
from surveys.studies.imports.actions import Options, ProgressLine, Report, arg, flag

RECALL_AT = 100


class Command(CorpusAction):
    help = "Embed the conversations that have no embedding yet; stopped in the middle, it goes on where it was."
    argument = "name"
    arguments = (
        arg("--endpoint", help="an endpoint with /embeddings, instead of the local model"),
        flag("--index", "also build the approximate index, and measure what it misses"),
    )
    faults = (EmbeddingError, EndpointError)
    words = "{corpus}: {new:conversation} embedded by {model}"

    def carry_out(self, corpus: Corpus, options: Options) -> Report:
        embedder = choose_embedder(options["endpoint"])
        report = {"corpus": corpus.name, "model": embedder.name, "new": self.embed(corpus, embedder)}
        if not options["index"]:
            return report
        build_index()
        return report | {"recall": measure_recall(corpus, embedder.name, RECALL_AT)}

    def embed(self, corpus: Corpus, embedder: Embedder) -> int:
        missing, done = missing_vectors(corpus, embedder.name), 0
        wanted = missing.count()
        if wanted:
            self.stderr.write(f"{wanted:,} conversations to embed{say_effort(missing, embedder.name)}.")
        with ProgressLine("conversations", self.stderr._out) as progress:
            for number in embed_corpus(corpus, embedder):
                done += number
                progress.show(done / max(wanted, done), done)
        return done

    def tell(self, report: Report, options: Options) -> str:
        found = "; the approximate index finds {recall:.1%} of the {at} nearest" if "recall" in report else ""
        return super().tell(report, options) + found.format(**report, at=RECALL_AT)
