"""Tables hold each row once, in the columns that the codebook describes."""

import csv
import tracemalloc
from pathlib import Path

import pytest
from django.db import connection

from analysis.exports.exports import PEOPLE_TABLES, codebook_of, stream_rows
from analysis.exports.people_tables import Selection
from surveys.models import Study
from surveys.participation import recruitment
from surveys.studies.files.schema import Perception
from surveys.studies.flow import OUTCOMES, flow_counts
from surveys.studies.imports.responses import import_responses
from surveys.studies.lifecycle import launch, load_definition
from tests.analysis.exports.exported import rows_of
from tests.factories import make_definition, make_participant, make_response, make_study, make_visit

pytestmark = pytest.mark.django_db
EVERYBODY = Selection(pilot=True, preview=True)


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.mark.parametrize("pids", [False, True])
def test_rows_have_the_columns_of_the_codebook(study: Study, pids: bool) -> None:
    people = [make_participant(study, at="completed"), make_participant(study)]
    make_response(people[1], 0, "")
    recruitment.refuse_consent(study)
    version = ("teas", study.current.number, study.current.sha256)
    for table in (name for name in PEOPLE_TABLES if name != "notes"):
        rows = rows_of(study, table, pids=pids)
        assert {(row["study"], row["version"], row["version_sha256"]) for row in rows} == {version}
        assert any(person.pid in str(rows) for person in people) is (pids and table != "flow")


def test_response_is_the_newest_accepted_revision(study: Study) -> None:
    participant = make_participant(study)
    slug = participant.order[0]
    for text, keep in (("First words.", True), ("Second words.", True), ("Third words.", False)):
        make_response(participant, slug, text, keep=keep)
    assert [(row["text"], row["revision"]) for row in rows_of(study, "responses")] == [("Second words.", 2)]
    told = [(row["revision"], row["accepted"]) for row in rows_of(study, "revisions")]
    assert told == [(1, True), (2, True), (3, False)]
    assert [row["revisions"] for row in rows_of(study, "timings")] == [3]
    make_response(make_participant(study), 0, "")  # never accepted
    assert (len(rows_of(study, "responses")), len(rows_of(study, "revisions"))) == (1, 4)


def test_pilots_and_previews_are_left_out_unless_asked_for() -> None:
    study = make_study("pilot")
    make_participant(study, at="completed")
    launch(study, "tests")
    study.refresh_from_db()
    for origin in ("prolific", "simulated", "preview"):
        make_participant(study, at="completed", origin=origin)
    origins = [(row["origin"], row["pilot"]) for row in rows_of(study, "participants")]
    assert origins == [("prolific", False), ("simulated", False)]
    assert len(rows_of(study, "participants", simulated=False)) == 1
    assert len(rows_of(study, "responses", pilot=True)) == 3 * 2
    assert len(rows_of(study, "responses", pilot=True, preview=True)) == 4 * 2


def test_participant_row_holds_answers_and_checks(study: Study) -> None:
    participant = make_participant(study, at="completed", answers={"adult": "Yes", "milk": "Milk", "cups": "4"})
    participant.checks["attention"]["leaf"] = {"answer": "Black tea", "passed": False}
    participant.save()
    row = rows_of(study, "participants")[0]
    assert (row["answer_adult"], row["answer_milk"], row["answer_cups"]) == ("Yes", "Milk", 4)
    assert (row["attention_leaf"], row["attention_leaf_passed"], row["attention_failed"]) == ("Black tea", False, 1)
    assert (row["cell"], row["chatbot"], row["responses"], row["code"]) == ("milky", "chatgpt", 2, "CODE1")
    assert row["prompt_order"].split() == participant.order


