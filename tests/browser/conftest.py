"""Browser tests end in order: no request reaches the database while its tables are being emptied."""

import time
from collections.abc import Iterator

import pytest
from django.db import connection
from playwright.sync_api import Browser, Page

from surveys.models import Participant
from tests.browser.survey import make_demo, open_prompt
from tests.factories import make_participant

BUSY = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"""


@pytest.fixture(autouse=True)
def answered_requests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait for the requests that a closing page still sends: it saves a last time on leaving."""
    if "site" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("site")  # made first, so that every page is closed before what follows
    yield
    quiet, end = 0, time.monotonic() + 10
    while quiet < 3 and time.monotonic() < end:
        with connection.cursor() as cursor:
            cursor.execute(BUSY)
            quiet = quiet + 1 if cursor.fetchone()[0] == 0 else 0
        time.sleep(0.05)


@pytest.fixture
def person(page: Page) -> Participant:
    """Somebody on the page of a prompt for a recommendation."""
    participant = make_participant(make_demo())
    number = 1 if participant.order[0] != "ice" else 2
    if number == 2:
        participant.order = [*participant.order[1:], "ice"]
        participant.save()
    open_prompt(page, participant)
    return participant


@pytest.fixture
def plain(browser: Browser, site: str) -> Iterator[Page]:
    """A page in a browser without scripts."""
    context = browser.new_context(base_url=site, java_script_enabled=False)
    yield context.new_page()
    context.close()
