"""The replication bundle: everything behind a study's figures in one zip file, usable without the platform."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.charts.figure import Figure, Options
from analysis.charts.rendering import render
from analysis.charts.rows import made_up
from analysis.exports.codebook import Codebook, ExportColumn, ExportTable, Row, as_document, as_markdown
from analysis.exports.everything import File, archived
from analysis.exports.exports import codebook_of, note_export, stream_rows, write_whole
from analysis.exports.formats import FORMATS, Chunks, read_back
from analysis.exports.people_tables import Selection
from analysis.report.bundle.tables import (
    FEWEST,
    UNIVERSES,
    Made,
    multiverse_lines,
    own_tables,
    summarise_multiverse,
    universe_rows,
    whole_multiverse,
)
from analysis.report.filters import Filters
from analysis.report.outputs import options_of
from analysis.report.pairs.sides import check_pair, read_side, usual_pair
from analysis.report.parts import FIGURES
from analysis.report.planned.part import rows_of, say_verdict
from analysis.report.planned.verdicts import say_difference
from analysis.report.reports import Progress, ReportError, check_definition, report, stamp_of
from surveys.models import ChatbotContext, Participant, Study
from surveys.studies.lifecycle import withdrawals

HERE = Path(__file__).resolve().parent
SCRIPTS = sorted(path.name for path in (HERE / "script").glob("*.py"))
# Tables shared with the exports.
EXPORTED = (
    *("participants", "context", "flags", "timings", "flow"),
    *("readings", "mentions", "read_backs", "read_back_names"),
)
# Columns with people's own words, which no bundle has.
OWN_WORDS = ("comments", "reason", "chat_language")
AS_WRITTEN = "name"  # of an item; with the texts only
LEAST_OWN_WORDS = "model_shown"  # typed too, but kept if at least FEWEST people typed the same

# The filters that may narrow a side of the pair: columns that a bundle's answers have in full.
RECOMPUTED = {"cell", "memory", "plan", "language", "version", "excluded", "flagged", "people"}

OF_ONE_STUDY = (
    "{side}: a bundle has the answers of its own study alone. Nobody could recompute this side from it, and people who "
    "withdraw from {other} would stay in a file of {study}. Make a bundle of each study; the numbers of the pair are "
    "what report {study} prints with --compare, --with and --json."
)


def list_files(study: Study, report: Mapping[str, Any], texts: bool) -> Iterator[File]:
    tables = [*own_tables(study, texts)]
    if multiverse := whole_multiverse(study):
        report = {**report, "multiverse": summarise_multiverse(multiverse)}
        tables.append((UNIVERSES, partial(universe_rows, multiverse)))
    codebook = bundle_codebook(study, tables, texts)
    yield "README.md", whole(readme(study, report, texts))
    yield from study_files(study)
    yield from codebook_files(codebook)
    yield from data_files(study, codebook, tables)
    yield "definitions.json", as_json(report["definitions"])
    yield "report.json", as_json(report)
    yield from figure_files(figures_of(report))
    yield from script_files(HERE / "script", *SCRIPTS)


def codebook_files(codebook: Codebook) -> Iterator[File]:
    yield "codebook.json", as_json(as_document(codebook))
    yield "codebook.md", whole(as_markdown(codebook))


def script_files(folder: Path, *names: str) -> Iterator[File]:
    for name in names:
        yield name, whole((folder / name).read_text(encoding="utf-8"))


def whole(text: str) -> Iterator[bytes]:
    yield text.encode()


def as_json(document: Any) -> Iterator[bytes]:
    return whole(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def readme(study: Study, report: Mapping[str, Any], texts: bool) -> str:
    simulated = report["simulated"]
    template = (HERE / "readme.md").read_text(encoding="utf-8")
    return template.format(
        title=study.title,
        study=study.slug,
        version=report["version"],
        sha256=report["version_sha256"],
        people=report["answers"]["people"],
        answers=report["answers"]["field"],
        completions=report["answers"]["models"],
        simulated=SIMULATED.format(made_up(simulated)) if simulated["is_any"] else "None of this is made up.",
        planned="\n".join(filter(None, (planned_lines(report), multiverse_lines(report)))),
        texts=WITH_TEXTS if texts else WITHOUT_TEXTS,
        fewest=FEWEST,
        made=today(),
    )


def today() -> str:
    return timezone.now().date().isoformat()


def planned_lines(report: Mapping[str, Any]) -> str:
    """The README's section about hypotheses; empty if there are none."""
    rows = rows_of(report, Options())
    lines = [f"- `{row['hypothesis']}`: {row['text']} {say_difference(row)}: **{say_verdict(row)}**" for row in rows]
    return "\n".join(["## As planned", "", *lines, "", "All other numbers are explored.", ""]) if rows else ""


