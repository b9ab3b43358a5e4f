"""The audit trail against the tables' owner: any tampering shows, in the chain itself or against an export."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client

from analysis.exports.everything import open_everything
from analysis.exports.people_tables import Selection
from surveys.models import AuditEvent, Study
from surveys.models.hashes import fingerprint
from surveys.studies import audit
from tests.factories import make_account, make_study
from tests.lasting import database_before

pytestmark = pytest.mark.django_db
KEY, OTHER = "a" * 16 + "0123456789abcdef", "b" * 16 + "0123456789abcdef"


def make_trail(events: int = 6) -> Study:
    study = make_study()  # created and launched: two events
    for number in range(3, events + 1):
        audit.record(study, "ada", "noted", f"note {number}")
    return study


@pytest.fixture
def study() -> Study:
    return make_trail()


def tamper(statement: str, *values: object) -> None:
    """Change the audit events as the tables' owner can, past the triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE surveys_auditevent DISABLE TRIGGER USER")
        cursor.execute(statement, values)
        cursor.execute("ALTER TABLE surveys_auditevent ENABLE TRIGGER USER")


def edit(study: Study, number: int, subject: str = "never happened") -> None:
    tamper("UPDATE surveys_auditevent SET subject = %s WHERE study_id = %s AND number = %s", subject, study.pk, number)


def hash_again(study: Study, since: int, by_key: bool = False, unsigned: bool = False) -> None:
    """Recompute all later hashes: as plain SHA-256, or as somebody with the key can."""
    previous = None
    for event in AuditEvent.objects.filter(study=study, number__gte=since).order_by("number"):
        event.previous = previous or event.previous
        event.key = "" if unsigned else event.key
        previous = audit.event_hash(event) if by_key else fingerprint(audit.content_of(event))
        set_to = "UPDATE surveys_auditevent SET previous = %s, key = %s, sha256 = %s WHERE id = %s"
        tamper(set_to, event.previous, event.key, previous, event.pk)


def cut(study: Study, after: int) -> None:
    tamper("DELETE FROM surveys_auditevent WHERE study_id = %s AND number > %s", study.pk, after)


def verify(*words: str) -> tuple[dict, str]:
    """The command's JSON output, and the error it ends with."""
    out = io.StringIO()
    try:
        call_command("verify_audit", *words, "--json", stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue() or "{}"), str(error)
    return json.loads(out.getvalue()), ""


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Study, Path]:
    study = make_trail()
    call_command("export", study.slug, out=tmp_path, tables=["flow"], formats=["csv"])
    audit.record(study, "ada", "noted", "after the export")
    return study, tmp_path


# --- what the database refuses ---------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        *("auditevent", "response", "studyversion", "prompt", "place"),
        *("readback", "history", "annotationitem", "annotation", "slot", "gatedecision", "gateverdict"),
    ],
)
def test_owner_of_the_tables_cannot_empty_them(table: str) -> None:
    make_trail()
    for statement in (f"TRUNCATE surveys_{table} CASCADE", "TRUNCATE surveys_study CASCADE"):
        with pytest.raises(IntegrityError, match="is never emptied"), transaction.atomic(), connection.cursor() as c:
            c.execute("SET CONSTRAINTS ALL IMMEDIATE")
            c.execute(statement)
    assert AuditEvent.objects.count() == 6


@pytest.mark.parametrize("statement", ["UPDATE surveys_auditevent SET subject = 'x'", "DELETE FROM surveys_auditevent"])
def test_events_are_neither_changed_nor_deleted(statement: str) -> None:
    make_trail()
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


# --- what the chain shows by itself ------------------------------------------------


def test_events_are_signed_and_an_edit_is_found(study: Study) -> None:
    assert {event.key for event in study.audit_events.all()} == {audit.signing_key()}
    assert list(audit.find_breaks(study)) == []
    edit(study, 4)
    assert list(audit.find_breaks(study)) == ["event 4 (noted) was changed after it was written"]


def test_edit_with_all_later_hashes_recomputed_is_found(study: Study) -> None:
    edit(study, 4)
    hash_again(study, since=4)
    said = "was hashed again without the key"
    assert list(audit.find_breaks(study)) == [f"event {number} (noted) {said}" for number in (4, 5, 6)]


