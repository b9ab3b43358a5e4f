"""What axe finds on a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
# The schemes differ in nothing but colours (tests/test_templates.py holds this), which other rules do not look at.
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


def faults_of(page: Page, *tags: str) -> list[str]:
    """What breaks WCAG's rules and those with these tags in light mode, and the rules about colours in dark mode."""
    found = []
    for scheme, rules in (("light", [*WCAG, *tags]), ("dark", OF_COLOURS)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no colour on its way to another
        if not page.evaluate("'axe' in window"):
            page.evaluate(Axe().axe_script)
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        for fault in page.evaluate("options => axe.run(document, options)", options)["violations"]:
            found += [f"{page.url} {scheme} {fault['id']}: {node['html'][:120]}" for node in fault["nodes"]]
    return found
