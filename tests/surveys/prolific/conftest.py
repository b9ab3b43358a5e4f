"""A mock Prolific on this computer, and a client that does not wait between attempts."""

from collections.abc import Callable, Iterator

import pytest

from surveys.prolific.client import ProlificClient
from surveys.prolific.mock.books import Books
from surveys.prolific.mock.server import served
from tests.factories import PROLIFIC_STUDY

TOKEN = "a-token-that-nobody-may-read"


@pytest.fixture
def books() -> Books:
    books = Books(TOKEN)
    books.add_study(PROLIFIC_STUDY)
    return books


@pytest.fixture
def site(books: Books, settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The mock's address, which the settings use."""
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    with served(books) as address:
        settings.PROLIFIC_API = address
        yield address


@pytest.fixture
def waits() -> list[float]:
    """The seconds that clients would have waited."""
    return []


@pytest.fixture
def client_at(site: str, waits: list[float]) -> Iterator[Callable[[], ProlificClient]]:
    clients = []

    def make() -> ProlificClient:
        clients.append(ProlificClient(sleep=waits.append))
        return clients[-1]

    yield make
    for client in clients:
        client.__exit__()


@pytest.fixture
def prolific(client_at: Callable[[], ProlificClient]) -> ProlificClient:
    return client_at()
