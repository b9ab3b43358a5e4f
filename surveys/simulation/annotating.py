"""Plays an annotator who labels, skips, takes back, changes and stops on the way, by the definitions of the kinds."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from surveys.annotation.labels import SKIP_REASONS
from surveys.models import Annotation, AnnotationItem
from surveys.simulation.browser import VisitedPage
from surveys.simulation.check import write_labels
from surveys.simulation.people import Person, Sent
from surveys.simulation.player import ON_WORK, Mishap, Player, Stuck
from surveys.studies.files.definitions import Definition
from surveys.studies.files.kinds import KINDS, LabelQuestion, fields_of, turn_back

OPINIONS = ("yes", "yes", "yes", "maybe", "no")  # of a question with these three, most say yes
SWITCHED_ON = 0.08


class Item(Protocol):
    """An item as the database has it."""

    payload: dict[str, Any]
    gold: dict[str, Any]


@dataclass(frozen=True)
class Rater:
    """How often a rater answers at random (`contrary`), or is for the left response whatever it says (`leaning`)."""

    random: Random
    contrary: float
    leaning: float = 0.0


def draw_rater(random: Random) -> Rater:
    """Draw a rater: most are careful, some are not, and a few lean to the left."""
    return Rater(random, random.choice((0.05, 0.15, 0.15, 0.3, 0.8)), random.choice((0, 0, 0, 0.25)))


def draw_labels(item: Item, questions: Iterable[LabelQuestion], rater: Rater, left: str = "") -> dict[str, str]:
    """A label for every question about the item that has labels, as on the page; the right one if known."""
    usual = Random(json.dumps(item.payload, sort_keys=True))
    return {
        name: turn_back(question, choose(item.gold.get(name), question, usual, rater, left), left)
        for name, question in fields_of(questions, item.payload).items()
        if question.is_label
    }


def choose(right: list[str] | str | None, question: LabelQuestion, usual: Random, rater: Rater, left: str) -> str:
    """A label as it counts in analysis: with sides, from 1 = generic to 5 = personalised."""
    values, random = question.values, rater.random
    said = usual.choice(OPINIONS) if set(OPINIONS) <= set(values) else usual.choice(values)
    if question.toggle:
        said = values[-1] if random.random() < SWITCHED_ON else values[0]
    elif left and rater.leaning and random.random() < rater.leaning:
        said = turn_back(question, values[0], left)
    elif random.random() < rater.contrary:
        said = random.choice(values)
    return (right[0] if isinstance(right, list) else right) if right else said


def draw_wrong_labels(item: Item, questions: Iterable[LabelQuestion], rater: Rater, left: str = "") -> dict[str, str]:
    """Like `draw_labels`, but with a wrong label wherever the right ones are known and there is a wrong one."""
    labels = draw_labels(item, questions, rater, left)
    for name, question in fields_of(questions, item.payload).items():
        wrong = [value for value in question.values if value not in item.gold.get(name, question.values)]
        if wrong:
            labels[name] = turn_back(question, wrong[0], left)
    return labels


# --- playing ---

State, Purpose = Annotation.State, AnnotationItem.Purpose
AFTER_SAVING = ("item", "feedback", "labels", "debrief")
HABIT_SHARE = 0.2  # items at which somebody does something else before going on


# --- mishaps at items


def on_item(page: VisitedPage) -> bool:
    return page.name == "item"


def on_item_of_work(page: VisitedPage) -> bool:
    return on_item(page) and not page.is_practice


def label_off_the_scale(player: "AnnotatingPlayer", page: VisitedPage) -> VisitedPage:
    """Send labels that no button has; the page must ask again."""
    labels = dict.fromkeys(page.form.choices, "11")
    return refused(player, player.browser.submit(page, page.form.fields | labels), "a label off the scale")


def answer_nothing(player: "AnnotatingPlayer", page: VisitedPage) -> VisitedPage:
    hidden = {name: value for name, value in page.form.fields.items() if name not in page.form.choices}
    return refused(player, player.browser.submit(page, hidden), "a form without labels")


def refused(player: "AnnotatingPlayer", page: VisitedPage, what: str) -> VisitedPage:
    if page.status != 422:
        player.story.troubles.append(f"{what} was answered with {page.status} at {page.path}")
    return page


def open_unknown_item(player: "AnnotatingPlayer", page: VisitedPage) -> VisitedPage:
    """Open an item that does not exist, which leads to their own work."""
    wrong = player.browser.open(player.own_path(page, f"item/{max(player.items) + 1_000}"))
    if not wrong.led_here:
        player.story.troubles.append(f"an item that is not there was answered with {wrong.status}")
    return player.browser.open(page.path)


def send_with_broken_seal(player: "AnnotatingPlayer", page: VisitedPage) -> VisitedPage:
    """Send a form that says it is about another item: it is not taken, and the page says so."""
    fields = player.fill_in(page)
    person, _, rest = fields["page"].split(".", 2)
    answered = player.browser.submit(page, fields | {"page": f"{person}.{max(player.items) + 1_000}.{rest}"})
    if "refused=1" not in answered.path:
        player.story.troubles.append(f"a form with a broken seal led to {answered.path}")
    return answered


def change_before_next_page(player: "AnnotatingPlayer", page: VisitedPage) -> VisitedPage:
    """Send another answer by the same form while the first is under way: the second must count."""
    player.browser.submit(page, player.fill_in(page))
    return player.send(page, player.fill_in(page))


def undo_twice(player: "AnnotatingPlayer", page: VisitedPage) -> VisitedPage:
    """Press undo twice on one page: one label is taken back, not two."""
    following = player.undo(page)
    form = page.form_to("undo")
    again = player.browser.submit(page, form.fields, form)
    if again.number != following.number:
        player.story.troubles.append(f"undo pressed twice led to {following.path} and {again.path}")
    return again


def fetch_ahead(player: "AnnotatingPlayer", page: VisitedPage) -> VisitedPage:
    """Fetch the next item while this one is open, as scripts do."""
    player.browser.open(f"{player.own_path(page, 'work')}?ahead={page.number}")
    return player.send(page, player.fill_in(page))


def touch_page(player: "AnnotatingPlayer", page: VisitedPage) -> VisitedPage:
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


class AnnotatingPlayer(Player):
    MISHAPS = WITH_ITEMS

    def __init__(
        self, site: str, person: Person, definition: Definition, items: Mapping[int, AnnotationItem], faults: bool
    ) -> None:
        super().__init__(site, person, definition, faults)
        self.items, self.rater = items, draw_rater(person.rng)
        self.given: dict[int, None] = {}  # items of the work that are labelled now, in the order of labelling
        self.left_open: VisitedPage | None = None

    def arrive(self) -> VisitedPage:
        """Open the link or, after walking away from an open page, send that page."""
        if self.left_open is None:
            return super().arrive()
        page, self.left_open = self.left_open, None
        return self.send(page, self.fill_in(page))

    # --- an item ------------------------------------------------------------------------------------------

    def item(self, page: VisitedPage) -> VisitedPage:
        if self.leaves(len(self.given)) and not page.is_practice:
            return self.LEAVING[self.person.way](self, page)
        if self.rng.random() < HABIT_SHARE and not page.is_practice:
            own = page.form_to("undo") is not None  # not if the link proves nothing: earlier labels stay
            habit = self.rng.choice([name for name in self.HABITS if own or name not in ("undo", "change")])
            self.story.habits[habit] += 1
            return self.HABITS[habit](self, page)
        return self.send(page, self.fill_in(page))

    def item_on(self, page: VisitedPage) -> AnnotationItem:
        if page.number not in self.items:
            raise Stuck(f"{page.path} shows what is not among the study's items")
        return self.items[page.number]

    def fill_in(self, page: VisitedPage) -> dict[str, str]:
        """The form as a browser sends it: hidden fields and labels, without toggles that are off."""
        item, left = self.item_on(page), self.left_on(page)
        questions = KINDS[item.kind].questions
        fails = page.is_practice and self.person.way == "fail_training"
        labels = (draw_wrong_labels if fails else draw_labels)(item, questions, self.rater, left)
        asked = fields_of(questions, item.payload)
        hidden = {name: value for name, value in page.form.fields.items() if name not in asked}
        off = {name for name, question in asked.items() if question.toggle and labels[name] == question.values[0]}
        fields = hidden | {name: value for name, value in labels.items() if name not in off}
        fields["active_ms"] = str(self.rng.randrange(3_000, 60_000)) if self.person.scripts else ""
        fields["opened"] = "1" if item.payload.get("evidence") and self.rng.random() < 0.7 else ""
        self.story.sent.add((item.key, self.labels_in(page, fields)))
        return fields

    def left_on(self, page: VisitedPage) -> str:
        """The response on the left. People see it; here it is read from the page's seal."""
        return page.form.fields["page"].split(".")[2]

    def labels_in(self, page: VisitedPage, fields: Mapping[str, str]) -> str:
        item = self.item_on(page)
        asked = fields_of(KINDS[item.kind].questions, item.payload)
        labels = {name: value for name, value in fields.items() if name in asked and value}
        return write_labels(State.GIVEN, labels, self.left_on(page))

    def read_sent(self, page: VisitedPage, fields: Mapping[str, str]) -> Sent:
        """The labels that the server has just confirmed; notes that the item is labelled."""
        item = self.item_on(page)
        if item.purpose == Purpose.WORK:
            self.given[item.pk] = None
        return Sent(item.key, fields["key"], self.labels_in(page, fields))

    def was_taken(self, page: VisitedPage) -> bool:
        failed = page.name == "end" and self.person.way == "fail_training"  # by the answer just sent
        is_kept = "refused=1" not in page.path and not self.is_asked(page)
        return page.led_here and is_kept and (failed or page.name in AFTER_SAVING)

    def is_asked(self, page: VisitedPage) -> bool:
        """Whether another window has answered the item meanwhile, and the page asks which answer counts."""
        return page.name == "item" and "again=1" in page.path

    def settle(self, page: VisitedPage, fields: dict[str, str]) -> VisitedPage:
        if not self.is_asked(page):
            return page
        if self.rng.random() < 0.5:
            return self.browser.open(self.own_path(page, "work"))
        return self.send(page, self.fill_in(page))

    def feedback(self, page: VisitedPage) -> VisitedPage:
        return self.forward(page)

    # --- habits beside labelling --------------------------------------------------------------------------

    def skip(self, page: VisitedPage) -> VisitedPage:
        form, item = page.form_to("skip"), self.item_on(page)
        sent = Sent(item.key, form.fields["key"], write_labels(State.SKIPPED))
        self.story.sent.add((sent.slug, sent.text))
        following = self.browser.submit(page, form.fields | {"reason": self.rng.choice(list(SKIP_REASONS))}, form)
        if self.was_taken(following):
            self.given.pop(item.pk, None)
            self.story.confirm(sent)
        return following

    def undo(self, page: VisitedPage) -> VisitedPage:
        """Take back the last label; the next page shows its item."""
        form = page.form_to("undo")
        following = self.browser.submit(page, form.fields, form)
        if "undone=1" in following.path:
            item = self.item_on(following)
            self.given.pop(item.pk, None)
            sent = Sent(item.key, form.fields["key"], write_labels(State.WITHDRAWN))
            self.story.sent.add((sent.slug, sent.text))
            self.story.confirm(sent)
        elif self.given:
            self.story.troubles.append(f"Undo found nothing to take back after {len(self.given)} labels")
        return following

    def change(self, page: VisitedPage) -> VisitedPage:
        """Go to the list of one's own answers and change one."""
        self.browser.open(self.own_path(page, "labels"))
        if not self.given:
            return self.browser.open(page.path)
        earlier = self.browser.open(self.own_path(page, f"item/{self.rng.choice(list(self.given))}") + "?back=labels")
        return self.send(earlier, self.fill_in(earlier)) if earlier.name == "item" else earlier

    def read_guidelines(self, page: VisitedPage) -> VisitedPage:
        self.browser.open(self.own_path(page, "guidelines"))
        return self.browser.open(self.own_path(page, "work"))

    def labels(self, page: VisitedPage) -> VisitedPage:
        return self.browser.open(self.own_path(page, "work"))

    # --- ways out -----------------------------------------------------------------------------------------

    def lapse(self, page: VisitedPage) -> VisitedPage:
        self.left_open = page
        return super().lapse(page)

    def stop_paid(self, page: VisitedPage) -> VisitedPage:
        """Stop with enough labels to be paid in full."""
        self.tries += 1
        following = self.browser.open(self.own_path(page, "debrief"))
        if following.name != "debrief":
            self.story.troubles.append(f"{len(self.given)} labels are enough, and {following.path} came")
        return following

    HABITS = {"skip": skip, "undo": undo, "change": change, "guidelines": read_guidelines}
    STEPS = Player.STEPS | {"item": item, "feedback": feedback, "labels": labels}
    LEAVING = Player.LEAVING | {"late": lapse, "walk_away": lapse, "excluded": lapse, "stop_early": stop_paid}
