"""Which files of a folder a container engine takes, by the rules of .dockerignore."""

import re
from pathlib import Path


def expression(pattern: str) -> re.Pattern[str]:
    """`*` and `?` match within one name, `**` any number of folders; all else matches itself."""
    parts = []
    for name in pattern.strip("/").split("/"):
        if name == "**":
            parts.append("(?:[^/]+/)*")
        else:
            parts.append(re.escape(name).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") + "/")
    return re.compile("".join(parts))


def rules(text: str) -> list[tuple[re.Pattern[str], bool]]:
    """The file's rules in order: the pattern of each, and whether it lets in what matches."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    return [(expression(line.removeprefix("!")), line.startswith("!")) for line in lines]


def is_let_in(path: str, ordered: list[tuple[re.Pattern[str], bool]]) -> bool:
    """The last rule that matches the path or a folder above it decides."""
    let_in = True
    for pattern, lets_in in ordered:
        if lets_in != let_in and pattern.match(f"{path}/"):
            let_in = lets_in
    return let_in


def build_context(folder: Path) -> set[str]:
    ordered = rules((folder / ".dockerignore").read_text())
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {path for path in files if is_let_in(path, ordered)}