@pytest.mark.parametrize("since", [1, 4])
def test_edit_made_to_look_like_events_from_before_signing_is_found(study: Study, since: int) -> None:
    edit(study, 4)
    hash_again(study, since=since, unsigned=True)
    assert list(audit.find_breaks(study))[-1] == "event 6, the newest, is not signed"
    audit.record(study, "ada", "noted", "what comes next does not heal it")
    assert list(audit.find_breaks(study))[-1] == "event 7 (noted) is signed, though the one before it is not"


# --- what an export or a bundle shows -----------------------------------------------


def test_chain_that_went_on_since_fits(exported: tuple[Study, Path]) -> None:
    study, folder = exported
    for path in (folder, folder / "MANIFEST.json"):
        found, error = verify(study.slug, "--against", str(path))
        assert (found["holds"], found["breaks"], error) == (True, [], "")
    assert found["events"] == 8 and found["head"] == AuditEvent.objects.latest("number").sha256
    assert verify("--against", str(folder))[0]["study"] == study.slug


def test_truncated_newest_events_are_found_against_an_export(exported: tuple[Study, Path]) -> None:
    study, folder = exported
    cut(study, after=5)
    assert verify(study.slug)[0]["holds"]  # by itself a chain does not know how long it was
    found, error = verify(study.slug, "--against", str(folder))
    assert found["breaks"] == ["events are gone at the end: there were 7, and there are 5"]
    assert "does not hold" in error


def test_truncated_events_with_others_in_their_place_are_found(exported: tuple[Study, Path]) -> None:
    study, folder = exported
    cut(study, after=5)
    for number in range(3):
        audit.record(study, "eve", "noted", f"in its place {number}")
    assert verify(study.slug)[0]["holds"]
    said = "events up to 7 are gone, and others that were written later stand in their place"
    assert verify(study.slug, "--against", str(folder))[0]["breaks"] == [said]


def test_edit_hashed_again_with_the_key_is_found_against_an_export(exported: tuple[Study, Path]) -> None:
    study, folder = exported
    edit(study, 4)
    hash_again(study, since=4, by_key=True)
    assert verify(study.slug)[0]["holds"]
    said = "event 7 has another hash than it had: it or one before it was changed, and all hashed again"
    assert verify(study.slug, "--against", str(folder))[0]["breaks"] == [said]


def test_zip_of_everything_says_how_the_trail_stood(study: Study, tmp_path: Path) -> None:
    made = open_everything(make_account("ada", study, "viewer"), study.slug, "csv", Selection())
    path = tmp_path / "everything.zip"
    path.write_bytes(b"".join(made.chunks()))
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("MANIFEST.json"))
        assert {line["name"] for line in manifest["files"]} == {*archive.namelist()} - {"MANIFEST.json"}
    last = AuditEvent.objects.latest("number")
    assert manifest["audit"] == {"events": 7, "head": last.sha256, "at": last.at.isoformat()}
    assert verify("--against", str(path))[0]["holds"]
    cut(study, after=6)
    assert not verify("--against", str(path))[0]["holds"]


def test_single_table_says_so_in_its_headers(client: Client, study: Study) -> None:
    client.force_login(make_account("ada", study, "viewer"))
    answer = client.get(f"/console/{study.slug}/export/flow.csv")
    last = AuditEvent.objects.latest("number")
    assert (answer["X-Audit-Events"], answer["X-Audit-Head"]) == ("7", last.sha256)


WITH_TIME = '{"study": "teas", "audit": {"events": %s, "head": "", "at": "2026-01-01T00:00:00%s"}}'


@pytest.mark.parametrize(
    "content",
    [
        *(None, "{", "[]", '{"study": "teas"}', '{"study": "teas", "audit": {"events": 1}}'),
        *(WITH_TIME % (1, ""), WITH_TIME % ("1e999", "Z")),
    ],
)
def test_file_that_says_nothing_of_the_trail_is_refused(content: str | None, tmp_path: Path) -> None:
    make_trail()
    if content is not None:
        (tmp_path / "MANIFEST.json").write_text(content)
    assert "MANIFEST.json" in verify("--against", str(tmp_path))[1]