SIMULATED = (
    "**Made up in part:** {}, which `origin` in `answers.csv` and `simulated` in `runs.csv` mark. Simulated answers "
    "say nothing about any chatbot."
)
WITH_TEXTS = "`answers.csv` and `completions.csv` hold the texts themselves in their column `text`."
WITHOUT_TEXTS = (
    "The texts that people pasted and that models replied are not here, only what they were read as. Texts can hold "
    "what a chatbot knows of a person; whoever may export them can make a bundle with them (`bundle --texts`)."
)


def study_files(study: Study) -> Iterator[File]:
    """Yield the definition of every version, as loaded."""
    for version in study.versions.order_by("number"):
        head = {"study": study.slug, "version": version.number, "sha256": version.sha256}
        about = head | {"created_at": version.created_at.isoformat(), "amendment": version.amendment}
        yield f"study/version-{version.number}.json", as_json(about | {"definition": version.document})


# --- data --------------------------------------------------------------------


def bundle_codebook(study: Study, tables: Iterable[Made], texts: bool) -> Codebook:
    codebook = codebook_of(study)
    kept = {name: without_own_words(codebook.tables[name], texts) for name in EXPORTED}
    own = {table.name: table for table, _ in tables}
    return replace(codebook, tables=own | kept)


def without_own_words(table: ExportTable, texts: bool) -> ExportTable:
    return replace(table, columns=tuple(column for column in table.columns if may_stay(column, texts)))


def may_stay(column: ExportColumn, texts: bool) -> bool:
    """Whether a bundle may have the column. Of answers, only options and numbers: free text may identify somebody."""
    if column.name in OWN_WORDS or (column.name == AS_WRITTEN and not texts):
        return False
    return column.source[:1] != ("answers",) or bool(column.levels) or column.kind == "integer"


def data_files(study: Study, codebook: Codebook, tables: Iterable[Made]) -> Iterator[File]:
    for table, make_rows in tables:
        yield f"data/{table.name}.csv", write_csv(table, make_rows())
    shared = shared_models(study)
    for name in EXPORTED:
        table = codebook.tables[name]
        rows = (unnamed(row, shared) for row in stream_rows(study, table, Selection()))
        yield f"data/{name}.csv", write_csv(table, rows)


def write_csv(table: ExportTable, rows: Iterator[Row]) -> Chunks:
    names = [column.name for column in table.columns]
    return FORMATS["csv"].chunks(table.columns, ({name: row[name] for name in names} for row in rows))


def shared_models(study: Study) -> set[str]:
    shown = ChatbotContext.objects.filter(participant__study=study, participant__pilot=False)
    shown = shown.exclude(participant__origin=Participant.Origin.PREVIEW).values_list("model_shown", flat=True)
    return {name for name, count in Counter(shown).items() if count >= FEWEST}


def unnamed(row: Row, shared: set[str]) -> Row:
    if LEAST_OWN_WORDS in row and row[LEAST_OWN_WORDS] not in shared:
        return row | {LEAST_OWN_WORDS: ""}
    return row


# --- figures -----------------------------------------------------------------


def figure_files(figures: Iterable[tuple[str, Figure]]) -> Iterator[File]:
    """Yield each figure as spec, picture and table."""
    for name, figure in figures:
        yield f"figures/{name}.json", as_json(spec_of(figure))
        yield f"figures/{name}.svg", iter([render(figure, "svg", "print")])
        yield f"figures/{name}.csv", table_of(figure)


