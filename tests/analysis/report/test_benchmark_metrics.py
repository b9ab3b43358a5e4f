"""Benchmark runs in the report: by hand on four questions, and on ten real models' answers to a hundred."""

import csv
import io
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.charts.figure import Options
from analysis.models import Completion, ReplyScore, Run, SimulatedUser, TrainedModel
from analysis.models.training import hash_reply
from analysis.report.filters import Filters
from analysis.report.outputs import tables_of
from analysis.report.questions.benchmark_letters import run_label
from analysis.report.questions.benchmarks import draw_benchmarks
from analysis.report.questions.together import BEST
from analysis.report.reports import report
from analysis.runs.imports import import_completions
from surveys.models import BenchmarkItem, Study
from surveys.studies.files.definitions import read_study
from surveys.studies.files.schema import Reference
from surveys.studies.imports.benchmarks import import_benchmark
from tests.analysis.report.report_samples import FEW, answer_items, make_model_run, rows_of
from tests.analysis.runs.baseline_factories import make_call, make_item, real_data
from tests.factories import make_account, make_study

pytestmark = pytest.mark.django_db


def benchmark_rows(study: Study, filters: Filters | None = None, **wanted: Any) -> list[dict[str, Any]]:
    return rows_of(study, "benchmarks", filters, **wanted)


@pytest.mark.parametrize(
    ("imported", "user", "repeat", "runs", "label"),
    [
        ("", -1, 0, 1, "repeat 0"),
        ("", -1, 1, 2, "run 7, repeat 1"),
        ("", 2, 0, 1, "user 2"),
        ("", 2, 1, 1, "user 2, repeat 1"),
        ("theirs", -1, 0, 2, "theirs"),
        ("theirs", -1, 1, 2, "theirs, repeat 1"),
    ],
)
def test_a_benchmark_run_is_named_by_what_tells_it_apart(
    imported: str, user: int, repeat: int, runs: int, label: str
) -> None:
    assert run_label(Run(pk=7, imported_run=imported), user, repeat, runs) == label


def make_sums(*letters: str, **changes: Any) -> tuple[Study, Run]:
    """A study of four sums, each with the answer B, and an offline run of them with the letters of each repeat."""
    study = make_study("draft", **changes)
    for number in range(1, 5):
        make_item(number)
    offline = make_model_run(study, benchmark="sums")
    for repeat, said in enumerate(letters):
        answer_items(offline, said, repeat)
    return study, offline


def add_users(study: Study, *letters: str, repeats: int = 1, **changes: Any) -> None:
    """Add a run of sock puppets with the letters of each simulated user, the same in each repeat."""
    run = make_model_run(study, benchmark="sums", **{"condition": "sp-history", "history_size": 10} | changes)
    for index, said in enumerate(letters):
        user = SimulatedUser.objects.create(run=run, index=index)
        for repeat in range(repeats):
            answer_items(run, said, repeat, user)


def test_accuracy_of_each_run_and_over_runs() -> None:
    study, _ = make_sums("BBBB", "BBBA", "BB-x")
    (row,) = benchmark_rows(study)
    assert (row["benchmark"], row["source"], row["model"]) == ("sums", "offline", "gpt-4o-mini")
    assert (row["temperature"], row["questions"], row["incomplete"]) == (1, 4, 0)
    # Four right, three right, and two right with two unknown: the failed call is no answer either.
    assert [run["accuracy"] for run in row["runs"]] == [1, 0.75, 0.5]
    assert row["runs"][2] == {"run": "repeat 2", "accuracy": 0.5, "low": 0.5, "high": 1, "unknown": 0.5}
    assert (row["min"], row["max"], row["mean"], row["sd"]) == (0.5, 1, 0.75, 0.25)
    # Two of twelve answers are unknown: the mean would be 11/12 if they were right.
    assert (row["unknown"], row["unknown_answers"]) == (pytest.approx(2 / 12), 2)
    assert row["bounds"] == [0.75, pytest.approx(11 / 12)]


