"""A model's reading of the texts that the rules are not sure of: kept beside the answer, never in its place."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet

from analysis.answers.reviews import answers_of, asked_of, waiting
from analysis.endpoints.endpoints import find_endpoint
from analysis.endpoints.llm_queries import Ask, Spent, Told, ask_all
from analysis.models import Answer, Endpoint, SecondOpinion
from surveys.models import Prompt, Study
from surveys.reading.answers import outer_text, read_answer

TEMPERATURE = 0.0
ITEMS = (
    "Below is an answer that somebody got when they asked for recommendations. List what it recommends, in its order, "
    'at most {limit}, as JSON: {{"items": ["...", "..."]}}. Copy the names as they are written, without explanations. '
    'If it recommends nothing, for instance because it refuses, give {{"items": []}}. Give the JSON and nothing else.'
)
LETTER = (
    "Below are a question's options and an answer that somebody got to it. Which one option does the answer settle on? "
    'Give JSON: {{"choice": "A"}} with its letter, or {{"choice": ""}} if it settles on none or on several. Judge only '
    "what it says, not whether it is right. Give the JSON and nothing else.\n\nOptions:\n{options}"
)


def open_answers(study: Study, endpoint: Endpoint) -> QuerySet[Answer]:
    """Those in doubt that this model has not read yet."""
    return waiting(answers_of(study)).exclude(opinions__endpoint=endpoint)


def give_opinions(
    study: Study,
    endpoint_name: str,
    limit: int | None = None,
    budget: Decimal | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Spent:
    """Ask the endpoint about the texts in doubt. Raises EndpointError where there is none, or no key."""
    endpoint = find_endpoint(endpoint_name)
    keys = list(open_answers(study, endpoint).values_list("pk", flat=True)[:limit])

    def store(told: list[Told]) -> None:
        opinions = [make_opinion(endpoint, done) for done in told]
        SecondOpinion.objects.bulk_create(opinions, ignore_conflicts=True)

    return ask_all(endpoint, TEMPERATURE, keys, write_asks, store, budget, progress)


def write_asks(keys: Sequence[int]) -> list[Ask]:
    own = ("response__prompt", "completion__prompt", "completion__item")
    return [write_ask(answer) for answer in Answer.objects.filter(pk__in=keys).select_related(*own).order_by("pk")]


def write_ask(answer: Answer) -> Ask:
    asked = asked_of(answer)
    text = answer.response.text if answer.response_id else answer.completion.reply
    if isinstance(asked, Prompt) and asked.kind == Prompt.Kind.RECOMMENDATION:
        how: dict[str, Any] = {"kind": "recommendation", "limit": asked.items or 5}
        words = ITEMS.format(limit=how["limit"])
    else:
        options = list(zip("ABCDEFGH", asked.choices, strict=False))
        letters = "".join(letter for letter, _ in options)
        how = {"kind": "choice", "letters": letters, "choices": tuple(asked.choices)}
        words = LETTER.format(options="\n".join(f"{letter}. {option}" for letter, option in options))
    message = f"{words}\n\nThe answer:\n{outer_text(text)}"
    return Ask((answer.pk, how), f"opinion-{answer.pk}", [{"role": "user", "content": message}])


def make_opinion(endpoint: Endpoint, told: Told) -> SecondOpinion:
    """The reply read as any other one: by the rules, from its JSON or from what it says instead."""
    key, how = told.ask.about
    said = read_answer(told.reply.text, **how)
    return SecondOpinion(
        answer_id=key, endpoint=endpoint, items=list(said.items), letter=said.letter, reply=told.reply.text
    )
