"""Prepared pages and forms, and the data read with them, are quick and equal to what they replace."""

import re
from typing import Any

import pytest
from django.test import Client, override_settings

from surveys.models import Flag, Participant, Place, Response
from surveys.participation import prepared
from surveys.participation import views as participation
from surveys.participation.pasting import views as pasting
from surveys.participation.pasting.capture import PasteSubmission, copy_hash, submit_paste
from surveys.participation.statements import find_at_prompt
from surveys.participation.steps import address
from surveys.studies.access import sign_link
from tests.factories import make_participant, make_response, make_study, pass_attention, prompt_of

pytestmark = pytest.mark.django_db
URLENCODED = "application/x-www-form-urlencoded"
TEXT = "\n".join(f"{n}. {tea}: one for every day of the week." for n, tea in enumerate(("Assam", "Mate", "Chai"), 1))


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    prepared.PAGES.clear()


def without_keys(page: str) -> str:
    """The page without what differs each time, and without the templates' indentation."""
    return re.sub(r"\n\s+", "\n", re.sub(r'(name="(?:key|page)" value=")[^"]+', r"\1", page))


def rendered(path: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page as the template renders it, with nothing prepared."""
    with monkeypatch.context() as patch:
        for views in (pasting, participation):
            patch.setattr(views, "may_prepare", lambda request: False)
        return Client().get(path).text


@pytest.mark.parametrize("how", [{}, {"language": "de"}, {"origin": "preview"}, {"state": "pilot"}])
def test_prepared_pages_are_what_the_templates_make(how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(how.pop("state", "live"))
    first, second = (make_participant(study, **how) for _ in range(2))
    for person in (first, second):
        make_response(person, 0)
        make_response(person, 1)
        for path in (address(person, "prompt", 2), address(person, "attention", "leaf"), address(person, "debrief")):
            if path == address(person, "debrief"):
                pass_attention(person)
            assert without_keys(Client().get(path).text) == without_keys(rendered(path, monkeypatch)), path
    assert len(prepared.PAGES) >= 2


@pytest.mark.parametrize(("at", "step"), [("context", ("context",)), ("prompts", ("prompt", 1))])
def test_prepared_page_before_the_first_answer(at: str, step: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study()
    for chatbot in ("chatgpt", "gemini"):
        path = address(make_participant(study, at=at, chatbot=chatbot), *step)
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


def test_text_of_a_neighbour_is_noticed_whatever_was_known_before() -> None:
    study = make_study()
    first, second = make_participant(study), make_participant(study)
    number = second.order.index("teas") + 1
    read = find_at_prompt("teas", second.pseudonym, number, copy_hash(TEXT))
    make_response(first, "teas", text=TEXT)
    asked = prompt_of(second, "teas")
    assert submit_paste(read, PasteSubmission(asked, TEXT, keep=True)).accepted
    assert Flag.objects.filter(participant=second, check_name="same-as-other").exists()


def test_answer_of_somebody_whose_place_is_gone_takes_another() -> None:
    person = make_participant()
    read = find_at_prompt("teas", person.pseudonym, 1, "")
    Place.objects.filter(participant=person).update(participant=None, expires_at=None)
    assert submit_paste(read, PasteSubmission(prompt_of(person, 0), "B", keep=True)).accepted
    assert Participant.objects.get(pk=person.pk).place.expires_at
    assert Response.objects.filter(participant=person).count() == 1


def test_a_form_that_is_too_large_is_refused() -> None:
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=10):
        assert Client().post("/s/x/y/stop/", b"text=" + b"a" * 20, content_type=URLENCODED).status_code in (400, 413)


def test_participants_pages_have_the_policy_of_all_and_no_cookie() -> None:
    page = Client().get(address(make_participant(), "prompt", 1))
    assert page.headers["Content-Security-Policy"] == Client().get("/console/login/").headers["Content-Security-Policy"]
    assert not page.cookies and "Cookie" not in page.headers.get("Vary", "")
