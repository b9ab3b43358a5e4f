"""What a judge is sent about one item: rebuilt from the frozen item, the instruction, the order and the room."""

from analysis.corpora.faults import ConditionError
from analysis.models import Endpoint, Run
from analysis.runs.judging.prompts import CHARACTERS_PER_TOKEN, INSTRUCTIONS, SHOWN, JudgePrompt, ask_for
from surveys.models import AnnotationItem
from surveys.studies.lifecycle import definition_of
from surveys.study_files.schema import questions_for


def judge_message(run: Run, item: AnnotationItem, left: str) -> str:
    """Of a history only what the rest of the message leaves room for."""
    work = definition_of(run.version_id).annotation
    instruction, show = instruction_of(run), SHOWN[work.kind]
    asked = ask_for(questions_for(work), item.payload)
    bare = instruction.write(work.guidelines, show(item.payload, (), left, 0), asked)
    if item.history is None:
        return bare
    shown = show(item.payload, item.history.conversations, left, run.message_room - len(bare))
    return instruction.write(work.guidelines, shown, asked)


def instruction_of(run: Run) -> JudgePrompt:
    if run.instruction not in INSTRUCTIONS:
        raise ConditionError(
            f"The instruction {run.instruction} is not known here: another version of Field Study has it."
        )
    return INSTRUCTIONS[run.instruction]


def message_room(endpoint: Endpoint) -> int:
    """Characters that surely fit into the endpoint's window beside the reply."""
    return max(0, endpoint.context_window - endpoint.max_tokens) * CHARACTERS_PER_TOKEN
