"""Export tables and columns, the codebook that describes them (JSON, Markdown), and first lines of code for each."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.db.models import F, Func

from surveys.models import Participant, Study, StudyVersion
from surveys.studies.files.definitions import Definition, prompt_text
from surveys.studies.files.schema import NONE, SEVERAL
from surveys.studies.perception import FIGURES, OWN_QUESTION, UNSEEN, UNSEEN_LABEL

Row = dict[str, Any]
FENCES = {"pandas": "python", "r": "r"}
KINDS = {
    "text": "text, exactly as it was entered",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "datetime": "date and time in UTC",
    "json": "JSON",
}


@dataclass(frozen=True)
class ExportColumn:
    """A column. `levels` maps its possible values to their meanings; empty `versions` means all.

    Its values come from `path`, a field of the table's rows (by default of the column's name); from `expression`, given
    the person's lookup prefix; or from `made`, given a row with the fields in `needs` under their last names.
    """

    name: str
    kind: str
    meaning: str
    unit: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    versions: tuple[int, ...] = ()
    source: tuple[str, ...] = ()  # where a participant's answers and checks hold it
    spss: bool = True  # whether it goes into SPSS files too
    path: str = ""
    expression: Callable[[str], Any] | None = None
    made: Callable[[Row], Any] | None = None
    needs: tuple[str, ...] = ()


def text(name: str, meaning: str, levels: Mapping[str, str] | None = None, **more: Any) -> ExportColumn:
    return ExportColumn(name, "text", meaning, levels=levels or {}, **more)


def integer(name: str, meaning: str, unit: str = "", **more: Any) -> ExportColumn:
    return ExportColumn(name, "integer", meaning, unit, **more)


def number(name: str, meaning: str, unit: str = "", **more: Any) -> ExportColumn:
    return ExportColumn(name, "number", meaning, unit, **more)


def boolean(name: str, meaning: str, **more: Any) -> ExportColumn:
    return ExportColumn(name, "boolean", meaning, **more)


def moment(name: str, meaning: str, **more: Any) -> ExportColumn:
    return ExportColumn(name, "datetime", meaning, "UTC", **more)


def labels(choices: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    return {str(value): str(label) for value, label in choices}


def computed(make: Callable[..., Any], *needs: str) -> dict[str, Any]:
    """Return `made` and `needs` of a column computed from these fields alone."""
    names = [need.rpartition("__")[2] for need in needs]
    return {"made": lambda row: make(*(row[name] for name in names)), "needs": needs}


def named(columns: Iterable[ExportColumn], *names: str) -> tuple[ExportColumn, ...]:
    """Pick the columns with these names, in this order."""
    by_name = {column.name: column for column in columns}
    return tuple(by_name[name] for name in names)


@dataclass(frozen=True)
class ExportTable:
    """A table. `rows` returns those of a study and a selection: a queryset, or something iterated and counted like one.

    At most `chunk` rows are in memory, fewer if texts may be long; `person` is the lookup prefix of a row's person.
    """

    name: str
    row: str  # what one row is
    columns: tuple[ExportColumn, ...]
    rows: Callable[[Study, Any], Any] = lambda study, selection: None
    chunk: int = 1000
    person: str = "participant__"


@dataclass(frozen=True)
class Version:
    number: int
    sha256: str
    created_at: str
    amendment: str
    definition: Definition


@dataclass(frozen=True)
class Codebook:
    study: str
    title: str
    versions: tuple[Version, ...]
    tables: dict[str, ExportTable]


# --- what the study itself asks ---------------------------------------------


def answer_columns(versions: tuple[Version, ...], imported: list[str]) -> Iterator[ExportColumn]:
    """Yield a column for each question of any version, then for those that only imported files have."""
    yield from [replace(c, source=("answers", "chatbot")) for c in chatbot_question(versions)]
    seen = {"chatbot"}
    for slug, found in by_slug(versions, "questions").items():
        seen.add(slug)
        question = found[-1][1]
        yield ExportColumn(
            name=f"answer_{slug}",
            kind="integer" if all(q.kind == "number" for _, q in found) else "text",
            meaning=question.text,
            levels={option: option for _, q in found for option in q.options},
            versions=numbers_of(found, versions),
            source=("answers", slug),
        )
    for name in imported:
        if name not in seen:
            yield replace(text(f"answer_{name}", f"{name} (from an imported file)"), source=("answers", name))


def chatbot_question(versions: tuple[Version, ...]) -> Iterator[ExportColumn]:
    if versions and versions[-1].definition.chatbots:
        asked = versions[-1].definition.chatbot_question
        bots = {bot.slug: bot.name for version in versions for bot in version.definition.chatbots}
        extra = {SEVERAL: asked.several, NONE: asked.none}
        yield text("answer_chatbot", asked.text, bots | {slug: label for slug, label in extra.items() if label})


def check_columns(versions: tuple[Version, ...]) -> Iterator[ExportColumn]:
    for slug, found in by_slug(versions, "attention").items():
        check, numbers = found[-1][1], numbers_of(found, versions)
        source = ("checks", "attention", slug)
        yield ExportColumn(
            f"attention_{slug}", "text", check.text, versions=numbers, source=(*source, "answer"),
            levels={option: option for _, c in found for option in c.options},
        )  # fmt: skip
        yield ExportColumn(
            f"attention_{slug}_passed",
            "boolean",
            f"whether the attention check {slug} was passed",
            versions=numbers,
            source=(*source, "passed"),
        )
    yield from perception_columns(versions)


def perception_columns(versions: tuple[Version, ...]) -> Iterator[ExportColumn]:
    shown = [(version.number, asked) for version in versions if (asked := version.definition.perception)]
    figures = {name: label for name, (label, _inside) in FIGURES.items()}
    words = {option: option for _, asked in shown for option in (asked.options or OWN_QUESTION.options)}
    picked = figures | {UNSEEN: UNSEEN_LABEL} | words
    columns = (
        text("figure", "the figure in moving dots that the page showed; empty where it could not", figures),
        text("picked", "what the person chose: a figure, or an answer to the question in words", picked),
        boolean("right", "whether that was right; empty where the person said that they cannot see a figure"),
        boolean("alternative", "whether the question in words was answered instead"),
        integer("ms", "from opening the page to sending it, by the browser's clock", "milliseconds"),
        integer("plays", "how often the dots were set in motion", "times"),
    )
    for column in columns if shown else ():
        source = ("checks", "perception", column.name)
        yield replace(column, name=f"perception_{column.name}", versions=numbers_of(shown, versions), source=source)


def by_slug(versions: tuple[Version, ...], part: str) -> dict[str, list[tuple[int, Any]]]:
    """Group all versions' entries by slug, each with its version's number, newest last."""
    found: dict[str, list[tuple[int, Any]]] = {}
    for version in versions:
        for entry in getattr(version.definition, part):
            found.setdefault(entry.slug, []).append((version.number, entry))
    return found


def numbers_of(found: list[tuple[int, Any]], versions: tuple[Version, ...]) -> tuple[int, ...]:
    numbers = tuple(number for number, _ in found)
    return () if len(numbers) == len(versions) else numbers


def unique_names(columns: Iterable[ExportColumn]) -> Iterator[ExportColumn]:
    """Rename columns for all formats: letters, digits and underscores, unique regardless of case."""
    seen: set[str] = set()
    for column in columns:
        name = base = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in column.name)[:60]
        count = 1
        while name.casefold() in seen:
            count += 1
            name = f"{base[:57]}_{count}"
        seen.add(name.casefold())
        yield replace(column, name=name)


def read_version(row: StudyVersion) -> Version:
    definition = Definition.from_document(row.document)
    return Version(row.number, row.sha256, row.created_at.isoformat(), row.amendment, definition)


def imported_questions(study: Study) -> list[str]:
    """List the keys of imported people's answers, from the columns of the imported files."""
    keys = Func(F("answers"), function="jsonb_object_keys", set_returning=True)
    rows = Participant.objects.filter(study=study, origin=Participant.Origin.IMPORTED)
    return sorted(set(rows.annotate(key=keys).order_by().values_list("key", flat=True).distinct()))


