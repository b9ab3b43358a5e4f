"""Notes on people, answers and versions: shown beside them, changed only by their author, erased with them."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from analysis.answers.readings import read_new
from analysis.exports.exports import codebook_of, count_rows, stream_rows
from analysis.exports.people_tables import Selection
from analysis.models import Answer
from analysis.report.bundle.bundles import EXPORTED
from surveys.models import AuditEvent, Note, Participant
from surveys.participation import recruitment
from tests.factories import make_account, make_participant, make_response, make_study
from tests.roles import as_account, make_roles

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> Participant:
    study = make_study(places=9)
    make_roles(study)
    make_account("eve", study, "researcher")
    person = make_participant(study)
    make_response(person, "teas", "1. Assam", keep=True)
    return person


def write(client: Client, kind: str, key: int, text: str, back: str = "/console/teas/setup/") -> str:
    answer = client.post(reverse("console:write-note", args=["teas", kind, key]), {"text": text, "back": back})
    assert answer.status_code == 302
    return answer["Location"]


def test_each_stands_where_the_thing_is_shown(person: Participant) -> None:
    read_new(person.study)
    response, version = person.responses.get(), person.study.current
    client = as_account("researcher")
    pages = {
        "participant": reverse("console:participant", args=["teas", person.pseudonym]),
        "response": reverse("answers:answer", args=["teas", Answer.objects.get().pk]),
        "version": reverse("console:version", args=["teas", 1]),
    }
    things = {"participant": person.pk, "response": response.pk, "version": version.pk}
    for kind, page in pages.items():
        assert write(client, kind, things[kind], f"<b>About the {kind}</b>", page) == page
    shown = {kind: as_account("viewer").get(page).content.decode() for kind, page in pages.items()}
    assert all(f"&lt;b&gt;About the {kind}&lt;/b&gt;" in page for kind, page in shown.items())
    assert "About the response" in shown["participant"] and "revision 1" in shown["participant"]
    assert "About the participant" not in shown["response"]
    assert "About the version" in as_account("viewer").get("/console/teas/setup/").content.decode()
    assert all("Write a note" not in page for page in shown.values())
    Participant.objects.update(pilot=True)
    for page in (pages["participant"], pages["version"]):
        assert "About the" not in as_account("blinded").get(page).content.decode()


def test_only_its_author_changes_or_deletes_it(person: Participant) -> None:
    write(as_account("researcher"), "participant", person.pk, "Wrote to them.")
    note = Note.objects.get()
    address = reverse("console:change-note", args=["teas", note.pk])
    for name in ("eve", "owner"):
        assert as_account(name).post(address, {"text": "Other words."}).status_code == 404
    as_account("researcher").post(address, {"text": "Wrote twice."})
    note.refresh_from_db()
    assert (note.text, note.author.username) == ("Wrote twice.", "researcher") and note.changed_at
    for text in ("", "  \n", "\x00"):
        said = as_account("researcher").post(address, {"text": text}, follow=True).content.decode()
        assert "The note is empty." in said and Note.objects.get().text == "Wrote twice."
    as_account("researcher").post(address, {"delete": "1"})
    assert not Note.objects.exists() and not AuditEvent.objects.filter(actor="researcher").exists()


@pytest.mark.parametrize("text", ["", "  ", "\x00", "x" * 1001])
def test_empty_and_long_ones_are_refused(person: Participant, text: str) -> None:
    write(as_account("researcher"), "participant", person.pk, text)
    assert not Note.objects.exists()


def test_form_leads_to_no_other_site_and_notes_nothing_of_another_study(person: Participant) -> None:
    client = as_account("researcher")
    for back in ("https://example.org/console/teas/", "//example.org", "/console/herbs/", ""):
        assert write(client, "participant", person.pk, "Fine.", back) == "/console/teas/"
    other = make_participant(make_study(slug="herbs"))
    for kind, key in (("participant", other.pk), ("version", other.version_id), ("people", person.pk)):
        address = reverse("console:write-note", args=["teas", kind, key])
        assert client.post(address, {"text": "Mine."}).status_code == 404
    assert Note.objects.count() == 4


def test_export_has_notes_about_whom_it_is_about(person: Participant) -> None:
    client, response = as_account("researcher"), person.responses.get()
    for kind, key in {"participant": person.pk, "response": response.pk, "version": person.version_id}.items():
        write(client, kind, key, f"About the {kind}.")
    table = codebook_of(person.study).tables["notes"]
    found = [
        (row["participant"], row["prompt"], row["revision"], row["version"], row["text"], row["author"])
        for row in stream_rows(person.study, table, Selection())
    ]
    name = person.pseudonym
    assert found == [
        (name, None, None, None, "About the participant.", "researcher"),
        (name, "teas", 1, None, "About the response.", "researcher"),
        (None, None, None, 1, "About the version.", "researcher"),
    ]
    Participant.objects.update(pilot=True)
    for selection, n in ((Selection(), 1), (Selection(pilot=True), 3)):
        assert count_rows(person.study, table, selection) == n
    assert "notes" not in EXPORTED


def test_note_is_about_one_thing(person: Participant) -> None:
    author = person.study.memberships.get(user__username="eve").user
    for about in ({}, {"participant": person, "version": person.version}):
        with pytest.raises(IntegrityError, match="note_about_one_thing"), transaction.atomic():
            Note.objects.create(study=person.study, author=author, text="Fine.", **about)


def test_withdrawing_and_the_database_itself_erase_notes(person: Participant) -> None:
    response = make_response(make_participant(person.study), "teas", "1. Assam", keep=True)
    for kind, key in (("participant", person.pk), ("response", person.responses.get().pk), ("response", response.pk)):
        write(as_account("researcher"), kind, key, "Fine.")
    recruitment.withdraw(person)
    assert Note.objects.get().response == response
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT confrelid::regclass::text, confdeltype FROM pg_constraint WHERE contype = 'f' "
            "AND conrelid = 'surveys_note'::regclass AND confdeltype = 'c' ORDER BY 1"
        )
        assert cursor.fetchall() == [("surveys_participant", "c"), ("surveys_response", "c")]
