"""How training data is divided, what fits on a GPU, what is not read, and what a user's own model gains."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from analysis.models import TrainedModel
from analysis.training.evaluation import say_unread
from analysis.training.examples import Labelled, TrainingError, split_by
from analysis.training.fitting import TrainingSettings
from analysis.training.own_users import user_gains
from analysis.training.tiers.reasoning import GB, ModelShape, fit, needed, reckon
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows, support_rows

pytestmark = pytest.mark.django_db
# Qwen3-4B, as its config says: about four billion weights.
QWEN = {
    "hidden_size": 2560, "num_hidden_layers": 36, "vocab_size": 151_936, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 9728, "tie_word_embeddings": True,
}  # fmt: skip
# GB that torch reserved on an H100 in two steps of the program, in the shapes of Qwen2.5 (torch 2.11, trl 1.16).
SHAPES = {
    "0.5B": ModelShape(494_000_000, 24, 896, 4864, 256, 151_936),
    "1.5B": ModelShape(1_544_000_000, 28, 1536, 8960, 512, 151_936),
}
MEASURED = [
    ("0.5B", {"batch": 16, "reply": 256}, 12.67),
    ("1.5B", {"batch": 16, "reply": 256}, 33.62),
    ("1.5B", {"batch": 4, "reply": 512}, 34.15),
    ("0.5B", {"batch": 16, "reply": 256, "lora": 16}, 4.65),
    ("1.5B", {"batch": 16, "reply": 256, "lora": 16}, 9.64),
]
PAPER = TrainingSettings(batch=128, rollouts=5, tokens=1024, reply=4096, lora=16)


def example(number: int, **more: Any) -> Labelled:
    return Labelled(
        f"item {number}", "", f"prompt {number % 41}", "", f"prompt {number % 41}", f"text {number}", **more
    )


def test_the_paper_s_size_is_learned_in_parts_that_fit() -> None:
    shape = ModelShape.of(QWEN)
    assert shape.weights == pytest.approx(4.02e9, rel=0.01) and shape.cached == 2 * 8 * 128
    # 640 replies of 5,120 tokens at once: 36 layers keep 2 · 8 · 128 two-byte numbers per token.
    cache = 128 * 5 * 5120 * 36 * 2048 * 2
    assert needed(shape, PAPER, 128, 5) > cache > 400 * GB
    found = fit(shape, PAPER)
    assert found.bytes <= 80 * GB and 128 % found.at_once == 0 and found.at_once < 128
    assert "about" in found.describe("mine", PAPER) and "of 128 prompts" in found.describe("mine", PAPER)
    assert fit(shape, replace(PAPER, batch=2, reply=64)).at_once == 2
    with pytest.raises(TrainingError, match="for one prompt at a time, and there are 8 "):
        fit(shape, replace(PAPER, memory=8.0))
    with pytest.raises(TrainingError, match="take --lora 16"):
        fit(shape, replace(PAPER, lora=0))  # four billion weights can't all learn in 80 GB


@pytest.mark.parametrize(("size", "given", "measured"), MEASURED)
def test_what_is_reckoned_is_a_little_more_than_what_was_measured(
    size: str, given: dict[str, Any], measured: float
) -> None:
    settings = TrainingSettings(tokens=512, **given)
    assert measured <= needed(SHAPES[size], settings, settings.batch, settings.rollouts) / GB <= 1.25 * measured


def test_memory_is_reckoned_from_the_config_that_lies_there(tmp_path: Path) -> None:
    assert reckon(tmp_path, PAPER).at_once == PAPER.batch  # nothing is known
    (tmp_path / "config.json").write_text(json.dumps(QWEN))
    assert reckon(tmp_path, PAPER) == fit(ModelShape.of(QWEN), PAPER)


def test_prompts_are_divided_as_in_the_paper() -> None:
    found = split_by([example(n) for n in range(41 * 3)], "paper")
    parts = {part: {each.group for each in found if each.split == part} for part in ("train", "valid", "test")}
    assert {part: len(groups) for part, groups in parts.items()} == {"train": 31, "valid": 5, "test": 5}
    assert parts["valid"] == {f"prompt {n}" for n in range(36, 41)}
    with pytest.raises(TrainingError, match="take more than 10 prompts; there are 4"):
        split_by([example(n) for n in range(4)], "paper")


def test_one_corpus_is_left_out() -> None:
    rows = [example(n, corpus=("real", "made-up")[n % 2]) for n in range(200)]
    found = split_by(rows, "corpus:made-up")
    assert {each.corpus for each in found if each.split == "test"} == {"made-up"}
    assert {each.corpus for each in found if each.split != "test"} == {"real"}
    assert len({each.split for each in found}) == 3
    with pytest.raises(TrainingError, match="No example is of the corpus other .made-up, real."):
        split_by(rows, "corpus:other")


def people_with(shift: float, seed: int, users: int = 30, each: int = 24) -> tuple[list[Labelled], np.ndarray]:
    """Labels that follow one column, shifted for each user by `shift` up or down; 0 leaves users alike."""
    rng = np.random.default_rng(seed)
    rows, columns = [], []
    for user in range(users):
        own = shift * rng.choice([-1.0, 1.0])
        for number in range(each):
            value = rng.normal()
            said = rng.random() < 1 / (1 + np.exp(-(2 * value + own)))
            rows.append(Labelled(f"{user} {number}", "", f"{user}", "", "p", "t", label=float(said), user=f"u{user}"))
            columns.append([value, *rng.normal(size=11)])
    return rows, np.array(columns)


@pytest.mark.slow
def test_users_who_differ_gain_by_a_model_of_their_own_and_those_who_do_not_gain_nothing() -> None:
    gained = []
    for seed in range(6):
        rows, features = people_with(2.0, seed)
        gained.append(user_gains("relevance", rows, features, 0.1, TrainingSettings())["gain"])
    assert all(gain["beats"] == "yes" and gain["ci"][0] > 0 for gain in gained)
    null = []
    for seed in range(20):
        rows, features = people_with(0.0, 100 + seed)
        null.append(user_gains("relevance", rows, features, 0.1, TrainingSettings())["gain"])
    assert sum(gain["beats"] == "yes" for gain in null) <= 1 and np.mean([gain["value"] for gain in null]) <= 0


def test_of_few_users_nothing_is_said() -> None:
    rows, features = people_with(2.0, 1, users=3)
    found = user_gains("relevance", rows, features, 0.1, TrainingSettings())
    assert (found["gain"]["value"], found["users"]) == (None, 3) and "needs 5 users" in found["gain"]["why"]


def test_what_is_longer_than_the_window_is_said() -> None:
    rows = [replace(example(n), first="x" * size) for n, size in enumerate((500, 1024, 3072))]
    (warning,) = say_unread("verifier", rows)
    assert warning.startswith("In 1 of 3 examples the evidence is longer than the 256 tokens")
    assert "about 45 % of all text" in warning  # 2,048 of 4,596 characters
    assert say_unread("verifier", rows[:2]) == [] and say_unread("verifier", rows[:1], tokens=64)


@pytest.mark.usefixtures("words", "own_folder")
def test_test_on_another_set_stays_with_its_baselines(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(200))
    import_rows(tmp_path, support_rows(80, seed=5), "other")
    command("train", "--examples", "set", "--task", "verifier", "--name", "mine", "--per-user")
    figures = command("evaluate", "mine", "--examples", "other")
    kept = TrainedModel.objects.get().metrics["elsewhere"]["other"]
    assert kept["auroc"] == figures["auroc"] and kept["baselines"]["bm25"] == figures["baselines"]["bm25"]
    assert TrainedModel.objects.get().metrics["per_user"]["gain"]["value"] is None  # a file names no users
    for wrong, message in (("--split", "x"), "--split takes users, items, groups, paper or corpus:NAME"), (
        ("--plain",), "--plain is for the tier encoder",
    ):  # fmt: skip
        with pytest.raises(CommandError, match=message):
            command("train", "--examples", "set", "--task", "verifier", "--name", "x", *wrong)
