"""Times outside the years that Python knows, which earlier versions imported, hide no row and no page."""

import csv
import io
from datetime import datetime
from pathlib import Path

import pytest

from analysis.exports.exports import codebook_of, stream_rows
from analysis.exports.formats import FORMATS
from analysis.exports.people_tables import Selection
from surveys.models import Participant, Study
from surveys.studies.imports import responses
from surveys.studies.imports.responses import import_responses
from tests.factories import make_study
from tests.surveys.console.console_pages import log_in

pytestmark = pytest.mark.django_db
READ = {
    "0001-01-01T00:00:00+14:00": "0001-01-01T00:00:00+00:00",
    "2026-05-31T14:05:00+02:00": "2026-05-31T12:05:00+00:00",
    "9999-12-31T23:59:59-12:00": "9999-12-31T23:59:59.999999+00:00",
}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(responses, "_parse_time", datetime.fromisoformat)  # as earlier versions did
    file = tmp_path / "responses.csv"
    rows = [f"P{number},gemini,teas,Assam,{time}" for number, time in enumerate(READ)]
    file.write_text("\n".join(["participant,chatbot,prompt,text,submitted_at", *rows]), encoding="utf-8")
    study = make_study()
    import_responses(study, file, "tests")
    return study


def test_every_table_has_all_rows_in_every_format(study: Study) -> None:
    for name, table in codebook_of(study).tables.items():
        files = {
            kind: b"".join(known.chunks(table.columns, stream_rows(study, table, Selection())))
            for kind, known in FORMATS.items()
        }
        if name == "responses":
            rows = csv.DictReader(io.StringIO(files["csv"].decode()))
            assert [row["submitted_at"] for row in rows] == [*READ.values()]


def test_pages_show_these_people(study: Study) -> None:
    client = log_in(study, "researcher")
    names = list(Participant.objects.values_list("pseudonym", flat=True))
    for page in ("", "participants/", "flow/", "answers/", "export/", *(f"participants/{name}/" for name in names)):
        assert client.get(f"/console/{study.slug}/{page}").status_code == 200, page