# --- as files -----------------------------------------------------------------


def as_document(codebook: Codebook) -> dict[str, Any]:
    return {
        "study": codebook.study,
        "title": codebook.title,
        "versions": [describe_version(version) for version in codebook.versions],
        "tables": [describe_table(table) for table in codebook.tables.values()],
    }


def describe_version(version: Version) -> dict[str, Any]:
    return {
        **{name: getattr(version, name) for name in ("number", "sha256", "created_at", "amendment")},
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
        **describe_askings(version.definition),
    }


def describe_askings(definition: Definition) -> dict[str, Any]:
    """Describe a version's repeats, arms, rating and question set, if it has them."""
    repeats, rating = definition.repeats, definition.rating
    found = {
        "repeats": repeats and asdict(repeats),
        "arms": [asdict(arm) for arm in definition.arms],
        "rating": rating and asdict(rating),
        "matrix": definition.matrix and {"set": definition.matrix.set, "each": definition.matrix.each},
    }
    return {name: said for name, said in found.items() if said}


def describe_table(table: ExportTable) -> dict[str, Any]:
    described = {"name": table.name, "row": table.row, "columns": [describe_column(c) for c in table.columns]}
    return described | ({"first_lines": first_lines(table.name)} if table.name in LINES else {})


def describe_column(column: ExportColumn) -> dict[str, Any]:
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


