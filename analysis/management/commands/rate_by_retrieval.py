"""Let BM25 or embedding similarity rate relevance, as baselines beside people and judges."""

import json
from dataclasses import asdict

from django.core.management.base import BaseCommand, CommandError

from analysis.embeddings import EmbeddingError, endpoint_embedder, local_embedder
from analysis.endpoints import EndpointError, find_endpoint
from analysis.retrieval_raters import RetrievalRaterError, rate, score_bm25, score_embeddings
from surveys.models import Study


class Command(BaseCommand):
    help = "Rate (attribute, prompt) pairs by retrieval; the threshold is chosen on half of the prompts."

    def add_arguments(self, parser) -> None:
        parser.add_argument("study")
        parser.add_argument("--by", choices=("bm25", "embeddings"), default="bm25")
        parser.add_argument("--endpoint", help="an endpoint that serves /embeddings, instead of the local model")
        parser.add_argument("--seed", type=int, default=0, help="which half")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args, **options) -> None:
        study = Study.objects.select_related("current").filter(slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no study {options['study']}. Studies: {known}.")
        try:
            name, score = self.rater(options)
            rated = rate(study, name, score, options["seed"])
        except (RetrievalRaterError, EmbeddingError, EndpointError) as error:
            raise CommandError(str(error)) from None
        line = "{rater}: {rated:,} items rated; threshold {threshold:.4g} chosen on {chosen_on:,} (F1 {f1_there:.3f})"
        self.stdout.write(json.dumps(asdict(rated)) if options["json"] else line.format(**asdict(rated)))

    def rater(self, options: dict) -> tuple:
        if options["by"] == "bm25":
            return "bm25", score_bm25
        embedder = endpoint_embedder(find_endpoint(options["endpoint"])) if options["endpoint"] else local_embedder()
        return f"embeddings {embedder.name}"[:150], score_embeddings(embedder)
