"""The tables of annotation: items, every answer of every rater, the votes on each item, and the gate."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analysis.exports.exports import ANNOTATION_TABLES, codebook_of
from analysis.exports.formats import FORMATS
from surveys.annotation.label_imports import import_annotations
from surveys.annotation.labels import skip, take_back
from surveys.annotation.qualification import Verdict, decide_gate
from surveys.annotation.work import next_tasks, open_task, seal_task
from surveys.models import Study
from surveys.studies.labels import record_judgement
from tests.analysis.exports.exported import make_judged, rows_of
from tests.factories import annotate, make_annotation_study, make_annotator, make_items, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_annotation_study()


@pytest.mark.parametrize("pids", [False, True])
def test_rows_have_the_columns_of_the_codebook(pids: bool) -> None:
    study = make_judged()
    pid = study.participants.get().pid
    for table in ANNOTATION_TABLES:
        (row,) = rows_of(study, table, pids=pids)
        assert row["study"] == "judged"
        assert (pid in str(row)) is (pids and table in ("annotations", "gate"))


def test_every_revision_is_a_row_and_the_newest_counts(study: Study) -> None:
    make_items(study, 2, cluster="user-a", tags={"generator": "m"})
    person = make_annotator(study)
    annotate(person, relevance="no")
    take_back(person)
    annotate(person)
    (task,) = next_tasks(person)
    skip(person, open_task(person, seal_task(person, task)), "unclear")
    told = [(r["question"], r["value"], r["state"], r["revision"], r["counted"]) for r in rows_of(study, "annotations")]
    assert told == [
        ("relevance", "no", "given", 1, False),
        ("relevance", "no", "withdrawn", 2, False),
        ("relevance", "yes", "given", 3, True),
        ("", "", "skipped", 1, False),
    ]
    assert [row["reason"] for row in rows_of(study, "annotations")][-1] == "unclear"
    items = rows_of(study, "items")
    assert [(item["item"], item["cluster"], item["tags"]) for item in items] == [
        (f"item-{number}", "user-a", {"generator": "m"}) for number in range(2)
    ]
    assert sorted((item["labelled"], item["wanted"], item["history_sha256"]) for item in items) == [
        (0, 3, None), (1, 3, None)
    ]  # fmt: skip
    assert items[0]["payload"] == {"attribute": "Has 0 cups.", "prompt": "Which tea is best?"}


def test_preference_has_a_row_for_each_part_with_what_was_shown_and_meant() -> None:
    study = make_annotation_study(kind="preference", overlap=2)
    (item,) = make_items(study, 1)
    for _ in range(2):
        annotate(make_annotator(study), preference__milk="5", preference__budget="3")
    record_judgement(item, "gpt", {"preference/milk": "4", "preference/budget": "4"}, left="generic", detail={"t": 0})
    rows = [row for row in rows_of(study, "annotations") if row["part"] == "milk"]
    assert {(row["left"], row["shown_value"], row["value"]) for row in rows if not row["is_model"]} == {
        ("generic", "5", "5"),
        ("personalised", "5", "1"),
    }
    model = next(row for row in rows if row["is_model"])
    assert (model["rater"], model["participant"], model["origin"], model["detail"]) == ("gpt", "", "model", {"t": 0})


def test_votes_are_kept_with_their_shares_and_ties_as_ties(study: Study) -> None:
    (item,) = make_items(study, 1)
    for label in ("yes", "yes", "no"):
        annotate(make_annotator(study), relevance=label)
    record_judgement(item, "gpt", {"relevance": "no"})
    (row,) = rows_of(study, "labels")
    assert (row["people"], row["models"], row["majority"], row["tie"]) == (3, 1, "yes", False)
    assert (row["votes"], row["soft_label"]) == ({"no": 1, "yes": 2}, {"no": 0.3333, "yes": 0.6667})
    tied = make_annotation_study(slug="tied", overlap=2)
    make_items(tied, 1)
    for label in ("yes", "no"):
        annotate(make_annotator(tied), relevance=label)
    (row,) = rows_of(tied, "labels")
    assert (row["majority"], row["tie"], row["soft_label"]) == (None, True, {"no": 0.5, "yes": 0.5})


def test_scripted_judge_is_left_out_with_simulated_people(study: Study) -> None:
    (item,) = make_items(study, 1)
    for judge, provider in (("gpt", "openai"), ("scripted", "fake")):
        record_judgement(item, judge, {"relevance": "no"}, detail={"provider": provider})
    record_judgement(item, "bm25", {"relevance": "yes"})
    for simulated, judges in ((True, ["gpt", "scripted", "bm25"]), (False, ["gpt", "bm25"])):
        assert [row["rater"] for row in rows_of(study, "annotations", simulated=simulated)] == judges
        (label,) = rows_of(study, "labels", simulated=simulated)
        assert label["models"] == len(judges) - 1


def test_judge_in_both_orders_counts_once_and_a_baseline_is_no_judge() -> None:
    study = make_annotation_study(kind="preference")
    (item,) = make_items(study, 1)
    for left in ("generic", "personalised"):
        record_judgement(item, "gpt same-1", {"preference/milk": "4", "preference/budget": "4"}, left=left)
    assert {row["models"] for row in rows_of(study, "labels")} == {1}
    other = make_annotation_study(slug="other")
    (item,) = make_items(other, 1)
    record_judgement(item, "gpt same-1", {"relevance": "no"})
    record_judgement(item, "bm25", {"relevance": "yes"})
    assert [row["models"] for row in rows_of(other, "labels")] == [1]


def test_item_that_only_models_labelled_has_no_majority(study: Study) -> None:
    (item,) = make_items(study, 1)
    record_judgement(item, "gpt", {"relevance": "no"})
    (row,) = rows_of(study, "labels")
    assert (row["people"], row["votes"], row["majority"], row["tie"]) == (0, {}, None, False)


def test_pilot_and_simulated_rows_come_only_when_asked_for() -> None:
    study = make_annotation_study("pilot")
    make_items(study, 1)
    make_items(study, 1, pilot=True)
    annotate(make_annotator(study, origin="simulated"))
    for table in ("annotations", "labels"):
        assert rows_of(study, table) == []
        (row,) = rows_of(study, table, pilot=True)
        assert row["pilot"]
        assert rows_of(study, table, pilot=True, simulated=False) == []
    assert [row["pilot"] for row in rows_of(study, "items", pilot=True)] == [False, True]


def test_verdicts_stand_with_their_decision(study: Study) -> None:
    make_items(study, 1)
    good, bad = make_annotator(study), make_annotator(study)
    annotate(good)
    annotate(bad)
    verdicts = {good.pseudonym: Verdict(True, {"n": 1}), bad.pseudonym: Verdict(False, {"n": 1}, "Too fast.")}
    decide_gate(study, "owner", verdicts, pilot=False, rule="κ", thresholds={"kappa": 0.4}, reason="Pilot.")
    told = {row["participant"]: (row["kept"], row["note"], row["figures"]) for row in rows_of(study, "gate")}
    assert told == {good.pseudonym: (True, "", {"n": 1}), bad.pseudonym: (False, "Too fast.", {"n": 1})}
    assert {(row["decision"], row["rule"], row["decided_by"]) for row in rows_of(study, "gate")} == {(1, "κ", "owner")}


def test_imported_labels_are_exported_under_the_names_of_their_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label,seconds\nt1,ann,1,2.5\nt1,bob,2,\n", encoding="utf-8")
    study, _ = import_annotations("tea-labels", path, "tests")
    told = [
        (row["rater"], row["value"], row["active_seconds"], row["counted"]) for row in rows_of(study, "annotations")
    ]
    assert told == [("ann", "1", 2.5, True), ("bob", "2", None, True)]


def test_command_writes_the_tables_of_annotation_in_every_format_where_there_are_annotators(
    study: Study, tmp_path: Path
) -> None:
    make_items(study, 2)
    annotate(make_annotator(study))
    call_command("export", study.slug, "--out", tmp_path, "--tables", *ANNOTATION_TABLES)
    names = {f"{table}.{kind}" for table in ANNOTATION_TABLES for kind in FORMATS}
    assert names <= {path.name for path in tmp_path.iterdir()}
    assert "item-0" in (tmp_path / "items.csv").read_text(encoding="utf-8")
    other = make_study(slug="others")
    assert not set(ANNOTATION_TABLES) & set(codebook_of(other).tables)
    with pytest.raises(CommandError, match="has no labels: it is not a study of annotators"):
        call_command("export", "others", "--out", tmp_path, "--tables", "labels")
