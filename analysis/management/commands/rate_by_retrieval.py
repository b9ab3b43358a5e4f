"""Let BM25 or embedding similarity rate relevance, as baselines beside people and judges."""

from dataclasses import asdict

from analysis.agreement.retrieval_raters import RetrievalRaterError, rate, score_by
from analysis.endpoints.endpoints import EndpointError
from analysis.management.corpus_action import choose_embedder
from analysis.people.corpora.embeddings import EmbeddingError
from surveys.models import Study
from surveys.studies.imports.actions import Options, Report, StudyAction, arg, flag


class Command(StudyAction):
    help = "Rate (attribute, prompt) pairs by retrieval; the threshold is chosen on half of the prompts."
    arguments = (
        arg("--by", choices=("bm25", "embeddings"), default="bm25"),
        arg("--endpoint", help="an endpoint with /embeddings, instead of the local model"),
        arg("--seed", type=int, default=0, help="draws the half; another seed is another rater"),
        flag("--pilot", "the pilot's items"),
    )
    faults = (RetrievalRaterError, EmbeddingError, EndpointError)
    words = "{rater}: {rated:item} rated; threshold {threshold:.4g} chosen on {chosen_on:,} (F1 {f1_there:.3f})"

    def carry_out(self, study: Study, options: Options) -> Report:
        name, score = rater_of(options)
        return asdict(rate(study, name, score, options["seed"], options["pilot"]))

    def tell(self, report: Report, options: Options) -> str:
        degenerate = "; degenerate: no threshold does better than yes to all" if report["degenerate"] else ""
        return super().tell(report, options) + degenerate


def rater_of(options: Options) -> tuple:
    if options["by"] == "bm25":
        return "bm25", score_by()
    embedder = choose_embedder(options["endpoint"])
    return f"embeddings {embedder.name}"[:150], score_by(embedder.embed)
