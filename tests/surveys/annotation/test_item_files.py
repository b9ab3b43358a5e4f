"""Files of items: JSON lines and tables, each fault with its line, and nothing imported by halves."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from surveys.annotation.items import import_items
from surveys.models import AnnotationItem, AuditEvent, History, Study
from surveys.studies.files.definitions import read_study
from surveys.studies.imports.files import ImportFault
from surveys.studies.lifecycle import load_definition
from tests.factories import item_of, make_annotation_study, make_study

pytestmark = pytest.mark.django_db
HOSTILE = "=1+1\n\n<script>\u2028👩🏽‍🔬 שלום\t'quoted', \"twice\""


@pytest.fixture
def study() -> Study:
    return make_annotation_study()


def write_lines(path: Path, *rows: dict[str, Any] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_table(path: Path, *rows: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def faults_of(study: Study, path: Path) -> list[str]:
    with pytest.raises(ImportFault) as raised:
        import_items(study, path, "tests")
    assert not AnnotationItem.objects.exists() and not History.objects.exists()
    return [str(fault) for fault in raised.value.faults]


# --- what is read -----------------------------------------------------------


def test_lines_become_items_to_the_letter(study: Study, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "items.jsonl", item_of(1, prompt=HOSTILE), "", item_of(2))
    assert import_items(study, path, "tests").items == 2
    assert AnnotationItem.objects.get(key="item-1").payload["prompt"] == HOSTILE
    assert AuditEvent.objects.get(action="items added").subject == "items.jsonl"


def test_table_with_lists_as_json_becomes_items(tmp_path: Path) -> None:
    study = make_annotation_study(kind="preference")
    header = ["key", "prompt", "attributes", "generic", "personalised", "cluster", "tags", "profile"]
    parts = json.dumps([{"id": "a", "text": "No milk."}])
    rows = [
        ["p1", HOSTILE, parts, "Assam.", "[Assam] without milk", "user-a", '{"generator": "m"}', "Drinks tea."],
        ["p2", "Which?", "No milk.", "Assam.", "Mint.", "", "", ""],
    ]
    assert import_items(study, write_table(tmp_path / "items.csv", header, *rows), "tests").items == 2
    first, second = AnnotationItem.objects.order_by("position")
    assert (first.payload["prompt"], first.payload["personalised"]) == (HOSTILE, "[Assam] without milk")
    assert (first.payload["attributes"], first.tags) == ([{"id": "a", "text": "No milk."}], {"generator": "m"})
    assert second.payload["attributes"] == [{"id": "1", "text": "No milk."}] and "profile" not in second.payload


def test_file_with_byte_order_mark_is_read(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(item_of(1)).encode() + b"\r\n")
    assert import_items(study, path, "tests").items == 1


def test_shipped_items_fit_the_shipped_study(tmp_path: Path, settings) -> None:
    folder = settings.BASE_DIR / "surveys" / "studies"
    study, _ = load_definition(read_study(folder / "profiles.toml"), "tests")
    done = import_items(study, folder / "profiles-items.jsonl", "tests")
    counts = Counter(AnnotationItem.objects.values_list("purpose", flat=True))
    assert done.items == counts.total() and counts.keys() == {"work", "training", "gold"}
    assert (done.slots, done.unlocated) == (3 * counts["work"], 0)


# --- faults -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "is not valid JSON"),
        ("[1]", "must be a JSON object"),
        ("7", "must be a JSON object"),
        ('{"key": "b", "prompt": "x", "attribute": NaN}', "NaN is not a value"),
        ('{"key": "b", "prompt": "x", "attribute": Infinity}', "Infinity is not a value"),
        ('{"key": "b", "prompt": "x", "attribute": "\\ud800"}', "half of a character"),
        ('{"key": "b", "prompt": "x", "attribute": "\\u0000"}', "NUL"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_line_that_is_no_item_is_named(study: Study, tmp_path: Path, line: str, says: str) -> None:
    (fault,) = faults_of(study, write_lines(tmp_path / "items.jsonl", item_of(1), line, item_of(2)))
    assert fault.startswith("line 2: ") and says in fault


def test_faults_on_many_lines_are_named_together(study: Study, tmp_path: Path) -> None:
    lines = [item_of(1), "oops", item_of(1), {"key": "c", "prompt": "x"}]
    faults = faults_of(study, write_lines(tmp_path / "items.jsonl", *lines))
    assert [fault.split(":")[0] for fault in faults] == ["line 2", "line 3", "line 4"]


def test_line_without_end_is_refused(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"key": "' + "x" * 16_000_001, encoding="utf-8")
    assert faults_of(study, path) == ["line 1: is longer than 16,000,000 bytes; nothing after it was read"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "the file is empty"),
        ("key;prompt;attribute\na;b;c\n", "is not a key of a relevance item"),
        ('key,prompt,attribute\na,"two\nlines",x\nb,,x\n', "line 4: prompt is missing"),
    ],
)
def test_table_that_cannot_be_read_is_named(study: Study, tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text(content, encoding="utf-8")
    assert any(says in fault for fault in faults_of(study, path))


def test_other_kinds_of_files_are_refused(study: Study, tmp_path: Path) -> None:
    assert faults_of(study, tmp_path / "items.xlsx") == ["items.xlsx must end with .jsonl or .csv"]


# --- the command ------------------------------------------------------------


def test_command_prints_one_json_object(study: Study, tmp_path: Path, capsys) -> None:
    path = write_lines(tmp_path / "items.jsonl", item_of(1))
    call_command("import_items", study.slug, path, "--json", "--pilot")
    assert json.loads(capsys.readouterr().out) == {
        "study": "teas",
        "pilot": True,
        "items": 1,
        "skipped": 0,
        "slots": 3,
        "histories": 0,
        "unlocated": 0,
    }


def test_command_says_what_is_wrong_and_where(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"line 1: prompt is missing") as refused:
        call_command("import_items", study.slug, write_lines(tmp_path / "items.jsonl", {"key": "a", "attribute": "b"}))
    assert "nothing was imported. Faults: 1" in str(refused.value)
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        call_command("import_items", study.slug, tmp_path / "none.jsonl")
    with pytest.raises(CommandError, match="There is no study none. Studies: teas"):
        call_command("import_items", "none", tmp_path / "items.jsonl")


def test_command_says_that_a_closed_study_gets_items_for_models_alone(study: Study, tmp_path: Path, capsys) -> None:
    path = write_lines(tmp_path / "items.jsonl", item_of(1))
    call_command("import_items", study.slug, path)
    assert "closed" not in capsys.readouterr().err
    Study.objects.update(state="closed", launched_at=timezone.now(), closed_at=timezone.now())
    call_command("import_items", study.slug, path)
    assert "closed" not in capsys.readouterr().err  # it was there already
    call_command("import_items", study.slug, write_lines(tmp_path / "more.jsonl", item_of(2)))
    says = f"{study.slug} is closed: judges can label these items, but nobody new comes to do so."
    assert says in capsys.readouterr().err


def test_command_refuses_a_study_without_annotators(tmp_path: Path) -> None:
    make_study()
    with pytest.raises(CommandError, match="has no items to annotate"):
        call_command("import_items", "teas", write_lines(tmp_path / "items.jsonl", item_of(1)))
