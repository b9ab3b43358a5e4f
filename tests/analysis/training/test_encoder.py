"""Tier B: an encoder trained in a program of its own, killed, resumed and used."""

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from analysis.models import TrainedModel
from analysis.training.examples import TrainingError
from analysis.training.folders import folder_of
from analysis.training.networks.folder import JobFolder, run_as_program
from analysis.training.tiers import encoders, programs
from analysis.training.tiers.encoders import PROGRAM
from analysis.training.tiers.programs import run_program, why_it_ended
from fieldstudy.embedded.servers import ROOT
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows, kill_at, nothing, support_rows, tiny_encoder

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small encoder with random weights that knows the samples' words."""
    pytest.importorskip("torch", reason="make setup-training")
    return tiny_encoder(tmp_path_factory.mktemp("tiny"))


def trained(base: Path | str, *more: str) -> dict[str, Any]:
    given = ("--task", "verifier", "--tier", "encoder", "--model", str(base), "--name", "model", "--epochs", "2")
    return command("train", "--examples", "set", *given, *more)


def job_of(base: Path, **changes: Any) -> dict[str, Any]:
    job = {"does": "train", "task": "verifier", "measure": "auroc", "base": str(base), "positive_weight": 1.0}
    numbers = {"seeds": 2, "epochs": 3, "batch": 8, "rate": 1e-3, "tokens": 48, "threads": 1, "save_every": 0}
    return job | numbers | changes


def rows(number: int = 120) -> list[dict[str, Any]]:
    return [
        {
            "key": row["id"], "split": ("train", "train", "valid", "test")[place % 4], "first": row["evidence"],
            "second": row["statement"], "third": "", "label": float(row["label"] == "supported"), "offset": 0.0,
        }
        for place, row in enumerate(support_rows(number))
    ]  # fmt: skip


@pytest.mark.slow
def test_an_encoder_is_trained_tested_kept_and_used(tmp_path: Path, base: Path) -> None:
    import_rows(tmp_path, support_rows(160, noise=0.1))
    report = trained(base, "--seeds", "2")
    assert [each["seed"] for each in report["seeds"]] == [0, 1]
    assert report["baselines"]["frozen"]["auroc"] is not None
    assert set(report["differences"]["frozen"]["auroc"]) >= {"value", "ci", "beats"}
    assert report["timing"]["limit_s"] > 0 and report["timing"]["ratio"] > 0
    assert (folder_of("model") / "encoder" / "config.json").exists()
    curve = TrainedModel.objects.get().curve
    assert {point["seed"] for point in curve if "valid" in point} == {0, 1} and any("loss" in point for point in curve)
    again = command("evaluate", "model", "--examples", "set")
    assert again["auroc"] == pytest.approx(report["auroc"], abs=0.01)
    out = tmp_path / "scores.jsonl"
    call_command("predict", "model", "--examples", "set", "--out", str(out))
    assert len(out.read_text().splitlines()) == 160


def tiny_backbone(folder: Path, kind: str) -> Path:
    """Save random weights in bfloat16, the format of the paper's backbones."""
    torch, transformers = (
        pytest.importorskip(name, reason="make setup-training") for name in ("torch", "transformers")
    )
    tiny_encoder(folder)
    (folder / "model.safetensors").unlink()
    words = len(transformers.AutoTokenizer.from_pretrained(folder))
    signs = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    signs |= {"cls_token_id": 2, "sep_token_id": 3} if kind == "ModernBert" else {"num_key_value_heads": 1}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=words, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=128, **signs,
    )  # fmt: skip
    getattr(transformers, f"{kind}Model")(config).to(torch.bfloat16).save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Qwen2", "Llama", "ModernBert"])
def test_backbones_of_every_kind_are_trained_kept_and_read_again(tmp_path: Path, kind: str) -> None:
    for name in ("base", "work", "again"):
        (tmp_path / name).mkdir()
    base, work, again = tiny_backbone(tmp_path / "base", kind), tmp_path / "work", tmp_path / "again"
    run_program(PROGRAM, work, job_of(base, seeds=1, epochs=1), rows(), nothing)
    kept = np.load(work / "seed-0.npy")
    assert np.isfinite(kept).all() and np.ptp(kept) > 0
    run_program(PROGRAM, again, job_of(work / "seed-0") | {"does": "score"}, rows(), nothing)
    assert np.load(again / "scores.npy") == pytest.approx(kept, abs=1e-3)


