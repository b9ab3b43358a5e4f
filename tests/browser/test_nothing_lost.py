"""Nothing anybody wrote is lost: autosave, the copy in the browser, dead networks, two tabs."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from surveys.models import Draft, Response
from surveys.participation.pasting.capture import save_draft
from surveys.participation.steps import address
from tests.browser.survey import ANSWERS, forward, make_demo, open_prompt, paste
from tests.factories import make_participant, make_study
from tests.surveys.participation.test_question_pages import make_long

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SAVED = "span[data-saved]"
SAVED_NOW = re.compile(r"Saved \d+ seconds? ago")


@pytest.fixture
def person():
    return make_participant(make_demo())


def close_without_network(page: Page) -> None:
    """Close the page with `fetch` failing: it saves once more, and Chromium may have lifted `set_offline` by then."""
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('no connection')); }")
    page.close(run_before_unload=False)


def test_saved_is_said_only_after_the_server_has_it(page: Page, person) -> None:
    open_prompt(page, person)
    said: list[str] = []
    page.route("**/draft/", lambda route: (said.append(page.locator(SAVED).inner_text()), route.continue_()))
    page.locator("#text").fill("abc")
    expect(page.locator(SAVED)).to_have_text(SAVED_NOW)
    assert said == ["Not saved yet"]
    assert Draft.objects.get().data["text"] == "abc"
    expect(page.locator(SAVED)).to_have_text(re.compile(r"Saved \d\d? seconds ago"))


def test_every_field_of_a_form_is_saved_and_comes_back(page: Page) -> None:
    participant = make_participant(make_demo(), at="context")
    page.goto(address(participant, "context"))
    page.get_by_label("Paid").check()
    page.locator("[name=memory][value=off]").check()
    page.get_by_label("Which model does the chat show?").fill("GPT-4o")
    expect(page.locator(SAVED)).to_have_text(SAVED_NOW)
    page.reload()
    expect(page.get_by_label("Paid")).to_be_checked()
    expect(page.locator("[name=memory][value=off]")).to_be_checked()
    expect(page.get_by_label("Which model does the chat show?")).to_have_value("GPT-4o")
    expect(page.locator(".notice")).to_have_count(0)


def test_closed_browser_without_network_gives_the_text_back(page: Page, context, person) -> None:
    open_prompt(page, person)
    context.set_offline(True)
    page.locator("#text").press_sequentially("never sent")
    expect(page.locator(SAVED)).to_contain_text("no connection")
    close_without_network(page)
    context.set_offline(False)
    again = context.new_page()
    open_prompt(again, person)
    expect(again.locator("#text")).to_have_value("never sent")
    expect(again.locator(".notice")).to_contain_text("We put it back.")
    expect(again.locator(SAVED)).to_contain_text("Saved")
    assert Draft.objects.get().data["text"] == "never sent"
    assert again.evaluate("localStorage.length") == 0


def test_copy_that_a_newer_draft_has_overtaken_is_only_offered(page: Page, context, person) -> None:
    slug = open_prompt(page, person)
    context.set_offline(True)
    page.locator("#text").press_sequentially("written without network")
    expect(page.locator(SAVED)).to_contain_text("no connection")
    close_without_network(page)
    for number in range(3):
        assert save_draft(person, f"prompt:{slug}", {"text": "from the phone"}, number) == number + 1
    context.set_offline(False)
    again = context.new_page()
    open_prompt(again, person)
    expect(again.locator("#text")).to_have_value("from the phone")
    again.get_by_role("button", name="Put the older text back").click()
    expect(again.locator("#text")).to_have_value("written without network")


def test_autosave_goes_on_when_the_network_is_back(page: Page, context: BrowserContext, person) -> None:
    open_prompt(page, person)
    context.set_offline(True)
    page.locator("#text").press_sequentially("over the gap")
    expect(page.locator(SAVED)).to_have_class("saved late")
    assert not Draft.objects.exists()
    context.set_offline(False)
    expect(page.locator(SAVED)).to_contain_text("Saved")
    assert Draft.objects.get().data["text"] == "over the gap"


@pytest.mark.core
def test_answer_sent_into_a_dead_network_arrives_once(page: Page, context: BrowserContext, person) -> None:
    slug = open_prompt(page, person)
    paste(page, ANSWERS[slug])
    expect(page.locator(".read.clean")).to_be_visible()
    context.set_offline(True)
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator(SAVED)).to_contain_text("No connection.")
    context.set_offline(False)
    page.wait_for_url("**/prompt/2/")
    assert Response.objects.get(participant=person).text == ANSWERS[slug]


def test_answer_whose_confirmation_was_lost_is_stored_once(page: Page, person) -> None:
    slug = open_prompt(page, person)
    paste(page, ANSWERS[slug])
    expect(page.locator(".read.clean")).to_be_visible()
    lost = []

    def lose_the_first(route) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch().status)  # the server has stored it, the browser never hears so
            route.abort()
        else:
            route.continue_()

    page.route("**/prompt/1/", lose_the_first)
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/prompt/2/")
    assert lost == [200]
    assert Response.objects.filter(participant=person).count() == 1


def test_busy_server_is_asked_again(page: Page, person) -> None:
    slug = open_prompt(page, person)
    paste(page, ANSWERS[slug])
    answers = [503, 429]

    def refuse_twice(route) -> None:
        if route.request.method == "POST" and answers:
            route.fulfill(status=answers.pop(), body="busy")
        else:
            route.continue_()

    page.route("**/prompt/1/", refuse_twice)
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/prompt/2/")
    assert answers == [] and Response.objects.filter(participant=person).count() == 1


def test_other_forms_wait_for_the_network_too(page: Page, context: BrowserContext) -> None:
    participant = make_participant(make_demo(), at="questions")
    page.goto(address(participant, "questions"))
    page.get_by_label("ChatGPT").check()
    page.get_by_label("Every day or nearly so").check()
    context.set_offline(True)
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator(SAVED)).to_contain_text("No connection.")
    context.set_offline(False)
    page.wait_for_url("**/instructions/")


def test_questions_on_several_pages_survive_reload_back_double_click_and_a_dead_network(page: Page, context) -> None:
    study = make_study(definition=make_long(7, 2))
    participant = make_participant(study, at="questions")

    def fill() -> None:
        for name in page.evaluate("[...new Set([...document.forms.step.elements].map(e => e.name))].filter(Boolean)"):
            field = page.locator(f"[name={name}]").first
            field.fill("3") if "more" in name else field.check()

    page.goto(address(participant, "questions"))
    page.get_by_label("Gemini").check()
    expect(page.locator(SAVED)).to_have_text(SAVED_NOW)
    page.reload()
    expect(page.get_by_label("Gemini")).to_be_checked()
    fill()
    page.get_by_role("button", name="Save and continue").dblclick()
    page.wait_for_url("**/questions/2/")
    page.reload()
    page.go_back()
    expect(page.get_by_label("ChatGPT")).to_be_checked()
    page.get_by_label("Gemini").check()
    forward(page)
    page.wait_for_url("**/questions/2/")
    fill()
    context.set_offline(True)
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator(SAVED)).to_contain_text("No connection.")
    context.set_offline(False)
    page.wait_for_url("**/background/")
    page.go_back()  # decided: nothing there can be changed any more
    page.wait_for_url("**/background/")
    fill()
    forward(page)
    page.wait_for_url("**/instructions/")
    participant.refresh_from_db()
    assert (participant.state, participant.cell.chatbot, len(participant.answers)) == ("active", "gemini", 9)


def test_changing_the_language_loses_nothing_and_keeps_what_was_asked(page: Page, person) -> None:
    slug = open_prompt(page, person)
    asked = page.locator(".prompt").inner_text()
    page.locator("#text").press_sequentially("halfway")
    page.get_by_role("link", name="Deutsch").click()  # before it is saved
    expect(page.get_by_role("button", name="Speichern und weiter")).to_be_visible()
    expect(page.locator("#text")).to_have_value("halfway")
    expect(page.locator(".prompt")).to_have_text(asked)
    assert "lang=" not in page.url
    paste(page, ANSWERS[slug])
    expect(page.locator(".read.clean")).to_be_visible()
    forward(page)
    expect(page.locator(".prompt")).to_have_attribute("lang", "de")
    paste(page, ANSWERS[person.order[1]])
    expect(page.locator(".read.clean")).to_be_visible()
    forward(page)
    assert [row.language for row in Response.objects.filter(participant=person, accepted=True)] == ["en", "de"]


def test_two_tabs_lose_nothing_and_the_older_says_so(page: Page, context: BrowserContext, person) -> None:
    slug = open_prompt(page, person)
    newer = context.new_page()
    open_prompt(newer, person)
    newer.locator("#text").press_sequentially("in the newer tab")
    expect(newer.locator(SAVED)).to_contain_text("Saved")
    page.locator("#text").press_sequentially("in the older tab")
    expect(page.locator(SAVED)).to_contain_text("A newer page saved this answer.")
    expect(page.locator("#text")).to_have_value("in the older tab")
    assert Draft.objects.get().data["text"] == "in the newer tab"
    paste(newer, ANSWERS[slug])
    expect(newer.locator(".read.clean")).to_be_visible()
    forward(newer)
    paste(page, "Sure:\n" + ANSWERS[slug])
    forward(page)
    expect(page.locator(".notice")).to_contain_text("You had also answered the last prompt")
    texts = Response.objects.filter(participant=person).order_by("revision").values_list("text", flat=True)
    assert list(texts) == [ANSWERS[slug], "Sure:\n" + ANSWERS[slug]]


def test_page_of_somebody_who_finished_elsewhere_goes_to_the_end(page: Page, context, person) -> None:
    open_prompt(page, person)
    other = context.new_page()
    other.goto(address(person, "stop"))
    other.get_by_role("button", name="Stop here").click()
    other.wait_for_url("**/end/")
    page.locator("#text").press_sequentially("too late")
    page.wait_for_url("**/end/")
    expect(page.get_by_role("heading", level=1)).to_have_text("You have stopped")


@pytest.mark.parametrize(("connection", "asks"), [("kept", False), ("lost", True), ("back", False)])
def test_leaving_asks_only_when_something_would_be_lost(
    page: Page, context, person, connection: str, asks: bool
) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    open_prompt(page, person)
    context.set_offline(connection != "kept")
    page.locator("#text").press_sequentially("words")
    expect(page.locator(SAVED)).to_contain_text("Saved" if connection == "kept" else "no connection")
    if connection == "back":  # what could not be saved is saved at once
        context.set_offline(False)
        expect(page.locator(SAVED)).to_contain_text("Saved")
    page.goto("about:blank")
    assert asked == ["beforeunload"] * asks
    context.set_offline(False)
