"""The builders make what they promise, for every step and every shipped study."""

from pathlib import Path

import pytest

import surveys
from surveys.models import Flag, Participant, Place
from surveys.participation.steps import current_page
from surveys.studies.files.definitions import read_study
from surveys.studies.lifecycle import definition_of
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db
STUDIES = sorted((Path(surveys.__file__).parent / "studies").glob("*.toml"))


@pytest.mark.parametrize("step", sorted({*Participant.Step.values} - {"debrief"}))
def test_participant_at_each_step(step: str) -> None:
    assert make_participant(at=step).step == step


def test_participant_at_debrief_has_answered_everything() -> None:
    participant = make_participant(at="debrief")
    assert participant.state == "active"
    assert current_page(participant, definition_of(participant.version_id)).endswith("/debrief/")


@pytest.mark.parametrize("state", ["completed", "returned", "technical", "misunderstood"])
def test_participant_at_each_end(state: str) -> None:
    assert make_participant(at=state).state == state


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_participant_of_shipped_study_completes_without_flags(path: Path) -> None:
    participant = make_participant(make_study(definition=read_study(path)), at="completed")
    assert participant.state == "completed" and participant.code
    assert not Flag.objects.filter(participant=participant).exists()
    assert Place.objects.get(participant=participant).confirmed_at


@pytest.mark.parametrize("state", ["draft", "pilot", "live", "paused", "closed"])
def test_study_in_each_state(state: str) -> None:
    assert make_study(state).state == state
