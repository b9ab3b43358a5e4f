"""Let a trained model score examples."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.corpora.embeddings import EmbeddingError
from analysis.exports.exports import write_whole
from analysis.training.examples import TrainingError, find_set
from analysis.training.using import find_model, label_study, predict
from surveys.imports.study_command import FileCommand, find_study, writing


class Command(FileCommand):
    help = "Write a trained model's score of every example (id, attribute and score), or let it label a study's items."
    writes = {"out": False}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model")
        parser.add_argument(
            "--endpoint", default="", metavar="NAME", help="that serves the vectors it learned from, where they are"
        )
        parser.add_argument("--examples", metavar="NAME", help="as import_examples has them")
        parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="where the scores of examples go")
        parser.add_argument("--study", help="instead: keep labels of this study's items, as those of a rater")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["study"]) == bool(options["examples"] and options["out"]):
            raise CommandError("Name --examples NAME with --out FILE.jsonl, or --study STUDY.")
        try:
            if options["study"]:
                study, endpoint = find_study(options["study"]), options["endpoint"]
                number = label_study(find_model(options["model"]), study, endpoint=endpoint)
                self.stdout.write(f"{options['study']}: {number:,} items labelled by {options['model']}")
                return
            model, examples = find_model(options["model"]), find_set(options["examples"])
            rows = list(predict(model, examples, endpoint=options["endpoint"]))
        except (TrainingError, EmbeddingError) as error:
            raise CommandError(str(error)) from None
        with writing(options["out"]):
            write_whole(options["out"], (json.dumps(row).encode() + b"\n" for row in rows))
        self.stdout.write(f"{options['out']}: {len(rows):,} scores by {options['model']}")
