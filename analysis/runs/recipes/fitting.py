"""What recipes of simulated users rest on: token counts, the room that the window leaves, and what fits into it."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from analysis.endpoints.endpoints import most_tokens
from analysis.models import Corpus, Endpoint, Run
from analysis.models.conditions import ConditionError
from analysis.people.corpora.records import Message
from analysis.runs.recipes.questions import Question, question_text, questions_of

try:
    from tokenizers import Tokenizer
except ImportError:  # an extra: requirements-local.txt
    Tokenizer = None

BYTES_PER_TOKEN = 3.5
MESSAGE_TOKENS = 4  # what chat formats add to each message
ESTIMATE = f"estimate: {MESSAGE_TOKENS} a message and one for {BYTES_PER_TOKEN} bytes of UTF-8"


class TokenizerError(ConditionError):
    """A tokenizer that can't be used; the message says what to do."""


class TokenCounter(NamedTuple):
    name: str  # kept with what it counted
    count: Callable[[str], int]

    def messages(self, messages: Iterable[Message]) -> int:
        return sum(MESSAGE_TOKENS + self.count(message["content"]) for message in messages)


class Fitted(NamedTuple):
    kept: list[str]
    left_out: int  # too much together
    skipped: int  # too long even alone
    tokens: int


def estimate_tokens(text: str) -> int:
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def counter_for(endpoint: Endpoint) -> TokenCounter:
    """The endpoint's own tokenizer if it names a file, otherwise the estimate."""
    if not endpoint.tokenizer:
        return TokenCounter(ESTIMATE, estimate_tokens)
    return read_tokenizer(endpoint.tokenizer)


@lru_cache(maxsize=4)
def read_tokenizer(path: str) -> TokenCounter:
    if Tokenizer is None:
        raise TokenizerError(
            f"Counting with {path} needs the package tokenizers. Install it: pip install --no-deps -r "
            "requirements-local.txt"
        )
    try:
        written = Path(path).read_bytes()
        tokenizer = Tokenizer.from_buffer(written)
    except Exception as error:  # the library raises its errors as bare Exception
        raise TokenizerError(f"{path} is not a tokenizer.json: {error}") from None
    tokenizer.no_truncation()
    name = f"tokenizer.json {hashlib.sha256(written).hexdigest()[:16]}"
    return TokenCounter(name, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids))


def fit(order: Sequence[str], sizes: Mapping[str, int], room: int) -> Fitted:
    """Fit whole conversations into `room` tokens; the first in `order` are left out first."""
    possible = [name for name in order if sizes[name] <= room]
    first, tokens = len(possible), 0
    while first and tokens + sizes[possible[first - 1]] <= room:
        first -= 1
        tokens += sizes[possible[first]]
    return Fitted(possible[first:], first, len(order) - len(possible), tokens)


Recipe = dict[str, Any]


class RecipeContext(NamedTuple):
    """A run and what the recipes of all its users need."""

    run: Run
    counter: TokenCounter
    questions: dict[str, Question]
    room: int  # tokens in front of the longest question


def make_context(run: Run) -> RecipeContext:
    """Make the context; room is what the longest question leaves, so that a user's calls begin with equal messages."""
    counter, questions = counter_for(run.endpoint), questions_of(run)
    if not questions:
        raise ConditionError(f"There is nothing to ask: {run.benchmark or run.study} has no prompts.")
    texts = [question_text(run, question) for question in questions.values()]
    longest = max(counter.messages([{"role": "user", "content": text}]) for text in texts)
    reply = most_tokens(run.endpoint)
    room = run.endpoint.context_window - reply - longest
    if room < 0:
        raise ConditionError(
            f"The longest prompt has {longest} tokens. With {reply} for the reply it does "
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
