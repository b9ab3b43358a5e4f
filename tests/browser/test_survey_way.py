"""The participant's whole way in a browser: by mouse, by keyboard, without scripts, and to the other ends."""

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from surveys.models import Draft, Participant, Place, Response
from surveys.participation.steps import address
from tests.browser.survey import (
    ANSWERS,
    answer_prompts,
    begin,
    entry,
    fill_context,
    forward,
    make_demo,
    open_prompt,
    paste,
    stand_in_for_prolific,
)
from tests.factories import answer_all, make_participant, make_response

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def accepted(participant: Participant) -> dict[str, str]:
    rows = Response.objects.filter(participant=participant, accepted=True).select_related("prompt")
    return {row.prompt.slug: row.text for row in rows.order_by("revision")}


@pytest.mark.core
def test_happy_path_by_pasting_ends_at_prolific_with_the_code(page: Page, context: BrowserContext) -> None:
    asked = stand_in_for_prolific(context)
    participant = begin(page, make_demo())
    answer_prompts(page, participant)
    page.get_by_label("Is there anything you would like to tell us?").fill("All went well.")
    forward(page)
    expect(page.locator(".code code")).to_have_text("DEMODONE1")
    participant.refresh_from_db()
    assert participant.state == "completed" and participant.comments == "All went well."
    assert accepted(participant) == ANSWERS
    page.wait_for_url("https://app.prolific.com/**")
    assert asked == ["https://app.prolific.com/submissions/complete?cc=DEMODONE1"]


@pytest.mark.parametrize("way", ["button", "escape"])
def test_countdown_at_the_end_can_be_stopped(page: Page, context: BrowserContext, way: str) -> None:
    asked = stand_in_for_prolific(context)
    page.clock.install()
    page.goto(address(make_participant(make_demo(), at="completed"), "end"))
    expect(page.locator("[data-countdown]")).to_have_text("We'll take you to Prolific in 10 seconds.")
    page.clock.run_for(2000)
    expect(page.locator("[data-countdown]")).to_have_text("We'll take you to Prolific in 8 seconds.")
    if way == "button":
        page.get_by_role("button", name="Stay here").click()
    else:
        page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Go back to Prolific")).to_be_focused()
    page.clock.run_for(30_000)
    expect(page.locator("[data-countdown]")).to_contain_text("You stay here.")
    assert asked == []


