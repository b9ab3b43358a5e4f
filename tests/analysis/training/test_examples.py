"""Examples from files: three shapes told apart by their fields, a split that is kept, and every fault with its line."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.models import Example, ExampleSet
from analysis.training.examples import Labelled, TrainingError, check_groups, fill_split, load_set, part_of, split_by
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows, public, write_lines

pytestmark = pytest.mark.django_db
PAIR = {"id": "a", "prompt": "Which tea?", "attributes": [{"id": "1", "text": "Likes Assam.", "relevant": 1}]}
SUPPORT = {"id": "b", "evidence": "I like tea.", "statement": "Likes tea.", "label": "supported"}
CHOSEN = {"id": "c", "prompt": [{"role": "user", "content": "Hello"}], "chosen": "Good day.", "rejected": "What?"}
PREFERRED = {"id": "d", "prompt": "Hello", "response_1": "What?", "response_2": "Good day.", "label": 2}


@pytest.mark.parametrize(
    ("row", "task", "stored"),
    [
        (PAIR, "relevance", ("Which tea?", "Likes Assam.", "", 1.0)),
        (SUPPORT, "verifier", ("I like tea.", "Likes tea.", "", 1.0)),
        (SUPPORT | {"label": "partially_supported"}, "verifier", ("I like tea.", "Likes tea.", "", 0.0)),
        (PREFERRED, "reward", ("Hello", "What?", "Good day.", 0.0)),
    ],
)
def test_shapes_are_told_by_their_fields(tmp_path: Path, row: dict[str, Any], task: str, stored: tuple) -> None:
    report = import_rows(tmp_path, [row])
    assert (report["task"], report["n"]) == (task, 1)
    assert Example.objects.values_list("first", "second", "third", "label").get() == stored


def test_the_chosen_response_stands_first_in_about_half_of_the_pairs(tmp_path: Path) -> None:
    import_rows(tmp_path, [CHOSEN | {"id": str(number)} for number in range(200)])
    rows = Example.objects.values_list("second", "label")
    assert {(text == "Good day.", label) for text, label in rows} == {(True, 1.0), (False, 0.0)}
    assert 70 < sum(label for _, label in rows) < 130


def test_a_split_that_is_given_is_kept_and_missing_ones_follow_the_group(tmp_path: Path) -> None:
    rows = [PAIR | {"id": "x", "topic": "t", "split": "Test"}, PAIR | {"id": "y", "topic": "u", "split": "dev"}]
    rows += [PAIR | {"id": f"z{number}", "topic": f"{number % 7}"} for number in range(40)]
    import_rows(tmp_path, rows)
    found = {each.key: each.split for each in fill_split(load_set(ExampleSet.objects.get()))}
    assert (found["x"], found["y"]) == ("test", "valid")
    assert all(found[f"z{number}"] == part_of(str(number % 7)) for number in range(40))


def test_parts_by_hash_have_about_their_shares_and_stay() -> None:
    parts = [part_of(f"group {number}") for number in range(2000)]
    assert 0.66 < parts.count("train") / 2000 < 0.74
    assert 0.12 < parts.count("test") / 2000 < 0.18
    assert [part_of(f"group {number}") for number in range(5)] == parts[:5]


def test_a_group_numbered_0_is_a_group(tmp_path: Path) -> None:
    import_rows(tmp_path, [PAIR | {"id": f"{n}", "user": n % 2, "prompt": f"Which tea {n}?"} for n in range(4)])
    assert list(Example.objects.order_by("position").values_list("group", flat=True)) == ["0", "1", "0", "1"]


def test_topics_of_two_years_are_two_groups(tmp_path: Path) -> None:
    import_rows(tmp_path, [PAIR | {"topic": "1-1", "year": 2023}, PAIR | {"id": "e", "topic": "1-1", "year": 2024}])
    assert sorted(Example.objects.values_list("group", flat=True)) == ["2023 1-1", "2024 1-1"]


def test_message_without_content_has_no_text(tmp_path: Path) -> None:
    calls = {"role": "assistant", "content": None, "tool_calls": []}
    with pytest.raises(CommandError, match="line 1: prompt must be a text"):
        import_rows(tmp_path, [CHOSEN | {"prompt": [calls]}])
    import_rows(tmp_path, [CHOSEN | {"prompt": [calls, *CHOSEN["prompt"]]}])
    assert Example.objects.get().first == "\nHello"


def test_every_fault_is_told_with_its_line_and_nothing_is_imported(tmp_path: Path) -> None:
    rows = [
        SUPPORT,
        SUPPORT | {"id": "b2", "label": "perhaps"},
        SUPPORT,
        {"id": "e", "text": "?"},
        SUPPORT | {"id": "f", "statement": " "},
    ]
    with pytest.raises(CommandError) as failed:
        import_rows(tmp_path, rows)
    told = str(failed.value)
    assert "line 2: label is 'perhaps'" in told
    assert "line 3: b stands in line 1 already" in told
    assert "line 4: has none of the known shapes" in told
    assert "line 5: statement must be a text" in told
    assert not ExampleSet.objects.exists()


def test_attributes_of_one_line_have_different_ids(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="a 1 stands in line 1 already"):
        import_rows(tmp_path, [PAIR | {"attributes": PAIR["attributes"] * 2}])


def test_a_file_has_one_task_and_a_name_is_taken_once(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="line 1 is for relevance and line 2 is for verifier"):
        import_rows(tmp_path, [PAIR, SUPPORT])
    import_rows(tmp_path, [PAIR])
    with pytest.raises(CommandError, match="There are examples called set already"):
        import_rows(tmp_path, [PAIR])


def test_an_empty_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no example in the file"):
        command("import_examples", "set", str(write_lines(tmp_path / "empty.jsonl", [])))
    with pytest.raises(CommandError, match="cannot be read"):
        command("import_examples", "set", str(tmp_path / "none.jsonl"))


def test_a_group_on_both_sides_is_refused() -> None:
    both = [Labelled("a", "", "g", "train", "x", "y"), Labelled("b", "", "g", "test", "x", "z")]
    with pytest.raises(
        TrainingError, match=r"1 groups lie in more than one part of the split, such as g \(test and tr"
    ):
        check_groups(both)
    check_groups(split_by(both, "groups"))


def test_users_that_nobody_names_cannot_divide() -> None:
    with pytest.raises(TrainingError, match="do not say which user"):
        split_by([Labelled("a", "", "g", "train", "x", "y")], "users")


def test_public_sets_are_read_as_they_are_described(tmp_path: Path) -> None:
    report = command("import_examples", "ikat", str(public("relevance_ikat")))
    assert {name: (part["n"], part["positive"]) for name, part in report["parts"].items()} == {
        "train": (3085, 176),
        "valid": (1213, 70),
        "test": (1934, 73),
    }
    assert command("import_examples", "begin", str(public("support_begin_wow")))["n"] == 2354


def test_a_group_on_both_sides_is_said_at_the_import(tmp_path: Path) -> None:
    both = [SUPPORT | {"id": str(n), "group": "g", "split": split} for n, split in enumerate(("train", "test"))]
    assert "1 groups lie in more than one part of the split, such as g" in import_rows(tmp_path, both)["divided"]
    error = StringIO()
    path = str(write_lines(tmp_path / "again.jsonl", both))
    call_command("import_examples", "again", path, stdout=StringIO(), stderr=error)
    assert error.getvalue().startswith("Warning: 1 groups lie in more than one part")
    assert import_rows(tmp_path, [SUPPORT], "one")["divided"] == ""


def test_a_line_without_a_part_goes_where_its_group_is(tmp_path: Path) -> None:
    rows = [SUPPORT | {"id": str(n), "group": f"g{n // 4}"} for n in range(80)]
    report = import_rows(tmp_path, [row | ({"split": "test"} if n % 4 == 3 else {}) for n, row in enumerate(rows)])
    assert (report["split"], report["divided"], report["parts"]["test"]["n"]) == ("partly given", "", 80)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (SUPPORT | {"id": "x" * 201}, "id has 201 characters; the limit is 200: shorten or hash it"),
        (SUPPORT | {"user": "x" * 201}, "the group has 201 characters"),
        (SUPPORT | {"label": ["supported"]}, "label is "),
    ],
)
def test_keys_that_would_be_cut_off_are_refused(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    with pytest.raises(CommandError, match=fault):
        import_rows(tmp_path, [row])
