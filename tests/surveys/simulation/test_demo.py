"""The demo is built through the real rules, marks its people as simulated, and is refused in production."""

from collections import Counter
from dataclasses import replace
from random import Random
from statistics import mean

import pytest
from django.contrib.auth import authenticate

from surveys.models import Participant, Place, ReadBack, Response, Study
from surveys.participation.steps import minutes_left
from surveys.simulation import demo
from tests.factories import make_study
from tests.surveys.studies.files.sample_study import make_asking_definition

pytestmark = pytest.mark.django_db


def test_empty_demo_is_live_without_people_and_lets_the_demo_account_in(settings) -> None:
    settings.DEBUG = True
    study = demo.build_demo()
    assert (study.slug, study.state) == ("demo", "live")
    assert Study.objects.get(slug="field-13").state == "draft"
    assert not Participant.objects.exists()
    user = authenticate(username=demo.USERNAME, password=demo.PASSWORD)
    memberships = sorted(user.memberships.values_list("study__slug", "role"))
    assert memberships == [("demo", "owner"), ("field-13", "owner"), ("profiles", "owner")]


def test_demo_again_changes_nothing(settings) -> None:
    settings.DEBUG = True
    first, second = demo.build_demo(), demo.build_demo()
    assert first.current_id == second.current_id


def test_filled_study_has_simulated_people_only_and_keeps_its_cells() -> None:
    study = make_study(places=2)
    demo.fill(study, 1.0, seed=3, progress=lambda done, total: None, all_finish=True)
    people = Participant.objects.filter(study=study)
    assert set(people.values_list("origin", "state")) == {("simulated", "completed")}
    places = Place.objects.filter(cell__study=study)
    assert people.count() == places.count() == places.filter(confirmed_at__isnull=False).count()
    assert Response.objects.filter(accepted=True).count() == people.count() * study.current.prompts.count()


def test_made_up_people_confirm_most_readings_and_correct_some() -> None:
    demo.fill(make_study(places=20), 1.0, seed=3, progress=lambda done, total: None, all_finish=True)
    said = Counter(ReadBack.objects.values_list("verdict", flat=True))
    assert said["right"] > said["unsaid"] > said["corrected"] > 0
    assert ReadBack.objects.exclude(response__participant__origin="simulated").count() == 0


def test_filling_again_adds_nobody() -> None:
    study = make_study(places=1)
    for _ in range(2):
        demo.fill(study, 1.0, seed=3, progress=lambda done, total: None, all_finish=True)
    assert Participant.objects.count() == Place.objects.count()


def test_half_filled_study_has_people_still_working() -> None:
    demo.fill(make_study(places=8), 0.5, seed=3, progress=lambda done, total: None)
    assert set(Participant.objects.values_list("state", flat=True)) == {"completed", "active"}


def test_production_refuses_the_published_password(settings) -> None:
    settings.DEBUG = False
    with pytest.raises(demo.NotADemo):
        demo.build_demo()
    assert not Study.objects.exists()


def test_made_up_people_take_as_long_as_their_pages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Random, "lognormvariate", lambda self, mu, sigma: 1.0)
    definition = replace(make_asking_definition(), minutes=60)
    study = make_study(definition=replace(definition, cells=tuple(replace(c, places=8) for c in definition.cells)))
    demo.fill(study, 1.0, 3, lambda done, total: None, all_finish=True)
    people = list(study.participants.filter(state="completed"))
    assert len(people) == 32
    for person in people:
        took = (person.finished_at - person.consented_at).total_seconds() / 60
        assert took == pytest.approx(minutes_left("consent", definition, 0, len(person.order)), rel=0.1)
    few, all_of_it = (
        mean((row.finished_at - row.consented_at).total_seconds() / 60 for row in people if len(row.order) == asked)
        for asked in (5, 7)
    )
    said = minutes_left("consent", definition, 0, 7) - minutes_left("consent", definition, 0, 5)
    assert all_of_it - few == pytest.approx(said, rel=0.1)
    given = Response.objects.filter(participant__study=study, accepted=True)
    assert given.filter(prompt__occasion=2).count() == 32 and given.filter(rating__isnull=False).exists()
    out = ReadBack.objects.filter(response__in=given, no_answer="unreached").count()
    assert 0 < out < 16 and out == given.filter(prompt__arm="temporary", text="").count()
