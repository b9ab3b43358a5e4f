"""Being asked again, on a phone: a second time, in another state of the account, with a rating."""

from dataclasses import replace

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from surveys.models import Participant, ReadBack, Response, Study
from surveys.participation.steps import address
from surveys.studies.files.askings import Arm, Rating, Repeats
from surveys.studies.files.definitions import read_study
from tests.browser.axe import faults_of
from tests.browser.survey import ANSWERS, DEMO, begin, fill_context, forward, open_prompt, paste, stand_in_for_prolific
from tests.factories import make_participant, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEMPORARY = Arm("temporary", "Temporary chat", "Press the dotted circle at the top right.", ("songs", "ice"), "after")
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def make_asking_study() -> Study:
    definition = replace(
        read_study(DEMO),
        languages={},
        repeats=Repeats(("breakfasts",), apart=2),
        arms=(TEMPORARY,),
        rating=Rating("How useful is this answer to you? 1 is not at all, 5 is very."),
    )
    return make_study(definition=definition)


def given(person: Participant) -> dict[str, Response]:
    rows = Response.objects.filter(participant=person, accepted=True).select_related("prompt").order_by("revision")
    return {row.prompt.slug: row for row in rows}


def test_who_is_asked_again_on_a_phone_comes_to_the_end(page: Page, context: BrowserContext) -> None:
    stand_in_for_prolific(context)
    page.set_viewport_size({"width": 390, "height": 844})
    person = begin(page, make_asking_study())
    assert sorted(person.order) == sorted([*ANSWERS, "breakfasts--2", "songs--temporary", "ice--temporary"])
    found = []
    for number, slug in enumerate(person.order, 1):
        page.wait_for_url(f"**/prompt/{number}/")
        expect(page.locator(".where")).to_contain_text(f"Prompt {number} of 7")
        base = slug.partition("--")[0]
        again = page.get_by_text("We ask you this one a second time on purpose.")
        expect(again).to_have_count(int(slug != base))
        if slug == "songs--temporary":
            expect(page.get_by_text("Press the dotted circle")).to_be_visible()
            page.get_by_role("button", name="I can't find it").click()
            page.wait_for_url(lambda url, number=number: f"/prompt/{number}/" not in url)
            continue
        expect(page.locator(".rating")).to_be_hidden()
        paste(page, ANSWERS[base])
        if slug == "breakfasts--2":
            expect(page.locator(".gate")).to_contain_text("You pasted exactly this answer before.")
            page.get_by_text("4", exact=True).click()
            found += [*faults_of(page, "best-practice"), page.evaluate(OVERFLOW) or []]
            page.get_by_role("button", name="This is what I got").click()
            page.wait_for_url(lambda url, number=number: f"/prompt/{number}/" not in url)
            continue
        expect(page.locator(".read.clean")).to_be_visible()
        page.locator(".rating .name").nth(4).click()
        if slug == "ice--temporary":
            page.get_by_text("Done: Temporary chat").click()
            found += [*faults_of(page, "best-practice"), page.evaluate(OVERFLOW) or []]
        forward(page)
        if "/chatbot/" in page.url:
            fill_context(page)
            forward(page)
    page.wait_for_url("**/debrief/")
    forward(page)
    expect(page.locator(".code code")).to_have_text("DEMODONE1")
    rows = given(person)
    assert {slug: row.text for slug, row in rows.items()} == {
        **ANSWERS,
        "breakfasts--2": ANSWERS["breakfasts"],
        "songs--temporary": "",
        "ice--temporary": ANSWERS["ice"],
    }
    assert ReadBack.objects.get(response=rows["songs--temporary"]).no_answer == "unreached"
    assert {slug: row.rating for slug, row in rows.items() if row.rating != 5} == {
        "breakfasts--2": 4,
        "songs--temporary": None,
    }
    assert [fault for fault in found if fault] == []


def test_state_that_nobody_has_ticked_is_asked_for_and_a_draft_keeps_tick_and_rating(page: Page) -> None:
    person = make_participant(make_asking_study())
    person.order = ["ice", "ice--temporary", *[slug for slug in person.order if not slug.startswith("ice")]]
    person.save()
    open_prompt(page, person)
    paste(page, ANSWERS["ice"])
    expect(page.locator(".read.clean")).to_be_visible()
    forward(page)
    if "/chatbot/" in page.url:
        fill_context(page)
        forward(page)
    paste(page, ANSWERS["ice"])
    page.locator("[data-forward]").click()
    assert page.evaluate("document.querySelector('[name=reached]').validity.valueMissing")
    assert "/prompt/2/" in page.url and "ice--temporary" not in given(person)
    page.get_by_text("Done: Temporary chat").click()
    page.locator(".rating .name").nth(1).click()
    expect(page.locator("[data-saved]").first).to_contain_text("Saved")
    page.goto(address(person, "prompt", 2))
    assert page.locator("[name=reached]").is_checked()
    assert page.locator("[name=rating][value='2']").is_checked()
