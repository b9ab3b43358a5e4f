"""What browser tests of the console share: logging in, and finding faults on a page."""

from collections.abc import Callable, Iterable

from django.test import Client
from playwright.sync_api import ConsoleMessage, Page, expect

from surveys.models import Study
from tests.browser.axe import faults_of
from tests.factories import make_account


def log_in(page: Page, study: Study, role: str) -> None:
    client = Client()
    client.force_login(make_account(role, study, role))
    session = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "domain": "localhost", "path": "/"}])


# What HTMX logs of a request replaced by a newer one; it logs more of one that fails.
REPLACED = ("htmx:afterRequest", "htmx:sendAbort")


def watch(page: Page) -> list[str]:
    """Collect what the browser reports from now on: what it refused to load or run, and what failed."""
    said: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(REPLACED):
            said.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


def faults_at(
    page: Page,
    addresses: Iterable[str],
    widths: Iterable[int] = (1280, 320),
    ready: Callable[[Page], None] = lambda page: None,
) -> list[str]:
    """The faults of these pages: axe's, the browser's, and any page wider than its window."""
    said, found = watch(page), []
    for address in addresses:
        for width in widths:
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(address)
            ready(page)
            found += faults_of(page)
            if (taken := page.evaluate("document.documentElement.scrollWidth")) > width:
                found.append(f"{address} takes {taken} pixels of {width}")
    return found + said


def heading(page: Page, words: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text(words)
