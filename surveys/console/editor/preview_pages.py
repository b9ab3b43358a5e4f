"""Previews of a study that is not made yet, from its file alone: the participant's pages, and its costs.

Pages are the real templates. Costs are pay an hour, people, pay and fee, as far as the file gives them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.http import HttpRequest

from surveys.models import Participant, Prompt, Study, fee_of
from surveys.participation.arrival_views import consent_page
from surveys.participation.forms import CheckForm, ComprehensionForm, ContextForm, LastForm, QuestionsForm
from surveys.participation.prolific import Visit
from surveys.participation.steps import PAGED, minutes_left, page_name, place_of, question_pages, walked
from surveys.studies.files.definitions import Definition, prompt_text
from surveys.studies.files.rules import LEAST_PAY_PER_HOUR
from surveys.studies.wording import money

Step = Participant.Step


class Preview(NamedTuple):
    """One page: its title in the list, its section in the editor, its template and content."""

    title: str
    section: str
    template: str
    content: Callable[[HttpRequest], dict[str, Any]]


def pages_of(definition: Definition) -> list[Preview]:
    """The pages in the participant's order, consent first; prompts in the file's order."""
    pages = [Preview("Consent", "consent", "participation/consent.html", lambda request: _consent(request, definition))]
    for step in PAGED:
        for number, asked in enumerate(question_pages(definition, step), 1):
            if asked:
                more: dict[str, Any] = {"form": QuestionsForm(definition, asked), "page": number}
                pages.append(_page("Questions", "questions", "questions", page_name(step, number), definition, **more))
    if not definition.annotation:
        pages.append(_page("How it works", "chatbots", "instructions", Step.INSTRUCTIONS, definition))
    if definition.comprehension:
        form = ComprehensionForm(definition.comprehension)
        pages.append(_page("Comprehension", "checks", "comprehension", Step.COMPREHENSION, definition, form=form))
    if not definition.annotation:
        form = ContextForm(definition, definition.chatbots[0])
        pages.append(_page("Chatbot’s settings", "chatbots", "context", Step.CONTEXT, definition, form=form))
        pages += [_prompt(definition, number) for number in range(1, len(definition.prompts) + 1)]
        for check in definition.attention:
            pages.append(
                _page("Attention check", "checks", "attention", Step.PROMPTS, definition, form=CheckForm(check))
            )
        pages.append(_page("Last page", "consent", "debrief", Step.DEBRIEF, definition, form=LastForm()))
    return pages


def _consent(request: HttpRequest, definition: Definition) -> dict[str, Any]:
    study = Study(slug=definition.slug, title=definition.title)
    return consent_page(request, study, definition, Visit("", "", ""))


def _prompt(definition: Definition, number: int) -> Preview:
    prompt = definition.prompts[number - 1]
    asked = Prompt(slug=prompt.slug, title=prompt.title, text=prompt_text(prompt))
    more: dict[str, Any] = {"prompt": asked, "number": number, "total": len(definition.askings)}
    more |= {
        "shown_in": definition.language,
        "asks_rating": definition.rating and definition.rating.is_asked_of(prompt.slug),
    }
    page = _page(f"Prompt {number}", "prompts", "", f"prompt:{prompt.slug}", definition, number - 1, **more)
    return page._replace(template="pasting/prompt.html")


def _page(
    title: str, section: str, template: str, step: str, definition: Definition, answered: int = 0, **more: Any
) -> Preview:
    participant = Participant(step=step.partition(":")[0], order=[asking.slug for asking in definition.askings])
    content = {
        "participant": participant,
        "definition": definition,
        "bot": next(iter(definition.chatbots), None),
        "step": step,
        "place": place_of(step, definition),
        "walked": walked(step, definition, answered),
        "minutes_left": minutes_left(step, definition, answered),
        **more,
    }
    return Preview(title, section, f"participation/{template}.html", lambda request: content)


@dataclass(frozen=True)
class Money:
    """The costs of a study, at `cents` for each person; `least` is Prolific's minimum for an hour."""

    cents: int
    currency: str
    minutes: int
    people: int
    branches: int

    @property
    def an_hour(self) -> str:
        return money(round(self.cents * 60 / self.minutes), self.currency) if self.minutes else "–"

    @property
    def least(self) -> str:
        return money(int(LEAST_PAY_PER_HOUR[self.currency] * 100), self.currency)

    @property
    def is_enough(self) -> bool:
        return not self.minutes or self.cents * 60 >= LEAST_PAY_PER_HOUR[self.currency] * 100 * self.minutes

    @property
    def pay(self) -> str:
        return money(self.cents * self.people, self.currency)

    @property
    def fee(self) -> str:
        return money(fee_of(self.cents * self.people), self.currency)

    @property
    def total(self) -> str:
        return self._whole(self.cents * self.people)

    def cost(self, places: int) -> str:
        """The cost of a cell with this many places for each chatbot."""
        return self._whole(self.cents * places * self.branches)

    def _whole(self, cents: int) -> str:
        """The sum with the fee, rounded to a dollar or pound."""
        return money(round((cents + fee_of(cents)) / 100) * 100, self.currency).removesuffix(".00")


def money_of(study: Mapping[str, Any]) -> Money | None:
    """Costs by the readable part of a file; None if pay, minutes or places cannot be read."""
    pay, work, minutes = study.get("pay", {}), study.get("annotation") or {}, study.get("minutes")
    branches = max(1, len(study["chatbots"]))
    places = sum(cell.get("places", 0) for cell in study["cells"]) or work.get("annotators", 0)
    if not ({"amount", "currency"} <= pay.keys() and minutes and places):
        return None
    return Money(int(pay["amount"] * 100), pay["currency"], minutes, places * branches, branches)
