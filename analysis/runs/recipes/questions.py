"""What a run asks: a study's prompts, a benchmark's items or what a judge is shown, as one user message each."""

from functools import lru_cache

from analysis.models import Run
from analysis.runs.judging.messages import judge_message
from analysis.runs.recipes.benchmark_prompts import examples_for, write_question
from surveys.models import AnnotationItem, BenchmarkItem, Prompt

Question = Prompt | BenchmarkItem
Asked = Question | AnnotationItem


def questions_of(run: Run) -> dict[str, Question]:
    """What the run asks, by slug or item id, in order."""
    if run.benchmark:
        items = BenchmarkItem.objects.filter(benchmark=run.benchmark).order_by("id")
        return {item.item: item for item in items}
    return {prompt.slug: prompt for prompt in run.version.prompts.order_by("position")}


def key_of(question: Question) -> str:
    return question.slug if isinstance(question, Prompt) else question.item


def question_text(run: Run, question: Asked, left: str = "") -> str:
    """The user message that asks it; `left` is the response that a judge sees on the left."""
    if isinstance(question, AnnotationItem):
        return judge_message(run, question, left)
    if isinstance(question, Prompt):
        return question.text
    examples = _examples(run.pk, run.benchmark, question.subject) if run.worked_examples else ()
    return write_question(question, run.prompt_form, examples)


def search_text(question: Question) -> str:
    """What conversations are compared with: the question without instruction and worked examples."""
    return question.text if isinstance(question, Prompt) else write_question(question, "bare")


@lru_cache(maxsize=512)
def _examples(run_id: int, benchmark: str, subject: str) -> tuple[BenchmarkItem, ...]:
    """Kept for each run, so that a subject's examples are read once and not for every call."""
    return examples_for(BenchmarkItem(benchmark=benchmark, subject=subject))
