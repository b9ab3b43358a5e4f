"""Write every table of a study in every format, with the codebook."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

from django.core.management.base import CommandError

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
from surveys.models import Study
from surveys.studies.imports.actions import ACTOR, Options, Report, StudyAction, arg, flag, say, writing
from surveys.studies.wording import plural


class Command(StudyAction):
    help = "Write every table of a study in every format, with codebook.md and codebook.json, into a folder."
    arguments = (
        arg("--out", type=Path, required=True, metavar="DIR", help="the folder, made if needed"),
        arg(
            "--tables",
            nargs="+",
            choices=(*TABLES, *ANNOTATION_TABLES),
            metavar="TABLE",
            help="only these tables (default: all that the study has)",
        ),
        arg("--formats", nargs="+", choices=FORMATS, default=list(FORMATS), metavar="FORMAT"),
        flag("--pilot", "with the pilot's rows"),
        flag("--preview", "with previews"),
        arg("--no-simulated", dest="simulated", action="store_false", help="leave out simulated people"),
        flag("--pids", "with Prolific's ids in a column of their own"),
    )
    writes = {"out": True}  # noqa: RUF012

    def carry_out(self, study: Study, options: Options) -> Report | None:
        folder = options["out"]
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            files = list(write_files(study, folder, options))
        return {"study": study.slug, "folder": str(folder), "files": files} if options["json"] else None


def write_files(study: Study, folder: Path, options: Options) -> Iterator[Report]:
    selection = Selection(**{name: options[name] for name in Selection.__annotations__})
    codebook, lines = codebook_of(study, selection.pids), list[Report]()
    tables = options["tables"] or list(codebook.tables)
    if missing := [table for table in tables if table not in codebook.tables]:
        raise CommandError(f"{study.slug} has no {', '.join(missing)}: it is not a study of annotators.")
    for table in tables:
        for kind in options["formats"]:
            began = time.monotonic()
            export = begin_export(study, ACTOR, table, kind, selection)
            lines.append(write_export(export, folder))
            say(f"{lines[-1]['name']}: {plural(export.rows, 'row')} in {time.monotonic() - began:.1f} s")
            yield describe(lines[-1], export.rows)
    document = json.dumps(as_document(codebook), ensure_ascii=False, indent=2)
    for name, text in (("codebook.json", document), ("codebook.md", as_markdown(codebook))):
        lines.append(write_measured(folder, name, iter([text.encode()])))
        say(name)
        yield describe(lines[-1])
    yield describe(write_measured(folder, MANIFEST, iter([manifest_of(study, lines)])))
    say(MANIFEST)


def describe(line: Report, rows: int | None = None) -> Report:
    return {"file": line["name"], "rows": rows, "bytes": line["bytes"]}
