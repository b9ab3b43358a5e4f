"""Plans of annotators: the same numbers as the report's, what a scenario promises, the command and the page."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.plans import views
from analysis.plans.annotators import drawing
from analysis.plans.annotators.drawing import (
    CAUTIOUS,
    HOPEFUL,
    MIDDLE,
    Design,
    RatedQuestion,
    alpha_of,
    draw_labels,
    seen_in_pilot,
    votes_of_people,
    with_alpha,
)
from analysis.plans.annotators.simulating import (
    RaterSetting,
    cheapest_design,
    find_labelling,
    measure_labels,
    plan_annotators,
    summed,
)
from analysis.plans.annotators.texts import (
    chances_of,
    cheapest_lines,
    lines_of_annotators,
    opening_of_annotators,
    say_cost,
)
from analysis.plans.kept import NAME, find_plan, fingerprint_of_plan, keep_plan
from analysis.stats.agreement.agreement import head_row, measure_agreement, write_estimate
from analysis.stats.agreement.estimates import Estimate
from analysis.stats.agreement.labels import Scale
from analysis.stats.intervals import wilson_interval
from surveys.studies import under_way
from surveys.studies.files.hypotheses import Hypothesis
from surveys.studies.files.kinds import GENERIC
from tests.analysis.agreement.annotation_samples import make_annotated, number_of
from tests.factories import annotate, definition_of, make_annotation_study, make_annotator, make_items, tasks_of
from tests.surveys.console.console_pages import log_in

YES_NO = RatedQuestion(2, Scale(), 30, by_user=False)
QUALITY = RatedQuestion(3, Scale(ordered=True), 30, by_user=True, per_user=5)
STARS = RatedQuestion(5, Scale(True, (1.0, 2.0, 3.0, 4.0, 5.0)), 30, by_user=True, per_user=2, parts=2)


@pytest.mark.parametrize("rated", [YES_NO, QUALITY, STARS])
def test_numbers_are_those_of_the_report(rated: RatedQuestion) -> None:
    labels = draw_labels(np.random.default_rng(1), rated, Design(100, 3), MIDDLE)
    found = measure_labels(labels, rated, np.random.default_rng(2), 200, with_share=False)
    whole = measure_agreement(labels, np.random.default_rng(2), rated.scale, draws=200)
    assert write_estimate(found["alpha"]) == head_row(whole)["alpha"]
    kappa = whole.means["across"]["kappa"]
    assert found["kappa"].n == kappa.n > 2 and found["kappa"].value == pytest.approx(kappa.value)
    assert found["kappa"].ci == pytest.approx(kappa.ci)
    assert found["alpha"].units == 100 / rated.per_user


@pytest.mark.parametrize("rated", [YES_NO, QUALITY, STARS])
def test_every_item_has_its_labels_and_nobody_more_than_the_quota(rated: RatedQuestion) -> None:
    design = Design(70, 4)
    labels = draw_labels(np.random.default_rng(1), rated, design, CAUTIOUS)  # refuses two labels of one rater
    assert set(np.bincount(labels.items)) == {4 + 1}  # and the judge
    *people, judge = labels.per_rater
    assert len(people) == design.people(30) == 10 and judge == 70 * rated.parts
    assert max(people) <= 30 * rated.parts


def test_alpha_of_two_labels_is_that_of_the_formula() -> None:
    """For raters right with chance r about evenly split labels: 1 - α = 2 r (1 - r) / 0.5."""
    even = replace(HOPEFUL, alike=0.001, right=0.9)
    labels = draw_labels(np.random.default_rng(1), YES_NO, Design(6000, 2), even)
    found = measure_labels(labels, YES_NO, np.random.default_rng(2), 20, with_share=False)
    assert found["alpha"].value == pytest.approx(1 - 2 * 0.9 * 0.1 / 0.5, abs=0.03)


def test_share_and_its_interval_without_users_are_those_of_wilson() -> None:
    """One rating of each item by one person: the last of five labels and a quarter of the others are preferred."""
    alone = replace(STARS, per_user=1, parts=1)
    sure = replace(HOPEFUL, right=1.0, common=0.6)
    labels = draw_labels(np.random.default_rng(1), alone, Design(2000, 1), sure)
    share = measure_labels(labels, alone, np.random.default_rng(2), 50, with_share=True)["preference_share"]
    assert share.value == pytest.approx(0.6 + 0.4 / 4, abs=0.03) and share.n == 2000 and share.ci
    low, high = wilson_interval(round(share.value * 2000), 2000)
    assert share.ci == pytest.approx((low, high), abs=0.001)


def test_intervals_hold_the_value_where_raters_are_alike() -> None:
    """19 of 20 intervals, with 60 users; if some raters guess, studies differ more than their intervals say."""
    alike = replace(MIDDLE, guessing=0.0)

    def studies(scenario: Any, number: int) -> list[Any]:
        rng = np.random.default_rng(3)
        drawn = (draw_labels(rng, QUALITY, Design(300, 3), scenario) for _ in range(number))
        return [measure_labels(labels, QUALITY, rng, 200, with_share=False)["alpha"] for labels in drawn]

    found = studies(alike, 150)
    value = np.mean([one.value for one in found])
    assert 0.89 <= np.mean([one.ci[0] <= value <= one.ci[1] for one in found]) <= 0.99
    told, guessing = summed(found), summed(studies(replace(alike, guessing=0.15), 50))
    assert told["spread"] == pytest.approx(told["width"], rel=0.2) and told["without"] == 0
    assert guessing["spread"] > 1.5 * guessing["width"]


def test_the_cheapest_design_is_among_those_that_fit() -> None:
    sizes = [{"items": items, "overlap": 3, "total": items} for items in (100, 200, 400)]
    rows = [
        {"scenario": "middle", "measure": "alpha", "items": items, "overlap": 3, "width": width}
        | {"without": without, "why": "no interval: too few" if without else ""}
        for items, width, without in ((100, 0.04, 11), (200, 0.05, 10), (400, 0.03, 0))
    ]
    setting = RaterSetting(within=0.05, replicates=200)
    assert cheapest_design(rows, sizes, MIDDLE, "alpha", setting)["design"] == sizes[1]  # 11 of 200 are more than 5 %
    strict = cheapest_design(rows, sizes, MIDDLE, "alpha", replace(setting, within=0.01))
    assert (strict["design"], strict["why"]) == (None, "")
    (line,) = cheapest_lines({"within": 0.05, "cheapest": [cheapest_design(rows[:1], sizes, MIDDLE, "alpha", setting)]})
    assert line == "α to ± 0.050, middle: none of these designs; no interval: too few."


def test_what_has_no_interval_has_its_commonest_reason() -> None:
    none, other = Estimate(None, 0, None, "one label"), Estimate(0.5, 9, None, "no interval: too few")
    told = summed([none, other, other, Estimate(0.5, 9, (0.4, 0.6))])
    assert (told["why"], told["without"]) == ("no interval: too few", 3)
    assert summed([Estimate(0.5, 9, (0.4, 0.6))])["why"] == ""


@pytest.mark.django_db
def test_a_plan_has_the_chance_to_support_each_hypothesis_that_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raters of the hopeful scenario have an α near .85, and the judge a κ near .9 with their majority."""
    alpha = Hypothesis("alpha", "People agree.", "alpha", "people", "more", reference=0.5)
    judge = Hypothesis("judge", "The judge is poor.", "kappa", "mini", "less", reference=0.5)
    better = Hypothesis("better", "One is better.", "kappa", "mini", "more", "midi")
    study = make_annotation_study("draft", quota=30, hypotheses=(alpha, judge, better))
    # Studies are drawn in blocks of fifty: each once.
    found = plan_annotators(study, RaterSetting((300,), (3,), replicates=60))
    chance = {(row["hypothesis"], row["scenario"]): row["supported"] for row in found["chances"]}
    assert chance["alpha", "hopeful"] == 1 and chance["alpha", "cautious"] == 0 == chance["judge", "hopeful"]
    assert {name for name, _ in chance} == {"alpha", "judge"}
    said = "\n".join(lines_of_annotators(found))
    assert "  hopeful, 300 items with 3 labels each: supported in 100\u202f% (94\u202f%–100\u202f%)" in said
    assert "better: One is better.\n  Not simulated" in said
    monkeypatch.setattr(views, "find_plan", lambda study: found)
    client = log_in(study, "viewer")
    page = client.get(reverse("plans:plan", args=["teas"])).content.decode()
    own = found | {"planned": {"items": 300, "overlap": 3}}
    assert chances_of(own)[0]["said"].startswith("300 items with 3 labels each: supported in 100\u202f%")
    assert page.index("judge: The judge is poor.") < page.index("α of people: half the 95 % interval")


