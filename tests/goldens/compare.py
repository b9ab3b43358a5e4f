"""What the product puts out, frozen: pages as people read them, reports, agreement, tables and commands as programs do.

Code may move as long as all of this stays. After an intended change, `GOLDENS=write .venv/bin/python -m pytest -n0
tests/goldens/compare.py` renews it, and the difference is reviewed like code. What depends on time or chance (times,
signed addresses) is masked; `tests/test_goldens.py` runs it in a process that no other test has used.
"""

import csv
import difflib
import io
import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.test import Client
from django.urls import reverse

from analysis.charts.figure import Options
from analysis.endpoints.providers.scripted import FakeProvider
from analysis.exports.exports import ANNOTATION_TABLES, TABLES
from analysis.models import Completion, Corpus, PersonaSet, Run
from analysis.people.corpora import embeddings
from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.pages.shown import PAGES
from analysis.report.parts import FIGURES
from analysis.report.reports import report
from surveys.models import AnnotationItem, Participant, Study
from tests.analysis.report.compare_samples import make_compared
from tests.crawling import log_in, make_members, make_world, ways_of_annotators, ways_of_participants

FOLDER = Path(__file__).parent
SURVEY, LABELS, CORPUS = "field-13", "profiles", "made-up-people"
DRAWS = 100
WHEN = ("generated_at", "seconds", "median_seconds", "latency_ms")
DIGITS, MOST = 6, 30  # of a number that a program reads, on any processor; of rows

MASKS = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"[a-z0-9]{12}~[\w~-]+", "<link>"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]{2,8} 20\d\d(, \d\d:\d\d)?", "<date>"),
        (r"\d{1,2} [A-Z][a-z]{2}(?= \d\d:\d\d)", "<date>"),
        (r"\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b(?! 20)", "<date>"),
        (r"\b\d\d:\d\d(:\d\d)?\b", "<clock>"),
        (r"\b[0-9a-f]{40,64}\b", "<hash>"),
        (r"(?<=title=<hash>\] )[0-9a-f]{8}", "<hash>"),
        (r"(?<=version \d \()[0-9a-f]{6,8}(?=\))", "<hash>"),  # of a study and of what its pages say
        (r"~1x[\w-]+~[\w-]{40,}", "~<seal>"),
        (r"\b[\d.]+ (ms|s|min|h|seconds?|minutes?|hours?)\b( \d+ s)?", "<span>"),
        (r"\$[\d.,]+(?= an hour|/h| instead)", "<pay>"),
    )
]


def mask(text: str) -> str:
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return text


# --- pages ------------------------------------------------------------------


class Reader(HTMLParser):
    """A page as lines: its words and, in brackets, whatever can be opened, filled in or pressed, with its name."""

    SILENT = ("script", "style", "template")
    INLINE = ("a", "abbr", "b", "bdi", "code", "em", "i", "small", "span", "strong", "time", "tspan")

    def __init__(self) -> None:
        super().__init__()
        self.lines, self.words, self.silent = list[str](), list[str](), 0

    def close(self) -> None:
        super().close()
        self.end_line()

    def end_line(self) -> None:
        if line := " ".join(" ".join(self.words).split()):
            self.lines.append(line)
        self.words = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in self.SILENT:
            self.silent += 1
        if tag not in self.INLINE:
            self.end_line()
        if tag in ("link", "meta") or given.get("name") == "csrfmiddlewaretoken":
            return
        told = [
            f"{name}={given[name]}"
            for name in ("name", "value", "href", "action", "method", "alt", "aria-label", "title", "role", "hx-get")
            if given.get(name)
        ]
        told += [name for name in ("required", "checked", "selected", "disabled", "hidden", "open") if name in given]
        if told:
            self.words.append(f"[{tag} {' '.join(told)}]")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.SILENT:
            self.silent -= 1
        if tag not in self.INLINE:
            self.end_line()

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.words.append(data)


