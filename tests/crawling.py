"""The demo with few people, everybody's ways into it, and a crawl through everything a visitor is shown."""

import io
from collections import Counter, deque
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import transaction
from django.http import HttpResponseBase
from django.test import Client
from django.urls import Resolver404, resolve, reverse

from analysis.management import demo
from surveys.models import Membership, Participant, Study
from surveys.simulation.demo import STAGES
from surveys.studies.access import sign_link
from tests.factories import make_account, make_annotator, make_participant, make_visit

START = "the start"  # is opened in any case
PEOPLE = 6  # simulated, in a study of 800 places
MOST_A_ROUTE = 3  # addresses of one pattern that somebody opens: of different studies, with different parameters
OUR_HOSTS = ("", "testserver", urlsplit(django_settings.SITE_URL).netloc)
OPENED = {"a": "href", "img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
OTHER_SCHEMES = ("mailto:", "data:", "javascript:", "tel:")


class Link(NamedTuple):
    method: str  # get, htmx, post; named: an address that a script uses
    address: str


class Links(HTMLParser):
    """A page's links: addresses, pictures, scripts, styles, forms, and what HTMX and our scripts request."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page, self.found, self.form, self.action = page, [], "", page

    def add(self, method: str, address: str | None) -> None:
        if address is not None and not address.startswith(("#", *OTHER_SCHEMES)):
            self.found.append(Link(method, urljoin(self.page, address).partition("#")[0]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in OPENED and OPENED[tag] in given:
            self.add("get", given[OPENED[tag]])
        if tag == "form" and given.get("method") != "dialog":
            self.form, self.action = (given.get("method") or "get").lower(), given.get("action") or self.page
        sends = tag == "button" and given.get("type", "submit") == "submit" or given.get("type") == "submit"
        if self.form and sends and "disabled" not in given:  # a form without a way to send it is only shown
            self.add(given.get("formmethod") or self.form, given.get("formaction") or self.action)
        self.add("htmx", given.get("hx-get"))
        self.add("post", given.get("hx-post"))
        for name, value in attributes:
            if name.startswith("data-") and value and value.startswith("/"):
                self.add("named", value)


class MayPost(BaseException):
    """A view takes the form from this role; no Exception, since a server would report that as an error."""


class Crawl:
    """One visitor's way through everything they are shown."""

    posting = False  # whether a form is on its way

    def __init__(self, client: Client, starts: list[str]) -> None:
        self.client, self.faults = client, []
        client.raise_request_exception = False  # a page that breaks is a fault like others
        self.seen, self.routes, self.statuses = set(), Counter(), Counter()
        self.pages: dict[str, str] = {}  # what each address showed
        self.waiting = deque((Link("get", start), START) for start in starts)

    def run(self) -> "Crawl":
        while self.waiting:
            link, page = self.waiting.popleft()
            if urlsplit(link.address).netloc in OUR_HOSTS and (page == START or self.is_wanted(link)):
                self.follow(link, page)
        return self

    def is_wanted(self, link: Link) -> bool:
        """Whether a link is the first of its pattern, study and set of parameters, up to MOST_A_ROUTE for a pattern."""
        parts = urlsplit(link.address)
        try:
            found = resolve(parts.path)
        except Resolver404:
            found = None
        route = found.route if found else parts.path
        study = (found.kwargs.get("slug") or found.kwargs.get("study")) if found else ""
        example = (link.method, route, study, frozenset(name for name, _ in parse_qsl(parts.query)))
        if example in self.seen or self.routes[link.method, route] >= MOST_A_ROUTE:
            return False
        self.seen.add(example)
        self.routes[link.method, route] += 1
        return True

    def follow(self, link: Link, page: str) -> None:
        path = urlsplit(link.address).path
        if path.startswith("/static/"):
            status: object = 200 if finders.find(path.removeprefix("/static/")) else 404
        elif link.method == "post":
            status = self.post(link.address)
        elif link.method == "named":
            status = self.resolve(path)
        else:
            status = self.get(link)
        self.statuses[status] += 1
        if status not in (200, 204, 286, 302):  # 286: HTMX need not ask again
            self.faults.append(f"{status}: {link.method} {link.address}, on {page}")

    def resolve(self, path: str) -> int:
        try:
            return 200 if resolve(path) else 404
        except Resolver404:
            return 404

    def get(self, link: Link) -> int | str:
        headers = {"HX-Request": "true"} if link.method == "htmx" else {}
        address = link.address
        answer = self.client.get(address, headers=headers)
        for _ in range(5):
            if answer.status_code not in (301, 302):
                break
            address = urljoin(address, answer.headers["Location"])
            if urlsplit(address).netloc not in OUR_HOSTS:
                return 302
            answer = self.client.get(address)
        if answer.status_code == 200 and is_page(answer):
            self.read(address, answer.content.decode())
        if urlsplit(address).path == reverse("console:login") and "_auth_user_id" in self.client.session:
            return f"sent to log in although logged in ({address})"
        answer.close()
        return answer.status_code

    def post(self, address: str) -> int:
        """The status of an empty form: whether a view takes it from this role. Nothing takes effect."""
        allowed = self.client.options(address)
        if allowed.status_code == 405 and "POST" not in allowed.headers["Allow"]:
            return 405
        if not address_of_study(address):
            return self.resolve(urlsplit(address).path)
        try:
            Crawl.posting = True
            with transaction.atomic():
                try:
                    return self.client.post(address).status_code
                finally:
                    transaction.set_rollback(True)
        except MayPost:
            return 200
        finally:
            Crawl.posting = False

    def read(self, address: str, text: str) -> None:
        self.pages[address] = text
        links = Links(address)
        links.feed(text)
        self.waiting.extend((link, address) for link in links.found)


def is_page(answer: HttpResponseBase) -> bool:
    return answer.headers.get("Content-Type", "").startswith("text/html") and not answer.streaming


def address_of_study(address: str) -> bool:
    path = urlsplit(address).path
    return path.startswith("/console/") and "slug" in resolve(path).kwargs


def make_world(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[Study]:
    """The whole demo with few people: studies, runs, labels, a corpus with its people, paying."""
    monkeypatch.setattr(django_settings, "DEBUG", True)
    monkeypatch.setattr(demo, "RUNS", tuple(few_calls()))
    monkeypatch.setattr(demo, "QUESTIONS", 2)
    monkeypatch.setitem(STAGES, "people", PEOPLE / 800)
    quiet = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    call_command("demo", stage="people", **quiet)
    call_command("rehearse_paying", "--books", str(folder / "books.json"), **quiet)
    monkeypatch.setattr(django_settings, "DEBUG", False)
    return list(Study.objects.order_by("slug"))


def few_calls() -> Iterator[demo.DemoRun]:
    for asked in demo.RUNS:
        settings = asked.settings | ({"users": 2} if "users" in asked.settings else {})
        yield demo.DemoRun(asked.condition, min(asked.repeats, 2), settings, asked.benchmark)


def log_in(name: str) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.get(username=name))
    return client


def make_members(studies: list[Study]) -> None:
    for role in ("blinded", "viewer", "researcher"):
        account = make_account(role)
        Membership.objects.bulk_create(Membership(study=study, user=account, role=role) for study in studies)
    make_account("administrator", is_staff=True, is_superuser=True)


STEPS = [*Participant.Step.values[:-1], "completed", "returned", "technical"]
STEPS.remove("background")  # nobody of the demo's gets there: it asks few questions


def ways_of_participants() -> list[str]:
    study = Study.objects.get(slug="demo")
    people = [make_participant(study, at=step) for step in STEPS]
    return [*arrivals(study, "survey"), *(reverse("survey:resume", args=link_of(person)) for person in people)]


def ways_of_annotators() -> list[str]:
    study = Study.objects.get(slug="profiles")
    people = [make_annotator(study, at=step) for step in ("questions", "comprehension", "prompts", "debrief")]
    people.append(Participant.objects.filter(study=study, state="completed").first())
    return [*arrivals(study, "annotation"), *(reverse("annotation:resume", args=link_of(person)) for person in people)]


def link_of(person: Participant) -> tuple[str, str]:
    return person.study.slug, sign_link(person.study.slug, person.pseudonym)


def arrivals(study: Study, space: str) -> list[str]:
    visit = make_visit()
    ids = f"PROLIFIC_PID={visit.pid}&STUDY_ID={visit.study_id}&SESSION_ID={visit.session_id}"
    return [f"{reverse(f'{space}:arrive', args=[study.slug])}?{ids}"]
