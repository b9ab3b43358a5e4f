"""Exclusion rules: whom and what they leave out, which can't leave out anybody, and when each was declared."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from surveys.models import ChatbotContext, Flag, Participant, Prompt, Response, Study
from surveys.studies.exclusions import (
    LEAVES_OUT,
    WORDS,
    ExclusionRule,
    Observed,
    Stage,
    date_rules,
    effect_of,
    excluded_people,
    excluded_responses,
    rules_met,
    rules_of,
)
from surveys.studies.files.schema import CONTEXT, EXCLUSION_KINDS, Exclusion
from surveys.studies.lifecycle import definition_of, end_pilot, launch, load_definition, start_pilot
from tests.factories import make_definition, make_participant, make_response, make_study

pytestmark = pytest.mark.django_db
State, Step = Participant.State, Participant.Step
REFUSAL = "I'm sorry, but I can't help with that request."

# By hand, without the database ---------------------------------------------------------------------------


def make_rule(kind: str, threshold: Any, slug: str = "rule") -> ExclusionRule:
    return ExclusionRule(slug, "In words.", kind, threshold, EXCLUSION_KINDS[kind])


@pytest.mark.parametrize(
    ("kind", "threshold", "left_out", "stays"),
    [
        ("attention_fails", 2, Observed(attention_fails=2), Observed(attention_fails=1)),
        ("minutes_under", 5.0, Observed(minutes=4.99), Observed(minutes=5.0)),
        ("seconds_under", 10.0, Observed(seconds=9.9), Observed(seconds=10.0)),
        ("pasted_under", 0.5, Observed(share_pasted=0.49), Observed(share_pasted=0.5)),
        ("flags_kept", 3, Observed(flags_kept=3), Observed(flags_kept=2)),
        ("perception", ("wrong",), Observed(perception="wrong"), Observed(perception="unseen")),
        (
            "context",
            {"memory": ("off",), "chat": ("same", "temporary")},
            Observed(context={"memory": "off", "chat": "same", "plan": "free"}),
            Observed(context={"memory": "off", "chat": "new", "plan": "free"}),
        ),
        (
            "context",
            {"model_shown": ("*Mini*", "o3")},
            Observed(context={"model_shown": " gpt-4o mini"}),
            Observed(context={"model_shown": "o3-pro"}),
        ),
    ],
)
def test_rule_leaves_out_up_to_its_threshold(kind: str, threshold: Any, left_out: Observed, stays: Observed) -> None:
    rules = [make_rule(kind, threshold)]
    assert rules_met(rules, left_out) == ("rule",)
    assert rules_met(rules, stays) == ()


@pytest.mark.parametrize("kind", LEAVES_OUT)
def test_rule_leaves_out_nobody_by_what_was_not_observed(kind: str) -> None:
    threshold = {"context": {"memory": ("unknown",)}, "perception": ("wrong", "unseen")}.get(kind, 1)
    assert rules_met([make_rule(kind, threshold)], Observed()) == ()


def test_every_rule_that_somebody_meets_is_named() -> None:
    rules = [
        make_rule("minutes_under", 5.0, "fast"),
        make_rule("flags", ("refusal",), "refusals"),
        make_rule("attention_fails", 2, "inattentive"),
        make_rule("flags_kept", 1, "flagged"),
    ]
    assert rules_met(rules, Observed(attention_fails=2, minutes=1.0)) == ("fast", "inattentive")


def test_every_kind_has_words_and_those_about_people_a_condition() -> None:
    assert set(WORDS) == set(EXCLUSION_KINDS)
    assert set(LEAVES_OUT) == {kind for kind, scope in EXCLUSION_KINDS.items() if scope == "person"}


@pytest.mark.parametrize(
    ("kind", "threshold", "words"),
    [
        ("minutes_under", 7.5, "less than 7.5 minutes in all"),
        ("pasted_under", 0.5, "less than 50 % pasted on average"),
        ("flags", ("refusal", "cut-off"), "flag kept (refusal or cut-off)"),
        ("context", {"chat": ("same", "temporary"), "memory": ("off",)}, "memory off, chat same or temporary"),
    ],
)
def test_condition_in_words(kind: str, threshold: Any, words: str) -> None:
    assert make_rule(kind, threshold).words == words


def test_answers_about_the_context_are_those_of_the_form() -> None:
    for name in ("plan", "memory", "personalisation", "chat", "device"):
        assert CONTEXT[name] == tuple(value for value, _ in ChatbotContext._meta.get_field(name).choices)
    assert set(CONTEXT) == {"product", "plan", "memory", "personalisation", "chat", "device", "model_shown"}


FAST = Exclusion("fast", "Too fast.", minutes_under=5.0)
FASTER = Exclusion("fast", "Too fast.", minutes_under=4.0)
TYPED = Exclusion("typed", "Typed.", pasted_under=0.5)
PROMISE = Exclusion("promise", "We read them all.")
SETS: dict[str, Any] = {
    "flags": ("refusal", "cut-off"),
    "perception": ("wrong", "unseen"),
    "context": {"device": ("phone", "tablet"), "memory": ("off",)},
}
OPTIONS = [Exclusion(kind, "By several options.", **{kind: options}) for kind, options in SETS.items()]


def turned(rule: Exclusion) -> Exclusion:
    """The rule with its options in another order."""
    kind, options = effect_of(rule)
    if kind == "context":
        return replace(rule, context={key: said[::-1] for key, said in reversed(options.items())})
    return replace(rule, **{kind: options[::-1]})


def stage(number: int, *exclusions: Exclusion, amendment: bool = True) -> Stage:
    return Stage(number, amendment, datetime(2026, 5, number, 12, tzinfo=UTC), exclusions)


@pytest.mark.parametrize(
    ("stages", "declared"),
    [
        # Newest first. Nothing launched, or nothing amended: everything stands before the launch.
        ([stage(2, FAST, amendment=False), stage(1, amendment=False)], {"fast": "before launch"}),
        # Version 2 was launched; version 3 brought the second rule.
        (
            [stage(3, FAST, TYPED), stage(2, FAST, amendment=False), stage(1, amendment=False)],
            {"fast": "before launch", "typed": "later: version 3, 3 May 2026"},
        ),
        # Another threshold is another rule, other words are not.
        ([stage(2, FASTER), stage(1, FAST, amendment=False)], {"fast": "later: version 2, 2 May 2026"}),
        (
            [stage(2, Exclusion("quick", "Quick.", minutes_under=5.0)), stage(1, FAST, amendment=False)],
            {"quick": "before launch"},
        ),
        # Came with version 2, was dropped and came back: it stands since version 4. Version 5 repeats it.
        (
            [stage(5, FAST), stage(4, FAST), stage(3), stage(2, FAST), stage(1, amendment=False)],
            {"fast": "later: version 4, 4 May 2026"},
        ),
        # Dropped and brought back, but it stood in the version that was launched.
        ([stage(3, FAST), stage(2), stage(1, FAST, amendment=False)], {"fast": "before launch"}),
        # Only the newest version's rules are in force.
        ([stage(2), stage(1, FAST, amendment=False)], {}),
        # A promise that gets a condition after the launch is a later rule.
        ([stage(2, PROMISE), stage(1, PROMISE, amendment=False)], {"promise": "before launch"}),
        (
            [stage(2, Exclusion("promise", "As said.", flags_kept=3)), stage(1, PROMISE, amendment=False)],
            {"promise": "later: version 2, 2 May 2026"},
        ),
        # The order in which options are written makes no other rule, and no difference to whom it leaves out.
        ([stage(2, *map(turned, OPTIONS)), stage(1, *OPTIONS, amendment=False)], dict.fromkeys(SETS, "before launch")),
        ([], {}),
    ],
)
def test_rule_is_dated_by_the_version_that_brought_it(stages: list[Stage], declared: dict[str, str]) -> None:
    assert {rule.slug: rule.declared for rule in date_rules(stages)} == declared


# With people ---------------------------------------------------------------------------------------------


def make_excluding(*exclusions: Exclusion, state: str = "live") -> Study:
    return make_study(state, make_definition(places=50, exclusions=exclusions))


def fail_attention(person: Participant, *slugs: str) -> None:
    attention = {slug: {"answer": "x", "passed": slug not in slugs} for slug in ("leaf", "sea")}
    Participant.objects.filter(pk=person.pk).update(checks={"attention": attention})


def take_minutes(person: Participant, minutes: float) -> None:
    Participant.objects.filter(pk=person.pk).update(consented_at=person.finished_at - timedelta(minutes=minutes))


def make_answer(person: Participant, prompt: str, seconds: float | None = None, share: float | None = None) -> Response:
    """An answer that took this many seconds and of which this share was pasted; None means not observed."""
    shown = None if seconds is None else timezone.now() - timedelta(seconds=seconds)
    evidence = {"observed": False} if share is None else {"observed": True, "share_pasted": share}
    return make_response(person, prompt, shown_at=shown, evidence=evidence)


def test_people_who_fail_too_many_attention_checks_are_left_out() -> None:
    study = make_excluding(Exclusion("inattentive", "Both failed.", attention_fails=2))
    both, one, none = (make_participant(study) for _ in range(3))
    fail_attention(both, "leaf", "sea")
    fail_attention(one, "sea")
    fail_attention(none)
    assert excluded_people(study) == {both.pk: ("inattentive",)}


def test_people_who_took_another_figure_for_the_one_shown_are_left_out() -> None:
    study = make_excluding(Exclusion("dots", "Another figure.", perception=("wrong", "unseen")))
    people = [make_participant(study) for _ in range(5)]
    given = [(False, False), (None, False), (True, False), (False, True)]  # right, in words; the last: never asked
    for person, (right, in_words) in zip(people, given, strict=False):
        noted = {"perception": {"right": right, "alternative": in_words}}
        Participant.objects.filter(pk=person.pk).update(checks=noted)
    assert excluded_people(study) == {people[0].pk: ("dots",), people[1].pk: ("dots",)}


def test_people_who_were_too_fast_are_left_out() -> None:
    study = make_excluding(Exclusion("fast", "Too fast.", minutes_under=5.0))
    fast, slow = (make_participant(study, State.COMPLETED) for _ in range(2))
    take_minutes(fast, 4.9)
    take_minutes(slow, 5.1)
    make_participant(study, State.RETURNED)  # after a moment, but that was no whole part
    assert excluded_people(study) == {fast.pk: ("fast",)}


def test_seconds_are_the_median_over_prompts_of_the_time_since_the_first_page() -> None:
    study = make_excluding(Exclusion("hasty", "In haste.", seconds_under=20.0))
    hasty, careful, second_try = (make_participant(study) for _ in range(3))
    # Medians of two prompts: (5 + 31) / 2 = 18 and (5 + 41) / 2 = 23.
    for person, seconds in ((hasty, 31), (careful, 41)):
        make_answer(person, "teas", seconds=5)
        make_answer(person, "water", seconds=seconds)
    # The page was first shown 60 seconds ago; a page shown 1 second ago changed the answer.
    make_answer(second_try, "teas", seconds=60)
    make_response(second_try, "teas", "1. A\n2. B\n3. C\n4. D\n5. E", shown_at=timezone.now() - timedelta(seconds=1))
    assert excluded_people(study) == {hasty.pk: ("hasty",)}


def test_pasted_share_is_the_mean_over_the_answers_that_were_observed() -> None:
    study = make_excluding(Exclusion("typed", "Typed.", pasted_under=0.5))
    typed, pasted, unseen = (make_participant(study) for _ in range(3))
    make_answer(typed, "teas", share=0.9)
    make_answer(typed, "water", share=0.0)  # 0.45 on average
    make_answer(pasted, "teas", share=0.6)
    make_answer(pasted, "water")
    make_answer(unseen, "teas")
    assert excluded_people(study) == {typed.pk: ("typed",)}


def test_pasted_share_is_that_of_the_newest_answer() -> None:
    study = make_excluding(Exclusion("typed", "Typed.", pasted_under=0.5))
    person = make_participant(study)
    make_answer(person, "teas", share=0.0)
    assert list(excluded_people(study)) == [person.pk]
    newer = {"observed": True, "share_pasted": 1.0}
    make_response(person, "teas", "1. A\n2. B\n3. C\n4. D\n5. E", evidence=newer)
    assert excluded_people(study) == {}


def test_people_are_left_out_by_what_they_say_about_their_chatbot() -> None:
    study = make_excluding(Exclusion("settings", "No memory.", context={"memory": ("off",), "plan": ("free", "paid")}))
    off, on, work, early = (make_participant(study) for _ in range(4))
    for person, changes in ((off, {"memory": "off"}), (work, {"memory": "off", "plan": "work"})):
        ChatbotContext.objects.filter(participant=person).update(**changes)
    ChatbotContext.objects.filter(participant=early).delete()
    assert on.context.memory == "on"
    assert excluded_people(study) == {off.pk: ("settings",)}


def test_flags_that_were_kept_count_and_those_that_were_fixed_do_not() -> None:
    study = make_excluding(Exclusion("flagged", "Flagged.", flags_kept=2))
    kept, fixed = (make_participant(study) for _ in range(2))
    for prompt in ("teas", "water"):
        make_response(kept, prompt, REFUSAL, keep=True)
        make_response(fixed, prompt, REFUSAL)
        make_response(fixed, prompt)
    assert set(fixed.flags.values_list("outcome", flat=True)) == {Flag.Outcome.FIXED}
    assert excluded_people(study) == {kept.pk: ("flagged",)}


def test_single_response_with_a_kept_flag_is_left_out() -> None:
    study = make_excluding(Exclusion("refusals", "No.", flags=("refusal", "cut-off")))
    person = make_participant(study)
    make_response(person, "water")
    response = make_response(person, "teas", REFUSAL, keep=True)
    assert excluded_responses(study) == {response.pk: ("refusals",)}
    assert excluded_people(study) == {}


def test_what_was_once_said_of_choices_leaves_nobody_out() -> None:
    study = make_excluding(
        Exclusion("flagged", "Flagged.", flags_kept=1), Exclusion("same", "No.", flags=("same-as-other",))
    )
    person = make_participant(study)
    answers = {kind: make_response(person, study.current.prompts.filter(kind=kind).first()) for kind in Prompt.Kind}
    flag = {"participant": person, "check_name": "same-as-other", "check_version": 1, "outcome": Flag.Outcome.KEPT}
    Flag.objects.create(prompt=answers[Prompt.Kind.CHOICE].prompt, **flag)
    assert excluded_people(study) == {} and excluded_responses(study) == {}
    listed = answers[Prompt.Kind.RECOMMENDATION]
    Flag.objects.create(prompt=listed.prompt, **flag)
    assert excluded_people(study) == {person.pk: ("flagged",)}
    assert excluded_responses(study) == {listed.pk: ("same",)}


def test_response_is_not_left_out_by_a_flag_of_an_earlier_one() -> None:
    study = make_excluding(Exclusion("refusals", "No.", flags=("refusal",)))
    person = make_participant(study)
    make_response(person, "teas", REFUSAL, keep=True)
    make_response(person, "teas")
    assert excluded_responses(study) == {}


def test_response_that_is_not_accepted_yet_is_no_answer_to_leave_out() -> None:
    study = make_excluding(Exclusion("refusals", "No.", flags=("refusal",)))
    person = make_participant(study)
    held = make_response(person, "teas", REFUSAL)
    Flag.objects.filter(participant=person).update(outcome=Flag.Outcome.KEPT)
    assert not held.accepted
    assert excluded_responses(study) == {}


ALL_KINDS = (
    Exclusion("inattentive", "", attention_fails=1),
    Exclusion("fast", "", minutes_under=9.0),
    Exclusion("hasty", "", seconds_under=100.0),
    Exclusion("typed", "", pasted_under=1.0),
    Exclusion("flagged", "", flags_kept=1),
    Exclusion("settings", "", context={"memory": ("unknown",)}),
    Exclusion("refusals", "", flags=("refusal",)),
)


def test_imported_people_are_left_out_by_nothing_that_nobody_observed() -> None:
    study = make_excluding(*ALL_KINDS)
    person = make_participant(study, State.COMPLETED)
    Participant.objects.filter(pk=person.pk).update(origin="imported", checks={}, consented_at=person.finished_at)
    ChatbotContext.objects.filter(participant=person).update(memory="unknown")
    Response.objects.filter(participant=person).delete()
    make = {"version": person.version, "pilot": False, "revision": 1, "accepted": True, "text_sha256": "0" * 64}
    prompt = study.current.prompts.first()
    Response.objects.create(participant=person, prompt=prompt, key="0" * 32, text="A", **make)
    assert excluded_people(study) == {}
    assert excluded_responses(study) == {}


def test_chatbot_of_imported_people_is_known() -> None:
    study = make_excluding(Exclusion("others", "Another chatbot.", context={"product": ("gemini",)}))
    person = make_participant(study, State.COMPLETED)
    Participant.objects.filter(pk=person.pk).update(origin="imported")
    ChatbotContext.objects.filter(participant=person).update(product="gemini", memory="unknown")
    assert excluded_people(study) == {person.pk: ("others",)}


def test_people_of_another_study_are_not_named() -> None:
    study = make_excluding(*ALL_KINDS)
    person = make_participant(make_study(slug="other", places=9))
    fail_attention(person, "leaf", "sea")
    make_response(person, "teas", REFUSAL, keep=True)
    assert excluded_people(study) == {} and excluded_responses(study) == {}


def test_pilots_and_previews_are_held_against_the_same_rules() -> None:
    study = make_excluding(Exclusion("fast", "Too fast.", minutes_under=5.0), state="pilot")
    people = [make_participant(study, State.COMPLETED), make_participant(study, State.COMPLETED, origin="preview")]
    assert excluded_people(study) == {person.pk: ("fast",) for person in people}


def test_rules_given_are_applied_instead_of_those_of_the_study() -> None:
    study = make_excluding(Exclusion("inattentive", "Both failed.", attention_fails=2))
    person = make_participant(study)
    fail_attention(person, "sea")
    assert excluded_people(study) == {}
    assert excluded_people(study, [make_rule("attention_fails", 1)]) == {person.pk: ("rule",)}
    assert excluded_people(study, []) == {}


@pytest.mark.parametrize("rows", [1, 12])
def test_exclusions_take_as_many_statements_for_many(rows: int, django_assert_num_queries: Callable) -> None:
    study = make_excluding(*ALL_KINDS)
    for _ in range(rows):
        fail_attention(make_participant(study, State.COMPLETED), "sea")
    rules = rules_of(study)
    with django_assert_num_queries(3):  # people, pastes, flags
        assert len(excluded_people(study, rules)) == rows
    with django_assert_num_queries(1):
        excluded_responses(study, rules)
    with django_assert_num_queries(1):
        rules_of(study)


# When they were declared ---------------------------------------------------------------------------------


def test_rule_of_the_launched_version_is_declared_before_launch_and_an_amendment_later() -> None:
    study = make_excluding(Exclusion("inattentive", "Both failed.", attention_fails=2))
    rules = (*definition_of(study.current_id).exclusions, Exclusion("fast", "Too fast.", minutes_under=5.0))
    study, _ = load_definition(make_definition(places=50, exclusions=rules), "tests", "they were too fast")
    inattentive, fast = rules_of(study)
    assert (inattentive.declared, inattentive.is_later) == ("before launch", False)
    assert (fast.version, fast.day, fast.is_later) == (2, timezone.localdate(), True)
    assert fast.threshold == 5.0 and fast.scope == "person"


def test_rule_that_was_changed_after_the_pilot_is_declared_before_launch() -> None:
    study = make_study("draft", make_definition(exclusions=(FAST,)))
    start_pilot(study, "tests")
    end_pilot(study, "tests")
    study, _ = load_definition(make_definition(exclusions=(FASTER,)), "tests")
    launch(study, "tests")
    (rule,) = rules_of(study)
    assert (rule.threshold, rule.declared) == (4.0, "before launch")


def test_rules_are_read_as_the_file_has_them() -> None:
    study = make_excluding(PROMISE, *ALL_KINDS)
    effects = {rule.slug: effect_of(rule) for rule in (PROMISE, *ALL_KINDS)}
    expected = [(slug, *effect, EXCLUSION_KINDS.get(effect[0], "")) for slug, effect in effects.items()]
    assert [(rule.slug, rule.kind, rule.threshold, rule.scope) for rule in rules_of(study)] == expected
    assert rules_of(study)[0].words == "in words only"
