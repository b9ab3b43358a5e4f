"""As planned, for labels: hypotheses from the file to the page, and studies in which nothing is as expected."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse
from scipy.stats import binom

from analysis.agreement.agreements import agreement_of, rows_for
from analysis.agreement.bundles import readme
from analysis.plans.annotators.drawing import HOPEFUL, Design, RatedQuestion, RaterScenario, draw_labels
from analysis.report.planned.looks import END
from analysis.report.planned.verdicts import decide, say_difference, say_wanted
from analysis.stats.agreement.estimates import Estimate
from analysis.stats.agreement.labels import Labels, Scale
from analysis.stats.hypotheses.measures import alpha_of_people, kappa_with_majority, share_preferring
from analysis.stats.hypotheses.tested import of_interval
from analysis.stats.intervals import holm
from surveys.annotation.items import push_items
from surveys.annotation.labels import LabelSubmission, submit, take_back
from surveys.annotation.work import open_task, seal_task, task_of
from surveys.models import AnnotationItem, AuditEvent, Participant, Study
from surveys.participation import recruitment
from surveys.studies import lifecycle
from surveys.studies.audit import find_breaks
from surveys.studies.files.hypotheses import Hypothesis
from surveys.studies.labels import record_judgement
from tests.analysis.agreement.annotation_samples import WORDS, label_all, number_of
from tests.analysis.report.compare_samples import heading
from tests.analysis.stats.label_factories import make_labels
from tests.factories import (
    LABELS,
    annotate,
    definition_of,
    item_of,
    make_annotation_study,
    make_annotator,
    make_definition,
    make_items,
    make_study,
)
from tests.lasting import lasting_world
from tests.surveys.console.console_pages import lines_of, log_in

RELIABLE = Hypothesis("reliable", "People agree.", "alpha", "people", "more", reference=0.5)
JUDGE = Hypothesis("judge", "A judge helps.", "kappa", "good", "more")
BETTER = Hypothesis("better", "One is better.", "kappa", "good", "more", "poor")
ABSENT = replace(JUDGE, slug="absent", a="nobody")
# What three people say about 24 items, the second and the third once differently, and two judges.
FIRST = "yynn" * 6
SAID = (FIRST, "n" + FIRST[1:], FIRST[:-1] + "y")
JUDGED = {"good": "yynn" * 5 + "nnnn", "poor": "ynyn" * 6}


def make_labelled(*hypotheses: Hypothesis, people: int = 3, slug: str = "teas") -> Study:
    study = make_annotation_study(slug=slug, hypotheses=hypotheses, quota=30, overlap=3)
    make_items(study, 24)
    for letters in SAID[:people]:
        label_all(make_annotator(study), letters)
    for item in AnnotationItem.objects.filter(study=study):
        for judge, letters in JUDGED.items():
            record_judgement(item, judge, {"relevance": WORDS[letters[number_of(item)]]})
    return study


labelled = lasting_world(lambda: make_labelled(RELIABLE, JUDGE, BETTER, ABSENT))
at_end = lasting_world(lambda: make_labelled(RELIABLE, JUDGE, slug="mints"))


@pytest.fixture
def study(labelled: int, db: None) -> Study:
    return Study.objects.select_related("current").get(pk=labelled)


@pytest.fixture
def mints(at_end: int, db: None) -> Study:
    """A study that has all its labels, and the verdicts of which nobody has seen yet."""
    return Study.objects.select_related("current").get(pk=at_end)


def test_verdicts_come_when_all_labels_are_given(study: Study) -> None:
    found = agreement_of(study)
    alpha, judge, better, absent = found["as_planned"]["hypotheses"]
    question = found["questions"][0]
    assert (alpha["value"], alpha["ci"]) == (question["alpha"]["nominal"], question["ci"]["alpha_nominal"])
    # Against the majority, which is the first person's, the good judge says n for 2 of 12 y: κ = (22/24 - 1/2) / (1/2).
    assert judge["value"] == pytest.approx(5 / 6) and (judge["reference"], judge["b"]) == (0, None)
    # The poor one agrees on half: κ = 0.
    assert better["value"] == pytest.approx(5 / 6) and "reference" not in better and better["a"]["n"] == 24
    assert [row["verdict"] for row in (alpha, judge, better)] == ["supported"] * 3
    # Holm's steps are over all four, though one has no p.
    corrected = holm([alpha["p"], judge["p"], better["p"], 1.0])[:3]
    assert [row["p_holm"] for row in (alpha, judge, better)] == corrected and absent["p_holm"] is None
    assert (absent["verdict"], absent["n"], absent["of_n"]) == ("not enough", 0, 20)
    assert absent["why"] == "There is no label of nobody yet."
    assert [entry["text"] for entry in found["as_planned"]["deviations"]] == [
        "There is no label of nobody; 1 hypothesis cannot be tested."
    ]


@pytest.mark.django_db
def test_a_study_without_people_or_without_annotators_waits() -> None:
    hypotheses = (replace(RELIABLE, measure="preference_share"), RELIABLE, JUDGE)
    study = make_annotation_study(slug="herbs", kind="preference", hypotheses=hypotheses)
    (item,) = make_items(study, 1)
    for _ in range(2):  # without any label, and with a judge's alone
        found = agreement_of(study)["as_planned"]["hypotheses"]
        assert [(row["value"], row["n"]) for row in found] == [(None, 0)] * 3
        record_judgement(item, "good", LABELS["preference"])
    answers = replace(
        make_definition(slug="mugs"), hypotheses=(Hypothesis("x", "X.", "item_share", "field", "more", "run"),)
    )
    assert rows_for(make_study(definition=answers))["questions"] == []


@pytest.mark.django_db
def test_of_one_person_nobody_reads_that_only_one_label_was_used() -> None:
    (alpha,) = agreement_of(make_labelled(RELIABLE, people=1, slug="herbs"))["as_planned"]["hypotheses"]
    assert (alpha["value"], alpha["why"]) == (None, "no item has labels of two people")


@pytest.mark.django_db
def test_before_the_end_there_are_numbers_and_neither_p_nor_verdict() -> None:
    study = make_labelled(RELIABLE, people=2, slug="herbs")
    (alpha,) = agreement_of(study)["as_planned"]["hypotheses"]
    assert alpha["value"] is not None and alpha["p"] is None
    assert (alpha["verdict"], alpha["n"], alpha["of_n"]) == ("not enough yet", 48, 72)
    lifecycle.close(study, "me")
    study.refresh_from_db()
    for _ in range(2):  # at its end, with the labels it has
        found = agreement_of(study)["as_planned"]
        assert found["hypotheses"][0]["verdict"] == "supported"
        assert [row["text"] for row in found["deviations"]] == ["Fewer labels: 48 of 72 were given."]
    assert AuditEvent.objects.get(action=END).detail["alpha"][0]["level"] == 0.05


def test_an_end_that_was_shown_stays_the_end(mints: Study) -> None:
    study = mints
    for seed in range(2):
        assert not agreement_of(study, seed=seed)["as_planned"]["deviations"]
    end = AuditEvent.objects.get(action=END)
    assert end.detail["at"] == 72 and not list(find_breaks(study))
    items = make_items(study, 24, start=24)
    found = agreement_of(study)["as_planned"]
    assert [row["verdict"] for row in found["hypotheses"]] == ["supported"] * 2
    shown = "Verdicts were first shown at 72 labels. Since then given: {}; taken away: {}; "
    wanted = "changed, imported or by judges: {}; wanted: 72 then, 144 now."
    assert [row["text"] for row in found["deviations"]] == [(shown + wanted).format(0, 0, 0)]
    for item in items:  # the judge says the opposite
        record_judgement(item, "good", {"relevance": WORDS["yn"[number_of(item) % 2]]})
    for _ in range(2):
        label_all(make_annotator(study), "ny" * 24)
    recruitment.withdraw(Participant.objects.filter(study=study).earliest("pk"))
    found = agreement_of(study)["as_planned"]
    assert found["hypotheses"][1]["verdict"] == "not told apart"
    (moved,) = found["deviations"]
    assert moved["text"] == f"{(shown + wanted).format(48, 24, 24)} `judge` was then: supported."


def test_of_what_came_after_the_end_only_labels_that_decide_are_counted(mints: Study) -> None:
    study = mints
    agreement_of(study)
    person = Participant.objects.filter(study=study).earliest("pk")
    push_items(study, [item_of(99, purpose="gold", gold={"relevance": "yes"})], "tests")
    gold, work = (AnnotationItem.objects.get(study=study, key=f"item-{number}") for number in (99, 0))
    record_judgement(gold, "good", {"relevance": "no"})
    for labels in ("no", "yes"):
        say(person, gold, labels)
    assert not agreement_of(study)["as_planned"]["deviations"]
    for labels in ("no", "yes"):
        say(person, work, labels)
    (moved,) = agreement_of(study)["as_planned"]["deviations"]
    assert "given: 0; taken away: 0; changed, imported or by judges: 1;" in moved["text"]
    take_back(person)
    (moved,) = agreement_of(study)["as_planned"]["deviations"]
    assert "given: 0; taken away: 1; changed, imported or by judges: 0;" in moved["text"]


def say(person: Participant, item: AnnotationItem, word: str) -> None:
    shown = open_task(person, seal_task(person, task_of(person, item)))
    submit(person, shown, LabelSubmission({"relevance": word}))


@pytest.mark.django_db
def test_the_sentence_names_what_is_lacking() -> None:
    hypotheses = (RELIABLE, replace(RELIABLE, slug="again"))
    study = make_annotation_study(slug="herbs", kind="attribute", hypotheses=hypotheses, quota=12, overlap=2)
    make_items(study, 12)  # of 3 users
    client, page = log_in(study), reverse("agreement:overview", args=["herbs"])
    assert heading(client.get(page)) == "As planned: 2 hypotheses, not enough labels yet to decide."
    for person in (make_annotator(study), make_annotator(study)):
        while annotate(person):
            pass
    found = client.get(page)
    assert heading(found) == "As planned: 2 hypotheses, not enough users to decide."
    assert "Not enough: 3 of 20 users" in lines_of(found)


def test_the_page_the_file_and_the_command_open_with_them(study: Study) -> None:
    client = log_in(study)
    page = lines_of(client.get(reverse("agreement:overview", args=["teas"]), {"corpus": "none"}))
    assert "As planned: 3 hypotheses are supported and 1 cannot be decided." in page and "more than 0.5" in page
    assert page.index("People agree.") < page.index("No label matches these filters")
    assert "under other choices" not in page and "72 of 72 labels" in page
    assert "not enough: 0 of 20 items" in page.casefold()
    assert "good against poor" in page and "24 items and 24 items" not in page  # two judges rate the same items
    numbers = json.loads(client.get(reverse("agreement:numbers", args=["teas"])).content)
    assert [row["verdict"] for row in numbers["as_planned"]["hypotheses"]][:3] == ["supported"] * 3
    words = readme(study, rows_for(study), texts=False)
    assert "- `reliable`: People agree. 0.89 (0.73 to 1.00): **supported**" in words
    out = StringIO()
    call_command("agreement", "teas", stdout=out)
    assert out.getvalue().startswith(
        "As planned: 3 hypotheses are supported and 1 cannot be decided.\n  reliable: People agree.\n"
    )
    assert "There is no label of nobody yet, n\u00a0=\u00a00" in out.getvalue()


def test_a_hypothesis_of_later_is_marked_and_pages_of_answers_are_not_there(study: Study) -> None:
    later = replace(definition_of(study), hypotheses=(RELIABLE, replace(JUDGE, reference=0.4)))
    lifecycle.load_definition(later, "me", "A higher mark.")
    study.refresh_from_db()
    found = agreement_of(study)["as_planned"]
    assert [row["later"] for row in found["hypotheses"]] == [False, True]
    assert found["deviations"][0]["text"] == "A higher mark. It changes the plan."
    client = log_in(study)
    for name in ("plans:osf", "plans:registration", "compare:multiverse"):
        assert client.get(reverse(name, args=["teas"])).status_code == 404
    assert client.get(reverse("plans:plan", args=["teas"])).status_code == 200


def row(measure: str, **changes: Any) -> dict[str, Any]:
    return {"measure": measure, "value": 0.72, "ci": [0.66, 0.78], "expected": "more", "smallest": 0.0, **changes}


@pytest.mark.parametrize(
    ("given", "found", "wanted"),
    [
        (row("alpha", reference=0.667), "0.72 (0.66 to 0.78)", "more than 0.667"),
        (row("kappa", smallest=0.05), "0.72 more (0.66 to 0.78)", "more, by 0.05 or more"),
        (row("kappa", value=0.0, ci=None), "0.00 (no interval)", "more"),  # none is neither more nor less
        (row("preference_share", reference=0.5), "72 % (66 to 78)", "more than 50 %"),
        (row("alpha", reference=0.7, expected="equal", smallest=0.1), "0.72 (0.66 to 0.78)", "within 0.10 of 0.7"),
        (row("alpha", reference=0.7, expected="different"), "0.72 (0.66 to 0.78)", "different from 0.7"),
    ],
)
def test_a_level_is_said_beside_what_it_is_held_against(given: dict[str, Any], found: str, wanted: str) -> None:
    assert say_difference(given).replace("\u202f", " ") == found
    assert say_wanted(given).replace("\u202f", " ") == wanted


# --- p and intervals


@pytest.mark.parametrize("reference", [0.6, 0.8])
def test_p_is_five_percent_where_the_interval_ends(reference: float) -> None:
    at_end = of_interval(0.7, (0.6, 0.8), 29, reference)
    assert at_end.p == pytest.approx(0.05)
    assert of_interval(0.7, (0.6, 0.8), 29, 0.7).p == 1


YES_NO = RatedQuestion(2, Scale(), 40, by_user=False)
STARS = RatedQuestion(5, Scale(True, (1.0, 2.0, 3.0, 4.0, 5.0)), 40, by_user=True)
EVEN = replace(HOPEFUL, right=0.9, alike=0.001)  # of two labels, each right for half of the items
RIGHT, MAJORITY = 0.9, 0.9**3 + 3 * 0.9**2 * 0.1
STUDIES, DRAWS = 200, 200


def drawn(rated: RatedQuestion, scenario: RaterScenario, rng: np.random.Generator) -> Labels:
    return draw_labels(rng, rated, Design(120, 3), scenario)


def alpha(rng: np.random.Generator) -> Estimate:
    return alpha_of_people(drawn(YES_NO, EVEN, rng), YES_NO.scale, rng, DRAWS)


def kappa(rng: np.random.Generator) -> Estimate:
    labels = drawn(YES_NO, EVEN, rng)
    return kappa_with_majority(labels, [labels.n_raters - 1], rng, DRAWS)


def preferred(rng: np.random.Generator) -> Estimate:
    """The last label is right for a third of pairs, the one before it for a quarter of all others: half prefer."""
    labels = drawn(STARS, replace(HOPEFUL, right=1.0, common=1 / 3, alike=0.1), rng)
    return share_preferring(labels, np.array(STARS.scale.numbers), rng, DRAWS)


def draw_guesses(rng: np.random.Generator, items: int, rare: float, people: int, judges: int = 0) -> Labels:
    """Everybody gives one of two labels at random, the second of them rarely."""
    raters = people + judges
    table = rng.choice(2, size=(items, raters), p=(1 - rare, rare)).tolist()
    return replace(make_labels(table, 2, range(people, raters)), clusters=np.arange(items, dtype=np.int32))


def alpha_of_chance(people: int, rng: np.random.Generator) -> Estimate:
    return alpha_of_people(draw_guesses(rng, 120, 0.05, people), YES_NO.scale, rng, DRAWS)


def kappa_of_chance(judges: int, rng: np.random.Generator) -> Estimate:
    return kappa_with_majority(draw_guesses(rng, 120, 0.1, 3, judges), [3, 4][:judges], rng, DRAWS)


# Of two labels and raters right with chance r: α = (2 r - 1)², and κ of two such raters (2 r - 1) (2 s - 1).
AT_REFERENCE = [(alpha, (2 * RIGHT - 1) ** 2), (kappa, (2 * RIGHT - 1) * (2 * MAJORITY - 1)), (preferred, 0.5)]


@pytest.mark.parametrize(("estimate", "reference"), AT_REFERENCE)
def test_what_lies_at_its_reference_is_supported_in_two_and_a_half_percent(estimate: Any, reference: float) -> None:
    rng, supported = np.random.default_rng(1), {"more": 0, "less": 0}
    for _ in range(STUDIES):
        one = estimate(rng)
        tested = of_interval(one.value, one.ci, one.units - 1, reference)
        for expected in supported:
            passes = tested.p is not None and tested.p <= 0.05
            supported[expected] += decide(expected, 0.0, tested.value, tested.ci, passes) == "supported"
    assert max(supported.values()) <= binom.ppf(0.99, STUDIES, 0.025), supported
    assert sum(supported.values()) <= binom.ppf(0.99, STUDIES, 0.05), supported


@pytest.mark.parametrize(
    ("estimate", "raters"), [(alpha_of_chance, 2), (alpha_of_chance, 3), (kappa_of_chance, 1), (kappa_of_chance, 2)]
)
def test_raters_who_guess_are_seldom_told_from_chance_or_each_other_where_a_label_is_rare(
    estimate: Any, raters: int
) -> None:
    rng = np.random.default_rng(1)
    found = [estimate(raters, rng) for _ in range(STUDIES)]
    claimed = sum(one.ci is not None and not one.ci[0] <= 0 <= one.ci[1] for one in found)
    assert claimed <= 0.025 * STUDIES