def read_page(client: Client, address: str) -> str:
    answer = client.get(address, follow=True)
    reader = Reader()
    reader.feed(answer.content.decode())
    reader.close()
    return mask("\n".join([str(answer.status_code), *reader.lines, ""]))


def console_pages() -> Iterator[tuple[str, str]]:
    """Name and address of each frozen console page, of the survey study and the annotation study."""
    yield "console", reverse("console:studies")
    for study, names in (
        (SURVEY, "study setup monitor participants flow members audit new-version"),
        (LABELS, "study setup monitor participants"),
    ):
        for name in names.split():
            yield f"{study}-{name}", reverse(f"console:{name}", args=[study])
    for page in PAGES:
        path = reverse("compare:overview", args=[SURVEY]) if page == "overview" else None
        yield f"compare-{page}", path or reverse("compare:page", args=[SURVEY, page])
    for name in ("list", "standing", "accuracy", "changes", "spellings"):
        yield f"answers-{name}", reverse(f"answers:{name}", args=[SURVEY])
    for name in ("runs", "compare", "new-run", "endpoints", "new-endpoint"):
        yield f"models-{name}", reverse(f"baselines:{name}", args=[SURVEY])
    for name in ("board", "ledger", "set-up", "publish"):
        yield f"paying-{name}", reverse(f"paying:{name}", args=[SURVEY])
    for name in ("overview", "numbers", "groups", "gate"):
        yield f"agreement-{name}", reverse(f"agreement:{name}", args=[LABELS])
    for name in ("corpora", "personas"):
        yield f"people-{name}", reverse(f"people:{name}", args=[SURVEY])
    for name in ("corpus", "conversations"):
        yield f"people-{name}", reverse(f"people:{name}", args=[SURVEY, CORPUS])
    user = Corpus.objects.get(name=CORPUS).users.order_by("pk").first()
    yield "people-person", reverse("people:person", args=[SURVEY, CORPUS, user.pk])
    yield "people-persona-set", reverse("people:persona-set", args=[SURVEY, PersonaSet.objects.get().name])
    yield "people-items", reverse("people:items", args=[LABELS])
    yield "training-models", reverse("training:models", args=[SURVEY])
    run = Run.objects.filter(study__slug=SURVEY).order_by("pk").first()
    call = Completion.objects.filter(run=run).order_by("pk").first()
    yield "models-run", reverse("baselines:run", args=[SURVEY, run.pk])
    yield "models-completion", reverse("baselines:completion", args=[SURVEY, run.pk, call.pk])
    someone = Participant.objects.filter(study__slug=SURVEY).order_by("pk").first()
    yield "participant", reverse("console:participant", args=[SURVEY, someone.pseudonym])
    item = AnnotationItem.objects.filter(study__slug=LABELS).order_by("pk").first()
    yield "agreement-item", reverse("agreement:item", args=[LABELS, item.pk])
    yield "export", reverse("export:page", args=[SURVEY])


# --- what programs read -----------------------------------------------------


