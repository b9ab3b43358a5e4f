"""An export of responses is imported as it is: the same answers again, and nothing counts that did not."""

from pathlib import Path

import pytest

from analysis.exports.exports import codebook_of, stream_rows
from analysis.exports.formats import csv_chunks
from analysis.exports.people_tables import Selection
from surveys.models import Participant, Study
from surveys.participation import recruitment
from surveys.studies.imports.files import ImportFault
from surveys.studies.imports.responses import import_responses
from tests.factories import advance, make_participant, make_response, make_study, pass_attention

pytestmark = pytest.mark.django_db
FORMULA = "=1+1\n\n'quoted', \"twice\""


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "responses.csv"


def write_export(study: Study, file: Path, **chosen: bool) -> Path:
    selection = Selection(**chosen)
    table = codebook_of(study, selection.pids).tables["responses"]
    file.write_bytes(b"".join(csv_chunks(table.columns, stream_rows(study, table, selection))))
    return file


def faults_of(study: Study, path: Path) -> list[str]:
    with pytest.raises(ImportFault) as raised:
        import_responses(study, path, "tests")
    return [str(fault) for fault in raised.value.faults]


@pytest.mark.parametrize("pids", [False, True])
def test_an_export_becomes_the_same_answers_of_another_study(study: Study, file: Path, pids: bool) -> None:
    person = make_participant(study, chatbot="gemini")
    texts = {"teas": FORMULA, "water": "'-C"}
    for slug, text in texts.items():
        make_response(person, slug, text, keep=True)
    recruitment.complete(advance(pass_attention(person), Participant.Step.DEBRIEF))
    other = make_study(slug="other")
    done = import_responses(other, write_export(study, file, pids=pids), "tests")
    assert vars(done) == {"participants": 1, "responses": 2, "skipped": 0}
    imported = Participant.objects.get(study=other)
    assert (imported.pid, imported.answers) == (person.pseudonym, {"chatbot": "gemini"})
    assert (imported.cell.slug, imported.order) == (person.cell.slug, person.order)
    assert {answer.prompt.slug: answer.text for answer in imported.responses.all()} == texts
    assert import_responses(other, file, "tests").skipped == 2


def test_an_export_does_not_make_count_what_did_not(study: Study, file: Path) -> None:
    make_participant(study, at="completed", origin="simulated")
    pilot = make_participant(study, at="completed")
    Participant.objects.filter(pk=pilot.pk).update(pilot=True)
    gone = make_participant(study)
    make_response(gone, "teas")
    recruitment.stop(gone, Participant.State.RETURNED, "made by a test")
    words = "but imported people count as real, completed and not of a pilot; leave the row out"
    faults = faults_of(make_study(slug="other"), write_export(study, file, pilot=True))
    told = ["origin is 'simulated'"] * 2 + ["pilot is 'true'"] * 2 + ["state is 'returned'"]
    assert [fault.split(": ", 1)[1] for fault in faults] == [f"{what}, {words}" for what in told]


def test_an_export_of_the_study_itself_does_not_double_its_people(study: Study, file: Path) -> None:
    person = make_participant(study, at="completed")
    words = f"line 2: {person.pseudonym} is a label of this study; their answers are here already"
    assert faults_of(study, write_export(study, file)) == [words]


def test_columns_about_people_of_other_files_stay_what_they_are(study: Study, file: Path) -> None:
    file.write_text("participant,chatbot,prompt,text,state,kind\nP1,gemini,teas,Assam,Ohio,new\n", encoding="utf-8")
    import_responses(study, file, "tests")
    assert Participant.objects.get().answers == {"chatbot": "gemini", "state": "Ohio", "kind": "new"}
