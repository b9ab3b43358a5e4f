"""Takes the README's pictures from a running demo: `make demo`, then `make screenshots` in another terminal.

The console's pictures show `field-13`: run `manage.py demo --stage analysed` first and, so that the flow has reasons,
`manage.py simulate field-13 --participants 80 --faults`.
"""

import argparse
import os
import secrets
import shutil
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect, sync_playwright

FOLDER = Path(__file__).with_name("screenshots")
WINDOW = {"width": 1180, "height": 860}
ACCOUNT = ("demo", "field-study-demo")
# Pictures of the console: name and page.
CONSOLE = {
    "console-monitor": "console/field-13/collect/",
    "flow": "console/field-13/flow/",
    "compare-overview": "console/field-13/compare/",
    "compare-heterogeneity": "console/field-13/compare/heterogeneity/",
    "compare-choices": "console/field-13/compare/choices/",
    "compare-benchmarks": "console/field-13/compare/benchmarks/",
    "compare-items": "console/field-13/compare/items/",
    "compare-distances": "console/field-13/compare/distances/",
    "compare-demographics": "console/field-13/compare/demographics/",
    "compare-drift": "console/field-13/compare/drift/",
    "compare-costs": "console/field-13/compare/costs/",
    "compare-precision": "console/field-13/compare/precision/",
    "compare-sensitivity": "console/field-13/compare/sensitivity/",
    "agreement": "console/profiles/agreement/",
}
ANSWERS = {
    "breakfasts": "1. **Shakshuka** – eggs poached in tomato\n2. **Overnight oats** – ready when you wake up\n"
    "3. **Congee** – warm and mild\n4. **Avocado toast** – you said you like it simple",
    "songs": "1. **Pink Moon** – Nick Drake\n2. **Roads** – Portishead\n3. **So What** – Miles Davis\n"
    "4. **Jóga** – Björk",
    "visit": "1. **Kyoto** – gardens and temples\n2. **Lisbon** – light and hills\n3. **Petra** – carved in rock\n"
    "4. **Sylt** – wind and dunes",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--address", default="http://localhost:8000", help="where the demo runs")
    address = arguments.parse_args().address.rstrip("/") + "/"
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        take_survey(browser, address)
        take_console(browser, address)
        browser.close()


def take_survey(browser: Browser, address: str) -> None:
    """Take the paste page, with an answer one suggestion short so that the page asks about it."""
    page = browser.new_page(viewport=WINDOW, color_scheme="light", device_scale_factor=1.5)
    ids = {name: secrets.token_hex(12) for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")}
    page.goto(f"{address}s/demo/?{urlencode(ids)}")
    page.get_by_role("button", name="I agree").click()
    page.get_by_label("ChatGPT").check()
    page.get_by_label("Every day or nearly so").check()
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="I am ready").click()
    paste_answer(page)
    page.mouse.move(0, 0)
    page.screenshot(path=FOLDER / "survey-paste.png", full_page=True)
    page.close()


def paste_answer(page: Page) -> None:
    page.wait_for_url("**/prompt/1/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if "ice cube" in page.locator("[data-message]").inner_text():
        page.locator("#text").press_sequentially("B")
        page.get_by_role("button", name="Save and continue").click()
        for name in ("plan", "memory", "personalisation"):
            page.locator(f"[name={name}]").first.check()
        page.get_by_role("button", name="Save and continue").click()
        page.wait_for_url("**/prompt/2/")
    page.get_by_role("button", name="Only copy").click()
    message = page.locator("[data-message]").inner_text()
    answer = next(text for word, text in ANSWERS.items() if word in message)
    page.evaluate("text => navigator.clipboard.writeText(text)", answer)
    page.locator("#text").press("Control+V")
    page.locator("#gate").get_by_text("Was there more in your chatbot").wait_for()
    page.locator("#text").blur()


def take_console(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport=WINDOW, color_scheme="light")  # many pictures, so keep files small
    page.goto(f"{address}console/login/")
    for field, value in zip(("username", "password"), ACCOUNT, strict=True):
        page.locator(f"[name={field}]").fill(value)
    page.locator("#step [type=submit], #step button").first.click()
    for name, place in CONSOLE.items():
        page.goto(address + place)
        # Numbers still being computed appear by themselves, as do figures still being drawn.
        for later in (".working", ".undrawn"):
            expect(page.locator(later)).to_have_count(0, timeout=120_000)
        page.screenshot(path=FOLDER / f"{name}.png")
    page.close()


if __name__ == "__main__":
    main()
