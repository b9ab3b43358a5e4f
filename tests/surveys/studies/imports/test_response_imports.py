"""Field data from elsewhere: imported all or none, every fault with its line, and never twice."""

import csv
import io
import json
import tracemalloc
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from surveys.models import AuditEvent, Participant, Place, Response, Study
from surveys.studies.imports import responses
from surveys.studies.imports.files import MOST_FAULTS, ImportFault
from surveys.studies.imports.responses import import_responses
from tests.factories import make_participant, make_study, make_visit
from tests.surveys.studies.files.sample_study import make_asking_definition

pytestmark = pytest.mark.django_db
HEADER = ["participant", "chatbot", "prompt", "text"]
HOSTILE = "=1+1\n\n<script>\u2028👩🏽‍🔬 שלום\t'quoted', \"twice\""


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.csv"


def write_rows(path: Path, *rows: list[str], header: list[str] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def faults_of(study: Study, path: Path) -> list[str]:
    with pytest.raises(ImportFault) as raised:
        import_responses(study, path, "tests")
    assert not Participant.objects.filter(origin="imported").exists()
    return [str(fault) for fault in raised.value.faults]


# --- what is stored ---------------------------------------------------------


def test_rows_become_imported_responses(study: Study, file: Path) -> None:
    header = ["Participant", *HEADER[1:], "model", "submitted_at", "Milk", "cups", "home town"]
    rows = [
        ["P1", "ChatGPT", "teas", HOSTILE, "GPT-4o mini", "2026-05-31T14:05:00Z", "Oat milk", "3", "Ulm"],
        ["P1", "chatgpt", "water", "C", "GPT-4o mini", "2026-05-31 14:09", "Oat milk", "3", "Ulm"],
        ["P2", "gemini", "teas", "1. Assam", "", "", "", "", ""],
    ]
    done = import_responses(study, write_rows(file, *rows, header=header), "tests")
    assert vars(done) == {"participants": 2, "responses": 3, "skipped": 0}
    first, second = Participant.objects.order_by("id")
    assert (first.pid, first.origin, first.state, first.pilot) == ("P1", "imported", "completed", False)
    assert first.answers == {"chatbot": "chatgpt", "milk": "Oat milk", "cups": "3", "home_town": "Ulm"}
    assert (first.cell.chatbot, first.cell.slug, first.context.model_shown) == ("chatgpt", "milky", "GPT-4o mini")
    assert second.cell is None
    assert not Place.objects.filter(participant__isnull=False).exists()
    response = first.responses.get(prompt__slug="teas")
    assert (response.text, response.revision, response.accepted, response.pilot) == (HOSTILE, 1, True, False)
    assert response.submitted_at.isoformat() == "2026-05-31T14:05:00+00:00"
    assert first.responses.get(prompt__slug="water").submitted_at.isoformat() == "2026-05-31T14:09:00+00:00"
    event = AuditEvent.objects.get(action="imported")
    assert (event.subject, event.detail["responses"]) == ("answers.csv", 3)


def test_same_file_again_changes_nothing(study: Study, file: Path) -> None:
    write_rows(file, ["P1", "gemini", "teas", "Tea."], ["P2", "gemini", "teas", "More tea."])
    import_responses(study, file, "tests")
    before = list(Response.objects.values_list("id", flat=True))
    assert vars(import_responses(study, file, "tests")) == {"participants": 0, "responses": 0, "skipped": 2}
    assert list(Response.objects.values_list("id", flat=True)) == before


def test_later_file_adds_to_the_same_person(study: Study, file: Path) -> None:
    import_responses(study, write_rows(file, ["P1", "gemini", "teas", "Tea."]), "tests")
    done = import_responses(study, write_rows(file, ["P1", "gemini", "water", "C"]), "tests")
    assert vars(done) == {"participants": 0, "responses": 1, "skipped": 0}
    assert Participant.objects.get().responses.count() == 2


def test_people_of_several_batches_are_made_once(study: Study, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "BATCH", 2)
    rows = [[f"P{n}", "gemini", prompt, f"{n} {prompt}"] for prompt in ("teas", "water") for n in range(5)]
    assert vars(import_responses(study, write_rows(file, *rows), "tests")) == {
        "participants": 5,
        "responses": 10,
        "skipped": 0,
    }


def test_excel_file_with_byte_order_mark_and_windows_line_ends(study: Study, file: Path) -> None:
    file.write_bytes('\ufeffparticipant,chatbot,prompt,text\r\nP1,gemini,teas,"a\r\nb"\r\n\r\n'.encode())
    import_responses(study, file, "tests")
    assert Response.objects.get().text == "a\nb"


def test_nul_in_the_name_of_a_model_is_replaced_as_in_texts(study: Study, file: Path) -> None:
    write_rows(file, ["P1", "gemini", "teas", "a\0b", "GPT\0x"], header=[*HEADER, "model"])
    import_responses(study, file, "tests")
    response = Response.objects.get()
    assert (response.text, response.participant.context.model_shown) == ("a\ufffdb", "GPT\ufffdx")


def test_text_of_200_kilobytes(study: Study, file: Path) -> None:
    import_responses(study, write_rows(file, ["P1", "gemini", "teas", "Tea für alle. " * 15_000]), "tests")
    assert len(Response.objects.get().text) == 14 * 15_000


# --- what is refused --------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (["", "gemini", "teas", "Tea."], "line 2: participant must be a name of 1 to 64 printable characters"),
        (["P" * 65, "gemini", "teas", "Tea."], "line 2: participant must be a name of 1 to 64 printable characters"),
        (["P1", "gemni", "teas", "Tea."], "line 2: the study has no chatbot 'gemni'; did you mean gemini?"),
        (["P1", "gemini", "tea", "Tea."], "line 2: the study has no prompt 'tea'; did you mean teas?"),
        (["P1", "gemini", "x", "Tea."], "line 2: the study has no prompt 'x'; there are teas, water"),
        (["P1", "gemini", "teas", " \n"], "line 2: the text is empty; leave the row out where there is no answer"),
        (["P1", "gemini", "teas"], "line 2: has 3 cells, but there are 4 columns"),
        (["P1", "gemini", "teas", "Tea", "."], "line 2: has 5 cells, but there are 4 columns"),
    ],
)
def test_faulty_row_is_named_with_its_line(study: Study, file: Path, row: list[str], fault: str) -> None:
    assert faults_of(study, write_rows(file, row, ["P9", "gemini", "teas", "Fine."])) == [fault]


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("submitted_at", "yesterday", "line 2: submitted_at 'yesterday' is not a time such as 2026-05-31T14:05:00Z"),
        ("submitted_at", "2026-02-31", "line 2: submitted_at '2026-02-31' is not a time such as 2026-05-31T14:05:00Z"),
        *(
            ("submitted_at", time, f"line 2: submitted_at '{time}' is not a time such as 2026-05-31T14:05:00Z")
            for time in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00")
        ),
        ("cups", "many", "line 2: cups must be a whole number, not 'many'"),
        ("cups", "9" * 16, f"line 2: cups has more than 15 digits: '{'9' * 16}'"),
        ("model", "m" * 101, "line 2: model has more than 100 characters"),
        ("town", "u" * 2_001, "line 2: town has more than 2,000 characters"),
    ],
)
def test_faulty_cell_beside_the_answer(study: Study, file: Path, column: str, value: str, fault: str) -> None:
    write_rows(file, ["P1", "gemini", "teas", "Tea.", value], header=[*HEADER, column])
    assert faults_of(study, file) == [fault]


