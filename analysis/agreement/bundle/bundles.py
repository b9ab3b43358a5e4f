"""The replication bundle of a study of annotators: labels and replies, the report on them, and what recomputes it."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from analysis.agreement.agreements import rows_for
from analysis.agreement.bundle.tables import tables_of
from analysis.agreement.documents import document_of
from analysis.agreement.figures import AGREEMENT_FIGURES, RATING_FIGURES, draw_figure
from analysis.charts.figure import Figure, Options
from analysis.exports.codebook import ExportColumn, as_document, as_markdown
from analysis.exports.exports import codebook_of, note_export, open_study
from analysis.exports.formats import FORMATS, Chunks
from analysis.report.bundle import bundles
from analysis.report.bundle.bundles import (
    File,
    StudyBundle,
    as_json,
    figure_files,
    script_files,
    study_files,
    whole,
    write_csv,
)
from analysis.report.reports import Progress, ReportError, check_definition
from surveys.models import Study

WHOSE = ("group", "a", "b", "generator", "rater", "judge", "model", "relevant_by", "corpus", "user", "tag", "statement")
BY_LABEL = ("shares", "gaps", "left")  # what holds an estimate for each label, or each rater


class Number(NamedTuple):
    """`part`: the place in the published JSON that it stands in; `other`: of a pair the second one."""

    question: str
    part: str
    who: str
    other: str
    measure: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    units: int
    unit: str
    why: str


class NumberPlace(NamedTuple):
    part: tuple[str, ...] = ()
    who: str = ""
    other: str = ""
    measure: tuple[str, ...] = ()
    unit: str = ""


def list_numbers(question: Mapping[str, Any]) -> Iterator[Number]:
    """Those of one question, in the order in which it holds them."""
    for place, found in find_estimates(question, NumberPlace(unit=question.get("unit", ""))):
        *names, last = place.measure
        measure, label = (names, last) if names and names[-1] in BY_LABEL else ([*names, last], "")
        low, high = found["ci"] or (None, None)
        about = question["question"], ".".join(place.part), place.who, place.other, ".".join(measure), label
        sizes = found["n"], found["units"], place.unit, found.get("why", "")
        yield Number(*about, found["value"], low, high, *sizes)


def find_estimates(node: Mapping[str, Any], place: NumberPlace) -> Iterator[tuple[NumberPlace, Mapping[str, Any]]]:
    """Rows of a list say whose they are; what else has a name is a part until there is somebody, then a measure."""
    if "value" in node and "ci" in node:
        yield place, node
        return
    names = [str(node[name]) for name in WHOSE if isinstance(node.get(name), str)]
    if place.part and names:
        place = place._replace(who=names[0], other=names[1] if len(names) > 1 else "")
    place = place._replace(unit=node.get("unit", place.unit))
    for name, each in node.items():
        for entry in each if isinstance(each, list) else [each]:
            if isinstance(entry, Mapping):
                is_measure = not isinstance(each, list) and (place.who or "value" in entry or name in BY_LABEL)
                measured = place._replace(measure=(*place.measure, name))
                inner = measured if is_measure else place._replace(part=(*place.part, name))
                yield from find_estimates(entry, inner)


HERE = Path(__file__).resolve().parent
SHARED, SCRIPTS = "bundle_checks.py", ("recompute.py", "bundle_labels.py")
DEFINITIONS = tomllib.loads((HERE / "definitions.toml").read_text(encoding="utf-8"))
SIMULATED = (
    "**Made up in part:** {raters} of the raters are simulated ({names}). Their labels say nothing about any person or "
    "model."
)
WITH_TEXTS = "`items.csv` holds what annotators were shown and `completions.csv` what models replied, to the letter."
WITHOUT_TEXTS = (
    "What annotators were shown and what models replied are not here, only labels. Items can hold what people told a "
    "chatbot; those who may export them can make a bundle with them (`bundle --texts`)."
)


class LabelBundle(StudyBundle):
    """A bundle of labels: the report is that of `agreement STUDY --json`, of all labels that count."""

    def contents(self, progress: Progress | None = None) -> Iterator[File]:
        found = rows_for(self.study)
        yield "README.md", whole(readme(self.study, found, self.texts))
        yield from study_files(self.study)
        made = list(tables_of(self.study, self.texts))
        codebook = replace(codebook_of(self.study), tables={table.name: table for table, _ in made})
        yield "codebook.json", as_json(as_document(codebook))
        yield "codebook.md", whole(as_markdown(codebook))
        for table, make_rows in made:
            yield f"data/{table.name}.csv", write_csv(table, make_rows())
        yield "definitions.json", as_json(DEFINITIONS)
        yield "report.json", as_json(document_of(found))
        yield "numbers.csv", write_numbers(found)
        yield from figure_files(draw_figures(found))
        yield from script_files(HERE / "script", *SCRIPTS)
        yield from script_files(bundles.HERE / "script", SHARED)


def readme(study: Study, found: Mapping[str, Any], texts: bool) -> str:
    made_up, questions = found["simulated"], found["questions"]
    return (
        (HERE / "readme.md")
        .read_text(encoding="utf-8")
        .format(
            title=study.title,
            study=study.slug,
            version=study.current.number,
            sha256=study.current.sha256,
            labels=sum(question["labels"] for question in questions),
            items=max(question["items"] for question in questions),
            raters=len({rater["rater"] for question in questions for rater in question.get("raters", ())}),
            simulated=SIMULATED.format(raters=len(made_up), names=", ".join(made_up)) if made_up else NOT_MADE_UP,
            planned=bundles.planned_lines(found),
            texts=WITH_TEXTS if texts else WITHOUT_TEXTS,
        )
    )


NOT_MADE_UP = "None of this is made up."


def write_numbers(found: Mapping[str, Any]) -> Chunks:
    rows = (number._asdict() for question in found["questions"] for number in list_numbers(question))
    return FORMATS["csv"].chunks([ExportColumn(name, "text", name) for name in Number._fields], rows)


def draw_figures(found: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    """Of each question with labels those that it has, named by it."""
    for question in found["questions"]:
        if question["labels"]:
            for name in (*AGREEMENT_FIGURES, *(RATING_FIGURES if "ratings" in question else ())):
                yield f"{question['question']}-{name}", draw_figure(name, question, Options(), found["simulated"])


def open_label_bundle(user: AbstractBaseUser | AnonymousUser, slug: str, texts: bool = False) -> LabelBundle:
    """The bundle, if this account may see the study; else 404."""
    return begin_label_bundle(open_study(user, slug), user.get_username(), texts)


def begin_label_bundle(study: Study, actor: str, texts: bool = False, compare: Sequence[str] = ()) -> LabelBundle:
    """ReportError, and nothing noted, where there are no labels to report on."""
    check_definition(study)
    if compare:
        raise ReportError(f"{study.slug} is a study of annotators: its bundle has no pair of sides to compare.")
    if not any(question["labels"] for question in rows_for(study)["questions"]):
        raise ReportError(f"{study.slug} has no label that counts yet, so there is nothing to bundle.")
    note_export(study, actor, "bundle.zip", texts=texts, simulated=True)
    return LabelBundle(Study.objects.select_related("current").get(pk=study.pk), texts)
