"""One zip file holds every table, its first lines of code run on it, and its progress can be asked for."""

import io
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from django.contrib.auth.models import User
from django.http import Http404
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token

from analysis.exports.everything import followed, open_everything, progress_of
from analysis.exports.exports import ANNOTATION_TABLES, TABLES, codebook_of, count_tables
from analysis.exports.first_lines import LINES, first_lines
from analysis.exports.people_tables import Selection
from analysis.exports.views import EXAMPLE_FILES, EXAMPLES
from surveys.models import AuditEvent, Study
from tests.analysis.exports.exported import make_judged
from tests.analysis.exports.test_answer_tables import FIVE, correct, make_world
from tests.factories import make_account
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db
DOCUMENTS = ("codebook.md", "codebook.json", "MANIFEST.json")
NAMES = sorted([*TABLES, *ANNOTATION_TABLES])
world = lasting_world(make_world)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)


@pytest.fixture
def client(study: Study) -> Client:
    client = Client()
    client.force_login(make_account("ada", study, "viewer"))
    return client


def unpack(study: Study, folder: Path, kind: str = "csv") -> list[str]:
    made = open_everything(make_account("ada", study, "viewer"), study.slug, kind, Selection())
    with zipfile.ZipFile(io.BytesIO(b"".join(made.chunks()))) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
        return archive.namelist()


def test_everything_has_each_table_in_each_format_and_the_codebook(study: Study, tmp_path: Path) -> None:
    names = unpack(study, tmp_path, "all")
    kinds = ("csv", "jsonl", "parquet", "sav")
    assert sorted(names) == sorted([*DOCUMENTS, *(f"{k}/{t}.{k}" for k in kinds for t in TABLES)])
    counts, _ = count_tables(study, codebook_of(study).tables, Selection())
    assert {name: len(pd.read_parquet(tmp_path / f"parquet/{name}.parquet")) for name in TABLES} == counts
    event = AuditEvent.objects.latest("pk")
    told = (event.action, event.subject, event.detail["rows"])
    assert told == ("exported", "everything.zip", 4 * sum(counts.values()))


def test_everything_passes_the_same_gate_by_page_and_api(study: Study) -> None:
    viewer, stranger = make_account("ada", study, "viewer"), make_account("eve")
    for name in ("export:everything", "api:everything"):
        address = reverse(name, args=[study.slug])
        for who, query, status in (
            (viewer, {}, 200),
            (viewer, {"pids": "1"}, 403),
            (viewer, {"format": "exe"}, 404 if name == "export:everything" else 400),
            (stranger, {}, 404),
        ):
            token = Token.objects.get_or_create(user=who)[0].key
            client = Client(headers={"Authorization": f"Token {token}"})
            client.force_login(who)
            assert client.get(address, query).status_code == status
    with pytest.raises(Http404):
        open_everything(stranger, study.slug, "csv", Selection())


def test_page_is_told_how_far_it_is_and_when_it_is_done(study: Study, client: Client) -> None:
    user = User.objects.get(username="ada")
    page = reverse("export:progress", args=[study.slug])
    assert "formdata from:#everything" in client.get(reverse("export:page", args=[study.slug])).text
    assert 'hx-trigger="load delay:1s"' in client.get(page).text and "tries=8" in client.get(page, {"tries": "7"}).text
    assert "formdata from:#everything" in client.get(page, {"tries": "15"}).text
    made = open_everything(user, study.slug, "csv", Selection())
    pieces = followed(made, user)
    next(pieces)
    assert (progress_of(study, user) or {})["of"] == made.rows
    assert 'hx-trigger="every 1s"' in client.get(page).text
    list(pieces)
    assert f"Sent: {made.rows} rows." in client.get(page).text
    broken = followed(made, user)
    next(broken)
    broken.close()
    assert progress_of(study, user) is None