def test_line_of_a_row_after_texts_of_many_lines(study: Study, file: Path) -> None:
    write_rows(file, ["P1", "gemini", "teas", "1\n2\n3"], ["P1", "gemini", "milk", "4"])
    assert faults_of(study, file)[0].startswith("line 5: the study has no prompt 'milk'")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "line 1: the columns participant, chatbot, prompt and text are missing"),
        (b"participant,chatbot,text\n", "line 1: the column prompt is missing"),
        (b"participant;chatbot;prompt;text\n", "prompt and text are missing; the columns must be separated by commas"),
        (b"participant,chatbot,prompt,text,text\n", "line 1: the column 'text' occurs more than once"),
        (
            b"participant,chatbot,prompt,text,\n",
            "line 1: '' is not a valid name for a column: use letters, digits, spaces, - and _",
        ),
        (
            b"participant,chatbot,prompt,text\nP1,gemini,teas,caf\xe9\n",
            "line 2: is not UTF-8; save the file with the encoding UTF-8. Nothing after it was read",
        ),
        (
            b'participant,chatbot,prompt,text\nP1,gemini,teas,"open\n' + b"words and words\n" * 100_000,
            "a cell is longer than 1,000,000 characters, or a quote is not closed; nothing after it was read",
        ),
        (b"participant,chatbot,prompt,text\n" + b"x" * 4_000_001, "line 2: is longer than 4,000,000 bytes"),
        (b'participant,chatbot,prompt,text\nP1,gemini,teas,"a"b\n', "line 2: is not valid CSV"),
    ],
)
def test_file_that_cannot_be_read_on(study: Study, file: Path, content: bytes, fault: str) -> None:
    file.write_bytes(content)
    told = faults_of(study, file)
    # Where reading stopped inside an open quote depends on the reader, so that line is not looked at.
    assert len(told) == 1 and fault in told[0]


