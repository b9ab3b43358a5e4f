"""From annotations to coefficients: published numbers from real labels, and values by pencil from few."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.agreement import agreements
from analysis.agreement.agreements import agreement_of, rows_for
from analysis.agreement.annotations import WITHOUT, LabelChoice, gather, scale_of
from analysis.agreement.tables import label_columns, make_coefficients, say_intervals, say_items, summarise_agreement
from surveys.annotation.label_imports import import_annotations
from surveys.annotation.labels import LabelSubmission, submit
from surveys.annotation.work import next_tasks, open_task, seal_task
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import KINDS, LabelQuestion
from surveys.studies.files.kinds import LabelOption as Option
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import annotate_all
from tests.analysis.runs.baseline_factories import real_data
from tests.factories import annotate, make_annotation_study, make_annotator, make_items, tasks_of

pytestmark = pytest.mark.django_db


def write_rows(path: Path, rows: Sequence[Sequence[Any]], header: Sequence[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def import_rows(path: Path, rows: list[list[Any]], header: tuple[str, ...] = ("item", "annotator", "label")) -> Study:
    write_rows(path, rows, header)
    import_annotations("labels", path, "tests")
    return Study.objects.select_related("current").get(slug="labels")


def label_all(study: Study, origin: str = "prolific", **labels: str) -> str:
    """One new annotator labels every available item; returns the pseudonym."""
    annotator = make_annotator(study, origin=origin)
    for task in tasks_of(annotator):
        annotate(annotator, task, **labels)
    return annotator.pseudonym


def test_pandalm_gives_the_published_kappas(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in real_data("annotations/pandalm_testset_v1.jsonl").read_text().splitlines()]
    labels = [[f"pair-{n}", f"person-{a}", row[f"annotator{a}"]] for n, row in enumerate(rows) for a in (1, 2, 3)]
    (question,) = agreement_of(import_rows(tmp_path / "labels.csv", labels), draws=50)["questions"]
    kappas = {(pair["a"], pair["b"]): round(pair["kappa"], 4) for pair in question["pairs"]}
    assert kappas == {
        ("person-1", "person-2"): 0.8520,
        ("person-1", "person-3"): 0.8789,
        ("person-2", "person-3"): 0.8617,
    }
    assert question["majority"] == {"0": 105, "1": 422, "2": 472, "tie": 0}
    assert (question["items"], question["annotators"], question["labels"]) == (999, 3, 2997)


def test_people_and_judges_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_annotation_study(overlap=2)
    make_items(study, 4)
    one, other = label_all(study), label_all(study, relevance="no")
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, "mini same-1", {"relevance": "yes"})
    (question,) = agreement_of(study, draws=20, threshold=1)["questions"]
    raters = {row["rater"]: row["is_model"] for row in question["raters"]}
    assert raters == {one: False, other: False, "mini same-1": True}
    # People disagree on all four items, so there is no majority; the judge always agrees with one of them.
    assert question["majority"] == {"no": 0, "yes": 0, "tie": 4}
    assert question["raw"] == 0
    assert question["groups"]["all"]["raw"] == pytest.approx(1 / 3)
    call_command("agreement", study.slug, draws=20)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["raw", "0.000"] in [line[:2] for line in lines[lines.index(["of", "people", "alone,", "n", "=", "4:"]) :]]


def test_labels_can_be_left_out_by_how_they_came_to_be() -> None:
    study = make_annotation_study(kind="preference", overlap=1)
    make_items(study, 4)
    someone = make_annotator(study)
    seen = {"ends": {"A": 900, "B": 1000}, "untrusted": 0, "automated": False}
    traces = [seen, seen | {"ends": {"A": 900}}, seen | {"automated": True}, {}]
    for trace, active_ms in zip(traces, (10, 60_000, 60_000, 60_000), strict=True):
        (task,) = next_tasks(someone)
        shown = open_task(someone, seal_task(someone, task))
        labels = {"preference/milk": "4", "preference/budget": "2"}
        submit(someone, shown, LabelSubmission(labels, active_ms=active_ms, trace=trace))

    def left(without: str) -> int:
        (question,) = agreement_of(study, LabelChoice(without=without), draws=20)["questions"]
        return question["labels"] // 2

    assert {name: left(name) for name in ("", *WITHOUT)} == {"": 4, "unread": 3, "quick": 3, "driven": 3, "any": 1}
    (row,) = agreement_of(study, draws=20)["times"]
    assert (row["timed"], row["quick"]) == (3, 1)


def test_made_up_raters_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_annotation_study(overlap=2)
    make_items(study, 4)
    made_up = label_all(study, origin="simulated")
    label_all(study)
    for item in AnnotationItem.objects.filter(study=study):
        record_judgement(item, "scripted same-1", {"relevance": "yes"}, detail={"provider": "fake"})
        record_judgement(item, "mini same-1", {"relevance": "yes"}, detail={"provider": "openai"})
    assert agreement_of(study, draws=20)["simulated"] == sorted([made_up, "scripted same-1"])
    assert agreement_of(study, LabelChoice(simulated=False), draws=20)["simulated"] == ["scripted same-1"]
    call_command("agreement", study.slug, draws=20)
    assert f"Simulated, not real: 2 of the raters ({', '.join(sorted([made_up, 'scripted same-1']))})" in (
        capsys.readouterr().out
    )


def test_preferences_are_turned_back_and_sides_counted_as_shown(tmp_path: Path) -> None:
    study = make_annotation_study(kind="preference", overlap=1)
    make_items(study, 4)
    label_all(study, preference__milk="1", preference__budget="3")
    (asked,) = gather(study)
    lefts = {row.item: row.left for row in asked.rows if row.part == "milk"}
    values = {row.item: row.value for row in asked.rows if row.part == "milk"}
    assert {item: "5" if left == "personalised" else "1" for item, left in lefts.items()} == values
    (question,) = agreement_of(study, draws=20)["questions"]
    everybody, person = (question["sides"]["left"][name] for name in ("all", asked.raters[0]))
    assert (everybody["value"], everybody["n"], everybody["unit"], everybody["units"]) == (1, 4, "rater", 1)
    assert (person["value"], person["n"], person["unit"], person["units"]) == (1, 4, "item", 4)
    assert everybody["ci"] is None and person["ci"][1] == 1
    assert question["sides"]["neither"] == 4
    for item in AnnotationItem.objects.filter(study=study):  # to a trained model sides mean nothing
        record_judgement(
            item, "trained taste 1", {"preference/milk": "5", "preference/budget": "5"}, left="personalised"
        )
    for item in AnnotationItem.objects.filter(study=study):  # nor do people and models of a file say any
        rows = [(item.key, name, "preference/milk", "1", name == "gpt") for name in ("Ann", "gpt")]
        write_rows(tmp_path / "more.csv", rows, ("item", "annotator", "question", "label", "is_model"))
        import_annotations(study.slug, tmp_path / "more.csv", "tests")
    again = agreement_of(study, draws=20)["questions"][0]
    assert len(again["raters"]) == 4 and again["sides"] == question["sides"]
    assert question["sides"]["interval"] == {"kind": "wilson", "unit": "item"}


@pytest.mark.parametrize(
    ("cluster", "drawn", "units", "of"),
    [("", "items", 4, "labelled parts of 4 items"), ("Cleo", "users", 1, "labelled parts of items about 1 user")],
)
def test_parts_of_an_item_are_drawn_together(cluster: str, drawn: str, units: int, of: str) -> None:
    study = make_annotation_study(kind="preference", overlap=2)
    make_items(study, 4, cluster=cluster)
    label_all(study)
    label_all(study, preference__milk="1", preference__budget="2")
    (question,) = agreement_of(study, draws=20)["questions"]
    assert (question["items"], question["drawn"], question["units"]) == (8, drawn, units)
    assert question["interval"] == {"kind": "jackknife", "unit": drawn.removesuffix("s"), "shares": "wilson"}
    for row in (question, *question["pairs"], *question["raters"]):
        assert (row["unit"], row["units"]) == (drawn.removesuffix("s"), units)
    (found,) = rows_for(study, draws=20)["questions"]
    assert f"n\u00a0=\u00a08 {of})" in summarise_agreement(found)  # no n that passes for independent
    assert say_items(found) == "8 labelled parts of " + ("items" if cluster else "4 items")
    of_parts = "(each with all that was asked about it: answers about one item are not independent)"
    assert (of_parts in say_intervals(found, 0)) is not bool(cluster)


def test_items_that_one_rater_labelled_are_no_parts_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [[f"i{n}", who, "yes" if n % 2 else "no"] for who, most in (("a", 8), ("b", 4)) for n in range(most)]
    study = import_rows(tmp_path / "labels.csv", rows)
    (found,) = rows_for(study, draws=20)["questions"]
    few = "95 % intervals: 4 items, each left out once, by Student’s t: with so few they are wide"
    assert (say_items(found), say_intervals(found, 0)) == ("8 items", few)
    call_command("agreement", "labels", draws=20)
    printed = capsys.readouterr().out
    assert "12 labels by 2 raters on 8 items\n  compared, n\u00a0=\u00a04:" in printed
    assert "by corpus\n    none named: 8 items" in printed


def test_command_says_of_people_how_many_users_they_were_compared_on(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_annotation_study(kind="attribute", overlap=1)
    items = make_items(study, 8)
    label_all(study)
    for item in items:
        record_judgement(item, "mini", {"quality": "yes"})
    call_command("agreement", "teas", draws=20)
    printed = capsys.readouterr().out
    assert "16 labels by 2 raters on 8 items\n  of people alone, n\u00a0=\u00a00:" in printed


def test_an_item_about_nobody_stands_for_itself_beside_those_of_users(tmp_path: Path) -> None:
    header = ("item", "annotator", "label", "cluster")
    rows = [[f"i{n}", who, "yes", "" if n == 4 else f"u{n % 2}"] for n in range(5) for who in "ab"]
    (question,) = agreement_of(import_rows(tmp_path / "labels.csv", rows, header), draws=5)["questions"]
    assert (question["unit"], question["units"]) == ("user", 3)


def test_a_judge_in_two_orders_is_one_rater_with_a_position_bias() -> None:
    study = make_annotation_study(kind="preference")
    (item,) = make_items(study, 1)
    # Milk: the left one both times, so 2 and 4 and between them 3. Budget: 3 and then 4 for the personalised one.
    for left, budget in (("generic", "3"), ("personalised", "2")):
        record_judgement(item, "mini", {"preference/milk": "2", "preference/budget": budget}, left=left)
    record_judgement(item, "maxi", {"preference/milk": "5", "preference/budget": "5"}, left="generic")
    (asked,) = gather(study)
    assert asked.raters == ("mini", "maxi")
    assert {(row.rater, row.part): row.value for row in asked.rows} == {
        **{("mini", "milk"): "3", ("mini", "budget"): "3", ("maxi", "milk"): "5", ("maxi", "budget"): "5"}
    }
    (question,) = agreement_of(study, draws=5)["questions"]
    (orders,) = question["orders"]
    assert (orders["rater"], orders["pairs"], orders["units"], orders["unit"]) == ("mini", 2, 1, "item")
    assert [orders[name]["value"] for name in ("consistent", "left", "right", "mixed")] == [0, 0.5, 0, 0.5]
    assert question["groups"]["models"]["mean_pairwise"]["why"]  # one pair, which shares too few items


def test_retrieval_is_no_judge(tmp_path: Path) -> None:
    """Two judges and two baselines: agreement of judges is between the two judges alone."""
    header = ("item", "annotator", "label", "is_model")
    rows = [
        [f"i{n}", rater, "yes" if said else "no", "false" if rater == "ann" else "true"]
        for n in range(40)
        for rater, said in (
            *(("ann", n % 2), ("judge a", n % 2), ("judge b", n % 2 or n == 4)),
            *(("bm25", n < 20), ("embeddings MiniLM", n < 30)),
        )
    ]
    (question,) = agreement_of(import_rows(tmp_path / "labels.csv", rows, header), draws=20)["questions"]
    kinds = {row["rater"]: row["kind"] for row in question["raters"]}
    assert kinds == {
        **{"ann": "person", "judge a": "judge", "judge b": "judge"},
        **{"bm25": "baseline", "embeddings MiniLM": "baseline"},
    }
    means = {name: group["mean_pairwise"]["kappa"] for name, group in question["groups"].items()}
    assert means["models"] == pytest.approx(0.95, abs=0.01)
    assert means["across"] > 0.9 and abs(means["baselines"]) < 0.05


def test_baselines_stand_beside_people_where_no_judge_labels(tmp_path: Path) -> None:
    header = ("item", "annotator", "label", "is_model")
    said = {"ann": lambda n: n % 2, "ben": lambda n: n % 2 or n == 4, "bm25": lambda n: n < 20}
    rows = [
        [f"i{n}", rater, "yes" if says(n) else "no", str(rater == "bm25").lower()]
        for n in range(40)
        for rater, says in said.items()
    ]
    (question,) = rows_for(import_rows(tmp_path / "labels.csv", rows, header), draws=20)["questions"]
    assert label_columns(question) == [("People", 40), ("People with baselines", None)]
    people, baselines = dict(make_coefficients(question))["Mean Cohen’s κ"]
    assert people.value > 0.9 and abs(baselines.value) < 0.05


def test_what_is_not_supported_is_positive_and_maybe_counts_both_ways() -> None:
    study = make_annotation_study(kind="attribute", overlap=3)
    made = make_items(study, 4)
    said = dict(zip([item.key for item in made], ("no", "maybe", "yes", "yes"), strict=True))
    for _ in range(3):
        annotate_all(make_annotator(study), "quality", said)
    for item, label in zip(made, ("no", "no", "no", "yes"), strict=True):
        record_judgement(item, "mini", {"quality": label})
    quality = agreement_of(study, draws=20)["questions"][0]
    judge = next(row for row in quality["raters"] if row["rater"] == "mini")
    # It says no three times, people once, and both about the first item.
    assert quality["positive"] == "no"
    assert list(quality["maybe"]) == ["nominal", "ordinal", "maybe_is_no", "maybe_is_yes"]
    assert (judge["precision"], judge["recall"]) == (pytest.approx(1 / 3), 1)
    found = {
        name: next(row for row in quality["maybe"][name]["raters"] if row["rater"] == "mini")["precision"]
        for name in ("maybe_is_no", "maybe_is_yes")
    }
    assert found == {"maybe_is_no": pytest.approx(2 / 3), "maybe_is_yes": pytest.approx(1 / 3)}


def test_labels_of_a_leading_instruction_and_of_a_degenerate_threshold_are_marked() -> None:
    study = make_annotation_study()
    (item,) = make_items(study, 1)
    record_judgement(item, "mini optimised-1", {"relevance": "yes"}, detail={"prompt": "optimised-1"})
    record_judgement(item, "mini optimised-2", {"relevance": "yes"}, detail={"prompt": "optimised-2"})
    record_judgement(item, "bm25", {"relevance": "yes"}, detail={"degenerate": True})
    (question,) = agreement_of(study, draws=5)["questions"]
    marks = {row["rater"]: row["marks"] for row in question["raters"]}
    assert marks == {"mini optimised-1": ["leading"], "mini optimised-2": [], "bm25": ["degenerate"]}


def test_only_labels_that_count_mark_their_rater() -> None:
    study = make_annotation_study()
    (item,) = make_items(study, 1)
    record_judgement(item, "bm25", {"relevance": "yes"}, detail={"degenerate": True})
    record_judgement(item, "bm25", {"relevance": "no"}, detail={"degenerate": False})
    (question,) = agreement_of(study, draws=5)["questions"]
    assert [row["marks"] for row in question["raters"]] == [[]]


def test_choices_narrow_what_is_compared(tmp_path: Path) -> None:
    header = ("item", "annotator", "label", "corpus", "cluster")
    rows = [[f"i{n}", who, "yes", "real" if n < 3 else "synthetic", f"u{n % 2}"] for n in range(5) for who in "ab"]
    study = import_rows(tmp_path / "labels.csv", rows, header)

    def count(**choice: Any) -> int:
        return agreement_of(study, LabelChoice(**choice), draws=5)["questions"][0]["labels"]

    assert [count(), count(corpus="real"), count(cluster="u1"), count(pilot=True)] == [10, 6, 4, 0]
    shares = agreement_of(study, draws=5)["questions"][0]["by_corpus"]
    assert [(row["corpus"], row["n"], row["shares"]["yes"]) for row in shares] == [("real", 6, 1), ("synthetic", 4, 1)]


def test_numbers_are_kept_until_a_label_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_annotation_study(overlap=3)
    make_items(study, 2)
    label_all(study)
    calls: list[int] = []
    measured = agreements.measure
    monkeypatch.setattr(agreements, "measure", lambda *given: calls.append(1) or measured(*given))
    assert agreement_of(study, draws=5) == agreement_of(study, draws=5)
    label_all(study, relevance="no")
    agreement_of(study, draws=5)
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("values", "numbers", "ordered"),
    [
        (("1", "2", "3"), (1, 2, 3), True),
        (("a", "b"), None, False),
        (("2", "1"), None, False),
        (("nan", "1"), None, False),
    ],
)
def test_labels_that_are_numbers_stand_for_them(values: tuple, numbers: Any, ordered: bool) -> None:
    scale = scale_of(LabelQuestion("q", "q", tuple(Option(value, value) for value in values)))
    assert (scale.numbers, scale.ordered) == (numbers, ordered)


def test_an_ordinal_question_of_words_has_an_order() -> None:
    assert scale_of(KINDS["attribute"].main).ordered


def test_command_prints_json_or_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_rows(tmp_path / "labels.csv", [[f"i{n}", who, "yes" if n else "no"] for n in range(25) for who in "ab"])
    call_command("agreement", "labels", json=True, draws=20)
    assert json.loads(capsys.readouterr().out)["questions"][0]["raw"] == 1
    call_command("agreement", "labels", draws=20)
    printed = capsys.readouterr().out
    assert "50 labels by 2 raters on 25 items" in printed
    assert "a – b: κ 1.000" in printed
    assert "majority: no 1, yes 24, tie 0" in printed


def test_command_writes_shares_and_their_intervals_in_percent_and_says_of_how_many_users(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [[f"i{n}", who, "yes" if n else "no", "real", f"u{n % 2}"] for n in range(25) for who in "ab"]
    import_rows(tmp_path / "labels.csv", rows, ("item", "annotator", "label", "corpus", "cluster"))
    call_command("agreement", "labels", draws=20)
    printed = capsys.readouterr().out
    assert "50 labels by 2 raters on 25 items about 2 users" in printed
    assert re.search(r"u0: 13 items, .*, yes 92\.3 % \[\d+\.\d %, \d+\.\d %\]\n", printed)


def test_a_study_without_labels_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    make_annotation_study()
    call_command("agreement", "teas")
    assert "Nobody has given a label yet." in capsys.readouterr().out


@pytest.mark.parametrize(("given", "words"), [({"study": "coffees"}, "no study coffees"), ({"draws": 0}, "1 or more")])
def test_command_says_what_is_wrong(given: dict[str, Any], words: str) -> None:
    make_annotation_study()
    options = {"study": "teas"} | given
    with pytest.raises(CommandError, match=words):
        call_command("agreement", options.pop("study"), **options)
