"""The gate: figures of each annotator, limits, a frozen decision, and the invite list."""

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from analysis.agreement import annotations
from analysis.agreement.gate_views import (
    LIMITS,
    AnnotatorFigures,
    broken_limits,
    format_rule,
    measure_distance,
    read_limits,
    unsure_limits,
)
from analysis.charts.tables import PLAIN, SHARE, Cell
from surveys.annotation.items import push_items
from surveys.annotation.work import next_tasks
from surveys.models import AuditEvent, GateDecision, Participant, Slot, Study
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import make_annotated, pseudonyms_of
from tests.factories import annotate, item_of, make_annotation_study, make_annotator, make_items
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import lines_of, log_in, said, text_of

pytestmark = pytest.mark.django_db
# The third person answers the opposite of the others.
SAID = ("yyyynnnn", "yyyynnny", "nnnnyyyy")


world = lasting_world(lambda: make_annotated("pilot", said=SAID)[0])


@pytest.fixture
def piloted(world: int) -> tuple[Study, Client, list[str]]:
    study = Study.objects.get()
    return study, log_in(study, "researcher"), pseudonyms_of(study)


def address_of(name: str, slug: str = "teas") -> str:
    return reverse(f"agreement:{name}", args=[slug])


def form_of(people: list[str], **changes: str) -> dict[str, str]:
    kept = {f"keep-{name}": "yes" for name in people[:2]} | {f"keep-{people[2]}": "no"}
    return {
        "part": "pilot",
        "question": "relevance",
        "kappa": "0.2",
        "shared": "5",
        "reason": "Turned round.",
        **kept,
        **changes,
    }


def test_each_annotator_has_labels_time_kappas_and_alpha_without(piloted) -> None:
    _, client, people = piloted
    page = client.get(address_of("gate"), {"shared": "5"})
    person = page.context["people"][0]
    # κ 0.75 with the second, −1 with the third.
    assert (person.labels, person.seconds, person.agreement.value) == (8, 12.0, pytest.approx(-0.125))
    low, high = person.agreement.ci
    assert -1 <= low < -0.125 < high and person.agreement.n == 2
    assert [(name, number.n) for name, number in person.pairs] == [(people[1], 8), (people[2], 8)]
    assert page.context["people"][2].without.value > 0.7
    assert "mini" not in lines_of(page)  # a judge cannot be invited


def test_a_made_up_annotator_is_marked() -> None:
    study = make_annotation_study(slug="herbs")
    make_items(study, 2)
    for origin in ("simulated", "prolific"):
        annotate(make_annotator(study, origin=origin))
    page = log_in(study, "viewer").get(address_of("gate", "herbs"))
    assert sorted(person.simulated for person in page.context["people"]) == [False, True]
    assert lines_of(page).count("simulated") == 1


def test_limits_of_the_address_show_who_would_stay(piloted) -> None:
    _, client, people = piloted
    page = client.get(address_of("gate"), {"kappa": "-0.15", "shared": "5"})
    assert (page.context["stay"], page.context["broken"][people[2]]) == (2, ["mean κ −0.88"])
    assert client.get(address_of("gate"), {"kappa": "-0.2", "labels": "10"}).context["stay"] == 0


def test_a_moved_slider_gets_only_the_part_that_changes(piloted) -> None:
    _, client, _ = piloted
    part = text_of(client.get(address_of("gate"), {"kappa": "-0.15", "shared": "5"}, headers={"HX-Request": "true"}))
    assert "<html" not in part and "2 of 3 would stay" in part and 'id="kappa-shown"' in part


def test_each_position_of_the_slider_of_shared_items_is_computed_once(piloted, monkeypatch) -> None:
    _, client, _ = piloted
    computed = []
    measure = annotations.measure_agreement
    monkeypatch.setattr(annotations, "measure_agreement", lambda *given: computed.append(given) or measure(*given))
    for shared in ("5", "10", "5", "10"):
        client.get(address_of("gate"), {"shared": shared})
    assert len(computed) == 2  # for its one question, without groups


def test_a_decision_freezes_rule_limits_reason_and_figures(piloted) -> None:
    study, client, people = piloted
    note = {f"note-{name}": "Two agree well." for name in people[:2]}
    response = client.post(address_of("decide"), form_of(people, **note), follow=True)
    assert said(response) == ["Decision 1: 2 kept, 1 not."]
    decision = GateDecision.objects.get(study=study)
    limits = {"labels": 0, "kappa": 0.2, "seconds": 0, "share": 1, "gold_share": 0, "shared": 5}
    limits |= {"kappa_most": 1, "distance": 1}
    assert decision.thresholds == limits | {"question": "relevance"}
    assert (decision.reason, decision.decided_by, decision.pilot) == ("Turned round.", "ada", True)
    assert decision.rule.startswith("Kept: a mean κ of 0.2 or more with the others")
    verdict = decision.verdicts.get(participant__pseudonym=people[2])
    assert (verdict.kept, verdict.figures["labels"], verdict.figures["mean_kappa"]) == (False, 8, pytest.approx(-0.875))
    assert verdict.figures["mean_kappa_pairs"] == 2 and verdict.figures["mean_kappa_ci"][1] < 0
    assert Slot.objects.filter(participant=None).count() == 8  # those of the third person, open again
    words = lines_of(client.get(address_of("gate")))
    assert "not kept before" in words and "κ −0.88 (−1.00 to" in words
    assert "3 pilot annotators; 1 decision so far." in words and "α of all 2: 0." in words  # without the third


