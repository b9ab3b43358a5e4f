"""The measured rates of the paste checks: the arithmetic, the sample, and the command that prints them."""

import csv
import hashlib
import json
import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from benchmarks.reading import measure_checks, measure_kinds
from benchmarks.reading.check_rates import as_json, as_table, measure_rates, wilson_interval, write_table
from benchmarks.reading.paste_samples import HERE, SEED, Case, build_cases, is_held_out, read_answers
from surveys.reading.checks import CHECKS, Paste

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("FIELDSTUDY_SHARED") or ROOT.parent / "shared") / "data" / "model_answers"
PAGE = ROOT / "benchmarks" / "rates" / "paste-checks.md"
RENEW = "python -m benchmarks.reading.measure_checks --write benchmarks/rates/paste-checks.md renews it"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the real model answers are not beside the project")


def make_case(text, faulty, check="too-few-items", held_out=True):
    return Case(check, faulty, "made", Paste(text, "Name five films."), held_out)


@pytest.fixture(scope="module")
def cases():
    return build_cases(DATA, SEED)


@pytest.fixture(scope="module")
def rates(cases):
    return measure_rates(cases)


@pytest.mark.parametrize(
    ("wrong", "n", "low", "high"),
    [
        # centre (0.5 + 0.19207)/1.38415 = 0.5; half 1.96·√(0.025 + 0.0096037)/1.38415 = 0.2634
        (5, 10, 0.2366, 0.7634),
        # none of n: high = z²/(n + z²) = 3.8415/13.8415
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
    ],
)
def test_wilson_interval_agrees_with_pencil_and_paper(wrong, n, low, high):
    assert wilson_interval(wrong, n) == pytest.approx((low, high), abs=5e-5)


def test_measure_rates_counts_misses_and_false_alarms_of_one_half():
    few, enough = "1. Heat\n2. Up", "1. Heat\n2. Up\n3. Alien\n4. Jaws\n5. Big"
    made = [make_case(few, True), make_case(enough, True), make_case(few, False), make_case(enough, False)]
    rates = measure_rates([*made, make_case(enough, True, held_out=False)])
    rate = next(rate for rate in rates if (rate.check, rate.origin) == ("too-few-items", "all"))
    assert (rate.misses.n, rate.misses.wrong, rate.misses.share) == (2, 1, 0.5)
    assert (rate.false_alarms.n, rate.false_alarms.wrong) == (2, 1)
    assert (rate.unnoticed.n, rate.unnoticed.wrong) == (2, 1)


def test_measure_rates_of_no_case_has_no_share():
    rate = measure_rates([])[0]
    assert (rate.misses.n, rate.misses.share, rate.false_alarms.low) == (0, None, None)
    assert "| – |" in as_table([rate])


def test_write_table_replaces_what_stands_between_the_marks_and_nothing_without_them(tmp_path):
    page = tmp_path / "page.md"
    begin, end = "<!-- rates -->", "<!-- end of rates -->"
    page.write_text(f"# Rates\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
    write_table(page, "| new |\n")
    write_table(page, "| newer |\n")
    assert page.read_text(encoding="utf-8") == f"# Rates\n{begin}\n\n| newer |\n\n{end}\nafter\n"
    page = tmp_path / "page.md"
    page.write_text("# Rates\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no place"):
        write_table(page, "| new |\n")
    assert page.read_text(encoding="utf-8") == "# Rates\n"


def test_measure_checks_without_data_says_what_to_do(tmp_path):
    with pytest.raises(CommandError, match="--data"):
        call_command(measure_checks.Command(), data=tmp_path, stdout=StringIO())


def test_labels_hold_hashes_and_no_text():
    with (HERE / "paste_labels.csv").open(encoding="utf-8", newline="") as rows:
        labels = list(csv.DictReader(rows))
    assert len(labels) > 150
    assert all(set(row) == {"record", "text_sha256", "cut_off", "refusal", "five_items"} for row in labels)
    assert {row[name] for row in labels for name in ("cut_off", "refusal", "five_items")} == {"yes", "no", ""}


@needs_data
def test_sample_has_both_kinds_of_case_for_every_check(cases):
    kinds = {(case.check, case.faulty) for case in cases if case.held_out}
    assert kinds == {(name, faulty) for name in CHECKS for faulty in (True, False)}


@needs_data
def test_sample_is_the_same_for_the_same_seed(cases):
    assert build_cases(DATA, SEED) == cases
    assert build_cases(DATA, SEED + 1) != cases


@needs_data
def test_sample_halves_share_no_real_answer():
    answers = read_answers(DATA)
    halves = [{a.text for a in answers if a.held_out is half} for half in (True, False)]
    assert not halves[0] & halves[1]
    assert all(len(half) > 100 for half in halves)
    assert is_held_out("x") == (hashlib.sha256(b"x").digest()[1] % 2 == 1)


@needs_data
def test_checks_stay_as_good_as_they_were(rates):
    whole = [rate for rate in rates if rate.origin == "all"]
    assert all(rate.false_alarms.share <= 0.06 for rate in whole)
    assert all(rate.misses.share <= 0.16 for rate in whole)
    assert all(rate.unnoticed.share <= 0.05 for rate in whole)


@needs_data
def test_measure_checks_prints_one_json_object(cases, rates, monkeypatch):
    def known(measured, held_out):
        assert (measured, held_out) == (cases, True)
        return rates

    monkeypatch.setattr(measure_checks, "measure_rates", known)
    out = StringIO()
    call_command(measure_checks.Command(), json=True, stdout=out)
    printed = json.loads(out.getvalue())
    assert printed["half"] == "held-out"
    assert printed["rates"] == json.loads(json.dumps(as_json(rates)))


@needs_data
def test_published_page_shows_what_is_measured(rates):
    page = PAGE.read_text(encoding="utf-8")
    is_there = f"<!-- rates -->\n\n{as_table(rates)}\n<!-- end of rates -->" in page
    assert is_there, RENEW


@pytest.mark.parametrize("after", [False, True])
def test_published_rates_of_pastes_in_many_scripts_are_measured(after):
    lines = measure_kinds.as_lines(measure_kinds.as_rates(measure_kinds.measure(after)))
    is_there = "\n".join(lines) in PAGE.read_text(encoding="utf-8")
    assert is_there, RENEW
