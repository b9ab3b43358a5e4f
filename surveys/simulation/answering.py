"""Plays a participant who pastes answers, wrong ones among them, and answers what the page asks about them."""

from collections.abc import Mapping

from surveys.models import Prompt
from surveys.reading.checks import CHECKS
from surveys.simulation.answers import write_answer, write_personal, write_wrong
from surveys.simulation.evidence import note_pasting
from surveys.simulation.mishaps import WITH_PROMPTS
from surveys.simulation.page import Page
from surveys.simulation.people import Person, Sent
from surveys.simulation.player import Player, Stuck
from surveys.study_files.definitions import Definition

MOST_QUESTIONS = 8  # that the paste page asks about one answer
WRONG_SHARE = 0.2  # answers that begin with a wrong paste


class AnsweringPlayer(Player):
    MISHAPS = WITH_PROMPTS

    def __init__(
        self, site: str, person: Person, definition: Definition, prompts: Mapping[str, Prompt], faults: bool
    ) -> None:
        super().__init__(site, person, definition, faults)
        self.by_text = {prompt.text: prompt for prompt in prompts.values()}

    def chatbot(self, page: Page) -> Page:
        chosen = {name: self.rng.choice(options) for name, options in page.form.choices.items()}
        return self.forward(page, chosen | {"product": self.person.chatbot, "model_shown": "GPT-4o mini"})

    def attention(self, page: Page) -> Page:
        known = {option for check in self.definition.attention for option in (check.answer, *check.also)}
        offered = page.form.choices["answer"]
        right = [option for option in offered if option in known]
        return self.forward(page, {"answer": self.rng.choice(right if self.rng.random() < 0.9 else offered)})

    def prompt(self, page: Page) -> Page:
        if self.leaves(page.number):
            return self.LEAVING[self.person.way](self, page)
        asked = self.prompt_on(page)
        text = write_answer(asked, self.rng)
        if self.faults and self.rng.random() < WRONG_SHARE:
            text = self.write_wrong(asked)
        return self.send(page, self.fill(page, text))

    def write_wrong(self, asked: Prompt) -> str:
        check = self.rng.choice([*CHECKS.values(), None])
        if check is None:
            return write_personal(asked, self.rng)
        return write_wrong(check, asked, self.by_text.values(), self.rng).text

    def prompt_on(self, page: Page) -> Prompt:
        if page.message not in self.by_text:
            raise Stuck(f"{page.path} asks what is not in the study: {page.message[:60]!r}")
        return self.by_text[page.message]

    def fill_in(self, page: Page) -> dict[str, str]:
        return self.fill(page, write_answer(self.prompt_on(page), self.rng))

    def settle(self, page: Page, fields: dict[str, str]) -> Page:
        for _ in range(MOST_QUESTIONS):
            if page.led_here:
                return page
            page, fields = self.decide(page, fields)
        raise Stuck(f"{page.path} goes on asking about {fields['text'][:60]!r}")

    def fill(self, page: Page, text: str) -> dict[str, str]:
        self.story.sent.add((self.prompt_on(page).slug, text))
        evidence = note_pasting(text, self.rng) if self.person.scripts else {}
        return page.form.fields | {"text": text} | evidence

    def read_sent(self, page: Page, fields: Mapping[str, str]) -> Sent:
        text = None if fields.get("privacy") == "remove" else fields["text"]
        return Sent(self.prompt_on(page).slug, fields["key"], text)

    def decide(self, page: Page, fields: dict[str, str]) -> tuple[Page, dict[str, str]]:
        """The page asks: take personal details out or not; keep the answer or put it right."""
        slug = self.prompt_on(page).slug
        if "privacy" in page.asks:
            choice = self.rng.choice(("remove", "keep"))
            fields = page.form.fields | {"text": fields["text"], "privacy": choice}
        elif self.rng.random() < 0.5:
            fields = page.form.fields | {"keep": "1"}
            self.story.kept.add(slug)
        else:
            fields = self.fill_in(page) | {"privacy": ""}
            self.story.fixed.add(slug)
        return self.submit_answer(page, fields), fields

    STEPS = Player.STEPS | {"chatbot": chatbot, "attention": attention, "prompt": prompt}
