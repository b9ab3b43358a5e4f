"""Places are leased, renewed, given back and confirmed; a cell never holds more people than places."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from surveys.models import AuditEvent, Participant, Place, QuotaCell, Study
from surveys.participation import recruitment
from surveys.participation.pasting import capture
from surveys.participation.places import (
    confirm_place,
    free_places,
    hold_place_again,
    release_expired,
    release_places,
    renew,
)
from surveys.studies import lifecycle
from surveys.studies.lifecycle import StudyError, load_definition
from tests.factories import definition_of, make_definition, make_participant, make_response, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """A study with one place in each cell."""
    return make_study(places=1)


def let_lapse(participant: Participant, minutes: int = 60) -> None:
    """Backdate the person's lease, so that it ran out this long ago and they have not been here since it began."""
    past = timezone.now() - timedelta(minutes=minutes)
    Place.objects.filter(participant=participant).update(expires_at=past)
    Participant.objects.filter(pk=participant.pk).update(last_seen_at=past - timedelta(minutes=60))


def held_by(participant: Participant) -> Place | None:
    return Place.objects.filter(participant=participant).first()


def fill(study: Study, people: int = 1) -> list[Participant]:
    return [make_participant(study) for _ in range(people)]


def test_lease_lasts_as_long_as_the_study_says() -> None:
    place = held_by(make_participant(make_study(lease_minutes=20)))
    assert place and abs(place.expires_at - timezone.now() - timedelta(minutes=20)) < timedelta(minutes=1)


def test_free_place_is_taken_before_one_that_ran_out() -> None:
    study = make_study(places=2)
    let_lapse(make_participant(study))
    assert held_by(make_participant(study)).number == 1


def test_place_that_ran_out_goes_to_the_next_person(study: Study) -> None:
    first = make_participant(study)
    let_lapse(first)
    second = make_participant(study)
    assert second.state == "active" and held_by(second) and not held_by(first)


def test_place_that_is_not_out_yet_stays_with_its_holder(study: Study) -> None:
    first = make_participant(study)
    assert make_participant(study).state == "over_quota" and held_by(first)


def test_confirmed_place_never_runs_out(study: Study) -> None:
    first = make_participant(study, "completed")
    Place.objects.filter(participant=first).update(expires_at=timezone.now() - timedelta(days=30))
    assert make_participant(study).state == "over_quota"
    assert release_expired(study) == 0 and held_by(first)


def test_emptiest_cell_is_filled_first_for_people_of_several_chatbots() -> None:
    study = make_study(places=2)
    make_participant(study, chatbot="chatgpt")
    assert make_participant(study, chatbot="several").cell.chatbot == "gemini"


@pytest.mark.parametrize(
    "sign_of_life", [make_response, lambda person: capture.save_draft(person, "prompt:teas", {"text": "a"}, 0)]
)
def test_answer_and_draft_renew_the_lease(
    participant: Participant, sign_of_life: Callable[[Participant], object]
) -> None:
    soon = timezone.now() + timedelta(minutes=1)
    Place.objects.filter(participant=participant).update(expires_at=soon)
    sign_of_life(participant)
    assert held_by(participant).expires_at > soon + timedelta(minutes=30)


def test_answer_after_the_place_was_given_away_takes_another_of_the_cell() -> None:
    study = make_study(places=2)
    first = make_participant(study)
    let_lapse(first)
    others = fill(study, 2)
    recruitment.stop(others[0], Participant.State.RETURNED)
    make_response(first)
    assert held_by(first) and held_by(others[1]) and not held_by(others[0])


def test_answer_without_any_place_left_is_stored_all_the_same(study: Study) -> None:
    first = make_participant(study)
    let_lapse(first)
    second = make_participant(study)
    make_response(first)
    assert first.responses.count() == 1 and not held_by(first) and held_by(second)


def test_late_finisher_without_a_place_is_overflow_and_paid(study: Study) -> None:
    late = make_participant(study, "debrief")
    let_lapse(late)
    make_participant(study, "completed")
    done = recruitment.complete(late)
    assert (done.state, done.overflow, done.code) == ("completed", True, "CODE6")
    assert Place.objects.filter(cell__study=study, confirmed_at__isnull=False).count() == 1


def test_late_finisher_finds_their_place_still_there(study: Study) -> None:
    late = make_participant(study, "debrief")
    let_lapse(late)
    release_expired(study)
    done = recruitment.complete(late)
    assert (done.overflow, done.code) == (False, "CODE1") and held_by(done).confirmed_at


@pytest.mark.parametrize("state", ["returned", "technical", "misunderstood"])
def test_place_comes_back_when_a_part_ends_early(study: Study, state: str) -> None:
    participant = make_participant(study)
    recruitment.stop(participant, state)
    assert not held_by(participant) and make_participant(study).state == "active"


def test_place_comes_back_when_somebody_withdraws_even_after_the_end(study: Study) -> None:
    recruitment.withdraw(make_participant(study, "completed"))
    assert Place.objects.filter(free_places(timezone.now()), cell__study=study).count() == 4
    assert make_participant(study).state == "active"


