"""Let BM25 or embedding similarity rate relevance, as baselines beside people and judges."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from analysis.agreement.retrieval_raters import RetrievalRaterError, rate, score_by
from analysis.corpora.embeddings import EmbeddingError, endpoint_embedder, local_embedder
from analysis.endpoints.endpoints import EndpointError, find_endpoint
from surveys.imports.study_command import StudyCommand
from surveys.models import Study


class Command(StudyCommand):
    help = "Rate (attribute, prompt) pairs by retrieval; the threshold is chosen on half of the prompts."

    faults = (RetrievalRaterError, EmbeddingError, EndpointError)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--by", choices=("bm25", "embeddings"), default="bm25")
        parser.add_argument("--endpoint", help="an endpoint that serves /embeddings, instead of the local model")
        parser.add_argument("--seed", type=int, default=0, help="which half; another one is another rater")
        parser.add_argument("--pilot", action="store_true", help="the pilot's items")

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        name, score = self.rater(options)
        rated = rate(study, name, score, options["seed"], options["pilot"])
        line = "{rater}: {rated:,} items rated; threshold {threshold:.4g} chosen on {chosen_on:,} (F1 {f1_there:.3f})"
        degenerate = "; degenerate: no threshold does better than yes to all" if rated.degenerate else ""
        self.tell(options, asdict(rated), line.format(**asdict(rated)) + degenerate)

    def rater(self, options: dict) -> tuple:
        if options["by"] == "bm25":
            return "bm25", score_by()
        embedder = endpoint_embedder(find_endpoint(options["endpoint"])) if options["endpoint"] else local_embedder()
        return f"embeddings {embedder.name}"[:150], score_by(embedder.embed)