def test_keyboard_alone_leads_to_the_code(page: Page, context: BrowserContext) -> None:
    stand_in_for_prolific(context)

    def press_on(name: str, key: str = "Enter") -> None:
        """Press Tab until the element with this accessible name has the focus, then press the key."""
        for _ in range(60):
            page.keyboard.press("Tab")
            focused = page.locator(":focus")
            if focused.count() and name in (focused.text_content() or focused.get_attribute("aria-label") or ""):
                return page.keyboard.press(key)
        raise AssertionError(f"Tab never reaches {name!r}")

    def choose(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.name") == name:
                return page.keyboard.press("Space")
        raise AssertionError(f"Tab never reaches {name!r}")

    page.goto(entry(make_demo()))
    press_on("I agree and take part")
    page.wait_for_url("**/questions/")
    choose("chatbot")
    choose("q-use")
    press_on("Save and continue")
    page.wait_for_url("**/instructions/")
    press_on("I am ready")
    page.wait_for_url("**/prompt/1/")
    participant = Participant.objects.get()
    for number, slug in enumerate(participant.order, 1):
        page.wait_for_url(f"**/prompt/{number}/")
        page.evaluate("text => navigator.clipboard.writeText(text)", ANSWERS[slug])
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "text":
                break
        page.keyboard.press("Control+V")
        expect(page.locator(".read.clean")).to_be_visible()
        press_on("Save and continue")
        if number == 1:
            page.wait_for_url("**/chatbot/")
            for name in ("memory", "personalisation", "plan"):
                choose(name)
            press_on("Save and continue")
    page.wait_for_url("**/debrief/")
    press_on("Finish")
    page.wait_for_url("**/end/")
    assert accepted(participant) == ANSWERS
    expect(page.locator(".code code")).to_have_text("DEMODONE1")


def test_whole_way_without_scripts(plain: Page) -> None:
    plain.goto(entry(make_demo()))
    plain.get_by_role("button", name="I agree and take part").click()
    plain.get_by_role("button", name="Save and continue").click()
    expect(plain.locator(".errors")).to_contain_text("2 answers are missing or not clear")
    plain.get_by_label("Gemini").check()
    plain.get_by_label("Less often than that").check()
    plain.get_by_role("button", name="Save and continue").click()
    plain.get_by_role("button", name="I am ready").click()
    participant = Participant.objects.get()
    for number, slug in enumerate(participant.order, 1):
        plain.wait_for_url(f"**/prompt/{number}/")
        plain.get_by_label("Paste the whole answer here").fill("")
        plain.get_by_role("button", name="Save and continue").click()
        expect(plain.locator(".gate")).to_contain_text("The box is empty")
        plain.get_by_label("Paste the whole answer here").fill(ANSWERS[slug])
        plain.get_by_role("button", name="Save and continue").click()
        if number == 1:
            fill_context(plain)
            plain.get_by_role("button", name="Save and continue").click()
    plain.get_by_role("button", name="Finish").click()
    expect(plain.locator(".code code")).to_have_text("DEMODONE1")
    assert accepted(participant) == ANSWERS
    evidence = Response.objects.filter(participant=participant).values_list("evidence", flat=True)
    assert all(notes == {"observed": False, "agent": "HeadlessChrome"} for notes in evidence)


def test_another_device_goes_on_with_the_half_written_answer(page: Page, browser: Browser, site: str) -> None:
    study = make_demo()
    begin(page, study)
    participant = Participant.objects.get()
    page.locator("#text").press_sequentially("1. Half an ans")
    expect(page.locator("span[data-saved]")).to_contain_text("Saved")
    session = participant.sessions.get()
    phone = browser.new_context(base_url=site, viewport={"width": 390, "height": 844}, has_touch=True)
    second = phone.new_page()
    ids = f"PROLIFIC_PID={participant.pid}&STUDY_ID={session.prolific_study_id}"
    second.goto(f"/s/demo/?{ids}&SESSION_ID={session.session_id}")
    expect(second.locator("#text")).to_have_value("1. Half an ans")
    assert second.url.endswith("/prompt/1/")
    phone.close()


def test_full_study_says_so_with_its_code(page: Page, context: BrowserContext) -> None:
    stand_in_for_prolific(context)
    study = make_demo()
    for _ in range(Place.objects.filter(cell__slug="daily").count()):
        make_participant(study, chatbot="several", cell="daily")
    page.goto(entry(study))
    page.get_by_role("button", name="I agree and take part").click()
    page.wait_for_url("**/questions/")
    page.get_by_label("Both of them").check()
    page.get_by_label("Every day or nearly so").check()
    forward(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("All places for your group are taken")
    expect(page.locator(".code code")).to_have_text("DEMOFULL4")


def test_withdrawing_erases_and_the_way_back_explains_it(page: Page) -> None:
    participant = make_participant(make_demo())
    make_response(participant, 0)
    open_prompt(page, participant, 2)
    here = page.url
    paste(page, ANSWERS[participant.order[1]])
    expect(page.locator("span[data-saved]")).to_contain_text("Saved")
    page.get_by_role("link", name="Stop or withdraw").click()
    expect(page.locator(".button").first).to_have_text("Go back to the study")
    page.get_by_role("link", name="Erase what I have given you").click()
    page.get_by_role("button", name="Erase everything").click()
    assert Participant.objects.exists()  # not before the tick
    page.get_by_label("Yes, erase everything for good").check()
    page.get_by_role("button", name="Erase everything").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Everything you gave us is erased")
    assert not Participant.objects.exists() and not Response.objects.exists() and not Draft.objects.exists()
    page.goto(here)
    expect(page.get_by_role("heading", level=1)).to_have_text("Everything you gave us is erased")


def test_saying_no_keeps_nothing(page: Page, context: BrowserContext) -> None:
    stand_in_for_prolific(context)
    page.goto(entry(make_demo()))
    page.get_by_role("button", name="I don't agree").click()
    expect(page.locator(".code code")).to_have_text("DEMONOCO2")
    assert not Participant.objects.exists()


def test_back_and_reload_never_end_the_way(page: Page) -> None:
    participant = begin(page, make_demo())
    paste(page, ANSWERS[participant.order[0]])
    forward(page)
    fill_context(page)
    forward(page)
    page.reload()
    expect(page.locator(".where")).to_contain_text("Prompt 2 of 4")
    page.go_back()
    page.go_back()
    expect(page.locator("#text")).to_have_value(ANSWERS[participant.order[0]])
    page.go_back()
    page.go_back()
    page.goto(address(participant, "questions"))
    expect(page.locator(".where")).to_contain_text("Prompt 2 of 4")
    page.get_by_role("link", name="Back").click()
    expect(page.locator("#text")).to_have_value(ANSWERS[participant.order[0]])
    forward(page)
    expect(page.locator(".where")).to_contain_text("Prompt 2 of 4")
    assert accepted(participant) == {participant.order[0]: ANSWERS[participant.order[0]]}
    newest = Response.objects.filter(participant=participant).latest("revision")
    assert newest.evidence["share_pasted"] == 1


def test_error_summary_takes_the_focus_and_leads_to_the_fields(page: Page) -> None:
    page.goto(address(make_participant(make_demo(), at="questions"), "questions"))
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator(".errors")).to_be_focused()
    page.get_by_role("link", name="How often do you use a chatbot?").click()
    expect(page.locator("#id_q-use")).to_be_focused()
    assert page.title().startswith("Error: ")


def test_double_click_on_finish_ends_once(page: Page, context: BrowserContext) -> None:
    stand_in_for_prolific(context)
    participant = make_participant(make_demo())
    answer_all(participant)
    page.goto(address(participant, "debrief"))
    page.get_by_role("button", name="Finish").dblclick()
    page.wait_for_url("**/end/")
    expect(page.locator(".code code")).to_have_text("DEMODONE1")