@pytest.mark.parametrize("at", [6, 43])
def test_damaged_zip_is_refused(at: int, tmp_path: Path) -> None:
    make_trail()
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("MANIFEST.json", WITH_TIME % (1, "Z"))
    content = bytearray(path.read_bytes())
    content[at] ^= 1 if at == 6 else 0xFF  # the flag of encryption, or a byte of the packed file
    if at == 6:
        content[content.index(b"PK\1\2") + 8] ^= 1
    path.write_bytes(content)
    assert "MANIFEST.json" in verify("--against", str(path))[1]


def test_export_of_another_study_is_refused(exported: tuple[Study, Path]) -> None:
    make_study(slug="coffees")
    assert "is of teas, not of coffees" in verify("coffees", "--against", str(exported[1]))[1]


# --- all studies -----------------------------------------------------------------------


def test_all_chains_are_verified_without_a_study(client: Client) -> None:
    teas, coffees = make_trail(), make_study(slug="coffees")
    found, error = verify()
    assert [(row["study"], row["holds"]) for row in found["studies"]] == [("coffees", True), ("teas", True)]
    health = client.get("/healthz").json()["audit"]
    assert (error, health) == ("", {"events": 8, "head": found["head"]})
    audit.record(coffees, "ada", "noted")
    assert client.get("/healthz").json()["audit"]["head"] != health["head"]
    edit(teas, 4)
    found, error = verify()
    assert not found["holds"] and error == "The chain does not hold of teas."


# --- keys ------------------------------------------------------------------------------


@pytest.fixture
def keyed(settings) -> Iterator:
    settings.AUDIT_KEY, settings.AUDIT_KEY_FALLBACKS, settings.SECRET_KEY_FALLBACKS = "", [], []
    yield settings


def test_changed_secret_key_is_said_and_its_fallback_verifies(keyed, study: Study) -> None:
    before = keyed.SECRET_KEY
    old = audit.signing_key()
    keyed.SECRET_KEY = OTHER
    audit.record(study, "ada", "noted", "under the new key")
    (said,) = audit.find_breaks(study)
    assert said.startswith(f"6 event(s), from 1 to 6, cannot be verified without key {old}: name it in")
    keyed.SECRET_KEY_FALLBACKS = [before]
    assert list(audit.find_breaks(study)) == []


def test_audit_key_stands_on_its_own_and_is_changed_with_a_fallback(keyed) -> None:
    study = make_trail(3)
    keyed.AUDIT_KEY = KEY
    audit.record(study, "ada", "noted", "under a key of its own")
    assert list(audit.find_breaks(study)) == []  # what SECRET_KEY signed before is still known
    keyed.AUDIT_KEY, keyed.AUDIT_KEY_FALLBACKS = OTHER, [KEY]
    audit.record(study, "ada", "noted", "under the next")
    assert len({*study.audit_events.values_list("key", flat=True)}) == 3
    assert list(audit.find_breaks(study)) == []
    keyed.AUDIT_KEY_FALLBACKS = []
    assert len(list(audit.find_breaks(study))) == 1


# --- databases from before ---------------------------------------------------------------


@pytest.fixture
def from_before() -> Iterator[None]:
    """A separate, migrated database with a chain as earlier versions wrote it."""
    with database_before("audit_before_signing", "surveys", "0009"):
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO surveys_study (id, slug, title, state, created_at) VALUES (7, 'old', '', 'draft', now())"
            )
            previous = audit.FIRST
            for number in (1, 2, 3):
                event = AuditEvent(
                    study_id=7, number=number, actor="ada", action="noted", detail={"n": 1}, previous=previous
                )
                previous = fingerprint(audit.content_of(event))
                cursor.execute(
                    "INSERT INTO surveys_auditevent (study_id, number, at, actor, action, subject, detail, previous,"
                    " sha256) VALUES (7, %s, %s, 'ada', 'noted', '', '{\"n\": 1}', %s, %s)",
                    [number, event.at, event.previous, previous],
                )
        call_command("migrate", verbosity=0)
        yield


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_chain_from_before_verifies_and_is_signed_from_there_on(from_before: None) -> None:
    study = Study.objects.get()
    assert list(audit.find_breaks(study)) == []
    signed = study.audit_events.last()
    assert (signed.number, signed.action, signed.detail) == (4, audit.SIGNED, {"events": 3})
    audit.record(study, "ada", "noted", "since then")
    assert list(audit.find_breaks(study)) == []
    edit(study, 2)
    hash_again(study, since=2, unsigned=True)
    assert "event 5, the newest, is not signed" in list(audit.find_breaks(study))
