"""What a test of training keeps lies in a folder of its own; words are counted in place of embeddings."""

from pathlib import Path
from typing import Any

import pytest

from tests.analysis.training.training_samples import keep_in, words

__all__ = ["words"]


@pytest.fixture
def own_folder(settings: Any, tmp_path: Path) -> None:
    keep_in(settings, tmp_path / "var")
