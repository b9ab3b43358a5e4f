"""Adding a source changes only its own numbers and the corrected p."""

from collections.abc import Iterator
from typing import Any

import pytest

from analysis.answers.readings import read_new
from analysis.models import SimulatedUser
from analysis.report.reports import Reporting
from surveys.models import Study
from tests.analysis.report.report_samples import listed, make_model_run, reply, tell
from tests.factories import make_study

TEAS = ("Assam", "Sencha", "Oolong", "Matcha", "Earl Grey")
OF_ALL = ("p_holm",)  # corrected over all tests of a page
PARTS = ("calibration", "distances", "heterogeneity", "choices", "scores")


def numbers_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            if key not in OF_ALL:
                yield from numbers_of(entry, (*path, key))
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from numbers_of(entry, (*path, place))
    else:
        yield path, value


def found_in(study: Study) -> dict[str, list[tuple[str, dict[Any, Any]]]]:
    """The numbers of each part's rows that are not about the added source."""
    view = Reporting(study, draws=200)
    rows = {part: [row for row in view.part(part) if row["source"] != "sp-profile"] for part in PARTS}
    return {part: [dict(numbers_of(row)) for row in of_part] for part, of_part in rows.items()}


@pytest.fixture
def study() -> Study:
    """Thirty people and thirty offline answers."""
    study: Study = make_study(places=40)
    run = make_model_run(study)
    for number in range(30):
        tell(study, [TEAS[number % 5], TEAS[number % 3]], "AC"[number % 2])
        reply(run, "teas", listed([TEAS[number % 4], "Assam"]), number)
        reply(run, "water", "AAC"[number % 3], number)
    read_new(study)
    return study


@pytest.mark.django_db
def test_a_source_of_21_users_moves_nothing_of_the_others(study: Study) -> None:
    before = found_in(study)
    run = make_model_run(study, "sp-profile")
    for number in range(21):
        user = SimulatedUser.objects.create(run=run, index=number, recipe={"persona": number})
        reply(run, "teas", listed([TEAS[number % 2], f"Tea {number}"]), 0, user=user)
        reply(run, "water", "B", 0, user=user)
    read_new(study)
    after = found_in(study)
    assert all(before.values()) and after == before
