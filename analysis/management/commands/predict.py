"""Let a trained model score examples."""

import json
from pathlib import Path

from django.core.management.base import CommandError

from analysis.corpora.embeddings import EmbeddingError
from analysis.exports.exports import write_whole
from analysis.management.commands.train import VECTORS
from analysis.training.examples import TrainingError, find_set
from analysis.training.using import find_model, label_study, predict
from surveys.imports.actions import Action, Options, Report, arg, find_study, writing


class Command(Action):
    help = "Write a trained model's score of every example (id, attribute and score), or let it label a study's items."
    arguments = (
        arg("model"),
        VECTORS,
        arg("--examples", metavar="NAME", help="as import_examples has them"),
        arg("--out", type=Path, metavar="FILE.jsonl", help="where the scores of examples go"),
        arg("--study", help="instead: keep labels of this study's items, as those of a rater"),
    )
    writes = {"out": False}  # noqa: RUF012
    faults = (TrainingError, EmbeddingError)

    def run(self, options: Options) -> Report:
        if bool(options["study"]) == bool(options["examples"] and options["out"]):
            raise CommandError("Name --examples NAME with --out FILE.jsonl, or --study STUDY.")
        model, endpoint = find_model(options["model"]), options["endpoint"]
        about = {"model": options["model"]}
        if options["study"]:
            labels = label_study(model, find_study(options["study"]), endpoint=endpoint)
            return about | {"study": options["study"], "labels": labels}
        rows = list(predict(model, find_set(options["examples"]), endpoint=endpoint))
        with writing(options["out"]):
            write_whole(options["out"], (json.dumps(row).encode() + b"\n" for row in rows))
        return about | {"file": str(options["out"]), "scores": len(rows)}

    def tell(self, report: Report, options: Options) -> str:
        labelled = "{study}: {labels:,} items labelled by {model}"
        return (labelled if "labels" in report else "{file}: {scores:,} scores by {model}").format(**report)
