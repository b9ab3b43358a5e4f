"""The number of tests a whole run leaves out is fixed; and two runs never share a database."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from fieldstudy.embedded.servers import ROOT
from tests import skips
from tests.embedded import run_python, services_folder


def written_reasons() -> Iterator[str]:
    """The reasons for leaving out tests, as written in their files."""
    texts = [path.read_text() for path in (ROOT / "tests").rglob("*.py")]
    for text in (text for text in texts if "skip" in text):  # as each of the names below has
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "pytest.skip",
                "pytest.importorskip",
                "pytest.mark.skipif",
            ):
                given = next((part.value for part in node.keywords if part.arg == "reason"), node.args[0])
                parts = given.values if isinstance(given, ast.JoinedStr) else [given]
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "nginx" for part in parts)


ALONE = {"safetensors.torch", "Chromium is not installed: run `make chromium`, or name one with CHROMIUM=/path"}


def test_every_written_reason_is_known() -> None:
    unknown = {
        reason for reason in written_reasons() if not (skips.find_lack(reason) or skips.is_of_the_machine(reason))
    }
    assert unknown == ALONE  # with the package before it, and never in a whole run


@pytest.fixture
def lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skips, "LACKS", (skips.Lack("a model", ("the model", "its weights"), quick=2, unit=3),))


def found(part: str, **reasons: int) -> list[str]:
    return list(skips.find_changes(part, Counter({name.replace("_", " "): count for name, count in reasons.items()})))


@pytest.mark.usefixtures("lacks")
def test_what_is_there_leaves_nothing_out_and_what_lacks_the_number_that_is_known() -> None:
    assert found("quick") == found("quick", needs_the_model=1, wants_its_weights=1) == []
    assert found("unit", without_the_model=3, gpg_is_not_installed=5) == []


@pytest.mark.usefixtures("lacks")
@pytest.mark.parametrize(
    ("part", "reasons", "words"),
    [
        ("quick", {"the_model": 3}, "3 left out of quick without a model, not 2"),
        ("unit", {"the_model": 2}, "2 left out of unit without a model, not 3"),
        ("browser", {"the_model": 3}, "3 left out of browser without a model, not 0"),
        ("unit", {"too_hard": 4}, "4 left out of unit for a reason that LACKS does not have: too hard"),
    ],
)
def test_another_number_and_another_reason_are_told(part: str, reasons: dict[str, int], words: str) -> None:
    assert found(part, **reasons) == [words]


def test_every_whole_run_of_make_is_held() -> None:
    runs = re.findall(r"^(\w+):.*\n\t@\$\(PYTEST\).* --skips (\w+) ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert runs == [(part, part) for part in skips.PARTS]


def run_pytest(*arguments: str, var: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    return run_python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, var=var, PYTEST_XDIST_WORKER="", **changes
    )


@pytest.mark.processes
def test_a_second_run_on_the_same_databases_is_refused_in_a_sentence() -> None:
    done = run_pytest("tests/test_docs.py", var=settings.SERVICES_FOLDER)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"Other tests are running with {settings.SERVICES_FOLDER}. Wait until" in done.stderr


@pytest.mark.processes
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_run_that_leaves_out_another_number_fails(tmp_path: Path, workers: str) -> None:
    one = "tests/surveys/reading/test_choice_letters.py"
    with services_folder() as var:
        done = run_pytest(one, "-n", workers, "--skips", "quick", var=var, FIELDSTUDY_SHARED=str(tmp_path))
    assert "what is left out has changed" in done.stdout and "1 left out" in done.stdout, done.stderr
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
