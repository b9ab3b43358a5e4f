"""How a benchmark's item is put to a model: in HELM's multiple-choice form, or bare."""

from collections.abc import Sequence

from django.db.models import Count

from analysis.corpora.faults import ConditionError
from surveys.models import BenchmarkItem

FORMS = ("helm", "bare")
EXAMPLES = 5
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class BenchmarkPromptError(ConditionError):
    """The prompt can't be written as asked; the message says what is missing."""


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
    return "\n\n".join([_instruction(item), *blocks, f"Question: {_lettered(item)}\nAnswer:"])


def known_benchmarks() -> dict[str, int]:
    """The benchmarks that a run can ask, with their numbers of items; those of worked examples belong to others."""
    counts = BenchmarkItem.objects.order_by("benchmark").values_list("benchmark").annotate(number=Count("id"))
    found = dict(counts)
    examples = {examples_name(name) for name in found}
    return {name: number for name, number in found.items() if name not in examples}


def examples_name(benchmark: str) -> str:
    """The benchmark under which the worked examples of another one are imported."""
    return f"{benchmark}-examples"


def examples_for(item: BenchmarkItem) -> tuple[BenchmarkItem, ...]:
    """The first five items of its subject in the benchmark's examples; raises when there are fewer."""
    name = examples_name(item.benchmark)
    found = tuple(BenchmarkItem.objects.filter(benchmark=name, subject=item.subject).order_by("id")[:EXAMPLES])
    if len(found) < EXAMPLES:
        raise BenchmarkPromptError(
            f"{item.benchmark}: {len(found)} worked examples for subject {item.subject!r}, and {EXAMPLES} "
            f"are needed. Import them first: manage.py import_benchmark {name} FILE"
        )
    return found


def _instruction(item: BenchmarkItem) -> str:
    about = f" about {item.subject.replace('_', ' ')}" if item.subject else ""
    return f"The following are multiple choice questions (with answers){about}."


def _lettered(item: BenchmarkItem) -> str:
    choices = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, item.choices, strict=False)]
    return "\n".join([item.question, *choices])
