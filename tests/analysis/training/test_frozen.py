"""Tier A from file to figures: what can be learned is learned, and what can't is not claimed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from analysis.endpoints.endpoints import add_endpoint
from analysis.models import Example, TextVector, TrainedModel
from analysis.models.training import TrainingTask
from analysis.people.corpora import embeddings
from analysis.people.corpora.embeddings import EmbeddingError
from analysis.training import folders, jobs
from analysis.training.examples import Labelled, TrainingError
from analysis.training.folders import folder_of, hash_folder
from analysis.training.jobs import train_next
from analysis.training.tiers.frozen import Frozen, Texts, baseline_scores
from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows, relevance_rows, support_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]
EMBEDDER_NAMED = embeddings.embedder_named  # before a test replaces it
MEASURES = {"accuracy", "precision", "recall", "f1", "auroc"}


def trained(name: str = "model", examples: str = "set", *more: str) -> dict[str, Any]:
    return command("train", "--examples", examples, "--task", "verifier", "--tier", "frozen", "--name", name, *more)


def not_installed() -> None:
    raise EmbeddingError("No local embedding model is installed.")


def test_what_can_be_learned_is_learned_and_told_with_intervals(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(300, noise=0.1))
    report = trained()
    assert 0.8 < report["auroc"] < 1
    assert set(report["baselines"]) == {"prior", "bm25", "cosine", "length", "frozen"}
    for row in (report, *report["baselines"].values()):
        assert row["n"] == report["parts"]["test"]["n"] and row["groups"] == row["n"]
        assert set(row) >= MEASURES and set(row["ci"]) >= MEASURES
    low, high = report["ci"]["f1"]
    assert low < report["f1"] <= high
    assert report["differences"]["prior"]["auroc"]["beats"] == "yes"
    assert [each["share"] for each in report["learning_curve"]] == [0.1, 0.25, 0.5, 1.0]
    assert [each["seed"] for each in report["seeds"]] == [0, 1, 2]
    assert report["ceiling"]["why"]


def test_labels_by_chance_beat_nothing(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(300, noise=0.5))
    report = trained("model", "set", "--folds", "4")
    assert report["differences"]["prior"]["auroc"]["beats"] != "yes"
    found = report["cross_validation"]
    low, high = found["ci"]["auroc"]
    assert low < 0.5 < high
    # Thresholds of baselines are chosen on another fold, too: on the same cases each would have its best F1.
    assert all(found["baselines"][name]["f1"] < found["baselines"][name]["best_f1"] for name in ("bm25", "cosine"))
    gap = found["f1"] - found["baselines"]["cosine"]["f1"]
    assert found["differences"]["cosine"]["f1"]["value"] == pytest.approx(gap)


def test_lists_are_ranked_for_relevance(tmp_path: Path) -> None:
    import_rows(tmp_path, relevance_rows(100))
    report = command("train", "--examples", "set", "--task", "relevance", "--name", "model")
    assert report["map"] > report["baselines"]["prior"]["map"]
    assert report["groups"] < report["n"] / 4


def test_the_first_response_is_not_preferred_for_standing_first(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "prompt": f"About {n}", "chosen": f"Yes {n} gladly of course", "rejected": f"No {n}"}
        for n in range(150)
    ]
    import_rows(tmp_path, rows)
    report = command("train", "--examples", "set", "--task", "reward", "--name", "model")
    assert report["accuracy"] == 1 and report["ci"]["accuracy"][0] < 1
    turned = [
        {"id": r["id"], "prompt": r["prompt"], "response_1": r["rejected"], "response_2": r["chosen"], "label": 2}
        for r in rows
    ]
    import_rows(tmp_path, turned, "turned")
    assert command("evaluate", "model", "--examples", "turned")["accuracy"] == 1


def test_a_kept_model_gives_the_same_figures_and_its_scores(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(200))
    report = trained("model", "set", "--folds", "4")
    found = report["cross_validation"]  # each group is scored out of fold
    assert (found["n"], found["folds"]) == (200, 4)
    assert found["auroc"] > 0.9 and found["accuracy"] > 0.8
    again = command("evaluate", "model", "--examples", "set")
    assert {name: again[name] for name in MEASURES} == {name: report[name] for name in MEASURES}
    out = tmp_path / "scores.jsonl"
    call_command("predict", "model", "--examples", "set", "--out", str(out))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 200 and set(rows[0]) == {"id", "score"}
    assert all(0 <= row["score"] <= 1 for row in rows)
    # Its folder has the recorded hash, and a card.
    folder = folder_of("model")
    assert report["sha256"] == hash_folder(folder) == TrainedModel.objects.get().sha256
    card = (folder / "README.md").read_text()
    assert f"{report['auroc']:.3f}" in card and "Beats cosine in auroc" in card
    (folder / "model.json").write_text("{}")
    with pytest.raises(CommandError, match="not those that were trained"):
        command("evaluate", "model", "--examples", "set")


def test_texts_on_both_sides_are_warned_of_and_left_out_beside(tmp_path: Path) -> None:
    rows = [row | {"group": str(place), "split": "train"} for place, row in enumerate(support_rows(150))]
    for place, row in enumerate(rows):
        row["split"] = ("train", "train", "valid", "test", "train")[place % 5]
    rows[3]["evidence"] = rows[0]["evidence"].upper()
    import_rows(tmp_path, rows)
    report = trained()
    assert any("(evidence) that stand in the training part too: 1," in warning for warning in report["warnings"])
    assert report["unshared"]["n"] == report["n"] - 1


def test_a_validation_part_of_one_label_ranks_nothing(tmp_path: Path) -> None:
    rows = [row | {"split": ("train", "test")[place % 2]} for place, row in enumerate(support_rows(150))]
    for row in [row for row in rows if row["label"] == "supported"][:10]:
        row["split"] = "valid"
    import_rows(tmp_path, rows)
    assert {each["valid"] for each in trained()["seeds"]} == {None}


@pytest.mark.parametrize(("task", "searched"), [(TrainingTask.VERIFIER, "first"), (TrainingTask.RELEVANCE, "second")])
def test_bm25_searches_in_the_evidence_or_in_what_the_prompt_asks_for(task: str, searched: str) -> None:
    """What is searched in counts a word as often as it has it; what is searched for has each word once."""
    asked = "first" if searched == "second" else "second"
    pairs = [{searched: text, asked: "tea"} for text in ("tea tea tea green", "tea with much sugar", "red bikes")]
    examples = [Labelled(str(n), "test", "", "", **pair) for n, pair in enumerate(pairs)]
    texts = Texts({text: np.ones(1) for pair in pairs for text in pair.values()})
    thrice, once, none = baseline_scores(task, examples, texts)["bm25"]
    assert thrice > once > none == 0


def test_a_baselines_threshold_is_on_the_scale_of_the_test_part(tmp_path: Path) -> None:
    """BM25 scores a text by how rare its words are among the others, so each part is scored by itself."""
    rows = [row | {"group": "of training", "split": "train"} for row in support_rows(400)]
    rng = np.random.default_rng(0)
    for n in range(60):
        said, shared = rng.choice(40, 12, replace=False).tolist(), n % 4
        row = {
            "evidence": " ".join(f"w{word}" for word in said[:8]),
            "statement": " ".join(f"w{word}" for word in [*said[:shared], *said[8:]]),
            "label": "supported" if rng.random() < (0.1, 0.4, 0.7, 0.9)[shared] else "unsupported",
        }
        rows += [row | {"id": f"{part} {n}", "split": part, "group": part} for part in ("valid", "test")]
    import_rows(tmp_path, rows)
    found = trained()["baselines"]["bm25"]
    assert found["f1"] == found["best_f1"]


def test_seeds_whose_groups_have_one_label_are_drawn_again(tmp_path: Path) -> None:
    rows = [row | {"group": row["label"], "split": "train"} for row in support_rows(60)]
    rows += [
        row | {"id": f"other {place}", "group": str(place % 8), "split": ("valid", "test")[place % 2]}
        for place, row in enumerate(support_rows(60, seed=1))
    ]
    import_rows(tmp_path, rows)
    assert len(trained("model", "set", "--seeds", "6")["seeds"]) == 6


def test_length_that_tells_the_label_is_warned_of(tmp_path: Path) -> None:
    rows = support_rows(200)
    for row in rows:
        row["statement"] += " indeed" * (30 if row["label"] == "supported" else 0)
    import_rows(tmp_path, rows)
    assert any(warning.startswith("length alone reaches auroc") for warning in trained()["warnings"])


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (support_rows(3), "Too little to learn from"),
        (
            [
                row | {"group": f"{n}", "split": ("train", "valid", "test")[n % 3]}
                for n, row in enumerate(support_rows(3))
            ],
            "1 example in the training part",
        ),
        ([row | {"label": "supported"} for row in support_rows(100)], "it takes 5 of each label"),
        (
            [row | {"group": "g", "split": ("train", "test")[n % 2]} for n, row in enumerate(support_rows(100))],
            "more than",
        ),
        ([row | {"split": "train"} for row in support_rows(100)], "no example in the test part"),
        (
            [
                row | {"group": f"{n % 3}", "split": ("train", "valid", "test")[n % 3]}
                for n, row in enumerate(support_rows(100))
            ],
            r"too few groups for --folds 3 \(3\)",
        ),
    ],
)
def test_what_cannot_be_trained_on_is_one_sentence(tmp_path: Path, rows: list[dict], reason: str) -> None:
    import_rows(tmp_path, rows)
    with pytest.raises(CommandError, match=reason):
        trained("model", "set", "--folds", "3")
    assert not TrainedModel.objects.exists()


def test_a_disk_that_is_full_leaves_nothing_half_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_rows(tmp_path, support_rows(120))

    def full(fit: Frozen, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Frozen, "save", full)
    with pytest.raises(CommandError, match="could not be saved: No space left on device"):
        trained()
    assert list(folder_of("model").parent.iterdir()) == []
    assert TrainedModel.objects.get().state == "failed"
    monkeypatch.undo()


def test_without_an_embedding_model_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_rows(tmp_path, support_rows(120))
    monkeypatch.setattr(embeddings, "local_embedder", not_installed)
    with pytest.raises(CommandError, match="No local embedding model is installed"):
        trained()
    assert not TrainedModel.objects.exists()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "needs more memory than there is"),
        (OSError(28, "No space left on device"), "could not be trained: No space left on device"),
    ],
)
def test_what_ends_a_training_is_one_sentence_and_counts_as_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    import_rows(tmp_path, support_rows(120))

    def fail(*given: Any, **how: Any) -> None:
        raise error

    monkeypatch.setattr(jobs, "embed_texts", fail)
    with pytest.raises(CommandError, match=reason) as told:
        trained()
    assert "\n" not in str(told.value) and TrainedModel.objects.get().state == "failed"
    assert not folder_of("model").exists()
    with pytest.raises(CommandError, match="There is no model called other. Models: none yet"):
        command("evaluate", "other", "--examples", "set")


def test_a_failed_training_is_begun_again_by_the_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_rows(tmp_path, support_rows(120))
    with monkeypatch.context() as patch:
        patch.setattr(folders, "hash_folder", lambda folder: 1 / 0)
        patch.setattr(jobs, "hash_folder", lambda folder: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            trained()
    assert trained()["model"] == "model"
    with pytest.raises(CommandError, match="There is a model called model already"):
        trained()


def test_models_are_used_for_their_task_only(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(120))
    import_rows(tmp_path, relevance_rows(40), "pairs")
    trained()
    with pytest.raises(
        CommandError, match="model is a model of the task verifier; the examples pairs are for relevance"
    ):
        command("evaluate", "model", "--examples", "pairs")
    with pytest.raises(CommandError, match="The examples pairs are for the task relevance, not verifier"):
        trained("other", "pairs")
    with pytest.raises(CommandError, match="There is no model called none. Models: model"):
        command("evaluate", "none", "--examples", "set")


def test_a_second_training_waits_on_this_machine_and_not_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_rows(tmp_path, support_rows(120))
    with jobs.alone() as free:
        assert free
        with pytest.raises(CommandError, match="Another model is being trained on this machine. model waits"):
            trained()
        assert TrainedModel.objects.get().state == "waiting"
        assert jobs.next_waiting() == TrainedModel.objects.get()
        monkeypatch.setattr(jobs, "machine", lambda: "another computer")
        assert trained()["model"] == "model"
    monkeypatch.undo()
    with pytest.raises(ZeroDivisionError), jobs.alone():
        raise ZeroDivisionError
    with jobs.alone() as free:
        assert free


def test_who_stops_a_training_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_rows(tmp_path, support_rows(120))
    monkeypatch.setattr(jobs, "SECONDS", 0)
    embed = jobs.embed_texts

    def stopped_meanwhile(*given: Any, **how: Any) -> Any:
        jobs.stop(TrainedModel.objects.get())
        return embed(*given, **how)

    monkeypatch.setattr(jobs, "embed_texts", stopped_meanwhile)
    with pytest.raises(CommandError, match="model was stopped"):
        trained()
    model = TrainedModel.objects.get()
    assert (model.state, folder_of("model").exists()) == ("stopped", False)
    assert jobs.resume(model) and TrainedModel.objects.get().state == "waiting"


def test_a_dry_run_trains_nothing(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(120))
    report = command("train", "--examples", "set", "--task", "verifier", "--dry-run")
    assert report["n"] == 120 and report["labels_sha256"]
    assert not TrainedModel.objects.exists()


def test_workers_train_what_waits_and_what_was_ended_in_the_middle(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(120))
    assert trained("model", "set", "--queue") == {"model": "model", "state": "waiting"}
    train_next()
    assert TrainedModel.objects.get().state == "done"
    trained("other", "set", "--queue")
    TrainedModel.objects.filter(name="other").update(state="running")  # as kill -9 leaves it
    train_next()
    assert TrainedModel.objects.get(name="other").state == "done"
    train_next()


def test_a_training_that_fails_in_a_worker_says_why(tmp_path: Path) -> None:
    import_rows(tmp_path, support_rows(120))
    trained("model", "set", "--queue")
    Example.objects.filter(position__gt=15).delete()
    train_next()
    model = TrainedModel.objects.get()
    assert (model.state, model.reason[:24]) == ("failed", "Too little to learn from")


def test_a_machine_without_what_it_takes_leaves_a_model_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_rows(tmp_path, support_rows(120))
    for name in ("large", "model"):
        trained(name, "set", "--queue")
    TrainedModel.objects.filter(name="large").update(tier="encoder")

    def lacking() -> None:
        raise TrainingError("torch is not installed: make setup-training.")

    monkeypatch.setattr(jobs, "check_installed", lacking)
    train_next()
    large, model = TrainedModel.objects.order_by("name")
    assert (large.state, model.state) == ("waiting", "done")
    assert large.reason.startswith("It waits for a machine that can train it. ")
    assert large.reason.endswith(": torch is not installed: make setup-training.")


def test_vectors_of_an_endpoint_stand_for_the_local_model_and_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "local_embedder", not_installed)
    add_endpoint("vectors", provider="fake", model="counts", embeddings=True)
    add_endpoint("others", provider="fake", model="others", embeddings=True)
    monkeypatch.setattr(embeddings, "embedder_named", EMBEDDER_NAMED)
    import_rows(tmp_path, support_rows(120))
    import_rows(tmp_path, support_rows(60, seed=1), "more")
    command("train", "--examples", "set", "--task", "verifier", "--name", "served", "--endpoint", "vectors")
    assert TextVector.objects.filter(model="vectors/counts").count() > 120
    assert "frozen vectors (of the endpoint vectors)" in (folder_of("served") / "README.md").read_text()
    before = TextVector.objects.count()
    figures = command("evaluate", "served", "--examples", "more", "--endpoint", "vectors")
    assert figures == command("evaluate", "served", "--examples", "more") and TextVector.objects.count() > before
    with pytest.raises(CommandError, match="learned from vectors of vectors/counts; those of others/others mean"):
        command("evaluate", "served", "--examples", "more", "--endpoint", "others")
    with pytest.raises(CommandError, match="There is no endpoint nobody"):
        command("train", "--examples", "set", "--task", "verifier", "--name", "x", "--endpoint", "nobody")