def rounded(value: Any) -> Any:
    """The value with DIGITS significant digits, at most MOST rows of a long list, and no times or durations."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case dict():
            return {name: rounded(each) for name, each in value.items() if name not in WHEN}
        case list():
            return [rounded(each) for each in value[:: len(value) // MOST + 1]]
        case str():
            return mask(value)
    return value


def run_command(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def as_json(text: str) -> str:
    return json.dumps(rounded(json.loads(text)), indent=1, ensure_ascii=False) + "\n"


def figures_of(study: str) -> dict[str, Any]:
    """The words of every figure, and the first rows of its table."""
    whole = report(Study.objects.select_related("current").get(slug=study), draws=DRAWS)
    drawn_by = FIGURES | {name: figure.draw for name, figure in OVERVIEW_FIGURES.items()}
    made = {name: draw(whole, Options(rarefied=True)) for name, draw in drawn_by.items()}
    words = {name: {part: getattr(figure, part) for part in ("title", "alt", "own")} for name, figure in made.items()}
    return {name: words[name] | {"table": figure.table[:3]} for name, figure in made.items()}


COMMANDS = {
    "report": ["report", SURVEY, "--draws", str(DRAWS)],
    "agreement": ["agreement", LABELS, "--draws", str(DRAWS)],
    "verify-audit": ["verify_audit"],
    "people-filter": ["people", CORPUS, "filter"],
    "people-sample": ["people", CORPUS, "sample", "--size", "4"],
}


# --- the comparison ---------------------------------------------------------


class Goldens:
    """Compares output with the stored files, or writes them."""

    def __init__(self) -> None:
        self.writes, self.changed, self.seen = os.environ.get("GOLDENS") == "write", list[str](), set[str]()

    def take(self, name: str, text: str) -> None:
        path = FOLDER / name
        self.seen.add(name)
        if self.writes:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        before = path.read_text().splitlines() if path.exists() else []
        self.changed += difflib.unified_diff(before, text.splitlines(), name, name, lineterm="", n=1)


@pytest.fixture
def same_each_time(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix what differs between runs: rows' keys, which no earlier test has used; draws; this machine's extras."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema()")
        for (name,) in cursor.fetchall():
            cursor.execute(f"ALTER SEQUENCE {name} RESTART 1000000")
    dice = Random(1)
    monkeypatch.setattr("secrets.choice", dice.choice)
    monkeypatch.setattr("secrets.token_hex", lambda size: f"{dice.getrandbits(8 * size):0{2 * size}x}")
    monkeypatch.setattr(embeddings, "onnxruntime", None)
    embeddings.local_embedder.cache_clear()
    monkeypatch.delenv("LOCAL_MODEL", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    complete = FakeProvider.complete
    monkeypatch.setattr(FakeProvider, "complete", lambda self, body, key: complete(self, body, key.partition("-")[2]))


@pytest.mark.usefixtures("same_each_time")
def test_what_is_put_out_is_what_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    goldens = Goldens()
    make_compared()
    make_members(make_world(monkeypatch, tmp_path))
    Completion.objects.exclude(latency_ms=None).update(latency_ms=F("id") % 7 * 100)
    for name, arguments in COMMANDS.items():
        goldens.take(f"commands/{name}.txt", mask(run_command(*arguments)))
        goldens.take(f"commands/{name}.json", as_json(run_command(*arguments, "--json")))
    goldens.take("commands/report-teas.json", as_json(run_command("report", "teas", "--draws", str(DRAWS), "--json")))
    for study in (SURVEY, "teas"):
        goldens.take(f"figures/{study}.json", as_json(json.dumps(figures_of(study))))
    console = log_in("demo")
    for name, address in console_pages():
        goldens.take(f"pages/{name}.txt", read_page(console, address))
    for who, ways in (("survey", ways_of_participants()), ("annotation", ways_of_annotators())):
        for number, address in enumerate(ways):
            goldens.take(f"pages/{who}-{number}.txt", read_page(Client(), address))
    for study in (SURVEY, LABELS):
        codebook = console.get(reverse("export:codebook", args=[study, "json"]))
        goldens.take(f"tables/{study}-codebook.json", as_json(codebook.content.decode()))
        for table in (*TABLES, *ANNOTATION_TABLES):
            answer = console.get(reverse("export:download", args=[study, table, "csv"]))
            if answer.status_code == 200:
                goldens.take(f"tables/{study}-{table}.csv", first_lines(b"".join(answer).decode()))
    kept = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*.*") if path.suffix != ".pyc"}
    assert not goldens.changed, "\n".join(goldens.changed[:400])
    assert kept == goldens.seen


def first_lines(text: str, count: int = 5) -> str:
    names, *rows = list(csv.reader(io.StringIO(text)))[:count]
    measured = [name for name in names if name.endswith(("seconds", "_ms"))]
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        given = dict(zip(names, row, strict=True))
        writer.writerow(given | {name: "<span>" for name in measured if given[name]})
    return mask(out.getvalue())
