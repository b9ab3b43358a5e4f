"""Annotations and agreement over the API."""

import pytest
from django.contrib.auth import get_user_model
from rest_framework.test import APIClient

from surveys.models import Study
from tests.analysis.agreement.annotation_samples import make_annotated
from tests.factories import make_account, make_study
from tests.lasting import lasting_world

pytestmark = pytest.mark.django_db


def make_labelled() -> Study:
    study, _ = make_annotated()
    make_account("viewer", study, "viewer")
    make_account("stranger", make_study("draft", slug="coffees"), "owner")
    return study


world = lasting_world(make_labelled)


@pytest.fixture
def study(world: int) -> Study:
    return Study.objects.get(pk=world)


def get(account: str, study: Study, path: str, **query: str):
    client = APIClient()
    client.force_authenticate(get_user_model().objects.get(username=account))
    return client.get(f"/api/v1/studies/{study.slug}/{path}/", query)


def test_annotations_come_page_by_page_with_those_of_judges(study: Study) -> None:
    page = get("viewer", study, "annotations", limit="5").json()
    assert (page["count"], len(page["results"])) == (32, 5)
    assert page["next"]


def test_agreement_is_that_of_the_labels_chosen(study: Study) -> None:
    (question,) = get("viewer", study, "agreement").json()["questions"]
    assert (question["labels"], question["annotators"]) == (32, 4)
    (question,) = get("viewer", study, "agreement", corpus="real", tag="about:tea").json()["questions"]
    assert question["labels"] == 32


@pytest.mark.parametrize(
    ("name", "value", "there"),
    [
        ("corpus", "reel", "Did you mean real?"),
        ("cluster", "anna", "There is none yet."),
        ("tag", "about", "Did you mean about:tea?"),
        ("tag", "x:y", "There is about:tea."),
    ],
)
def test_agreement_of_what_is_not_there_is_refused(study: Study, name: str, value: str, there: str) -> None:
    answer = get("viewer", study, "agreement", **{name: value})
    assert (answer.status_code, answer.json()["detail"]) == (400, f"{name}={value} is unknown here. {there}")


@pytest.mark.parametrize("path", ["annotations", "agreement"])
def test_strangers_and_other_studies_get_404(study: Study, path: str) -> None:
    assert get("stranger", study, path).status_code == 404
    assert get("stranger", Study.objects.get(slug="coffees"), path).status_code == 404
