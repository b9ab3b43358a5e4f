"""Benchmark items: read in each published format, added to drafts, kept out of launched studies."""

import io
import json
import os
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from surveys.models import BenchmarkItem
from surveys.studies.files.definitions import read_study
from surveys.studies.imports.benchmarks import import_benchmark
from surveys.studies.imports.files import ImportFault
from surveys.studies.lifecycle import prompts_of
from tests.factories import make_study

pytestmark = pytest.mark.django_db
ITEM = {"id": "tea/1", "subject": "tea", "question": "How long?", "choices": ["1 min", "3 min"], "answer": "B"}
SHARED = Path(os.environ.get("FIELDSTUDY_SHARED") or settings.BASE_DIR.parent / "shared") / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data files are not here")


def write_lines(path: Path, *items: dict) -> Path:
    path.write_text("\n".join(json.dumps(item) for item in items), encoding="utf-8")
    return path


def test_items_fill_a_draft(tmp_path: Path) -> None:
    study = make_study("draft")
    filled = import_benchmark("tea", write_lines(tmp_path / "tea.jsonl", ITEM), "tests")
    assert vars(filled) == {"items": 1, "created": 1, "updated": 0, "studies": {"teas": "updated"}}
    study.refresh_from_db()
    prompt = prompts_of(study.current_id)["water"]
    assert prompt.text.startswith("How long?\n\nA. 1 min\nB. 3 min") and prompt.answer == "B"
    again = import_benchmark("tea", write_lines(tmp_path / "tea.jsonl", ITEM), "tests")
    assert vars(again) == {"items": 1, "created": 0, "updated": 0, "studies": {"teas": "unchanged"}}


def test_corrected_item_makes_a_new_version_of_the_draft(tmp_path: Path) -> None:
    study = make_study("draft")
    import_benchmark("tea", write_lines(tmp_path / "tea.jsonl", ITEM), "tests")
    filled = import_benchmark("tea", write_lines(tmp_path / "tea.jsonl", ITEM | {"answer": "A"}), "tests")
    assert (filled.updated, filled.studies) == (1, {"teas": "updated"})
    study.refresh_from_db()
    assert prompts_of(study.current_id)["water"].answer == "A"


def test_launched_study_stays_as_it_is_and_is_named(tmp_path: Path) -> None:
    study = make_study("live")
    output = io.StringIO()
    call_command("import_benchmark", "tea", str(write_lines(tmp_path / "tea.jsonl", ITEM)), stdout=output)
    assert "teas was launched and stays as it is" in output.getvalue()
    study.refresh_from_db()
    assert prompts_of(study.current_id)["water"].answer == "C"


def test_original_mmlu_file_gets_ids_from_its_name(tmp_path: Path) -> None:
    path = tmp_path / "college_medicine_test.csv"
    path.write_text('"What, exactly?",a,b,c,d,C\n"Two\nlines?",1,2,3,4,A\n', encoding="utf-8")
    import_benchmark("mmlu", path, "tests")
    first, second = BenchmarkItem.objects.order_by("id")
    assert (first.item, first.subject) == ("mmlu/college_medicine/test/0", "college_medicine")
    assert (first.question, first.choices, first.answer) == ("What, exactly?", ["a", "b", "c", "d"], "C")
    assert (second.item, second.question) == ("mmlu/college_medicine/test/1", "Two\nlines?")


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_ethics_rows_become_questions_with_two_options(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"ethics.{suffix}"
    if suffix == "csv":
        path.write_text("id,category,scenario,label\ne/1,commonsense,I lied.,1\ne/2,justice,It rained.,0\n")
    else:
        lied = {"id": "e/1", "category": "commonsense", "scenario": "I lied.", "label": 1}
        write_lines(path, lied, {"id": "e/2", "category": "justice", "scenario": "It rained.", "label": 0})
    import_benchmark("ethics", path, "tests")
    first, second = BenchmarkItem.objects.order_by("id")
    assert first.question.endswith('in the United States?\n\n"I lied."')
    assert (first.choices, first.answer) == (["Clearly wrong", "Not clearly wrong"], "A")
    assert (second.choices, second.answer) == (["Reasonable", "Unreasonable"], "B")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "cm_test.csv",
            "label,input,is_short,edited\n1,I lied.,True,False\n0,Once upon.,False,False\n0,I slept.,True,False\n",
            [
                ("commonsense/test/0", "I lied.", "Clearly wrong"),
                ("commonsense_long/test/0", "Once upon.", "Not clearly wrong"),
                ("commonsense/test/1", "I slept.", "Not clearly wrong"),
            ],
        ),
        (
            "justice_test_hard.csv",
            "label,scenario\n0,I gave it up because it rained.\n",
            [("justice/test_hard/0", "I gave it up because it rained.", "Unreasonable")],
        ),
        (
            "deontology_train.csv",
            "label,scenario,excuse\n1,Could you walk my dog?,But the dog is ill.\n",
            [("deontology/train/0", "Could you walk my dog? But the dog is ill.", "Reasonable")],
        ),
        (
            "virtue_test.csv",
            "label,scenario\n0,Jill told everybody. [SEP] discreet\n",
            [("virtue/test/0", "Jill told everybody. – discreet", "No")],
        ),
    ],
)
def test_ethics_as_its_authors_publish_it(
    tmp_path: Path, name: str, content: str, expected: list[tuple[str, str, str]]
) -> None:
    (tmp_path / name).write_text(content)
    import_benchmark("ethics", tmp_path / name, "tests")
    items = BenchmarkItem.objects.order_by("id")
    found = [
        (item.item.removeprefix("ethics/"), item.question.split('"')[1], item.choices["AB".index(item.answer)])
        for item in items
    ]
    assert found == expected


