"""The pages for every eye and hand: axe, dark, narrow, zoomed, mirrored, and the switches in the footer."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from surveys.models import Participant
from surveys.participation.steps import address
from surveys.studies.files.definitions import read_study
from tests.browser.axe import faults_of
from tests.browser.survey import ANSWERS, DEMO, entry, make_demo, open_prompt, paste, stand_in_for_prolific
from tests.factories import make_definition, make_participant, make_response, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
STEPS = ("questions", "instructions", "comprehension", "context", "prompts", "debrief")
ENDS = ("completed", "returned", "technical", "misunderstood")
# Everything that can be pressed, as large as WCAG 2.2 and a thumb want it; links in running text are exempt.
SMALL = """() => [...document.querySelectorAll(
    "a.button, button, .choice, input[type=text], textarea, .end a, .languages a, summary")]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 43.5).map(e => e.outerHTML)"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def pages_of(study) -> list[str]:
    """The address of every participant's page of this study, with people at every step and end."""
    people = [make_participant(study, at=step) for step in STEPS]
    found = [address(person, "resume") for person in people]
    found += [address(people[4], name) for name in ("stop", "trouble")]
    attentive = make_participant(study)
    found.append(address(attentive, "attention", "leaf"))
    found += [address(make_participant(study, at=end), "end") for end in ENDS]
    return [*found, entry(study), f"/s/{study.slug}/", f"/s/{study.slug}/withdrawn/", f"/s/{study.slug}/no-consent/"]


def faults(page: Page) -> list[str]:
    return faults_of(page, "best-practice")


def inside(page: Page, button: str) -> Locator:
    """The button with these words, which must lie wholly within the window's width."""
    found = page.get_by_role("button", name=button)
    expect(found).to_be_visible()
    box = found.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= page.viewport_size["width"]
    return found


def submit_nothing(page: Page) -> None:
    page.locator("#step [type=submit]").first.click()
    expect(page.locator(".errors, .gate").first).to_be_visible()


def test_axe_finds_nothing_on_any_page(page: Page, context: BrowserContext) -> None:
    stand_in_for_prolific(context)
    study = make_study(definition=make_definition(places=30))
    found = []
    for url in pages_of(study):
        page.goto(url)
        found += faults(page)
    assert found == []


def test_axe_finds_nothing_where_the_page_asks_back(page: Page) -> None:
    study = make_study(definition=make_definition(places=30))
    found = []
    for step in ("questions", "comprehension", "context", "prompts"):
        page.goto(address(make_participant(study, at=step), "resume"))
        submit_nothing(page)
        found += faults(page)
    paste(page, "Hi Martina, here you are:\n1. Assam\n2. Mate\n3. Chai\n4. Sencha\n5. Yen")
    expect(page.locator("[data-personal] .gate")).to_be_visible()
    found += faults(page)
    page.get_by_role("button", name="Take out what is ticked").click()
    expect(page.locator("[data-personal] .notice")).to_be_visible()
    found += faults(page)
    assert found == []


def test_narrow_pages_need_no_scrolling_sideways_and_fit_a_thumb(page: Page, context: BrowserContext) -> None:
    """390 px is a phone; 320 px is also what 400 % zoom leaves of a 1280 px screen."""
    stand_in_for_prolific(context)
    study = make_study(definition=make_definition(places=30))
    for url in pages_of(study):
        page.set_viewport_size({"width": 390, "height": 700})
        page.goto(url)
        assert page.evaluate(SMALL) == [], url
        assert page.evaluate(OVERFLOW) <= 0, url
        page.set_viewport_size({"width": 320, "height": 700})
        assert page.evaluate(OVERFLOW) <= 0, url


def test_german_pages_fit_a_phone(page: Page, context: BrowserContext) -> None:
    stand_in_for_prolific(context)
    study = make_demo()
    steps = [step for step in (*STEPS, *ENDS) if step not in ("comprehension", "misunderstood")]
    people = [make_participant(study, at=step, language="de") for step in steps]
    for url in (entry(study) + "&lang=de", *(address(person, "resume") for person in people)):
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(url)
        assert page.evaluate("document.documentElement.lang") == "de"
        assert page.evaluate(SMALL) == [], url
        page.set_viewport_size({"width": 320, "height": 700})
        assert page.evaluate(OVERFLOW) <= 0, url


