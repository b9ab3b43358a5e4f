"""Read labels collected elsewhere into a study of their own, or into one of ours."""

from pathlib import Path

from django.core.management.base import CommandError

from surveys.annotation.label_imports import import_annotations
from surveys.studies.imports.actions import ACTOR, Action, Options, Report, arg, reading
from surveys.studies.members import find_account, own_if_nobody_does


class Command(Action):
    help = (
        "Import labels from a table (.csv) or JSON lines (.jsonl) with item, annotator and label, optionally question, "
        "seconds, cluster, corpus and is_model. All rows or none; known rows are skipped. Without a study of this "
        "name one is made."
    )
    arguments = (
        arg("study"),
        arg("file", type=Path),
        arg("--labels", default="", metavar="A,B,C", help="the scale, in its order, of new questions"),
        arg("--scale", choices=["nominal", "ordinal"], help="whether the labels have an order"),
    )
    reads = {"file": ".csv"}  # noqa: RUF012
    words = (
        "{study}: {labels:label} of {items:new item} by {annotators:new person,new people} and {models:new model}, "
        "{skipped} already there"
    )

    def run(self, options: Options) -> Report:
        path, scale = options["file"], options["scale"]
        labels = tuple(label.strip() for label in options["labels"].split(",") if label.strip())
        if len(set(labels)) != len(labels) or len(labels) == 1:
            raise CommandError("--labels needs at least two different labels, separated by commas.", returncode=2)
        ordered = None if scale is None else scale == "ordinal"
        with reading(path):
            study, done = import_annotations(options["study"], path, ACTOR, labels, ordered)
        own_if_nobody_does(study, find_account(""), ACTOR)
        return {"study": study.slug, **vars(done)}

    def tell(self, report: Report, options: Options) -> str:
        unused = f"\ncolumns that were not used: {', '.join(report['ignored'])}" if report["ignored"] else ""
        return super().tell(report, options) + unused