def test_page_ticks_what_is_of_use_and_has_every_file_in_the_chosen_format(study: Study, client: Client) -> None:
    for query, kind in (({}, "parquet"), ({"format": "sav"}, "sav"), ({"format": "exe"}, "parquet")):
        sent = client.get(reverse("export:page", args=[study.slug]), query)
        page, counts = sent.text, sent.context["counts"]
        assert {kind} == {*re.findall(r"/export/[a-z_]+\.(\w+)\"\s+data-table", page)}
    ticked = re.findall(r'value="(\w+)"[^>]*data-rows-of="(\d+)"[^>]*checked', page)
    assert ("responses", str(counts["responses"])) in ticked and all(int(rows) for _, rows in ticked)
    page = client.get(reverse("export:page", args=[study.slug]), {"table": ["flags", "secrets"], "pilot": "1"})
    assert page.context["ticked"] == ["flags"]
    assert re.search(r'name="pilot" value="1"\s+checked', page.text)


def test_zip_has_the_ticked_tables_and_the_trail_names_them(study: Study, client: Client) -> None:
    address = reverse("export:everything", args=[study.slug])
    sent = client.get(address, {"show": "1", "format": "jsonl", "table": ["prompts", "responses"]})
    with zipfile.ZipFile(io.BytesIO(sent.getvalue())) as archive:
        assert sorted(archive.namelist()) == sorted([*DOCUMENTS, "prompts.jsonl", "responses.jsonl"])
    event = AuditEvent.objects.latest("pk")
    assert (event.subject, event.detail["tables"]) == ("tables.zip", ["responses", "prompts"])
    assert event.detail["simulated"] is False  # the form was sent with that box unticked
    assert client.get(address, {"table": "secrets"}).status_code == 404


def test_notebook_and_client_are_those_of_the_examples(study: Study, client: Client) -> None:
    for name in EXAMPLE_FILES:
        sent = client.get(f"/console/{study.slug}/export/{name}")
        assert sent.content == (EXAMPLES / name).read_bytes() and name in sent["Content-Disposition"]


# --- first lines ---------------------------------------------------------------


def test_every_table_has_first_lines_of_at_most_ten() -> None:
    assert sorted(LINES) == NAMES
    for name in NAMES:
        assert all(len(lines.splitlines()) <= 10 for lines in first_lines(name).values())


@pytest.fixture
def files(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every table of a study of teas and of a study of annotators, as CSV and Parquet."""
    correct(study, FIVE, out=("Oolong",))
    for of, tables in ((study, TABLES), (make_judged(), ANNOTATION_TABLES)):
        made = open_everything(make_account(f"ada-{of.slug}", of, "viewer"), of.slug, "all", Selection())
        with zipfile.ZipFile(io.BytesIO(b"".join(made.chunks()))) as archive:
            for kind in ("csv", "parquet"):
                for name in tables:
                    (tmp_path / f"{name}.{kind}").write_bytes(archive.read(f"{kind}/{name}.{kind}"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_first_lines_in_pandas_run_on_real_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        exec(compile(first_lines(name)["pandas"], f"{name}.py", "exec"), {})
        assert capsys.readouterr().out.strip(), name
    exec(first_lines("mentions")["pandas"], {})
    assert re.search(r"field +assam +4$", capsys.readouterr().out, re.M)


def test_first_lines_in_r_name_columns_that_are_there(study: Study) -> None:
    tables = codebook_of(study).tables | codebook_of(make_judged()).tables
    for name in NAMES:
        lines = first_lines(name)["r"]
        assert f'{name} <- read.csv("{name}.csv"' in lines
        used = {*re.findall(r"\w\$(\w+)", lines)}
        for listed in re.findall(r", c\(([^)]*)\)", lines):
            used |= {*re.findall(r'"(\w+)"', listed)}
        assert used and used <= {column.name for column in tables[name].columns}, name


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed: first lines in R are not run")
def test_first_lines_in_r_run_on_real_files(files: Path) -> None:
    for name in NAMES:
        done = subprocess.run(["Rscript", "-e", first_lines(name)["r"]], capture_output=True, text=True, cwd=files)
        assert (done.returncode, bool(done.stdout.strip())) == (0, True), f"{name}: {done.stderr}"
