"""No page leads nowhere: people may open whatever a page shows them, whoever they are, and its forms arrive."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import resolve

from surveys.models import Study
from surveys.studies import pages
from tests.crawling import Crawl, MayPost, log_in, make_members, make_world, ways_of_annotators, ways_of_participants


@pytest.fixture
def world(transactional_db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Study]:
    return make_world(monkeypatch, tmp_path)


@pytest.fixture(autouse=True)
def nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop a form once it has reached its view and the role was found sufficient: it has arrived."""
    find = pages.study_and_role

    def find_and_stop(*given: object) -> object:
        found = find(*given)
        if Crawl.posting:
            raise MayPost
        return found

    monkeypatch.setattr(pages, "study_and_role", find_and_stop)


CONSOLE = ["/", "/api/v1/docs/"]


@pytest.mark.slow
def test_what_somebody_is_shown_they_may_open(world: list[Study]) -> None:
    make_members(world)
    crawls = {
        "nobody": Crawl(Client(), [*CONSOLE, "/admin/"]),
        "participant": Crawl(Client(), ways_of_participants()),
        "annotator": Crawl(Client(), ways_of_annotators()),
        **{name: Crawl(log_in(name), CONSOLE) for name in ("blinded", "viewer", "researcher", "demo")},
        "administrator": Crawl(log_in("administrator"), [*CONSOLE, "/admin/"]),
    }
    faults = {who: crawl.run().faults for who, crawl in crawls.items()}
    told = {who: (len(crawl.seen), dict(crawl.statuses)) for who, crawl in crawls.items()}
    assert not any(faults.values()), (faults, told)
    # Each has come about, and further who may do more.
    least = {"nobody": 3, "participant": 15, "annotator": 15, "viewer": 100, "researcher": 150, "demo": 150}
    least["blinded"] = 25
    assert {who: count for who, count in least.items() if told[who][0] < count} == {}, told
    # No link leads blinded members to a room that compares, and none of its numbers is on their pages.
    assert {room_of(address) for address in crawls["blinded"].pages} <= OPEN_TO_BLINDED
    compared = {number for room in COMPARING for number in numbers_in(crawls["viewer"], room)}
    shown = {number for room in OPEN_TO_BLINDED for number in numbers_in(crawls["blinded"], room)}
    assert len(compared) > 100 and compared & shown == set()


OPEN_TO_BLINDED, COMPARING = {"console", "export:token", "api:docs"}, {"compare", "agreement", "papers"}
MEASURED = re.compile(r"(?<![\d.$€£])\d+\.\d{2,}(?![\d.])")  # neither money nor an address


def room_of(address: str) -> str:
    found = resolve(urlsplit(address).path)
    return found.view_name if found.view_name in OPEN_TO_BLINDED else found.namespace


def numbers_in(crawl: Crawl, room: str) -> set[str]:
    pages = (page for address, page in crawl.pages.items() if room_of(address) == room)
    return {number for page in pages for number in MEASURED.findall(re.sub(r"<[^>]*>", " ", page))}
