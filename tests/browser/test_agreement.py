"""Agreement and the gate in a real browser: from the matrix to an item, and sliders that show who would stay."""

import pytest
from playwright.sync_api import Locator, Page, expect

from surveys.models import GateDecision, Study
from tests.analysis.agreement.annotation_samples import make_annotated
from tests.browser.console import faults_at, heading, log_in, watch

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# The third pilot annotator answers the opposite of the others.
PILOT = ("yyyynnnn", "yyyynnny", "nnnnyyyy")


@pytest.fixture
def study(site: str) -> Study:
    return make_annotated()[0]


def test_from_the_matrix_to_the_raw_item_in_two_clicks(page: Page, study: Study) -> None:
    broken = watch(page)
    log_in(page, study, "viewer")
    page.goto("/console/teas/agreement/")
    heading(page, "People give the same label in 83 % of comparisons")
    page.locator(".matrix tbody tr").first.get_by_role("link").first.click()
    heading(page, "differ on 1 of 8.")
    page.get_by_role("link", name="item-7").click()
    expect(page.get_by_text("Has 7 cups.")).to_be_visible()
    assert broken == []


def test_pages_fit_a_phone_and_everybody_can_read_them(page: Page, study: Study) -> None:
    log_in(page, study, "researcher")
    paths = ("agreement/", "agreement/items/?question=relevance&a=mini", "gate/")
    assert faults_at(page, [f"/console/teas/{path}" for path in paths]) == []


@pytest.mark.core
def test_a_slider_shows_who_would_stay_and_the_decision_holds_its_limit(page: Page) -> None:
    study, people = make_annotated("pilot", said=PILOT)
    broken = watch(page)
    log_in(page, study, "researcher")
    page.goto("/console/teas/gate/?shared=5")
    expect(page.get_by_role("heading", name="0 of 3 would stay")).to_be_visible()
    page.get_by_label("Reason, kept with the decision").fill("The third answers the other way round.")
    slider = page.get_by_label("Mean κ, at least")
    for _ in range(7):  # by keyboard, from 0.2 to −0.15
        slider.press("ArrowLeft")
    expect(page.get_by_role("heading", name="2 of 3 would stay")).to_be_visible()
    expect(page.locator("#kappa-shown")).to_have_text("−0.15")
    expect(page.get_by_label("Reason, kept with the decision")).to_have_value("The third answers the other way round.")
    page.get_by_role("button", name="Decide about these 3").click()
    expect(page.get_by_text("Decision 1: 2 kept, 1 not.")).to_be_visible()
    decision = GateDecision.objects.get()
    assert decision.thresholds["kappa"] == -0.15
    assert decision.verdicts.get(kept=False).participant.pseudonym == people[2]
    assert broken == []


def test_numbers_that_come_while_something_is_pressed_wait_until_it_is_let_go(page: Page) -> None:
    study, _ = make_annotated("pilot", said=PILOT)
    log_in(page, study, "researcher")
    page.goto("/console/teas/gate/?shared=5")
    page.get_by_label("Reason, kept with the decision").fill("Nobody agrees with anybody.")
    button = page.get_by_role("button", name="Decide about these 3")
    press_and_move_slider(page, button, "-0.15")
    expect(page.get_by_role("heading", name="0 of 3 would stay")).to_be_visible()
    page.mouse.move(1, 1)  # pressed by mistake, so let go beside the button
    page.mouse.up()
    expect(page.get_by_role("heading", name="2 of 3 would stay")).to_be_visible()
    press_and_move_slider(page, button, "0.2")
    page.mouse.up()
    expect(page.get_by_text("Decision 1: 2 kept, 1 not.")).to_be_visible()


def press_and_move_slider(page: Page, button: Locator, limit: str) -> None:
    button.hover()
    page.mouse.down()
    with page.expect_response("**/gate/?*"):
        page.get_by_label("Mean κ, at least").evaluate(
            "(slider, limit) => { slider.value = limit; slider.dispatchEvent(new Event('input', {bubbles: true})); }",
            limit,
        )
