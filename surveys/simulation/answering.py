"""Plays a participant who pastes answers, some of them wrong, and replies to the page's questions about them."""

import json
import re
import time
from collections.abc import Mapping
from random import Random

from surveys.models import Prompt
from surveys.participation.pasting.capture import UNRATED
from surveys.participation.pasting.read_back import LETTERS, NONE, mark_of, read_prompt
from surveys.reading.checks import CHECKS
from surveys.simulation.answers import items_for, write_answer, write_personal, write_wrong
from surveys.simulation.browser import VisitedPage
from surveys.simulation.people import Person, Sent
from surveys.simulation.player import ON_WORK, Mishap, Player, Stuck
from surveys.studies.files.definitions import Definition
from surveys.studies.perception import OWN_QUESTION, figure_for

CONFIRMED, CORRECTED = 0.7, 0.06  # of answers in which something was read
OF_READING = re.compile(r"(name|shown|added)-|(read_of|read_letter|read|letter|no_answer)$")
MOST_QUESTIONS = 8  # that the paste page asks about one answer
WRONG_SHARE = 0.2  # answers that begin with a wrong paste
RATED = (0.85, 0.05, 0.1)  # of answers: from 1 to 5, can't say, left out


def after_first_prompt(page: VisitedPage) -> bool:
    return page.name == "prompt" and page.number > 1 and bool(page.back)


def go_back(player: Player, page: VisitedPage) -> VisitedPage:
    """Look at the page before, without sending anything, and come forward again."""
    player.browser.open(page.back)
    return player.browser.open(page.path)


def change_earlier(player: Player, page: VisitedPage) -> VisitedPage:
    """Go back and send another answer to the prompt before."""
    earlier = player.browser.open(page.back)
    return earlier if earlier.name != "prompt" else player.send(earlier, player.fill_in(earlier))


def save_draft(player: Player, page: VisitedPage) -> VisitedPage:
    data = page.form.data
    draft = {"step": data["data-step"], "number": data["data-number"], "text": "The first half of"}
    status, _, _ = player.browser.ask("POST", data["data-autosave"], draft)
    if status not in (200, 409):
        player.story.troubles.append(f"A draft was answered with {status}")
    return player.browser.open(page.path)


WITH_PROMPTS = ON_WORK | {
    "back": Mishap(go_back, after_first_prompt),
    "earlier answer changed": Mishap(change_earlier, after_first_prompt),
    "draft saved": Mishap(save_draft, lambda page: page.name == "prompt"),
}


