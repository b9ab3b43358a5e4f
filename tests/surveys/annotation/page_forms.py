"""An annotator without JavaScript: fills in a page's forms and sends them as a browser does."""

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from surveys.models import Participant, Study
from surveys.participation.steps import address
from surveys.simulation.browser import VisitedPage, read_page
from surveys.studies.files.kinds import KINDS, Kind
from tests.factories import item_of, make_visit


def choose(kind: Kind) -> dict[str, str]:
    """The second label of each required question, by field."""
    asked = [question for question in kind.questions if question.required and question.is_label and not question.toggle]
    fields = [(f"{q.name}/{each['id']}", q) for q in asked if q.per for each in item_of(0, kind.name)[q.per]]
    fields += [(question.name, question) for question in asked if not question.per]
    return {name: question.values[1] for name, question in fields}


CHOSEN = {name: choose(kind) for name, kind in KINDS.items()}


def arrive(client: Client, study: Study) -> Participant:
    """Go through the entry and consent to whatever page comes next."""
    visit, entry = make_visit().as_parameters(), reverse("annotation:arrive", args=[study.slug])
    assert client.get(entry, visit).status_code == 200
    client.post(entry, visit | {"consent": "yes"})
    return Participant.objects.get(pid=visit["PROLIFIC_PID"])


def open_work(client: Client, participant: Participant) -> HttpResponse:
    return client.get(address(participant, "work"), follow=True)


def path_of(response: HttpResponse) -> str:
    """The page's path after all redirects."""
    return response.request["PATH_INFO"]


def read(response: HttpResponse) -> VisitedPage:
    return read_page(response.status_code, path_of(response), response.text)


def send(client: Client, response: HttpResponse, **chosen: str) -> HttpResponse:
    """Fill in the page's form and press the button that goes on."""
    form = read(response).form
    assert form and form.buttons
    url = form.data.get("action") or path_of(response)
    given = {name.replace("__", "/"): value for name, value in chosen.items()}
    return client.post(url, form.fields | given, follow=True)


def label_next(client: Client, participant: Participant, kind: str, **more: str) -> HttpResponse:
    """Label the next item and return the page after it."""
    chosen = {name.replace("/", "__"): value for name, value in CHOSEN[kind].items()}
    return send(client, open_work(client, participant), **chosen | more)
