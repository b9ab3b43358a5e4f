"""Show which conversations SP-RAG would put in front of a text."""

from django.core.management.base import CommandError

from analysis.endpoints.endpoints import EndpointError
from analysis.management.corpus_action import CorpusAction
from analysis.models import Corpus
from analysis.models.conditions import ConditionError
from analysis.people.corpora.embeddings import conversation_text, embedder_named
from analysis.people.corpora.retrieval import nearest
from analysis.runs.recipes.recipes import find_searched
from surveys.studies.imports.actions import Options, Report, arg, flag

SHOWN = 100  # characters of each conversation


class Command(CorpusAction):
    help = "The conversations of a corpus that are nearest to a text, nearest first."
    argument = "name"
    arguments = (
        arg("text"),
        arg("--number", type=int, default=10),
        flag("--approximate", "through the index of embed_corpus --index"),
    )
    faults = (ConditionError, EndpointError)

    def run(self, options: Options) -> Report | None:
        if options["number"] < 1:
            raise CommandError("--number is the number of conversations to show, at least 1.")
        return super().run(options)

    def carry_out(self, corpus: Corpus, options: Options) -> Report:
        embedder = embedder_named(find_searched(corpus, corpus.conversations.all()).model)
        question = embedder.embed([options["text"]])[0]
        found = nearest(corpus, embedder.name, question, options["number"], options["approximate"])
        rows = corpus.conversations.filter(sha256__in=[near.sha256 for near in found])
        texts = {row.sha256: " ".join(conversation_text(row.messages).split())[:SHOWN] for row in rows}
        shown = [near._asdict() | {"begins": texts[near.sha256]} for near in found]
        return {"corpus": corpus.name, "model": embedder.name, "nearest": shown}

    def tell(self, report: Report, options: Options) -> str:
        return "\n".join("{similarity:.3f}  {sha256:.12}  {begins}".format(**near) for near in report["nearest"])
