"""What a report says about the population behind a sample: its entropy, missing answers, another mix."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.answers.readings import read_new
from analysis.charts.figure import Options
from analysis.report.beyond import missing_distance_words, missing_share_words
from analysis.report.parts import FIGURES
from analysis.report.parts.mixes import NO_ANSWER, OF_NO_CHATBOT
from analysis.report.reports import Reporting
from analysis.stats.population import population_entropy
from analysis.stats.resampling import ItemSample
from surveys.models import Response, Study
from tests.analysis.report.figure_rows import make_report
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell
from tests.analysis.report.unpacked import all_agree, recompute, unpack
from tests.factories import make_study
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db


def rows_of(study: Study, part: str, **wanted: Any) -> list[dict[str, Any]]:
    rows = Reporting(study, draws=100).part(part)
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def make_skipped() -> Study:
    """Twelve people, three without an answer to the list and two without one to the question, and twelve calls."""
    study: Study = make_study(places=40, slug="skipped")
    run = make_model_run(study)
    people = [tell(study, ["Assam", f"Tea {number % 4}"], "CCA"[number % 3]) for number in range(12)]
    for number in range(12):
        reply(run, "teas", listed(["Assam", "Sencha"]), number)
        reply(run, "water", "C", number)
    for some, slug in ((people[:3], "teas"), (people[3:5], "water")):
        Response.objects.filter(participant__in=some, prompt__slug=slug).delete()
    read_new(study)
    return study


lasting_skipped, lasting_mixture = lasting_world(make_skipped), lasting_world(lambda: make_mixture())


@pytest.fixture
def skipped(lasting_skipped: int) -> Study:
    return Study.objects.select_related("current").get(pk=lasting_skipped)


@pytest.fixture
def mixture(lasting_mixture: int) -> Study:
    return Study.objects.select_related("current").get(pk=lasting_mixture)


def test_missing_answers_are_counted_and_bounded(skipped: Study) -> None:
    (field,) = rows_of(skipped, "choices", source="field")
    # Ten answers, six of them C, from twelve people.
    assert (field["n"], field["missing"], field["counts"]["C"]) == (10, 2, 6)
    assert field["bounds_missing"] == pytest.approx([6 / 12, 8 / 12])
    (offline,) = rows_of(skipped, "choices", source="offline")
    assert offline["missing"] == 0 and offline["bounds_missing"] is None
    (row,) = rows_of(skipped, "calibration")
    assert row["missing"] == [3, 3] and row["bounds"][0] < row["jsd_bits"] < row["bounds"][1] <= 1
    assert "2 people have no answer" in missing_share_words([field])
    assert "3 people of a field have no answer" in missing_distance_words([row])[0]
    drawn = FIGURES["calibration"](make_report(calibration=[row]), Options()).table[0]
    assert [drawn["missing_low"], drawn["missing_high"]] == row["bounds"]


def test_people_who_miss_a_prompt_are_drawn_with_the_others_of_the_roll() -> None:
    study: Study = make_study(places=40)
    people = [tell(study, ["Assam"] if number % 2 else ["Sencha"], "C") for number in range(10)]
    Response.objects.filter(participant=people[0], prompt__slug="teas").delete()
    read_new(study)
    data = Reporting(study, draws=100).data
    field = data.groups[0].field
    # One list: everybody on the roll answered it.
    assert data.items(field, "teas").roll is None and data.missing(field, "teas") == 1


def test_the_population_s_entropy_stands_beside_that_of_the_sample(skipped: Study) -> None:
    (field,) = rows_of(skipped, "heterogeneity", source="field")
    data = Reporting(skipped, draws=100).data
    sample: ItemSample = data.items(data.groups[0].field, "teas")
    found = population_entropy(sample)
    assert field["population"]["entropy_bits"] == pytest.approx(found.bits, abs=1e-8)
    assert field["population"]["entropy_bits"] > field["entropy_bits"] and field["missing"] == 3


# --- chatbots together


def make_mixture() -> Study:
    """Nine in ten people have ChatGPT, but half of the calls are of each model; each always gives its own answer."""
    study: Study = make_study(places=60, slug="mixture")
    for number in range(20):
        chatbot = "gemini" if number < 2 else "chatgpt"
        tell(study, ["Sencha" if number < 2 else "Assam"], "A" if number < 2 else "C", chatbot=chatbot)
    for model, tea, letter in (("gpt-4o-mini", "Assam", "C"), ("gemini-2.0-flash", "Sencha", "A")):
        run = make_model_run(study, model=model)
        for number in range(10):
            reply(run, "teas", listed([tea]), number)
            reply(run, "water", letter, number)
    read_new(study)
    return study


def test_another_mix_of_the_same_chatbots_makes_no_difference(mixture: Study) -> None:
    (row,) = rows_of(mixture, "mixes", answer="C")
    assert row["mix"] == {"chatgpt": 0.9, "gemini": 0.1} and row["mix_source"] == {"chatgpt": 0.5, "gemini": 0.5}
    # As counted, 90 % against 50 %; weighted by the field's mix of chatbots, 90 % against 90 %.
    assert (row["field"], row["raw"], row["standardised"]) == pytest.approx((0.9, 0.5, 0.9))
    assert row["difference_raw"] == pytest.approx(0.4) and row["difference"] == pytest.approx(0, abs=1e-9)
    assert row["ci_difference_raw"][0] > 0 > row["ci_difference"][0]
    teas = {row["name"]: row["difference"] for row in rows_of(mixture, "mixes", kind="recommendation")}
    assert teas == pytest.approx({"Assam": 0, "Sencha": 0}, abs=1e-9)


def test_without_answers_for_a_chatbot_of_the_field_nothing_is_standardised(mixture: Study) -> None:
    run = make_model_run(mixture, "sp-profile")
    other = make_model_run(mixture, "sp-history", model="llama-3")
    for number in range(4):
        reply(run, "water", "C", number)
        reply(other, "water", "C", number)
    read_new(mixture)
    (row,) = rows_of(mixture, "mixes", source="sp-profile")
    assert row["why"] == NO_ANSWER.format("gemini") and row["standardised"] is None and row["raw"] == 1
    (row,) = rows_of(mixture, "mixes", source="sp-history")
    assert row["why"] == OF_NO_CHATBOT and row["mix_source"] is None
    assert row["difference"] is None and row["between"] == [0, 1]


def test_a_figure_s_table_has_both_shares() -> None:
    made = FIGURES["mixes"](make_report(), Options())
    assert {"raw", "standardised", "difference_raw", "difference"} <= made.table[0].keys()
    assert made.table[0]["mix_source"] == "chatgpt 90\u202f%, gemini 10\u202f%"


@pytest.mark.parametrize("world", ["skipped", "mixture"])
def test_the_bundle_recomputes_all_of_it(
    no_figures: None, world: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    unpack(request.getfixturevalue(world), tmp_path)
    done = recompute(tmp_path)
    assert done.returncode == 0 and all_agree(done.stdout), done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert bool(report["mixes"]) == (world == "mixture")  # one chatbot has no mix
    assert world == "mixture" or report["calibration"][0]["bounds"]
