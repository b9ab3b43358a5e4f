"""Deletes the tests that installed packages bring along: .ci/slim.py FOLDER [--dry-run]

A folder `tests` that any module outside of such folders imports stays, as numpy.testing needs one of numpy's.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

# `from numpy._core.tests._natype import`, `from .tests import`, `import a.tests`, `from a import tests`
DOTTED = re.compile(rb"^\s*(?:from|import)\s+([\w.]*\btests\b[\w.]*)", re.MULTILINE)
FROM = re.compile(rb"^\s*from\s+([\w.]+)\s+import\s+[^\n]*\btests\b", re.MULTILINE)


def find_tests(site: Path) -> list[Path]:
    return [folder for folder in site.rglob("tests") if folder.is_dir() and "tests" not in folder.parent.parts]


def imported_tests(site: Path) -> Iterator[str]:
    """The dotted names of all folders `tests` that modules outside of such folders import."""
    for module in site.rglob("*.py"):
        if "tests" in module.relative_to(site).parts:
            continue
        text = module.read_bytes()
        if b"tests" not in text:
            continue
        names = [name.decode() for name in DOTTED.findall(text)]
        names += [f"{name.decode()}.tests" for name in FROM.findall(text)]
        for name in names:
            yield absolute(name, module.relative_to(site)).partition(".tests")[0] + ".tests"


def absolute(name: str, module: Path) -> str:
    """`..tests` in a/b/c.py is a.tests."""
    bare = name.lstrip(".")
    dots = len(name) - len(bare)
    if not dots:
        return name
    package = module.parent.parts[: len(module.parent.parts) - dots + 1]
    return ".".join([*package, *([bare] if bare else [])])


def unneeded_tests(site: Path) -> list[Path]:
    needed = set(imported_tests(site))
    return [folder for folder in find_tests(site) if ".".join(folder.relative_to(site).parts) not in needed]


def size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    total = 0
    for site in Path(sys.argv[1]).rglob("site-packages"):
        for folder in unneeded_tests(site):
            total += size(folder)
            if "--dry-run" in sys.argv:
                print(folder)
            else:
                shutil.rmtree(folder)
    print(f"{total / 1e6:.0f} MB of tests of packages", file=sys.stderr)


if __name__ == "__main__":
    main()
