"""A researcher downloads the data; the pages keep to the content security policy and are readable by everybody."""

import csv
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from surveys.models import Study
from tests.browser.console import log_in, watch
from tests.factories import make_participant, make_response, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEXT = "- tea\n- שלום\n- 👩🏽‍🔬"


@pytest.fixture
def study(site: str) -> Study:
    study = make_study()
    make_response(make_participant(study), "teas", TEXT, keep=True)
    make_participant(study, at="completed", origin="preview")
    return study


def test_researcher_downloads_the_answers(page: Page, study: Study, tmp_path: Path) -> None:
    log_in(page, study, "researcher")
    refused = watch(page)
    page.goto(f"/console/{study.slug}/export/")
    expect(page.get_by_role("heading", level=1)).to_have_text("1 answer and 1 person, ready to download.")
    page.get_by_label("CSV", exact=True).check()
    with page.expect_download() as download:
        page.get_by_role("link", name="responses as CSV").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert (path.name, [row["text"] for row in rows]) == ("teas-responses.csv", [f"'{TEXT}"])
    page.get_by_label("Previews").check()
    page.get_by_role("button", name="Count again").click()
    expect(page.locator("[data-rows=responses]")).to_have_text("3")
    expect(page.get_by_role("link", name="responses as CSV")).to_be_visible()
    ticked = page.locator("input[name=table]:checked").count()
    page.get_by_label("revisions", exact=True).check()
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Download {ticked + 1} tables").click()
    assert download.value.suggested_filename == "teas-tables.zip"
    expect(page.locator("#progress")).to_contain_text("Sent: ")
    page.get_by_text("one row: ").first.click()
    expect(page.get_by_text("pd.read_").first).to_be_visible()
    assert Axe().run(page).violations_count == 0
    assert refused == []


def test_token_is_shown_once(page: Page, study: Study) -> None:
    log_in(page, study, "viewer")
    page.goto("/console/account/token/")
    page.get_by_role("button", name="Make a token").click()
    token = page.get_by_label("Token", exact=True).input_value()
    assert len(token) == 40
    assert Axe().run(page).violations_count == 0
    page.goto("/console/account/token/")
    assert token not in page.content()


def test_api_documentation_works_under_the_content_policy(page: Page, site: str) -> None:
    refused = watch(page)
    page.goto("/api/v1/docs/")
    expect(page.get_by_text("A whole table as a file")).to_be_visible()
    assert refused == []
