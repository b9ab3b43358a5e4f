"""One platform, shared by all the faults."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.platform import Platform, start_platform


@pytest.fixture(scope="package")
def platform() -> Iterator[Platform]:
    # Not below pytest's own folder: each new run closes the path there to PostgreSQL's account.
    with tempfile.TemporaryDirectory(prefix="fieldstudy-faults-") as folder:
        platform = start_platform(Path(folder))
        yield platform
        platform.close()
