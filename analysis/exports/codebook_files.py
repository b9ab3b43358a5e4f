"""The codebook as files: JSON for programs, Markdown for people."""

from collections.abc import Iterator
from typing import Any

from analysis.exports.codebook import Codebook, Table, Version
from analysis.exports.columns import KINDS, Column
from surveys.study_files.definitions import prompt_text


def as_document(codebook: Codebook) -> dict[str, Any]:
    return {
        "study": codebook.study,
        "title": codebook.title,
        "versions": [describe_version(version) for version in codebook.versions],
        "tables": [describe_table(table) for table in codebook.tables.values()],
    }


def describe_version(version: Version) -> dict[str, Any]:
    return {
        "number": version.number,
        "sha256": version.sha256,
        "created_at": version.created_at,
        "amendment": version.amendment,
        "prompts": [
            {
                "slug": prompt.slug,
                "title": prompt.title,
                "kind": prompt.kind,
                "text": prompt_text(prompt),
                "items": prompt.items or None,
                "answer": prompt.answer or None,
                "benchmark_item": prompt.item or None,
            }
            for prompt in version.definition.prompts
        ],
    }


def describe_table(table: Table) -> dict[str, Any]:
    return {"name": table.name, "row": table.row, "columns": [describe_column(c) for c in table.columns]}


def describe_column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.kind,
        "unit": column.unit or None,
        "meaning": column.meaning,
        "levels": dict(column.levels) or None,
        "versions": list(column.versions) or "all",
        "in_spss": column.spss,
    }


def as_markdown(codebook: Codebook) -> str:
    return "\n".join(lines_of(codebook)) + "\n"


def lines_of(codebook: Codebook) -> Iterator[str]:
    yield f"# Codebook of {plain(codebook.title)}"
    yield f"\nStudy `{codebook.study}`. The same tables and columns in every format."
    yield "\n## Versions\n"
    yield "| version | SHA-256 | written | amendment |\n| ---: | --- | --- | --- |"
    for version in codebook.versions:
        row = (version.number, f"`{version.sha256}`", version.created_at[:16], plain(version.amendment))
        yield f"| {' | '.join(map(str, row))} |"
    for table in codebook.tables.values():
        yield from table_lines(table)
    for version in codebook.versions:
        yield from prompt_lines(version)


def table_lines(table: Table) -> Iterator[str]:
    yield f"\n## {table.name}\n\nOne row is {table.row}.\n"
    yield "| column | type | unit | meaning | values | versions |\n| --- | --- | --- | --- | --- | --- |"
    for column in table.columns:
        versions = ", ".join(map(str, column.versions)) or "all"
        cells = (
            f"`{column.name}`",
            KINDS[column.kind],
            column.unit,
            plain(column.meaning),
            values_of(column),
        )
        yield f"| {' | '.join((*cells, versions))} |"


def values_of(column: Column) -> str:
    pairs = column.levels.items()
    return "; ".join(plain(v if v == label else f"{v} = {label}") for v, label in pairs)


def prompt_lines(version: Version) -> Iterator[str]:
    yield f"\n## Prompts of version {version.number}"
    for prompt in version.definition.prompts:
        yield f"\n### {plain(prompt.title)} (`{prompt.slug}`, {prompt.kind})\n"
        yield "\n".join(f"    {line}".rstrip() for line in prompt_text(prompt).splitlines())
        if prompt.answer:
            yield f"\nThe right answer is {prompt.answer}."


def plain(text: str) -> str:
    """A text for one cell of a Markdown table: no line ends, nothing that Markdown or HTML would act on."""
    line = " ".join(text.split())
    for sign in "\\`*_[]|<>":
        line = line.replace(sign, f"&#{ord(sign)};" if sign in "<>" else f"\\{sign}")
    return line