def table_lines(table: ExportTable) -> Iterator[str]:
    yield f"\n## {table.name}\n\nOne row is {table.row}.\n"
    yield "| column | type | unit | meaning | values | versions |\n| --- | --- | --- | --- | --- | --- |"
    for column in table.columns:
        versions = ", ".join(map(str, column.versions)) or "all"
        cells = (f"`{column.name}`", KINDS[column.kind], column.unit, plain(column.meaning), values_of(column))
        yield f"| {' | '.join((*cells, versions))} |"
    if table.name in LINES:
        for language, lines in first_lines(table.name).items():
            yield f"\n```{FENCES[language]}\n{lines}\n```"


def values_of(column: ExportColumn) -> str:
    pairs = column.levels.items()
    return "; ".join(plain(v if v == label else f"{v} = {label}") for v, label in pairs)


def prompt_lines(version: Version) -> Iterator[str]:
    yield f"\n## Prompts of version {version.number}"
    for prompt in version.definition.prompts:
        yield f"\n### {plain(prompt.title)} (`{prompt.slug}`, {prompt.kind})\n"
        yield "\n".join(f"    {line}".rstrip() for line in prompt_text(prompt).splitlines())
        if prompt.answer:
            yield f"\nThe right answer is {prompt.answer}."
    for arm in version.definition.arms:
        yield f"\n### {plain(arm.name)} (arm `{arm.slug}` of {', '.join(arm.prompts)})\n\n{plain(arm.instruction)}"
    if matrix := version.definition.matrix:
        yield f"\n### Questions\n\nEach person is asked {matrix.each} of the {len(matrix.questions):,} of {matrix.set}."
    if version.definition.rating:
        yield f"\n### Rating\n\n{plain(version.definition.rating.text)}"


def plain(text: str) -> str:
    """Format the text as a Markdown table's cell: one line, with Markdown and HTML escaped."""
    line = " ".join(text.split())
    for sign in "\\`*_[]|<>":
        line = line.replace(sign, f"&#{ord(sign)};" if sign in "<>" else f"\\{sign}")
    return line


# --- code to begin with each table: a few lines of pandas and R that read its file and look at it

PANDAS = 'import pandas as pd\n\n{table} = pd.read_parquet("{table}.parquet")\n'
R = '{table} <- read.csv("{table}.csv", na.strings = "", encoding = "UTF-8")\n'


@dataclass(frozen=True)
class FirstLines:
    """Code that follows the line that reads the file."""

    pandas: str
    r: str


def cross(table: str, one: str, other: str) -> FirstLines:
    """Cross-tabulate two columns."""
    return FirstLines(
        f'print(pd.crosstab({table}["{one}"], {table}["{other}"]))', f"print(table({table}${one}, {table}${other}))"
    )


def by(table: str, group: str, value: str, what: str = "mean") -> FirstLines:
    """Take the mean, median or sum by group."""
    return FirstLines(
        f'print({table}.groupby("{group}")["{value}"].{what}())',
        f"print(tapply({table}${value}, {table}${group}, {what}, na.rm = TRUE))",
    )


