"""The comparison pages in a real browser: numbers that lead to texts, filters, files, a report that loads by itself."""

from functools import partial
from typing import Any

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from analysis.report.pages import shown
from analysis.report.pages.shown import PAGES
from analysis.report.reports import Reporting, views_for
from surveys.models import Participant, Study
from tests.analysis.report.compare_samples import FEW, make_compared
from tests.browser.axe import faults_of
from tests.browser.console import faults_at, log_in
from tests.factories import make_participant, make_response

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
HERE = "/console/teas/compare/"
PATHS = [HERE if name == "overview" else f"{HERE}{name}/" for name in PAGES]
TEXTS = f"{HERE}texts/?prompt=teas&source=field&model=chatgpt&item=assam"


@pytest.fixture
def study(site: str, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(shown, "views_for", partial(views_for, draws=FEW))
    cache.clear()
    return make_compared()


def wait_for_figures(page: Page) -> None:
    expect(page.locator(".undrawn")).to_have_count(0, timeout=60_000)


@pytest.mark.core
def test_from_a_number_to_the_person_in_two_clicks(page: Page, study: Study) -> None:
    log_in(page, study, "viewer")
    page.goto(f"{HERE}items/")
    wait_for_figures(page)
    expect(page.locator("#figure-items svg").first).to_be_visible()
    page.locator("#table-items tbody").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("3 texts: Field, ChatGPT")
    expect(page.locator("mark").first).to_have_text("Assam")
    page.get_by_role("link", name="Participant").first.click()
    page.wait_for_url("**/participants/**")


def test_filters_by_keyboard_make_chips_and_an_address(page: Page, study: Study) -> None:
    log_in(page, study, "viewer")
    page.goto(f"{HERE}heterogeneity/")
    page.locator("summary", has_text="Source").focus()
    page.keyboard.press("Enter")
    page.get_by_role("group", name="Source").get_by_label("Offline").press("Space")
    # The page shows it by itself, under its own address, and the menu stays open for the next choice.
    page.wait_for_url("**/heterogeneity/?source=offline")
    expect(page.locator("#table-variety tbody tr")).to_have_count(1)
    expect(page.locator("#chosen-source")).to_have_text("Offline")
    expect(page.get_by_role("group", name="Source").get_by_label("Offline")).to_be_visible()
    page.get_by_role("link", name="What people get").click()
    page.wait_for_url("**/items/?source=offline")
    page.get_by_role("link", name="Choices").click()
    page.wait_for_url("**/choices/?source=offline")
    page.get_by_role("link", name="Source: Offline").click()
    page.wait_for_url("**/choices/?")
    expect(page.locator("#table-answers tbody tr")).to_have_count(3)


def test_a_figure_is_saved_from_its_menu(page: Page, study: Study) -> None:
    log_in(page, study, "viewer")
    page.goto(f"{HERE}choices/")
    wait_for_figures(page)
    page.locator("summary", has_text="Save or cite").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="PDF").first.click()
    assert download.value.suggested_filename == "teas-choices.pdf"


def test_the_page_comes_by_itself_when_its_numbers_are_there(
    page: Page, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[Any] = []
    monkeypatch.setattr(shown, "enqueue_report", lambda *order: orders.append(order))
    monkeypatch.setattr(shown, "SMALL", 0)
    log_in(page, study, "viewer")
    page.goto(f"{HERE}costs/")
    expect(page.get_by_role("heading", level=1)).to_have_text("The numbers are being computed.")
    expect(page.get_by_role("status")).to_contain_text("0 of 3 parts are computed.")
    reporting = Reporting(study, draws=FEW)
    for part in orders[0][2]:
        reporting.part(part)
    expect(page.get_by_role("heading", level=1)).to_contain_text("completions")


def test_pages_have_no_fault_and_fit_a_phone(page: Page, study: Study) -> None:
    log_in(page, study, "owner")
    paths = [*PATHS, TEXTS, f"{HERE}items/?q=nothing&prompt=teas"]
    faults = faults_at(page, paths, ready=wait_for_figures)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator("summary", has_text="More filters").click()
    assert faults + faults_of(page) == []


def test_pages_are_whole_without_javascript(plain: Page, study: Study) -> None:
    log_in(plain, study, "viewer")
    plain.goto(f"{HERE}heterogeneity/")
    expect(plain.locator("#table-variety tbody tr")).to_have_count(3)
    picture = plain.locator(".undrawn img")
    expect(picture).to_be_visible()
    assert plain.request.get(str(picture.get_attribute("src"))).status == 200


@pytest.mark.parametrize("size", [(1440, 900), (1280, 800), (390, 844)], ids=str)
def test_the_figure_begins_on_the_first_screen(page: Page, study: Study, size: tuple[int, int]) -> None:
    """It comes below the answer and one line of notes, though there are several notes."""
    make_response(make_participant(study), "teas", text="1. Assam", keep=True)  # not read yet
    Participant.objects.filter(study=study).update(origin="simulated")
    log_in(page, study, "owner")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    tops, notes = {}, []
    for path in PATHS:
        page.goto(path)
        wait_for_figures(page)
        notes.append(page.locator(".standing .first").inner_text())
        figure = page.locator("#compared figure").first.bounding_box()
        tops[path] = figure["y"] if figure else size[1]
    assert {path: top for path, top in tops.items() if top > 2 / 3 * size[1]} == {}
    assert all(words.startswith("Simulated, not real: 4 of 4 people") for words in notes)
    expect(page.locator("#notices")).to_contain_text("not read yet")
