"""The kinds of tasks, which one a run asks, and imported instructions for them, which never change."""

import re
from functools import cache
from pathlib import Path

from analysis.endpoints.endpoints import most_tokens
from analysis.models import Instruction, Run
from analysis.models.conditions import ConditionError
from analysis.models.runs import ASIDE, LONGEST_INSTRUCTION, LONGEST_NAME
from analysis.people.corpora.records import storable
from analysis.runs.asking.conversations import EXTRACT, LANGUAGE_KIND, USE_KIND
from analysis.runs.asking.judges import JUDGES, PROMPTS, imported_judge
from analysis.runs.asking.kinds import TaskKind
from analysis.runs.asking.stages import (
    CANDIDATES_KIND,
    CATEGORY_KIND,
    MENTIONS_KIND,
    REASON_KIND,
    REFINE_KIND,
    RESPOND_KIND,
)
from surveys.models.hashes import hash_text

# Older versions stay, since what was sent is rebuilt from them; new runs ask the last of each name.
VERSIONS: dict[str, TaskKind] = {
    kind.label: kind
    for kind in (
        *(LANGUAGE_KIND, USE_KIND, EXTRACT, CANDIDATES_KIND),
        *(RESPOND_KIND, MENTIONS_KIND, REASON_KIND, CATEGORY_KIND, REFINE_KIND),
        *JUDGES,
    )
}
TASKS: dict[str, TaskKind] = {kind.name: kind for kind in VERSIONS.values()}
JUDGE = "judge"  # the task of instructions that judges read


def kind_of(run: Run) -> TaskKind:
    return VERSIONS.get(run.instruction) or find_brought(run.instruction)


@cache  # a label has one text for good, and a lane's loop may not query the database
def find_brought(label: str) -> TaskKind:
    """The kind with the imported instruction of this label. Raises ConditionError."""
    name, _, version = label.rpartition("-")
    for row in Instruction.objects.filter(sha256__startswith=version) if version else ():
        if name == (row.name if row.task == JUDGE else f"{row.task}-{row.name}"):
            return imported_kind(row)
    raise ConditionError(f"The instruction {label} is not known here: another version of Field Study has it.")


def imported_kind(instruction: Instruction) -> TaskKind:
    return imported_judge(instruction) if instruction.task == JUDGE else TASKS[instruction.task].asked_by(instruction)


def find_kind(task: str, name: str = "") -> TaskKind:
    """The task with its shipped instruction, or the newest one imported under `name`. Raises ConditionError."""
    if not name:
        return TASKS[task]
    row = Instruction.objects.filter(task=task, name=name).order_by("pk").last()
    if row is None:
        known = sorted(set(Instruction.objects.filter(task=task).values_list("name", flat=True)))
        raise ConditionError(
            f"There is no instruction {name!r} for {task} ({', '.join(known) or 'none yet'}). "
            f"Bring one: manage.py import_instruction {task} {name} FILE."
        )
    return imported_kind(row)


def longest_reply(run: Run) -> int:
    """Most tokens of a reply: the endpoint's limit, or the kind's for a task or judge if that is lower."""
    return most_tokens(run.endpoint, kind_of(run).most_tokens if run.condition in ASIDE else None)


NAME = re.compile(rf"[a-z][a-z0-9]{{0,{LONGEST_NAME - 1}}}")
INSTRUCTED = (*(name for name in TASKS if name not in PROMPTS), JUDGE)  # what an instruction may be for


def keep_instruction(task: str, name: str, path: Path, actor: str) -> tuple[Instruction, bool]:
    """Keep the instruction in this file; return it, and whether it is new. Raises ConditionError, OSError."""
    if task not in INSTRUCTED:
        raise ConditionError(f"Instructions are for {', '.join(INSTRUCTED)}, not for {task}.")
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
    sha256 = hash_text(text)
    given = {"text": text, "file": path.name[:200], "added_by": actor}
    return Instruction.objects.get_or_create(task=task, name=name, sha256=sha256, defaults=given)


def read_text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(4 * LONGEST_INSTRUCTION + 1)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConditionError(f"{path.name} is not UTF-8; save it with the encoding UTF-8.") from None
