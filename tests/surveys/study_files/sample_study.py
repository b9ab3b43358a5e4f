"""A small study for tests, with pieces of its file replaced."""

from pathlib import Path

from surveys.study_files.definitions import Definition, parse_study

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
GOOD = (SAMPLES / "teas.toml").read_text(encoding="utf-8")


def changed(*changes: tuple[str, str]) -> str:
    """The file's text with the first occurrence of each old piece replaced by the new one."""
    text = GOOD
    for old, new in changes:
        assert old in text, f"{old!r} is not in the sample"
        text = text.replace(old, new, 1)
    return text


def make_definition(*changes: tuple[str, str]) -> Definition:
    return parse_study(changed(*changes).encode(), "teas")
