"""The console in a real browser: the monitor by itself, everything by keyboard, on a phone, in dark mode."""

import re

import pytest
from playwright.sync_api import Page, expect

from surveys.models import Participant, Study
from surveys.participation import recruitment
from surveys.studies.access import let_make_studies
from tests.browser.axe import faults_of
from tests.browser.console import faults_at
from tests.factories import make_account, make_participant, make_response, make_study
from tests.surveys.studies.files.sample_study import GOOD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
State, Step = Participant.State, Participant.Step
POLL = 5_000  # milliseconds from one update of the monitor to the next


def log_in(page: Page, name: str = "ada") -> None:
    page.goto("/console/login/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill("password")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/console/")


def make_collected() -> Study:
    """A live study with people at several points, and ada, its owner."""
    study = make_study(places=9)
    let_make_studies(make_account("ada", study, "owner"))
    person = make_participant(study, Step.DEBRIEF)
    make_response(person, "teas", "1. Only one <b>tea</b>\n" + "word " * 500, keep=True)
    recruitment.complete(person)
    make_participant(study)
    make_participant(study, State.RETURNED)
    make_participant(study, answers={"adult": "No", "milk": "Milk", "cups": "1"})
    recruitment.refuse_consent(study)
    return study


def pages_of(study: Study) -> list[str]:
    person = study.participants.filter(state="completed").get()
    paths = ["setup/", "setup/new-version/", "setup/versions/1/", "setup/state/pause/", "members/", "collect/"]
    paths += ["participants/", f"participants/{person.pseudonym}/", "flow/", "audit/?verify=1"]
    return ["/console/", "/console/new/", "/console/account/", *(f"/console/{study.slug}/{path}" for path in paths)]


def test_monitor_shows_new_people_without_a_reload(page: Page) -> None:
    page.clock.install()
    study = make_collected()
    log_in(page)
    page.goto("/console/teas/collect/")
    expect(page.get_by_role("heading", level=1)).to_have_text("1 of 36 places is filled, 1 participant is working now.")
    make_participant(study, State.COMPLETED, chatbot="gemini")
    page.clock.fast_forward(POLL)
    expect(page.get_by_role("heading", level=1)).to_contain_text("2 of 36 places are filled")
    expect(page.locator("[data-freshness]")).to_contain_text("Updated")


def test_monitor_stops_when_told_and_goes_on(page: Page) -> None:
    page.clock.install()
    make_collected()
    log_in(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/numbers/" in request.url else None)
    page.goto("/console/teas/collect/")
    page.get_by_role("button", name="Stop updating").click()
    page.clock.fast_forward(POLL)
    expect(page.locator("[data-freshness]")).to_contain_text("Updating is stopped")
    assert asked == []
    page.get_by_role("button", name="Go on updating").click()
    with page.expect_response(re.compile("/numbers/")) as answer:
        page.clock.fast_forward(POLL)
    assert answer.value.status == 200


def test_monitor_keeps_the_focus_and_says_when_the_network_is_gone(page: Page) -> None:
    page.clock.install()
    make_collected()
    log_in(page)
    page.goto("/console/teas/collect/")
    link = page.get_by_role("link", name="Gemini · With milk")
    link.focus()
    link.evaluate("link => { link.before = true; }")
    page.clock.fast_forward(POLL)
    expect(link).not_to_have_js_property("before", True)
    expect(link).to_be_focused()
    page.context.set_offline(True)
    page.clock.fast_forward(POLL)
    expect(page.locator("[data-freshness]")).to_contain_text("No connection")
    page.context.set_offline(False)
    page.clock.fast_forward(POLL)
    expect(page.locator("[data-freshness]")).to_contain_text("Updated")


@pytest.mark.core
def test_log_in_and_to_a_participant_by_keyboard_alone(page: Page) -> None:
    study = make_collected()
    page.goto("/console/login/?next=/console/teas/participants/%3Fstate%3Dcompleted")
    expect(page.get_by_label("Name")).to_be_focused()  # before that the first letters go nowhere
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.type("password")
    page.keyboard.press("Enter")
    person = study.participants.get(state="completed")
    link = page.get_by_role("link", name=person.pseudonym)
    expect(link).to_be_visible()
    tab_to(page, link)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("completed")


def tab_to(page: Page, target) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("the keyboard never came there")


def test_preview_opens_beside_the_console(page: Page) -> None:
    make_collected()
    log_in(page)
    page.goto("/console/teas/setup/")
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Preview as a participant").click()
    expect(opened.value.get_by_text("Preview", exact=False).first).to_be_visible()
    assert "/s/teas/" in opened.value.url


def test_study_from_a_file_with_faults_then_launched(page: Page) -> None:
    let_make_studies(make_account("ada"))
    log_in(page)
    page.get_by_role("link", name="New study").click()
    page.get_by_role("link", name="Make a study of a file as it is").click()
    page.get_by_label("or its text").fill(GOOD.replace("minutes = 10", "minutes = 0"))
    page.get_by_role("button", name="Make the study").click()
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.get_by_role("row").nth(1)).to_contain_text("minutes")
    page.get_by_label("or its text").fill(GOOD)
    page.get_by_role("button", name="Make the study").click()
    page.get_by_role("link", name="Launch", exact=True).click()
    page.get_by_role("button", name="Launch").click()
    expect(page.get_by_role("status")).to_contain_text("The study is live now.")


def test_link_for_prolific_is_copied(page: Page) -> None:
    make_collected()
    log_in(page)
    page.goto("/console/teas/setup/")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "{{%PROLIFIC_PID%}}" in page.evaluate("navigator.clipboard.readText()")


def test_pages_have_no_fault_and_fit_a_phone(page: Page) -> None:
    """320 pixels are also what a window of 1280 shows at 400 % zoom."""
    study = make_collected()
    page.goto("/console/login/")
    faults = faults_of(page)
    log_in(page)
    assert faults + faults_at(page, pages_of(study), (1280, 390, 320)) == []
    page.goto("/console/nope/setup/")  # a refusal, of which the browser says so
    assert faults_of(page) == []


def test_everything_works_without_javascript(plain: Page) -> None:
    make_collected()
    log_in(plain)
    plain.goto("/console/teas/collect/")
    plain.get_by_label("People", exact=True).select_option("all")
    plain.get_by_role("button", name="Show").click()
    expect(plain).to_have_url(re.compile(r"\?who=all"))
    plain.goto("/console/teas/participants/?state=active")
    plain.locator("a.name").click()
    plain.locator("summary", has_text="Mark as returned").click()
    plain.get_by_role("button", name="Mark as returned").click()
    expect(plain.get_by_role("status")).to_contain_text("has been marked as returned")
    plain.locator("details.study summary").click()
    plain.get_by_role("button", name="Log out").click()
    expect(plain.get_by_role("button", name="Log in")).to_be_visible()