def test_puppets_beside_offline_runs() -> None:
    study, _ = make_sums("BBBB", "BBBA", "BBBA")
    add_users(study, "BCAA", "BC-A")
    offline_row, row = benchmark_rows(study)
    assert [run["run"] for run in row["runs"]] == ["user 0", "user 1"]
    # C on question 2 and A on question 3 were never given offline; A on question 4 was.
    assert row["novel_share"] == 0.5
    assert (row["novel_runs"], row["novel_reference"]) == (1, 2)
    assert (row["offline_mean"], row["mean"]) == (pytest.approx(2.5 / 3), 0.25)
    assert (row["overlaps_offline"], offline_row["overlaps_offline"]) == (False, None)
    floor = row["noise_floor"]
    assert (floor["runs"], floor["of"]) == (2, "3 offline runs at temperature 1")
    assert 0 <= floor["ci"][0] <= floor["range"] <= floor["ci"][1] <= 1


def test_offline_runs_at_another_temperature_are_compared_and_no_reference() -> None:
    study, _ = make_sums()
    answer_items(make_model_run(study, benchmark="sums", temperature=0), "BBBB")
    (row,) = [row for row in benchmark_rows(study) if row["runs"]]
    assert (row["temperature"], row["novel_share"], row["offline_mean"]) == (0, None, None)
    assert row["why_offline"] == "There is no offline run at temperature 1 on these questions."


def test_offline_runs_of_unknown_temperature_are_second_choice_and_named() -> None:
    study, offline = make_sums()
    imported = make_model_run(study, benchmark="sums", temperature=None)
    for repeat, letters in enumerate(("BBBB", "BBBA")):
        answer_items(imported, letters, repeat)
    of_unknown = benchmark_rows(study, temperature=None)[0]
    assert of_unknown["noise_floor"]["of"] == "2 offline runs at an unknown temperature"
    answer_items(offline, "BBBB")
    of_unknown = benchmark_rows(study, temperature=None)[0]
    assert of_unknown["noise_floor"]["of"] == "1 offline run at temperature 1"


@pytest.mark.parametrize("query", ["source=sp-history", "temperature=0.5", "history_size=10&source=sp-history"])
def test_offline_runs_that_a_filter_hides_are_still_what_others_are_compared_with(query: str) -> None:
    study, _ = make_sums("BBBB", "BBBA")
    add_users(study, "BCAA", temperature=0.5)
    (row,) = benchmark_rows(study, Filters.from_query(QueryDict(query)))
    assert (row["source"], row["novel_share"], row["offline_mean"]) == ("sp-history", 0.5, 0.875)


def test_runs_that_were_asked_in_another_order_are_compared_question_by_question() -> None:
    study = make_study("draft")
    for number, answer in enumerate("ABCD", 1):
        make_item(number, answer=answer)
    offline = make_model_run(study, benchmark="sums")
    for item in BenchmarkItem.objects.order_by("-pk"):
        call = make_call(offline, item)
        Completion.objects.filter(pk=call.pk).update(status="done", reply=item.answer, done_at=timezone.now())
    add_users(study, "ABCA")
    offline_row, row = benchmark_rows(study)
    # All right offline; the puppet's last answer is wrong, and the only one that is new.
    assert (offline_row["mean"], offline_row["offline_mean"], row["offline_mean"]) == (1, 1, 1)
    assert (row["mean"], row["novel_share"]) == (0.75, 0.25)


def test_runs_without_an_answer_to_every_question_are_left_out_and_counted() -> None:
    study, _ = make_sums("BBBB", "BBB.")
    (row,) = benchmark_rows(study)
    assert (len(row["runs"]), row["incomplete"]) == (1, 1)
    assert (row["mean"], row["sd"], row["why"]) == (1, None, "One run alone has no spread.")


def test_no_complete_run_is_a_row_that_says_so() -> None:
    study, _ = make_sums("BBB.")
    (row,) = benchmark_rows(study)
    assert (row["runs"], row["mean"], row["incomplete"]) == ([], None, 1)
    assert row["why"] == "No run has an answer to every question yet."


