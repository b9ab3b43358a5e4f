"""People in the middle of the field study, and the forms they are about to send."""

import random
import secrets
import uuid
from dataclasses import replace
from datetime import timedelta
from html import escape
from urllib.parse import urlencode

from django.db import connection
from django.utils import timezone

from benchmarks.minimal_view import MinimalAnswer
from surveys.models import Participant, Place, QuotaCell, Study
from surveys.participation.pasting.capture import seal_page
from surveys.participation.steps import address
from surveys.simulation.answering import note_pasting
from surveys.simulation.answers import write_answer
from surveys.studies import lifecycle
from surveys.studies.access import make_pseudonym
from surveys.studies.files.definitions import read_study

PLACES = 300  # in each of eight cells
RANDOM = random.Random()
Form = tuple[str, str]


def make_study() -> Study:
    """Launch `field-13` with room for everybody, and make the yardstick's table."""
    definition = read_study(lifecycle.__file__.replace("lifecycle.py", "field-13.toml"))
    cells = tuple(replace(cell, places=PLACES) for cell in definition.cells)
    study, _ = lifecycle.load_definition(replace(definition, cells=cells), "benchmark")
    if not study.is_launched:
        lifecycle.launch(study, "benchmark")
    if MinimalAnswer._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(MinimalAnswer)
    return Study.objects.select_related("current").get(pk=study.pk)


def make_forms(study: Study, people: int) -> list[list[Form]]:
    """Make this many new people; return, for each, the address and body of each of their answers, in their order."""
    return [
        [(address(person, "prompt", n), encode(answer_to(study, slug))) for n, slug in enumerate(person.order, 1)]
        for person in make_people(study, people)
    ]


def for_minimal(people: list[list[Form]]) -> list[list[Form]]:
    """Return the same bodies, addressed to the yardstick."""
    return [[(f"/minimal/{n}/", body) for n, (_, body) in enumerate(forms, 1)] for forms in people]


def make_autosaves(study: Study, people: int) -> list[list[Form]]:
    """Make two autosaves for each prompt: the first half of an answer, then all of it."""
    return [
        [
            (address(person, "draft"), urlencode(draft_of(slug, text[: len(text) * (number + 1) // 2], number)))
            for slug, text in ((slug, answer_to(study, slug)) for slug in person.order)
            for number in range(2)
        ]
        for person in make_people(study, people)
    ]


def answer_to(study: Study, slug: str) -> str:
    """Write a new answer each time, since the page would ask about a repeated one as a copy."""
    return write_answer(lifecycle.prompts_of(study.current_id)[slug], RANDOM)


def encode(text: str) -> str:
    """Encode the form that the page sends, as a browser does without scripts."""
    fields = {"key": uuid.uuid4(), "page": seal_page(0), "shown_in": "en", "privacy": "", "removed": "", "text": text}
    # Some made-up answers look like a neighbour's or another prompt's: they are sent as kept despite a flag.
    return urlencode(fields | note_pasting(text, RANDOM) | {"html": as_html(text), "keep": "1"})


# A browser writes out the styles of each copied paragraph.
HTML_LINE = (
    '<p data-start="{start}" data-end="{end}" style="--tw-border-spacing-x: 0; --tw-border-spacing-y: 0; '
    "margin: 0px 0px 1.25rem; color: rgb(13, 13, 13); font-family: ui-sans-serif, -apple-system, system-ui, "
    "&quot;Segoe UI&quot;, Helvetica, Arial, sans-serif; font-size: 16px; font-style: normal; font-weight: 400; "
    "letter-spacing: normal; orphans: 2; text-align: start; text-indent: 0px; text-transform: none; widows: 2; "
    "word-spacing: 0px; white-space: pre-wrap; background-color: rgb(255, 255, 255); "
    'text-decoration-color: initial;"><span style="box-sizing: border-box; border: 0px solid rgb(227, 227, 227);">'
    "{words}</span></p>"
)


def as_html(text: str) -> str:
    """Return the HTML that copying an answer from a chatbot's page puts on the clipboard."""
    lines = text.split("\n")
    return '<meta charset="utf-8">' + "".join(
        HTML_LINE.format(start=at, end=at + len(words), words=escape(words)) for at, words in enumerate(lines)
    )


def draft_of(slug: str, text: str, number: int) -> dict[str, object]:
    notes = note_pasting(text, RANDOM)["evidence"]
    return {"step": f"prompt:{slug}", "number": number, "text": text, "shown_in": "en", "evidence": notes}


def make_people(study: Study, count: int) -> list[Participant]:
    """Make people at the first prompt, each in a place of their own, spread over all cells."""
    slugs = list(lifecycle.prompts_of(study.current_id))
    cells = {cell.pk: cell for cell in QuotaCell.objects.filter(study=study)}
    places = list(Place.objects.filter(cell__in=cells, participant__isnull=True).order_by("number", "cell")[:count])
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
