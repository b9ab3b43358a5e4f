"""Read labels that were collected elsewhere into a study of their own, or into one of ours."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from surveys.annotation.imports.labels import import_annotations
from surveys.imports.study_command import ACTOR, FileCommand, reading


class Command(FileCommand):
    help = (
        "Import labels from a table (.csv) or JSON lines (.jsonl) with item, annotator and label, optionally question, "
        "seconds, cluster, corpus and is_model. All rows or none; known rows are skipped. Without a study of this "
        "name one is made."
    )
    reads = {"file": ".csv"}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study")
        parser.add_argument("file", type=Path)
        parser.add_argument("--labels", default="", metavar="A,B,C", help="the scale, in its order, of new questions")
        parser.add_argument("--scale", choices=["nominal", "ordinal"], help="whether the labels have an order")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        path, scale = options["file"], options["scale"]
        labels = tuple(label.strip() for label in options["labels"].split(",") if label.strip())
        if len(set(labels)) != len(labels) or len(labels) == 1:
            raise CommandError("--labels needs at least two different labels, separated by commas.", returncode=2)
        ordered = None if scale is None else scale == "ordinal"
        with reading(path):
            study, done = import_annotations(options["study"], path, ACTOR, labels, ordered)
        report = {"study": study.slug, **vars(done)}
        if options["json"]:
            self.stdout.write(json.dumps(report))
            return
        line = "{study}: {labels} labels of {items} new items by {annotators} new people and {models} new models"
        self.stdout.write((line + ", {skipped} already there").format(**report))
        if done.ignored:
            self.stdout.write(f"columns that were not used: {', '.join(done.ignored)}")