def test_figure_in_moving_dots_is_part_of_the_participants_row() -> None:
    study = make_study(definition=make_definition(perception=Perception()))
    participant = make_participant(study, at="completed")
    noted = {"figure": "heart", "picked": "moon", "right": False, "alternative": False, "ms": 5200, "plays": 1}
    participant.checks["perception"] = noted
    participant.save()
    make_participant(study, at="completed")
    first, second = rows_of(study, "participants")
    assert {name: first[f"perception_{name}"] for name in noted} == noted
    assert {second[f"perception_{name}"] for name in noted} == {None}
    columns = {column.name: column for column in codebook_of(study).tables["participants"].columns}
    assert columns["perception_figure"].levels["moon"] == "A crescent moon"
    assert {"unseen", "An umbrella"} <= columns["perception_picked"].levels.keys()
    assert columns["perception_ms"].unit == "milliseconds"


def test_questions_of_an_older_version_keep_their_column(study: Study) -> None:
    make_participant(study, at="completed", answers={"adult": "Yes", "milk": "Milk", "cups": "4"})
    before = make_definition()
    load_definition(make_definition(questions=before.questions[:2]), "tests", amendment="One question less.")
    study.refresh_from_db()
    columns = {column.name: column for column in codebook_of(study).tables["participants"].columns}
    assert columns["answer_cups"].versions == (1,)
    assert columns["answer_milk"].versions == ()
    assert rows_of(study, "participants")[0]["answer_cups"] == 4


def test_timings_tell_when_and_how(study: Study) -> None:
    participant = make_participant(study)
    evidence = {"observed": True, "away_ms": 1500, "opened_at": 5, "pastes": [{"plain": 30}]}
    evidence |= {"pasted": 30, "typed": 10, "share_pasted": 0.75}
    response = make_response(participant, 1, evidence=evidence)
    row = rows_of(study, "timings")[0]
    assert row["position"] == 2
    assert row["away_seconds"] == 1.5
    assert (row["client_opened_at"], row["client_copied_at"]) == (5, None)
    assert [row[name] for name in ("observed", "pasted", "typed", "share_pasted", "pastes")] == [True, 30, 10, 0.75, 1]
    assert row["submitted_at"] == response.submitted_at
    assert row["seconds"] is None  # no page was served for it


def test_flow_adds_up_to_what_the_console_shows(study: Study) -> None:
    for end in ("completed", "returned", "technical", "misunderstood", "prompts"):
        make_participant(study, at=end, origin="simulated")
    make_participant(study, at="completed", origin="preview")
    make_participant(study, answers={"adult": "No", "milk": "Milk", "cups": "1"})
    recruitment.refuse_consent(study)
    recruitment.withdraw(make_participant(study, visit=make_visit()))
    rows, counts = rows_of(study, "flow"), flow_counts(study)
    for outcome in OUTCOMES:
        assert sum(row["people"] for row in rows if row["outcome"] == outcome) == counts[outcome]
    assert sum(row["people"] for row in rows) == counts["started"] == 8


def test_rows_come_through_a_cursor_of_the_server(study: Study) -> None:
    make_participant(study, at="completed")
    rows = stream_rows(study, codebook_of(study).tables["responses"], Selection())
    next(rows)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_cursors WHERE name LIKE '\\_django\\_curs%%'")
        assert cursor.fetchone() == (1,)
    assert len(list(rows)) == 1


def test_memory_does_not_grow_with_the_rows(study: Study, tmp_path: Path) -> None:
    peaks = []
    for first, people in ((0, 400), (400, 1_600)):
        import_many(study, tmp_path / "answers.csv", range(first, first + people))
        tracemalloc.start()
        count = sum(1 for _ in stream_rows(study, codebook_of(study).tables["responses"], Selection()))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert count == first + people
    assert peaks[1] < 1.2 * peaks[0]


def import_many(study: Study, path: Path, numbers: range) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["participant", "chatbot", "prompt", "text"])
        writer.writerows([f"P{number}", "gemini", "teas", f"{number} " + "Tea. " * 400] for number in numbers)
    import_responses(study, path, "tests")
