"""The product's output is unchanged: runs tests/goldens/compare.py in a process that no other test has used."""

import pytest

from tests.embedded import services_folder, start_python

PATIENCE = 600  # seconds: 20 on a quiet computer


@pytest.mark.slow
@pytest.mark.processes
def test_what_is_put_out_is_what_it_was() -> None:
    with services_folder() as var:
        command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "tests/goldens/compare.py")
        with start_python(*command, var=var, PYTEST_XDIST_WORKER="") as process:
            out, fault = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out[-20_000:] + fault[-2_000:]
