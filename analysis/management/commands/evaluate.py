"""Test a trained model on labelled examples."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.corpora.embeddings import EmbeddingError
from analysis.management.commands.train import tell_figures
from analysis.training.examples import TrainingError, find_set
from analysis.training.using import evaluate_model, find_model


class Command(BaseCommand):
    help = "Test a trained model beside baselines: on all examples, or on the test part where they came with a split."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model")
        parser.add_argument(
            "--endpoint", default="", metavar="NAME", help="that serves the vectors it learned from, where they are"
        )
        parser.add_argument("--examples", required=True, metavar="NAME", help="as import_examples has them")
        parser.add_argument("--all", action="store_true", help="also of examples that came with a split")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = evaluate_model(
                find_model(options["model"]),
                find_set(options["examples"]),
                everything=options["all"],
                endpoint=options["endpoint"],
            )
        except (TrainingError, EmbeddingError) as error:
            raise CommandError(str(error)) from None
        for warning in report["warnings"]:
            self.stderr.write(f"Warning: {warning}")
        self.stdout.write(json.dumps(report) if options["json"] else tell_figures(report))
