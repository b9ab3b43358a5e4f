"""Reviewing answers in a real browser: by keyboard alone, with undo, on a phone, readable by everybody."""

import pytest
from playwright.sync_api import Page, expect

from analysis.answers import readings
from analysis.answers.aliases import alias_map
from analysis.models import Answer
from surveys.models import Study
from tests.browser.console import faults_at, heading, log_in
from tests.factories import make_participant, make_response, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LIST = "1. Assam\n2. Sencha\n3. Earl Grey\n4. Oolong\n5. Rooibos"
HERE = "/console/teas/answers/"


@pytest.fixture
def study(site: str) -> Study:
    study = make_study(places=10)
    for prompt, text in (
        ("water", "Either A or B."),
        ("teas", "1. Assam\n2. Sencha"),
        ("teas", LIST),
        ("teas", LIST.replace("Earl Grey", "Earl-Grey")),
    ):
        make_response(make_participant(study), prompt, text=text, keep=True)
    readings.read_new(study)
    return study


def test_the_queue_by_keyboard_alone(page: Page, study: Study) -> None:
    log_in(page, study, "researcher")
    page.goto(f"{HERE}review/")
    heading(page, "In doubt: unknown")
    page.keyboard.press("j")
    heading(page, "In doubt: Assam, Sencha")
    page.keyboard.press("e")
    page.keyboard.type("Second Flush Assam")
    page.keyboard.press("Enter")
    heading(page, "In doubt: unknown")
    expect(page.get_by_text("Decided: Second Flush Assam, Sencha.")).to_be_visible()
    page.keyboard.press("b")
    expect(page.get_by_role("radio").nth(1)).to_be_checked()
    page.keyboard.press("y")
    heading(page, "Nothing is awaiting review.")
    page.keyboard.press("z")
    expect(page.get_by_text("Undone: “B”.")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("Decided: unknown.")).to_be_visible()
    assert list(Answer.objects.filter(decided=True).order_by("pk").values_list("letter", "items")) == [
        ("", []),
        ("", ["second flush assam", "sencha"]),
    ]


def test_spellings_are_joined_split_and_undone(page: Page, study: Study) -> None:
    log_in(page, study, "researcher")
    page.goto(f"{HERE}spellings/")
    page.keyboard.press("y")
    expect(page.get_by_text("Merged: earl-grey → earl grey")).to_be_visible()
    page.get_by_label("earl-grey").check()
    page.get_by_role("button", name="Split off").click()
    expect(page.get_by_text("Split again: earl-grey")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_text("Decision 2 is undone")).to_be_visible()
    assert alias_map(study) == {"teas": {"earl-grey": "earl grey"}}


def test_pages_are_readable_by_everybody(page: Page, study: Study) -> None:
    log_in(page, study, "researcher")
    paths = ("", "review/", "spellings/", "spellings/?q=grey", f"{Answer.objects.first().pk}/")
    assert faults_at(page, [f"{HERE}{path}" for path in paths]) == []


def test_the_queue_works_without_scripts(plain: Page, study: Study) -> None:
    log_in(plain, study, "researcher")
    plain.goto(f"{HERE}review/")
    plain.get_by_role("radio").first.check()
    plain.get_by_role("button", name="This is what it says").click()
    heading(plain, "In doubt: Assam, Sencha")
    assert Answer.objects.filter(letter="A", decided=True).exists()
