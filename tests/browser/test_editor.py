"""The study editor in a browser: from a template to a study by keyboard, without scripts, on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from surveys.models import Study, WorkingCopy
from surveys.studies.access import let_make_studies
from tests.browser.axe import faults_of
from tests.browser.test_console import log_in
from tests.factories import make_account

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def begin(page: Page) -> None:
    """Go from the empty console to a working copy in two clicks."""
    let_make_studies(make_account("ada"))
    log_in(page)
    page.get_by_role("link", name="New study").click()
    page.get_by_role("button", name=re.compile("How chatbots answer you")).click()
    page.wait_for_url(re.compile(r"/console/new/\d+/$"))


def test_money_faults_and_preview_follow_what_is_typed(page: Page) -> None:
    begin(page)
    expect(page.frame_locator("iframe").get_by_role("button", name="I agree and take part")).to_be_visible()
    page.get_by_label("Minutes", exact=True).fill("50")
    expect(page.locator("#money")).to_contain_text("$6.00 an hour")
    expect(page.locator("#standing")).to_contain_text("pay.amount makes 6.00 USD an hour at 50 minutes")
    amount, create = page.get_by_label("Amount", exact=True), page.get_by_role("button", name="Create the study")
    expect(page.locator(".sections [aria-current]")).to_contain_text("1 to fix")
    expect(amount).to_have_accessible_description(re.compile("6.00 USD an hour at 50 minutes"))
    expect(create).to_be_disabled()
    page.context.set_offline(True)
    page.get_by_label("Minutes", exact=True).fill("25")
    page.wait_for_timeout(1_000)
    page.context.set_offline(False)
    expect(create).to_be_enabled()
    page.get_by_label("Minutes", exact=True).fill("50")
    expect(create).to_be_disabled()
    assert WorkingCopy.objects.get().revision == 1
    page.get_by_label("Minutes", exact=True).press("Enter")
    expect(page.locator(".sections [aria-current]")).to_contain_text("1 to fix")
    page.get_by_role("link", name="Questions & cells").click()
    page.get_by_role("link", name="pay.amount").click()
    expect(amount).to_be_in_viewport()
    amount.fill("10.00")
    expect(page.locator("#standing")).to_contain_text("Nothing is left to fix.")
    expect(page.locator(".sections")).not_to_contain_text("to fix")
    expect(page.locator(".err")).to_have_count(0)
    create.dblclick()
    page.wait_for_url("**/console/field-13/setup/")
    assert WorkingCopy.objects.get().text.count("amount = 10.00") == Study.objects.count() == 1
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_role("link", name="Questions & cells").click()
    page.get_by_label("Places", exact=True).first.fill("120")
    page.keyboard.press("Enter")
    expect(page.locator(".amend")).to_contain_text("cells.black-women.places 100 → 120")
    for name in ("About & pay", "Questions & cells", "Checks", "TOML"):
        page.get_by_role("link", name=name).click()
        page.emulate_media(color_scheme="light")
        assert faults_of(page) == []


def test_all_of_it_works_without_scripts_on_a_phone(plain: Page) -> None:
    plain.set_viewport_size({"width": 320, "height": 640})
    begin(plain)
    plain.get_by_label("Slug", exact=True).fill("mine")
    plain.locator(".save").get_by_role("button", name="Save").click()
    plain.get_by_role("link", name="Prompts").click()
    plain.get_by_role("button", name="+ Prompt").click()
    expect(plain.locator(".sections [aria-current]")).to_contain_text("Prompts")
    plain.get_by_role("button", name="Remove prompts[14]").click()
    plain.get_by_role("button", name="Create the study").click()
    expect(plain.get_by_role("heading", level=1)).to_contain_text("13 prompts")
    assert Study.objects.get().slug == "mine"