LINES = {
    "responses": FirstLines(
        'first = (responses["occasion"] == 1) & (responses["arm"] == "")\n'
        'done = responses[first & (responses["state"] == "completed")]\n'
        'print(done.groupby(["prompt", "chatbot"])["characters"].describe())',
        "first <- responses$occasion == 1 & is.na(responses$arm)\n"
        'done <- responses[first & responses$state == "completed", ]\n'
        "print(tapply(done$characters, list(done$prompt, done$chatbot), median))",
    ),
    "revisions": by("revisions", "prompt", "accepted"),
    "flags": cross("flags", "check", "outcome"),
    "context": cross("context", "product", "memory"),
    "timings": by("timings", "prompt", "seconds", "median"),
    "participants": FirstLines(
        'print(pd.crosstab(participants["cell"], participants["state"]))\nprint(participants["seconds"].median() / 60)',
        "print(table(participants$cell, participants$state))\nprint(median(participants$seconds, na.rm = TRUE) / 60)",
    ),
    "notes": FirstLines('print(notes.groupby("author").size())', "print(table(notes$author))"),
    "flow": by("flow", "outcome", "people", "sum"),
    "readings": FirstLines(
        'counted = readings[readings["counted"]]\n'
        'print(counted.groupby(["prompt", "source", "model"]).size())\n'
        'choices = counted[counted["correct"].notna()]\n'
        'print(choices["correct"].astype(float).groupby([choices["prompt"], choices["source"]]).mean())',
        "counted <- readings[readings$counted, ]\n"
        "print(table(counted$prompt, counted$source))\n"
        "choices <- counted[!is.na(counted$correct), ]\n"
        "print(tapply(choices$correct, list(choices$prompt, choices$source), mean))",
    ),
    "mentions": FirstLines(
        'counted = mentions[mentions["counted"]]\n'
        'print(counted.groupby(["prompt", "source", "model"])["item"].nunique())\n'
        'print(counted.groupby(["prompt", "source"])["item"].value_counts().groupby(level=[0, 1]).head(5))',
        "counted <- mentions[mentions$counted, ]\n"
        "print(tapply(counted$item, list(counted$prompt, counted$source), function(x) length(unique(x))))\n"
        "print(head(sort(table(counted$item), decreasing = TRUE), 5))",
    ),
    "read_backs": FirstLines(
        'said = read_backs[read_backs["newest"] & (read_backs["no_answer"] == "")]\n'
        'said = said[said["verdict"] != "unsaid"]\n'
        'print((said["verdict"] == "right").groupby(said["prompt"]).mean())',
        "said <- read_backs[read_backs$newest & is.na(read_backs$no_answer), ]\n"
        'said <- said[said$verdict != "unsaid", ]\n'
        'print(tapply(said$verdict == "right", said$prompt, mean))',
    ),
    "read_back_names": FirstLines(
        'changed = read_back_names[read_back_names["read"] != read_back_names["stands"]]\n'
        'print(changed.groupby(["prompt", "read"])["name"].value_counts())',
        "changed <- read_back_names[read_back_names$read != read_back_names$stands, ]\n"
        "print(table(changed$prompt, changed$read))\nprint(head(changed$name))",
    ),
    "aliases": cross("aliases", "item", "prompt"),
    "alias_decisions": cross("alias_decisions", "prompt", "action"),
    "answer_decisions": cross("answer_decisions", "asked", "is_undo"),
    "prompts": FirstLines(
        'print(prompts[["prompt", "kind", "correct"]])', 'print(prompts[, c("prompt", "kind", "correct")])'
    ),
    "questions": by("questions", "subject", "options"),
    "runs": FirstLines(
        'print(runs[["run", "source", "model", "temperature", "users", "repeats", "usd"]])',
        'print(runs[, c("run", "source", "model", "temperature", "users", "repeats", "usd")])',
    ),
    "completions": FirstLines(
        'print(pd.crosstab(completions["model"], completions["status"]))\n'
        'print(completions.groupby(["source", "model"])[["latency_ms", "usd"]].mean())',
        "print(table(completions$model, completions$status))\n"
        "print(tapply(completions$latency_ms, completions$source, median, na.rm = TRUE))",
    ),
    "items": cross("items", "kind", "purpose"),
    "annotations": FirstLines(
        'counted = annotations[annotations["counted"]]\n'
        'print(pd.crosstab([counted["question"], counted["value"]], counted["is_model"]))',
        "counted <- annotations[annotations$counted, ]\n"
        "print(table(counted$question, counted$value, counted$is_model))",
    ),
    "labels": FirstLines(
        'print(pd.crosstab(labels["question"], labels["majority"].fillna("tie")))',
        'print(table(labels$question, labels$majority, useNA = "ifany"))',
    ),
    "gate": cross("gate", "decision", "kept"),
}


def first_lines(table: str) -> dict[str, str]:
    """Return programs of at most ten lines by language; they read the table's Parquet or CSV file in their folder."""
    lines = LINES[table]
    return {"pandas": PANDAS.format(table=table) + lines.pandas, "r": R.format(table=table) + lines.r}
