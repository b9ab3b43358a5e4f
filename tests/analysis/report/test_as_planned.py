"""As planned: verdicts by hand, hypotheses of a small study from file to page, and studies in which nothing differs."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.urls import reverse
from scipy.special import ndtr
from scipy.stats import binom

from analysis.answers.readings import read_new
from analysis.report.multiverse.choices import Answers
from analysis.report.outputs import write_html, write_pdf, write_text
from analysis.report.planned import part
from analysis.report.planned.answers import find_sides
from analysis.report.planned.deviations import spent_in_part
from analysis.report.planned.looks import ACTION, END, Standing, looks_taken, stand
from analysis.report.planned.part import LookError, hypothesis_rows, judge, say_verdict, take_look
from analysis.report.planned.verdicts import decide, say_verdicts
from analysis.report.reports import Reporting, report
from analysis.stats.hypotheses import tested
from analysis.stats.hypotheses.tested import level_at, spent_at
from benchmarks.claims import World, make_data
from surveys.models import AuditEvent, Participant, Study
from surveys.participation import recruitment
from surveys.reading.answers import RULES_VERSION
from surveys.studies import audit, lifecycle
from surveys.studies.audit import find_breaks
from surveys.studies.files.hypotheses import TESTS_VERSION, Hypothesis, PlanKeys
from tests.analysis.report.compare_samples import address, heading
from tests.analysis.report.report_samples import make_teas, tell
from tests.factories import make_definition
from tests.surveys.console.console_pages import log_in

WATER = Hypothesis(
    "water", "People answer less often rightly.", "correct_share", "field", "less", "offline/gpt-4o-mini"
)
ASSAM = Hypothesis("assam", "Assam is named.", "item_share", "field/chatgpt", "different", "field/gemini", item="assam")


@pytest.mark.parametrize(
    ("expected", "smallest", "ends", "passes", "verdict"),
    [
        ("more", 0.2, (0.22, 0.40), True, "supported"),
        ("more", 0.3, (0.22, 0.40), True, "supported"),
        ("more", 0.5, (0.22, 0.40), True, "there, but too small to matter"),
        ("more", 0.1, (-0.02, 0.14), False, "not told apart"),
        ("less", 0.1, (0.22, 0.40), True, "contradicted"),
        ("less", 0.1, (-0.40, -0.22), True, "supported"),
        ("different", 0.0, (-0.40, -0.22), True, "supported"),
        ("equal", 0.2, (-0.1, 0.1), True, "equal within bounds"),
        ("equal", 0.2, (0.25, 0.47), True, "contradicted"),
        ("equal", 0.2, (-0.47, -0.25), True, "contradicted"),
        ("equal", 0.2, (0.25, 0.47), False, "not told apart"),
        ("equal", 0.2, (0.1, 0.3), False, "not told apart"),
    ],
)
def test_what_an_interval_says(expected: str, smallest: float, ends: tuple, passes: bool, verdict: str) -> None:
    assert decide(expected, smallest, sum(ends) / 2, ends, passes) == verdict


def test_the_sentence_counts_verdicts() -> None:
    rows: list[dict[str, Any]] = [{"verdict": name} for name in ("contradicted", "supported", "not told apart")]
    assert say_verdicts(rows) == ("As planned: 1 hypothesis is supported, 1 is not told apart and 1 is contradicted.")


# --- a study from its file to the page


def make_planned(*hypotheses: Hypothesis, **changes: Any) -> Study:
    definition = replace(make_definition(20), hypotheses=hypotheses, **changes)
    return make_teas(definition=definition)


def planned_in(study: Study, seed: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = report(study, seed=seed, draws=20, parts=["as_planned"])["as_planned"]
    return found


def withdraw_first(study: Study) -> None:
    recruitment.withdraw(Participant.objects.earliest("finished_at"))
    study.refresh_from_db()


def close(study: Study) -> None:
    lifecycle.close(study, "me")
    study.refresh_from_db()


@pytest.mark.django_db
def test_a_study_without_hypotheses_has_nothing_planned() -> None:
    assert planned_in(make_teas()) == {}


@pytest.mark.django_db
def test_hypotheses_come_first_and_wait_for_people() -> None:
    study = make_planned(WATER, ASSAM)
    found = report(study, draws=20)
    water, assam = found["as_planned"]["hypotheses"]
    # The study is launched, so there is no number before the end or a look.
    assert (water["value"], water["ci"], water["p"]) == (None, None, None)
    assert water["why"] == "Nobody has looked yet." and (water["a"]["n"], water["b"]["n"]) == (4, 6)
    assert (water["verdict"], water["n"], water["of_n"]) == ("not enough yet", 4, 80)
    assert assam["value"] is None and assam["b"]["n"] == 0
    for written in (write_text(found).upper(), write_html(found).upper()):
        assert written.index("NOT ENOUGH YET: 4 OF 80 PEOPLE") < written.index("EXPLORED: WHAT STANDS OUT")
    assert write_pdf(found).startswith(b"%PDF")
    client = log_in(study, "viewer")
    page = client.get(address())
    assert "not enough people yet to decide" in heading(page)
    assert page.content.decode().index("People answer less often rightly.") < page.content.decode().index("Explored:")


@pytest.mark.django_db
def test_a_draft_shows_its_numbers_because_nothing_is_frozen() -> None:
    study = make_planned(WATER)
    Study.objects.filter(pk=study.pk).update(launched_at=None, state="draft")
    study.refresh_from_db()
    (water,) = planned_in(study)["hypotheses"]
    # Two of four people answer C, five of six calls.
    assert water["value"] == pytest.approx(2 / 4 - 5 / 6) and water["verdict"] == "not enough yet"


@pytest.mark.django_db
def test_a_look_is_taken_once_and_stays_in_the_audit_trail() -> None:
    study = make_planned(replace(WATER, alpha=0.01), plan=PlanKeys(looks=(4, 40)))
    client = log_in(study, "researcher")
    page = client.get(address()).content.decode()
    assert "Take look 1 of 3" in page and "Not yet: look 1 of 3 can be taken" in page
    assert not AuditEvent.objects.filter(action=ACTION).exists()
    take = reverse("compare:take-look", args=[study.slug])
    assert "Holm within a family, alpha 0.01 a family" in re.sub(r"\s+", " ", page)
    for _ in range(2):
        assert client.post(take, {"at": 4}).status_code == 302
    event = AuditEvent.objects.get(action=ACTION)
    assert (event.subject, event.detail["people"]) == ("look 1 of 3", 4)
    (alpha,) = event.detail["alpha"]
    assert alpha["family"] == "main" and alpha["spent"] == pytest.approx(spent_at(4 / 80, 0.01), rel=1e-5)
    assert event.detail["verdicts"] == [{"hypothesis": "water", "prompts": ["water"], "verdict": "not enough yet"}]
    assert not list(find_breaks(study))
    tell(study, ["Assam"], "C")
    read_new(study)
    found = planned_in(study)
    # Those who completed first, regardless of later arrivals.
    assert found["hypotheses"][0]["value"] == pytest.approx(2 / 4 - 5 / 6)
    assert found["plan"]["look"] == 4 and found["plan"]["taken"][0]["at"] == 4 and not found["deviations"]
    page = client.get(address()).content.decode()
    assert "Look now, outside the plan" in page
    assert "Look 1 of 3, at 4 people</td>" in page and "<code>main</code>: " in page and "of alpha 0.01 spent" in page


@pytest.mark.django_db
def test_a_look_outside_the_plan_spends_alpha_and_is_a_deviation() -> None:
    study = make_planned(WATER, plan=PlanKeys(looks=(40,)))
    with pytest.raises(LookError, match="no look to take at 5 people"):
        take_look(Reporting(study).data, 5, "me")
    assert take_look(Reporting(study).data, 4, "me") and not take_look(Reporting(study).data, 4, "you")
    found = planned_in(study)
    assert [entry["text"] for entry in found["deviations"]] == ["A look that was not planned, at 4 people, by me."]
    standing = replace(stand(study), people=80)
    assert standing.times == (4 / 80, 1.0) and standing.level(0.05) == pytest.approx(level_at(1, (4 / 80, 1.0), 0.05))


@pytest.mark.django_db
def test_a_plan_of_an_earlier_analysis_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "RULES_VERSION", RULES_VERSION - 1)
    study = make_planned(WATER)
    found = planned_in(study)
    assert found["plan"]["analysis"]["planned"] == {"rules": RULES_VERSION - 1, "tests": TESTS_VERSION}
    (said,) = found["deviations"]
    assert said["text"].startswith(f"Planned with reading rules {RULES_VERSION - 1}, reported with {RULES_VERSION}.")


@pytest.mark.django_db
def test_a_planned_look_that_nobody_took_spends_nothing() -> None:
    study = make_planned(WATER, plan=PlanKeys(looks=(3,)))
    close(study)
    found = planned_in(study)
    assert found["hypotheses"][0]["level"] == 0.05
    assert found["deviations"][0]["text"] == "Look 1 of 2, at 3 people, was not taken; it spent no alpha."
    with pytest.raises(LookError, match="at its end"):
        take_look(Reporting(study).data, 3, "me")


@pytest.mark.django_db
def test_a_closed_study_is_decided_and_says_what_differs_from_the_plan() -> None:
    study = make_planned(WATER)
    for number in range(20):
        tell(study, ["Assam", "Sencha"], "A" if number % 3 else "C", chatbot="gemini")
    read_new(study)
    later = replace(WATER, slug="later", expected="different", measure="entropy_bits")
    definition = replace(lifecycle.definition_of(study.current_id), hypotheses=(WATER, later))
    lifecycle.load_definition(definition, "me", "Gemini too.")
    study.refresh_from_db()
    close(study)
    found = planned_in(study)
    water, added = found["hypotheses"]
    assert (water["later"], added["later"]) == (False, True)
    assert water["verdict"] == "not enough" and say_verdict(water) == "not enough: 6 of 20 repeats"
    assert found["plan"]["closed"] and found["plan"]["version"] == 1
    said = [entry["text"] for entry in found["deviations"]]
    assert said[0] == "Gemini too. It changes the plan." and said[1] == "Fewer people: 24 of 80 completed."


@pytest.mark.django_db
def test_a_run_that_is_not_there_is_named() -> None:
    study = make_planned(replace(WATER, b="offline/gpt-5"))
    found = planned_in(study)
    assert found["hypotheses"][0]["why"] == "There is no run with answers of offline/gpt-5 yet."
    assert [entry["kind"] for entry in found["deviations"]] == ["run"]


# --- who has looked


def standing_of(people: int, *looks: int, planned: int = 100, closed: bool = False) -> Standing:
    """The standing after looks at these numbers of people, taken when 100 were planned."""
    taken = tuple({"look": "", "at": at, "people": at, "planned": 100} for at in looks)
    return Standing(people, planned, (30, 60), taken, is_launched=True, is_closed=closed)


def test_who_closes_after_a_look_does_not_get_its_alpha_back() -> None:
    at_60 = level_at(0, (0.6, 1.0), 0.05)
    assert standing_of(60, 60, closed=True).level(0.05) == at_60 == standing_of(60, 60).level(0.05) < 0.01
    assert standing_of(70, 60, closed=True).level(0.05) == level_at(1, (0.6, 0.7, 1.0), 0.05) < 0.02
    # Neither fewer places nor a withdrawal give it back.
    assert standing_of(60, 60, planned=60).level(0.05) == at_60
    assert standing_of(59, 60, closed=True).level(0.05) == at_60
    # Nobody has seen anything: the end may come early, at full alpha.
    assert standing_of(60, closed=True).level(0.05) == 0.05 == standing_of(100).level(0.05)
    assert standing_of(103, 60).times == (0.6, 1.0)


def test_closing_at_the_look_that_pleases_claims_in_no_more_than_alpha() -> None:
    rng, studies = np.random.default_rng(1), 20_000
    paths = np.cumsum(rng.normal(0, np.sqrt([0.3, 0.3, 0.4]), (studies, 3)), axis=1)
    p = 2 * ndtr(-np.abs(paths) / np.sqrt([0.3, 0.6, 1.0]))
    first = standing_of(30, 30, closed=True).level(0.05)
    second = standing_of(60, 30, 60, closed=True).level(0.05)
    end = standing_of(100, 30, 60).level(0.05)
    claimed = (p[:, 0] <= first) | (p[:, 1] <= second) | (p[:, 2] <= end)
    assert 0.04 < claimed.mean() < 0.055


def ended(people: int, planned: int, *looks: int, at: int = 100) -> Standing:
    """The standing after looks and an end shown at `at` people, all then planned; `planned` are planned now."""
    before = standing_of(at, *looks, planned=at)
    return replace(before.and_at(at, ""), people=people, planned=planned)


def test_an_end_that_was_shown_is_decided_once() -> None:
    for standing in (ended(100, 200), ended(150, 200), ended(97, 200), ended(220, 200), ended(100, 50)):
        assert (standing.is_over, standing.at, standing.times, standing.level(0.05)) == (True, 100, (1.0,), 0.05)
        assert standing.next is None and not standing.is_unnoted
    assert ended(180, 200, 60).times == (0.6, 1.0)
    # Nor is alpha given back where it was spent in part.
    assert ended(180, 200, 60, at=60).level(0.05) == level_at(0, (0.6, 1.0), 0.05)
    assert standing_of(60, 60, planned=50).is_unnoted


@pytest.mark.parametrize("looks", [(), (60,)])
def test_places_added_after_an_end_that_was_shown_add_no_claims(looks: tuple[int, ...]) -> None:
    rng, studies = np.random.default_rng(1), 20_000
    people = np.array([60, 100, 200])
    paths = np.cumsum(rng.normal(0, np.sqrt(np.diff(people, prepend=0)), (studies, 3)), axis=1)
    p = dict(zip(people.tolist(), (2 * ndtr(-np.abs(paths) / np.sqrt(people))).T, strict=True))
    standings = [*(standing_of(at, at) for at in looks), standing_of(100, *looks), ended(200, 200, *looks)]
    claimed = np.any([p[standing.at or 0] <= standing.level(0.05) for standing in standings], axis=0)
    assert 0.045 < claimed.mean() < 0.053


def test_an_end_with_less_than_alpha_says_which_p_passes() -> None:
    families = {"main": 0.05, "strict": 0.01}
    (said,) = spent_in_part(standing_of(60, 60, planned=60), {"main": 0.05})
    assert said["text"] == (
        "The end is at 60 of the 100 people planned when somebody looked, so that not all of alpha is spent: "
        "a hypothesis alone passes with p ≤ 0.0076 (main)."
    )
    (said,) = spent_in_part(standing_of(70, 60, closed=True), families)
    assert said["text"].endswith(" passes with p ≤ 0.013 (main) and 0.0014 (strict).")
    for whole in (standing_of(60, 60), standing_of(100, 60), standing_of(60, closed=True), ended(70, 200)):
        assert not list(spent_in_part(whole, families))


def test_the_next_look_is_none_that_was_taken() -> None:
    assert (standing_of(59, 60).next, standing_of(59, 30).next) == (100, 60)


@pytest.mark.django_db
def test_a_withdrawal_takes_nobody_else_into_a_look() -> None:
    study = make_planned(WATER, plan=PlanKeys(looks=(3,)))
    assert take_look(Reporting(study).data, 3, "me")  # C, C and A; the fourth has nothing
    found = planned_in(study)["hypotheses"][0]
    assert found["value"] == pytest.approx(2 / 3 - 5 / 6) and found["a"]["n"] == 3
    withdraw_first(study)
    found = planned_in(study)["hypotheses"][0]
    assert found["value"] == pytest.approx(1 / 2 - 5 / 6) and found["a"]["n"] == 2
    until = AuditEvent.objects.get(action=ACTION).detail["until"]
    assert until not in {str(at) for at in Participant.objects.values_list("finished_at", flat=True)}


@pytest.mark.django_db
def test_an_end_that_was_shown_stays_the_end() -> None:
    study = make_ended()
    assert stand(study).is_over and not AuditEvent.objects.filter(action=END).exists()
    for seed in range(2):
        assert planned_in(study, seed)["hypotheses"][0]["value"] is not None
    assert AuditEvent.objects.get(action=END).detail["at"] == 4 and not list(find_breaks(study))
    withdraw_first(study)
    found = planned_in(study)
    assert found["hypotheses"][0]["value"] is not None and found["hypotheses"][0]["level"] == 0.05
    assert found["plan"]["next"] is None and not found["plan"]["taken"]
    close(study)
    for each in (found, planned_in(study)):
        (fewer,) = each["deviations"]
        assert (fewer["text"], fewer["when"]) == ("Fewer people: 3 of 4 completed.", "withdrawn since the end")


@pytest.mark.django_db
def test_the_sentence_of_a_study_of_three_people_that_is_over_waits_for_nobody() -> None:
    study = make_ended()
    withdraw_first(study)
    client = log_in(study, "viewer")
    assert heading(client.get(address())) == "As planned: 1 hypothesis, not enough people yet to decide."
    lifecycle.close(study, "me")
    page = client.get(address())
    assert heading(page) == "As planned: 1 hypothesis, not enough people to decide."
    assert "Not enough: 3 of 20 people" in page.content.decode()


def make_ended(places: int = 4) -> Study:
    small = make_definition(places, hypotheses=(WATER,))
    return make_teas(definition=replace(small, chatbots=small.chatbots[:1], cells=small.cells[:1]))


@pytest.mark.django_db
def test_who_comes_after_the_end_was_shown_is_explored_and_counted() -> None:
    study = make_ended()
    before = planned_in(study)["hypotheses"][0]
    now = lifecycle.definition_of(study.current_id)
    cells = tuple(replace(cell, places=8) for cell in now.cells)
    more = replace(now, cells=cells, plan=PlanKeys(looks=(6,)))  # a look that could never be taken
    lifecycle.load_definition(more, "me", "More people.")
    study.refresh_from_db()
    for _ in range(3):
        tell(study, ["Assam"], "C")
    read_new(study)
    recruitment.withdraw(Participant.objects.latest("finished_at"))
    study.refresh_from_db()
    planned = planned_in(study)
    assert {name: planned["hypotheses"][0][name] for name in before} == before
    assert (planned["plan"]["people"], planned["plan"]["planned"], planned["plan"]["came_later"]) == (6, 8, 2)
    assert planned["plan"]["next"] is None and not planned["plan"]["taken"]
    assert [entry["text"] for entry in planned["deviations"]] == [
        "More people. It changes the plan.",
        "2 people came after the end was shown; they are among what is explored.",
    ]
    multiverse = Answers(study).data({}, 0, 20)
    assert len(multiverse.people) == 4 < len(Reporting(study).data.people)
    assert AuditEvent.objects.filter(action=END).count() == 1


@pytest.mark.django_db
def test_of_two_who_see_the_end_at_once_one_notes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_ended()

    def waits(waiting: Study) -> None:
        monkeypatch.undo()
        planned_in(waiting, seed=1)

    monkeypatch.setattr(part, "hold_withdrawals", waits)
    planned_in(study)
    assert AuditEvent.objects.filter(action=END).count() == 1


@pytest.mark.django_db
def test_looks_of_earlier_versions_are_read() -> None:
    study = make_planned(WATER)
    audit.record(study, "me", ACTION, look="", at=4, alpha={"items": {"alpha": 0.05, "spent": 0.1, "level": 0.2}})
    (look,) = looks_taken(study)
    assert look["alpha"] == [{"family": "items", "alpha": 0.05, "spent": 0.1, "level": 0.2}]
    planned_in(study)


# --- studies in memory

PAIR = {"a": "field/chatgpt", "b": "field/gemini"}
NOTHING_DIFFERS = (
    Hypothesis("item", "", "item_share", **PAIR, expected="different", prompts=("list-0",), item="item 00"),
    Hypothesis("varied", "", "entropy_bits", **PAIR, expected="different", prompts=("list-0", "list-1")),
    Hypothesis("apart", "", "jsd_excess", **PAIR, expected="more", prompts=("list-0", "list-1")),
    Hypothesis("right", "", "correct_share", **PAIR, expected="different", prompts=("choice-0", "choice-1")),
)
STUDIES = 120


@pytest.mark.slow
def test_where_nothing_differs_a_family_supports_anything_in_five_percent() -> None:
    supported = 0
    for seed in range(STUDIES):
        data, _ = make_data(World(120, 20, lists=2, choices=2, mix=0.5), seed, 200)
        rows = [row for each in NOTHING_DIFFERS for row in hypothesis_rows(data, find_sides(data, each), PlanKeys())]
        judge(rows, float, None)
        assert all(row["value"] is not None and row["ci"] for row in rows)
        supported += any(row["verdict"] == "supported" for row in rows)
    assert supported <= binom.ppf(0.99, STUDIES, 0.05)


def test_p_and_verdict_agree_where_a_hypothesis_has_no_p() -> None:
    row = {"family": "main", "alpha": 0.05, "expected": "more", "smallest": 0.0, "measure": "item_share"}
    side, found = {"n": 30, "unit": "person"}, {"value": 0.1, "ci": (0.01, 0.2), "p": 0.04}
    rows = [row | {"a": side, "b": side} | found, row | {"a": side, "b": side, "value": None, "ci": None, "p": None}]
    judge(rows, float, None)
    assert [(each["p_holm"], each["verdict"]) for each in rows] == [(0.08, "not told apart"), (None, "not told apart")]


@pytest.mark.parametrize(("family", "verdict"), [(1, "contradicted"), (2, "not told apart")])
def test_an_expected_equality_is_contradicted_by_its_p_in_the_family(family: int, verdict: str) -> None:
    """The 95 % interval lies beyond the bounds either way."""
    found = tested.Tested(0.3, (0.21, 0.39), None)
    row = {"family": "main", "alpha": 0.05, "expected": "equal", "smallest": 0.2, "measure": "item_share"}
    row |= dict.fromkeys("ab", {"n": 30, "unit": "person"}) | {"value": found.value, "ci": found.ci}
    rows = [row | {"p": p} for p in (found.p_of_bounds(0.2), 0.9)[:family]]
    judge(rows, float, None)
    assert 0.025 < rows[0]["p"] < 0.05 and rows[0]["verdict"] == verdict


def test_a_planted_difference_is_supported_and_the_other_way_contradicted() -> None:
    right = replace(NOTHING_DIFFERS[0], a="field", b="offline/gpt-4o-mini")
    data, item = make_data(World(400, 400, lists=1, planted=0.3), 1, 200)
    for expected, verdict in (("more", "supported"), ("less", "contradicted")):
        hypothesis = replace(right, item=item, expected=expected, smallest=0.1)
        rows = hypothesis_rows(data, find_sides(data, hypothesis), PlanKeys())
        judge(rows, float, None)
        assert [row["verdict"] for row in rows] == [verdict]