def figures_of(report: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    for name, draw in FIGURES.items():
        for options in options_of(report, name):
            yield f"{name}-{options.prompt}".rstrip("-"), draw(report, options)


def spec_of(figure: Figure) -> dict[str, Any]:
    words = {"title": figure.title, "caption": figure.caption, "alt": figure.alt}
    return words | {
        "columns": [[column.name, column.label, column.unit] for column in figure.columns],
        "spec": figure.spec,
    }


def table_of(figure: Figure) -> Chunks:
    columns = [ExportColumn(column.name, "text", column.label, column.unit) for column in figure.columns]
    rows = ({column.name: row.get(column.name) for column in columns} for row in figure.table)
    return FORMATS["csv"].chunks(columns, rows)


@contextmanager
def snapshot() -> Iterator[None]:
    """Let all statements inside see the database as the first of them does."""
    is_first = not connection.in_atomic_block
    with transaction.atomic():
        if is_first:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


@dataclass
class StudyBundle:
    """A bundle whose export is checked and noted. `texts`: with pasted texts and replies, verbatim; `compare`: the
    sides of its pair.
    """

    study: Study
    texts: bool = False
    compare: tuple[str, ...] = ()
    files: list[dict[str, Any]] = field(default_factory=list)

    @property
    def filename(self) -> str:
        return f"{self.study.slug}-bundle.zip"

    def contents(self, progress: Progress | None = None) -> Iterator[File]:
        """Read new answers, then yield the bundle's files. Report and data agree, unless data change at each try."""
        for is_last in (False, False, True):
            read_new(self.study, anew=False)
            before = self.stamp()
            found = self.compute(progress)
            with snapshot():
                if is_last or self.stamp() == before:
                    yield from self.files_of(found)
                    return

    def stamp(self) -> Any:
        """A stamp of the data behind the report."""
        return stamp_of(self.study)

    def compute(self, progress: Progress | None) -> Row:
        return report(self.study, Filters(compare=self.compare), progress=progress)

    def files_of(self, found: Row) -> Iterator[File]:
        yield from list_files(self.study, found, self.texts)

    def chunks(self, progress: Progress | None = None) -> Chunks:
        """Yield the zip file, complete before its first chunk, so that a failure leaves no partial file. Make it again
        if somebody withdraws meanwhile, since it may hold their answers.
        """
        before = None
        with TemporaryFile() as file:
            while before != (before := withdrawals(self.study)):
                self.files = []
                file.seek(0)
                file.truncate()
                file.writelines(archived(self.study, self.contents(progress), self.files))
            yield from read_back(file)


def begin_bundle(study: Study, actor: str, texts: bool = False, compare: tuple[str, ...] = ()) -> StudyBundle:
    """Check and note an export. Raises ReportError, noting nothing, without a definition or if no bundle can hold a
    side's answers. Without `compare`, the pair is the usual one.
    """
    check_definition(study)
    check_sides(study, compare)
    note_export(study, actor, "bundle.zip", texts=texts, simulated=True)
    return StudyBundle(Study.objects.select_related("current").get(pk=study.pk), texts, compare or usual_pair(study))


def check_sides(study: Study, compare: tuple[str, ...]) -> None:
    """Raise FilterError if the study has no such sides, ReportError if no bundle can hold them."""
    sides = [read_side(text) for text in compare]
    for side in sides:
        if side.study not in ("", study.slug):
            raise ReportError(OF_ONE_STUDY.format(side=side.text[:60], other=side.study[:40], study=study.slug))
    check_pair(study, compare)
    for side in sides:
        if side.is_field and (unknown := {name for name, _ in side.narrowed} - RECOMPUTED):
            raise ReportError(f"{side.text}: a bundle has not the data to recompute a side by {min(unknown)}.")


def write_bundle(bundle: StudyBundle, path: Path, progress: Progress | None = None) -> None:
    """Write the file atomically: it has its name only when complete."""
    write_whole(path, bundle.chunks(progress))
