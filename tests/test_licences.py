"""The licences of everything the platform runs on: none that would bind whoever runs or changes it."""

import re
from importlib import metadata
from pathlib import Path

import pytest

LINES = (Path(__file__).resolve().parents[1] / "requirements.txt").read_text().splitlines()
# Names as their authors write them: SPDX, trove classifiers, or words of their own.
ALLOWED = {
    *("0BSD", "Apache Software License", "Apache-2.0", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "BSD 3-Clause"),
    *("CC0-1.0", "MIT", "MIT-0", "MIT License", "PSF-2.0", "Python Software Foundation License", "Zlib"),
}
# The LGPL is met: the package is installed beside the platform, unchanged, and anybody may exchange it.
LESSER = {name: {"LGPL-3.0-only"} for name in ("psycopg", "psycopg-binary", "psycopg-pool")}


def pinned() -> list[tuple[str, bool]]:
    """Each pinned package, with whether only some systems need it."""
    found = (re.match(r"([A-Za-z0-9_.-]+)==[^ ]+( *;)?", line) for line in LINES)
    return [(match[1], bool(match[2])) for match in found if match]


def licences_of(package: metadata.PackageMetadata) -> set[str]:
    if expression := package.get("License-Expression"):
        return set(re.split(r" AND | OR ", expression))
    known = [line.split(" :: ") for line in package.get_all("Classifier") or []]
    named = {parts[-1] for parts in known if parts[0] == "License" and parts[-1] != "OSI Approved"}
    return named or set(re.split(r" AND | OR ", package.get("License") or "none given"))


@pytest.mark.parametrize(("name", "optional"), pinned(), ids=lambda value: str(value))
def test_licence_of_a_package_is_one_of_those_allowed(name: str, optional: bool) -> None:
    try:
        package = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        assert optional, f"{name} is pinned and not installed"
        pytest.skip(f"{name} is for other systems")
    assert licences_of(package) <= LESSER.get(name, ALLOWED)


def test_every_package_is_looked_at_and_none_has_a_licence_that_needs_no_reason() -> None:
    assert len(pinned()) > 80
    assert not any("GPL" in name for name in ALLOWED)
    assert {*LESSER} <= {name for name, _ in pinned()}