def test_pairs_of_a_few_items_are_in_no_mean(piloted) -> None:
    """κ of eight items is shown, but the decision who stays does not rest on it."""
    _, client, people = piloted
    page = client.get(address_of("gate"))
    person = page.context["people"][0]
    assert person.agreement.value is None and page.context["stay"] == 3
    words = lines_of(page)
    assert "n = 8, too few to count" in words
    assert "Not sure: mean κ is not known: shares too few items with any other of its kind" in words
    assert "of whom at least 20 items are shared" in words


def test_gold_items_show_who_knows_what_is_right() -> None:
    study = make_annotation_study("pilot", "herbs", overlap=2, gold_every=2)
    make_items(study, 4, pilot=True)
    known = [item_of(number, purpose="gold", gold={"relevance": "yes"}) for number in (100, 101)]
    push_items(study, known, "tests", pilot=True)
    knows, guesses = make_annotator(study), make_annotator(study)
    while annotate(knows):
        pass
    while tasks := next_tasks(guesses):
        annotate(guesses, tasks[0], relevance="yes" if tasks[0].item.key == "item-100" else "no")
    page = log_in(study, "researcher").get(address_of("gate", "herbs"), {"kappa": "-0.2", "gold_share": "0.8"})
    right, half = page.context["people"]
    # Wilson's interval of one in two.
    assert (right.gold.value, half.gold.value, half.gold.n) == (1, 0.5, 2)
    assert half.gold.ci == (pytest.approx(0.0945, abs=1e-4), pytest.approx(0.9055, abs=1e-4))
    assert page.context["broken"] == {right.pseudonym: [], half.pseudonym: ["gold items right 50\u202f%"]}
    assert "gold right 50 % 9 % to 91 %, n = 2" in lines_of(page)
    assert "80 % or more of their gold items right" in lines_of(page)
    assert half.figures["gold_right"] == 0.5 and half.figures["gold_items"] == 2


@pytest.mark.parametrize(
    ("change", "fault"), [({"reason": " "}, "Say why you decide so"), ({}, "this is not what the rule says")]
)
def test_a_decision_needs_a_reason_and_notes_where_it_leaves_the_rule(piloted, change, fault) -> None:
    _, client, people = piloted
    response = client.post(address_of("decide"), form_of(people, **change))
    assert response.status_code == 422 and fault in lines_of(response)
    assert not GateDecision.objects.exists()


def test_nobody_is_decided_about_who_was_not_on_the_form(piloted) -> None:
    _, client, people = piloted
    form = form_of(people, kappa="-0.2")
    del form[f"keep-{people[2]}"]
    client.post(address_of("decide"), form)
    assert set(GateDecision.objects.get().verdicts.values_list("participant__pseudonym", flat=True)) == set(people[:2])


def test_the_invite_list_holds_the_kept_and_is_recorded(piloted) -> None:
    study, client, people = piloted
    client.post(address_of("decide"), form_of(people, kappa="-0.2", **{f"note-{people[2]}": "Turned round."}))
    listed = log_in(study, "owner", "grace").post(address_of("invited"))
    pids = Participant.objects.filter(pseudonym__in=people[:2]).order_by("pk").values_list("pid", flat=True)
    assert listed.content.decode() == "".join(f"{pid}\n" for pid in pids)
    assert AuditEvent.objects.filter(action="Prolific ids exported", actor="grace").count() == 1


def test_a_decision_stands_beside_what_its_figures_leave_open() -> None:
    person = AnnotatorFigures("p", None, labels=30, agreement=Cell(0.25, PLAIN, (0.1, 0.4), 3))
    assert broken_limits(person, read_limits({"kappa": "0.2"})) == []
    assert unsure_limits(person, read_limits({"kappa": "0.2"})) == ["mean κ may be 0.10 to 0.40, on either side of 0.2"]
    assert unsure_limits(person, read_limits({"kappa": "0.05"})) == []
    assert unsure_limits(person, read_limits({"kappa": "-0.2"})) == []  # not part of the rule
    alike = AnnotatorFigures(
        "p", None, labels=30, agreement=Cell(1, PLAIN, None, 3, "no interval: every draw is alike")
    )
    assert unsure_limits(alike, read_limits({})) == ["mean κ has no interval: every draw is alike"]


def test_what_could_not_be_measured_breaks_no_limit() -> None:
    limits = read_limits({"kappa": "0.9", "seconds": "60"})
    assert broken_limits(AnnotatorFigures("p", None, labels=3), limits) == []
    assert broken_limits(AnnotatorFigures("p", None), limits) == ["no labels that count"]


