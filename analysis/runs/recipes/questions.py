"""What a run asks: a study's prompts or a benchmark's items, as one user message each."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.db.models import Count

from analysis.models import Endpoint, Run, Task
from analysis.models.conditions import ConditionError
from analysis.runs.asking.registry import kind_of
from surveys.models import BenchmarkItem, Prompt, asked_of_all

Question = Prompt | BenchmarkItem
Subject = Question | Task


def questions_of(run: Run) -> dict[str, Question]:
    """What the run asks, by slug or item id, in order."""
    if run.benchmark:
        items = BenchmarkItem.objects.filter(benchmark=run.benchmark).order_by("id")
        return {item.item: item for item in items}
    prompts = run.version.prompts.filter(asked_of_all()).order_by("position")
    return {prompt.slug: prompt for prompt in (prompts.filter(slug__in=run.prompts) if run.prompts else prompts)}


def key_of(question: Question) -> str:
    return question.slug if isinstance(question, Prompt) else question.item


def question_text(run: Run, question: Question) -> str:
    """The user message that asks the question."""
    if isinstance(question, Prompt):
        return question.text
    examples = _examples(run.pk, run.benchmark, question.subject) if run.worked_examples else ()
    return write_question(question, run.prompt_form, examples)


def search_text(question: Question) -> str:
    """The text to compare conversations with: the question without instruction and worked examples."""
    return question.text if isinstance(question, Prompt) else write_question(question, "bare")


@lru_cache(maxsize=512)
def _examples(run_id: int, benchmark: str, subject: str) -> tuple[BenchmarkItem, ...]:
    """Cached for each run, so that a subject's examples are read once and not for every call."""
    return examples_for(BenchmarkItem(benchmark=benchmark, subject=subject))


# --- how a benchmark's item is put to a model: in HELM's multiple-choice form, or bare

FORMS = ("helm", "bare")
EXAMPLES = 5
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class BenchmarkPromptError(ConditionError):
    """A prompt that can't be written as asked; the message says what is missing."""


def write_question(item: BenchmarkItem, form: str = "helm", examples: Sequence[BenchmarkItem] = ()) -> str:
    """The one user message that asks the item.

    `helm`: HELM's instruction, the worked examples if any, `Question:`, lettered choices, `Answer:`.
    `bare`: the question and its lettered choices, nothing else.
    """
    if form not in FORMS:
        raise BenchmarkPromptError(f"There is no form {form!r} of a benchmark prompt. Choose helm or bare.")
    if form == "bare":
        solved = [f"{_lettered(example)}\n{example.answer}" for example in examples]
        return "\n\n".join([*solved, _lettered(item)])
    blocks = [f"Question: {_lettered(example)}\nAnswer: {example.answer}" for example in examples]
    about = f" about {item.subject.replace('_', ' ')}" if item.subject else ""
    instruction = f"The following are multiple choice questions (with answers){about}."
    return "\n\n".join([instruction, *blocks, f"Question: {_lettered(item)}\nAnswer:"])


def known_benchmarks() -> dict[str, int]:
    """Benchmarks that a run can ask, with their numbers of items, without those that hold worked examples."""
    counts = BenchmarkItem.objects.order_by("benchmark").values_list("benchmark").annotate(number=Count("id"))
    found = dict(counts)
    examples = {examples_name(name) for name in found}
    return {name: number for name, number in found.items() if name not in examples}


def examples_name(benchmark: str) -> str:
    """Name of the benchmark that holds the worked examples of another one."""
    return f"{benchmark}-examples"


def examples_for(item: BenchmarkItem) -> tuple[BenchmarkItem, ...]:
    """The first five example items of its subject. Raises BenchmarkPromptError if there are fewer."""
    name = examples_name(item.benchmark)
    found = tuple(BenchmarkItem.objects.filter(benchmark=name, subject=item.subject).order_by("id")[:EXAMPLES])
    if len(found) < EXAMPLES:
        raise BenchmarkPromptError(
            f"{item.benchmark}: {len(found)} worked examples for subject {item.subject!r}, and {EXAMPLES} "
            f"are needed. Import them first: manage.py import_benchmark {name} FILE"
        )
    return found


def _lettered(item: BenchmarkItem) -> str:
    choices = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, item.choices, strict=False)]
    return "\n".join([item.question, *choices])


# --- the form to answer in, where the endpoint offers answers by JSON schema


def reply_format(endpoint: Endpoint, subject: Subject) -> dict[str, Any] | None:
    """The `response_format` of a request; None leaves the model free."""
    if not endpoint.json_schema:
        return None
    if isinstance(subject, Task):
        kind = kind_of(subject.run)
        return strict(kind.name, kind.schema) if kind.schema else None
    count = getattr(subject, "items", None) or 5
    name, schema = "items", {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
    if subject.choices:
        name, schema = "choice", {"type": "string", "enum": list(LETTERS[: len(subject.choices)])}
    closed = {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}
    return strict(name, closed)


def strict(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
