"""Readings are exported with one row per answer and one per item, and add up to the report's numbers."""

import itertools
from typing import Any

import pandas as pd
import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from analysis.answers.aliases import accept
from analysis.answers.readings import read_new, unread
from analysis.answers.reviews import answers_of, decide
from analysis.exports.exports import ANSWER_TABLES, MODEL_TABLES, codebook_of, count_rows, count_tables, stream_rows
from analysis.exports.people_tables import Selection
from analysis.models import Answer, SimulatedUser
from analysis.report.reports import report
from surveys.models import Participant, Study
from surveys.participation import recruitment
from surveys.participation.pasting.read_back import ReadReply, mark_of
from surveys.studies.files.askings import Repeats
from surveys.studies.lifecycle import load_definition
from tests.analysis.exports.exported import rows_of
from tests.analysis.report.field_benchmark_world import RIGHT, SUMS, make_sums_in_field
from tests.analysis.report.report_samples import listed, make_model_run, make_teas, reply, tell
from tests.analysis.runs.baseline_factories import make_call, make_item
from tests.factories import make_definition, make_participant, make_response, make_study
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db
FIVE = "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong"
EVERYBODY = Selection(pilot=True, preview=True)


def make_world() -> Study:
    """Teas with two merged spellings, a person excluded by a rule, a run asked twice and one with simulated users."""
    study = make_teas(places=60)
    careless = tell(study, ["Matcha", "Chai"])
    careless.checks = {"attention": {"leaf": {"passed": False}, "sea": {"passed": False}}}
    careless.save(update_fields=["checks"])
    tell(study, ["assam tea", "Assam", "Chai"], "B", chatbot="gemini")
    make_response(make_participant(study), "teas", text=listed(["Mate"]), keep=True)  # has not finished
    again = make_model_run(study, first_run=study.runs.get())
    reply(again, "teas", listed(["Chai"]))
    puppets = make_model_run(study, "sp-history", seed=3)
    for index in range(2):
        user = SimulatedUser.objects.create(run=puppets, index=index)
        for repeat in range(2):
            reply(puppets, "teas", listed(["Assam", ("Sencha", "Mate")[index]]), repeat, user=user)
    bench = make_model_run(study, benchmark="sums", version=study.current)
    call = make_call(bench, make_item(1))
    type(call).objects.filter(pk=call.pk).update(status="done", reply="B", done_at=again.created_at)
    accept(study, "teas", ["assam tea"], "assam", "tests")
    read_new(study)
    return study


world = lasting_world(make_world)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.select_related("current").get(pk=world)


@pytest.mark.parametrize("pids", [False, True])
def test_rows_have_the_columns_of_the_codebook(study: Study, pids: bool) -> None:
    correct(study, FIVE, out=("Oolong",))
    odd = Answer.objects.filter(response__participant__study=study).first()
    decide(study, odd.pk, "ada", seen=0, names=["Assam"])
    names = {*Participant.objects.values_list("pid", flat=True)}
    for table in (name for name in (*ANSWER_TABLES, *MODEL_TABLES) if name != "questions"):
        rows = rows_of(study, table, pids=pids)
        assert rows and any(name in str(rows) for name in names) is (pids and "participant" in rows[0]), table


def test_questions_of_a_set_have_a_row_each() -> None:
    study = make_sums_in_field(people=1, slug="sums-in-field")
    rows = rows_of(study, "questions")
    assert len(rows) == SUMS and {(row["benchmark"], row["correct"]) for row in rows} == {("sums", RIGHT)}
    assert {row["prompt"] for row in rows_of(study, "responses") if row["prompt"].startswith("question-")} < {
        row["prompt"] for row in rows
    }


