"""Fixtures that many tests share: a browser, and the site it visits. Also the tests' order, and which are left out."""

import fcntl
import gc
import os
import re
import shutil
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import TransactionTestCase
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django import DjangoDbBlocker
from pytest_django.live_server_helper import LiveServer

from fieldstudy.embedded import servers
from tests import skips
from tests.lasting import filled_tables, migrated_template

PATIENCE = 30  # seconds: the first page of a server that has just started, on a computer that has much to do
expect.set_options(timeout=PATIENCE * 1000)
# No deadline for examples, since the computer may be busy; what must be quick is measured separately.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")
BROWSER_TESTS = Path(__file__).parent / "browser"
BROWSER_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


CHANGES = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--skips", choices=skips.PARTS, help="which whole run this is: how many it may leave out is held")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a second run on the same databases: each would break the other's tests."""
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    settings.SERVICES_FOLDER.mkdir(parents=True, exist_ok=True)
    lock = open(settings.SERVICES_FOLDER / "tests.lock", "w")  # noqa: SIM115 - held as long as the process lives
    config.add_cleanup(lock.close)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise pytest.UsageError(
            f"Other tests are running with {settings.SERVICES_FOLDER}. Wait until they have ended, or give these a "
            "folder of their own: FIELDSTUDY_VAR=var/second make test"
        ) from None


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    part, reporter = session.config.option.skips, session.config.pluginmanager.get_plugin("terminalreporter")
    if not part or reporter is None or hasattr(session.config, "workerinput") or exitstatus not in (0, 1):
        return
    reasons = Counter(report.longrepr[2] for report in reporter.stats.get("skipped", ()))
    session.config.stash[CHANGES] = list(skips.find_changes(part, reasons))
    if session.config.stash[CHANGES]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if changes := config.stash.get(CHANGES, None):
        terminalreporter.section("what is left out has changed: tests/skips.py")
        terminalreporter.write("\n".join([*changes, ""]))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Put long tests first, so that several processes end together; the others stay in the order Django wants."""
    for item in items:  # `make browser` looks into this folder alone, and `make unit` into all others
        if (item.get_closest_marker("browser") is None) == (BROWSER_TESTS in item.path.parents):
            raise pytest.UsageError(f"{item.nodeid}: `browser` is what lies in {BROWSER_TESTS.name}")
    yield
    items.sort(key=lambda item: sum(item.get_closest_marker(name) is None for name in ("slow", "processes")))


def pytest_collection_finish() -> None:
    """Freeze what is loaded by now, so that garbage collection need not search it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """Copy the tests' database from a migrated one: migrating takes seven seconds of a processor."""
    with django_db_blocker.unblock():
        connection.settings_dict["TEST"]["TEMPLATE"] = migrated_template()


@pytest.fixture(scope="session", autouse=True)
def quick_emptying() -> Iterator[None]:
    """Empty tables row by row after a test with transactions: truncating takes a hundred times as long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty_tables())
        yield


def empty_tables() -> None:
    tables = filled_tables()
    with transaction.atomic(), connection.cursor() as cursor:
        # Waits for pending writes, as truncating does, so that none of this test's come afterwards.
        cursor.execute(f"LOCK TABLE {', '.join(tables)} IN EXCLUSIVE MODE")
        cursor.execute("SET LOCAL session_replication_role = replica")  # triggers forbid deleting the audit trail
        cursor.execute("; ".join(f"DELETE FROM {name}" for name in tables))


def find_chromium() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("Chromium is not installed: run `make chromium`, or name one with CHROMIUM=/path")
    # Playwright's loop runs in this thread, and Django takes any running loop for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def site(live_server: LiveServer) -> str:
    """The address of a server on the test database."""
    return live_server.url


@pytest.fixture
def context(browser: Browser, site: str) -> Iterator[BrowserContext]:
    # Without motion: in the middle of a transition colours are ones that nobody chose.
    granted = ["clipboard-read", "clipboard-write"]
    context = browser.new_context(base_url=site, permissions=granted, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    page = context.new_page()
    failures = request.session.testsfailed
    yield page
    if request.session.testsfailed > failures:
        page.screenshot(path=screenshot_path(request.node.name), full_page=True)


def screenshot_path(test: str) -> Path:
    folder = servers.var_folder() / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / (re.sub(r"[^\w.-]+", "_", test) + ".png")