def test_released_people_are_timed_out_and_the_release_is_on_record() -> None:
    study = make_study(places=2)
    gone, here = fill(study, 2)
    let_lapse(gone)
    assert release_expired(study) == 1
    gone.refresh_from_db()
    here.refresh_from_db()
    assert (gone.state, here.state) == ("timed_out", "active")
    assert held_by(here) and not held_by(gone)
    assert AuditEvent.objects.get(action="places released").detail == {"places": 1}


def test_people_of_an_earlier_version_keep_its_lease() -> None:
    study = make_study(places=2)
    before = make_participant(study)
    load_definition(make_definition(places=2, lease_minutes=10), "tests", amendment="shorter")
    study.refresh_from_db()
    since = make_participant(study)
    Participant.objects.update(last_seen_at=timezone.now() - timedelta(minutes=20))
    release_expired(study)
    before.refresh_from_db()
    since.refresh_from_db()
    assert (before.state, since.state) == ("active", "timed_out") and before.version_id != since.version_id


def test_release_without_anything_to_release_leaves_no_record() -> None:
    study = make_study()
    make_participant(study)
    assert release_expired(study) == 0
    assert not AuditEvent.objects.filter(action="places released").exists()


def test_people_of_an_ended_pilot_time_out_too() -> None:
    study = make_study("pilot")
    gone = make_participant(study)
    lifecycle.end_pilot(study, "tests")
    let_lapse(gone)
    release_places()
    gone.refresh_from_db()
    assert (Study.objects.get().state, gone.state) == ("draft", "timed_out")


def test_timed_out_person_comes_back_to_a_place(study: Study) -> None:
    participant = make_participant(study)
    let_lapse(participant)
    release_expired(study)
    participant.refresh_from_db()
    back = recruitment.come_back(participant)
    assert back.state == "active" and held_by(back)


def test_person_timed_out_in_the_first_questions_comes_back_to_them() -> None:
    study = make_study()
    participant = make_participant(study, "questions")
    let_lapse(participant)
    release_expired(study)
    participant.refresh_from_db()
    assert participant.state == "timed_out"
    assert recruitment.come_back(participant).state == "screening"


@pytest.mark.parametrize("state,origin", [("pilot", "prolific"), ("live", "preview")])
def test_uncounted_people_get_a_cell_and_an_order_but_no_place(state: str, origin: str) -> None:
    study = make_study(state, places=1)
    people = [make_participant(study, "completed", origin=origin) for _ in range(3)]
    assert {person.state for person in people} == {"completed"} and all(person.order for person in people)
    assert not Place.objects.filter(participant__isnull=False).exists()
    assert not any(person.overflow for person in people)


def test_simulated_people_take_places(study: Study) -> None:
    assert held_by(make_participant(study, origin="simulated"))
    assert make_participant(study).state == "over_quota"


def test_confirmed_place_cannot_change_hands_in_the_database() -> None:
    study = make_study(places=2)
    done, other = make_participant(study, "completed"), make_participant(study)
    place = held_by(done)
    Place.objects.filter(participant=other).update(participant=None, expires_at=None)
    with pytest.raises(IntegrityError, match="confirmed"), transaction.atomic():
        Place.objects.filter(pk=place.pk).update(participant=other)


def test_person_cannot_hold_two_places_in_the_database() -> None:
    study = make_study(places=2)
    participant = make_participant(study)
    with pytest.raises(IntegrityError), transaction.atomic():
        Place.objects.filter(participant__isnull=True).update(participant=participant, expires_at=timezone.now())


def test_cell_cannot_shrink_below_the_places_held() -> None:
    study = make_study(places=3)
    first, *_ = fill(study, 2)
    recruitment.stop(first, "returned")
    with pytest.raises(StudyError, match="Place 2 is held, so it keeps at least 2"):
        load_definition(make_definition(places=1), "tests", amendment="fewer")
    assert QuotaCell.objects.first().places.count() == 3
    load_definition(make_definition(places=2), "tests", amendment="fewer")
    assert QuotaCell.objects.first().places.count() == 2


def test_cell_grows_by_an_amendment_and_lets_more_people_in(study: Study) -> None:
    make_participant(study)
    assert make_participant(study).state == "over_quota"
    load_definition(make_definition(places=2), "tests", amendment="more")
    study.refresh_from_db()
    assert make_participant(study).state == "active"


def test_renewing_without_a_place_says_so(participant: Participant) -> None:
    Place.objects.update(participant=None, expires_at=None)
    assert renew(participant, 10) is False


def test_place_is_held_again_only_in_the_own_cell(study: Study) -> None:
    participant = make_participant(study, cell="milky")
    let_lapse(participant)
    make_participant(study, cell="milky")
    assert hold_place_again(participant) is False
    assert confirm_place(participant) is False
    assert Place.objects.filter(cell__slug="plain", participant__isnull=True).count() == 2


def test_orders_of_a_full_cell_are_the_rows_of_the_scheme() -> None:
    study = make_study(places=2)
    rows = sorted(tuple(person.order) for person in fill(study, 2))
    assert rows == [("teas", "water"), ("water", "teas")]
    assert definition_of(study).order_scheme == "williams"


def test_place_given_on_hands_its_row_of_the_scheme_on(study: Study) -> None:
    first = make_participant(study)
    recruitment.stop(first, Participant.State.RETURNED)
    second = make_participant(study)
    assert second.order == first.order and second.order_number == first.order_number
