"""Plays one participant: reads each page, fills its form in, sends it, notes what the server confirmed."""

from collections.abc import Mapping
from typing import Any

from surveys.access import sign_simulated
from surveys.definitions import Definition
from surveys.models import Prompt
from surveys.simulation.answers import WRONG, write_answer, write_personal
from surveys.simulation.browser import Browser, TurnedAway, Unreachable
from surveys.simulation.evidence import note_pasting
from surveys.simulation.mishaps import MISHAPS
from surveys.simulation.page import Form, Page
from surveys.simulation.people import Person, Sent, Story, first_answers

MOST_PAGES = 400
MISHAP_SHARE = 0.25  # pages on which something goes wrong, under faults
MOST_QUESTIONS = 8  # that the paste page asks about one answer
WRONG_SHARE = 0.2  # answers that begin with a wrong paste
ENDS = ("no-consent", "withdrawn", "end")


class Stuck(Exception):
    """A page that leads nowhere."""


class Player:
    def __init__(
        self, site: str, person: Person, definition: Definition, prompts: Mapping[str, Prompt], faults: bool
    ) -> None:
        self.site, self.person, self.definition, self.faults = site, person, definition, faults
        self.rng, self.slug = person.rng, definition.slug
        self.by_text = {prompt.text: prompt for prompt in prompts.values()}
        self.story = Story(person)
        self.browser = Browser(site)
        self.link = self.new_link()
        self.tries = 0

    def new_link(self) -> str:
        """The address on Prolific, with a new SESSION_ID."""
        visit = self.person.visit().as_parameters() | {"SIMULATED": sign_simulated(self.person.pid)}
        return f"/s/{self.slug}/?" + "&".join(f"{name}={value}" for name, value in visit.items())

    def play(self) -> Story:
        """From the link on Prolific to the end, or to where they lapse; called again, they come back."""
        self.story.lapsed = False
        try:
            self.go(self.browser.open(self.link))
        except Stuck as fault:
            self.story.troubles.append(str(fault))
        except (Unreachable, TurnedAway):
            raise
        except Exception as fault:  # one player's surprise must not end the others' run
            self.story.troubles.append(f"{type(fault).__name__}: {fault}")
        finally:
            self.browser.close()
            self.story.requests, self.story.waits = self.browser.requests, self.browser.waits
        return self.story

    def go(self, page: Page) -> None:
        for _ in range(MOST_PAGES):
            if page.status >= 500 or page.status in (400, 403, 404, 413):
                raise Stuck(f"{page.path} answered {page.status}")
            if page.name in ENDS and not self.wants_back(page):
                self.story.end, self.story.code = page.name, page.code
                return
            page = self.come_back(page) if page.name in ENDS else self.turn(page)
            if self.story.lapsed:
                return
        raise Stuck(f"No end after {MOST_PAGES} pages, last {page.path}")

    def turn(self, page: Page) -> Page:
        """One page: perhaps a mishap, then what the page asks for."""
        step = self.STEPS.get(page.name)
        if step is None or page.form is None:
            raise Stuck(f"{page.path} has no form to go on with")
        fitting = [name for name, mishap in MISHAPS.items() if mishap.fits(page)]
        if self.faults and fitting and self.rng.random() < MISHAP_SHARE:
            name = self.rng.choice(fitting)
            self.story.mishaps[name] += 1
            return MISHAPS[name].happen(self, page)
        return step(self, page)

    def wants_back(self, page: Page) -> bool:
        return page.name == "end" and self.person.way == "come_back" and bool(page.form) and not self.tries

    def come_back(self, page: Page) -> Page:
        """Some of those who returned go on after all: by the button there, or by a new submission."""
        self.tries += 1
        return self.browser.submit(page, {}) if self.rng.random() < 0.5 else self.browser.open(self.new_link())

    # --- pages before the prompts -------------------------------------------------------------------------

    def consent(self, page: Page) -> Page:
        if self.person.way == "no_consent":
            self.story.refusals += 1
            return self.browser.submit(page, page.form.fields | {"consent": "no"})
        self.story.consented = True
        return self.forward(page)

    def questions(self, page: Page) -> Page:
        return self.forward(page, dict(first_answers(self.definition, self.person)))

    def instructions(self, page: Page) -> Page:
        return self.forward(page)

    def comprehension(self, page: Page) -> Page:
        right = {check.slug: check.answer for check in self.definition.comprehension}
        wrong = {
            check.slug: next(option for option in check.options if option != check.answer)
            for check in self.definition.comprehension
        }
        self.tries += self.person.way == "misunderstand"
        return self.forward(page, wrong if self.person.way == "misunderstand" else right)

    def chatbot(self, page: Page) -> Page:
        chosen = {name: self.rng.choice(options) for name, options in page.form.choices.items()}
        return self.forward(page, chosen | {"product": self.person.chatbot, "model_shown": "GPT-4o mini"})

    def attention(self, page: Page) -> Page:
        known = {option for check in self.definition.attention for option in (check.answer, *check.also)}
        offered = page.form.choices["answer"]
        right = [option for option in offered if option in known]
        return self.forward(page, {"answer": self.rng.choice(right if self.rng.random() < 0.9 else offered)})

    def debrief(self, page: Page) -> Page:
        return self.forward(page, {"comments": self.rng.choice(("", "", "It went well.", "Nice 🙂\nThanks"))})

    # --- the prompts --------------------------------------------------------------------------------------

    def prompt(self, page: Page) -> Page:
        if page.number >= self.person.stops_at and self.person.way in self.LEAVING and not self.tries:
            return self.LEAVING[self.person.way](self, page)
        asked = self.prompt_on(page)
        text = write_answer(asked, self.rng)
        if self.faults and self.rng.random() < WRONG_SHARE:
            text = self.rng.choice([*WRONG.values(), write_personal])(asked, self.rng)
        return self.answer(page, text)

    def prompt_on(self, page: Page) -> Prompt:
        if page.message not in self.by_text:
            raise Stuck(f"{page.path} asks what is not in the study: {page.message[:60]!r}")
        return self.by_text[page.message]

    def answer(self, page: Page, text: str) -> Page:
        """Send one answer, and go through what the page asks about it."""
        fields = self.fill(page, text)
        return self.settle(self.submit_answer(page, fields), fields)

    def settle(self, page: Page, fields: dict[str, str]) -> Page:
        """Answer what the page asks about a sent answer until it leads on."""
        for _ in range(MOST_QUESTIONS):
            if page.led_here:
                return page
            page, fields = self.decide(page, fields)
        raise Stuck(f"{page.path} goes on asking about {fields['text'][:60]!r}")

    def fill(self, page: Page, text: str) -> dict[str, str]:
        self.story.sent.add((self.prompt_on(page).slug, text))
        evidence = note_pasting(text, self.rng) if self.person.scripts else {}
        return page.form.fields | {"text": text} | evidence

    def submit_answer(self, page: Page, fields: dict[str, str]) -> Page:
        self.story.submissions += 1
        following = self.browser.submit(page, fields)
        if following.led_here:
            self.story.confirm(self.read_sent(page, fields))
        return following

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
            asked = self.prompt_on(page)
            fields = self.fill(page, write_answer(asked, self.rng)) | {"privacy": ""}
            self.story.fixed.add(slug)
        return self.submit_answer(page, fields), fields

    # --- ways out -----------------------------------------------------------------------------------------

    def lapse(self, page: Page) -> Page:
        """Walk away from an open page; who is only late comes back by the link on Prolific."""
        self.tries += 1
        self.story.lapsed = True
        return page

    def stop(self, page: Page, how: str) -> Page:
        stop = self.browser.open(self.own_path(page, "stop"))
        self.tries += how == "withdraw"
        return self.browser.submit(stop, stop.form_with("how", how).fields | {"how": how})

    def give_up(self, page: Page) -> Page:
        trouble = self.browser.open(self.own_path(page, "help"))
        return self.browser.submit(trouble, {"what": "The chatbot does not load."})

    def own_path(self, page: Page, name: str) -> str:
        return "/".join(page.path.split("/")[:4]) + f"/{name}/"

    def forward(self, page: Page, values: Mapping[str, Any] | None = None) -> Page:
        return self.browser.submit(page, self.forward_fields(page.form, values or {}))

    def forward_fields(self, form: Form, values: Mapping[str, Any]) -> dict[str, str]:
        """The form as it stands, filled in, with its first submit button pressed."""
        button = dict([form.buttons[0]]) if form.buttons and form.buttons[0][0] else {}
        return form.fields | dict(values) | button

    STEPS = {
        "consent": consent,
        "questions": questions,
        "instructions": instructions,
        "comprehension": comprehension,
        "chatbot": chatbot,
        "attention": attention,
        "prompt": prompt,
        "debrief": debrief,
    }
    LEAVING = {
        "late": lapse,
        "walk_away": lapse,
        "withdraw": lambda self, page: self.stop(page, "withdraw"),
        "return": lambda self, page: self.stop(page, "return"),
        "come_back": lambda self, page: self.stop(page, "return"),
        "technical": give_up,
    }
