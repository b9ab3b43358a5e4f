"""Plays one person: reads each page, fills its form in, sends it, notes the server's confirmations; and mishaps."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from surveys.participation.prolific import sign_simulated
from surveys.participation.steps import area_of
from surveys.simulation.browser import Browser, TurnedAway, Unreachable, VisitedPage
from surveys.simulation.people import Person, Sent, Story, first_answers
from surveys.studies.files.definitions import Definition

Turn = Callable[[Any, VisitedPage], VisitedPage]  # a player on a page, and the page that comes of it
MOST_PAGES = 2_000
MISHAP_SHARE = 0.25  # pages on which something goes wrong, under faults
ENDS = ("no-consent", "withdrawn", "end")


class Stuck(Exception):
    """A page that leads nowhere."""


# --- mishaps on the way: each has a rule for the pages that it fits, and an action


def on_any_page(page: VisitedPage) -> bool:
    """Whether the page is inside the study; before consent the server knows nobody."""
    return page.name != "consent"


def on_work(page: VisitedPage) -> bool:
    """Whether the page asks for an answer that counts; practice is answered once."""
    return page.name == "prompt" or (page.name == "item" and not page.is_practice)


def new_session(player: "Player", page: VisitedPage) -> VisitedPage:
    """Come from Prolific once more, as another submission; only the first one opens earlier answers."""
    player.browser.open(player.new_link())
    return player.browser.open(player.link)


def change_device(player: "Player", page: VisitedPage) -> VisitedPage:
    player.browser.close()
    return player.browser.open(player.link)


def double_click(player: "Player", page: VisitedPage) -> VisitedPage:
    """Send the same form twice at the same moment, over two connections."""
    fields = player.fill_in(page)
    return send_together(player, page, page, fields, fields)


def two_windows(player: "Player", page: VisitedPage) -> VisitedPage:
    """Answer the same question differently in two windows; the later answer counts."""
    other = player.browser.open(page.path)
    player.send(other, player.fill_in(other))
    return player.send(page, player.fill_in(page))


def two_windows_together(player: "Player", page: VisitedPage) -> VisitedPage:
    other = player.browser.open(page.path)
    return send_together(player, page, other, player.fill_in(page), player.fill_in(other))


def send_together(
    player: "Player", page: VisitedPage, other: VisitedPage, first: dict[str, str], second: dict[str, str]
) -> VisitedPage:
    spare = Browser(player.site)
    with ThreadPoolExecutor(1) as side:
        sent = side.submit(spare.submit, other, second)
        following = player.browser.submit(page, first)
        beside = sent.result()
    spare.close()
    player.browser.requests += spare.requests
    player.story.submissions += 2
    # The other window may have been led to another item meanwhile.
    windows = ((page, first, following), (other, second, beside))
    taken = [player.read_sent(shown, fields) for shown, fields, answered in windows if player.was_taken(answered)]
    if taken:
        player.story.confirm(*taken)
    return player.settle(following, first)


def hang_up(player: "Player", page: VisitedPage) -> VisitedPage:
    """Break the line before the answer, then send the same form again, as the page would."""
    fields = player.fill_in(page)
    player.browser.send_and_hang_up(page.path, fields)
    return player.send(page, fields)


def break_off(player: "Player", page: VisitedPage) -> VisitedPage:
    fields = player.fill_in(page)
    player.browser.send_half(page.path, fields)
    return player.send(page, fields)


@dataclass(frozen=True)
class Mishap:
    happen: Callable[[Any, VisitedPage], VisitedPage]  # of the player on that page
    fits: Callable[[VisitedPage], bool]


ON_EVERY_PAGE = {
    "reload": Mishap(lambda player, page: player.browser.open(page.path), on_any_page),
    "link opened again": Mishap(lambda player, page: player.browser.open(player.link), on_any_page),
    "new session": Mishap(new_session, on_any_page),
    "other device": Mishap(change_device, on_any_page),
}
ON_WORK = ON_EVERY_PAGE | {
    "double click": Mishap(double_click, on_work),
    "two windows": Mishap(two_windows, on_work),
    "two windows at once": Mishap(two_windows_together, on_work),
    "answer never arrived": Mishap(hang_up, on_work),
    "form cut in half": Mishap(break_off, on_work),
}


# --- the player


class Player:
    """The base of people who paste answers and of annotators: the pages before the work, and every way out."""

    def __init__(self, site: str, person: Person, definition: Definition, faults: bool) -> None:
        self.site, self.person, self.definition, self.faults = site, person, definition, faults
        self.rng, self.slug = person.rng, definition.slug
        self.story = Story(person)
        self.browser = Browser(site)
        self.link = self.new_link()
        self.tries = 0

    def new_link(self) -> str:
        """The address that Prolific sends people to, with a new SESSION_ID."""
        visit = self.person.visit().as_parameters() | {"SIMULATED": sign_simulated(self.person.pid)}
        entry = reverse(f"{area_of(self.definition)}:arrive", args=[self.slug])
        return f"{entry}?" + "&".join(f"{name}={value}" for name, value in visit.items())

    def play(self) -> Story:
        """Play from Prolific's link to the end, or to where the person lapses; called again, they come back."""
        self.story.lapsed = False
        try:
            self.go(self.arrive())
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

    def arrive(self) -> VisitedPage:
        return self.browser.open(self.link)

    def go(self, page: VisitedPage) -> None:
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

    def turn(self, page: VisitedPage) -> VisitedPage:
        """One page: perhaps a mishap, then what the page asks for."""
        step = self.STEPS.get(page.name)
        if step is None or page.form is None:
            raise Stuck(f"{page.path} has no form to go on with")
        fitting = [name for name, mishap in self.MISHAPS.items() if mishap.fits(page)]
        if self.faults and fitting and self.rng.random() < MISHAP_SHARE:
            name = self.rng.choice(fitting)
            self.story.mishaps[name] += 1
            return self.MISHAPS[name].happen(self, page)
        return step(self, page)

    def wants_back(self, page: VisitedPage) -> bool:
        return page.name == "end" and self.person.way == "come_back" and bool(page.form) and not self.tries

    def come_back(self, page: VisitedPage) -> VisitedPage:
        """Go on after all after returning: by the button there, or by a new submission.

        The latter proves nothing, so mishaps stop: most would repeat earlier answers.
        """
        self.tries += 1
        if self.rng.random() < 0.5:
            return self.browser.submit(page, {})
        self.faults = False
        return self.browser.open(self.new_link())

    # --- pages before the prompts -------------------------------------------------------------------------

    def consent(self, page: VisitedPage) -> VisitedPage:
        if self.person.way == "no_consent":
            self.story.refusals += 1
            return self.browser.submit(page, page.form.fields | {"consent": "no"})
        self.story.consented = True
        return self.forward(page)

    def questions(self, page: VisitedPage) -> VisitedPage:
        return self.forward(page, dict(first_answers(self.definition, self.person)))

    def instructions(self, page: VisitedPage) -> VisitedPage:
        return self.forward(page)

    def comprehension(self, page: VisitedPage) -> VisitedPage:
        right = {check.slug: check.answer for check in self.definition.comprehension}
        wrong = {
            check.slug: next(option for option in check.options if option != check.answer)
            for check in self.definition.comprehension
        }
        self.tries += self.person.way == "misunderstand"
        return self.forward(page, wrong if self.person.way == "misunderstand" else right)

    def debrief(self, page: VisitedPage) -> VisitedPage:
        return self.forward(page, {"comments": self.rng.choice(("", "", "It went well.", "Nice 🙂\nThanks"))})

    # --- the work, different for each kind of player ------------------------------------------------------

    def fill_in(self, page: VisitedPage) -> dict[str, str]:
        """A work page's form with a new answer in it, which is noted as sent."""
        raise NotImplementedError

    def read_sent(self, page: VisitedPage, fields: Mapping[str, str]) -> Sent:
        raise NotImplementedError

    def was_taken(self, page: VisitedPage) -> bool:
        """Whether the page after sending shows that the answer is saved."""
        return page.led_here

    def settle(self, page: VisitedPage, fields: dict[str, str]) -> VisitedPage:
        """Reply to the page's questions about a sent answer until it leads on."""
        return page

    def submit_answer(self, page: VisitedPage, fields: dict[str, str]) -> VisitedPage:
        self.story.submissions += 1
        following = self.browser.submit(page, fields)
        if self.was_taken(following):
            self.story.confirm(self.read_sent(page, fields))
        return following

    def send(self, page: VisitedPage, fields: dict[str, str]) -> VisitedPage:
        """Send one answer, and go through the page's questions about it."""
        return self.settle(self.submit_answer(page, fields), fields)

    # --- ways out -----------------------------------------------------------------------------------------

    def leaves(self, reached: int) -> bool:
        """Whether the person leaves here instead of going on to the end."""
        return reached >= self.person.stops_at and self.person.way in self.LEAVING and not self.tries

    def lapse(self, page: VisitedPage) -> VisitedPage:
        """Walk away from an open page; late people come back by the link on Prolific."""
        self.tries += 1
        self.story.lapsed = True
        return page

    def stop(self, page: VisitedPage, how: str) -> VisitedPage:
        erases = how == "withdraw"
        stop = self.browser.open(self.own_path(page, "stop") + ("?erase=1" if erases else ""))
        self.tries += erases
        return self.browser.submit(
            stop, stop.form_with("how", how).fields | {"how": how} | ({"sure": "1"} if erases else {})
        )

    def give_up(self, page: VisitedPage) -> VisitedPage:
        trouble = self.browser.open(self.own_path(page, "help"))
        return self.browser.submit(trouble, {"what": "The page does not load."})

    def own_path(self, page: VisitedPage, name: str) -> str:
        return "/".join(page.path.split("/")[:4]) + f"/{name}/"

    def forward(self, page: VisitedPage, values: Mapping[str, Any] | None = None) -> VisitedPage:
        """Send the page's form as it stands, with these values, by its first submit button."""
        buttons = page.form.buttons
        button = dict([buttons[0]]) if buttons and buttons[0][0] else {}
        return self.browser.submit(page, page.form.fields | dict(values or {}) | button)

    MISHAPS = ON_EVERY_PAGE
    STEPS: dict[str, Turn] = {
        "consent": consent,
        "questions": questions,
        "background": questions,
        "instructions": instructions,
        "comprehension": comprehension,
        "debrief": debrief,
    }
    LEAVING: dict[str, Turn] = {
        "late": lapse,
        "walk_away": lapse,
        "withdraw": lambda self, page: self.stop(page, "withdraw"),
        "return": lambda self, page: self.stop(page, "return"),
        "come_back": lambda self, page: self.stop(page, "return"),
        "technical": give_up,
    }
