"""Hypotheses and the plan in a study file: how they are read, and the faults of a file that expects the impossible."""

from pathlib import Path

import pytest
from django.conf import settings

from surveys.studies.files.definitions import Definition, StudyFileError, parse_study
from surveys.studies.files.hypotheses import PlanKeys
from tests.surveys.studies.files.sample_study import ASKED_AGAIN, GOOD, fault_at, faults_of, make_definition

PLAN = """
[[hypotheses]]
slug = "green"
text = "Gemini names green tea more often."
measure = "item_share"
prompts = ["teas"]
item = "green tea"
a = "field/gemini"
b = "field/chatgpt"
expected = "more"
smallest = 0.1

[[hypotheses]]
slug = "boiling"
text = "With memory as many answer rightly as without."
measure = "correct_share"
a = "field/memory=on"
b = "field/memory=off"
expected = "equal"
smallest = 0.15

[plan]
looks = [6]
"""
SECOND = """
[[hypotheses]]
slug = "{slug}"
text = "One more."
measure = "{measure}"
a = "{a}"
b = "{b}"
expected = "{expected}"
"""


def study_with(text: str) -> Definition:
    return parse_study((GOOD + ASKED_AGAIN + text).encode(), "teas")


def second(**changes: str) -> str:
    usual = {"slug": "more", "measure": "entropy_bits", "a": "field/gemini", "b": "field/chatgpt", "expected": "more"}
    return SECOND.format(**{**usual, **changes})


def test_hypotheses_come_back_from_the_document_and_other_studies_hold_no_word_of_them() -> None:
    study = study_with(PLAN)
    assert Definition.from_document(study.to_document()) == study
    green, boiling = study.hypotheses
    assert (green.item, green.smallest, green.pooled) == ("green tea", 0.1, True)
    assert study.plan == PlanKeys(0.05, (6,)) and study.planned_people == 12
    assert study.asked_by(green) == ["teas"]
    assert study.asked_by(boiling) == ["water", "pots"]
    assert not {"hypotheses", "plan"} & make_definition().to_document().keys()


def test_a_person_share_is_of_the_prompts_that_are_asked_twice() -> None:
    study = study_with(second(measure="person_share", a="field/gemini", b=""))
    assert study.asked_by(study.hypotheses[0]) == ["teas", "water"]


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ('"item_share"', '"item_shares"', "hypotheses[1].measure", "did you mean `item_share`?"),
        ('"item_share"', '"letter_share"', "hypotheses[1].measure", "`teas` cannot give"),
        ('prompts = ["teas"]', 'prompts = ["tea"]', "hypotheses[1].prompts", "did you mean `teas`?"),
        ('prompts = ["teas"]\n', "", "hypotheses[1].prompts", "must name one prompt"),
        ('item = "green tea"\n', "", "hypotheses[1].item", "is missing"),
        ('item = "green tea"', 'item = "green tea"\nletter = "A"', "hypotheses[1].letter", "for `letter_share` only"),
        ('b = "field/chatgpt"\n', "", "hypotheses[1].b", "is missing"),
        ('b = "field/chatgpt"', 'b = "field/gemini"', "hypotheses[1].b", "the same side as `a`"),
        ('b = "field/chatgpt"', 'b = "field"', "hypotheses[1].b", "shares people with `a`"),
        ('b = "field/chatgpt"', 'b = "field/chatgp"', "hypotheses[1].b", "did you mean `chatgpt`?"),
        ('b = "field/chatgpt"', 'b = "field/cell=milk"', "hypotheses[1].b", "did you mean `milky`?"),
        ('b = "field/chatgpt"', 'b = "field/age=3"', "hypotheses[1].b", "is narrowed by `age`"),
        ('b = "field/chatgpt"', 'b = "run/12"', "hypotheses[1].b", "no run by number"),
        ('b = "field/chatgpt"', 'b = "other:field"', "hypotheses[1].b", "names no other study"),
        ('b = "field/chatgpt"', 'b = "offline"', "hypotheses[1].b", "SOURCE/MODEL"),
        ('expected = "equal"\nsmallest = 0.15', 'expected = "equal"', "hypotheses[2].smallest", "needs the bounds"),
        ("looks = [6]", "looks = [12]", "plan.looks", "names 12 people, but there are 12 places"),
        ("looks = [6]", "looks = [6, 3]", "plan.looks", "in rising order"),
        ("looks = [6]", "looks = [6, 6]", "plan.looks", "more than once"),
        ("smallest = 0.1\n", "smallest = 10\n", "hypotheses[1].smallest", "for 10 points write 0.1"),
        ("looks = [6]", "alpha = 0", "plan.alpha", "above 0 and at most 1"),
        ("looks = [6]", 'multiverse = ["exclusion"]', "plan.multiverse", "did you mean `exclusions`?"),
        ("looks = [6]", 'multiverse = ["temperature"]', "plan.multiverse", "no hypothesis is about a model"),
    ],
)
def test_what_cannot_be_tested_is_a_fault_with_its_line(old: str, new: str, place: str, says: str) -> None:
    assert old in PLAN
    fault = fault_at(place, GOOD + ASKED_AGAIN + PLAN.replace(old, new, 1))
    assert says in fault.message and fault.line