def test_every_fault_is_counted_and_the_first_are_shown(study: Study, file: Path) -> None:
    write_rows(file, *[[f"P{n}", "gemini", "milk", "Tea."] for n in range(200)])
    with pytest.raises(ImportFault) as raised:
        import_responses(study, file, "tests")
    assert (raised.value.count, len(raised.value.faults)) == (200, MOST_FAULTS)
    assert str(raised.value).endswith("… and 150 more")


def test_second_answer_to_one_prompt_and_a_second_chatbot_are_faults(study: Study, file: Path) -> None:
    write_rows(file, ["P1", "gemini", "teas", "One."], ["P1", "gemini", "teas", "Two."])
    assert faults_of(study, file) == ["line 3: P1's answer to teas is already on line 2"]
    write_rows(file, ["P1", "gemini", "teas", "One."], ["P1", "chatgpt", "water", "C"])
    assert faults_of(study, file) == ["line 3: says something else about P1 than line 2; one person has one chatbot"]


def test_other_answer_than_the_one_imported_before_is_a_fault(study: Study, file: Path) -> None:
    import_responses(study, write_rows(file, ["P1", "gemini", "teas", "One."]), "tests")
    write_rows(file, ["P0", "gemini", "teas", "New."], ["P1", "gemini", "teas", "Two."])
    with pytest.raises(ImportFault, match="line 3: P1 already has another answer to teas in the study"):
        import_responses(study, file, "tests")
    assert [response.text for response in Response.objects.all()] == ["One."]


def test_later_file_says_nothing_else_about_a_person(study: Study, file: Path) -> None:
    header = [*HEADER, "milk", "town"]
    import_responses(study, write_rows(file, ["P1", "gemini", "teas", "Tea.", "Milk", ""], header=header), "tests")
    import_responses(study, write_rows(file, ["P1", "gemini", "water", "C", "", ""], header=header), "tests")
    write_rows(file, ["P1", "gemini", "teas", "Tea.", "Oat milk", "Ulm"], header=header)
    with pytest.raises(ImportFault, match="line 2: says something else about P1 than an earlier file did: milk, town"):
        import_responses(study, file, "tests")


def test_person_of_our_own_cannot_be_imported_again(study: Study, file: Path) -> None:
    visit = make_visit()
    make_participant(study, visit=visit)
    assert faults_of(study, write_rows(file, [visit.pid, "chatgpt", "teas", "Tea."])) == [
        f"line 2: {visit.pid} took part in the study here; give imported people other names"
    ]


def test_nothing_is_stored_when_the_last_row_is_faulty(study: Study, file: Path) -> None:
    rows = [[f"P{n}", "gemini", "teas", "Tea."] for n in range(20)]
    faults_of(study, write_rows(file, *rows, ["P99", "gemini", "milk", "Tea."]))
    assert not Response.objects.exists()


def test_all_sorts_of_faults_of_one_file_are_listed_together(study: Study, file: Path) -> None:
    rows = [
        ["P1", "gemini", "teas", "Tea. " * 40_000],
        ["P1", "gemni", "teas", "Tea. " * 40_000],
        ["P2", "gemini", "tea", "Tea."],
        ["P2", "gemini", "teas"],
        ["P1", "gemini", "teas", "Another."],
        ["P3", "gemini", "teas", "  "],
        ["P4", "gemini", "water", "C"],
    ]
    assert [fault.partition(":")[0] for fault in faults_of(study, write_rows(file, *rows))] == [
        *("line 3", "line 4", "line 5", "line 6", "line 7")
    ]
    assert not Response.objects.exists() and not AuditEvent.objects.filter(action="imported").exists()