def test_temperatures_are_rows_of_their_own_and_lines_of_a_leaderboard_stand_beside() -> None:
    line = Reference(benchmark="sums", name="Abacus", accuracy=0.9, source="made up")
    study, _ = make_sums("BBBB", references=(line,))
    answer_items(make_model_run(study, benchmark="sums", temperature=0.0), "BBBA")
    rows = benchmark_rows(study)
    assert [(row["temperature"], row["mean"]) for row in rows] == [(0, 0.75), (1, 1)]
    assert rows[0]["references"] == [{"name": "Abacus", "accuracy": 0.9, "to_top": 0, "source": "made up"}]


@pytest.mark.parametrize(("of_study", "of_run"), [("mmlu", "mmlu-514"), ("mmlu-514", "mmlu"), ("mmlu-9", "mmlu-514")])
def test_a_benchmark_and_its_subsets_share_the_lines_of_a_leaderboard(of_study: str, of_run: str) -> None:
    named = (("First", 0.809), ("Second", 0.803), ("Fifth", 0.772))
    lines = [Reference(benchmark=of_study, name=name, accuracy=score, source="made up") for name, score in named]
    study = make_study("draft", references=tuple(lines))
    make_item(1, benchmark=of_run)
    answer_items(make_model_run(study, benchmark=of_run), "B")
    (row,) = benchmark_rows(study)
    assert [line["to_top"] for line in row["references"]] == [0, -0.006, -0.037]
    assert "why_references" not in row


def test_references_that_fit_no_benchmark_are_told() -> None:
    line = Reference(benchmark="mmlu", name="Abacus", accuracy=0.9, source="made up")
    study, _ = make_sums("BBBB", references=(line,))
    (row,) = benchmark_rows(study)
    assert row["references"] == []
    assert row["why_references"] == "The study's references are scores on mmlu: none fits sums."
    whole = report(study, draws=FEW, parts=["benchmarks"])
    assert row["why_references"] in draw_benchmarks(whole, Options()).caption
    ((_, table),) = tables_of(whole, ["benchmarks"])
    assert row["why_references"] in table.reasons


