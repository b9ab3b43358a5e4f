"""Let a trained model score examples."""

import json
from pathlib import Path

from django.core.management.base import CommandError

from analysis.exports.exports import write_whole
from analysis.management.commands.train import VECTORS
from analysis.people.corpora.embeddings import EmbeddingError
from analysis.runs.recipes.questions import search_text
from analysis.training.examples import TrainingError, find_set
from analysis.training.using import find_model, label_study, predict, score_replies
from surveys.studies.imports.actions import Action, Options, ProgressLine, Report, arg, find_study, flag, writing
from surveys.studies.wording import fill


class Command(Action):
    help = (
        "Write a trained model's score of every example (id, attribute and score), let it label a study's items, or "
        "score the replies to a benchmark's questions."
    )
    arguments = (
        arg("model"),
        VECTORS,
        arg("--examples", metavar="NAME", help="a set's name in import_examples"),
        arg("--out", type=Path, metavar="FILE.jsonl", help="the file for the scores of examples"),
        arg("--study", help="label this study's items instead, as a rater"),
        flag("--replies", "with --study: keep a reward model's scores of replies in benchmark runs, for the best of n"),
    )
    writes = {"out": False}  # noqa: RUF012
    faults = (TrainingError, EmbeddingError)

    def run(self, options: Options) -> Report:
        of_examples = bool(options["examples"] and options["out"])
        if bool(options["study"]) == of_examples or (of_examples and options["replies"]):
            raise CommandError("Name --examples NAME with --out FILE.jsonl, or --study STUDY [--replies].")
        model, endpoint = find_model(options["model"]), options["endpoint"]
        about = {"model": options["model"]}
        if options["replies"]:
            with ProgressLine("replies") as progress:
                study = find_study(options["study"])
                replies, new = score_replies(model, study, search_text, progress.count, endpoint)
            return about | {"study": options["study"], "replies": replies, "new": new}
        if options["study"]:
            labels = label_study(model, find_study(options["study"]), endpoint=endpoint)
            return about | {"study": options["study"], "labels": labels}
        rows = list(predict(model, find_set(options["examples"]), endpoint=endpoint))
        with writing(options["out"]):
            write_whole(options["out"], (json.dumps(row).encode() + b"\n" for row in rows))
        return about | {"file": str(options["out"]), "scores": len(rows)}

    def tell(self, report: Report, options: Options) -> str:
        words = {
            "labels": "{study}: {labels:item} labelled by {model}",
            "replies": "{study}: {replies:different reply,different replies} scored by {model}, {new:,} of them now",
            "scores": "{file}: {scores:score} by {model}",
        }
        return fill(next(line for name, line in words.items() if name in report), **report)
