"""Differences from the field over several prompts, of single items, of entropies and of questions with choices."""

from statistics import mean

import pytest

from analysis.report.filters import Filters
from analysis.report.reports import report
from analysis.stats.intervals import share_difference
from analysis.stats.item_measures import MEASURES
from benchmarks import report_world
from tests.analysis.report.compare_samples import make_compared

pytestmark = pytest.mark.django_db
FEW = 50
PARTS = ("heterogeneity", "items", "choices", "calibration")


def test_differences_from_the_field_are_those_of_the_rows() -> None:
    """Offline answers are less varied than people's in all recommendations, and more often right."""
    found = report(report_world.make_world(48, 24), Filters(source=("field", "offline")), draws=FEW, parts=PARTS)
    rows = [row for row in found["heterogeneity"] if row["source"] == "offline"]
    for model in {row["model"] for row in rows}:
        of_model = [row for row in rows if row["model"] == model]
        pooled = of_model[0]["pooled"]
        assert all(row["pooled"] == pooled for row in of_model) and pooled["prompts"] == len(of_model) > 1
        for measure in MEASURES:
            assert pooled["effects"][measure]["effect"] == pytest.approx(
                mean(row["against_field"][measure]["effect"] for row in of_model)
            )
        entropy = pooled["effects"]["entropy_bits"]
        assert 0 < entropy["ci"][0] < entropy["effect"] < entropy["ci"][1] and entropy["p"] <= entropy["p_holm"] < 0.05
        assert entropy["ci"][1] - entropy["ci"][0] < min(
            row["against_field"]["entropy_bits"]["ci"][1] - row["against_field"]["entropy_bits"]["ci"][0]
            for row in of_model
        )

    of_field = {(row["prompt"], row["model"], row["item"]): row for row in found["items"] if row["source"] == "field"}
    offline = [row for row in found["items"] if row["source"] == "offline"]
    assert offline and not any("difference" in row for row in of_field.values())
    chatbot_of = {row["model"]: row["chatbot"] for row in found["calibration"]}
    for row in offline:
        people = of_field[row["prompt"], chatbot_of[row["model"]], row["item"]]
        assert row["difference"] == pytest.approx(people["share"] - row["share"])
        ends = share_difference(people["share"], people["ci"], row["share"], row["ci"])
        assert row["ci_difference"] == pytest.approx(ends)

    questions = [row for row in found["choices"] if row["source"] == "offline"]
    assert questions
    for row in questions:
        letters, entropy = row["against_field"]["new_letters"], row["against_field"]["entropy_bits"]
        assert letters["ci_chance"][0] <= letters["chance"] < letters["ci_chance"][1] + 0.05  # whole letters
        assert entropy["ci"] is None or entropy["ci"][0] < entropy["effect"] < entropy["ci"][1]
        assert entropy["p"] <= entropy["p_holm"]
    for row in found["calibration"]:
        choices = row["choices"]
        assert choices["prompts"] == len({row["prompt"] for row in questions})
        assert choices["jsd_excess"] == pytest.approx(choices["jsd_bits"] - choices["chance"])
        assert choices["ci"][0] < choices["jsd_excess"] < choices["ci"][1]


def test_with_four_people_items_have_no_differences() -> None:
    found = report(make_compared(), draws=FEW, parts=["items", "heterogeneity"])
    assert len(found["items"]) > 2 and not any("difference" in row for row in found["items"])
    # With one prompt there is nothing to pool.
    assert not any("pooled" in row for row in found["heterogeneity"])
