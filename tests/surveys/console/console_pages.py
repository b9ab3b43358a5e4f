"""Reading the console's pages in tests: a client logged in with a role, and the text of a page."""

import re

from django.http import HttpResponse
from django.test import Client

from surveys.models import Study
from tests.factories import make_account


def log_in(study: Study | None = None, role: str = "owner", name: str = "ada") -> Client:
    client = Client()
    client.force_login(make_account(name, study, role))
    return client


def text_of(response: HttpResponse) -> str:
    return response.content.decode()


def lines_of(response: HttpResponse) -> str:
    """The page's text without tags, on one line."""
    return " ".join(re.sub(r"<[^>]*>", " ", text_of(response)).split())


def said(response: HttpResponse) -> list[str]:
    return [str(message) for message in response.context["messages"]]
