"""Calibration, drift, variants, scores, groups, costs and precision, on answers that can be counted by hand."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.charts.figure import Options
from analysis.models import Run, SimulatedUser
from analysis.report.filters import Filters
from analysis.report.parts import PARTS
from analysis.report.parts.calibration import Placed, distance_row, draw_calibration, mark_nearest
from analysis.report.reports import report
from analysis.runs.imports import import_completions
from analysis.stats import heterogeneity
from analysis.stats.intervals import ALIKE, FEW_UNITS, ONE_UNIT
from analysis.stats.resampling import ItemSample
from surveys.models import Study
from surveys.studies.imports.responses import import_responses
from tests.analysis.report.report_samples import (
    FEW,
    NOTHING,
    listed,
    make_model_run,
    make_teas,
    one,
    reply,
    rows_of,
    tell,
)
from tests.analysis.stats.sample_factories import draw_clustered, draw_items
from tests.factories import make_definition, make_participant, make_response, make_study
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db


# --- calibration


FIELD_TEAS = (("Assam", "Sencha"), ("Assam", "Oolong"), ("Assam", "Sencha"), ("Chai", "Oolong"))
OTHER_TEAS = (("Matcha", "Sencha"), ("Matcha", "Rooibos"))


def make_puppets() -> Study:
    """20 people; sock puppets with histories of 10 conversations answer as they do, those with 100 do not."""
    study = make_teas(places=40, slug="puppets")
    for number in range(16):
        tell(study, FIELD_TEAS[number % 4])
    add_puppet(study, "sp-history", 10, 20, FIELD_TEAS)
    add_puppet(study, "sp-history", 100, 20, OTHER_TEAS)
    return study


lasting_puppets = lasting_world(make_puppets)


@pytest.fixture
def puppets(lasting_puppets: int) -> Study:
    return Study.objects.select_related("current").get(pk=lasting_puppets)


def add_puppet(study: Study, condition: str, size: int, users: int, teas: Sequence[Sequence[str]]) -> None:
    run = make_model_run(study, condition, history_size=size)
    for index in range(users):
        user = SimulatedUser.objects.create(run=run, index=index)
        reply(run, "teas", listed(teas[index % len(teas)]), user=user)


def test_the_nearest_sock_puppet_is_found_among_all_history_sizes(puppets: Study) -> None:
    rows = {row["history_size"]: row for row in rows_of(puppets, "calibration", source="sp-history")}
    assert (rows[10]["nearest"], rows[10]["nearest_for"], rows[10]["prompts"]) == (True, ["teas"], 1)
    assert (rows[100]["nearest"], rows[100]["nearest_for"]) == (False, [])
    assert rows[10]["not_told_apart"] == rows[100]["not_told_apart"] == []
    # The mean over one prompt is that prompt's value.
    assert rows[10]["jsd_bits"] == rows[10]["by_prompt"][0]["jsd_bits"] < rows[100]["jsd_bits"]
    assert rows[10]["jsd_excess"] == pytest.approx(rows[10]["jsd_bits"] - rows[10]["by_prompt"][0]["chance"])
    assert rows[10]["ci"][0] < rows[10]["jsd_excess"] < rows[10]["ci"][1] < rows[100]["ci"][0]
    assert (rows[10]["unit"], rows[10]["units"]) == ("simulated user", 20)


def test_sock_puppets_of_one_kind_are_not_told_apart_and_named(puppets: Study) -> None:
    add_puppet(puppets, "sp-rag", 10, 24, FIELD_TEAS)
    rows = {(row["source"], row["history_size"]): row for row in rows_of(puppets, "calibration")}
    of_history, of_rag, other = rows["sp-history", 10], rows["sp-rag", 10], rows["sp-history", 100]
    assert not any(row["nearest"] or row["nearest_for"] for row in rows.values())
    assert of_history["not_told_apart"] == ["sp-rag"]
    assert of_rag["not_told_apart"] == of_rag["by_prompt"][0]["not_told_apart"] == ["sp-history, 10 conversations"]
    assert other["not_told_apart"] == []
    found = draw_calibration(report(puppets, draws=FEW, parts=["calibration"]), Options())
    assert "Not told apart for gpt-4o-mini: SP-RAG; SP-History, 10 conversations." in found.alt
    assert "Not told apart for gpt-4o-mini: SP-RAG; SP-History, 10 conversations." in found.caption
    assert not any(point["nearest"] for point in found.spec["datasets"]["rows"])


def test_a_small_sock_puppet_takes_no_part_and_changes_no_other_row(puppets: Study) -> None:
    before = rows_of(puppets, "calibration")
    add_puppet(puppets, "sp-rag", 10, 5, FIELD_TEAS)
    after = {(row["source"], row["history_size"]): row for row in rows_of(puppets, "calibration")}
    small = after.pop(("sp-rag", 10))
    assert list(after.values()) == before
    assert (small["nearest"], small["not_told_apart"]) == (False, [])
    assert small["why_nearest"] == "Below 20 people, or 20 simulated users or repeats, nothing is called the nearest."


def test_a_small_sock_puppet_that_answered_more_prompts_changes_no_other_row() -> None:
    rng = np.random.default_rng(1)
    field = {prompt: draw_items(rng, 100) for prompt in ("teas", "films", "towns")}
    # Its 400 answers come from only ten users.
    placed = {
        name: place(name, field, {prompt: draw_items(rng, 100, steepness=steep) for prompt in ("teas", "films")})
        for name, steep in (("sp-history", 1.0), ("sp-rag", -1.0))
    }
    placed["sp-profile"] = place("sp-profile", field, {prompt: draw_clustered(rng, 10, 40) for prompt in field})
    mark_nearest([list(placed.values())])
    assert {name: one.row["nearest"] for name, one in placed.items() if not one.row.get("why_nearest")} == {
        "sp-history": True,
        "sp-rag": False,
    }
    assert placed["sp-profile"].row["why_nearest"].startswith("Below 20 people")


def place(name: str, field: Mapping[str, ItemSample], answers: Mapping[str, ItemSample]) -> Placed:
    found = {
        prompt: heterogeneity.compare(field[prompt], sample, np.random.default_rng(1), FEW)
        for prompt, sample in answers.items()
    }
    mean = heterogeneity.mean_excess(list(found.values()))
    return Placed({"source": name, "by_prompt": [], "nearest_for": [], **distance_row(mean)}, found)


TEAS = [
    first + second for first in ("Bal", "Kor", "Min", "Tes", "Ruv") for second in ("ina", "opo", "ela", "usk", "ido")
]


def draw_teas(dice: Random, n: int, steepness: float = 1.0) -> list[str]:
    """n answers of up to three teas; the higher the steepness, the more often they name the first ones."""
    weights = [place**-steepness for place in range(1, len(TEAS) + 1)]
    return [listed(list(dict.fromkeys(dice.choices(TEAS, weights, k=9)))[:3]) for _ in range(n)]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_forty_answers_of_the_fields_kind_do_not_lose_to_four_hundred_of_another(tmp_path: Path) -> None:
    """Through import and report: SP-RAG answers as the field does, SP-History slightly differently."""
    study, dice = make_study(places=20, slug="others"), Random(3)
    people = ((f"p{k}", "chatgpt", "teas", text) for k, text in enumerate(draw_teas(dice, 200)))
    header = ("participant", "chatbot", "prompt", "text")
    import_responses(study, write_csv(tmp_path / "people.csv", header, people), "tests")
    sources = {"sp-rag": draw_teas(dice, 40), "sp-history": draw_teas(dice, 400, steepness=1.5)}
    calls = ((source, "gpt-4o-mini", "teas", text) for source, texts in sources.items() for text in texts)
    header = ("source", "model", "prompt", "text")
    import_completions(study, write_csv(tmp_path / "calls.csv", header, calls), "tests")
    right, other = (one(study, "calibration", source=source) for source in sources)
    assert right["jsd_bits"] > other["jsd_bits"]  # by distance alone the larger sample would be the nearest
    assert right["jsd_excess"] < other["jsd_excess"]
    assert not other["nearest"] and (right["nearest"] or right["not_told_apart"] == ["sp-history"])
    low, high = right["ci"]
    assert low < 0 < high and other["ci"][0] > 0


def test_one_sock_puppet_alone_is_not_the_nearest(puppets: Study) -> None:
    puppets.runs.get(history_size=100).delete()
    assert not one(puppets, "calibration", source="sp-history")["nearest"]


def test_offline_has_a_row_but_is_no_sock_puppet(puppets: Study) -> None:
    offline = one(puppets, "calibration", source="offline")
    assert (offline["nearest"], offline["prompts"]) == (False, 1)


def test_other_parts_show_the_longest_history_and_a_filter_another_one(puppets: Study) -> None:
    assert one(puppets, "heterogeneity", source="sp-history")["history_size"] == 100
    assert one(puppets, "heterogeneity", Filters(history_size=(10,)), source="sp-history")["history_size"] == 10


# --- drift


def test_drift_compares_a_repetition_with_its_first_run_alone(study: Study) -> None:
    first = study.runs.get()
    again = make_model_run(study, first_run=first, began_at=timezone.now() + timedelta(days=7))
    for repeat in range(6):
        reply(again, "teas", listed(["Assam", "Oolong"]), repeat)
        reply(again, "water", "A", repeat)
    items, choice = rows_of(study, "drift")
    assert (items["first"], items["again"], items["n_first"], items["n"]) == (first.pk, again.pk, 6, 6)
    assert items["date"] > items["first_date"]
    # Shares (1/2, 1/2, 0) and (1/2, 0, 1/2): half of the mentions moved.
    assert (items["tv"], items["jsd_bits"]) == (0.5, 0.5)
    assert (choice["correct_share_first"], choice["correct_share"]) == (pytest.approx(5 / 6), 0)
    assert choice["effect"] == pytest.approx(-5 / 6)
    # Repetitions are no further draws of the offline source.
    assert one(study, "heterogeneity", source="offline")["n"] == 6


def test_drift_of_the_same_simulated_users_is_over_their_changes(study: Study) -> None:
    runs = [make_model_run(study, "sp-history", history_size=10, seed=5)]
    runs.append(
        make_model_run(study, "sp-history", history_size=10, seed=5, first_run=runs[0], began_at=timezone.now())
    )
    for day, run in enumerate(runs):
        for index in range(6):
            user = SimulatedUser.objects.create(run=run, index=index)
            for repeat in range(4):
                reply(run, "water", "C" if repeat + index % 2 * day < index % 4 else "A", repeat, user=user)
    (row,) = rows_of(study, "drift", kind="choice")
    # Users 0 … 5 are right 0, 1, 2, 3, 0, 1 times of 4, those of odd number once less on the other day.
    assert (row["unit"], row["units"], row["effect"]) == ("simulated user", 6, -0.125)
    sd = 0.125 * (6 / 5) ** 0.5
    assert row["ci"] == pytest.approx([-0.125 - 2.5706 * sd / 6**0.5, -0.125 + 2.5706 * sd / 6**0.5], abs=1e-4)


# --- variants


def with_variants(state: str = "draft", **changes: Any) -> Study:
    """The study with a variant of both prompts, full of typos."""
    teas, water = make_definition().prompts
    typos = {"variant": "typos", "title": "With typos"}
    variants = (
        replace(teas, slug="teas-typos", variant_of="teas", text="Recomend five tees.", **typos),
        replace(water, slug="water-typos", variant_of="water", question="How hot shud it be?", **typos),
    )
    return make_study(state, prompts=(teas, water, *variants), slug="others", **changes)


def test_variants_are_compared_with_their_original_pair_by_pair() -> None:
    study = with_variants()
    run = make_model_run(study)
    for repeat, (before, after) in enumerate((("C", "C"), ("C", "A"), ("A", "A"), ("C", NOTHING))):
        reply(run, "water", before, repeat)
        reply(run, "water-typos", after, repeat)
    reply(run, "water", "C", 4)  # without a partner
    row = one(study, "variants", kind="choice")
    assert (row["prompt"], row["variant_prompt"], row["variant"]) == ("water", "water-typos", "typos")
    assert (row["pairs"], row["n_original"], row["n"]) == (4, 5, 4)
    # Right before: three of four; after: one of four. One of three pairs with two letters has changed.
    assert (row["correct_share_original"], row["correct_share"], row["effect"]) == (0.75, 0.25, -0.5)
    assert row["changed"] == pytest.approx(1 / 3)


def test_variants_of_a_list_share_the_originals_items() -> None:
    study = with_variants()
    run = make_model_run(study)
    reply(run, "teas", listed(["Assam", "Sencha"]))
    reply(run, "teas-typos", listed(["Sencha", "Assam"]))
    row = one(study, "variants", kind="recommendation")
    assert (row["jsd_bits"], row["tv"]) == (0, 0)


def test_what_the_same_person_names_in_a_list_and_its_variant_is_no_second_sample() -> None:
    study = with_variants("live", places=20)
    for number in range(8):
        person = make_participant(study)
        for prompt in ("teas", "teas-typos"):
            make_response(person, prompt, text=listed(TEAS[2 * number : 2 * number + 2]), keep=True)
    (row,) = rows_of(study, "variants", Filters(people="all"), source="field", model="chatgpt")
    # Everybody names their own teas both times, whoever is drawn and however the two are permuted.
    assert (row["n"], row["unit"], row["units"], row["jsd_bits"]) == (8, "person", 8, 0)
    assert row["chance"] == pytest.approx(0, abs=1e-6)
    assert (row["ci"], row["ci_why"], row["p"]) == (None, ALIKE, 1)


# --- scores


def test_rank_correlation_over_prompts_needs_three_of_them(study: Study) -> None:
    row = one(study, "scores", measure="entropy_bits", over="prompts")
    assert (row["n"], row["spearman"]) == (1, None)
    assert row["why"] == "A rank correlation needs at least three pairs."


def test_prompts_that_are_varied_offline_and_in_the_field_correlate() -> None:
    teas, water = make_definition().prompts
    lists = tuple(replace(teas, slug=f"teas-{number}", title=f"Teas {number}") for number in range(3))
    study = make_study(prompts=(*lists, water), slug="others")
    varied = (["Assam"] * 3, ["Assam", "Sencha", "Assam"], ["Assam", "Sencha", "Oolong"])
    run = make_model_run(study)
    people = [make_participant(study) for _ in range(3)]
    for number, teas_named in enumerate(varied):
        for repeat, tea in enumerate(teas_named):
            reply(run, f"teas-{number}", listed([tea, "Chai"]), repeat)
            make_response(people[repeat], f"teas-{number}", text=listed([tea, "Chai"]), keep=True)
    row = one(study, "scores", Filters(people="all"), measure="unique", over="prompts")
    # Two, three and four distinct teas on both sides.
    assert (row["n"], row["spearman"], row["kendall"]) == (3, 1, 1)
    assert row["ci_spearman_why"] == row["ci_kendall_why"] == FEW_UNITS


def test_labels_on_a_scale_are_right_within_a_step() -> None:
    teas, water = make_definition().prompts
    scale = replace(water, choices=("1 – cold", "2 – warm", "3 – hot"), answer="C")
    study = make_study(places=20, prompts=(teas, scale), slug="others")
    for letter in ("C", "B", "A", ""):
        tell(study, ["Assam", "Chai"], letter)
    row = one(study, "scores", measure="accuracy_within_1")
    assert (row["n"], row["unknown"], row["exact"], row["within_1"]) == (4, 1, 0.25, 0.5)
    assert "ci_why" not in row
    reply(make_model_run(study), "water", "B")
    alone = one(study, "scores", measure="accuracy_within_1", source="offline")
    assert alone["ci_why"] == alone["ci_exact_why"] == ONE_UNIT


def test_without_a_scale_it_says_why(study: Study) -> None:
    row = one(study, "scores", measure="accuracy_within_1")
    assert (row["n"], row["within_1"]) == (0, None)
    assert row["why"] == "No choice prompt of this study has options that are rising numbers."


# --- groups of people


def test_cells_are_rarefied_to_the_smallest_and_compared_with_the_rest() -> None:
    study = make_study(places=20, slug="others")
    for teas in (["Assam", "Sencha"], ["Assam", "Sencha"], ["Assam", "Sencha"]):
        tell(study, teas, "C", cell="milky")
    for teas in (["Oolong", "Matcha"], ["Rooibos", "Chai"]):
        tell(study, teas, "A", cell="plain")
    rows = {row["cell"]: row for row in rows_of(study, "cells", kind="recommendation")}
    assert {cell: (row["name"], row["n"], row["unique"]) for cell, row in rows.items()} == {
        "milky": ("With milk", 3, 2), "plain": ("Without milk", 2, 4)
    }  # fmt: skip
    assert [rows[cell]["rarefied"]["n"] for cell in rows] == [2, 2]
    assert rows["plain"]["against_rest"]["unique"]["effect"] == 2
    assert rows["milky"]["against_rest"]["unique"]["effect"] == -2
    p = [rows[cell]["against_rest"]["unique"]["p"] for cell in rows]
    assert p[0] == p[1]  # two groups: one test
    choices = {row["cell"]: row["correct_share"] for row in rows_of(study, "cells", kind="choice")}
    assert choices == {"milky": 1, "plain": 0}


def test_contexts_leave_out_values_of_very_few_people() -> None:
    study = make_study(places=20, slug="others")
    for number in range(6):
        tell(study, ["Assam", "Chai"], memory="on" if number else "off", model_shown="GPT-4o")
    rows = rows_of(study, "contexts", kind="recommendation")
    assert [(row["context"], row["value"], row["n"]) for row in rows] == [
        ("memory", "on", 5), ("personalisation", "off", 6), ("plan", "free", 6), ("model_shown", "GPT-4o", 6),
        ("device", "computer", 6),
    ]  # fmt: skip


# --- costs and waiting


def test_costs_and_waiting_times_by_source(study: Study) -> None:
    run = study.runs.get()
    study.runs.get().completions.all().delete()
    used = {"prompt_tokens": 100, "completion_tokens": 10, "cost": Decimal("0.002")}
    for repeat, wait in enumerate((1000, 2000, 3000)):
        reply(run, "teas", listed(["Assam", "Chai"]), repeat, latency_ms=wait, **used)
    reply(run, "teas", "", 3, status="failed", cost=Decimal("0.001"))
    row = one(study, "costs")
    assert (row["source"], row["model"], row["benchmark"]) == ("offline", "gpt-4o-mini", None)
    assert (row["completions"], row["failed"], row["prompt_tokens"], row["completion_tokens"]) == (3, 1, 300, 30)
    assert (row["usd"], row["usd_per_1000"]) == (0.007, pytest.approx(1000 * 0.007 / 3))
    assert (row["latency_s"]["p50"], row["latency_s"]["n"]) == (2, 3)
    (waits,) = rows_of(study, "latency")
    assert (waits["prompt"], waits["p50"], waits["n"]) == ("teas", 2, 3)


def test_tokens_and_times_that_nobody_counted_are_undefined(study: Study) -> None:
    row = one(study, "costs")
    assert (row["prompt_tokens"], row["usd"], row["latency_s"]["p50"]) == (None, 0, None)
    assert row["latency_s"]["why"] == "Answers of a batch, and imported ones, have no waiting time."


# --- precision


def test_intervals_get_narrower_with_more_answers(study: Study) -> None:
    rows = rows_of(study, "precision", measure="correct_share")
    assert [row["planned_n"] for row in rows] == [50, 100, 200, 400, 800]
    widths = [row["width"] for row in rows]
    assert widths == sorted(widths, reverse=True)
    assert rows[0]["n"] == 4
    # A share of one half with n = 400 is known to about ± 1.96 × 0.5 / 20.
    assert widths[3] == pytest.approx(2 * 1.96 * 0.5 / 20, rel=0.1)


@pytest.mark.parametrize(
    ("n", "measure", "said"),
    [
        (5, "entropy_bits", "Fewer than 20 people have answered"),
        (10, "entropy_bits", "No chatbot has answers of 20 people"),
        (20, "correct_share", "no entropy of a list can be judged yet"),
        (20, "entropy_bits", "about 0.50 bits wide, by"),
    ],
)
def test_precision_says_which_answers_it_lacks(n: int, measure: str, said: str) -> None:
    row = {"prompt": "teas", "n": n, "units": n, "measure": measure, "planned_n": 400, "width": 0.5}
    assert said in PARTS["precision"].say({"precision": [row | {"model": model} for model in ("chatgpt", "gemini")]})


# --- sources


def test_an_imported_offline_source_stands_beside_our_own(study: Study) -> None:
    named = {"imported_source": "offline", "imported_model": "gpt-4o-mini", "temperature": None, "created_by": "tests"}
    imported = Run.objects.create(study=study, version=study.current, condition="imported", **named)
    reply(imported, "teas", listed(["Matcha", "Chai"]))
    read_new(study)
    sources = report(study, draws=FEW, parts=[])["sources"]
    assert [(row["source"], row["imported"], row["answers"], row["main"]) for row in sources] == [
        ("offline", False, 12, True), ("offline", True, 1, False)
    ]  # fmt: skip


def test_a_model_of_no_chatbot_is_compared_with_everybody() -> None:
    study = make_study(places=20, slug="others")
    tell(study, ["Assam", "Chai"], chatbot="chatgpt")
    tell(study, ["Assam", "Sencha"], chatbot="gemini")
    reply(make_model_run(study, model="smollm2-135m"), "teas", listed(["Assam", "Chai"]))
    rows = rows_of(study, "heterogeneity")
    assert [(row["source"], row["model"], row["n"]) for row in rows] == [
        ("field", "chatgpt", 1), ("field", "gemini", 1), ("field", "all", 2), ("offline", "smollm2-135m", 1)
    ]  # fmt: skip
    assert rows[-1]["chatbot"] is None
    assert one(study, "distances")["n_field"] == 2
