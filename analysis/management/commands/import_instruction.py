"""Import an instruction: the words in which models are asked."""

from pathlib import Path

from analysis.models.conditions import ConditionError
from analysis.runs.asking.registry import INSTRUCTED, imported_kind, keep_instruction
from surveys.studies.imports.actions import ACTOR, Action, Options, Report, arg, reading
from surveys.studies.wording import fill


class Command(Action):
    help = "Keep a text as the instruction of a task, or of judges. A changed text is another version; both stay."
    arguments = (
        arg("task", choices=INSTRUCTED),
        arg("name", help="its name, for --instruction NAME (for judges --prompt NAME)"),
        arg("file", type=Path),
    )
    reads = {"file": ".txt"}  # noqa: RUF012
    faults = (ConditionError,)
    words = "{label}: {state}, {characters:character} for {task}"

    def run(self, options: Options) -> Report:
        with reading(options["file"]):
            kept, is_new = keep_instruction(options["task"], options["name"], options["file"], ACTOR)
        self.characters = len(kept.text)
        label = imported_kind(kept).label
        return {"task": kept.task, "name": kept.name, "version": kept.version, "label": label, "new": is_new}

    def tell(self, report: Report, options: Options) -> str:
        state = "kept" if report["new"] else "already there"
        return fill(self.words, **report, state=state, characters=self.characters)
