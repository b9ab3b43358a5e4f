"""The live monitor's numbers, each counted by hand beside its assertion."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from surveys.console.collect_views import say_pay
from surveys.console.monitoring.monitor import AtPrompt, CellProgress, FlagCount, HourlyPay, behind, say_state, watch
from surveys.models import Participant, Place, Study
from surveys.participation import recruitment
from surveys.studies.flow import people_of
from surveys.studies.lifecycle import definition_of, load_definition
from tests.factories import make_account, make_participant, make_response, make_study

pytestmark = pytest.mark.django_db
State, Step = Participant.State, Participant.Step

# The numbers of statements, whatever the number of people: cells, states, exits, steps, prompts (2), pay (2),
# flags, kinds and the last answer; the page adds session, account, study and role (2).
WATCH = 11
PAGE = WATCH + 4


@pytest.fixture
def study() -> Study:
    return make_study(places=9)


def finish_in(participant: Participant, minutes: float) -> None:
    began = participant.finished_at - timedelta(minutes=minutes)
    Participant.objects.filter(pk=participant.pk).update(consented_at=began)


def cell_of(study, name: str) -> CellProgress:
    return next(cell for cell in watch(study).cells if cell.name == name)


def test_cells_tell_filled_leased_and_free_places() -> None:
    study = make_study(places=5)
    make_participant(study, State.COMPLETED)
    make_participant(study)
    lapsed = make_participant(study)
    Place.objects.filter(participant=lapsed).update(expires_at=timezone.now() - timedelta(seconds=1))
    cell = cell_of(study, "ChatGPT · With milk")
    # The lapsed lease is a free place: the next person may take it.
    assert (cell.places, cell.filled, cell.leased, cell.free) == (5, 1, 1, 3)
    assert cell_of(study, "Gemini · Without milk") == CellProgress(cell.id + 3, "Gemini · Without milk", 5, 0, 0)


def test_everybody_stands_in_one_state_or_exit(study: Study) -> None:
    for at in (Step.QUESTIONS, Step.PROMPTS, State.COMPLETED, State.RETURNED, State.TECHNICAL):
        make_participant(study, at)
    make_participant(study, answers={"adult": "No", "milk": "Milk", "cups": "1"})
    recruitment.withdraw(make_participant(study))
    recruitment.refuse_consent(study)
    monitor = watch(study)
    assert {state: n for state, n in monitor.states.items() if n} == {
        "screening": 1,
        "active": 1,
        "completed": 1,
        "returned": 1,
        "technical": 1,
        "screened_out": 1,
    }
    assert monitor.exits == {"no_consent": 1, "withdrawn": 1}
    assert monitor.people == 8


def test_pilots_previews_and_imported_people_stay_out_of_the_main_data() -> None:
    study = make_study("pilot", places=9)
    make_participant(study)
    Participant.objects.filter(study=study).update(pilot=True)
    make_participant(study, origin="preview")
    Participant.objects.filter(origin="preview").update(pilot=False)
    for origin in ("prolific", "simulated", "imported"):
        Participant.objects.filter(pk=make_participant(study).pk).update(pilot=False, origin=origin)
    counted = {who: sum(watch(study, who).states.values()) for who in ("main", "prolific", "pilot", "all")}
    # main: Prolific and simulated; imported people are in the list of participants, but never were here.
    assert counted == {"main": 2, "prolific": 1, "pilot": 1, "all": 4}
    assert watch(study).kinds == {
        "main": 3,
        "prolific": 1,
        "simulated": 1,
        "imported": 1,
        "pilot": 1,
        "preview": 1,
        "all": 5,
        "simulated_pilot": 0,
    }
    assert people_of(study, "main").count() == 3


def test_pay_is_the_median_over_those_who_finished(study: Study) -> None:
    for minutes in (8, 10, 12, 15, 20):
        finish_in(make_participant(study, State.COMPLETED), minutes)
    pay = watch(study).pay
    # 2.00 dollars in 12 minutes, the middle one of five, are 10.00 an hour; promised are 2.00 for 10 minutes.
    assert (pay.n, pay.few, pay.below) == (5, False, True)
    assert pay.minutes == pytest.approx(12)
    assert (pay.per_hour, pay.promised) == (1000, [1200])
    assert say_pay(pay, "USD") == " Pay is below the promise: $10.00 instead of $12.00 an hour."
    assert say_pay(watch(make_study(slug="coffees")).pay, "USD") == ""


def test_people_are_held_against_the_promise_of_the_version_they_came_to(study: Study) -> None:
    for _ in range(5):
        finish_in(make_participant(study, State.COMPLETED), 10)
    assert (watch(study).pay.below, watch(study).pay.promised) == (False, [1200])
    definition = definition_of(study.current_id)
    dearer = replace(definition, pay=replace(definition.pay, amount=Decimal("3.00")))
    amended, _ = load_definition(dearer, "tests", "more pay")
    for _ in range(2):
        finish_in(make_participant(amended, State.COMPLETED), 12)
    pay = watch(amended).pay
    # Five of seven got the 12.00 an hour that they were promised, though today's promise is 18.00.
    assert (pay.n, pay.below, pay.promised) == (7, False, [1200, 1800])


def test_pay_of_fewer_than_five_is_called_too_few(study: Study) -> None:
    for minutes in (30, 40, 50, 60):
        finish_in(make_participant(study, State.COMPLETED), minutes)
    monitor = watch(study)
    assert monitor.pay.few and not monitor.pay.below
    assert [(pay.n, pay.few) for pay in monitor.pay_by_cell] == [(4, True), (0, True), (0, True), (0, True)]


def test_pay_of_nobody_is_no_number() -> None:
    pay = HourlyPay("Cell", 1200)
    assert (pay.n, pay.minutes, pay.per_hour, pay.few, pay.below, pay.promised) == (0, None, None, True, False, [1200])


def test_people_are_counted_at_the_prompt_they_have_not_answered(study: Study) -> None:
    here = make_participant(study)
    make_response(here, 0)
    gone = make_participant(study)
    recruitment.stop(gone, State.RETURNED, "returned-by-participant")
    make_participant(study, State.COMPLETED)
    first, second = ({"answered": 1, "here": 0, "stopped": 0} for _ in range(2))  # by the one who completed
    numbers = {here.order[0]: first, here.order[1]: second}
    numbers[here.order[0]]["answered"] += 1
    numbers[here.order[1]]["here"] += 1
    numbers[gone.order[0]]["stopped"] += 1
    assert watch(study).prompts == [
        AtPrompt("Ask for teas", **numbers["teas"]),
        AtPrompt("Ask about water", **numbers["water"]),
    ]


def test_who_ended_before_the_prompts_stopped_at_none_of_them(study: Study) -> None:
    for state in (State.MISUNDERSTOOD, State.RETURNED, State.TECHNICAL):
        recruitment.stop(make_participant(study, Step.INSTRUCTIONS), state, "made by a test")
    assert [prompt.stopped for prompt in watch(study).prompts] == [0, 0]


def test_flags_are_counted_by_what_became_of_them(study: Study) -> None:
    for text, keep in (("1. Only one", True), ("1. Only one", False)):
        make_response(make_participant(study), "teas", text, keep=keep)
    mended = make_participant(study)
    make_response(mended, "teas", "1. Only one")
    make_response(mended, "teas")
    counts = {flag.check: flag for flag in watch(study).flags}
    assert counts["too-few-items"] == FlagCount("too-few-items", shown=3, fixed=1, kept=1)
    assert counts["too-few-items"].undecided == 1
    assert counts["refusal"] == FlagCount("refusal", 0, 0, 0)


def test_withdrawal_takes_the_persons_numbers_away() -> None:
    study = make_study()
    person = make_participant(study)
    make_response(person, "teas", "1. Only one", keep=True)
    recruitment.withdraw(person)
    monitor = watch(study)
    assert sum(flag.shown for flag in monitor.flags) == sum(prompt.answered for prompt in monitor.prompts) == 0
    assert monitor.last_answer is None


@pytest.mark.parametrize(
    ("filled", "slow"),
    [((9, 8, 9, 2), 3), ((9, 8, 9, 8), None), ((0, 0, 0, 0), None), ((5, 5, 3, 5), 2), ((4, 5, 4, 5), None)],
)
def test_behind_is_a_cell_clearly_below_the_others(filled: tuple[int, ...], slow: int | None) -> None:
    # Shares of 10 places: a cell is behind when the median of the others is at least 0.15 above it.
    found = behind([CellProgress(number, f"cell {number}", 10, n, 0) for number, n in enumerate(filled)])
    assert (found.id if found else None) == slow


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("draft", "Nobody can take part yet: the study is a draft."),
        ("pilot", "The pilot runs. Its people fill no places."),
        ("live", "0 of 12 places are filled, nobody is working now."),
        ("paused", "Recruiting is paused. 0 of 12 places are filled, nobody is working now."),
        ("closed", "The study is closed. 0 of 12 places are filled."),
    ],
)
def test_first_sentence_says_how_the_study_stands(state: str, sentence: str) -> None:
    study = make_study(state)
    assert say_state(study, watch(study).cells) == sentence


def test_one_filled_place_is_told_in_the_singular() -> None:
    study = make_study(places=3)
    make_participant(study, State.COMPLETED)
    assert say_state(study, watch(study).cells) == "1 of 12 places is filled, nobody is working now."


def test_first_sentence_says_when_every_place_is_filled() -> None:
    study = make_study(places=1)
    for chatbot in ("chatgpt", "gemini"):
        for cell in ("milky", "plain"):
            make_participant(study, State.COMPLETED, chatbot=chatbot, cell=cell)
    assert say_state(study, watch(study).cells) == "All 4 places are filled. The study can be closed."


def fill_study(people: int):
    study = make_study(places=people)
    for number in range(people):
        person = make_participant(study, (State.COMPLETED, Step.PROMPTS, State.RETURNED)[number % 3])
        if number % 3 == 1:
            make_response(person, "teas", "1. Only one", keep=True)
    return study


@pytest.mark.parametrize("people", [1, 31])
def test_monitor_takes_as_many_statements_for_many_as_for_one(
    people: int, django_assert_num_queries: Callable, client: Client
) -> None:
    study = fill_study(people)
    watch(study)  # the definition is kept in memory from here on
    with django_assert_num_queries(WATCH):
        watch(study)
    client.force_login(make_account("vera", study, "viewer"))
    with django_assert_num_queries(PAGE):
        assert client.get(f"/console/{study.slug}/collect/numbers/").status_code == 200


def test_monitor_of_an_amended_study_keeps_the_prompts_of_older_versions() -> None:
    study = make_study()
    make_response(make_participant(study), "teas")
    definition = definition_of(study.current_id)
    first, second = definition.prompts
    renamed = replace(first, slug="infusions", title="Ask for infusions")
    amended, _ = load_definition(replace(definition, prompts=(renamed, second)), "tests", "clearer words")
    titles = [(prompt.title, prompt.answered) for prompt in watch(amended).prompts]
    assert titles == [("Ask for infusions", 0), ("Ask about water", 0), ("teas", 1)]
