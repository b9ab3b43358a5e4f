"""Person or dice, and what explains it, in report, pages, API and figure: on known truths, and with no people."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from analysis.answers.readings import read_new
from analysis.charts.figure import Options
from analysis.models import MetricValue
from analysis.report.filters import Filters
from analysis.report.outputs import write_text
from analysis.report.parts import FIGURES
from analysis.report.parts import PARTS as PARTS_OF_A_REPORT
from analysis.report.persons.explanations import NOBODY
from analysis.report.persons.person_or_dice import NOT_ASKED
from analysis.report.reports import report
from analysis.runs.imports import import_completions
from benchmarks import dice
from surveys.models import Participant, Response, Study
from surveys.studies.files.askings import Repeats
from surveys.studies.imports.responses import import_responses
from tests.analysis.report.asked_twice import ARM, Truth, make_asked_twice
from tests.analysis.report.compare_samples import heading, table
from tests.analysis.report.report_samples import listed, make_teas, tell
from tests.analysis.report.unpacked import agreed_in, recompute, unpack
from tests.factories import make_study
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import log_in, text_of

pytestmark = pytest.mark.django_db
DRAWS = 400
PARTS = ("person_or_dice", "arms", "explanations", "taken", "positions")

world = lasting_world(lambda: make_asked_twice(Truth(users=30), slug="lasting"))


def rows_of(found: dict[str, Any], part: str, **where: Any) -> list[dict[str, Any]]:
    return [row for row in found[part] if all(row[name] == value for name, value in where.items())]


def claims_on(found: dict[str, Any], page: str) -> list[dict[str, Any]]:
    return [claim for claim in found["claims"] if claim["page"] == page]


def page_of(study: Study, name: str) -> HttpResponse:
    """Open the page, always as the same viewer."""
    viewer = get_user_model().objects.filter(username="ada").first()
    client = Client() if viewer else log_in(study, "viewer")
    if viewer:
        client.force_login(viewer)
    return client.get(reverse("compare:page", args=[study.slug, name]))


def test_the_split_of_each_prompt_and_of_their_mean(study: Study) -> None:
    found = report(study, draws=DRAWS, parts=PARTS)
    rows = rows_of(found, "person_or_dice", source="field")
    assert [(row["prompt"], row["prompts"]) for row in rows] == [("teas", 1), ("water", 1), ("", 2)]
    for row in rows:
        assert (row["units"], row["unit"], row["repeated"], row["unread"]) == (40, "person", 40, 0)
        assert row["between"] - row["offline"] == pytest.approx(row["dice"] + row["person"])
        assert row["added"] == pytest.approx(row["dice"] + row["person"])
        assert row["share"] == pytest.approx(1 - row["within"] / row["between"])
        assert row["ci_person"][0] < row["person"] < row["ci_person"][1]
    assert rows[2]["person"] == pytest.approx((rows[0]["person"] + rows[1]["person"]) / 2)
    # Tastes are strong, and the product's dice differ little from those of calls.
    assert rows[2]["ci_person"][0] > 0.1 and rows[2]["p"] < 0.01


def test_simulated_users_who_are_asked_twice_stand_beside_people(study: Study) -> None:
    found = rows_of(report(study, draws=DRAWS, parts=PARTS), "person_or_dice", source="sp-profile")
    assert [(row["prompt"], row["unit"], row["units"], row["repeated"]) for row in found] == [
        ("teas", "simulated user", 30, 30),
        ("water", "simulated user", 30, 30),
        ("", "simulated user", 30, 30),
    ]
    assert all(row["person"] > 0 and "offline" not in row for row in found)


def test_what_is_asked_again_counts_nowhere_else(study: Study) -> None:
    found = report(study, draws=20)
    assert [prompt["slug"] for prompt in found["prompts"] if "--" in prompt["slug"]] == []
    assert {row["n"] for row in rows_of(found, "heterogeneity", source="field")} == {40}
    assert {row["n"] for row in rows_of(found, "choices", source="field")} == {40}
    named = {
        (part, row["prompt"])
        for part in PARTS_OF_A_REPORT
        for row in (found[part] if isinstance(found.get(part), list) else [])
        if isinstance(row, dict) and "--" in str(row.get("prompt"))
    }
    assert named == set()


def test_a_state_moves_answers_beyond_the_dice_and_not_all_reach_it(study: Study) -> None:
    (row,) = report(study, draws=DRAWS, parts=PARTS)["arms"]
    assert (row["prompt"], row["arm"], row["asked"], row["unit"]) == ("teas", ARM, 40, "person")
    assert row["unreached"] > 0 and row["units"] == row["thrice"] == 40 - row["unreached"]
    # There is no taste in this state, so answers are as far from the person's own as from anybody's.
    assert row["ci_effect"][0] > 0 and row["p"] < 0.01
    assert set(row["changes"]) == {"top5_share", "items", "unknown_share", "rating"}
    assert row["changes"]["rating"]["effect"] == 0


def test_a_state_without_second_answers_in_the_usual_one_is_said_to_lack_these(study: Study) -> None:
    Response.objects.filter(prompt__occasion=2).delete()
    page, found = text_of(page_of(study, "person-or-dice")), report(study, draws=20, parts=["arms"])
    assert "answered twice in the usual state and once in the other: too few to test." in page
    assert "answered in both states" not in page
    assert FIGURES["arms"](found, Options()).caption.startswith("Nobody answered a prompt twice in the usual state and")


def test_the_page_opens_with_its_claim_and_shows_the_split(study: Study) -> None:
    found, page = report(study), page_of(study, "person-or-dice")
    (claim,) = [claim for claim in claims_on(found, "person-or-dice") if claim["kind"] == "person"]
    assert heading(page) == " ".join(claim["sentence"].split()) and "n = 40 asked twice" in heading(page)
    assert [row[0] for row in table(page, "person-or-dice") if row[1] == "Field"] == ["Teas", "Water", "Mean of 2"]
    assert len(table(page, "arms")) == 1 and len(table(page, "arm-changes")) == 4
    assert claim in claims_on(found, "person-or-dice") and claim["p"] < 0.05


def test_a_figure_has_its_numbers_as_a_file(study: Study) -> None:
    client = log_in(study, "viewer")
    written = client.get(reverse("compare:figure", args=[study.slug, "person_or_dice", "csv"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["prompt"] for row in rows] == ["teas", "water", "mean"]
    drawn = client.get(reverse("compare:figure", args=[study.slug, "person_or_dice", "svg"]), {"width": "85"})
    assert drawn.status_code == 200 and 'width="85mm"' in drawn.content.decode()
    text = write_text(report(study, draws=20), ["person_or_dice", "arms", "explanations"], 160)
    assert all(words in text for words in ("PERSON OR DICE", "Mean of 2", "association"))


def test_filters_leave_the_people_that_they_name(study: Study) -> None:
    found = report(study, Filters(memory=("on",)), draws=20, parts=PARTS)
    assert {row["units"] for row in rows_of(found, "person_or_dice", source="field")} == {20}
    assert not rows_of(found, "explanations", explanation="memory")


# --- other truths


def test_where_people_differ_in_nothing_no_page_says_that_they_do() -> None:
    study = make_asked_twice(Truth(taste=0.0, people=60))
    found = report(study, draws=DRAWS)
    assert claims_on(found, "person-or-dice") == [] == claims_on(found, "explanations")
    said = heading(page_of(study, "person-or-dice"))
    assert said.startswith("Whether another person gets other answers")
    assert heading(page_of(study, "explanations")).startswith("Nothing known about people is told apart")


def test_what_explains_a_distance_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_asked_twice(Truth(taste=0.4, memory=12.0, people=150))
    found = report(study, draws=DRAWS)
    (claim,) = claims_on(found, "explanations")
    assert claim["sentence"].startswith("Memory: with On, answers lie 0.") and "an association" in claim["sentence"]
    (row,) = rows_of(found, "explanations", explanation="memory")
    assert row["effect"] == claim["estimate"] and row["persons"] == 75 and row["units"] == 150
    taken = rows_of(found, "taken", prompt="teas", explanation="memory")
    assert len(taken) == 1 and 0 < taken[0]["taken"] < 1 and taken[0]["n"] == 150
    monkeypatch.setattr("analysis.report.persons.askings.MANY", 40)
    MetricValue.objects.all().delete()
    again = report(study, draws=DRAWS)
    assert again["explanations"] == found["explanations"] and again["positions"] == found["positions"]
    assert {row["n"] for row in again["taken"]} == {40}


def test_positions_are_those_of_the_order_of_each_person(study: Study) -> None:
    rows = report(study, draws=20, parts=PARTS)["positions"]
    asked = [row for row in rows if row["kind"] == "position" and row["measure"] == "distance"]
    orders = Participant.objects.filter(study=study).values_list("order", flat=True)
    expected = [sum(order[place] in ("teas", "water") for order in orders) for place in range(5)]
    assert [row["n"] for row in asked] == expected
    trends = {row["measure"]: row for row in rows if row["kind"] == "trend"}
    assert {"distance", "correct_share", "rating"} <= trends.keys() and "items" not in trends
    assert all(row["n"] == 80 for name, row in trends.items() if name in ("distance", "rating"))


def test_who_stops_is_counted_by_prompts_done(study: Study) -> None:
    people = Participant.objects.filter(study=study).order_by("pk")
    gone, working = people[0], people[1]
    gone.responses.exclude(prompt__slug="teas").delete()
    Participant.objects.filter(pk=gone.pk).update(state="returned")
    Participant.objects.filter(pk=working.pk).update(state="active", finished_at=None)
    rows = [row for row in report(study, draws=20, parts=PARTS)["positions"] if row["kind"] == "attrition"]
    assert [(row["done"], row["n"], row["left"]) for row in rows] == [(0, 39, 0), (1, 39, 1)]


def test_a_known_truth_comes_through_import_and_report(tmp_path: Path) -> None:
    """120 people asked twice, whose answers are pasted texts, beside 150 calls; the truth is that of very many."""
    world, rng = dice.World(), np.random.default_rng(11)
    truth = dice.truth_of(world, 20_000, prompts=1)
    study = make_study(places=0, repeats=Repeats(("teas",), apart=1))
    taste = world.tastes(120, rng)[0]
    base = world.logits(0)
    rows = [
        {"participant": f"p{person}", "chatbot": "chatgpt", "prompt": "teas", "occasion": f"{occasion}"}
        | {"text": listed([f"Tea {item:02d}" for item in said])}
        for occasion in (1, 2)
        for person, said in enumerate(world.say(base + taste, world.heat, rng))
    ]
    bring(study, tmp_path / "people.csv", rows, import_responses)
    calls = world.say(np.repeat(base, 150, axis=0), 1.0, rng)
    rows = [
        {"source": "offline", "model": "gpt-4o-mini", "prompt": "teas", "temperature": "1"}
        | {"text": listed([f"Tea {item:02d}" for item in said])}
        for said in calls
    ]
    bring(study, tmp_path / "calls.csv", rows, import_completions)
    (row,) = rows_of(report(study, draws=DRAWS, parts=PARTS), "person_or_dice", source="field")
    assert (row["units"], row["repeated"], row["n_offline"]) == (120, 120, 150)
    for name, true in truth.known.items():
        assert abs(row[name] - true) < 0.04 and row[f"ci_{name}"][0] < true < row[f"ci_{name}"][1], name


def bring(study: Study, path: Path, rows: list[dict[str, str]], take: Callable[[Study, Path, str], Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    take(study, path, "tests")
    read_new(study)


# --- little, and nothing


def test_without_repeats_the_page_says_which_key_would_answer() -> None:
    study = make_teas()
    assert report(study, draws=20)["person_or_dice"] == []
    assert heading(page_of(study, "person-or-dice")) == NOT_ASKED
    assert "[repeats]" in NOT_ASKED


def test_of_nobody_and_of_three_people_nothing_is_said() -> None:
    study = make_study(places=20)
    assert heading(page_of(study, "explanations")) == NOBODY
    for teas in (["Assam"], ["Sencha"], ["Oolong"]):
        tell(study, teas)
    read_new(study)
    for name in ("person-or-dice", "explanations"):
        assert page_of(study, name).status_code == 200
    said = heading(page_of(study, "explanations"))
    assert said == "Fewer than 20 people have answered: too few to compare."
    found = report(study, draws=20)
    assert claims_on(found, "person-or-dice") == [] == claims_on(found, "explanations")


def test_where_all_people_get_the_same_there_is_nothing_to_explain() -> None:
    study = make_study(places=30)
    for number in range(20):
        tell(study, ["Assam"], plan=("free", "paid")[number % 2])
    read_new(study)
    assert heading(page_of(study, "explanations")) == "People’s answers do not differ: there is nothing to explain."


def test_where_nothing_was_found_in_answers_nobody_reads_that_people_do_not_vary() -> None:
    study = make_study(places=30)
    for number in range(20):
        tell(study, [], "", plan=("free", "paid")[number % 2])
    read_new(study)
    assert "of those in whose answers something was found" in heading(page_of(study, "explanations"))


def test_few_who_were_asked_twice_have_numbers_and_no_test() -> None:
    study = make_asked_twice(Truth(people=8, calls=10))
    found = report(study, draws=DRAWS)
    row = rows_of(found, "person_or_dice", prompt="")[0]
    assert row["within"] is not None and row["ci_person"] and row["p"] is None and "too few to test" in row["why"]
    said = heading(page_of(study, "person-or-dice"))
    assert said.startswith("Two answers of one person lie") and "8 asked twice are too few" in said


@pytest.mark.slow
def test_a_bundle_computes_the_split_without_us(tmp_path: Path) -> None:
    study = make_asked_twice(Truth(people=30, calls=20, users=12))
    unpack(study, tmp_path)
    done = recompute(tmp_path)
    agreed = agreed_in(done.stdout)
    assert done.returncode == 0, done.stdout
    assert agreed["person_or_dice"] > 80 and agreed["arms"] > 8
    path = tmp_path / "data" / "askings.csv"
    askings = path.read_text()
    assert askings.count("\n") == 1 + 3 * 30
    path.write_text(askings.replace("tea 01", "tea 99"))
    done = recompute(tmp_path)
    assert "person_or_dice: " in done.stdout and done.returncode == 1