@pytest.mark.parametrize("text", ["", "nan", "inf", "2", "x"])
def test_a_limit_out_of_bounds_is_where_its_slider_starts(text: str) -> None:
    assert read_limits({"kappa": text})["kappa"] == 0.2


def test_the_rule_says_only_the_limits_that_are_on() -> None:
    assert format_rule({limit.name: limit.off for limit in LIMITS}, "q") == "Everybody with labels that count is kept."
    limits = read_limits({"kappa": "-0.2", "labels": "10", "share": "0.9"})
    assert format_rule(limits, "q").startswith(
        "Kept: at least 10 labels and no label that takes more than 90\u202f% of theirs"
    )


def test_a_figure_at_the_end_where_its_limit_is_off_is_written_as_a_number() -> None:
    """One label only, no gold item right, and labels always like the others’ are what the limits are for."""
    alike, never = Cell(1, PLAIN, (0.9, 1), 3), Cell(0, SHARE, (0, 0.4), 6)
    person = AnnotatorFigures("p", None, labels=30, shares=(("y", Cell(1, SHARE, (0.9, 1), 30)),), seconds=0)
    person = replace(person, agreement=alike, gold=never)
    limits = read_limits({"kappa_most": "0.6", "share": "0.9", "gold_share": "0.5", "seconds": "5"})
    assert broken_limits(person, limits) == [
        "mean κ 1", "median active seconds 0", "share of one label 100\u202f%", "gold items right 0\u202f%"
    ]  # fmt: skip
    opposed = replace(person, agreement=Cell(-0.2, PLAIN, (-0.4, 0), 3))
    assert broken_limits(opposed, read_limits({"kappa": "0.2"})) == ["mean κ −0.2"]


def test_the_gate_has_two_sides() -> None:
    """The paper kept people whose κ was 0.4 to 0.6, and none whose label shares were far from the others'."""
    limits = read_limits({"kappa": "0.4", "kappa_most": "0.6", "distance": "0.2"})
    found = {}
    for name, kappa, distance in (("kept", 0.5, 0.1), ("low", 0.3, 0.1), ("alike", 0.9, 0.1), ("far", 0.5, 0.4)):
        far = Cell(distance, SHARE, (distance - 0.15, distance + 0.15), 30)
        agreement = Cell(kappa, PLAIN, (kappa - 0.01, kappa + 0.01), 2)
        found[name] = AnnotatorFigures(name, None, labels=30, agreement=agreement, distance=far)
    assert {name: broken_limits(person, limits) for name, person in found.items()} == {
        "kept": [],
        "low": ["mean κ 0.3"],
        "alike": ["mean κ 0.9"],
        "far": ["distance from the others’ labels 40\u202f%"],
    }
    (unsure,) = unsure_limits(found["kept"], limits)
    assert unsure.startswith("distance from the others’ labels may be") and "on either side of 20" in unsure
    rule = format_rule(limits, "relevance")
    assert "a mean κ of 0.4 or more with the others" in rule and "a mean κ of 0.6 or less with the others" in rule


def test_distance_is_from_the_mean_of_the_others() -> None:
    """Shares of yes and no: 0.2 and 0.8, 0.4 and 0.6, 0.9 and 0.1. For the third person the others' mean is 0.3."""
    raters = [
        {"rater": name, "n": 100, "shares": {"y": {"value": y}, "n": {"value": 1 - y}}}
        for name, y in zip("abc", (0.2, 0.4, 0.9), strict=True)
    ]
    far = measure_distance(raters[2], raters[:2], ("y", "n"))
    assert far.value == pytest.approx(0.6) and far.ci[0] < 0.6 < far.ci[1] and far.ci[1] - far.ci[0] < 0.15
    same = measure_distance(raters[1] | {"n": 10_000}, raters[1:2], ("y", "n"))
    assert same.value == same.ci[0] == 0 < same.ci[1]  # though by chance nearly every draw differs
    assert measure_distance(raters[0], [], ("y", "n")).value is None
    one = {"rater": "d", "n": 1, "shares": {"y": {"value": 1}, "n": {"value": 0}}}
    alike = measure_distance(one, raters, ("y", "n"))
    assert (alike.value, alike.range) == (pytest.approx(0.5), "")  # not 50 % to 50 %
    person = AnnotatorFigures("p", None, labels=1, distance=alike)
    limits = read_limits({"kappa": "-0.2", "distance": "0.5"})
    assert unsure_limits(person, limits) == [
        "distance from the others’ labels has no interval: every draw of their labels is the same"
    ]


def test_where_only_judges_have_labelled_the_gate_waits_for_annotators() -> None:
    study = make_annotation_study(slug="herbs")
    for item in make_items(study, 2):
        record_judgement(item, "mini", {"relevance": "yes"})
    assert "No annotator has labelled an item yet." in lines_of(log_in(study).get(address_of("gate", "herbs")))
