"""What the paste page records of how an answer came: pasted or typed, time away, hands, and signs of an agent."""

import pytest
from playwright.sync_api import Page, expect

from surveys.models import Flag
from tests.browser.survey import ANSWERS, forward, make_demo, newest, open_prompt, paste
from tests.factories import make_participant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_evidence_tells_pasted_from_typed(page: Page, person) -> None:
    text = ANSWERS[person.order[0]]
    page.get_by_role("button", name="Only copy").click()
    paste(page, text, html="<ol><li>One</li></ol>")
    page.keyboard.type(" and more")
    page.keyboard.press("Backspace")
    forward(page)
    stored = newest(person)
    notes = stored.evidence
    assert stored.text == text + " and mor"
    assert notes["observed"] and notes["edited_after"]
    assert (notes["pasted"], notes["typed"], notes["removed"]) == (len(text), 9, 1)
    assert notes["length"] == len(text) + 8
    assert [paste["plain"] for paste in notes["pastes"]] == [len(text)]
    assert notes["pastes"][0]["html"] >= len("<ol><li>One</li></ol>")
    assert notes["copied_at"] <= notes["pastes"][0]["at"] <= notes["sent_at"]
    assert "<li>One</li>" in stored.html


def test_typed_answer_is_told_as_typed(page: Page, person) -> None:
    page.locator("#text").press_sequentially("1. a\n2. b\n3. c\n4. d\n5. e")
    forward(page)
    notes = newest(person).evidence
    assert notes["pastes"] == [] and notes["share_pasted"] == 0 and notes["typed"] == 24
    assert not notes["edited_after"]


def test_time_away_from_the_page_is_counted(page: Page, person) -> None:
    leave = """hidden => { Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange")) }"""
    page.evaluate(leave, True)
    page.wait_for_timeout(400)
    page.evaluate(leave, False)
    paste(page, ANSWERS[person.order[0]])
    forward(page)
    assert 350 <= newest(person).evidence["away_ms"] < 5000


WAYS = ["keys", "mouse", "button", "typed", "dropped", "field filled by another program"]


@pytest.mark.parametrize("way", WAYS)
def test_way_in_which_people_work_is_no_sign_of_an_agent(page: Page, way: str) -> None:
    """Acted by a script that hides itself, so that only what a browser reports of people working this way remains."""
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false })")
    page.set_extra_http_headers(
        {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"}
    )
    participant = make_participant(make_demo())
    slug = open_prompt(page, participant)
    text = ANSWERS[slug]
    if way in ("keys", "mouse"):
        page.locator("#text").click() if way == "mouse" else page.locator("#text").focus()
        paste(page, text)
    elif way == "button":
        page.context.route("https://chatgpt.com/**", lambda route: route.fulfill(body="Chatbot"))
        page.get_by_role("button", name="Copy and open ChatGPT").click()
        page.bring_to_front()
        page.evaluate("text => navigator.clipboard.writeText(text)", text)
        page.get_by_role("button", name="Paste the answer").click()
    elif way == "typed":
        page.locator("#text").press_sequentially(text)
    elif way == "dropped":
        page.locator("#text").evaluate(
            """(box, text) => { box.value = text;
            box.dispatchEvent(new InputEvent("input", { inputType: "insertFromDrop", bubbles: true })) }""",
            text,
        )
    else:
        page.locator("#text").fill(text)
    expect(page.locator("span[data-saved]")).to_contain_text("Saved")
    forward(page)
    evidence = newest(participant).evidence
    assert evidence["automated"] is False and "agent" not in evidence
    assert not Flag.objects.filter(check_name="agent").exists()


def test_driven_browser_says_so_and_goes_on(page: Page, person) -> None:
    paste(page, ANSWERS[person.order[0]])
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'a' }))")
    page.locator("#text").press("End")
    page.wait_for_timeout(500)
    forward(page)
    evidence = newest(person).evidence
    assert evidence["automated"] is True and evidence["hands"]["untrusted"] == 1 and evidence["hands"]["keys"] > 2
    assert Flag.objects.get(check_name="agent").outcome == "kept" and newest(person).accepted
