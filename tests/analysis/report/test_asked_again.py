"""Asking people again changes no number that exists without it, and appears in every export."""

from dataclasses import replace
from typing import Any

import pytest

from analysis.answers.alias_proposals import count_spellings
from analysis.answers.compared import families_of, load_prompts
from analysis.answers.read_backs import kept_accuracy
from analysis.answers.readings import read_new, unread
from analysis.answers.reviews import answers_of
from analysis.exports.exports import codebook_of, stream_rows
from analysis.exports.people_tables import Selection
from analysis.models import Answer
from analysis.report.bundle.tables import answers
from analysis.report.dataset import load_frames
from analysis.report.parts import PARTS
from analysis.report.reports import prompt_rows, report
from analysis.runs.recipes.plans import Plan, plan_run
from surveys.models import Participant, ReadBack, Response, Study, asked_of_all
from surveys.participation.pasting.read_back import ReadReply, mark_of
from surveys.participation.recruitment import withdraw
from surveys.studies.lifecycle import definition_of
from tests.analysis.report.report_samples import listed, make_model_run, reply
from tests.analysis.runs.baseline_factories import make_endpoint
from tests.factories import make_participant, make_response, make_study
from tests.lasting import copied_world
from tests.surveys.studies.files.sample_study import make_asking_definition

pytestmark = pytest.mark.django_db
ORDER = ["teas", "teas--temporary", "water", "teas--2", "cakes", "water--2", "pots"]
OF_ASKINGS = ("about", "person_or_dice", "arms", "positions")  # about what is asked again, or counting it
FIRST = {"teas", "water", "cakes", "pots"}


@copied_world
def study() -> Study:
    """Six people who were each asked everything once, and a run."""
    definition = make_asking_definition()
    cells = tuple(replace(cell, places=20) for cell in definition.cells)
    study = make_study(definition=replace(definition, cells=cells))
    for number in range(6):
        person = make_participant(study)
        person.order = ORDER
        person.save()
        said = ["Assam", "Sencha"] if number % 2 else ["Assam", "Mate"]
        reply_to = ReadReply(of=mark_of(listed(said)), confirmed=True)
        make_response(person, "teas", listed(said), keep=True, reply=reply_to, rating="4")
        make_response(person, "water", "ABC"[number % 3], keep=True)
        make_response(person, "cakes", listed([f"Cake {number}"]), keep=True)
        make_response(person, "pots", "B", keep=True)
    run = make_model_run(study)
    for repeat in range(4):
        reply(run, "teas", listed(["Assam", "Chai"]), repeat)
        reply(run, "water", "C", repeat)
    complete(study)
    read_new(study)
    return study


def complete(study: Study) -> None:
    for person in study.participants.all():
        Participant.objects.filter(pk=person.pk).update(
            state="completed", finished_at=person.consented_at, code="CODE1", step="end"
        )


def ask_again(study: Study) -> None:
    """Add other answers of the same people on a second occasion and in the other state, which one cannot reach."""
    Participant.objects.filter(study=study).update(state="active", finished_at=None, code="", step="prompts")
    for number, person in enumerate(study.participants.order_by("pk")):
        other = ["Oolong", "Puerh", f"Tea {number}"]
        make_response(person, "teas--2", listed(other), keep=True, rating="unrated")
        make_response(person, "water--2", "A", keep=True)
        state = {"reply": ReadReply(no_answer="unreached")} if number == 0 else {}
        make_response(person, "teas--temporary", "" if state else listed(other[:2]), keep=not state, **state)
    complete(study)
    read_new(study)


def rows_of(study: Study, table: str) -> list[dict[str, Any]]:
    return list(stream_rows(study, codebook_of(study).tables[table], Selection()))


def numbers_of(study: Study) -> dict[str, Any]:
    made = report(study, draws=50)
    return {name: made[name] for name in PARTS if name not in OF_ASKINGS} | {"claims": made["claims"]}


