"""Whatever goes wrong at any step of the survey, the person ends with the code that pays."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Error, Page, expect

from surveys.models import Participant, Response, Study
from tests.browser.survey import entry, fill_context, paste, stand_in_for_prolific
from tests.factories import definition_of, fitting_answers, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ANSWERS = {"teas": "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong", "water": "B"}
STEPS = {"consent", "questions", "instructions", "comprehension", "chatbot", "prompt", "attention", "debrief"}
MOST_PAGES = 20
Send = Callable[[], None]


def step_of(page: Page) -> str:
    parts = page.url.partition("?")[0].split("/")
    return parts[6] if len(parts) > 7 else "consent"


def fill(page: Page, study: Study) -> None:
    step = step_of(page)
    if step == "questions":
        page.locator("[name=chatbot]").first.check()
        for slug, answer in fitting_answers(definition_of(study)).items():
            field = page.locator(f'[name="q-{slug}"]')
            if field.first.get_attribute("type") == "radio":
                page.locator(f'[name="q-{slug}"][value="{answer}"]').check()
            else:
                field.fill(answer)
    elif step == "comprehension":
        page.get_by_label("Answers", exact=True).check()
    elif step == "chatbot":
        fill_context(page)
    elif step == "attention":
        page.locator("[name=answer]").first.check()
    elif step == "prompt":
        expect(page.locator("[data-copy]:not([hidden])")).to_be_attached()
        slug = page.locator("#step").get_attribute("data-step").removeprefix("prompt:")
        paste(page, ANSWERS[slug])
        expect(page.locator(".read.clean")).to_be_visible()


def button(page: Page):
    return page.locator("#step [type=submit].primary").last


def reload_before_and_after(page: Page, study: Study, send: Send) -> None:
    page.reload()
    fill(page, study)
    send()
    page.reload()


def go_back_and_on(page: Page, study: Study, send: Send) -> None:
    send()
    here = page.url
    answer = page.go_back()
    assert answer is None or answer.ok
    page.goto(here)


def press_twice(page: Page, study: Study, send: Send) -> None:
    before = page.url
    button(page).dblclick(no_wait_after=True)
    page.wait_for_url(lambda url: url != before)


def lose_the_net(page: Page, study: Study, send: Send) -> None:
    before = page.url
    page.context.set_offline(True)
    button(page).click(no_wait_after=True)
    page.wait_for_timeout(700)
    page.context.set_offline(False)
    if page.url == before:
        page.wait_for_url(lambda url: url != before)
    else:  # the browser's own page, from where a person goes back
        page.goto(before)


def lose_the_tab(page: Page, study: Study, send: Send) -> None:
    page.goto("about:blank")


MISHAPS = (reload_before_and_after, go_back_and_on, press_twice, lose_the_net, lose_the_tab)


@pytest.mark.parametrize("mishap", MISHAPS, ids=lambda mishap: mishap.__name__)
def test_a_mishap_at_every_step_costs_nobody_the_pay(page: Page, context: BrowserContext, mishap: Callable) -> None:
    stand_in_for_prolific(context)
    study = make_study(places=5)
    link = entry(study)
    page.goto(link)
    met: set[str] = set()

    def send() -> None:
        before = page.url
        button(page).click()
        page.wait_for_url(lambda url: url != before)

    for _ in range(MOST_PAGES):
        if page.url == "about:blank":
            page.goto(link)
        step = step_of(page)
        if step == "end":
            break
        fill(page, study)
        if (step, page.url) in met or step in met and mishap in (lose_the_tab, lose_the_net):
            send()
        else:
            met.add(step)
            mishap(page, study, send)
    assert met == STEPS
    expect(page.locator(".code code")).to_have_text("CODE1")
    participant = Participant.objects.get()
    assert participant.state == "completed" and len(participant.checks["comprehension"]) == 1
    accepted = Response.objects.filter(accepted=True).select_related("prompt").order_by("revision")
    assert {row.prompt.slug: row.text for row in accepted} == ANSWERS


def test_a_wrong_answer_loaded_anew_or_sent_twice_is_one_try(page: Page, context: BrowserContext) -> None:
    stand_in_for_prolific(context)
    study = make_study(places=5)
    page.goto(entry(study))
    while step_of(page) != "comprehension":
        fill(page, study)
        before = page.url
        button(page).click()
        page.wait_for_url(lambda url, before=before: url != before)
    page.get_by_label("Prompts", exact=True).check()
    button(page).dblclick(no_wait_after=True)
    expect(page.locator(".errors")).to_contain_text("Please read this and try once more.")
    for _ in range(3):
        page.reload()
        expect(page.locator(".errors")).to_be_visible()
    try:
        page.go_back()
        page.go_forward()
    except Error as fault:
        raise AssertionError("the browser asks whether to send the form again") from fault
    assert len(Participant.objects.get().checks["comprehension"]) == 1
    fill(page, study)
    button(page).click()
    page.wait_for_url("**/chatbot/")
