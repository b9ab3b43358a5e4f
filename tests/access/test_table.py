"""One table of addresses, roles and methods, tried with real requests, and with others' ids under one's own slug."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from analysis.endpoints import endpoints
from analysis.models import Corpus
from surveys.models import AuditEvent
from surveys.studies.access import sign_link
from tests.access import table
from tests.access.worlds import World, browser_of, make_world, person_of, program_of
from tests.factories import make_account
from tests.lasting import lasting_rows

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Who tries: the members of the first party, and the maker of the other one, who has all of this there.
RANK = ["stranger", table.BLINDED, "viewer", table.RESEARCHER, table.OWNER]
CASES = [*table.TABLE.items(), *table.MORE]
NAMES = [f"{name} {'-'.join([*map(str, row.rest.values()), *row.ids.values()])}" for name, row in CASES]
WITH_IDS = [(case, name) for case, name in zip(CASES, NAMES, strict=True) if case[1].ids]
DONE = (200, 201, 202, 204, 286, 302, 400, 409, 415, 422)  # answers of a view that lets somebody in
REFUSED = (403, 404, 405)


@pytest.fixture(scope="module")
def worlds(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[World, World]]:
    with lasting_rows(django_db_blocker):
        both = make_world("teas"), make_world("herbs")
        for name in (*(f"teas-{role}" for role in (*RANK[1:], table.MAKER)), "herbs-maker"):
            browser_of(name), program_of(name)  # logged in for as long as the rows last
        yield both
        browser_of.cache_clear(), program_of.cache_clear()


@pytest.fixture(autouse=True)
def nothing_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "addresses_of", lambda host, port: {"93.184.215.14"})


def address_of(name: str, row: table.Row, world: World, /, **others: Any) -> str:
    """The address of this world's objects; `others` replaces ids with those of another party."""
    given = {parameter: world.ids[thing] for parameter, thing in row.ids.items()} | dict(row.rest) | others
    if name not in ("api:run", *(f"api:{action}-run" for action in ("pause", "resume", "cancel", "retry", "note"))):
        given["slug"] = (world.labelled if row.labelled else world.study).slug
    return reverse(name, kwargs=given) + row.query


def send(client: Client, method: str, address: str, **body: Any) -> HttpResponse:
    """Send a request and roll back everything it did."""
    content = {"content_type": "application/json"} if address.startswith("/api/") else {}
    with transaction.atomic():
        answer = getattr(client, method.lower())(address, body or None, **content if method != "GET" else {})
        answer.noted = AuditEvent.objects.count()
        transaction.set_rollback(True)
    return answer


def client_of(role: str, name: str) -> Client:
    """A client of the first party's role or, for a stranger, of the other party's maker."""
    if role == "nobody":
        return Client(raise_request_exception=False)
    return (program_of if name.startswith("api:") else browser_of)(
        "herbs-maker" if role == "stranger" else f"teas-{role}"
    )


def may(row: table.Row, role: str, method: str) -> bool:
    """A study's owner does not own what has no study; the maker of that is a researcher."""
    least = row.may.get(method)
    if least is None or role == "stranger":
        return False
    if least == table.MAKER or role == table.MAKER:
        return role == table.MAKER and least != table.OWNER
    return RANK.index(role) >= RANK.index(least)


def test_every_address_of_the_site_is_in_the_table() -> None:
    named, nameless = set(), set()
    for space, name, pattern in table.addresses():
        if space == "admin" or space in table.SIGNED:
            continue
        if name and space:
            named.add(f"{space}:{name}")
        else:
            nameless.add(pattern)
    assert named == {*table.TABLE, *table.ACCOUNT, *table.OPEN, *table.OWN} and nameless == table.NAMELESS


def test_what_names_an_object_is_tried_as_one() -> None:
    """Every parameter of an address is an id in the table, or one of its other parts."""
    for space, name, pattern in table.addresses():
        row = table.TABLE.get(f"{space}:{name}")
        if row:
            named = {part.split(">")[0].rpartition(":")[2] for part in pattern.split("<")[1:]} - {"slug"}
            assert named == {*row.ids, *row.rest}, name