def test_no_number_of_the_report_changes_where_people_were_asked_again(study: Study) -> None:
    before, read = numbers_of(study), kept_accuracy(study)["rows"]
    frames = load_frames(study)
    assert len(frames.field.table) == 24 and frames.reworded == 0
    ask_again(study)
    assert Answer.objects.filter(response__prompt__asks__in=FIRST).count() == 18 and unread(study) == 0
    frames = load_frames(study)
    assert (len(frames.field.table), frames.first_time.sum(), frames.reworded) == (42, 24, 0)
    assert set(frames.prompts) == FIRST
    assert {row["slug"] for row in prompt_rows(study)} == FIRST
    assert numbers_of(study) == before
    assert kept_accuracy(study)["rows"] == read
    assert len(list(answers(study, asked_of_all("prompt__")))) == 24


def test_readings_and_spellings_are_made_of_all_under_the_prompt(study: Study) -> None:
    ask_again(study)
    assert families_of(definition_of(study.current_id))["teas--temporary"] == "teas"
    assert set(load_prompts(study)[0]) == FIRST
    counts = count_spellings(study)
    assert set(counts) <= FIRST and counts["teas"]["oolong"]["field"] == 11
    shown = answers_of(study).filter(response__isnull=False).values_list("prompt_slug", flat=True)
    assert set(shown) == FIRST and len(shown) == 42


def test_models_are_asked_each_prompt_once(study: Study) -> None:
    run, _ = plan_run(Plan(make_endpoint(), "offline", version=study.current), 2, "tests")
    assert set(run.completions.values_list("prompt__slug", flat=True)) == FIRST
    assert run.completions.count() == 8


def test_an_export_has_a_row_for_each_asking_and_says_which_one_it_is(study: Study) -> None:
    ask_again(study)
    rows = rows_of(study, "responses")
    mine = {
        (row["prompt"], row["occasion"], row["arm"]): row
        for row in rows
        if row["participant"] == study.participants.earliest("pk").pseudonym
    }
    assert len(rows) == 42 and len(mine) == 7
    assert [(*key, row["position"], row["previous_prompt"]) for key, row in mine.items()] == [
        ("teas", 1, "", 1, ""),
        ("water", 1, "", 3, "teas"),
        ("cakes", 1, "", 5, "teas"),
        ("pots", 1, "", 7, "water"),
        ("teas", 2, "", 4, "water"),
        ("water", 2, "", 6, "cakes"),
        ("teas", 1, "temporary", 2, "teas"),
    ]
    assert [(row["rating"], row["unrated"]) for row in mine.values()][:5:4] == [(4, False), (None, True)]
    assert [key for key, row in mine.items() if row["unreached"]] == [("teas", 1, "temporary")]
    assert sum(row["unreached"] for row in rows) == 1


def test_every_table_of_answers_says_occasion_and_arm_and_counts_the_first(study: Study) -> None:
    ask_again(study)
    for table in ("revisions", "timings", "flags", "readings", "mentions", "read_backs", "read_back_names"):
        named = {(row["prompt"], row["occasion"], row["arm"]) for row in rows_of(study, table)}
        assert {prompt for prompt, *_ in named} <= FIRST, table
    readings = [row for row in rows_of(study, "readings") if row["source"] == "field"]
    counted = {(row["occasion"], row["arm"]) for row in readings if row["counted"]}
    assert counted == {(1, "")} and sum(row["counted"] for row in readings) == 24
    names = [row["answer"] for row in readings]
    assert len(set(names)) == len(names) == 42
    assert {row["answer"] for row in rows_of(study, "mentions") if row["participant"]} <= set(names)


def test_levels_of_the_codebook_name_the_arms(study: Study) -> None:
    columns = {column.name: column for column in codebook_of(study).tables["responses"].columns}
    assert columns["arm"].levels == {"temporary": "Temporary chat"}
    assert set(columns["prompt"].levels) == FIRST


def test_erasing_a_person_erases_what_they_were_asked_again(study: Study) -> None:
    ask_again(study)
    withdraw(study.participants.earliest("pk"))
    assert Response.objects.filter(prompt__version__study=study).count() == 35
    assert not ReadBack.objects.filter(no_answer="unreached").exists()
