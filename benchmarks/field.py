"""People in the middle of the field study, and the forms that they are about to send."""

import random
import secrets
import uuid
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlencode

from django.db import connection
from django.utils import timezone

from benchmarks.minimal_view import MinimalAnswer
from surveys.access.access import make_pseudonym
from surveys.models import Participant, Place, QuotaCell, Study
from surveys.participation.steps import address
from surveys.pasting.capture import seal_page
from surveys.simulation.answering import note_pasting
from surveys.simulation.answers import write_answer
from surveys.studies import lifecycle
from surveys.study_files.definitions import read_study

PLACES = 200


def make_study() -> Study:
    """field-13, launched, with room for everybody; and the yardstick's table."""
    definition = read_study(lifecycle.__file__.replace("lifecycle.py", "field-13.toml"))
    cells = tuple(replace(cell, places=PLACES) for cell in definition.cells)
    study, _ = lifecycle.load_definition(replace(definition, cells=cells), "benchmark")
    if not study.is_launched:
        lifecycle.launch(study, "benchmark")
    if MinimalAnswer._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(MinimalAnswer)
    return Study.objects.select_related("current").get(pk=study.pk)


def make_forms(study: Study, people: int) -> list[list[tuple[str, str]]]:
    """For each of so many new people, the address and the body of each of their answers in their order."""
    prompts = lifecycle.prompts_of(study.current_id)
    rng = random.Random()  # new texts in each run: the same again would be asked about as a copy
    forms = []
    for person in make_people(study, people, list(prompts)):
        forms.append(
            [
                (address(person, "prompt", number), encode(write_answer(prompts[slug], rng), rng))
                for number, slug in enumerate(person.order, 1)
            ]
        )
    return forms


def encode(text: str, rng: random.Random) -> str:
    fields = {"key": uuid.uuid4(), "page": seal_page(0), "privacy": "", "removed": "", "text": text}
    # Some of the made-up answers look like a neighbour's or like another prompt's: they are sent as kept.
    return urlencode(fields | note_pasting(text, rng) | {"keep": "1"})


def make_people(study: Study, count: int, slugs: list[str]) -> list[Participant]:
    """People in places of their own at the first prompt."""
    cells = {cell.pk: cell for cell in QuotaCell.objects.filter(study=study)}
    places = list(Place.objects.filter(cell__in=cells, participant__isnull=True)[:count])
    rng = random.Random(count)
    people = Participant.objects.bulk_create(
        Participant(
            study=study,
            version_id=study.current_id,
            pid=secrets.token_hex(12),
            pseudonym=make_pseudonym(),
            origin=Participant.Origin.SIMULATED,
            state=Participant.State.ACTIVE,
            step=Participant.Step.PROMPTS,
            cell_id=place.cell_id,
            order=rng.sample(slugs, len(slugs)),
            order_number=place.number,
        )
        for place in places
    )
    for place, person in zip(places, people, strict=True):
        place.participant, place.expires_at = person, timezone.now() + timedelta(minutes=45)
    Place.objects.bulk_update(places, ["participant", "expires_at"])
    return people