@pytest.mark.parametrize(("name", "row"), CASES, ids=NAMES)
def test_each_role_may_what_the_table_says(worlds: tuple[World, World], name: str, row: table.Row) -> None:
    mine, theirs = worlds
    address = address_of(name, row, mine)
    events = AuditEvent.objects.count()
    for role in ("nobody", *RANK, table.MAKER):
        for method in methods_of(row, role):
            answer = send(client_of(role, name), method, address)
            status = answer.status_code
            if role == "nobody":
                asked = status == 401 if name.startswith("api:") else is_log_in(answer)
                assert asked or status == 405, (method, status)
            elif may(row, role, method):
                # An object that does not exist yet is missing for everybody.
                assert status in DONE or (name, status) in MISSING, (role, method, status)
                assert not [word for word in (*theirs.secrets, *names_of(theirs)) if word in said(answer)], role
                continue
            elif role == "stranger":
                assert status in (404, 405), (method, status)
            else:
                assert status in (403, 405) or (is_hidden(name, row) and status == 404), (role, method, status)
                if status == 403 and not name.startswith("api:"):
                    assert "Your role does not allow this" in said(answer)
            assert answer.noted == events, (role, method)


def methods_of(row: table.Row, role: str) -> tuple[str, ...]:
    """The row's methods; all of them for a stranger, and for a maker, who may do the most."""
    return METHODS if role in ("stranger", table.MAKER) else tuple(row.may)


def is_hidden(name: str, row: table.Row) -> bool:
    """Whether a refusal may be a 404: others' uploads and notes, runs about a corpus."""
    of_somebody = name in ("people:upload", "console:change-note")
    return of_somebody or "asked" in row.ids.values()


def is_log_in(answer: HttpResponse) -> bool:
    if answer.wsgi_request.method == "POST":
        return answer.status_code == 401 and "You were logged out, so nothing has changed yet." in said(answer)
    return answer.status_code == 302 and answer["Location"].startswith("/console/login/")


# Without a figure, a benchmark's sources and answers to it, or what a bundle is made of.
MISSING = {
    *{("people:figure", 404), ("baselines:completion-messages", 404), ("compare:bundle", 404)},
    ("compare:questions", 404),
    ("compare:multiverse-document", 404),
    ("compare:multiverse-curve", 404),
    ("compare:multiverse-figure", 404),
}


@pytest.mark.parametrize(("name", "row"), [case for case, _ in WITH_IDS], ids=[name for _, name in WITH_IDS])
def test_ids_of_others_lead_nowhere_below_ones_own_slug(worlds: tuple[World, World], name: str, row: table.Row) -> None:
    mine, theirs = worlds
    events = AuditEvent.objects.count()
    for parameter, thing in row.ids.items():
        address = address_of(name, row, mine, **{parameter: theirs.ids[thing]})
        for role in (table.OWNER, table.MAKER):
            for method in METHODS:
                answer = send(client_of(role, name), method, address)
                missing = (
                    (302,) if name == "answers:decide" else (404,)
                )  # an answer may be gone: to the list, with a word
                assert answer.status_code in (missing if may(row, role, method) else REFUSED), (role, method, parameter)
                assert answer.noted == events
                assert not [word for word in theirs.secrets if word in said(answer)], (role, method)


def said(answer: HttpResponse) -> str:
    """The answer's text without its own address, which it may repeat."""
    return answer.getvalue().decode(errors="replace").replace(answer.wsgi_request.path, "")


def names_of(world: World) -> list[str]:
    return [str(world.ids[thing]) for thing in ("corpus", "personas", "model", "own_model", "endpoint")]


def test_pages_of_an_account_need_one(worlds: tuple[World, World]) -> None:
    for name in sorted(table.ACCOUNT):
        answer = send(client_of("nobody", name), "GET", reverse(name))
        assert answer.status_code == 401 if name.startswith("api:") else is_log_in(answer)
        assert "herbs" not in said(send(client_of(table.MAKER, name), "GET", reverse(name)))


def test_administrators_pages_are_theirs(worlds: tuple[World, World]) -> None:
    make_account("root", is_superuser=True, is_staff=True)
    for space, name, _ in table.addresses():
        if space == "admin" and name.endswith("_changelist") or name == "index":
            path = reverse(f"admin:{name}")
            assert browser_of("root").get(path).status_code == 200
            for account in ("teas-owner", ""):
                client = browser_of(account) if account else Client()
                assert all(send(client, method, path).status_code == 302 for method in METHODS), name


