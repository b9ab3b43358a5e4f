"""Write labelled examples for training elsewhere."""

from pathlib import Path

from django.core.management.base import CommandError

from analysis.models.training import TrainingTask
from analysis.training.examples import FORMS, TrainingError, fill_split, find_set, load_set, write_examples
from analysis.training.study_labels import study_examples
from surveys.studies.imports.actions import Action, Options, Report, arg, find_study, writing


class Command(Action):
    help = "Write examples, with their split, as a Hugging Face dataset (JSON lines and a card) or for verl (Parquet)."
    arguments = (
        arg("study", nargs="?", help="a study of annotators whose labels to write"),
        arg("--task", choices=TrainingTask.values, help="what the study's labels are to teach"),
        arg("--examples", metavar="NAME", help="a set's name in import_examples, instead of a study"),
        arg("--for", dest="form", choices=FORMS, default="huggingface"),
        arg("--out", type=Path, required=True, metavar="FOLDER", help="the folder, made if needed"),
    )
    writes = {"out": True}  # noqa: RUF012
    faults = (TrainingError,)

    def run(self, options: Options) -> Report:
        if bool(options["study"] and options["task"]) == bool(options["examples"]):
            raise CommandError("Name what to write: a study and its --task, or --examples NAME.")
        if options["study"]:
            task, name = options["task"], options["study"]
            examples = study_examples(find_study(name), task)
        else:
            found = find_set(options["examples"])
            task, name, examples = found.task, found.name, fill_split(load_set(found))
        with writing(options["out"]):
            files = write_examples(options["out"], name, task, examples, options["form"])
        return {"folder": str(options["out"]), "examples": len(examples), "files": [str(file) for file in files]}

    def tell(self, report: Report, options: Options) -> str:
        return f"{report['folder']}: {report['examples']:,} examples in {', '.join(report['files'])}"
