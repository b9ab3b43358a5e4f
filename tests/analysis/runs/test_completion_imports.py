"""Importing completions from elsewhere: all of them or none, every fault with its line, and never twice."""

import csv
import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from django.core.management import call_command

from analysis.answers.readings import read_new, unread
from analysis.models import Answer, Completion, Run
from analysis.runs import imports
from analysis.runs.imports import import_completions
from surveys.models import AuditEvent, Study
from surveys.studies.imports.files import ImportFault
from tests.analysis.runs.baseline_factories import make_item
from tests.factories import make_study

pytestmark = pytest.mark.django_db
HEADER = ["source", "model", "prompt", "text"]
Bring = Callable[..., dict[str, int]]


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "completions.csv"


def write_rows(path: Path, *rows: list[str], header: list[str] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture
def bring(study: Study, file: Path) -> Bring:
    """A function that imports rows, with `more` columns, and returns its counts."""

    def bring(*rows: list[str], more: Sequence[str] = (), benchmark: str = "") -> dict[str, int]:
        return vars(import_completions(study, write_rows(file, *rows, header=[*HEADER, *more]), "tests", benchmark))

    return bring


def faults_of(study: Study, path: Path, benchmark: str = "") -> list[str]:
    with pytest.raises(ImportFault) as raised:
        import_completions(study, path, "tests", benchmark)
    assert not Run.objects.exists()
    return [str(fault) for fault in raised.value.faults]


def test_rows_become_finished_runs(bring: Bring) -> None:
    done = bring(
        ["Offline", "tea-1", "teas", "1. Assam", "monday", "0.7"],
        ["offline", "tea-1", "teas", "1. Sencha", "monday", "0.7"],
        ["other-lab", "tea-2", "water", "B", "", ""],
        more=["run", "temperature"],
    )
    assert done == {"runs": 2, "completions": 3, "skipped": 0}
    first, second = Run.objects.order_by("pk")
    assert (first.source, first.model, first.imported_run, first.temperature) == ("offline", "tea-1", "monday", 0.7)
    assert (second.source, second.temperature, second.state) == ("other-lab", None, "done")
    assert list(first.completions.order_by("repeat").values_list("repeat", "reply")) == [
        (0, "1. Assam"),
        (1, "1. Sencha"),
    ]
    assert AuditEvent.objects.get(action="imported completions").detail["completions"] == 3


def test_same_file_again_changes_nothing(bring: Bring) -> None:
    rows = [["offline", "m", "teas", "same"]] * 2
    bring(*rows)
    assert bring(*rows) == {"runs": 0, "completions": 0, "skipped": 2}


def test_runs_with_and_without_a_temperature_stay_apart(bring: Bring) -> None:
    for text, temperature in (("x", "1"), ("y", "")):
        bring(["offline", "m", "teas", text, temperature], more=["temperature"])
    assert sorted(Run.objects.values_list("temperature", flat=True), key=str) == [1.0, None]


def test_users_are_told_apart_by_name_and_count_their_own_repeats(bring: Bring) -> None:
    rows = [["sp", "m", "teas", f"{user} {n}", user] for user in ("ann", "bob") for n in (1, 2)]
    rows.append(["sp", "m", "teas", "nobody", ""])
    bring(*rows, more=["user"])
    run = Run.objects.get()
    assert list(run.simulated_users.order_by("index").values_list("index", "name")) == [(0, "ann"), (1, "bob")]
    assert list(run.completions.order_by("pk").values_list("user__name", "repeat")) == [
        ("ann", 0), ("ann", 1), ("bob", 0), ("bob", 1), (None, 0)
    ]  # fmt: skip
    assert bring(*rows, more=["user"]) == {"runs": 0, "completions": 0, "skipped": 5}
    bring(*(["sp", "m", "water", "B", user] for user in ("carl", "ann")), more=["user"])
    assert run.simulated_users.count() == 3


def test_settings_tell_runs_apart(bring: Bring) -> None:
    rows = [["offline", "m", "teas", "same", words] for words in ("", "reasoning high", "reasoning low")]
    bring(*rows, more=["settings"])
    assert sorted(run.settings for run in Run.objects.all()) == ["", "reasoning high", "reasoning low"]
    assert bring(*rows, more=["settings"])["skipped"] == 3


def test_another_text_for_a_known_repeat_is_refused_and_nothing_is_stored(bring: Bring) -> None:
    bring(["offline", "m", "teas", "one"])
    with pytest.raises(ImportFault, match="line 3: repeat 0 of this prompt is already in the study"):
        bring(["offline", "m", "water", "B"], ["offline", "m", "teas", "two"])
    assert Completion.objects.count() == 1


def test_a_benchmarks_items_are_answered_by_run(study: Study, bring: Bring) -> None:
    make_item(1)
    make_item(2)
    rows = [["helm", "m", f"sums/{item}", text, run] for run, text in (("a", "B"), ("b", "C")) for item in (1, 2)]
    bring(*rows, more=["run"], benchmark="sums")
    assert list(Run.objects.order_by("pk").values_list("benchmark", "imported_run")) == [("sums", "a"), ("sums", "b")]
    read_new(study)
    assert list(Answer.objects.order_by("pk").values_list("letter", flat=True)) == ["B", "B", "C", "C"]


def test_an_empty_reply_is_kept_as_what_it_is(study: Study, bring: Bring) -> None:
    bring(["offline", "m", "water", ""])
    read_new(study)
    assert Answer.objects.get().letter == ""


def test_all_faults_are_listed_with_their_lines(study: Study, file: Path) -> None:
    write_rows(
        file,
        ["field", "m", "teas", "x", "0", "1"],
        ["Some Lab!", "m", "teas", "x", "0", "1"],
        ["offline", "", "teas", "x", "0", "1"],
        ["offline", "m", "tees", "x", "0", "1"],
        ["offline", "m", "teas", "x", "-1", "1"],
        ["offline", "m", "teas", "x", "0", "warm"],
        ["offline", "m", "teas", "x", "0"],
        ["offline", "m", "teas", "x", "0", "nan"],
        ["offline", "m", "teas", "x\ny", "7", "1"],
        ["offline", "m", "teas", "z", "7", "1"],
        ["offline", "m", "teas", "x", "00000000009999999999", "1"],
        header=[*HEADER, "repeat", "temperature"],
    )
    assert faults_of(study, file) == [
        "line 2: source 'field' is for people's answers: use import_responses for them",
        "line 3: source 'some lab!' must be a name such as offline, sp-rag or other-lab: at most 50 lower-case "
        "letters, digits, . _ -",
        "line 4: model must be a name of 1 to 200 printable characters",
        "line 5: the study has no prompt 'tees'; did you mean teas?",
        "line 6: repeat must be a whole number below 1,000,000, not '-1'",
        "line 7: temperature must be a number from 0 to 5, not 'warm'",
        "line 8: has 5 cells, but there are 6 columns",
        "line 9: temperature must be a number from 0 to 5, not 'nan'",
        "line 12: this repeat of this prompt stands on line 10 already; count them in `repeat`",
        "line 13: repeat must be a whole number below 1,000,000, not '00000000009999999999'",
    ]


def test_fault_that_only_the_database_knows_takes_all_batches_back(
    bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(["offline", "m", "teas", "One.", "9"], more=["repeat"])
    monkeypatch.setattr(imports, "BATCH", 2)
    rows = [["offline", "m", "teas", f"New {n}.", str(n)] for n in range(9)]
    with pytest.raises(ImportFault, match="line 11: repeat 9 of this prompt is already in the study"):
        bring(*rows, ["offline", "m", "teas", "Two.", "9"], more=["repeat"])
    assert [completion.reply for completion in Completion.objects.all()] == ["One."]


def test_large_file_is_never_held_as_a_whole(study: Study, file: Path) -> None:
    write_rows(file, *(["offline", "m", "teas", "Tea today. " * 18_000] for _ in range(150)), ["", "m", "teas", "x"])
    assert file.stat().st_size > 29_000_000
    tracemalloc.start()
    try:
        assert [fault.partition(":")[0] for fault in faults_of(study, file)] == ["line 152"]
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_a_wrong_header_is_named(study: Study, file: Path) -> None:
    (fault, *_) = faults_of(study, write_rows(file, header=[*HEADER, "colour"]))
    assert fault.startswith("line 1: there is no place for the column 'colour'")


def test_an_unknown_benchmark_is_named(study: Study, file: Path) -> None:
    assert faults_of(study, write_rows(file), "sums")[0].startswith("There is no benchmark 'sums' (none yet)")


def test_command_prints_json_alone(study: Study, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(file, ["offline", "m", "teas", "x"])
    call_command("import_completions", "teas", str(file), json=True)
    assert json.loads(capsys.readouterr().out) == {"study": "teas", "runs": 1, "completions": 1, "skipped": 0}
    assert unread(study) == 0