@pytest.mark.parametrize(
    ("first", "then", "is_fault"),
    [
        ({}, {"expected": "less"}, True),
        ({}, {"expected": "less", "a": "field/chatgpt", "b": "field/gemini"}, False),
        ({}, {"a": "field/chatgpt", "b": "field/gemini"}, True),
        ({}, {"expected": "different"}, False),
        ({}, {"expected": "less", "measure": "correct_share"}, False),
    ],
)
def test_two_that_cannot_both_be_supported_contradict_each_other(first: dict, then: dict, is_fault: bool) -> None:
    text = second(**first) + second(slug="other", **then)
    if not is_fault:
        assert len(study_with(text).hypotheses) == 2
        return
    with pytest.raises(StudyFileError, match=r"hypotheses\[2\].expected contradicts `more`"):
        study_with(text)


def test_one_family_has_one_alpha() -> None:
    alone = second() + "alpha = 0.01\n" + second(slug="other", measure="correct_share") + 'family = "second"\n'
    assert [each.alpha for each in study_with(alone).hypotheses] == [0.01, 0]
    with pytest.raises(StudyFileError, match="one family has one alpha"):
        study_with(second() + "alpha = 0.01\n" + second(slug="other", measure="correct_share"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (second(measure="person_share", b=""), "needs [repeats]"),
        (second(measure="unlikeness"), "b is not of the people of `a`"),
        (second(measure="unlikeness", a="offline/m", b="offline/n"), "a is a model"),
        (second(measure="jsd_excess", expected="different"), "can be `more`, `equal`"),
    ],
)
def test_what_a_study_without_repeats_or_a_distance_cannot_give(text: str, says: str) -> None:
    assert any(says in str(fault) for fault in faults_of(GOOD + text))


# --- of annotators

ANNOTATED = (Path(settings.BASE_DIR) / "surveys" / "studies" / "profiles.toml").read_text(encoding="utf-8")
OF_LABELS = """
[[hypotheses]]
slug = "reliable"
text = "People agree well enough to be a standard."
measure = "alpha"
a = "people"
reference = 0.667
expected = "more"

[[hypotheses]]
slug = "better-judge"
text = "The larger model is the better judge."
measure = "kappa"
a = "gpt-4o paper-1"
b = "gpt-4o-mini paper-1"
about = "uncomfortable"
expected = "more"
smallest = 0.05

[[hypotheses]]
slug = "judge"
text = "The larger model says more than chance."
measure = "kappa"
a = "gpt-4o paper-1"
expected = "more"

[plan]
alpha = 0.01
"""


def test_a_study_of_annotators_states_what_it_expects_of_labels() -> None:
    study = parse_study((ANNOTATED + OF_LABELS).encode(), "profiles")
    assert Definition.from_document(study.to_document()) == study
    assert [each.held_against for each in study.hypotheses] == [0.667, None, 0]
    assert study.of_answers == () and study.plan == PlanKeys(0.01)
    shares = OF_LABELS.replace('"alpha"', '"preference_share"').replace("reference = 0.667\n", "").split("\n\n[[")[0]
    preference = ANNOTATED.replace('kind = "attribute"', 'kind = "preference"') + shares
    assert [each.held_against for each in parse_study(preference.encode()).hypotheses] == [0.5]


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ('"alpha"', '"item_share"', "hypotheses[1].measure", "of labels there are `alpha`, `kappa`"),
        ('"alpha"', '"preference_share"', "hypotheses[1].measure", "`attribute` cannot give: only `preference` can"),
        ('"people"', '"mini"', "hypotheses[1].a", "`alpha` is of `people`"),
        ('a = "gpt-4o paper-1"', 'a = "people"', "hypotheses[2].a", "name the judge"),
        ('b = "gpt-4o-mini paper-1"', 'b = "gpt-4o paper-1"', "hypotheses[2].b", "the same judge"),
        ("reference = 0.667", 'b = "mini"', "hypotheses[1].b", "held against `reference`"),
        ('about = "uncomfortable"', "reference = 0.4", "hypotheses[2].reference", "stands beside `b`"),
        ('"uncomfortable"', '"uncomfortabl"', "hypotheses[2].about", "did you mean `uncomfortable`?"),
        ('"uncomfortable"', '"uncomfortable-why"', "hypotheses[2].about", "asked `quality`, `uncomfortable`"),
        ("reference = 0.667", 'prompts = ["teas"]', "hypotheses[1].prompts", "not for a study of annotators"),
        ("reference = 0.667", "reference = 67", "hypotheses[1].reference", "from -1 to 1"),
        ("alpha = 0.01", "looks = [10]", "plan.looks", "decided at the end"),
        ('expected = "more"\nsmallest', 'expected = "equal"\n#', "hypotheses[2].smallest", "needs the bounds"),
    ],
)
def test_what_labels_cannot_give_is_a_fault_with_its_line(old: str, new: str, place: str, says: str) -> None:
    assert old in OF_LABELS
    fault = fault_at(place, ANNOTATED + OF_LABELS.replace(old, new, 1), "profiles")
    assert says in fault.message and fault.line


@pytest.mark.parametrize(
    ("changes", "more", "place", "says"),
    [
        ({"measure": "alpha"}, "", "hypotheses[1].measure", "only a study of annotators gives"),
        ({}, "reference = 0.4\n", "hypotheses[1].reference", "not for pasted answers"),
    ],
)
def test_what_pasted_answers_cannot_give(changes: dict, more: str, place: str, says: str) -> None:
    faults = faults_of(GOOD + ASKED_AGAIN + second(**changes) + more)
    assert [(fault.place, says in fault.message) for fault in faults] == [(place, True)]