@pytest.mark.django_db
def test_the_command_says_widths_by_design_and_scenario() -> None:
    study = make_annotation_study("draft", kind="preference", quota=10, overlap=3)
    few, smallest = ["--items", "40", "80", "--overlap", "2", "3"], ["--items", "40", "--overlap", "2"]
    out = StringIO()
    call_command("plan", "teas", *few, "--replicates", "20", "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert len(found["rows"]) == 3 * 3 * 4 and found["rests_on"].startswith("10 items about each user, assumed")
    assert found["sizes"][3] | {"total": 0} == found["sizes"][3] | {"people": 24, "calls": 160, "total": 0}
    widths = {
        (row["items"], row["overlap"]): row["width"]
        for row in found["rows"]
        if (row["measure"], row["scenario"]) == ("preference_share", "middle")
    }
    assert widths[80, 3] < widths[40, 2]
    out = StringIO()
    call_command("plan", "teas", *smallest, "--replicates", "20", stdout=out)
    lines = out.getvalue().splitlines()
    head, row = (next(line for line in lines if line.startswith(name)) for name in ("scenario ", "cautious "))
    assert lines[0].startswith("SIMULATED: 20 studies") and row[: head.index("items") + len("items")].endswith(" 40")
    last = found["rows"][-1]  # of a share, so in points
    (line,) = [
        line for line in lines_of_annotators(found | {"rows": [last]}) if line.startswith(last["scenario"] + " ")
    ]
    assert f"{100 * last['width']:.1f} points" in line and f"{100 * last['width_error']:.2f} " in line
    with pytest.raises(CommandError, match="--people is not for a study of annotators"):
        call_command("plan", "teas", "--people", "100")
    make_items(study, 1)
    assert find_labelling(study, definition_of(study)).words.endswith("on average in the 1 item imported")
    assert ", 0.7 hours of people," in say_cost(found["sizes"][0] | {"minutes": 40})  # not 1 hours
    make_items(study, 11, start=1)
    again = plan_annotators(study, RaterSetting((40,), (2,), 20))
    assert again["rests_on"] == "each item about another user, 2 ratings an item, on average in the 12 items imported"
    assert again["planned"] == {"items": 12, "overlap": 3}


@pytest.mark.django_db
def test_widths_that_cannot_be_have_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody labels the 20 items that κ needs; ten items are about one user, and an interval needs three."""
    study = make_annotation_study("draft", kind="attribute", quota=10, overlap=3, places=3)
    no_kappa, one_user = "no person and judge share 20 items", "no interval: made of 1 independent unit only"
    out = StringIO()
    call_command("plan", "teas", "--items", "10", "--replicates", "20", stdout=out)
    rows = [line for line in out.getvalue().splitlines() if line.startswith("middle ")]
    assert [line.rpartition("  ")[2] for line in rows] == [one_user] * 3 + [no_kappa] * 3
    assert f"κ with a judge to ± 0.050, middle: none of these designs; {no_kappa}." in out.getvalue()
    setting = RaterSetting((10, 60), (3,), 20)
    monkeypatch.setattr("analysis.plans.kept.usual_setting", lambda study: setting)
    keep_plan(study)
    client = log_in(study, "researcher", "researcher")
    page = client.get(reverse("plans:plan", args=["teas"])).content.decode()
    assert page.count(f'<td class="number">{no_kappa}</td>') == 6
    assert page.count(f'<td class="number">{one_user}</td>') == 3
    assert f"none of these designs; {no_kappa}." in page
    assert page.count("<figure>") == 1 and "± –" not in page  # for α alone
    found = find_plan(study) or {}
    assert opening_of_annotators(found | {"planned": {"items": 10, "overlap": 3}}) == (
        "10 items with 3 labels each do not tell how sure α of quality will be (hopeful, middle and cautious: "
        f"{one_user})."
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("overlap", "items", "opening"),
    [
        (1, 40, "40 items with 1 label each are not among the 3 designs simulated: agreement needs two labels"),
        (3, 8, "8 items with 3 labels each are not among the 2 designs simulated: a plan is of 10 to 20,000 items."),
    ],
)
def test_a_study_whose_own_design_is_not_simulated_is_told_so(
    monkeypatch: pytest.MonkeyPatch, overlap: int, items: int, opening: str
) -> None:
    study = make_annotation_study("draft", overlap=overlap)
    make_items(study, items)
    monkeypatch.setattr("analysis.plans.kept.usual_setting", lambda study: RaterSetting(overlaps=(2,), replicates=20))
    keep_plan(study)
    client = log_in(study, "researcher", "researcher")
    page = client.get(reverse("plans:plan", args=["teas"])).content.decode()
    assert f"This study’s own {opening}" in page and "The blue line" not in page and 'class="planned"' not in page


@pytest.mark.parametrize("alpha", [0.6, 0.3, 0.05])
@pytest.mark.parametrize("rated", [YES_NO, QUALITY, STARS])
def test_a_pilot_is_planned_from_with_the_alpha_that_it_has(rated: RatedQuestion, alpha: float) -> None:
    """Of five labels in order, raters who err by one step have an α near .6 however often they do."""
    seen = with_alpha(alpha, rated, replace(MIDDLE, guessing=0.0))
    labels = draw_labels(np.random.default_rng(5), rated, Design(3000, 3), seen)
    assert alpha_of(votes_of_people(labels), rated.scale) == pytest.approx(alpha, abs=0.03)
    assert alpha > 0.05 or rated.k == 2 or seen.words.endswith("; a mistake is any other label")


@pytest.mark.django_db
def test_a_pilot_is_a_scenario_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = make_annotated("pilot")
    few = RaterSetting((40,), (3,), 20)
    assert plan_annotators(study, few)["main"] == "middle"  # eight items are too few
    before = fingerprint_of_plan(study)
    monkeypatch.setattr(drawing, "FEWEST", 8)
    found = plan_annotators(study, few)
    assert found["main"] == "as in the pilot" and len(found["scenarios"]) == 4
    assert found["scenarios"][3]["words"].startswith("as in the pilot, α 0.68 of 8 items: raters give")
    (value,) = [row["value"] for row in found["rows"] if (row["scenario"], row["measure"]) == (found["main"], "alpha")]
    assert value == pytest.approx(0.68, abs=0.06)
    study.participants.update(origin="simulated")
    assert seen_in_pilot(study, YES_NO) is None  # made-up people say nothing about real ones
    make_items(study, 1, 20, pilot=True)
    assert fingerprint_of_plan(study) != before


@pytest.mark.django_db
def test_a_pilot_of_items_with_two_things_to_rate_counts_these() -> None:
    """Ten items are enough, since both people prefer the same answer to each item for both of its attributes."""
    study = make_annotation_study("pilot", kind="preference", overlap=2, quota=10)
    make_items(study, 10, pilot=True)
    for person in [make_annotator(study) for _ in range(2)]:
        for task in tasks_of(person):
            shown = "4" if (number_of(task.item) % 2 > 0) == (task.left == GENERIC) else "2"
            annotate(person, task, preference__milk=shown, preference__budget=shown)
    found = seen_in_pilot(study, STARS)
    assert found is not None and found.words.startswith("as in the pilot, α 1.00 of 20 ratings: raters give")
    labels = draw_labels(np.random.default_rng(1), STARS, Design(1000, 2), found)
    drawn = votes_of_people(labels).sum(axis=0)  # half prefer the personalised response, nobody strongly
    assert drawn / drawn.sum() == pytest.approx([0, 0.5, 0, 0.5, 0], abs=0.05)


@pytest.mark.django_db
def test_the_page_shows_each_width_with_its_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_annotation_study("draft", kind="attribute", quota=20, places=9)
    under_way.forget_progress(study, NAME)
    asked: list[int] = []
    monkeypatch.setattr(views.simulate_plan, "delay", asked.append)
    client = log_in(study, "researcher", "researcher")
    address = reverse("plans:plan", args=["teas"])
    assert address in client.get(reverse("console:setup", args=["teas"])).content.decode()
    assert "Not simulated yet" in client.get(address).content.decode()
    assert client.post(reverse("plans:simulate", args=["teas"])).status_code == 302 and asked == [study.pk]
    monkeypatch.setattr("analysis.plans.kept.usual_setting", lambda study: RaterSetting((30, 60), (3,), 20))
    keep_plan(study)
    assert find_plan(study) is not None
    page = client.get(address).content.decode()
    assert "60 items with 3 labels each tell α of quality to ± 0." in page
    assert all(f"({name}, α 0." in page for name in ("hopeful", "middle", "cautious"))
    assert "The blue line is this study’s." in page and 'class="planned"' in page
    assert "simulated, not real" in page and "3 labels an item, ±" in page and "Minutes of people" in page
    assert client.get(reverse("plans:osf", args=["teas"])).status_code == 404
    make_items(study, 8)
    assert find_plan(study) is None  # items were added since