@pytest.mark.slow
@pytest.mark.processes
def test_a_program_that_is_killed_goes_on_to_the_same_end(tmp_path: Path, base: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    run_program(PROGRAM, whole, job_of(base), rows(), nothing)
    kill_at("seed-0/head.pt", PROGRAM, killed, job_of(base), rows())
    assert not (killed / "result.json").exists()
    run_program(PROGRAM, killed, job_of(base), rows(), nothing)
    for seed in (0, 1):
        assert np.load(killed / f"seed-{seed}.npy") == pytest.approx(np.load(whole / f"seed-{seed}.npy"), abs=1e-4)


@pytest.mark.slow
@pytest.mark.processes
def test_who_stops_a_program_finds_its_checkpoint(tmp_path: Path, base: Path) -> None:
    class Enough(Exception):
        pass

    def note(share: float, curve: list[dict[str, Any]]) -> None:
        if share > 0:
            raise Enough

    with pytest.raises(Enough):
        run_program(PROGRAM, tmp_path, job_of(base, epochs=500, save_every=1000), rows(), note)
    assert (tmp_path / "checkpoint.pt").exists() and not (tmp_path / "result.json").exists()


def test_what_tier_a_says_of_training_examples_is_out_of_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With random labels, a fit that saw an example would know its label; one that did not can't."""
    import_rows(tmp_path, support_rows(300, noise=0.5))
    handed: list[dict[str, Any]] = []

    def end_here(module: str, folder: Path, job: Any, rows: list[dict[str, Any]], note: Any) -> None:
        handed.extend(rows)
        raise TrainingError("enough")

    monkeypatch.setattr(encoders, "check_installed", lambda: None)
    monkeypatch.setattr("analysis.training.jobs.check_installed", lambda: None)
    monkeypatch.setattr("analysis.training.jobs.find_base", Path)
    monkeypatch.setattr(encoders, "find_base", Path)
    monkeypatch.setattr(encoders, "run_program", end_here)
    with pytest.raises(CommandError, match="enough"):
        trained(tmp_path)
    right = [(row["offset"] > 0) == (row["label"] > 0.5) for row in handed if row["split"] == "train"]
    assert 0.35 < np.mean(right) < 0.65


def test_a_folder_without_weights_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.training.jobs.check_installed", lambda: None)
    import_rows(tmp_path, support_rows(120))
    with pytest.raises(CommandError, match="has no model: config.json and weights"):
        trained(tmp_path)
    assert not TrainedModel.objects.exists()


def test_without_torch_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs.importlib.util, "find_spec", lambda name: None)
    import_rows(tmp_path, support_rows(120))
    with pytest.raises(CommandError, match="torch, transformers is not installed: make setup-training"):
        trained("")


def test_program_that_the_system_killed_most_likely_ran_out_of_memory() -> None:
    assert "memory ran out" in why_it_ended(-9, "trace\nx\n")


class FakeOutOfMemory(Exception):
    """A stand-in for torch's own."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("x"), "memory ran out"),
        (FakeOutOfMemory("x"), "memory ran out"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "memory ran out"),
        (OSError(28, "No space left on device"), "could not be read or written .*No space left on device"),
        (RuntimeError("PytorchStreamWriter failed writing file"), "could not be read or written"),
        (ValueError("two\nlines"), "ended with an error: ValueError: two lines"),
    ],
)
def test_what_goes_wrong_in_a_program_is_one_sentence(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    monkeypatch.setattr("os.nice", lambda more: None)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    (tmp_path / "job.json").write_text('{"does": "train"}')

    def fail(folder: JobFolder) -> dict[str, Any]:
        raise error

    code = run_as_program(tmp_path, {"train": fail}, FakeOutOfMemory)
    said = why_it_ended(code, capsys.readouterr().err)
    assert re.search(words, said) and "\n" not in said
    assert not (tmp_path / "result.json").exists()


def test_a_loss_that_is_no_number_ends_the_training_and_says_what_to_do(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.nice", lambda more: None)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    (tmp_path / "job.json").write_text('{"does": "train"}')

    def diverge(folder: JobFolder) -> dict[str, Any]:
        folder.curve.append({"seed": 0, "step": 1, "loss": math.nan})
        folder.note(0.1)
        return {}

    code = run_as_program(tmp_path, {"train": diverge}, FakeOutOfMemory)
    assert "take a lower rate (--rate)" in why_it_ended(code, capsys.readouterr().err)
    assert not (tmp_path / "progress.json").exists() and not (tmp_path / "result.json").exists()


@pytest.mark.slow
def test_neither_web_server_nor_worker_imports_torch() -> None:
    """Loads all addresses, tasks and commands, as both do."""
    asked = (
        "import tests.settings, django, sys; django.setup(); import fieldstudy.urls, fieldstudy.wsgi;"
        "[part.url_patterns for part in fieldstudy.urls.urlpatterns if hasattr(part, 'url_patterns')];"
        "from fieldstudy.celery import app; app.loader.import_default_modules();"
        "import analysis.management.commands.train, analysis.management.commands.predict;"
        "print(sorted({'torch', 'transformers', 'trl'} & set(sys.modules)))"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    told = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True
    )
    assert told.stdout.splitlines()[-1:] == ["[]"], told.stderr
