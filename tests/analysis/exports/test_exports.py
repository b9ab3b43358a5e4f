"""The export gate: who may take what, what is recorded, and that the files hold what the screen counts."""

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

from analysis.exports import exports
from analysis.exports.exports import TABLES
from analysis.exports.formats import FORMATS
from analysis.exports.people_tables import Selection
from surveys.models import AuditEvent, Study
from surveys.studies import audit
from tests.factories import make_account, make_participant, make_response, make_study
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db
HOSTILE = "=1+1\n<script>alert(1)</script>\n\n- שלום 👩🏽‍🔬\n"


def make_collected() -> Study:
    study = make_study()
    make_response(make_participant(study), 0, HOSTILE, keep=True)
    make_participant(study, at="completed", origin="simulated")
    make_participant(study, at="completed", origin="preview")
    return study


world = lasting_world(make_collected)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.get()


def log_in(study: Study | None, role: str = "") -> Client:
    client = Client()
    client.force_login(make_account(role or "stranger", study, role))
    return client


def file_of(client: Client, study: Study, name: str, **query: str) -> bytes:
    table, kind = name.split(".")
    response = client.get(reverse("export:download", args=[study.slug, table, kind]), query)
    assert response.status_code == 200
    return b"".join(response.streaming_content)


def count_rows(content: bytes, kind: str, folder: Path) -> int:
    if kind == "csv":
        return len(list(csv.reader(io.StringIO(content.decode(), newline="")))) - 1
    if kind == "jsonl":
        return len(content.decode().splitlines())
    if kind == "parquet":
        return pq.read_table(io.BytesIO(content)).num_rows
    path = folder / "table.sav"
    path.write_bytes(content)
    return len(pyreadstat.read_sav(path)[0])


@pytest.mark.parametrize("kind", FORMATS)
def test_files_have_as_many_rows_as_the_page_says(study: Study, kind: str, tmp_path: Path) -> None:
    client = log_in(study, "viewer")
    page = client.get(reverse("export:page", args=[study.slug]))
    text, shown = page.content.decode(), page.context["counts"]
    for table in TABLES:
        assert f'data-rows="{table}">{shown[table]}<' in text
        assert count_rows(file_of(client, study, f"{table}.{kind}"), kind, tmp_path) == shown[table], table


def test_page_counts_those_who_were_asked_for(study: Study) -> None:
    client = log_in(study, "viewer")
    for query, people in (({}, 2), ({"preview": "1"}, 3), ({"simulated": "0"}, 1), ({"show": "1"}, 1)):
        page = client.get(reverse("export:page", args=[study.slug]), query)
        assert page.context["counts"]["participants"] == people


def test_text_arrives_to_the_letter(study: Study) -> None:
    client = log_in(study, "viewer")
    assert json.loads(file_of(client, study, "responses.jsonl").splitlines()[0])["text"] == HOSTILE
    row = next(csv.DictReader(io.StringIO(file_of(client, study, "responses.csv").decode(), newline="")))
    assert row["text"] == f"'{HOSTILE}"


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_passes_the_same_gate(study: Study, kind: str) -> None:
    address = reverse("export:download", args=[study.slug, "participants", kind])
    assert Client().get(address).status_code == 302
    assert log_in(None).get(address).status_code == 404
    assert log_in(study, "viewer").get(address).status_code == 200
    assert log_in(study, "researcher").get(address, {"pids": "1"}).status_code == 200
    viewer = Client()
    viewer.login(username="viewer", password="password")
    assert viewer.get(address, {"pids": "1"}).status_code == 403
    assert AuditEvent.objects.filter(action="exported").count() == 2


def test_unknown_table_and_format_are_not_found(study: Study) -> None:
    client = log_in(study, "owner")
    for name in (("passwords", "csv"), ("responses", "xlsx"), ("codebook", "exe")):
        assert client.get(reverse("export:download", args=[study.slug, *name])).status_code == 404


def test_export_is_noted_in_the_audit_trail(study: Study) -> None:
    file = file_of(log_in(study, "researcher"), study, "responses.csv", pids="1", preview="1")
    assert study.participants.first().pid.encode() in file
    event = AuditEvent.objects.filter(study=study).last()
    assert (event.actor, event.action, event.subject) == ("researcher", "exported", "responses.csv")
    assert event.detail == {"rows": 5, "pids": True, "pilot": False, "preview": True, "simulated": True}
    assert list(audit.find_breaks(study)) == []


