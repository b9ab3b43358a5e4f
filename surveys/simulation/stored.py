"""What the database holds of one person, in the form in which a simulation notes what was sent."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from surveys.annotation.labels import changed_key
from surveys.models import Annotation, Participant, Response
from surveys.reading.answers import clean_text
from surveys.simulation.people import Sent
from surveys.study_files.kinds import KINDS, fields_of

State = Annotation.State


@dataclass(frozen=True)
class Stored:
    """One answer, or one revision of an item's labels. `again`: the key under which a form sent once more is kept."""

    slug: str
    key: uuid.UUID
    text: str
    again: Callable[[uuid.UUID], uuid.UUID]
    is_cut: bool = False  # personal details were taken out

    def is_of(self, sent: Sent) -> bool:
        key = uuid.UUID(sent.key)
        same_form = self.slug == sent.slug and self.key in (key, self.again(key))
        return same_form and (sent.text is None or self.text == clean_text(sent.text))


def stored_of(row: Participant) -> Iterator[Stored]:
    """Everything that was taken of this person, the oldest revision first."""
    answers = Response.objects.filter(participant=row, accepted=True).select_related("prompt")
    for answer in answers.order_by("revision"):
        yield Stored(answer.prompt.slug, answer.key, answer.text, key_when_kept, "removed" in answer.personal)
    for said in Annotation.objects.filter(participant=row).select_related("item").order_by("revision"):
        yield Stored(said.item.key, said.key, describe(said), partial(changed_key, labels=said.labels))


def key_when_kept(key: uuid.UUID) -> uuid.UUID:
    """An answer that was asked about and then kept is a revision of its own."""
    return uuid.uuid5(key, "kept")


def describe(said: Annotation) -> str:
    if said.state != State.GIVEN:
        return write_labels(said.state)
    asked = fields_of(KINDS[said.item.kind].questions, said.item.payload)
    off = {name for name, question in asked.items() if question.toggle and said.labels[name] == question.values[0]}
    labels = {name: value for name, value in said.labels.items() if name not in off}
    return write_labels(said.state, labels, said.left)


def write_labels(state: str, labels: Mapping[str, str] | None = None, left: str = "") -> str:
    """The same text for the same labels: what was chosen, without switches that are off, and what stood on the left."""
    return json.dumps({"state": state, "labels": labels or {}, "left": left}, sort_keys=True)
