"""The annotator's page while somebody reads and goes back: the bar, the phone, Escape, and two windows."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from surveys.participation.steps import address
from tests.browser.test_annotate import TELESCOPE, answer, given, make_work, open_work, open_work_and_next, press
from tests.factories import make_annotation_study, make_annotator, make_items

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def share_of_window(page: Page) -> float:
    return page.evaluate("document.querySelector('.rate').getBoundingClientRect().height / innerHeight")


def read_to_the_ends(page: Page) -> None:
    for side in "AB":
        page.locator(f"[data-end={side}]").evaluate("line => line.scrollIntoView({ block: 'center' })")
        expect(page.locator(f"[data-end-of={side}].read")).to_be_attached()


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720), (390, 844)])
def test_two_answers_are_rated_in_a_bar_that_is_one_line_until_both_are_read(page: Page, size: tuple[int, int]) -> None:
    _, someone = make_work("preference", 2, generic=TELESCOPE, personalised=TELESCOPE)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_work(page, someone)
    assert share_of_window(page) < 0.1
    expect(page.locator(".rate .choice").first).to_be_hidden()
    if size[0] > 760:  # side by side they end together
        page.get_by_role("button", name="To the end of A").click()
    else:
        read_to_the_ends(page)
    expect(page.locator("fieldset.active .choice").last).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Save and continue")).to_be_in_viewport(ratio=1)
    assert share_of_window(page) <= 0.18
    page.evaluate("scrollTo(0, 0)")
    press(page, "2")
    expect(page.locator("a.chip").first).to_have_attribute("data-said", "A, a little")


def test_phone_shows_both_answers_below_each_other_and_clips_none(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    _, someone = make_work("preference", 2, generic=TELESCOPE, personalised="Short.")
    open_work(page, someone)
    a, b = page.locator(".answer.a"), page.locator(".answer.b")
    assert b.bounding_box()["y"] >= a.bounding_box()["y"] + a.bounding_box()["height"]
    for answer_box in (a, b):
        assert answer_box.evaluate("box => box.scrollHeight <= box.clientHeight + 1")
    page.get_by_role("link", name="to B").click()
    expect(b.locator("> h2")).to_be_in_viewport(ratio=1)


def test_keys_lead_to_what_is_unread(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    _, someone = make_work("preference", 1, generic=TELESCOPE, personalised=TELESCOPE)
    open_work(page, someone)
    press(page, "1")
    expect(page.locator("[data-end=A]")).to_be_in_viewport()
    expect(page.locator("[data-end-of=A]")).to_have_text(re.compile("read to its end"))
    page.keyboard.press("Enter")
    expect(page.locator("[data-end=B]")).to_be_in_viewport()
    assert page.locator("#step :checked").count() == 0


def test_press_where_the_bar_has_just_opened_chooses_nothing(page: Page) -> None:
    page.clock.install()
    page.set_viewport_size({"width": 390, "height": 844})
    _, someone = make_work("preference", 1, generic=TELESCOPE, personalised=TELESCOPE)
    page.clock.set_fixed_time("2026-01-01T12:00:00Z")
    open_work(page, someone)
    read_to_the_ends(page)
    bar = page.locator(".rate").bounding_box()
    places = [(share, height) for share in (0.1, 0.3, 0.5, 0.7, 0.9) for height in (0.5, 0.7, 0.9)]
    for share, height in places:
        page.mouse.click(bar["x"] + bar["width"] * share, bar["y"] + bar["height"] * height)
    assert page.locator("#step :checked").count() == 0
    page.clock.set_fixed_time("2026-01-01T12:00:01Z")
    page.mouse.click(bar["x"] + bar["width"] * 0.1, bar["y"] + bar["height"] * 0.7)
    assert page.locator("#step :checked").count() == 1


def test_what_was_seen_is_kept_with_the_label(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    _, someone = make_work("preference", 2, generic=TELESCOPE, personalised="Short.")
    open_work(page, someone)
    page.mouse.wheel(0, 300)
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Shift', bubbles: true }))")
    read_to_the_ends(page)
    answer(page, "preference")
    page.get_by_role("button", name="Yes, save it").click()  # read in a second, and asked about once
    expect(page.locator("header")).to_contain_text("1 of 2 done")
    expect(page.locator("header [data-saved]")).to_have_text("Saved")
    (label,) = given(someone)
    assert set(label.trace["ends"]) == {"A", "B"}
    assert label.trace["ends"]["A"] <= label.trace["ends"]["B"] <= label.active_ms
    assert label.trace["seen"]["A"] > 0
    assert (label.trace["untrusted"], label.trace["automated"], label.trace["hasty"]) == (1, True, "read")
    assert min(label.trace[name] for name in ("keys", "presses", "scrolls")) > 0
    read_to_the_ends(page)
    answer(page, "preference")
    page.wait_for_url("**/debrief/")


def test_who_was_quick_may_read_on_instead(page: Page) -> None:
    _, someone = make_work("preference", 1, generic=TELESCOPE, personalised=TELESCOPE)
    open_work(page, someone)
    read_to_the_ends(page)
    answer(page, "preference")
    page.get_by_role("button", name="No, I will read on").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert given(someone) == []
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/debrief/")
    assert given(someone)[0].trace["hasty"] == "again"


@pytest.mark.parametrize("kind", ["attribute", "relevance"])
def test_button_that_saves_is_in_view_on_a_phone(page: Page, kind: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    long = {"prompt": "Which tea is best? " * 60} if kind == "relevance" else {"attribute": "Drinks tea. " * 40}
    _, someone = make_work(kind, 1, **long)
    open_work(page, someone)
    expect(page.get_by_role("button", name="Save and continue")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Stop or withdraw").or_(page.get_by_role("link", name="Stop or withdraw")).click()
    page.wait_for_url("**/stop/")


def test_escape_closes_what_it_finds_open_and_leaves_the_field(page: Page) -> None:
    _, someone = make_work("attribute", 1)
    open_work(page, someone)
    press(page, "s")
    page.get_by_label("More, if you like").fill("1")
    page.keyboard.press("Escape")
    expect(page.get_by_text("Why do you skip it?")).to_be_hidden()
    press(page, "x")
    page.get_by_label("Why, if you would like to say").fill("It is private")
    page.keyboard.press("Escape")
    answer(page, "attribute")
    page.wait_for_url("**/debrief/")
    assert given(someone)[0].labels["quality"] == "maybe"


def test_statement_that_was_judged_shows_its_label_at_once(page: Page) -> None:
    study = make_annotation_study(kind="attribute", block="user", quota=4)
    make_items(study, 4)
    someone = make_annotator(study)
    open_work_and_next(page, someone)
    page.route("**/item/**", lambda route: None)
    press(page, "x")
    press(page, "2")
    page.keyboard.press("Enter")
    judged = page.locator("a.shut", has_text="Drinks tea number 0.")
    expect(judged).to_contain_text("Maybe · Remembering this would feel uncomfortable")
    assert not given(someone)
    page.unroute("**/item/**")


def test_older_window_asks_before_it_overwrites_and_loses_nothing(page: Page, context: BrowserContext) -> None:
    _, someone = make_work("attribute", 1)
    open_work(page, someone)
    other = context.new_page()
    other.goto(page.url)
    expect(other.locator("html.live")).to_be_attached()
    answer(page, "attribute")
    page.wait_for_url("**/debrief/")
    press(other, "3")
    other.keyboard.press("Enter")
    expect(other.locator(".notice")).to_contain_text("In another window you have answered this since: “Maybe”.")
    expect(other.locator("[name=quality][value=no]")).to_be_checked()
    assert [label.labels["quality"] for label in given(someone)] == ["maybe"]
    other.reload()
    expect(other.locator("[name=quality][value=no]")).to_be_checked()
    other.locator("body").press("Enter")
    other.wait_for_url("**/debrief/")
    assert [label.labels["quality"] for label in given(someone)] == ["maybe", "no"]
    other.goto(address(someone, "labels"))
    expect(other.locator(".given")).to_contain_text("Doesn't make sense")


def test_header_keeps_its_height_after_the_first_label(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    _, someone = make_work("relevance", 3)
    open_work_and_next(page, someone)
    before = page.locator("header").bounding_box()
    answer(page, "relevance")
    expect(page.locator("header [data-saved]")).to_have_text("Saved")
    expect(page.locator("header [data-undo]")).to_be_visible()
    assert page.locator("header").bounding_box() == before


def test_evidence_on_a_phone_leads_back_to_its_statement(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    talk = [{"title": "May", "turns": [{"role": "user", "text": f"{n}: " + "words " * 60} for n in range(12)]}]
    talk[0]["turns"][9]["text"] += " I keep bees."
    _, someone = make_work("attribute", 1, history=talk, evidence=["I keep bees."])
    open_work(page, someone)
    page.get_by_role("button", name="Show the evidence").click()
    expect(page.locator("mark.now")).to_be_in_viewport()
    page.get_by_role("link", name="Back to the statement").click()
    expect(page.locator(".card.open h1")).to_be_in_viewport(ratio=1)


def test_break_is_offered_after_a_while(page: Page) -> None:
    page.clock.install()
    _, someone = make_work("relevance", 3)
    open_work_and_next(page, someone)
    start = datetime(2026, 1, 1, 12, tzinfo=UTC)
    for step in range(80):
        page.clock.set_fixed_time(start + timedelta(seconds=20 * step))
        page.keyboard.press("Shift")
    expect(page.locator("[data-break]")).to_be_hidden()
    answer(page, "relevance")
    expect(page.locator("[data-break]")).to_be_visible()


def test_main_button_never_ends_the_work(page: Page) -> None:
    study = make_annotation_study(kind="relevance", quota=60, least=1)
    make_items(study, 3)
    someone = make_annotator(study)
    open_work_and_next(page, someone)
    answer(page, "relevance")
    expect(page.locator("header [data-saved]")).to_have_text("Saved")
    for name in ("stop", "debrief"):
        page.goto(address(someone, name))
        assert [text.split()[0] for text in page.locator(".button.primary").all_inner_texts()] == ["Go"]
