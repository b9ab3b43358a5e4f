"""Paste evidence in words."""

from datetime import UTC, datetime, timedelta

from surveys.console.people_views import describe_evidence, describe_personal, describe_timing
from surveys.models import Response


def test_evidence_without_observation_claims_nothing() -> None:
    assert describe_evidence({"observed": False, "pasted": 9}) == ["Not observed: the page ran without JavaScript."]
    assert describe_evidence({}) == describe_evidence({"observed": False})


def test_evidence_of_a_paste_says_how_much_and_how() -> None:
    noted = {"observed": True, "copied_at": 5, "pasted": 1200, "typed": 300, "share_pasted": 0.8, "away_ms": 61_000}
    noted |= {"edited_after": True, "pastes": [{"plain": 700}, {"plain": 500}]}
    assert describe_evidence(noted) == [
        "The copy button was pressed.",
        "1,200 characters pasted in 2 pastes, 300 typed (80\u202f% pasted).",
        "The text was edited after the paste.",
        "Away from the page for 1 min 01 s.",
    ]


def test_evidence_of_no_entry_says_so() -> None:
    assert describe_evidence({"observed": True, "share_pasted": None}) == [
        "The copy button was not pressed.",
        "No typing or pasting was seen.",
    ]


def test_personal_details_are_counts_with_their_kind() -> None:
    assert describe_personal({"removed": {"e-mail": 2, "name": 1}, "kept": {"phone": 1}}) == [
        "Taken out before sending: 2 × e-mail address, 1 × name.",
        "Left in by the participant: 1 × phone number.",
    ]
    assert describe_personal({}) == describe_personal({"removed": {}}) == []


def test_timing_is_by_the_servers_clock() -> None:
    at = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    assert describe_timing(Response(shown_at=at, submitted_at=at + timedelta(seconds=95))) == (
        "1 min 35 s on the page."
    )
    assert describe_timing(Response(shown_at=None, submitted_at=at)) == "The time on the page is not known."