def test_range_beside_offline_runs_is_that_on_the_questions_of_both() -> None:
    study = make_study("draft")
    for number in range(1, 4):
        make_item(number)
    offline = make_model_run(study, benchmark="sums")
    for repeat, letters in enumerate(("BBB", "BBA")):
        answer_items(offline, letters, repeat)
    make_item(4)
    add_users(study, "BAAB", "BBAA")
    (row,) = benchmark_rows(study, source="sp-history")
    assert (row["questions"], row["shared_questions"], row["min"], row["max"]) == (4, 3, 0.5, 0.5)
    assert (row["shared_min"], row["shared_max"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_runs_are_compared_with_offline_runs_that_were_asked_in_the_same_form() -> None:
    study, _ = make_sums("BBBB", "BBBA")
    for form in ("helm", "bare"):
        add_users(study, "BBAA", language="en", prompt_form=form)
    found = {row["settings"]: row for row in benchmark_rows(study, source="sp-history")}
    helm, bare = found["helm, histories in en"], found["bare, histories in en"]
    assert helm["overlaps_offline"] is False and helm["novel_share"] == 0.25
    assert (helm["offline"]["settings"], helm["offline_runs"]) == ("helm", 2)
    assert (bare["overlaps_offline"], bare["novel_share"], bare["offline"]) == (None, None, None)
    assert bare["why_offline"] == "No offline run at temperature 1 was asked these questions in the same form."


@pytest.mark.parametrize("known", ["offline", "sp-history"])
def test_a_form_that_is_not_known_of_one_side_does_not_keep_runs_apart(known: str) -> None:
    study = make_study("draft")
    for number in range(1, 5):
        make_item(number)
    for condition, letters in (("offline", "BBBB"), ("sp-history", "BBAA")):
        run = make_model_run(study, condition, benchmark="sums")
        answer_items(run, letters)
        if condition != known:
            of_file = {"condition": "imported", "imported_source": condition, "imported_model": run.model}
            Run.objects.filter(pk=run.pk).update(endpoint=None, history_size=None, **of_file)
    (row,) = benchmark_rows(study, source="sp-history")
    assert (row["overlaps_offline"], row["novel_share"]) == (False, 0.5)


def test_repeats_of_a_simulated_user_are_one_unit_in_any_run_of_the_same_seed() -> None:
    study, _ = make_sums()
    for _ in range(2):
        add_users(study, "BAAA", "BBBB", "BBBB", repeats=2, seed=5)
    (row,) = benchmark_rows(study, source="sp-history")
    assert (len(row["runs"]), row["unit"], row["units"]) == (12, "simulated user", 3)
    # Users score 1/4, 1 and 1: mean 3/4, sd √3/4, t = 4.303 at two degrees of freedom.
    assert row["ci"] == [0, 1]
    low, high = row["ci_questions"]
    assert 0 < low < row["mean"] < high < 1


def test_runs_after_what_a_whole_corpus_has_nearest_are_units_themselves() -> None:
    study, _ = make_sums()
    add_users(study, "BAAA", "BBBB", repeats=2, condition="sp-rag")
    (row,) = benchmark_rows(study, source="sp-rag")
    assert (len(row["runs"]), row["unit"], row["units"]) == (4, "repeat", 4)


def test_runs_that_score_alike_have_an_interval_over_questions_only() -> None:
    study, _ = make_sums(*["BBBA"] * 3)
    (row,) = benchmark_rows(study)
    assert (row["unit"], row["units"], row["ci"]) == ("repeat", 3, None)
    assert row["ci_why"].startswith("All runs score alike")
    low, high = row["ci_questions"]
    assert low < 0.75 < high
    assert (row["unanimous"], row["distinct_letters"], row["ci_distinct"]) == (1, 1, None)


def test_novel_letters_stand_beside_what_as_many_offline_runs_give() -> None:
    """Two halves of one set: all letters are equally likely, so a quarter of the questions have a new one."""
    study = make_study("draft")
    dice = Random(1)
    for number in range(1, 41):
        make_item(number)
    offline = make_model_run(study, benchmark="sums")
    for repeat in range(6):
        answer_items(offline, "".join(dice.choices("ABCD", k=40)), repeat)
    add_users(study, *("".join(dice.choices("ABCD", k=40)) for _ in range(6)))
    (row,) = benchmark_rows(study, source="sp-history")
    assert row["novel_share"] > 0.3
    assert (row["novel_runs"], row["novel_reference"]) == (3, 3)
    low, high = row["novel_excess_ci"]
    assert low < 0 < high and abs(row["novel_excess"]) < 0.1 < row["novel_chance"]


def test_benchmark_runs_of_no_study_are_in_the_reports_of_those_they_are_shared_with() -> None:
    study, offline = make_sums()
    Run.objects.filter(pk=offline.pk).update(study=None, version=None)
    answer_items(offline, "BBBB")
    offline.shared_with.clear()
    assert not list(benchmark_rows(study))
    offline.shared_with.add(study)
    (row,) = benchmark_rows(study)
    assert row["mean"] == 1


# --- real answers


def chemistry(path: Path, by_model: bool) -> Path:
    """Write the HELM answers as an import file, with each model as a model or as a run of one model."""
    rows = [json.loads(line) for line in real_data("model_answers/helm_mmlu_college_chemistry.jsonl").open()]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "model", "run", "prompt", "text"])
        for row in rows:
            names = (row["model"], "helm") if by_model else ("ten models", row["model"])
            writer.writerow(["helm-lite", *names, row["question_id"], row["completion"]])
    return path


def import_chemistry(path: Path, by_model: bool) -> Study:
    study = make_study("draft")
    import_benchmark("mmlu", real_data("mmlu/helm_lite_514.jsonl"), "tests")
    import_completions(study, chemistry(path, by_model), "tests", "mmlu")
    return study


def test_ten_real_models_as_ten_runs(tmp_path: Path) -> None:
    (row,) = benchmark_rows(import_chemistry(tmp_path / "helm.csv", by_model=False))
    assert (row["source"], row["questions"], len(row["runs"]), row["incomplete"]) == ("helm-lite", 100, 10, 0)
    assert (row["min"], row["max"], row["unknown_answers"]) == (0.47, 0.61, 36)
    assert row["entropy_bits"] == pytest.approx(0.7507, abs=1e-4)


