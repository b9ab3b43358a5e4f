"""Everybody who might try a study's address: a stranger, and each role."""

from django.test import Client

from surveys.models import Study
from tests.factories import make_account, make_study

RANK = ["stranger", "blinded", "viewer", "researcher", "owner"]


def make_roles(study: Study) -> None:
    """Make an account for each, named after the role; the stranger owns another study."""
    for role in RANK[1:]:
        make_account(role, study, role)
    make_account("stranger", make_study("draft", slug="coffees"), "owner")


def as_account(name: str, **options: bool) -> Client:
    client = Client(**options)
    client.login(username=name, password="password")
    return client