def test_tables_add_up_to_the_report(study: Study) -> None:
    found = report(study)
    readings, mentions = (pd.DataFrame(rows_of(study, name)) for name in ("readings", "mentions"))
    compared = 0
    for row in found["heterogeneity"]:
        of_row = [
            table[table["counted"] & (table["prompt"] == row["prompt"]) & (table["source"] == row["source"])]
            for table in (readings, mentions)
        ]
        answers, items = (table[table["model"] == row["model"]] for table in of_row)
        counts = items["item"].value_counts()
        unknown = int((answers["items"] == 0).sum())
        assert (len(answers), counts.size, unknown) == (row["n"], row["unique"], row["unknown"])
        assert {top["item"]: top["count"] for top in row["top_items"]}.items() <= counts.to_dict().items()
        compared += len(answers)
    assert compared == 4 + 1 + 6 + 4
    for row in found["choices"]:
        answers = readings[readings["counted"] & (readings["prompt"] == row["prompt"])]
        answers = answers[(answers["source"] == row["source"]) & (answers["model"] == row["model"])]
        assert row["counts"] == {**dict.fromkeys(row["counts"], 0), **letters(answers)}


def letters(answers: pd.DataFrame) -> dict[str, int]:
    return {letter or "unknown": int(n) for letter, n in answers["letter"].value_counts().items()}


def test_two_spellings_of_one_item_are_one_row(study: Study) -> None:
    told = [row for row in rows_of(study, "mentions") if row["chatbot"] == "gemini" and row["participant"]]
    assert [(row["place"], row["item"], row["spelling"], row["name"]) for row in told] == [
        (1, "assam", "assam tea", "assam tea"),
        (3, "chai", "chai", "Chai"),
    ]


def test_two_spellings_in_a_repeat_that_was_dropped_count_as_one_row() -> None:
    study = make_study(places=20, slug="again", repeats=Repeats(("teas",), apart=1))
    person = make_participant(study)
    for asked in study.current.prompts.filter(Q(slug="teas") | Q(asks="teas")):
        make_response(person, asked, text=listed(["assam tea", "Assam"]), keep=True)
    read_new(study)
    accept(study, "teas", ["assam tea"], "assam", "tests")
    load_definition(make_definition(20, slug="again"), "tests", "Nothing is asked twice.")
    study.refresh_from_db()
    assert len(rows_of(study, "mentions")) == count_rows(study, codebook_of(study).tables["mentions"], EVERYBODY) == 2


def test_every_reading_names_its_answer_and_says_whether_it_counts(study: Study) -> None:
    readings = rows_of(study, "readings")
    assert len({row["answer"] for row in readings}) == len(readings)
    assert {row["answer"] for row in rows_of(study, "mentions")} == {row["answer"] for row in readings if row["items"]}
    left_out = {row["source"]: row["answer"] for row in readings if not row["counted"]}
    (excluded,) = {row["participant"] for row in readings if row["excluded"]}
    assert excluded in {row["participant"] for row in readings if not row["counted"]}
    assert left_out.keys() == {"field", "offline"}  # a person excluded or unfinished; the repeated run
    (item,) = [row for row in readings if row["benchmark"]]
    assert (item["benchmark_item"], item["letter"], item["correct"], item["kind"]) == ("sums/1", "B", True, "choice")


def test_simulated_pilot_and_withdrawn_people_are_left_out_as_elsewhere(study: Study) -> None:
    people = list(Participant.objects.filter(study=study).order_by("pk"))
    Participant.objects.filter(pk=people[0].pk).update(origin="simulated")
    Participant.objects.filter(pk=people[1].pk).update(pilot=True)
    Participant.objects.filter(pk=people[2].pk).update(origin="preview")
    for table in ("readings", "mentions"):
        names = {row["participant"] for row in rows_of(study, table, simulated=False)}
        assert not names & {person.pseudonym for person in people[:3]}
        everybody = {row["participant"] for row in rows_of(study, table, pilot=True, preview=True)}
        assert {people[0].pseudonym, people[1].pseudonym, people[2].pseudonym} <= everybody
    recruitment.withdraw(people[4])
    assert people[4].pseudonym not in str(rows_of(study, "readings", pilot=True, preview=True))


