"""The report of a dozen answers, with every number worked out by hand."""

from math import log2
from typing import Any

import pytest

from analysis.answers.aliases import accept
from analysis.answers.readings import read_new
from analysis.report.samples import correct_over_prompts
from analysis.stats.intervals import holm
from analysis.stats.item_measures import MEASURES
from surveys.models import Study
from tests.analysis.report.report_samples import make_model_run, one, reply, rows_of

pytestmark = pytest.mark.django_db


def test_heterogeneity_of_field_and_offline(study: Study) -> None:
    field = one(study, "heterogeneity", source="field")
    # Assam 3, Sencha 2, Oolong 1 of C = 6 mentions; the fourth person's text names nothing.
    assert (field["prompt"], field["model"], field["n"], field["unknown"]) == ("teas", "chatgpt", 4, 1)
    assert (field["unique"], field["top5_coverage"]) == (3, 1)
    assert field["entropy_bits"] == pytest.approx(log2(2) / 2 + log2(3) / 3 + log2(6) / 6)
    named = [(item["item"], item["name"], item["count"], item["share"]) for item in field["top_items"]]
    assert named == [("assam", "Assam", 3, 0.75), ("sencha", "Sencha", 2, 0.5), ("oolong", "Oolong", 1, 0.25)]
    offline = one(study, "heterogeneity", source="offline")
    assert (offline["model"], offline["n"], offline["unique"], offline["entropy_bits"]) == ("gpt-4o-mini", 6, 2, 1)


def test_a_source_is_rarefied_to_the_smaller_of_itself_and_the_field_and_compared_there(study: Study) -> None:
    offline, field = (one(study, "heterogeneity", source=source) for source in ("offline", "field"))
    beside = offline["rarefied"].pop("field")
    assert {name: beside[name] for name in MEASURES} == {name: field[name] for name in MEASURES}  # of all four people
    # Any four of six equal answers name the same two items.
    assert [offline["rarefied"][name] for name in ("n", "unique", "top5_coverage", "entropy_bits")] == [4, 2, 1, 1]
    against = offline["against_field"]
    assert against["unique"]["effect"] == 1
    assert against["entropy_bits"]["effect"] == pytest.approx(log2(3) / 3 + log2(6) / 6 - 0.5)
    tests = [against[name] for name in MEASURES]  # all of the page: one of each measure of this prompt
    assert [test["p_holm"] for test in tests] == pytest.approx(holm([test["p_tail"] for test in tests]))


def test_chances_are_corrected_over_all_tests_of_a_page() -> None:
    chances = (("mini", 0.01, 0.002), ("mini", 0.04, 0.04), ("flash", 0.03, 0.03), ("flash", 0.5, 0.5))
    rows: list[dict[str, Any]] = [{"model": model, "p": p, "p_tail": tail} for model, p, tail in chances]
    correct_over_prompts(rows, lambda row: row)
    # All four: .002 times four, but no less than its p by draws; .03 times three; .04 twice, but no less than that.
    assert [row["p_holm"] for row in rows] == pytest.approx([0.01, 0.09, 0.09, 0.5])
    correct_over_prompts(rows, lambda row: row, tables=2)
    assert [row["p_holm"] for row in rows] == pytest.approx([0.016, 0.18, 0.18, 1])


def test_distance_of_offline_from_the_field(study: Study) -> None:
    row = one(study, "distances")
    # p = (1/2, 1/3, 1/6), q = (1/2, 1/2, 0), their middle (1/2, 5/12, 1/12).
    middle = 1 / 2 + 5 / 12 * log2(12 / 5) + log2(12) / 12
    field = 1 / 2 + log2(3) / 3 + log2(6) / 6
    assert row["jsd_bits"] == pytest.approx(middle - (field + 1) / 2)
    assert row["tv"] == pytest.approx(1 / 6)
    assert (row["source"], row["model"], row["chatbot"]) == ("offline", "gpt-4o-mini", "chatgpt")


def test_choices_with_unknown_ones_counted_as_wrong(study: Study) -> None:
    field = one(study, "choices", source="field")
    assert field["counts"] == {"A": 1, "B": 0, "C": 2, "unknown": 1}
    assert (field["correct"], field["correct_share"], field["bounds"]) == ("C", 0.5, [0.5, 0.75])
    assert field["entropy_bits"] == pytest.approx(log2(3) / 3 + 2 / 3 * log2(3 / 2))
    offline = one(study, "choices", source="offline")
    assert offline["correct_share"] == pytest.approx(5 / 6)
    assert offline["against_field"]["correct_share"]["effect"] == pytest.approx(0.5 - 5 / 6)
    # Shares (A, C, unknown) are 1/4, 1/2, 1/4 and 0, 5/6, 1/6.
    assert offline["against_field"]["tv"]["effect"] == pytest.approx((1 / 4 + 1 / 3 + 1 / 12) / 2)


def test_items_side_by_side(study: Study) -> None:
    rows = rows_of(study, "items")
    shares = {(row["source"], row["item"]): row["share"] for row in rows}
    assert shares["field", "oolong"] == 0.25
    assert shares["offline", "oolong"] == 0
    assert [row["item"] for row in rows if row["source"] == "field"] == ["assam", "sencha", "oolong"]


def test_an_alias_makes_two_spellings_one_item(study: Study) -> None:
    accept(study, "teas", ["oolong"], "sencha", "tests")
    field = one(study, "heterogeneity", source="field")
    assert [(item["item"], item["count"]) for item in field["top_items"]] == [("assam", 3), ("sencha", 3)]
    assert field["entropy_bits"] == 1


def test_an_alias_never_makes_a_response_name_an_item_twice(study: Study) -> None:
    accept(study, "teas", ["sencha"], "assam", "tests")
    offline = one(study, "heterogeneity", source="offline")
    assert [(item["item"], item["count"], item["share"]) for item in offline["top_items"]] == [("assam", 6, 1)]


def test_undefined_values_say_why(study: Study) -> None:
    silent = make_model_run(study, "sp-profile")
    reply(silent, "teas", "No.")
    reply(silent, "water", "No.")
    read_new(study)
    row = one(study, "heterogeneity", source="sp-profile")
    assert (row["unique"], row["entropy_bits"], row["why"]) == (0, None, "No response names an item.")
    choice = one(study, "choices", source="sp-profile")
    assert (choice["entropy_bits"], choice["why"]) == (None, "No response names an option.")
    distance = one(study, "distances", source="sp-profile")
    assert (distance["jsd_bits"], distance["p"]) == (None, None)
    assert distance["why"] == "One of the two sources names no item."