def test_who_asks_for_the_head_alone_takes_nothing(study: Study) -> None:
    console = log_in(study, "researcher")
    token = Token.objects.create(user=make_account("script", study, "viewer"))
    api = Client(headers={"Authorization": f"Token {token.key}"})
    for client, site, table in ((console, "export", "download"), (api, "api", "export")):
        for name, *file in ((table, "responses", "csv"), ("everything",)):
            assert client.head(reverse(f"{site}:{name}", args=[study.slug, *file])).status_code == 405
    assert not AuditEvent.objects.filter(action="exported").exists()


def test_page_offers_pids_to_researchers_only(study: Study) -> None:
    address = reverse("export:page", args=[study.slug])
    assert b'name="pids"' not in log_in(study, "viewer").get(address).content
    client = log_in(study, "researcher")
    assert b'name="pids"' in client.get(address).content
    assert b"ids are in these files" not in client.get(address).content
    assert b"ids are in these files" in client.get(address, {"pids": "1"}).content


def test_download_names_its_file(study: Study) -> None:
    response = log_in(study, "viewer").get(reverse("export:download", args=[study.slug, "flags", "csv"]))
    assert response["Content-Disposition"] == 'attachment; filename="teas-flags.csv"'
    assert response["Content-Type"] == "text/csv; charset=utf-8"


def test_codebook_comes_to_read_and_as_json(study: Study) -> None:
    client = log_in(study, "viewer")
    text = client.get(reverse("export:codebook", args=[study.slug, "md"])).content.decode()
    document = client.get(reverse("export:codebook", args=[study.slug, "json"])).json()
    assert "| `text` | text, exactly as it was entered |" in text and "Recommend five teas." in text
    assert [table["name"] for table in document["tables"]] == list(TABLES)
    assert client.get(reverse("export:codebook", args=[study.slug, "pdf"])).status_code == 404


def test_token_is_made_replaced_and_taken_back(study: Study) -> None:
    client, address = log_in(study, "viewer"), reverse("export:token")
    first = client.post(address, {"what": "make"}).context["made"].key
    second = client.post(address, {"what": "make"}).context["made"].key
    assert first != second
    assert second.encode() not in client.get(address).content
    bearer = {"Authorization": f"Token {second}"}
    assert Client(headers=bearer).get(reverse("api:studies")).status_code == 200
    client.post(address, {"what": "delete"})
    assert Client(headers=bearer).get(reverse("api:studies")).status_code == 401


# --- the command ------------------------------------------------------------


def test_command_writes_every_table_in_every_format(study: Study, tmp_path: Path, capsys) -> None:
    call_command("export", study.slug, out=tmp_path, json=True)
    output = capsys.readouterr()
    report = json.loads(output.out)
    documents = {"codebook.md", "codebook.json", "MANIFEST.json"}
    names = {f"{table}.{kind}" for table in TABLES for kind in FORMATS} | documents
    assert {file["file"] for file in report["files"]} == names == {path.name for path in tmp_path.iterdir()}
    assert "responses.csv: 3 rows" in output.err
    frames = [pd.read_parquet(tmp_path / "responses.parquet"), pyreadstat.read_sav(tmp_path / "responses.sav")[0]]
    assert [frame["text"][0] for frame in frames] == [HOSTILE, HOSTILE]


def test_command_leaves_no_half_file(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "responses.csv").write_text("the export of yesterday")
    export = exports.begin_export(study, "tests", "responses", "csv", Selection())

    def broken_off(*_: object):
        yield next(rows(*_))
        raise ConnectionError("the database went away")

    rows = exports.stream_rows
    monkeypatch.setattr(exports, "stream_rows", broken_off)
    with pytest.raises(ConnectionError):
        exports.write_export(export, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["responses.csv"]
    assert (tmp_path / "responses.csv").read_text() == "the export of yesterday"


def test_command_names_the_studies_there_are_and_where_it_cannot_write(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no study coffees. Studies: teas."):
        call_command("export", "coffees", out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export", study.slug, out=tmp_path / "file")
