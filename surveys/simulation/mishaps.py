"""Mishaps on the way: each has a rule for the pages that it fits, and an action."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surveys.simulation.browser import Browser, VisitedPage

if TYPE_CHECKING:
    from surveys.simulation.annotating import AnnotatingPlayer
    from surveys.simulation.player import Player


def on_any_page(page: VisitedPage) -> bool:
    """Whether the page is inside the study; before consent the server knows nobody."""
    return page.name != "consent"


def on_work(page: VisitedPage) -> bool:
    """Whether the page asks for an answer that counts; practice is answered once."""
    return page.name == "prompt" or (page.name == "item" and not page.is_practice)


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


def new_session(player: Player, page: VisitedPage) -> VisitedPage:
    """Come from Prolific once more, as another submission; only the first one opens earlier answers."""
    player.browser.open(player.new_link())
    return player.browser.open(player.link)


def change_device(player: Player, page: VisitedPage) -> VisitedPage:
    player.browser.close()
    return player.browser.open(player.link)


def save_draft(player: Player, page: VisitedPage) -> VisitedPage:
    data = page.form.data
    draft = {"step": data["data-step"], "number": data["data-number"], "text": "The first half of"}
    status, _, _ = player.browser.ask("POST", data["data-autosave"], draft)
    if status not in (200, 409):
        player.story.troubles.append(f"A draft was answered with {status}")
    return player.browser.open(page.path)


def double_click(player: Player, page: VisitedPage) -> VisitedPage:
    """Send the same form twice at the same moment, over two connections."""
    fields = player.fill_in(page)
    return send_together(player, page, page, fields, fields)


def two_windows(player: Player, page: VisitedPage) -> VisitedPage:
    """Answer the same question differently in two windows; the later answer counts."""
    other = player.browser.open(page.path)
    player.send(other, player.fill_in(other))
    return player.send(page, player.fill_in(page))


def two_windows_together(player: Player, page: VisitedPage) -> VisitedPage:
    other = player.browser.open(page.path)
    return send_together(player, page, other, player.fill_in(page), player.fill_in(other))


def send_together(
    player: Player, page: VisitedPage, other: VisitedPage, first: dict[str, str], second: dict[str, str]
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


def hang_up(player: Player, page: VisitedPage) -> VisitedPage:
    """Break the line before the answer, then send the same form again, as the page would."""
    fields = player.fill_in(page)
    player.browser.send_and_hang_up(page.path, fields)
    return player.send(page, fields)


def break_off(player: Player, page: VisitedPage) -> VisitedPage:
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
WITH_PROMPTS = ON_WORK | {
    "back": Mishap(go_back, after_first_prompt),
    "earlier answer changed": Mishap(change_earlier, after_first_prompt),
    "draft saved": Mishap(save_draft, lambda page: page.name == "prompt"),
}


# --- for annotators only ----------------------------------------------------


def on_item(page: VisitedPage) -> bool:
    return page.name == "item"


def on_item_of_work(page: VisitedPage) -> bool:
    return on_item(page) and not page.is_practice


def label_off_the_scale(player: AnnotatingPlayer, page: VisitedPage) -> VisitedPage:
    """Send labels that no button has; the page must ask again."""
    labels = dict.fromkeys(page.form.choices, "11")
    return refused(player, player.browser.submit(page, page.form.fields | labels), "a label off the scale")


def answer_nothing(player: AnnotatingPlayer, page: VisitedPage) -> VisitedPage:
    hidden = {name: value for name, value in page.form.fields.items() if name not in page.form.choices}
    return refused(player, player.browser.submit(page, hidden), "a form without labels")


def refused(player: AnnotatingPlayer, page: VisitedPage, what: str) -> VisitedPage:
    if page.status != 422:
        player.story.troubles.append(f"{what} was answered with {page.status} at {page.path}")
    return page


def open_unknown_item(player: AnnotatingPlayer, page: VisitedPage) -> VisitedPage:
    """Open an item that does not exist, which leads to their own work."""
    wrong = player.browser.open(player.own_path(page, f"item/{max(player.items) + 1_000}"))
    if not wrong.led_here:
        player.story.troubles.append(f"an item that is not there was answered with {wrong.status}")
    return player.browser.open(page.path)


def send_with_broken_seal(player: AnnotatingPlayer, page: VisitedPage) -> VisitedPage:
    """Send a form that says it is about another item: it is not taken, and the page says so."""
    fields = player.fill_in(page)
    person, _, rest = fields["page"].split(".", 2)
    answered = player.browser.submit(page, fields | {"page": f"{person}.{max(player.items) + 1_000}.{rest}"})
    if "refused=1" not in answered.path:
        player.story.troubles.append(f"a form with a broken seal led to {answered.path}")
    return answered


def change_before_next_page(player: AnnotatingPlayer, page: VisitedPage) -> VisitedPage:
    """Send another answer by the same form while the first is under way: the second must count."""
    player.browser.submit(page, player.fill_in(page))
    return player.send(page, player.fill_in(page))


def undo_twice(player: AnnotatingPlayer, page: VisitedPage) -> VisitedPage:
    """Press undo twice on one page: one label is taken back, not two."""
    following = player.undo(page)
    form = page.form_to("undo")
    again = player.browser.submit(page, form.fields, form)
    if again.number != following.number:
        player.story.troubles.append(f"undo pressed twice led to {following.path} and {again.path}")
    return again


def fetch_ahead(player: AnnotatingPlayer, page: VisitedPage) -> VisitedPage:
    """Fetch the next item while this one is open, as scripts do."""
    player.browser.open(f"{player.own_path(page, 'work')}?ahead={page.number}")
    return player.send(page, player.fill_in(page))


def touch_page(player: AnnotatingPlayer, page: VisitedPage) -> VisitedPage:
    status, _, _ = player.browser.ask("POST", player.own_path(page, "alive"), {})
    if status != 204:
        player.story.troubles.append(f"A sign of life was answered with {status}")
    return player.browser.open(page.path)


WITH_ITEMS = ON_WORK | {
    "label off the scale": Mishap(label_off_the_scale, on_item),
    "nothing chosen": Mishap(answer_nothing, on_item),
    "unknown item": Mishap(open_unknown_item, on_item),
    "broken seal": Mishap(send_with_broken_seal, on_item),
    "changed before the next page": Mishap(change_before_next_page, on_item_of_work),
    "undo pressed twice": Mishap(undo_twice, on_item_of_work),
    "next item fetched ahead": Mishap(fetch_ahead, on_item_of_work),
    "sign of life": Mishap(touch_page, on_item),
}