@pytest.mark.parametrize("space", table.SIGNED)
def test_links_of_people_open_their_own_study_only(worlds: tuple[World, World], space: str) -> None:
    mine, theirs = worlds
    annotates = space == "annotation"
    person = person_of(theirs, annotates)
    token = sign_link(person.study.slug, person.pseudonym)
    ours = (mine.labelled if annotates else mine.study).slug
    words = {"number": 1, "page": 1, "slug": "animals", "item": theirs.ids["item"]}
    tried = 0
    for found, name, pattern in table.addresses():
        if found == space and "<str:token>" in pattern:
            given = {key: value for key, value in words.items() if f":{key}>" in pattern}
            for client in (Client(raise_request_exception=False), browser_of("teas-owner")):
                for method in METHODS:
                    answer = send(
                        client, method, reverse(f"{space}:{name}", kwargs={"study": ours, "token": token} | given)
                    )
                    assert answer.status_code in (404, 405), (name, method, answer.status_code)
                    tried += 1
    assert tried > 100


# --- ids in what is sent ------------------------------------------------------


def order(**changes: Any) -> dict[str, Any]:
    return {"condition": "offline", "endpoint": "teasendpoint", "repeats": 1, "dry_run": True} | changes


ASK = "/api/v1/studies/teas/people/teas-chats/"
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "endpoint of a run": ("/api/v1/studies/teas/runs/", order(endpoint="herbsendpoint")),
    "corpus of a run": ("/api/v1/studies/teas/runs/", order(condition="sp-history", corpus="herbs-chats")),
    "personas of a run": ("/api/v1/studies/teas/runs/", order(condition="sp-profile", personas="herbs-people")),
    "endpoint that is asked": (f"{ASK}ask/extract/", {"endpoint": "herbsendpoint"}),
    "prompts of others": (f"{ASK}ask/candidates/", {"endpoint": "teasendpoint", "prompts": "herbs"}),
    "embeddings of others": (f"{ASK}merge/", {"settings": {"endpoint": "herbsendpoint"}}),
    "items into another study": (f"{ASK}push/", {"settings": {"study": "herbs-labels"}}),
    "items from another corpus": ("/api/v1/studies/teas-labels/push/people/", {"source": "herbs-chats"}),
}


@pytest.mark.parametrize("what", BODIES)
def test_what_others_have_is_no_choice(worlds: tuple[World, World], what: str) -> None:
    address, body = BODIES[what]
    for account in ("teas-maker", "teas-owner"):
        answer = send(program_of(account), "POST", address, **body)
        assert answer.status_code == 400, answer.content
        assert not [word for word in worlds[1].secrets if word in said(answer).replace("herbsendpoint", "")]


@pytest.mark.parametrize("kind", ["corpora", "personas"])
def test_nobody_adds_to_what_others_have(worlds: tuple[World, World], kind: str) -> None:
    taken = {"corpora": "herbs-chats", "personas": "herbs-people"}[kind]
    about = {"name": taken, "source": "x", "licence": "x", "format": "wildchat", "filename": "x.jsonl", "size": "9"}
    about |= {"lines": "persona"}
    address = reverse("people:new-upload" if kind == "corpora" else "people:personas", args=["teas"])
    for account in ("teas-owner", "teas-maker"):
        answer = send(browser_of(account), "POST", address, **about)
        assert answer.status_code == 422 and "is taken, and only its owner adds to it" in said(answer)
    own = send(browser_of("teas-maker"), "POST", address, **about | {"name": taken.replace("herbs", "teas")})
    assert "is taken" not in said(own)


def test_sharing_goes_to_ones_own_studies_only(worlds: tuple[World, World]) -> None:
    address = partial(reverse, "sharing:share")(args=["teas", "corpus", "teas-chats"])
    with transaction.atomic():
        browser_of("teas-maker").post(address, {"studies": ["teas", "herbs"]})
        shared = Corpus.objects.get(name="teas-chats").shared_with.values_list("slug", flat=True)
        assert set(shared) == {"teas", "teas-labels"}
        transaction.set_rollback(True)
