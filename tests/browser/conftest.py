"""Browser tests end in order: nothing is asked of the database any more when its tables are emptied."""

import time
from collections.abc import Iterator

import pytest
from django.db import connection

BUSY = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"""


@pytest.fixture(autouse=True)
def answered_requests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait for the requests that a closing page still sends: its last words are saved on leaving."""
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
