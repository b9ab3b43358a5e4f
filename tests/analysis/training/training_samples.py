"""Examples whose truth is known, and vectors that need no model."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from analysis.models.corpora import DIMENSIONS
from analysis.people.corpora import embeddings
from analysis.people.corpora.embeddings import Embedder
from fieldstudy.embedded.servers import ROOT
from tests.analysis.people.people_samples import command, write_lines
from tests.analysis.runs.baseline_factories import real_data

TOPICS = ("tea", "trains", "chess", "gardens", "running", "painting", "sailing", "cooking")


def embed_words(texts: Sequence[str]) -> np.ndarray:
    """Embed texts by their words, so that texts with the same words are near."""
    counts = np.zeros((len(texts), DIMENSIONS), "float32")
    for row, text in zip(counts, texts, strict=True):
        for word in text.lower().split():
            row[crc32(word.encode()) % DIMENSIONS] += 1
    return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put vectors that count words in the local model's place."""
    monkeypatch.setattr(embeddings, "local_embedder", lambda: Embedder("words", embed_words))
    monkeypatch.setattr(embeddings, "embedder_named", lambda name: Embedder(name, embed_words))


def keep_in(settings: Any, folder: Path) -> None:
    """Give a test its own folder for what it keeps."""
    settings.VAR_FOLDER = folder
    store = settings.STORAGES["kept"]
    settings.STORAGES = settings.STORAGES | {"kept": store | {"OPTIONS": store["OPTIONS"] | {"location": folder}}}


def relevance_rows(turns: int, seed: int = 0) -> list[dict[str, Any]]:
    """Prompts of twenty users with four statements each; a statement is relevant if it shares the prompt's topic."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(turns):
        chosen = rng.permutation(len(TOPICS))[:4]
        about = TOPICS[chosen[0]] if rng.random() < 0.7 else "something"
        rows.append(
            {
                "id": f"turn {number}",
                "group": f"user {number % 20}",
                "prompt": f"What is new about {about} in week {number}",
                "attributes": [
                    {
                        "id": str(place),
                        "text": f"I like {TOPICS[topic]} number {number}",
                        "relevant": int(TOPICS[topic] == about),
                    }
                    for place, topic in enumerate(rng.permutation(chosen))
                ],
            }
        )
    return rows


def support_rows(number: int, noise: float = 0.0, seed: int = 0) -> list[dict[str, Any]]:
    """Statements that say what their evidence says, or the opposite; `noise` is the share of wrong labels."""
    rng = np.random.default_rng(seed)
    rows = []
    for place in range(number):
        topic, right = TOPICS[place % len(TOPICS)], rng.random() < 0.5
        said = right != (rng.random() < noise)
        rows.append(
            {
                "id": str(place),
                "evidence": f"case {place} : this person talks about {topic} daily",
                "statement": f"likes {topic} case {place}" if right else f"never heard of anything like that {place}",
                "label": "supported" if said else "unsupported",
            }
        )
    return rows


def import_rows(path: Path, rows: Sequence[dict[str, Any]], name: str = "set") -> dict[str, Any]:
    return command("import_examples", name, str(write_lines(path / f"{name}.jsonl", rows)))


def nothing(share: float, curve: list[dict[str, Any]]) -> None:
    """Ignore the progress of a program."""


def kill_at(sign: str, program: str, folder: Path, job: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Start the program and kill it as soon as its folder has a file that matches `sign`."""
    write_lines(folder / "examples.jsonl", rows)
    (folder / "job.json").write_text(json.dumps(job))
    with (folder / "said.txt").open("w") as said:
        begun = subprocess.Popen([sys.executable, "-m", program, str(folder)], cwd=ROOT, stdout=said, stderr=said)
        while begun.poll() is None and not list(folder.glob(sign)):
            time.sleep(0.01)
        assert begun.poll() is None, (folder / "said.txt").read_text()
        begun.kill()
        begun.wait()


def public(name: str) -> Path:
    """Return a file of the public sets; skip the test if it is missing."""
    return real_data(f"training/{name}.jsonl")


def tiny_encoder(folder: Path) -> Path:
    """Save random weights in Hugging Face's form, with a tokenizer that knows letters and a few words."""
    transformers = pytest.importorskip("transformers", reason="make setup-training")
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TOPICS, "likes", "never", "case", *letters]
    (folder / "vocab.txt").write_text("\n".join([*known, *(f"##{letter}" for letter in letters)]))
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(known) + len(letters), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=128,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def tiny_language_model(folder: Path) -> Path:
    """Like `tiny_encoder`, but one that writes: yes or no in the wanted form about as often as anything else."""
    torch, transformers = (
        pytest.importorskip(name, reason="make setup-training") for name in ("torch", "transformers")
    )
    tiny_encoder(folder)
    answers = [f"<answer>{word}</answer>" for word in ("yes", "no")]
    tokenizer = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"), eos_token="[SEP]")
    tokenizer.add_tokens(answers)
    tokenizer.save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=256, pad_token_id=0, bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    (folder / "model.safetensors").unlink()
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config)
    model.lm_head.weight.data[tokenizer.convert_tokens_to_ids(answers)] *= 30
    model.save_pretrained(folder)
    return folder
