"""Show which conversations SP-RAG would put in front of a text."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.corpora.embeddings import conversation_text, embedder_named
from analysis.corpora.retrieval import nearest
from analysis.endpoints.endpoints import EndpointError
from analysis.management.commands.embed_corpus import find_corpus
from analysis.models.conditions import ConditionError
from analysis.runs.recipes.recipes import find_searched

SHOWN = 100  # characters of each conversation


class Command(BaseCommand):
    help = "The conversations of a corpus that are nearest to a text, nearest first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the corpus")
        parser.add_argument("text")
        parser.add_argument("--number", type=int, default=10)
        parser.add_argument("--approximate", action="store_true", help="through the index of embed_corpus --index")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["number"] < 1:
            raise CommandError("--number is the number of conversations to show, at least 1.")
        corpus = find_corpus(options["name"])
        try:
            embedder = embedder_named(find_searched(corpus, corpus.conversations.all()).model)
            question = embedder.embed([options["text"]])[0]
        except (ConditionError, EndpointError) as error:
            raise CommandError(str(error)) from None
        found = nearest(corpus, embedder.name, question, options["number"], options["approximate"])
        rows = corpus.conversations.filter(sha256__in=[near.sha256 for near in found])
        texts = {row.sha256: " ".join(conversation_text(row.messages).split())[:SHOWN] for row in rows}
        if options["json"]:
            shown = [near._asdict() | {"begins": texts[near.sha256]} for near in found]
            self.stdout.write(json.dumps({"corpus": corpus.name, "model": embedder.name, "nearest": shown}))
            return
        for near in found:
            self.stdout.write(f"{near.similarity:.3f}  {near.sha256[:12]}  {texts[near.sha256]}")
