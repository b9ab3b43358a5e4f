"""Write every table of a study in every format, with the codebook."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from analysis.exports.codebook import as_document, as_markdown
from analysis.exports.exports import (
    ANNOTATION_TABLES,
    MANIFEST,
    TABLES,
    begin_export,
    codebook_of,
    manifest_of,
    write_export,
    write_measured,
)
from analysis.exports.formats import FORMATS
from analysis.exports.people_tables import Selection
from surveys.imports.study_command import ACTOR, StudyCommand, writing
from surveys.models import Study


class Command(StudyCommand):
    help = "Write every table of a study in every format, with codebook.md and codebook.json, into a folder."
    writes = {"out": True}  # noqa: RUF012

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="made when it is not there")
        known = (*TABLES, *ANNOTATION_TABLES)
        parser.add_argument("--tables", nargs="+", choices=known, metavar="TABLE", help="all that the study has")
        parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS), metavar="FORMAT")
        parser.add_argument("--pilot", action="store_true", help="with the pilot's rows")
        parser.add_argument("--preview", action="store_true", help="with previews")
        parser.add_argument("--no-simulated", dest="simulated", action="store_false", help="only real people")
        parser.add_argument("--pids", action="store_true", help="with Prolific's ids in a column of their own")

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        folder = options["out"]
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            files = list(self.write_files(study, folder, options))
        if options["json"]:
            self.stdout.write(json.dumps({"study": study.slug, "folder": str(folder), "files": files}))

    def write_files(self, study: Study, folder: Path, options: dict) -> Iterator[dict]:
        selection = Selection(**{name: options[name] for name in Selection.__annotations__})
        codebook = codebook_of(study, selection.pids)
        lines: list[dict[str, Any]] = []
        tables = options["tables"] or list(codebook.tables)
        if missing := [table for table in tables if table not in codebook.tables]:
            raise CommandError(f"{study.slug} has no {', '.join(missing)}: it is not a study of annotators.")
        for table in tables:
            for kind in options["formats"]:
                began = time.monotonic()
                export = begin_export(study, ACTOR, table, kind, selection)
                lines.append(write_export(export, folder))
                self.say(f"{lines[-1]['name']}: {export.rows:,} rows in {time.monotonic() - began:.1f} s")
                yield told(lines[-1], export.rows)
        document = json.dumps(as_document(codebook), ensure_ascii=False, indent=2)
        for name, text in (("codebook.json", document), ("codebook.md", as_markdown(codebook))):
            lines.append(write_measured(folder, name, iter([text.encode()])))
            self.say(name)
            yield told(lines[-1])
        yield told(write_measured(folder, MANIFEST, iter([manifest_of(study, lines)])))
        self.say(MANIFEST)

    def say(self, words: str) -> None:
        print(words, file=sys.stderr, flush=True)


def told(line: dict[str, Any], rows: int | None = None) -> dict[str, Any]:
    return {"file": line["name"], "rows": rows, "bytes": line["bytes"]}
