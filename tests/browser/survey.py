"""What browser tests of the survey share: the demo study, people on their way, and a real clipboard."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, Page, expect

from surveys.models import Participant, Response, Study
from surveys.participation.steps import address
from surveys.studies.files.definitions import read_study
from tests.factories import make_study, make_visit

DEMO = Path(__file__).resolve().parents[2] / "surveys" / "studies" / "demo.toml"
PROLIFIC = "https://app.prolific.com/"
ANSWERS = {
    "breakfasts": "Five:\n\n1. Shakshuka – eggs\n2. Congee – rice\n3. Oats\n4. Toast\n5. Natto – beans",
    "songs": "1. Hurt – Cash\n2. Roads – Beth\n3. Pink Moon – Drake\n4. Jóga – Björk\n5. Jolene – Dolly",
    "places-to-visit": "1. Kyoto – temples\n2. Lisbon – light\n3. Cusco – hills\n4. Petra\n5. Sylt – wind",
    "ice": "B. Its level stays the same.",
}


def make_demo(**changes: object) -> Study:
    """The demo study's four prompts, each asked once."""
    return make_study(definition=replace(read_study(DEMO), repeats=None), **changes)


def entry(study: Study) -> str:
    return f"/s/{study.slug}/?{urlencode(make_visit().as_parameters())}"


def open_prompt(page: Page, participant: Participant, number: int = 1) -> str:
    """Open a paste page and wait until its scripts are ready; return the prompt's slug."""
    page.goto(address(participant, "prompt", number))
    if page.locator("[data-copy]").count():
        expect(page.locator("[data-copy]:not([hidden])")).to_be_attached()
    return participant.order[number - 1]


def paste(page: Page, text: str, html: str = "") -> None:
    """Put the text on the clipboard and paste it over everything in the box, by keyboard."""
    kinds = {"text/plain": text, "text/html": html} if html else {"text/plain": text}
    page.evaluate(
        """kinds => navigator.clipboard.write([new ClipboardItem(Object.fromEntries(
            Object.entries(kinds).map(([kind, words]) => [kind, new Blob([words], {type: kind})])))])""",
        kinds,
    )
    page.locator("#text").focus()
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+V")


def forward(page: Page) -> None:
    """Press the form's button that goes on and wait for another address."""
    before = page.url
    page.locator("#step [type=submit].primary").last.click()
    page.wait_for_url(lambda url: url != before)


def begin(page: Page, study: Study) -> Participant:
    """Go from the entry to the first prompt as somebody with a mouse does."""
    page.goto(entry(study))
    page.get_by_role("button", name="I agree and take part").click()
    page.wait_for_url("**/questions/")
    page.get_by_label("ChatGPT").check()
    page.get_by_label("Every day or nearly so").check()
    forward(page)
    forward(page)
    return Participant.objects.get(pseudonym=page.url.split("/")[5].split("~")[0])


def fill_context(page: Page) -> None:
    for name in ("memory", "personalisation", "plan"):
        page.locator(f"[name={name}]").first.check()


def answer_prompts(page: Page, participant: Participant) -> None:
    for slug in participant.order:
        paste(page, ANSWERS[slug])
        expect(page.locator(".read.clean")).to_be_visible()
        forward(page)
        if "/chatbot/" in page.url:  # after the first prompt, of those who have not said it before
            fill_context(page)
            forward(page)


def stand_in_for_prolific(context: BrowserContext) -> list[str]:
    """Answer for Prolific, so that no test leaves this computer; return the addresses requested."""
    asked: list[str] = []

    def answer(route) -> None:
        asked.append(route.request.url)
        route.fulfill(body="Prolific")

    context.route(f"{PROLIFIC}**", answer)
    return asked


def newest(participant: Participant) -> Response:
    return Response.objects.filter(participant=participant).latest("revision")
