"""The report on a terminal, as JSON, as one HTML file and as a PDF."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.answers.readings import read_new
from analysis.charts.tables import NOTHING, PLAIN, Cell, NumberFormat, P
from analysis.report.outputs import write_html, write_pdf, write_text
from analysis.report.parts import blend
from analysis.report.reports import report
from surveys.models import Study
from tests.analysis.report.report_samples import make_teas, tell
from tests.factories import make_study
from tests.lasting import copied_world

pytestmark = pytest.mark.django_db


@copied_world
def study() -> Study:
    return make_teas()


def run(*arguments: Any, **options: Any) -> str:
    out = io.StringIO()
    call_command("report", "teas", *arguments, draws=20, stdout=out, **options)
    return out.getvalue()


def test_text_says_what_the_numbers_rest_on_aligns_them_and_names_what_is_made_up(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = run()
    lines = text.splitlines()
    assert lines[0].startswith("Teas · teas, version 1 (")
    assert "8 answers of 4 people and 12 of models. All answers of people who completed" in lines[1]
    assert "Rule inattentive (2 or more attention checks failed; declared before launch): 0 people, 0 answers." in lines
    head = next(line for line in lines if line.startswith("prompt  source"))
    field, offline = lines[lines.index(head) + 1 : lines.index(head) + 3]
    assert field.startswith("teas    field    chatgpt")
    assert offline.startswith("        offline  gpt-4o-mini")
    end = head.index("unknown") + len("unknown")
    assert (field[:end].split()[-2:], offline[:end].split()[-2:]) == (["4", "1"], ["6", "0"])
    whole = report(study, draws=20)
    every = write_text(whole, whole.keys(), width=200)
    for title in ("HOW VARIED THE RECOMMENDATIONS ARE", "COST", "EXPECTED WIDTH", "WITH OTHER ANSWERS LEFT OUT"):
        assert title in every
    assert "nan" not in every.lower() and "None" not in every and "SIMULATED" not in text + every
    type(study.runs.get().endpoint).objects.update(provider="fake")
    assert "Simulated, not real: 12 completions of gpt-4o-mini." in run(parts=["about"])


def test_new_answers_are_read_first(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    tell(study, ["Matcha", "Chai"])
    assert "10 answers of 5 people" in run(parts=["heterogeneity"])
    assert "[1/2] about\n[2/2] heterogeneity\n" in capsys.readouterr().err


def test_filters_are_those_of_the_pages_and_json_is_one_object(study: Study) -> None:
    whole = json.loads(run("--filter", "chatbot=gemini", "--filter", "excluded=with", json=True, parts=["choices"]))
    assert whole["filters"]["query"] == "chatbot=gemini&excluded=with"
    assert whole["choices"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--filter", "memory"], "--filter takes NAME=VALUE, not 'memory'."),
        (["--filter", "memry=off"], "memry is not a filter. Did you mean memory?"),
        (["--filter", "prompt=tea"], "prompt=tea is unknown here. Did you mean teas?"),
    ],
)
def test_bad_filters_are_one_line(arguments: list[str], words: str) -> None:
    make_study("draft")
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    assert str(refused.value) == words


def test_other_bad_input_is_one_line() -> None:
    with pytest.raises(
        CommandError, match="There is no study teas. Studies: none yet. `load_study` makes one from its file."
    ):
        run()
    Study.objects.create(slug="teas", title="Teas")
    with pytest.raises(CommandError, match="teas has no definition yet. Load its study file first."):
        run()
    with pytest.raises(CommandError, match="--draws takes 20 to 100,000, not 5."):
        call_command("report", "teas", draws=5)


def test_a_file_that_cannot_be_written_is_one_line_and_leaves_nothing(study: Study, tmp_path: Path) -> None:
    place = tmp_path / "nowhere" / "report.html"
    with pytest.raises(CommandError, match=r"nowhere/report.html: cannot be written: No such file or directory"):
        run(html=place, parts=["costs"])
    assert list(tmp_path.iterdir()) == []


def test_html_is_one_file_with_figures_and_pdf_the_same_for_the_same_report(study: Study, tmp_path: Path) -> None:
    assert run(html=tmp_path / "report.html", pdf=tmp_path / "report.pdf") == ""
    page = (tmp_path / "report.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "<script" not in page
    outside = set(re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([a-z]+:[^\"') ]+)", page))
    assert outside == set()
    assert 'role="img"' in page  # the figures
    assert page.count("<style>") == 1
    assert "How varied the recommendations are" in page
    assert "sencha" not in page.split("<main>")[0]
    nothing = "there is nothing to blend."
    assert page.count(nothing) == 1 and f'<p class="soft">{blend.NOTHING}</p>' in page  # no picture of a sentence
    content = (tmp_path / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(content) > 20_000
    assert write_pdf(report(study, draws=20)) == content


def test_what_people_and_models_wrote_is_no_markup() -> None:
    study = make_teas(title="#panic() [*Teas*] $x$ 茶 чай")
    tell(study, ["<b>Lapsang & Souchong", "<script>alert(1)</script> tea"])
    tell(study, ["#let x = 1", "= Heading"])
    read_new(study)
    found = report(study, draws=20)
    page = write_html(found)
    assert "<script>" not in page and "Lapsang &amp; Souchong" in page
    assert write_pdf(found).startswith(b"%PDF-")


def test_an_empty_study_has_a_report_that_says_so(tmp_path: Path) -> None:
    make_study("draft")
    assert "There is too little to compare yet." in run()
    run(html=tmp_path / "empty.html", pdf=tmp_path / "empty.pdf")
    assert "There is too little to compare yet" in (tmp_path / "empty.html").read_text()
    assert (tmp_path / "empty.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (Cell(None, PLAIN), NOTHING),
        (Cell(1234.567, PLAIN), "1,234.57"),
        (Cell(0.5, NumberFormat(digits=1), [0.25, 0.75]), "0.5 (0.2 to 0.8)"),
        (Cell(0.5, PLAIN, unsure="One unit."), "0.50 (–)"),
        (Cell(0.0004, P), "<\u202f0.001"),
        (Cell(0.0321, P), "0.032"),
        (Cell(None, P), NOTHING),
    ],
)
def test_values_in_words(cell: Cell, words: str) -> None:
    assert cell.line == words
