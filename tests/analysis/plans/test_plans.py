"""Plans: simulated widths and chances against formulas, the command, the page, and texts for registries."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse
from scipy.stats import norm

from analysis.plans import seen, views
from analysis.plans.kept import NAME, find_plan, keep_plan
from analysis.plans.registries import answers_of, page_data, say_asked, say_drawn
from analysis.plans.seen import assumed_of, seen_in
from analysis.plans.simulating import (
    PlanError,
    Setting,
    plan_study,
    share_of,
    simulate,
    simulate_size,
    size_of,
    width_of,
)
from analysis.plans.texts import notes_of, smallest_lines, spread
from analysis.plans.worlds import MIDDLE, Assumed, Prompted, Scenario, draw_sides, reached, sided_world, truth_of
from analysis.report.planned.answers import examine, find_sides
from analysis.stats.heterogeneity import compare
from analysis.stats.resampling import SharedDraws
from benchmarks.claims import World, make_data
from surveys.models import Participant, Study
from surveys.studies import under_way
from surveys.studies.files.askings import Arm, Repeats
from surveys.studies.files.hypotheses import Hypothesis, PlanKeys
from surveys.studies.lifecycle import definition_of
from surveys.studies.members import lift_blinding
from tests.analysis.report.report_samples import make_teas
from tests.factories import State, make_account, make_definition, make_participant, make_study
from tests.surveys.console.console_pages import log_in
from tests.surveys.studies.files.test_matrix import make_matrix

PAIR = {"a": "field/gemini", "b": "field/chatgpt"}
TEAS = {"prompts": ("teas",)}
ASSAM = Hypothesis(
    "assam", "Assam more often.", "item_share", **PAIR, **TEAS, expected="more", smallest=0.1, item="assam"
)
VARIED = Hypothesis("varied", "Less varied.", "entropy_bits", **PAIR, **TEAS, expected="less", smallest=0.3)
WATER = Hypothesis("water", "As often right.", "correct_share", "field", "equal", "offline/gpt-4o-mini", smallest=0.2)
PAIR_OF_RIGHT = {"slug": "right", "a": "field/gemini"}
APART = Hypothesis("apart", "Apart.", "jsd_excess", **PAIR, **TEAS, expected="more", smallest=0.05)


def defined(*hypotheses: Hypothesis, **changes: Any) -> Any:
    return replace(make_definition(50), hypotheses=hypotheses, **changes)


def one_row(hypothesis: Hypothesis, people: int, replicates: int = 400, scenario: Scenario = MIDDLE) -> dict[str, Any]:
    cell = simulate_size(defined(hypothesis), [hypothesis], scenario, people, Setting((people,), replicates))
    (row,) = cell["rows"]
    return row


@pytest.mark.parametrize(
    ("ends", "labels"),
    [((26, 26, 27), (30, 46, 62)), ((26, 100, 170), (30, 104, 174)), ((170, 170, 160), (158, 174, 142))],
)
def test_names_of_lines_stand_apart_and_above_the_numbers_of_the_axis(ends: list[int], labels: list[int]) -> None:
    lines: list[dict[str, Any]] = [{"end": end} for end in ends]
    spread(lines)
    assert [float(line["label"]) for line in lines] == [*labels]


def test_width_and_chance_of_a_share_are_those_of_the_formula() -> None:
    """For two independent shares, half the interval is 1.96 errors, and the chance is that of a normal difference."""
    row = one_row(ASSAM, 800)
    other = MIDDLE.usual.share * (1 - MIDDLE.usual.unusable)
    share, n = other + 0.1, 400
    error = np.sqrt((share * (1 - share) + other * (1 - other)) / n)
    assert row["width"] == pytest.approx(1.96 * error, rel=0.03)
    assert row["told_apart"] == pytest.approx(norm.sf(1.96 - 0.1 / error), abs=0.07)
    assert row["told_apart_ci"][0] < row["told_apart"] < row["told_apart_ci"][1]
    assert (row["n_a"], row["n_b"]) == (400, 400)


def test_with_fewer_than_twenty_on_a_side_a_plan_has_no_verdict_as_the_report_has_none() -> None:
    """However far apart they are: 19 and 19 people decide nothing, 20 and 20 do; nor do 19 answers of a model."""
    far, equal = replace(ASSAM, smallest=0.5), replace(WATER, smallest=0.9)
    few, enough = one_row(far, 38, 60), one_row(far, 40, 60)
    assert few["width"] and (few["supported"], few["told_apart"]) == (0, 0)
    assert enough["supported"] > 0.7 and enough["told_apart"] > 0.7
    found = [
        simulate_size(defined(equal), [equal], MIDDLE, 100, Setting((100,), 20, calls))["rows"][0]["supported"]
        for calls in (19, 20)
    ]
    assert found == [0, 1]
    looks = defined(far, plan=PlanKeys(looks=(20,)))
    stops = simulate_size(looks, [far], MIDDLE, looks.planned_people, Setting((200,), 20))["looks"]["stops"]
    assert stops[0]["people"] == 20 and stops[0]["chance"] == 0


@pytest.mark.parametrize("hypothesis", [ASSAM, VARIED])
def test_where_nothing_differs_hardly_anything_is_supported(hypothesis: Hypothesis) -> None:
    nothing = replace(MIDDLE, effect=0.0)
    assert one_row(hypothesis, 200, 200, nothing)["supported"] <= 0.06


def test_more_people_know_more_and_more_hypotheses_less() -> None:
    setting = Setting((100, 400), 60)
    alone, two = simulate(defined(ASSAM), setting), simulate(defined(ASSAM, VARIED), setting)
    widths = [row["width"] for row in alone["rows"] if row["scenario"] == "middle"]
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.1)
    same = [[row for row in found["rows"] if row["hypothesis"] == "assam"] for found in (alone, two)]
    assert all(one["told_apart"] == other["told_apart"] for one, other in zip(*same, strict=True))
    assert sum(row["supported"] for row in same[0]) >= sum(row["supported"] for row in same[1])
    assert alone["sizes"][1]["pay"] == pytest.approx(4 * alone["sizes"][0]["pay"])


def test_a_number_at_which_each_hypothesis_has_its_chance_is_not_said_of_all_at_once() -> None:
    setting = Setting((100,), 20, wish=0.01)
    percent, alone_or_two = "1\u202f% of the time", ((ASSAM,), (ASSAM, VARIED))
    alone, two = (smallest_lines(simulate(defined(*each), setting))[1] for each in alone_or_two)
    assert alone.startswith(f"The hypothesis supported {percent}, middle: ")
    assert two.startswith(f"Each hypothesis by itself supported {percent}, all at once perhaps less often, middle: ")


def test_numbers_whose_chance_the_simulation_cannot_tell_from_the_wish_are_named() -> None:
    chances = {100: (0.5, 0.6), 200: (0.76, 0.82), 400: (0.78, 0.84), 1000: (0.81, 0.9)}
    rows = [
        {"scenario": "middle", "people": people, "supported_ci": [low + more, high + more]}
        for people, (low, high) in chances.items()
        for more in (0, 0.09)  # of a second hypothesis, which is supported more often
    ]
    report = {"wish": 0.8, "rows": rows, "hypotheses": [{}, {}], "smallest": [{"scenario": "middle", "people": 400}]}
    (line,) = smallest_lines(report)
    assert line.endswith("middle: 400 people. Within the simulation’s error of 80\u202f%: 200 and 400 people.")
    (line,) = smallest_lines(report | {"wish": 0.7, "smallest": [{"scenario": "middle", "people": 200}]})
    assert line.endswith("middle: 200 people.")


def test_worlds_are_as_far_apart_as_the_scenario_says() -> None:
    rng = np.random.default_rng(5)
    prompts = [Prompted(MIDDLE.usual, 5)]
    (varied,) = draw_sides(rng, VARIED.measure, prompts, truth_of(VARIED, MIDDLE), (20_000, 20_000))
    counts = [sample.counts() for sample in (varied.a, varied.b)]
    bits = [-(p[p > 0] * np.log2(p[p > 0])).sum() for p in (count / count.sum() for count in counts)]
    assert bits[0] - bits[1] == pytest.approx(truth_of(VARIED, MIDDLE), abs=0.02) == pytest.approx(-0.3, abs=0.03)
    (apart,) = draw_sides(rng, APART.measure, prompts, truth_of(APART, MIDDLE), (20_000, 20_000))
    found = compare(apart.a, apart.b, rng, 20)
    assert found.jsd_bits - found.chance_jsd == pytest.approx(0.05, abs=0.005)


def test_few_items_cannot_differ_as_much_as_is_planned_and_the_plan_says_so() -> None:
    six = Prompted(Assumed(0.0, 0.3, 0.02, vocabulary=6), 2)
    assert reached(VARIED, [Prompted(MIDDLE.usual, 5)], -0.3) == pytest.approx(-0.3, abs=0.01)
    most = reached(VARIED, [six], 0.3)
    assert 0 < most < 0.2
    row = {"scenario": "as in the pilot", "wanted": 0.3, "true": most}
    assert notes_of([row], "entropy_bits")[0].startswith(
        "as in the pilot: so few items cannot differ by 0.30 bits, only by"
    )
    assert notes_of([row | {"true": 0.3}], "entropy_bits") == []


def test_answers_that_are_there_predict_the_intervals_of_the_report() -> None:
    """A world of its own: 60 items whose popularity falls by Zipf, 70 % right answers, 2 % of answers unusable."""
    data, _ = make_data(World(400, 20, lists=2, choices=2, mix=0.5), 1, 200)
    prompts = {"varied": ("list-0", "list-1"), "right": ("choice-0", "choice-1")}
    varied, right = replace(VARIED, prompts=prompts["varied"]), replace(WATER, b="field/chatgpt", **PAIR_OF_RIGHT)
    for hypothesis in (varied, right):
        asked = prompts[hypothesis.slug]
        assumed = dict(assumed_of(data, hypothesis, asked))
        world = sided_world(
            hypothesis, [Prompted(assumed[prompt], 5, 4) for prompt in asked], 0.0, (200, 200), (True, True),
            SharedDraws(0, 50),
        )  # fmt: skip
        rng = np.random.default_rng(0)
        drawn = [world(rng)(1.0) for _ in range(20)]
        found = examine(data, find_sides(data, hypothesis), list(asked))
        assert width_of(drawn)["width"] == pytest.approx(width_of([found])["width"], rel=0.1)
    assert assumed["choice-0"].share == pytest.approx(0.7, abs=0.1)


def test_who_a_side_is_among_so_many_people() -> None:
    shares = {
        "field": 1.0,
        "field/gemini": 0.5,
        "field/gemini/cell=milky": 0.25,
        "field/memory=on": 0.5,
        "offline/m": None,
    }
    for side, share in shares.items():
        assert share_of(defined(ASSAM), side) == share
        assert size_of(defined(ASSAM), side, 200, 70) == (70 if share is None else 200 * share)


def test_a_study_that_cannot_be_simulated_says_why() -> None:
    with pytest.raises(PlanError, match=r"has no hypotheses. Write \[\[hypotheses\]\]"):
        simulate(defined(), Setting((100,)))


@pytest.fixture
def study() -> Study:
    return make_study("draft", defined(ASSAM, WATER, plan=PlanKeys(looks=(100,))))


@pytest.mark.django_db
def test_the_command_prints_the_plan(study: Study, tmp_path: Path) -> None:
    out = StringIO()
    call_command("plan", "teas", "--people", "100", "--replicates", "20", stdout=out)
    text = out.getvalue()
    assert text.startswith("SIMULATED: 20 studies") and "assam: Assam more often." in text
    head, row = (
        next(line for line in text.splitlines() if line.startswith(name)) for name in ("scenario ", "cautious ")
    )
    assert row[: head.index("people") + len("people")].endswith(" 100")
    out = StringIO()
    call_command("plan", "teas", "--people", "100", "--replicates", "20", "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert found["version_sha256"] == study.current.sha256 and len(found["rows"]) == 6
    assert found["sizes"][0]["calls"] == 100  # one model, one prompt
    paper = tmp_path / "plan.pdf"
    call_command("plan", "teas", "--people", "100", "--replicates", "20", "--pdf", str(paper))
    assert paper.read_bytes().startswith(b"%PDF")
    with pytest.raises(CommandError, match="--people takes 10"):
        call_command("plan", "teas", "--people", "3")


@pytest.mark.django_db
def test_a_pilot_or_another_study_is_a_scenario_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "FEWEST", 3)
    study = make_teas(definition=defined(ASSAM, WATER))
    planned = replace(definition_of(study.current_id), slug="others")
    others = make_study("draft", planned)
    few = Setting((100,), 20)
    found = plan_study(others, few, like=study)
    assert found["main"] == "as in teas" and found["scenarios"][3]["words"].startswith("side b as in teas, 4 people")
    assumed = seen_in(planned, planned.hypotheses, others, study)
    assert assumed is not None and assumed.of(WATER, "water").unusable == pytest.approx(1 / 6)  # of six calls
    assert assumed.of(WATER, "water").share * 5 / 6 == pytest.approx(5 / 6)
    with monkeypatch.context() as patched:
        patched.setattr(seen, "MOST_ITEMS", 3)
        lists = seen_in(planned, [VARIED], others, study)
        assert lists is not None and ", of the items that could be named at most 3; true" in lists.words
    assert plan_study(study, few)["main"] == "middle"  # nobody has piloted it
    study.participants.update(pilot=True)
    assert plan_study(study, few)["main"] == "as in the pilot"


@pytest.mark.django_db
def test_the_page_asks_a_worker_and_shows_what_is_kept(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way.forget_progress(study, NAME)  # left by a study with this key in an earlier run
    asked: list[int] = []
    monkeypatch.setattr(views.simulate_plan, "delay", asked.append)
    client = log_in(study, "viewer", "viewer")
    address = reverse("plans:plan", args=["teas"])
    assert "not simulated yet" in client.get(address).content.decode()
    assert client.post(reverse("plans:simulate", args=["teas"])).status_code == 403
    client = log_in(study, "researcher", "researcher")
    for _ in range(2):  # the second press asks for nothing more
        assert client.post(reverse("plans:simulate", args=["teas"])).status_code == 302
    cache.clear()  # another process knows nothing of what this one remembers
    assert asked == [study.pk] and under_way.progress_of(study, NAME) == (0, 1)
    assert "Being simulated" in client.get(address).content.decode()
    monkeypatch.setattr("analysis.plans.kept.Setting", lambda: Setting((100, 200), 20))
    keep_plan(study)
    assert under_way.progress_of(study, NAME) is None and find_plan(study) is not None
    page = client.get(address).content.decode()
    assert "Where nothing differs" in page and "each hypothesis by itself is supported" in page
    registration = client.get(reverse("plans:registration", args=["teas"]))
    assert registration.content.startswith(b"%PDF") and registration["Content-Type"] == "application/pdf"
    told = page_data(study, find_plan(study))
    answers = dict(asked for _, section in told["sections"] for asked in section)
    assert answers["Sample size rationale"].startswith("Simulated. With 200 people, “")
    assert "Simulated: hopeful: of 20 studies" in answers["Stopping rule"] and all(answers.values())
    assert {len(each["curves"]) for each in told["simulated"]["hypotheses"]} == {2}
    assert "simulated, not real" in page and "Supported, with Holm" in page
    assert client.get(reverse("plans:progress", args=["teas"]))["HX-Refresh"] == "true"


@pytest.mark.django_db
def test_texts_for_registries_answer_every_question(study: Study) -> None:
    client = log_in(study, "viewer", "viewer")
    answers = client.get(reverse("plans:osf", args=["teas"])).json()["answers"]
    assert all(answers.values()) and "assam: Assam more often." in answers["Hypotheses"]
    text = client.get(reverse("plans:aspredicted", args=["teas"])).content.decode()
    assert text.count("\n\n") >= 8 and "8) Anything else" in text
    make_study("draft", defined(slug="others"))
    assert client.get(reverse("plans:osf", args=["others"])).status_code == 404


@pytest.mark.django_db
def test_a_registration_says_what_is_manipulated_and_each_familys_alpha() -> None:
    usual = answers_of(make_study("draft", defined(ASSAM)))
    assert usual["Study type"].startswith("Observational") and usual["Manipulated variables"].startswith("None: ")
    assert usual["Inference criteria"].startswith("Alpha 0.05 a family, corrected by Holm.")
    strict = replace(VARIED, family="second", alpha=0.01)
    arms = (Arm("off", "Memory off", "Switch it off.", ("teas",)),)
    answers = answers_of(make_study("draft", defined(ASSAM, strict, slug="others", arms=arms)))
    assert answers["Study type"].startswith("Experiment within people")
    assert answers["Manipulated variables"] == "state of the account: Memory off (teas)."
    assert answers["Inference criteria"].startswith("Alpha by family 0.05 (main) and 0.01 (second), corrected by Holm.")


def test_a_registration_says_all_that_a_person_is_asked() -> None:
    arms, repeats = (Arm("off", "Memory off", "Switch it off.", ("teas",)),), Repeats(("teas",), people=0.5)
    more = defined(ASSAM, arms=arms, repeats=repeats, matrix=make_matrix(3, 20))
    assert say_asked(more).removeprefix(say_asked(defined(ASSAM))) == (
        " In another state of the account, Memory off, everybody is asked teas once more."
        " 50\u202f% of people are asked twice: teas. Everybody is asked 3 of the 20 questions of sums."
    )
    assert say_drawn(more).removeprefix(say_drawn(defined(ASSAM))) == (
        " So is who is asked something again, and when."
        " Questions are drawn so that each is asked equally often, and stand at random places."
    )


@pytest.mark.django_db
def test_a_registration_counts_real_people_and_says_who_is_blinded() -> None:
    study = make_study("pilot", defined(ASSAM))
    make_participant(study)
    for origin in (Participant.Origin.SIMULATED, Participant.Origin.PREVIEW):
        make_participant(study, State.COMPLETED, origin=origin)
    answers = answers_of(study)
    assert answers["Explanation of existing data"] == "Nobody completed a pilot."
    assert answers["Blinding"] == "No blinding is involved."
    make_participant(study, State.COMPLETED)
    make_account("bea", study, "blinded")
    answers = answers_of(study)
    assert answers["Explanation of existing data"].startswith("1 person completed a pilot")
    assert answers["Blinding"].startswith("Comparisons are hidden from 1 member of the team until")
    over = make_study("closed", defined(ASSAM, slug="others"))
    make_account("cleo", over, "blinded")
    lift_blinding(over, "ada")
    over.refresh_from_db()
    lifted = f"until an owner lifted the blinding, {over.unblinded_at:%Y-%m-%d}."
    assert answers_of(over)["Blinding"] == f"Comparisons were hidden from 1 member of the team {lifted}"
