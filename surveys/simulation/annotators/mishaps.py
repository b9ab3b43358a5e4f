"""What goes wrong for annotators only: labels off the scale, forms about unknown items, keys pressed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surveys.simulation.mishaps import ON_WORK, Mishap
from surveys.simulation.page import Page

if TYPE_CHECKING:
    from surveys.simulation.annotators.annotating import AnnotatingPlayer


def on_item(page: Page) -> bool:
    return page.name == "item"


def on_item_of_work(page: Page) -> bool:
    return on_item(page) and not page.is_practice


def label_off_the_scale(player: AnnotatingPlayer, page: Page) -> Page:
    """Labels that no button has; the page must ask again."""
    labels = dict.fromkeys(page.form.choices, "11")
    return refused(player, player.browser.submit(page, page.form.fields | labels), "a label off the scale")


def answer_nothing(player: AnnotatingPlayer, page: Page) -> Page:
    hidden = {name: value for name, value in page.form.fields.items() if name not in page.form.choices}
    return refused(player, player.browser.submit(page, hidden), "a form without labels")


def refused(player: AnnotatingPlayer, page: Page, what: str) -> Page:
    if page.status != 422:
        player.story.troubles.append(f"{what} was answered with {page.status} at {page.path}")
    return page


def open_unknown_item(player: AnnotatingPlayer, page: Page) -> Page:
    """The address of an item that is not there leads to their own work."""
    wrong = player.browser.open(player.own_path(page, f"item/{max(player.items) + 1_000}"))
    if not wrong.led_here:
        player.story.troubles.append(f"an item that is not there was answered with {wrong.status}")
    return player.browser.open(page.path)


def send_with_broken_seal(player: AnnotatingPlayer, page: Page) -> Page:
    """A form that says it was about another item: it is not taken, and the page says so."""
    fields = player.fill_in(page)
    person, _, rest = fields["page"].split(".", 2)
    answered = player.browser.submit(page, fields | {"page": f"{person}.{max(player.items) + 1_000}.{rest}"})
    if "refused=1" not in answered.path:
        player.story.troubles.append(f"a form with a broken seal led to {answered.path}")
    return answered


def change_before_next_page(player: AnnotatingPlayer, page: Page) -> Page:
    """While the first answer is under way, another is chosen and sent by the same form: that one must count."""
    player.browser.submit(page, player.fill_in(page))
    return player.send(page, player.fill_in(page))


def undo_twice(player: AnnotatingPlayer, page: Page) -> Page:
    """The key of undo pressed twice for one page: one label is taken back, not two."""
    following = player.undo(page)
    form = page.form_to("undo")
    again = player.browser.submit(page, form.fields, form)
    if again.number != following.number:
        player.story.troubles.append(f"undo pressed twice led to {following.path} and {again.path}")
    return again


def fetch_ahead(player: AnnotatingPlayer, page: Page) -> Page:
    """As scripts do, the next item is fetched while this one is open."""
    player.browser.open(f"{player.own_path(page, 'work')}?ahead={page.number}")
    return player.send(page, player.fill_in(page))


def show_life(player: AnnotatingPlayer, page: Page) -> Page:
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
    "sign of life": Mishap(show_life, on_item),
}