def test_ten_real_models_as_ten_models(tmp_path: Path) -> None:
    rows = benchmark_rows(import_chemistry(tmp_path / "helm.csv", by_model=True))
    scores = sorted(row["mean"] for row in rows)
    assert (len(rows), scores[0], scores[-1]) == (10, 0.47, 0.61)
    assert sum(row["unknown_answers"] for row in rows) == 36


def test_ranks_among_published_scores_by_questions_and_by_subjects() -> None:
    lines = [("top", "0.9"), ("middle", "0.7"), ("low", "0.3")]
    references = tuple(Reference("sums", name, float(score), "a paper") for name, score in lines)
    study, _ = make_sums("BBBB", "BBBA", "BBAA", references=references)
    BenchmarkItem.objects.filter(item__endswith="4").update(subject="other")
    (row,) = benchmark_rows(study)
    by_question, by_subject = row["ranks"]
    # 1, .75 and .5 have the mean .75, which is below `top` alone.
    assert (by_question["rank"], by_question["best"], by_question["worst"]) == (2, 1, 3)
    assert (by_question["pairs"], by_question["flips"]) == (9, pytest.approx(2 / 9))
    assert by_question["ci_flips"][0] < 2 / 9 < by_question["ci_flips"][1]
    # The fourth question is a subject by itself: 1, (1 + 0)/2, (2/3 + 0)/2.
    assert (by_subject["aggregate"], by_subject["subjects"]) == ("subjects", 2)
    assert by_subject["mean"] == pytest.approx((1 + 0.5 + 1 / 3) / 3)
    assert [one["k"] for one in row["majority"]] == [1, 3]
    assert row["majority"][1]["accuracy"] == 0.75 and row["majority"][0]["accuracy"] == pytest.approx(0.75)
    assert titles_of(study) == ["Benchmark runs", "Rank among published scores", "What most of several runs answer"]


def titles_of(study: Study) -> list[str]:
    return [table.title for _, table in tables_of(report(study, draws=FEW, parts=["benchmarks"]), ["benchmarks"])]


def score_replies(study: Study, likes: Callable[[str], float], name: str = "taste") -> TrainedModel:
    """A reward model of the study that scores every reply by `likes`."""
    given = {"task": "reward", "tier": "frozen", "state": "done", "started_by": "tests", "study": study}
    model, _ = TrainedModel.objects.get_or_create(name=name, defaults=given)
    calls = Completion.objects.filter(item__isnull=False, status="done").values_list(
        "item__question", "item__choices", "reply"
    )
    values = {hash_reply(*said): likes(said[-1]) for said in calls}
    rows = [ReplyScore(model=model, sha256=sha256, value=value) for sha256, value in values.items()]
    ReplyScore.objects.bulk_create(rows, ignore_conflicts=True)
    return model


def test_the_best_of_several_replies_by_a_reward_model() -> None:
    study, _ = make_sums("BBBA", "BAAA", "CC-x")
    assert [row["best_of"] for row in benchmark_rows(study)] == [[]]
    assert BEST.title not in titles_of(study)
    score_replies(study, lambda reply: reply == "B")
    score_replies(study, lambda reply: 0.0, "blind")
    (row,) = benchmark_rows(study)
    found = {(one["by"], one["k"]): one for one in row["best_of"]}
    # Three of four questions have a right reply among three; without a preference it is any of them.
    assert found["taste", 3]["accuracy"] == 0.75 and found["taste", 1]["accuracy"] == pytest.approx(1 / 3)
    # The failed call is never chosen; there, as for other questions, all remaining replies count alike.
    assert found["blind", 3]["accuracy"] == pytest.approx((2 / 3 + 1 / 3 + 1 / 3 + 0) / 4)
    assert found["taste", 3]["gain"] == pytest.approx(0.75 - 1 / 3) and found["taste", 1]["gain"] is None
    drawn = draw_benchmarks(report(study, draws=FEW, parts=["benchmarks"]), Options()).table
    assert [(line["best_of_by"], line["best_of_3"]) for line in drawn] == [("blind", pytest.approx(1 / 3))]
    assert titles_of(study)[-1] == BEST.title