def test_questions_of_the_page_fit_a_phone_in_a_language_of_long_words(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    participant = make_participant(make_demo(), language="de")
    open_prompt(page, participant)
    paste(page, "Hallo Martina, hier: eins " + "a" * 300)
    inside(page, "Stehen lassen").click()
    inside(page, "Nein, das ist alles")
    assert page.evaluate(OVERFLOW) <= 0
    paste(page, "Darüber weiß ich leider nichts, und raten möchte ich nicht.")
    inside(page, "Nein, keine")
    assert page.evaluate(OVERFLOW) <= 0


def test_twice_as_large_text_still_fits(page: Page) -> None:
    participant = make_participant(make_demo())
    page.set_viewport_size({"width": 640, "height": 430})
    open_prompt(page, participant)
    paste(page, "https://example.org/" + "a" * 400)
    assert page.evaluate(OVERFLOW) <= 0
    page.evaluate("document.documentElement.style.fontSize = '34px'")
    assert page.evaluate(OVERFLOW) <= 0
    expect(page.get_by_role("button", name="No, that is all of it")).to_be_visible()


@pytest.mark.parametrize("language", ["ar", "he"])
def test_right_to_left_language_mirrors_the_pages(page: Page, settings, language: str) -> None:
    settings.LANGUAGES = [*settings.LANGUAGES, (language, language)]
    demo = replace(read_study(DEMO), repeats=None, language=language, languages={})
    participant = make_participant(make_study(definition=demo), language=language)
    make_response(participant, 0)
    open_prompt(page, participant, 2)
    box = {
        name: page.locator(selector).bounding_box()
        for name, selector in {
            "study": ".top .study",
            "where": ".top .where",
            "back": ".forward a",
            "forward": ".forward [data-start]",
        }.items()
    }
    middle = page.viewport_size["width"] / 2
    assert box["study"]["x"] > middle > box["where"]["x"]
    assert box["back"]["x"] > middle > box["forward"]["x"]
    page.set_viewport_size({"width": 390, "height": 844})
    for url in [page.url, *(address(participant, name) for name in ("stop", "trouble", "context"))]:
        page.goto(url)
        assert page.evaluate("document.documentElement.dir") == "rtl"
        assert page.evaluate(OVERFLOW) <= 0


def test_answer_in_a_right_to_left_script_reads_from_the_right(page: Page) -> None:
    open_prompt(page, make_participant(make_demo()))
    paste(page, "1. شاي\n2. قهوة")
    assert page.evaluate("getComputedStyle(document.querySelector('#text')).direction") == "rtl"


def test_theme_switch_lasts_and_does_not_flash(page: Page, context: BrowserContext) -> None:
    page.goto(entry(make_demo()))
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    switch = page.locator("[data-theme-switch]")
    expect(switch).to_have_accessible_name("Colours: automatic")
    switch.click()
    expect(switch).to_have_accessible_name("Colours: light")
    switch.click()
    expect(switch).to_have_accessible_name("Colours: dark")
    dark = page.evaluate(paper)
    assert dark != light
    # What the page has been set to when its body first exists, before anything can be painted.
    page.add_init_script("""new MutationObserver(() => {
        if (document.body) window.first ??= document.documentElement.dataset.theme;
    }).observe(document, {childList: true, subtree: true})""")
    page.reload()
    assert page.evaluate("window.first") == "dark"
    assert page.evaluate(paper) == dark
    expect(switch).to_have_accessible_name("Colours: dark")


def test_language_switch_changes_page_and_stays(page: Page) -> None:
    page.goto(entry(make_demo()))
    page.get_by_role("navigation", name="Language").get_by_role("link", name="Deutsch").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Was Ihr Chatbot vorschlägt")
    page.get_by_role("button", name="Ich bin einverstanden und nehme teil").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Zuerst einige Fragen zu Ihnen")
    assert Participant.objects.get().language == "de"
    participant = make_participant(Participant.objects.get().study, language="de")
    slug = open_prompt(page, participant)
    paste(page, ANSWERS[slug])
    expect(page.locator(".read.clean summary")).to_contain_text("Wir haben fünf Namen gelesen")
    expect(page.locator("span[data-saved]")).to_have_text(re.compile(r"Gespeichert vor \d Sekunden?"))


def test_storage_that_is_forbidden_breaks_nothing(browser: Browser, site: str) -> None:
    context = browser.new_context(base_url=site, permissions=["clipboard-read", "clipboard-write"])
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('forbidden') }})"
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    slug = open_prompt(page, make_participant(make_demo()))
    page.locator("[data-theme-switch]").click()
    paste(page, ANSWERS[slug])
    expect(page.locator(".read.clean")).to_be_visible()
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/prompt/2/")
    assert wrong == []
    context.close()


def test_pages_obey_their_own_content_policy(page: Page) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    study = make_demo()
    slug = open_prompt(page, make_participant(study))
    paste(page, ANSWERS[slug])
    expect(page.locator(".read.clean")).to_be_visible()
    assert said == []
    assert page.evaluate("performance.getEntriesByType('resource').every(e => e.name.startsWith(location.origin))")