def test_scripted_models_are_left_out_with_simulated_people(study: Study) -> None:
    run = make_model_run(study, model="scripted", provider="fake")
    reply(run, "teas", listed(["Assam", "Mate"]))
    read_new(study)
    for table in ("readings", "mentions", "runs", "completions"):
        made_up = {row["run"] for row in rows_of(study, table) if row["simulated"]}
        assert made_up == {run.pk}
        assert run.pk not in {row["run"] for row in rows_of(study, table, simulated=False)}


def correct(study: Study, text: str, slug: str = "teas", **said: Any) -> str:
    """Add a person who says this about the reading; return their pseudonym."""
    person = make_participant(study)
    make_response(person, slug, text=text, reply=ReadReply(of=mark_of(text), **said))
    read_new(study)
    return person.pseudonym


def test_read_backs_say_what_was_read_and_what_the_person_made_of_it() -> None:
    study = make_study(places=20, slug="others")
    whose = correct(study, FIVE, out=("Assam",), added=("Chai",))
    chose = correct(study, "B", "water", letter="C")
    rows = {row["participant"]: row for row in rows_of(study, "read_backs")}
    lists, choice = rows[whose], rows[chose]
    assert [lists[name] for name in ("verdict", "names_read", "taken_out", "added", "absent", "newest")] == [
        *("corrected", 5, 1, 1, 1, True)
    ]
    assert (choice["read_letter"], choice["letter"], choice["names_read"]) == ("B", "C", 0)
    names = {row["name"]: row for row in rows_of(study, "read_back_names")}
    assert [name for name, row in names.items() if row["read"]] == ["Assam", "Sencha", "Rooibos", "Mate", "Oolong"]
    assert (names["Assam"]["stands"], names["Chai"]["stands"], names["Chai"]["in_text"]) == (False, True, False)
    read = {row["participant"]: row for row in rows_of(study, "readings")}
    assert (read[whose]["read_by"], read[whose]["doubt"], read[chose]["letter"]) == ("participant", "added-name", "C")
    assert [row["item"] for row in rows_of(study, "mentions")] == ["sencha", "rooibos", "mate", "oolong", "chai"]


def test_decision_is_found_by_the_answer_that_it_is_about(study: Study) -> None:
    lists = answers_of(study).filter(prompt_slug="teas")
    for answer in (lists.filter(response=None).last(), lists.exclude(response=None).first()):
        decide(study, answer.pk, "ada", seen=0, names=["Mate"])
    decided = {row["answer"] for row in rows_of(study, "readings") if row["read_by"] == "researcher"}
    assert {row["answer"] for row in rows_of(study, "answer_decisions")} == decided and len(decided) == 2


def test_counts_on_the_page_follow_what_comes_and_goes(study: Study) -> None:
    tables = codebook_of(study).tables
    seen = []

    def look() -> None:
        for chosen in (Selection(), EVERYBODY, Selection(simulated=False)):
            counts, left = count_tables(study, tables, chosen)
            assert counts == {name: count_rows(study, table, chosen) for name, table in tables.items()}
            assert left == unread(study)
        seen.append((counts, left))

    look()
    person = tell(study, ["Assam", "Yunnan", "Sencha"])  # read at once
    other = make_participant(study)
    look()
    assert not make_response(other, "teas", text=listed(["Ceylon"])).accepted
    look()
    make_response(other, "teas", text=listed(["Ceylon"]), keep=True)
    look()
    read_new(study)
    look()
    accept(study, "teas", ["yunnan"], "sencha", "tests")
    look()
    correct(study, FIVE, out=("Oolong",))
    look()
    recruitment.withdraw(person)
    look()
    assert all(before != after for before, after in itertools.pairwise(seen))


def test_statements_do_not_grow_with_the_rows(study: Study) -> None:
    tables = codebook_of(study).tables

    def statements() -> int:
        with CaptureQueriesContext(connection) as seen:
            for name in (*ANSWER_TABLES, *MODEL_TABLES):
                list(stream_rows(study, tables[name], EVERYBODY))
                count_rows(study, tables[name], EVERYBODY)
        return len(seen)

    before = statements()
    for _ in range(8):
        tell(study, ["Assam", "Yunnan"])
        correct(study, FIVE, out=("Mate", "Oolong"))
    read_new(study)
    assert statements() == before