def test_scores_of_some_replies_alone_or_by_models_of_others_give_no_accuracy() -> None:
    study, offline = make_sums("BBBA", "BAAA", "CCCC")
    model = score_replies(study, lambda reply: 1.0)
    TrainedModel.objects.filter(pk=model.pk).update(study=make_study("draft", slug="other"))
    assert [row["best_of"] for row in benchmark_rows(study)] == [[]]
    TrainedModel.objects.filter(pk=model.pk).update(study=study)
    answer_items(offline, "DDDB", 3)
    (row,) = benchmark_rows(study)
    (one,) = row["best_of"]
    assert one["accuracy"] is None
    assert one["why"] == "taste has not scored 4 of 16 replies yet; predict --replies does."
    score_replies(study, lambda reply: 1.0)
    assert [one["k"] for one in benchmark_rows(study)[0]["best_of"]] == [1, 3]


def test_the_most_variable_questions_go_into_a_study_file(tmp_path: Path) -> None:
    study, _ = make_sums("BBBA", "BBAB", "BCAA", "BABB", "BBAA", "BBAB")
    read_new(study)
    rows = [row for row in report(study, draws=FEW, parts=["variability"])["variability"] if row["benchmark"]]
    items = list(BenchmarkItem.objects.order_by("pk").values_list("item", flat=True))
    # The second has B four times, A and C once; the fourth three of each, the third four and two, the first one letter.
    assert [row["item"] for row in rows] == [items[1], items[3], items[2], items[0]]
    assert rows[0]["entropy_bits"] == pytest.approx(1.2516291673878228)
    assert (rows[0]["n"], rows[0]["rank"], rows[0]["among"], rows[0]["taken"]) == (6, 1, 4, False)
    assert rows[0]["ci"][0] < rows[0]["entropy_bits"] < rows[0]["ci"][1] and rows[3]["ci"] is None
    path = tmp_path / "field-13.toml"
    path.write_bytes((settings.BASE_DIR / "surveys" / "studies" / path.name).read_bytes())
    call_command("take_questions", study.slug, most=2, into=path, out=path, stdout=io.StringIO())
    assert [prompt.item for prompt in read_study(path).prompts][-2:] == [items[1], items[3]]
    # Doing it again would ask them twice: one line says so, and the file stays.
    before = path.read_bytes()
    with pytest.raises(CommandError, match=r"^With these questions the study file has .*sums.*") as fault:
        call_command("take_questions", study.slug, most=2, into=path, out=path)
    assert "\n" not in str(fault.value) and path.read_bytes() == before
    # Without a file they are printed as tables to append to any study file.
    printed = io.StringIO()
    call_command("take_questions", study.slug, most=1, json=True, stdout=printed)
    found = json.loads(printed.getvalue())
    assert found["items"] == [items[1]]
    assert [prompt["item"] for prompt in tomllib.loads(found["text"])["prompts"]] == [items[1]]


def test_the_page_saves_questions_where_there_are_some(client: Client) -> None:
    study, offline = make_sums()
    client.force_login(make_account("viewer", study, "viewer"))
    page, saved = (
        reverse("compare:page", args=[study.slug, "benchmarks"]),
        reverse("compare:questions", args=[study.slug]),
    )
    answer_items(offline, "BBBA")
    read_new(study)
    assert saved not in client.get(page).content.decode()
    assert client.get(saved).status_code == 404
    answer_items(offline, "BBAB", repeat=1)
    read_new(study)
    assert saved in client.get(page).content.decode()
    prompts = tomllib.loads(client.get(saved).content.decode())["prompts"]
    assert {prompt["benchmark"] for prompt in prompts} == {"sums"} and len(prompts) == 4
    client.force_login(make_account("stranger", study, ""))
    assert client.get(saved).status_code == 404


def test_without_offline_repeats_no_question_is_taken() -> None:
    study, _ = make_sums("BBBB")
    read_new(study)
    with pytest.raises(CommandError, match="No such benchmark and model have two offline repeats"):
        call_command("take_questions", study.slug)
