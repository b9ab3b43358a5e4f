"""How much people read and press: words and presses up to the first prompt, and presses for all prompts."""

from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from surveys.models import Response
from surveys.studies.files.definitions import read_study
from tests.browser.survey import ANSWERS, DEMO, entry, forward, make_demo, open_prompt, paste, stand_in_for_prolific
from tests.factories import make_participant, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NAMES = ("Alder", "Birch", "Cedar", "Elder", "Hazel")
SAID = {
    "q-adult": "Yes",
    "q-country": "Yes",
    "q-account": "Longer than six months",
    "q-gender": "Woman",
    "q-ethnicity": "White",
    "what-to-paste": "The whole answer that my chatbot gives to each prompt",
}
# Every word on a page that is not folded away, including its header and footer.
SHOWN = """() => [...document.querySelectorAll("header, main, nav.end")].map((part) => part.innerText)
    .join(" ").split(/\\s+/).filter((word) => /\\p{L}|\\p{N}/u.test(word)).length"""


def five(start: int) -> str:
    return "\n".join(f"{n}. {name} {start} – a reason" for n, name in enumerate(NAMES, 1))


@dataclass
class Walk:
    """A person who reads every page once and presses no more than necessary; counts by kind of page."""

    page: Page
    words: Counter[str] = field(default_factory=Counter)
    presses: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    before: tuple[int, int] = (0, 0)  # words and presses up to the first prompt's page

    @property
    def kind(self) -> str:
        parts = [part for part in urlsplit(self.page.url).path.split("/") if part]
        return parts[3] if len(parts) > 3 else "consent"

    def look(self) -> None:
        where = urlsplit(self.page.url).path
        if self.kind == "prompt" and not self.words["prompt"]:
            self.before = (self.words.total(), self.presses.total())
        if where not in self.seen:
            self.seen.add(where)
            self.words[self.kind] += self.page.evaluate(SHOWN)

    def press(self, what: str) -> None:
        self.presses[self.kind] += 1
        self.page.locator(what).first.click()

    def leave(self, what: str = "#step [type=submit].primary") -> None:
        before = self.page.url
        self.press(what)
        self.page.wait_for_url(lambda url: url != before)
        self.look()

    def fill(self) -> None:
        """Press once for each required question and once to go on."""
        for group in self.page.locator("#step fieldset[aria-required=true]").all():
            name = group.locator("input").first.get_attribute("name") or ""
            wanted = group.locator(f'input[value="{SAID[name]}"]') if name in SAID else group.locator("input")
            self.presses[self.kind] += 1
            wanted.first.check()
        self.leave()

    def answer(self, text: str) -> None:
        """Copy, open, come back, paste with the page's own buttons, and go on."""
        with self.page.context.expect_page() as opened:
            self.copy_and_open()
        opened.value.close()
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.press("[data-clip]")
        expect(self.page.locator(".read.clean")).to_be_visible()
        self.leave()

    def copy_and_open(self) -> None:
        self.press("[data-start]")

    def go(self) -> None:
        """Go from the study's link to its end."""
        for _ in range(60):
            kind = self.kind
            if kind == "end":
                return
            if kind == "consent":
                self.leave("[name=consent][value=yes]")
            elif kind == "prompt":
                is_choice = "option" in (self.page.locator("[data-message]").text_content() or "")
                self.answer("A. That is the one." if is_choice else five(len(self.seen)))
            elif kind in ("questions", "background", "comprehension", "chatbot", "attention"):
                self.fill()
            else:
                self.leave()
        raise AssertionError("The way has no end.")


# Most words and presses up to the first prompt's page, and most presses on the pages of prompts and between them.
MOST = {"demo": (350, 6, 15), "field-13": (700, 16, 45)}


@pytest.mark.parametrize("name", MOST)
def test_first_prompt_is_near_and_every_prompt_takes_few_presses(
    page: Page, context: BrowserContext, name: str
) -> None:
    stand_in_for_prolific(context)
    context.route("https://chatgpt.com/**", lambda route: route.fulfill(body="Chatbot"))
    study = make_study(definition=read_study(DEMO.with_name(f"{name}.toml")))
    walk = Walk(page)
    page.goto(entry(study))
    walk.look()
    walk.go()
    words, presses, each = MOST[name]
    print(f"\n{name}: words {dict(walk.words)}, presses {dict(walk.presses)}, before {walk.before}")  # noqa: T201
    assert walk.before[0] <= words and walk.before[1] <= presses
    assert walk.presses["prompt"] + walk.presses["attention"] <= each


def page_of(answer: str, prompt: str) -> str:
    return (
        f"You said:\n{prompt}\nChatGPT said:\n{answer}\nShare\nCopy\nChatGPT can make mistakes. Check important info."
    )


@pytest.mark.parametrize("language", ["en", "de"])
def test_words_of_the_chatbots_page_go_in_one_press_and_come_back(page: Page, language: str) -> None:
    participant = make_participant(make_demo(), language=language)
    participant.order = ["breakfasts", "songs", "places-to-visit", "ice"]
    participant.save()
    open_prompt(page, participant)
    text = page_of(ANSWERS["breakfasts"], page.locator("[data-message]").text_content() or "")
    paste(page, text)
    gone = page.locator("del[data-line]")
    expect(gone).to_have_count(6)
    expect(gone.first).to_have_text("You said:")
    page.locator("[data-clean]").click()
    expect(page.locator("#text")).to_have_value(ANSWERS["breakfasts"])
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator(".read.clean")).to_be_visible()
    page.locator("[data-restore]").click()
    expect(page.locator("#text")).to_have_value(text)
    page.locator("[data-clean]").click()
    expect(page.locator(".read.clean")).to_be_visible()
    forward(page)
    stored = Response.objects.get(participant=participant)
    assert stored.text == ANSWERS["breakfasts"]
    assert stored.evidence["page_words"] == [line for line in text.split("\n") if line not in stored.text]
    assert stored.evidence["pasted"] == len(text) and stored.evidence["typed"] == 0
