"""Plans of hypotheses about persons: worlds with the intended truth, and the same tests as in the report."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.plans.simulating import Setting, simulate_size
from analysis.plans.worlds import HOPEFUL, MIDDLE, Prompted, crowd_world, reached_in_crowd, share_world
from analysis.report.persons import explanations, person_or_dice
from analysis.report.planned.answers import find_sides
from analysis.report.planned.part import hypothesis_rows, judge, say_verdict
from analysis.report.reports import Reporting
from surveys.models import Participant, Response
from surveys.studies.files.askings import Repeats
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys
from tests.analysis.report.asked_twice import Truth, make_asked_twice
from tests.factories import make_definition

LIST, LETTER = Prompted(MIDDLE.usual, 5), Prompted(MIDDLE.usual, options=4)
PERSON = Hypothesis("person", "It is the person.", "person_share", "field/chatgpt", "more", smallest=0.2)
MEMORY = Hypothesis(
    "memory", "Memory.", "unlikeness", "field/chatgpt/memory=on", "less", "field/chatgpt/memory=off", smallest=0.05
)


@pytest.mark.parametrize("prompt", [LIST, LETTER])
@pytest.mark.parametrize("truth", [0.0, 0.3])
def test_the_person_has_the_share_that_the_scenario_says(prompt: Prompted, truth: float) -> None:
    world, rng = share_world([prompt], truth, 1000, 1.0, 20), np.random.default_rng(1)
    found = [world(rng)(1.0).value or 0.0 for _ in range(3)]
    assert np.mean(found) == pytest.approx(truth, abs=0.03)


def test_only_a_part_is_asked_twice_and_those_who_came_first_know_less() -> None:
    study = share_world([LIST], 0.3, 400, 0.5, 50)(np.random.default_rng(1))
    whole, half = study(1.0), study(0.5)
    assert 160 < whole.freedom < 199 and 70 < half.freedom < 99  # half of them, without those who found nothing
    assert whole.ci and half.ci and whole.ci[1] - whole.ci[0] < half.ci[1] - half.ci[0]


@pytest.mark.parametrize("sizes", [(600, 600), (300, 900)])
@pytest.mark.parametrize(("prompt", "truth"), [(LIST, 0.05), (LIST, -0.05), (LETTER, -0.05)])
def test_one_side_is_as_much_further_from_the_crowd(prompt: Prompted, truth: float, sizes: tuple[int, int]) -> None:
    world, rng = crowd_world([prompt], truth, sizes), np.random.default_rng(1)
    found = [world(rng)(1.0).value or 0.0 for _ in range(3)]
    assert np.mean(found) == pytest.approx(truth, abs=0.012)


def test_letters_that_are_nearly_even_cannot_be_much_further() -> None:
    assert 0 < reached_in_crowd([LETTER], 0.05, 0.5) < 0.02


def test_where_nothing_differs_hardly_anything_is_supported() -> None:
    definition = replace(make_definition(50), repeats=Repeats(("teas",)), hypotheses=(PERSON, MEMORY))
    nothing = replace(MIDDLE, effect=0.0)
    cell = simulate_size(definition, definition.hypotheses, nothing, 200, Setting((200,), 100))
    assert [row["n_b"] for row in cell["rows"]] == [0, 50]
    assert all(row["supported"] <= 0.06 and row["width"] for row in cell["rows"])


@pytest.mark.django_db
def test_a_persons_share_is_decided_by_the_people_who_were_asked_twice() -> None:
    """Forty people answered, fifteen of them twice: fewer than the twenty below which a page says nothing."""
    study = make_asked_twice(Truth(people=40, calls=0))
    people = Participant.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)
    again = study.current.prompts.filter(occasion=2, arm="")
    Response.objects.filter(prompt__in=again, participant__in=[*people[15:]]).delete()
    data = Reporting(study, draws=200).data
    rows = hypothesis_rows(data, find_sides(data, PERSON), PlanKeys())
    judge(rows, float, None, is_over=False)
    (row,) = rows
    assert row["a"]["n"] == 15 and row["p"] is not None
    assert say_verdict(row) == "not enough yet: 15 of 20 people"
    definition = replace(make_definition(50), repeats=Repeats(("teas",), people=0.5), hypotheses=(PERSON,))
    found = [simulate_size(definition, (PERSON,), HOPEFUL, people, Setting((people,), 20)) for people in (78, 80)]
    sizes, supported = zip(*((cell["rows"][0]["n_a"], cell["rows"][0]["supported"]) for cell in found), strict=True)
    assert sizes == (39, 40) and not supported[0] and supported[1]  # 19 and 20 of them twice


@pytest.mark.django_db
def test_as_planned_has_both_as_the_report_has_them() -> None:
    """Both match the report: the person's share exactly, memory by itself nearly as beside all other explanations."""
    study = make_asked_twice(Truth(people=80, calls=20))
    data = Reporting(study, draws=200).data
    rows = [row for each in (PERSON, MEMORY) for row in hypothesis_rows(data, find_sides(data, each), PlanKeys())]
    judge(rows, float, None)
    person, memory = rows
    (share,) = [row for row in person_or_dice.compute(data) if row["source"] == "field" and not row["prompt"]]
    assert (person["value"], person["ci"], person["p"]) == (share["share"], share["ci_share"], share["p"])
    assert person["verdict"] == "supported" and memory["verdict"] == "not told apart"
    (effect,) = [row for row in explanations.compute(data) if row["explanation"] == "memory"]
    assert memory["value"] == pytest.approx(effect["effect"], abs=0.01)
    assert memory["ci"] == pytest.approx(effect["ci"], abs=0.02) and memory["a"]["n"] + memory["b"]["n"] == 80
