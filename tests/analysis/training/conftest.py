"""Tests of training keep their files in a folder of their own and count words instead of embedding them."""

from pathlib import Path
from typing import Any

import pytest

from tests.analysis.training.training_samples import keep_in, words

__all__ = ["words"]


@pytest.fixture
def own_folder(settings: Any, tmp_path: Path) -> None:
    keep_in(settings, tmp_path / "var")
