"""What is quick because it is prepared is the same as what it stands for: pages, forms, what was read of a person."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.http import QueryDict
from django.test import Client, RequestFactory, override_settings

from surveys.middleware import read_form
from surveys.models import Draft, Flag, Participant, Place, Response
from surveys.participation import prepared
from surveys.participation import views as participation
from surveys.participation.statements import KNOWN, find_at_prompt
from surveys.participation.steps import address
from surveys.pasting import views as pasting
from surveys.pasting.capture import PasteSubmission, copy_hash, submit_paste
from surveys.studies.access import sign_link
from tests.factories import make_participant, make_response, make_study, prompt_of

pytestmark = pytest.mark.django_db
URLENCODED = "application/x-www-form-urlencoded"
TEXT = "\n".join(f"{n}. {tea}: one for every day of the week." for n, tea in enumerate(("Assam", "Mate", "Chai"), 1))


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    prepared.PAGES.clear()
    KNOWN.clear()


def without_keys(page: str) -> str:
    return re.sub(r'(name="(?:key|page)" value=")[^"]+', r"\1", page)


def rendered(path: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page as the template alone makes it."""
    with monkeypatch.context() as patch:
        for views in (pasting, participation):
            patch.setattr(views, "may_prepare", lambda request: False)
        return Client().get(path).text