def test_fault_that_only_the_database_knows_takes_all_batches_back(
    study: Study, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_responses(study, write_rows(file, ["P9", "gemini", "teas", "One."]), "tests")
    monkeypatch.setattr(responses, "BATCH", 2)
    rows = [[f"P{n}", "gemini", "teas", "New."] for n in range(9)]
    with pytest.raises(ImportFault, match="line 11: P9 already has another answer to teas"):
        import_responses(study, write_rows(file, *rows, ["P9", "gemini", "teas", "Two."]), "tests")
    assert list(Participant.objects.values_list("pid", flat=True)) == ["P9"]
    assert [response.text for response in Response.objects.all()] == ["One."]


def test_large_file_is_never_held_as_a_whole(study: Study, file: Path) -> None:
    """30 MB in cells of 200 kB: memory holds at most a batch of rows; none are stored, since the last is faulty."""
    rows = ([f"P{n}", "gemini", "teas", "Tea today. " * 18_000] for n in range(150))
    write_rows(file, *rows, ["P1", "gemini", "milk", "Tea."])
    assert file.stat().st_size > 29_000_000
    tracemalloc.start()
    try:
        assert faults_of(study, file) == ["line 152: the study has no prompt 'milk'; there are teas, water"]
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


# --- the command ------------------------------------------------------------


def test_command_reports_what_it_did(study: Study, file: Path) -> None:
    output = io.StringIO()
    write_rows(file, ["P1", "gemini", "teas", "Tea."])
    call_command("import_responses", "teas", str(file), json=True, stdout=output)
    assert json.loads(output.getvalue()) == {"study": "teas", "participants": 1, "responses": 1, "skipped": 0}


def test_command_says_what_is_wrong(study: Study, file: Path) -> None:
    write_rows(file, ["P1", "gemini", "milk", "Tea."])
    with pytest.raises(CommandError, match=r"answers.csv: nothing was imported. Faults: 1\nline 2: "):
        call_command("import_responses", "teas", str(file))
    with pytest.raises(CommandError, match="no.csv: cannot be read: No such file"):
        call_command("import_responses", "teas", "no.csv")
    with pytest.raises(CommandError, match="There is no study tea. Studies: teas."):
        call_command("import_responses", "tea", str(file))


# --- what people were asked again -------------------------------------------

AGAIN = [*HEADER, "occasion", "arm", "position", "rating"]


@pytest.fixture
def asking_study() -> Study:
    return make_study(definition=make_asking_definition())


def test_rows_say_occasion_arm_place_and_rating(asking_study: Study, file: Path) -> None:
    rows = [
        ["P1", "chatgpt", "teas", "1. Assam", "", "", "2", "4"],
        ["P1", "chatgpt", "teas", "1. Mate", "2", "", "5", ""],
        ["P1", "chatgpt", "teas", "1. Chai", "", "temporary", "1", "5"],
        ["P2", "chatgpt", "water", "C", "1", "", "", ""],
    ]
    write_rows(file, *rows, header=AGAIN)
    assert vars(import_responses(asking_study, file, "tests")) == {"participants": 2, "responses": 4, "skipped": 0}
    first, second = Participant.objects.order_by("id")
    assert first.order == ["teas--temporary", "teas", "", "", "teas--2"] and second.order == []
    found = first.responses.order_by("prompt__position").values_list("prompt__slug", "text", "rating")
    assert list(found) == [("teas", "1. Assam", 4), ("teas--2", "1. Mate", None), ("teas--temporary", "1. Chai", 5)]
    assert vars(import_responses(asking_study, file, "tests"))["skipped"] == 4
    more = write_rows(file, ["P1", "chatgpt", "pots", "B", "", "", "3", ""], header=AGAIN)
    import_responses(asking_study, more, "tests")
    first.refresh_from_db()
    assert first.order == ["teas--temporary", "teas", "pots", "", "teas--2"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (["cakes", "x", "2", "", "", ""], "the study file does not say that cakes is asked on occasion 2"),
        (["cakes", "x", "", "temporary", "", ""], "that cakes is asked in the state 'temporary'"),
        (["teas", "x", "", "secret", "", ""], "that teas is asked in the state 'secret'"),
        (["teas--2", "x", "", "", "", ""], "the study has no prompt 'teas--2'"),
        (["teas", "x", "0", "", "", ""], "occasion '0' is not a whole number from 1 to 1000"),
        (["teas", "x", "", "", "-1", ""], "position '-1' is not a whole number"),
        (["teas", "x", "", "", "00000000199999999999", ""], "position '00000000199999999999' is not a whole number"),
        (["teas", "x", "", "", "", "6"], "rating '6' is not a whole number from 1 to 5"),
        (["teas", "x", "", "", "", "00000000051"], "rating '00000000051' is not a whole number from 1 to 5"),
    ],
)
def test_fault_of_what_was_asked_again_names_its_line(
    asking_study: Study, file: Path, row: list[str], says: str
) -> None:
    (fault,) = faults_of(asking_study, write_rows(file, ["P1", "chatgpt", *row], header=AGAIN))
    assert says in fault and "2" in fault


def test_one_place_holds_one_answer_of_a_person(asking_study: Study, file: Path) -> None:
    rows = [["P1", "chatgpt", prompt, "B", "", "", "3", ""] for prompt in ("water", "pots")]
    (fault,) = faults_of(asking_study, write_rows(file, *rows, header=AGAIN))
    assert "P1 has another answer at position 3 already" in fault
