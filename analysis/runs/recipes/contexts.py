"""What every recipe of a simulated user rests on: its run, the questions, and the room that the window leaves."""

from typing import Any, NamedTuple

from analysis.models import Corpus, Run
from analysis.models.conditions import ConditionError
from analysis.runs.recipes.fitting import TokenCounter, counter_for
from analysis.runs.recipes.questions import Question, question_text, questions_of

Recipe = dict[str, Any]


class RecipeContext(NamedTuple):
    """A run and what all its users' recipes need."""

    run: Run
    counter: TokenCounter
    questions: dict[str, Question]
    room: int  # tokens in front of the longest question


def make_context(run: Run) -> RecipeContext:
    """Room is what the longest question leaves, so that one user's calls all begin with the same messages."""
    counter, questions = counter_for(run.endpoint), questions_of(run)
    if not questions:
        raise ConditionError(f"There is nothing to ask: {run.benchmark or run.study} has no prompts.")
    texts = [question_text(run, question) for question in questions.values()]
    longest = max(counter.messages([{"role": "user", "content": text}]) for text in texts)
    room = run.endpoint.context_window - run.endpoint.max_tokens - longest
    if room < 0:
        raise ConditionError(
            f"The longest prompt has {longest} tokens. With {run.endpoint.max_tokens} for the reply it does "
            f"not fit into {run.endpoint.name}'s window of {run.endpoint.context_window}."
        )
    return RecipeContext(run, counter, questions, room)


def part_of(recipe: Recipe, key: str) -> Recipe:
    if not key:
        return recipe
    if key not in recipe["questions"]:
        raise ConditionError(f"Nothing was retrieved for {key}: it came after the simulated users were made.")
    return recipe["questions"][key]


def base_recipe(context: RecipeContext, **facts: Any) -> Recipe:
    return {"condition": context.run.condition, "seed": context.run.seed, "tokens_by": context.counter.name, **facts}


def corpus_of(run: Run) -> Corpus:
    if run.corpus is None:
        raise ConditionError(f"{run.condition} draws from a corpus. Choose one (--corpus NAME).")
    return run.corpus
