"""The annotator in a browser: by keyboard alone, on a phone, offline, without scripts; and how the page looks."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from surveys.annotation import items
from surveys.models import Annotation, Participant, Study
from surveys.participation.steps import address
from tests.browser.test_survey_look import OVERFLOW, SMALL, faults
from tests.factories import annotate, item_of, make_annotation_study, make_annotator, make_items

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KINDS = ("attribute", "relevance", "preference")
# The keys that answer an item of each kind, and what is stored then.
PRESSED = {"attribute": "2", "relevance": "1", "preference": "42"}
KEPT = {
    "attribute": {"quality": "maybe"},
    "relevance": {"relevance": "yes"},
    "preference": {"preference/milk": "4", "preference/budget": "2"},
}
TELESCOPE = """# Aperture first

A **130 mm** reflector shows Saturn's rings.

| Aperture | Price |
|---|---|
| 130 mm | 250 |

""" + "\n\n".join(f"{n}. Look at the sky, night {n}." for n in range(1, 40))


def make_work(kind: str, count: int = 4, **changes: object) -> tuple[Study, Participant]:
    study = make_annotation_study(kind=kind, quota=60)
    make_items(study, count, **changes)
    return study, make_annotator(study)


def open_work(page: Page, participant: Participant) -> None:
    page.goto(address(participant, "work"))
    expect(page.locator("html.live")).to_be_attached()


def open_work_and_next(page: Page, participant: Participant) -> None:
    """Open the work and wait until the next item has been fetched too."""
    with page.expect_response(lambda answer: "ahead=" in answer.url and answer.status in (200, 204)) as ahead:
        open_work(page, participant)
    ahead.value.finished()
    page.evaluate("() => new Promise((done) => setTimeout(done))")  # what waits for the answer goes first


def press(page: Page, keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def answer(page: Page, kind: str) -> None:
    press(page, PRESSED[kind])
    page.keyboard.press("Enter")


def given(participant: Participant) -> list[Annotation]:
    return list(Annotation.objects.filter(participant=participant).order_by("id"))


def item_on(page: Page) -> str:
    return page.locator("#step").get_attribute("data-item") or ""


@pytest.mark.core
@pytest.mark.parametrize("kind", KINDS)
def test_whole_work_by_keyboard_alone(page: Page, kind: str) -> None:
    _, someone = make_work(kind, 3)
    open_work(page, someone)
    for done in (1, 2):
        answer(page, kind)
        expect(page.locator("header")).to_contain_text(f"{done} of 3 done")
        expect(page.locator("header [data-saved]")).to_have_text("Saved")
    answer(page, kind)
    page.wait_for_url("**/debrief/")
    assert [label.labels.items() >= KEPT[kind].items() for label in given(someone)] == [True] * 3
    assert all(0 < label.active_ms < 60_000 for label in given(someone))


def test_switch_evidence_and_help_have_keys_of_their_own(page: Page) -> None:
    _, someone = make_work("attribute", 2, evidence=["I like tea", "said"])
    open_work(page, someone)
    press(page, "ee")
    expect(page.locator("mark.now")).to_have_text("said")
    expect(page.get_by_role("button", name="Evidence 2 of 2")).to_be_visible()
    press(page, "x")
    page.get_by_label("Why, if you would like to say").fill("It is private 1 2 3")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    press(page, "?")
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    press(page, "1")  # while help is open no key answers
    page.keyboard.press("Escape")
    press(page, "g")
    expect(page.get_by_text("Say yes when the response would change.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("[name=quality]:checked")).to_have_count(0)
    answer(page, "attribute")
    expect(page.locator("header")).to_contain_text("1 of 2 done")
    expect(page.locator("header [data-saved]")).to_have_text("Saved")
    (label,) = given(someone)
    assert label.opened == [1, 2]
    assert label.labels == {"quality": "maybe", "uncomfortable": "yes", "uncomfortable-why": "It is private 1 2 3"}


def test_enter_without_an_answer_says_what_is_missing(page: Page) -> None:
    _, someone = make_work("preference", 2)
    open_work(page, someone)
    press(page, "5")
    page.keyboard.press("Enter")
    expect(page.locator("header [data-saved]")).to_have_text("One answer is still missing.")
    expect(page.locator("fieldset.active")).to_contain_text("Is on a budget.")
    expect(page.locator("fieldset.active input").first).to_be_focused()
    assert given(someone) == []


def test_chip_goes_back_to_its_question(page: Page) -> None:
    _, someone = make_work("preference", 2)
    open_work(page, someone)
    press(page, "5")
    page.locator("a.chip", has_text="Drinks no milk.").click()
    expect(page.locator("fieldset.active")).to_contain_text("Drinks no milk.")
    press(page, "13")
    page.keyboard.press("Enter")
    expect(page.locator("header")).to_contain_text("1 of 2 done")
    expect(page.locator("header [data-saved]")).to_have_text("Saved")
    assert given(someone)[0].labels == {"preference/milk": "1", "preference/budget": "3"}


@pytest.mark.core
def test_undo_takes_back_the_last_answer_and_says_which(page: Page) -> None:
    _, someone = make_work("attribute", 3)
    open_work(page, someone)
    first = item_on(page)
    answer(page, "attribute")
    expect(page.locator("header [data-undo]")).to_contain_text("Undo “Maybe”")
    press(page, "u")
    expect(page.locator(".notice")).to_contain_text("Undone: “Maybe”.")
    assert item_on(page) == first
    expect(page.locator("[name=quality][value=maybe]")).to_be_checked()
    assert [label.state for label in given(someone)] == ["given", "withdrawn"]


def test_skip_has_a_reason_and_never_answers(page: Page) -> None:
    _, someone = make_work("relevance", 2)
    open_work(page, someone)
    before = item_on(page)
    press(page, "s2")
    page.keyboard.press("Enter")
    expect(page.locator("#step")).not_to_have_attribute("data-item", before)
    (label,) = given(someone)
    assert (label.state, label.reason, label.labels) == ("skipped", "unclear", {})


def test_next_item_stands_there_before_the_answer_is_sent(page: Page) -> None:
    """In the very step that submits the form: the network, held back until then, is not needed."""
    _, someone = make_work("relevance", 4)
    open_work_and_next(page, someone)
    page.route("**/item/**", lambda route: None)
    press(page, "1")
    before, after = page.evaluate(
        """() => { const shown = () => document.querySelector("#step").dataset.item, before = shown();
            document.querySelector("#step").requestSubmit();
            return [before, shown()]; }"""
    )
    assert before != after
    expect(page.locator("header [data-saved]")).to_have_text("Sending…")
    assert not given(someone)
    page.unroute("**/item/**")  # which lets go what is held
    expect(page.locator("header [data-saved]")).to_have_text("Saved")
    assert len(given(someone)) == 1


def test_answers_wait_for_the_network_and_are_kept_once(page: Page, context: BrowserContext) -> None:
    _, someone = make_work("relevance", 4)
    open_work_and_next(page, someone)
    context.set_offline(True)
    answer(page, "relevance")
    expect(page.locator("header [data-saved]")).to_have_text("1 answer is waiting to be sent")
    answer(page, "relevance")
    expect(page.locator("header [data-saved]")).to_have_text("2 answers are waiting to be sent")
    assert given(someone) == []
    context.set_offline(False)
    expect(page.locator("header")).to_contain_text("2 of 4 done")
    expect(page.locator("header [data-saved]")).to_have_text("Saved")
    assert [label.revision for label in given(someone)] == [1, 1]


def test_answers_of_a_page_that_was_closed_offline_are_sent_later(page: Page, context: BrowserContext) -> None:
    _, someone = make_work("relevance", 4)
    open_work(page, someone)
    context.set_offline(True)
    answer(page, "relevance")
    expect(page.locator("header [data-saved]")).to_have_text("1 answer is waiting to be sent")
    other = context.new_page()
    page.close(run_before_unload=False)
    context.set_offline(False)
    other.goto(address(someone, "work"))
    expect(other.locator("header")).to_contain_text("1 of 4 done")
    assert len(given(someone)) == 1


def test_answer_whose_confirmation_was_lost_is_one_label(page: Page) -> None:
    _, someone = make_work("relevance", 3)
    open_work(page, someone)
    tries = []

    def lose(route) -> None:
        if route.request.method == "POST" and not tries:
            tries.append(route.fetch().status)  # it arrives; its answer does not
            return route.abort()
        return route.continue_()

    page.route("**/item/**", lose)
    answer(page, "relevance")
    expect(page.locator("header [data-saved]")).to_have_text("Saved")
    assert tries == [200]
    assert len(given(someone)) == 1


def test_long_history_opens_at_its_evidence_and_leads_back_to_it(page: Page) -> None:
    """The history has nearly 50,000 characters."""
    talk = "words of a long talk " * 24
    turns = [{"role": ("user", "assistant")[n % 2], "text": f"Turn {n}: {talk}"} for n in range(98)]
    turns[90]["text"] += " I keep bees."
    history = [{"title": f"Talk {n}", "turns": turns[n * 7 : n * 7 + 7]} for n in range(14)]
    assert sum(len(turn["text"]) for turn in turns) > 49_000
    _, someone = make_work("attribute", 2, history=history, evidence=["I keep bees."])
    open_work(page, someone)
    expect(page.locator("mark.evidence")).to_be_in_viewport()
    page.evaluate("document.querySelector('#history').scrollTop = 0")
    expect(page.locator("mark.evidence")).not_to_be_in_viewport()
    press(page, "e")
    expect(page.locator("mark.now")).to_be_in_viewport()


@pytest.mark.parametrize("kind", KINDS)
def test_works_without_scripts(plain: Page, kind: str) -> None:
    _, someone = make_work(kind, 2)
    plain.goto(address(someone, "work"))
    for field, value in KEPT[kind].items():
        plain.locator(f'[name="{field}"][value="{value}"]').check()
    plain.locator("#step [type=submit]").first.click()
    expect(plain.locator("header")).to_contain_text("1 of 2 done")
    plain.get_by_role("button", name="Undo").click()
    expect(plain.locator(".notice")).to_contain_text("Undone:")
    plain.locator("summary").click()
    plain.get_by_label("Another reason").check()
    plain.get_by_role("button", name="Skip it").click()
    expect(plain.locator("header")).to_contain_text("0 of 1 done")
    assert [label.state for label in given(someone)] == ["given", "withdrawn", "skipped"]


def pages_of(kind: str) -> list[str]:
    study = make_annotation_study(kind=kind, quota=60, least=1)
    make_items(study, 5)
    someone = make_annotator(study)
    annotate(someone)
    found = [address(someone, name) for name in ("work", "labels", "guidelines", "stop", "debrief", "trouble")]
    return [*found, address(make_annotator(study, at="instructions"), "instructions")]


@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_and_a_thumb_finds_everything(page: Page, kind: str) -> None:
    found = []
    for url in pages_of(kind):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(url)
        found += faults(page)
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate(OVERFLOW) <= 0, (url, width)
        assert page.evaluate(SMALL) == [], url
        found += faults(page)
    assert found == []


def test_axe_finds_nothing_where_the_page_asks_back(page: Page) -> None:
    _, someone = make_work("attribute", 2)
    open_work(page, someone)
    page.keyboard.press("Enter")
    press(page, "s")
    expect(page.get_by_text("Why do you skip it?")).to_be_visible()
    found = faults(page)
    press(page, "?")
    assert found + faults(page) == []


def test_feedback_of_training_goes_on_by_keyboard(page: Page) -> None:
    practice = item_of(9, "relevance", purpose="training", gold={"relevance": "yes"}, explanation="It matters.")
    study, someone = make_work("relevance", 1)
    items.push_items(study, [practice], "tests")
    open_work(page, someone)
    answer(page, "relevance")
    expect(page.get_by_text("That is how we see it too")).to_be_visible()
    expect(page.get_by_role("button", name="Go on")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("header")).to_contain_text("0 of 1 done")
