"""The annotator's pages as plain forms, for each kind from the arrival to the code; none is a dead end."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from surveys import recruitment
from surveys.annotation import items, slots, work
from surveys.models import Annotation, Participant, Slot
from surveys.pages import address
from tests.factories import (
    ITEMS,
    annotate,
    item_of,
    make_annotation_study,
    make_annotator,
    make_items,
    make_visit,
)
from tests.surveys.annotation.page_forms import CHOSEN, label_next, open_work, path_of, read, send

pytestmark = pytest.mark.django_db
KINDS = ("attribute", "relevance", "preference")


def arrive(client: Client, study) -> Participant:
    """Through the entry and consent, to whatever comes first."""
    visit, entry = make_visit().as_parameters(), reverse("annotation:arrive", args=[study.slug])
    assert client.get(entry, visit).status_code == 200
    client.post(entry, visit | {"consent": "yes"})
    return Participant.objects.get(pid=visit["PROLIFIC_PID"])


@pytest.mark.parametrize("kind", KINDS)
def test_whole_way_by_plain_forms(client: Client, kind: str) -> None:
    study = make_annotation_study(kind=kind)
    made = make_items(study, 2)
    someone = arrive(client, study)
    page = client.get(address(someone, "resume"), follow=True)
    assert path_of(page) == address(someone, "instructions")
    page = send(client, page)
    assert path_of(page) == address(someone, "comprehension")
    page = send(client, page, task="Answers")
    assert "0 of 2 done" in page.text
    page = label_next(client, someone, kind)
    assert "1 of 2 done" in page.text
    page = label_next(client, someone, kind)
    assert path_of(page) == address(someone, "debrief")
    page = send(client, page, comments="Fine.")
    assert "https://app.prolific.com/submissions/complete?cc=CODE1" in page.text
    labels = Annotation.objects.filter(participant=someone).values_list("item", "labels", "state")
    assert {item for item, _, _ in labels} == {item.pk for item in made}
    for _, given, state in labels:
        assert state == "given" and CHOSEN[kind].items() <= given.items()