def test_pairs_of_ethics_are_not_all_answered_with_the_first(tmp_path: Path) -> None:
    path = tmp_path / "util_test.csv"
    path.write_text("".join(f"I win {number} times.,I lose {number} times.\n" for number in range(20)))
    import_benchmark("ethics", path, "tests")
    items = list(BenchmarkItem.objects.filter(subject="utilitarianism"))
    assert len(items) == 20 and {item.answer for item in items} == {"A", "B"}
    assert all("win" in item.choices["AB".index(item.answer)] for item in items)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"id": 7}, "line 1: id must be a text of 1 to 200 characters"),
        ({"question": " "}, "line 1: question is missing"),
        ({"subject": "a" * 101}, "line 1: subject has more than 100 characters"),
        ({"choices": ["one"]}, "line 1: choices must be a list of 2 to 8 texts"),
        ({"choices": ["one", 2]}, "line 1: each of the choices must be a text"),
        ({"answer": "C"}, "line 1: answer must be a letter from A to B, not 'C'"),
        ({"answer": "AB"}, "line 1: answer must be a letter from A to B, not 'AB'"),
        ({"answer": 2}, "line 1: answer must be a letter from A to B, not 2"),
        ({"scenario": "I lied.", "category": "duty", "label": 1}, "line 1: category must be one of"),
    ],
)
def test_faulty_item_is_named_with_its_line(tmp_path: Path, changes: dict, fault: str) -> None:
    path = write_lines(tmp_path / "tea.jsonl", ITEM | changes, ITEM | {"id": "tea/2"})
    with pytest.raises(ImportFault) as raised:
        import_benchmark("tea", path, "tests")
    assert str(raised.value).startswith(fault)
    assert not BenchmarkItem.objects.exists()


def test_answer_may_be_the_number_of_a_choice(tmp_path: Path) -> None:
    import_benchmark("tea", write_lines(tmp_path / "tea.jsonl", ITEM | {"answer": 1}), "tests")
    assert BenchmarkItem.objects.get().answer == "B"


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("tea.jsonl", b"", "holds no items"),
        ("tea.jsonl", b"{nonsense", "line 1: is not valid JSON"),
        ("tea.jsonl", b"[1]", "line 1: must be an object"),
        ("tea.jsonl", b'{"id": "caf\xe9"}', "line 1: is not UTF-8"),
        ("tea_test.csv", b"question,A,B\n", "line 1: has 3 cells; an MMLU question has 6"),
        ("cm_test.csv", b"label,input\n1\n", "line 2: has 1 cells, but there are 2 columns"),
        ("justice_test.csv", b"label,scenario\n-1,I lied.\n", "line 2: label must be 0 or 1, not '-1'"),
        ("tea.jsonl", (json.dumps(ITEM) + "\n").encode() * 2, "line 2: the id tea/1 occurs more than once"),
    ],
)
def test_file_of_another_kind_is_refused(tmp_path: Path, name: str, content: bytes, fault: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError) as raised:
        call_command("import_benchmark", "tea", str(tmp_path / name))
    assert f"{name}: {fault}" in str(raised.value)


@needs_shared
def test_published_files_fill_the_field_study() -> None:
    study = make_study("draft", read_study(settings.BASE_DIR / "surveys" / "studies" / "field-13.toml"))
    counts = {}
    for name, file in (
        ("mmlu", "mmlu/college_medicine_test.jsonl"),
        ("ethics", "ethics/commonsense_short_test.jsonl"),
        ("ethics", "ethics/justice_test.jsonl"),
    ):
        counts[file] = import_benchmark(name, SHARED / file, "tests").items
    assert list(counts.values()) == [173, 1200, 1200]
    study.refresh_from_db()
    definition = study.current.document
    assert [prompt["imported"] for prompt in definition["prompts"] if prompt["benchmark"]] == [True] * 4
    assert len(prompts_of(study.current_id)) == 13