@pytest.mark.parametrize("how", [{}, {"language": "de"}, {"origin": "preview"}, {"state": "pilot"}])
def test_prepared_pages_are_what_the_templates_make(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(how.pop("state", "live"))
    first, second = (make_participant(study, **how) for _ in range(2))
    for person in (first, second):
        paths = [address(person, "prompt", 1)]
        make_response(person, 0)
        paths += [address(person, "prompt", 2), address(person, "attention", "leaf")]
        make_response(person, 1)
        paths.append(address(person, "debrief"))
        for path in paths[1:]:
            assert without_keys(Client().get(path).text) == without_keys(rendered(path, monkeypatch)), path
    assert len(prepared.PAGES) >= 2


def test_prepared_page_of_a_first_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    for chatbot in ("chatgpt", "gemini"):
        path = address(make_participant(study, chatbot=chatbot), "prompt", 1)
        assert without_keys(Client().get(path).text) == without_keys(rendered(path, monkeypatch))
    assert len(prepared.PAGES) == 2


def test_prepared_page_holds_nothing_of_whoever_saw_it_first() -> None:
    study = make_study()
    first, second = make_participant(study), make_participant(study)
    pages = [Client().get(address(person, "prompt", 1)).text for person in (first, second)]
    assert len(prepared.PAGES) == 1
    kept = "".join(*prepared.PAGES.values())
    for person, page in zip((first, second), pages, strict=True):
        assert sign_link("teas", person.pseudonym) in page
        assert person.pseudonym not in kept and prepared.NOBODY not in page and prepared.SECRET not in page
    assert first.pseudonym not in pages[1]
    keys = [re.search(r'name="key" value="([^"]+)', page).group(1) for page in pages]
    assert keys[0] != keys[1]


def test_page_of_a_link_without_proof_or_with_more_in_its_address_is_not_prepared() -> None:
    person = make_participant()
    Client().get(address(person, "prompt", 1) + "?older=1")
    assert prepared.PAGES == {}


def test_what_was_read_of_a_person_holds_until_anything_of_them_changes() -> None:
    person = make_participant()
    number = person.order.index("teas") + 1
    read = find_at_prompt("teas", person.pseudonym, number, copy_hash(TEXT))
    window = find_at_prompt("teas", person.pseudonym, number, copy_hash(TEXT))
    for participant in (read, window):
        assert participant.standing.revisions == ()
    asked = prompt_of(person, "teas")
    assert submit_paste(read, PasteSubmission(asked, TEXT, keep=True)).revision == 1
    outcome = submit_paste(window, PasteSubmission(asked, TEXT + "\n4. Sencha", keep=True))
    assert (outcome.revision, outcome.older_page) == (2, True)  # it did not know of the first when it was read
    assert list(Response.objects.filter(participant=person).values_list("revision", flat=True)) == [1, 2]


def test_page_shows_what_another_process_did() -> None:
    client, person = Client(), make_participant()
    path = address(person, "prompt", 1)
    for words in ("1. Assam, from another window", "1. Sencha, from a third one"):
        client.get(path)
        known = dict(KNOWN)
        draft = {"step": f"prompt:{person.order[0]}", "text": words, "number": Draft.objects.count()}
        assert Client().post(address(person, "draft"), draft).status_code == 200
        KNOWN.update(known)  # as in a process that did not save it
        assert words in client.get(path).text
    known = dict(KNOWN)
    client.post(address(person, "stop"), {"how": "withdraw"})
    KNOWN.update(known)
    assert "withdrawn" in client.get(path).url
    assert "withdrawn" in client.post(path, {"text": "B", "key": str(uuid4())}, follow=True).redirect_chain[-1][0]
    assert Response.objects.count() == 0


def test_text_of_a_neighbour_is_noticed_whatever_was_known_before() -> None:
    study = make_study()
    first, second = make_participant(study), make_participant(study)
    number = second.order.index("teas") + 1
    read = find_at_prompt("teas", second.pseudonym, number, copy_hash(TEXT))
    make_response(first, "teas", text=TEXT)
    asked = prompt_of(second, "teas")
    assert submit_paste(read, PasteSubmission(asked, TEXT, keep=True)).accepted
    assert Flag.objects.filter(participant=second, check_name="same-as-other").exists()


def test_what_is_known_names_nobody_outside_their_study() -> None:
    person = make_participant()
    Client().get(address(person, "prompt", 1))
    assert person.pseudonym in repr(KNOWN)
    assert person.pid not in repr(KNOWN) and "consent" not in repr(KNOWN)


def test_answer_of_somebody_whose_place_is_gone_takes_another() -> None:
    person = make_participant()
    read = find_at_prompt("teas", person.pseudonym, 1, "")
    Place.objects.filter(participant=person).update(participant=None, expires_at=None)
    assert submit_paste(read, PasteSubmission(prompt_of(person, 0), "B", keep=True)).accepted
    assert Participant.objects.get(pk=person.pk).place.expires_at
    assert Response.objects.filter(participant=person).count() == 1


@pytest.mark.parametrize(
    "body",
    [
        b"text=a+b%2Bc&html=%3Cp%20style%3D%22x%22%3E%F0%9F%AB%96%3C%2Fp%3E&key=",
        b"text=1%0D%0A2%0d%0A%00&text=again&=nameless&bare&&a=b=c==",
        b"text=%C3%28%FF+raw=\xc3\xa9_?=&plus%2B=%25%3D%26",
        "text=ä".encode(),
    ],
)
def test_forms_are_read_as_django_reads_them(body: bytes) -> None:
    request = RequestFactory().post("/s/x/", body, content_type=URLENCODED)
    assert read_form(request) == QueryDict(body)


@pytest.mark.parametrize("body", [b"text=100%", b"text=%zz", b"text=%4", b"&".join([b"a=b"] * 600)])
def test_forms_that_no_browser_sends_are_left_to_django(body: bytes) -> None:
    assert read_form(RequestFactory().post("/s/x/", body, content_type=URLENCODED)) is None


def test_forms_of_another_kind_or_size_are_left_to_django() -> None:
    requests = RequestFactory()
    assert read_form(requests.post("/s/x/", {"text": "a"})) is None
    assert read_form(requests.post("/s/x/", b"text=a", content_type=f"{URLENCODED}; charset=latin-1")) is None
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=10):
        assert Client().post("/s/x/y/stop/", b"text=" + b"a" * 20, content_type=URLENCODED).status_code in (400, 413)


def test_participants_pages_have_the_policy_of_all_and_no_cookie() -> None:
    page = Client().get(address(make_participant(), "prompt", 1))
    assert page.headers["Content-Security-Policy"] == Client().get("/console/login/").headers["Content-Security-Policy"]
    assert not page.cookies and "Cookie" not in page.headers.get("Vary", "")
