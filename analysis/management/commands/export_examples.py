"""Write labelled examples for training elsewhere."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.models.training import Task
from analysis.training.examples import FORMS, TrainingError, fill_split, find_set, load_set, write_examples
from analysis.training.study_labels import study_examples
from surveys.imports.study_command import FileCommand, find_study, writing


class Command(FileCommand):
    help = "Write examples, with their split, as a Hugging Face dataset (JSON lines and a card) or for verl (Parquet)."
    writes = {"out": True}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", nargs="?", help="a study of annotators, whose labels are written")
        parser.add_argument("--task", choices=Task.values, help="of the study's labels")
        parser.add_argument("--examples", metavar="NAME", help="as import_examples has them, instead of a study")
        parser.add_argument("--for", dest="form", choices=FORMS, default="huggingface")
        parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="made where it is not there")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["study"] and options["task"]) == bool(options["examples"]):
            raise CommandError("Name what to write: a study and its --task, or --examples NAME.")
        try:
            if options["study"]:
                task, name = options["task"], options["study"]
                examples = study_examples(find_study(options["study"]), task)
            else:
                found = find_set(options["examples"])
                task, name, examples = found.task, found.name, fill_split(load_set(found))
        except TrainingError as error:
            raise CommandError(str(error)) from None
        with writing(options["out"]):
            files = write_examples(options["out"], name, task, examples, options["form"])
        self.stdout.write(f"{options['out']}: {len(examples):,} examples in {', '.join(files)}")
