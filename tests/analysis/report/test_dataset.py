"""Answers become arrays: one vocabulary for all sources of a prompt, one spelling for each item, few SQL statements."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.answers.compared import spellings_of
from analysis.answers.readings import read_new
from analysis.report.dataset import Said, encode, load_frames
from surveys.models import Study
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell

SLUGS = {1: "teas", 2: "teas-typos", 3: "water"}
FAMILIES = {"teas": "teas", "teas-typos": "teas", "water": "water"}


def row(number: int, prompt: int, items: list[str], letter: str = "") -> tuple:
    return (number, 10 + number, 0, 1, prompt, letter, items, 1)


def said(*rows: tuple) -> Said:
    return Said.of(zip(*rows, strict=True) if rows else [()] * 8)


def test_sources_share_the_vocabulary_of_a_prompt() -> None:
    field = said(row(1, 1, ["sencha", "assam"]), row(2, 1, []))
    calls = said(row(3, 1, ["oolong", "assam"]))
    vocabularies, (first, second) = encode([field, calls], SLUGS, FAMILIES, {})
    assert vocabularies["teas"] == ["assam", "oolong", "sencha"]
    assert (first.rows.tolist(), first.codes.tolist()) == ([0, 0], [0, 2])
    assert (second.rows.tolist(), second.codes.tolist()) == ([0, 0], [0, 1])


def test_variants_share_the_vocabulary_and_the_spellings_of_their_original() -> None:
    rows = [row(1, 1, ["assam tea"]), row(2, 2, ["asam"]), row(3, 2, ["assam tea"])]
    spellings = spellings_of({"teas": {"assam tea": "assam"}, "teas-typos": {"asam": "assam"}}, FAMILIES)
    vocabularies, (frame, _) = encode([said(*rows), said()], SLUGS, FAMILIES, spellings)
    assert vocabularies["teas"] == ["assam"]
    assert frame.codes.tolist() == [0, 0, 0]


def test_the_originals_table_goes_before_its_variants() -> None:
    aliases = {"teas-typos": {"asam": "asanas"}, "teas": {"asam": "assam"}}
    assert spellings_of(aliases, FAMILIES) == {"teas": {"asam": "assam"}}


def test_two_spellings_in_one_answer_are_one_mention() -> None:
    rows = [row(1, 1, ["assam tea", "assam"])]
    _, (frame, _) = encode([said(*rows), said()], SLUGS, FAMILIES, {"teas": {"assam tea": "assam"}})
    assert (frame.rows.tolist(), frame.codes.tolist()) == ([0], [0])


def test_letters_become_options_and_none_is_unknown() -> None:
    rows = [row(1, 3, [], "C"), row(2, 3, [], ""), row(3, 3, [], "A")]
    _, (frame, _) = encode([said(*rows), said()], SLUGS, FAMILIES, {})
    assert frame.table["option"].tolist() == [2, -1, 0]


def test_nothing_at_all_is_empty_frames() -> None:
    vocabularies, frames = encode([said(), said()], SLUGS, FAMILIES, {})
    assert (vocabularies, [len(frame.table) for frame in frames]) == ({"teas": [], "water": []}, [0, 0])


def statements(study: Study) -> int:
    with CaptureQueriesContext(connection) as seen:
        load_frames(study)
    return len(seen)


@pytest.mark.django_db
def test_many_answers_are_loaded_by_as_many_statements_as_few(study: Study) -> None:
    few = statements(study)
    for number in range(6):
        tell(study, ["Assam", f"Tea {number}"])
    run = make_model_run(study, "sp-rag")
    for repeat in range(20):
        reply(run, "teas", listed(["Assam", "Chai"]), repeat)
    read_new(study)
    assert statements(study) == few <= 15


@pytest.mark.django_db
def test_only_some_prompts_are_loaded(study: Study) -> None:
    frames = load_frames(study, ["water"])
    assert set(frames.prompts) == {"water"}
    assert (len(frames.field.table), len(frames.calls.table)) == (4, 6)
