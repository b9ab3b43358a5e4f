"""Labels by simulated people whose truth is known: what soft labels are worth where annotators disagree."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.people.people_samples import command
from tests.analysis.training.training_samples import import_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("words", "own_folder")]
KNOWN = [f"word{number}" for number in range(14)]
RATERS = 3


def disputed_rows(turns: int, seed: int, weights: np.ndarray) -> list[dict[str, Any]]:
    """Statements of words that each make a yes more or less likely; three people say yes with just that probability.

    In the test part the label is the truth: whether a yes is likelier than a no.
    """
    rng = np.random.default_rng(seed)
    return [
        {
            "id": str(turn),
            "split": (split := ("train", "train", "valid", "test", "test")[turn % 5]),
            "prompt": f"turn {turn}",
            "attributes": [disputed(rng, weights, split == "test", f"{turn} {place}") for place in range(5)],
        }
        for turn in range(turns)
    ]


def disputed(rng: np.random.Generator, weights: np.ndarray, is_test: bool, name: str) -> dict[str, Any]:
    has = rng.random(len(KNOWN)) < 0.5
    share = 1 / (1 + np.exp(-(has - 0.5) @ weights))
    votes = (rng.random(RATERS) < share).mean()
    text = " ".join(word for word, is_in in zip(KNOWN, has, strict=True) if is_in)
    return {"id": name, "text": f"{text} {name}", "relevant": float(share > 0.5) if is_test else float(votes)}


def test_soft_labels_find_the_truth_better_where_people_disagree(tmp_path: Path) -> None:
    weights, found = np.random.default_rng(99).normal(0, 1.2, len(KNOWN)), {}
    for seed in range(3):
        import_rows(tmp_path, disputed_rows(100, seed, weights), f"set-{seed}")
        for soft in (True, False):
            given = ("--task", "relevance", "--seeds", "1", *(["--soft-labels"] if soft else []))
            report = command("train", "--examples", f"set-{seed}", *given, "--name", f"model-{seed}-{int(soft)}")
            found.setdefault(soft, []).append(report["auroc"])
    gains = np.subtract(found[True], found[False])
    assert min(gains) > 0, found
    assert np.mean(found[True]) > 0.85
