"""What gets into the image, and what it is built from; no engine is needed for that."""

import re
import subprocess
from pathlib import Path

import pytest

from fieldstudy.embedded.servers import ROOT
from tests.operation.build_context import build_context, is_let_in, rules
from tests.test_containers import load_program

PRIVATE = [
    ".env",
    ".env.bak",
    ".env.example",
    "before-upgrade.dump",
    "backups/fieldstudy-20260101T000000Z.dump.gpg",
    "docker-compose.override.yml",
    "notes/answers.csv",
    "fieldstudy.dump",
    "surveys/fieldstudy.dump",
    "surveys/studies/.env.old",
    "analysis/.env",
    "var/postgres/base/1",
    ".git/config",
    "tests/test_containers.py",
]
NEEDED = ["manage.py", "requirements.txt", "surveys/models/__init__.py", "templates/base.html", ".ci/slim.py"]


def tracked(*folders: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this copy is not a checkout of git")
    return set(listed.stdout.splitlines())


def test_rules_are_read_as_engines_read_them() -> None:
    ordered = rules("# comment\n*\n!a\n**/*.dump\n!a/b/kept.dump\n**/c?\n")
    said = {path: is_let_in(path, ordered) for path in ("x", "a/x", "a/b/x.dump", "a/b/kept.dump", "a/c1/x", "a/c/x")}
    assert said == {"x": False, "a/x": True, "a/b/x.dump": False, "a/b/kept.dump": True, "a/c1/x": False, "a/c/x": True}


def test_dumps_and_secrets_in_the_checkout_stay_out_of_the_image(tmp_path: Path) -> None:
    for name in [*PRIVATE, *NEEDED]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".dockerignore").write_text((ROOT / ".dockerignore").read_text())
    assert build_context(tmp_path) == set(NEEDED)


def test_all_that_runs_is_in_the_image() -> None:
    ordered = rules((ROOT / ".dockerignore").read_text())
    files = tracked("analysis", "fieldstudy", "surveys", "templates", "manage.py")
    assert len(files) > 500
    assert {path for path in files if not is_let_in(path, ordered)} == set()


def test_dumps_and_secrets_are_not_committed() -> None:
    planted = [name for name in PRIVATE if "env" in name or name.endswith((".dump", ".gpg"))]
    done = subprocess.run(["git", "check-ignore", "--no-index", *planted], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 128:
        pytest.skip("this copy is not a checkout of git")
    assert set(planted) - set(done.stdout.split()) == {".env.example"}


def test_checkout_that_is_closed_to_others_makes_an_image_that_everybody_may_read() -> None:
    _, build, image = (ROOT / "Dockerfile").read_text().split("\nFROM ")
    copied, opened = build.index("COPY . ."), build.index("chmod -R a+rX .")
    assert copied < opened
    assert build.index("collectstatic") < opened
    assert re.findall(r"^COPY (.*)$", image, re.MULTILINE) == ["--from=build /venv /venv", "--from=build /app /app"]


# --- the tests that packages bring --------------------------------------------------------------------------


MODULES = {
    "plain/tests/test_plain.py": "",
    "plain/tests/data/tests/rows.csv": "",
    "plain/core.py": "import unittest\n",
    "needed/core/tests/_natype.py": "",
    "needed/testing.py": "from needed.core.tests._natype import pd_NA\n",
    "near/tests/tools.py": "",
    "near/inner/use.py": "from ..tests import tools\n",
    "listed/tests/__init__.py": "",
    "listed/use.py": "from listed import a, tests\n",
    "asked/tests/__init__.py": "from asked.sub.tests import x\n",
    "asked/sub/tests/__init__.py": "",
    "attests/module.py": "import attests.thing\n",
}


def test_only_tests_that_nothing_else_imports_are_deleted(tmp_path: Path) -> None:
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    gone = {folder.relative_to(tmp_path).as_posix() for folder in load_program("slim").unneeded_tests(tmp_path)}
    assert gone == {"plain/tests", "asked/tests", "asked/sub/tests"}
