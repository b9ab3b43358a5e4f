"""The goals of `make benchmarks`: what is met, and that the published table has their rows."""

from pathlib import Path

import pytest

from benchmarks import goals
from benchmarks.goals import BEGIN, END, HEAD, Goal, all_rows, read_table, write_table


def test_published_table_has_exactly_the_rows_of_the_benchmarks() -> None:
    assert list(read_table()) == all_rows()
    assert len(set(all_rows())) == len(all_rows())


@pytest.mark.parametrize("name", goals.ROWS)
def test_each_benchmark_with_rows_measures_them(name: str) -> None:
    source = Path(goals.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    assert "def goals(quick: bool) -> list[Goal]:" in source


@pytest.mark.parametrize(
    ("measured", "at_least", "met"), [(2, False, True), (2.01, False, False), (2, True, True), (1.99, True, False)]
)
def test_goal_is_met_up_to_and_including_its_bound(measured: float, at_least: bool, met: bool) -> None:
    assert Goal("walking", measured, 2, "s", at_least).met is met


def test_table_renews_what_was_measured_and_leaves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"Before.\n{BEGIN}\nold\n{END}\nAfter.\n", encoding="utf-8")
    monkeypatch.setattr(goals, "ROWS", {"a": ("walking", "running"), "b": ("resting",)})
    write_table([Goal("walking", 1.234, 1, "s"), Goal("resting", 9, 8, "MB/s", at_least=True)], path)
    first = read_table(path)
    write_table([Goal("walking", 0.5, 1, "s")], path)
    text, second = path.read_text(encoding="utf-8"), read_table(path)
    assert text.startswith(f"Before.\n{BEGIN}\n{HEAD[0]}\n") and text.endswith(f"\n{END}\nAfter.\n")
    assert "| walking | 1.23 s | ≤ 1 s | NOT MET |" in first["walking"]
    assert "| walking | 0.5 s | ≤ 1 s | met |" in second["walking"]
    assert second["running"] == "| running | – | – | not measured yet | – |"
    assert second["resting"] == first["resting"] and "| 9 MB/s | ≥ 8 MB/s | met |" in second["resting"]