class AnsweringPlayer(Player):
    MISHAPS = WITH_PROMPTS

    def __init__(
        self, site: str, person: Person, definition: Definition, prompts: Mapping[str, Prompt], faults: bool
    ) -> None:
        super().__init__(site, person, definition, faults)
        self.prompts = prompts

    def chatbot(self, page: VisitedPage) -> VisitedPage:
        chosen = {name: self.rng.choice(options) for name, options in page.form.choices.items()}
        return self.forward(page, chosen | {"product": self.person.chatbot, "model_shown": "GPT-4o mini"})

    def attention(self, page: VisitedPage) -> VisitedPage:
        known = {option for check in self.definition.attention for option in (check.answer, *check.also)}
        offered = page.form.choices["answer"]
        right = [option for option in offered if option in known]
        return self.forward(page, {"answer": self.rng.choice(right if self.rng.random() < 0.9 else offered)})

    def perception(self, page: VisitedPage) -> VisitedPage:
        """See the figure, as nine in ten do; without scripts, and for a few people, answer the question in words."""
        asked = self.definition.perception
        if not self.person.scripts or self.rng.random() < 0.03:
            return self.forward(page, {"answer": (asked and asked.answer) or OWN_QUESTION.answer})
        figure, _dots = figure_for(page.path.split("/")[3].partition("~")[0])
        seen = figure if self.rng.random() < 0.9 else self.rng.choice(page.form.choices["seen"])
        ms = str(round(self.rng.lognormvariate(8.7, 0.5)))
        return self.forward(page, {"words": "", "seen": seen, "plays": "1", "ms": ms})

    def prompt(self, page: VisitedPage) -> VisitedPage:
        if self.leaves(page.number):
            return self.LEAVING[self.person.way](self, page)
        asked = self.prompt_on(page)
        if asked.arm in self.person.cannot_reach:
            return self.send(page, self.leave_out(page))
        text = write_answer(asked, self.rng)
        if self.faults and self.rng.random() < WRONG_SHARE:
            text = self.write_wrong(asked)
        return self.send(page, self.fill(page, text))

    def write_wrong(self, asked: Prompt) -> str:
        check = self.rng.choice([*CHECKS.values(), None])
        if check is None:
            return write_personal(asked, self.rng)
        return write_wrong(check, asked, self.prompts.values(), self.rng).text

    def prompt_on(self, page: VisitedPage) -> Prompt:
        """The prompt whose draft the page's form keeps. Raises Stuck if the page shows another message."""
        slug = page.form.data["data-step"].removeprefix("prompt:") if page.form else ""
        if slug not in self.prompts or page.message != self.prompts[slug].text:
            raise Stuck(f"{page.path} asks what is not in the study: {page.message[:60]!r}")
        return self.prompts[slug]

    def fill_in(self, page: VisitedPage) -> dict[str, str]:
        return self.fill(page, write_answer(self.prompt_on(page), self.rng))

    def settle(self, page: VisitedPage, fields: dict[str, str]) -> VisitedPage:
        for _ in range(MOST_QUESTIONS):
            if page.led_here:
                return page
            page, fields = self.decide(page, fields)
        raise Stuck(f"{page.path} goes on asking about {fields['text'][:60]!r}")

    def fill(self, page: VisitedPage, text: str) -> dict[str, str]:
        self.story.sent.add((self.prompt_on(page).slug, text))
        kept = {name: value for name, value in page.form.fields.items() if not OF_READING.match(name)}
        kept |= {"reached": "1"} if "reached" in page.form.choices else {}
        kept |= {"rating": rate(self.rng)} if "rating" in page.form.choices else {}
        if not self.person.scripts:
            return kept | {"text": text}
        said = reply_to_reading(self.prompt_on(page), text, self.rng)
        return kept | {"text": text} | note_pasting(text, self.rng) | said

    def leave_out(self, page: VisitedPage) -> dict[str, str]:
        """Say that the state of the account cannot be found."""
        self.story.sent.add((self.prompt_on(page).slug, ""))
        return page.form.fields | {"text": "", "unreached": "1"}

    def read_sent(self, page: VisitedPage, fields: Mapping[str, str]) -> Sent:
        text = None if fields.get("privacy") == "remove" else fields["text"]
        return Sent(self.prompt_on(page).slug, fields["key"], text)

    def decide(self, page: VisitedPage, fields: dict[str, str]) -> tuple[VisitedPage, dict[str, str]]:
        """Answer the page's question: remove personal details or not; keep the answer or correct it."""
        slug = self.prompt_on(page).slug
        is_flagged = "keep" in page.asks or "letter" not in page.form.choices  # which letter it is is no check
        if "privacy" in page.asks:
            choice = self.rng.choice(("remove", "keep"))
            fields = page.form.fields | {"text": fields["text"], "privacy": choice}
        elif self.rng.random() < 0.5:
            fields = page.form.fields | self.insist(page)
            self.story.kept |= {slug} if is_flagged else set()
        else:
            fields = self.fill_in(page) | {"privacy": ""}
            self.story.fixed |= {slug} if is_flagged else set()
        return self.submit_answer(page, fields), fields

    def insist(self, page: VisitedPage) -> dict[str, str]:
        """Insist that the chatbot gave this: the text, its reading, or nothing."""
        if "no_answer" in page.asks:
            return {"no_answer": self.rng.choice([value for name, value in page.form.buttons if name == "no_answer"])}
        if "keep" in page.asks:
            return {"keep": "1"}
        return {"read": "right"} | ({"letter": "none"} if "letter" in page.form.choices else {})

    STEPS = Player.STEPS | {"chatbot": chatbot, "attention": attention, "perception": perception, "prompt": prompt}


def rate(rng: Random) -> str:
    """A rating of an answer; some people can't say, and some leave it out."""
    return rng.choices((str(max(1, min(5, round(rng.gauss(3.6, 1))))), UNRATED, ""), RATED)[0]


# --- the notes of a page with JavaScript ------------------------------------


def reply_to_reading(prompt: Prompt, text: str, rng: Random) -> dict[str, str]:
    """Form fields about the reading: most people confirm it, some correct it, the others say nothing."""
    reading, said = read_prompt(prompt, text), {"read_of": mark_of(text)}
    if not (reading.names or reading.letter):
        return said
    said |= {f"{kind}-{place}": name for place, name in enumerate(reading.names) for kind in ("shown", "name")}
    said |= {"read_letter": reading.letter} if reading.letter else {}
    drawn = rng.random()
    if drawn > CORRECTED:
        return said | ({"read": "right"} if drawn < CORRECTED + CONFIRMED else {})
    if reading.letter:
        letters = [*LETTERS[: len(prompt.choices)], NONE]
        return said | {"letter": rng.choice([letter for letter in letters if letter != reading.letter])}
    place = rng.randrange(len(reading.names))
    del said[f"name-{place}"]
    shorter = " ".join(reading.names[place].split()[:-1])  # which the text holds
    return said | ({"added-0": shorter or rng.choice(items_for(prompt.text))} if rng.random() < 0.5 else {})


def note_pasting(text: str, rng: Random) -> dict[str, str]:
    """Form fields of one paste; now and then somebody typed a little, or everything."""
    sent = int(time.time() * 1000)
    pasted = 0 if rng.random() < 0.05 else len(text)
    typed = len(text) - pasted + (rng.randrange(1, 12) if rng.random() < 0.1 else 0)
    html = f"<div>{text.replace('&', '&amp;').replace('<', '&lt;')}</div>" if pasted else ""
    pastes = [{"at": sent - rng.randrange(2_000, 9_000), "plain": pasted, "html": len(html)}] if pasted else []
    evidence = {
        "opened_at": sent - rng.randrange(60_000, 120_000),
        "copied_at": sent - rng.randrange(40_000, 60_000),
        "sent_at": sent,
        "away_ms": rng.randrange(15_000, 40_000),
        "pasted": pasted,
        "typed": typed,
        "length": len(text),
        "edited_after": bool(pasted and typed),
        "pastes": pastes,
    }
    return {"evidence": json.dumps(evidence), "html": html}
