"""Examples written for training elsewhere: all of them, each in its part, with a question that can be answered."""

import json
import runpy
from pathlib import Path

import pandas as pd
import pytest
from django.core.management import CommandError, call_command

from tests.analysis.training.training_samples import import_rows, relevance_rows, support_rows

pytestmark = pytest.mark.django_db


def test_a_hugging_face_folder_has_a_file_for_each_part_and_a_card(tmp_path: Path) -> None:
    parts = import_rows(tmp_path, support_rows(80))["parts"]
    call_command("export_examples", examples="set", out=tmp_path / "out")
    for part, count in parts.items():
        rows = [json.loads(line) for line in (tmp_path / "out" / f"{part}.jsonl").read_text().splitlines()]
        assert len(rows) == count["n"] and sum(row["label"] for row in rows) == count["positive"]
        assert set(rows[0]) >= {"evidence", "statement", "label", "group"}
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\nconfigs:") and "path: test.jsonl" in card


def test_verl_gets_questions_and_a_reward_for_right_answers_in_their_form(tmp_path: Path) -> None:
    import_rows(tmp_path, relevance_rows(40))
    call_command("export_examples", "--examples", "set", "--for", "verl", "--out", str(tmp_path / "out"))
    rows = pd.read_parquet(tmp_path / "out" / "train.parquet")
    first = rows.iloc[0]
    assert "<answer>yes</answer>" in first["prompt"][0]["content"]
    about = [row["prompt"][0]["content"].split("About the user:")[1] for _, row in rows.iterrows()]
    right = [row["reward_model"]["ground_truth"] for _, row in rows.iterrows()]
    assert set(right) == {"yes", "no"} and all("I like" in text for text in about)
    reward = runpy.run_path(str(tmp_path / "out" / "reward.py"))["compute_score"]
    right, wrong, formless = "So. <answer>Yes</answer>", "<answer>no</answer>", "Yes, <answer>yes</answer> I think"
    assert [reward("set", said, "yes") for said in (right, wrong, formless)] == [1.1, 0.1, 0.0]
    assert reward("set", f"{wrong} {right}", "yes") == 0.0


def test_what_to_write_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Name what to write"):
        call_command("export_examples", "teas", out=tmp_path)
