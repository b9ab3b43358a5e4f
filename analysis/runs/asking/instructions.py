"""Words that somebody brings for a task, instead of the shipped ones: kept with a version, and never changed."""

import hashlib
import re
from pathlib import Path

from analysis.corpora.records import storable
from analysis.models import Instruction
from analysis.models.conditions import ConditionError
from analysis.models.instructions import LONGEST_INSTRUCTION, LONGEST_NAME
from analysis.runs.asking.registry import JUDGE, TASKS
from analysis.runs.judging.prompts import PROMPTS

NAME = re.compile(rf"[a-z][a-z0-9]{{0,{LONGEST_NAME - 1}}}")
TOLD = (*(name for name in TASKS if name not in PROMPTS), JUDGE)  # what an instruction may be for


def keep_instruction(task: str, name: str, path: Path, actor: str) -> tuple[Instruction, bool]:
    """The instruction that this file holds, and whether it is new. Raises ConditionError, OSError."""
    if task not in TOLD:
        raise ConditionError(f"Instructions are for {', '.join(TOLD)}, not for {task}.")
    if not NAME.fullmatch(name) or name in (*TASKS, JUDGE):
        raise ConditionError(
            f"{name!r} names no instruction: take a letter and up to {LONGEST_NAME - 1} letters or digits, all small, "
            "other than the name of a task."
        )
    text = storable(read_text(path)).strip()
    if not text:
        raise ConditionError(f"{path.name} is empty.")
    if len(text) > LONGEST_INSTRUCTION:
        raise ConditionError(f"{path.name} has {len(text):,} characters; the limit is {LONGEST_INSTRUCTION:,}.")
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    given = {"text": text, "file": path.name[:200], "added_by": actor}
    return Instruction.objects.get_or_create(task=task, name=name, sha256=sha256, defaults=given)


def read_text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(4 * LONGEST_INSTRUCTION + 1)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConditionError(f"{path.name} is not UTF-8; save it with the encoding UTF-8.") from None
