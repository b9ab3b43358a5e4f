"""Studies without annotators have no pages of agreement."""

import pytest
from django.urls import reverse

from tests.factories import make_account, make_study
from tests.roles import as_account

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["overview", "numbers", "gate"])
def test_studies_without_annotators_have_no_such_pages(name: str) -> None:
    study = make_study("draft", slug="juices")
    make_account("juicer", study, "owner")
    client = as_account("juicer")
    assert client.get(reverse(f"agreement:{name}", args=["juices"])).status_code == 404
    assert "/juices/gate/" not in client.get(reverse("console:setup", args=["juices"])).content.decode()
