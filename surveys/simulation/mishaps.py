"""What goes wrong on the way: each mishap is a rule for which pages it fits and what then happens."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from surveys.simulation.browser import Browser
from surveys.simulation.page import Page

if TYPE_CHECKING:
    from surveys.simulation.player import Player


def on_any_page(page: Page) -> bool:
    """Inside the study; before consent there is nobody whom the server could recognise."""
    return page.name != "consent"


def on_prompt(page: Page) -> bool:
    return page.name == "prompt"


def on_work(page: Page) -> bool:
    """A page that asks for an answer which counts; practice is answered once."""
    return page.name == "prompt" or (page.name == "item" and not page.is_practice)


def after_first_prompt(page: Page) -> bool:
    return page.name == "prompt" and page.number > 1 and bool(page.back)


def reload(player: Player, page: Page) -> Page:
    return player.browser.open(page.path)


def go_back(player: Player, page: Page) -> Page:
    """Look at the page before, without sending anything, and come forward again."""
    player.browser.open(page.back)
    return player.browser.open(page.path)


def change_earlier(player: Player, page: Page) -> Page:
    """Go back and send another answer to the prompt before."""
    earlier = player.browser.open(page.back)
    if earlier.name != "prompt":
        return earlier
    return player.send(earlier, player.fill_in(earlier))


def reopen_link(player: Player, page: Page) -> Page:
    return player.browser.open(player.link)


def new_session(player: Player, page: Page) -> Page:
    """Prolific sends the same person once more, as another submission."""
    player.link = player.new_link()
    return player.browser.open(player.link)


def change_device(player: Player, page: Page) -> Page:
    player.browser.close()
    return player.browser.open(player.link)


def save_draft(player: Player, page: Page) -> Page:
    data = page.form.data
    draft = {"step": data["data-step"], "number": data["data-number"], "text": "The first half of"}
    status, _, _ = player.browser.ask("POST", data["data-autosave"], draft)
    if status not in (200, 409):
        player.story.troubles.append(f"A draft was answered with {status}")
    return player.browser.open(page.path)


def double_click(player: Player, page: Page) -> Page:
    """The same form twice at the same moment, over two connections."""
    fields = player.fill_in(page)
    return send_together(player, page, page, fields, fields)


def two_windows(player: Player, page: Page) -> Page:
    """Two windows with the same question and different answers, both sent; the later one counts."""
    other = player.browser.open(page.path)
    player.send(other, player.fill_in(other))
    return player.send(page, player.fill_in(page))


def two_windows_together(player: Player, page: Page) -> Page:
    other = player.browser.open(page.path)
    return send_together(player, page, other, player.fill_in(page), player.fill_in(other))


def send_together(player: Player, page: Page, other: Page, first: dict[str, str], second: dict[str, str]) -> Page:
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


def hang_up(player: Player, page: Page) -> Page:
    """The line breaks before the answer; then the same form again, as the page would send it."""
    fields = player.fill_in(page)
    player.browser.send_and_hang_up(page.path, fields)
    return player.send(page, fields)


def break_off(player: Player, page: Page) -> Page:
    fields = player.fill_in(page)
    player.browser.send_half(page.path, fields)
    return player.send(page, fields)


@dataclass(frozen=True)
class Mishap:
    happen: Callable[[Player, Page], Page]
    fits: Callable[[Page], bool]


ON_EVERY_PAGE = {
    "reload": Mishap(reload, on_any_page),
    "link opened again": Mishap(reopen_link, on_any_page),
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
WITH_PROMPTS = ON_WORK | {
    "back": Mishap(go_back, after_first_prompt),
    "earlier answer changed": Mishap(change_earlier, after_first_prompt),
    "draft saved": Mishap(save_draft, on_prompt),
}
