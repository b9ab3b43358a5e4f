"""Personas and corpora in the console: listed, uploaded, viewed, with source and licence, and a run started there."""

import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from analysis.models import Persona, PersonaSet
from analysis.people.pages import forms
from surveys.models import AuditEvent, Study
from tests.analysis.runs.baseline_factories import (
    make_conversation,
    make_corpus,
    make_endpoint,
    make_personas,
    make_run,
)
from tests.factories import make_study
from tests.surveys.console.console_pages import lines_of, log_in, said, text_of

pytestmark = pytest.mark.django_db
ORIGIN = {"source": "Invented for a test", "licence": "CC0"}


@pytest.fixture
def study() -> Study:
    return make_study("draft")


@pytest.fixture
def client(study: Study) -> Client:
    return log_in(study, "researcher")


def address(name: str, *more: str) -> str:
    return reverse(f"people:{name}", args=["teas", *more])


def bring(client: Client, content: str, file: str = "people.jsonl", **changes: str):
    given = {"name": "people", "file": SimpleUploadedFile(file, content.encode()), **ORIGIN} | changes
    return client.post(address("personas"), given, follow=True)


def test_an_empty_list_says_what_to_do(client: Client) -> None:
    make_endpoint()
    words = lines_of(client.get(address("personas")))
    assert "There are no personas yet." in words and "Upload a file below" in words
    assert "Upload a file below" in lines_of(client.get(address("corpora")))
    form = text_of(client.get(reverse("baselines:new-run", args=["teas"])))
    assert address("personas") in form and address("corpora") in form
    make_personas("people", [("A made-up nurse.", [])])
    make_corpus()
    form = lines_of(client.get(reverse("baselines:new-run", args=["teas"])))
    assert "There are no personas yet." not in form and "There is no corpus yet." not in form


def test_personas_are_brought_listed_and_looked_at(client: Client, study: Study) -> None:
    lines = [{"persona": "A nurse <b>who</b> sings."}, {"sentences": ["I sing.", "I have two dogs."]}]
    page = bring(client, "\n".join(map(json.dumps, lines)))
    assert said(page) == ["2 lines read, 2 of them new."]
    assert page.redirect_chain[-1][0] == address("persona-set", "people")
    words = lines_of(page)
    assert "people has 2 personas. Source: Invented for a test. Licence: CC0." in words
    assert "Profile of the user: A nurse &lt;b&gt;who&lt;/b&gt; sings." in words
    assert "What the user says about themselves: - I sing. - I have two dogs." in words
    make_run("sp-profile", study=study, personas=PersonaSet.objects.get())
    assert "people Invented for a test CC0 1 1 1" in lines_of(client.get(address("personas")))
    event = AuditEvent.objects.get(action="personas uploaded")
    assert (event.subject, event.detail) == ("people", {"file": "people.jsonl", "lines": 2})


def test_the_same_file_again_adds_nothing_and_needs_no_origin(client: Client) -> None:
    bring(client, "I sing.\nI row.\n", "said.txt", lines="sentence")
    again = bring(client, "I row.\nI bake.\n", "said.txt", lines="sentence", source="", licence="")
    assert said(again) == ["2 lines read, 1 of them new."]
    assert (PersonaSet.objects.get().licence, Persona.objects.count()) == ("CC0", 3)


@pytest.mark.parametrize(
    ("content", "changes", "words"),
    [
        ('{"persona": 5}', {}, "people.jsonl: line 1 needs a text in"),
        ("", {}, "The submitted file is empty."),
        ('{"persona": "A nurse."}', {"licence": ""}, "Licence : Say it, or that it is not known."),
        ('{"persona": "A nurse."}', {"name": "no name"}, "Use up to 50 letters, digits, - and _."),
        ('{"persona": "A nurse."}', {"lines": "verse"}, "Select a valid choice."),
    ],
)
def test_a_file_that_cannot_be_read_changes_nothing(client: Client, content: str, changes: dict, words: str) -> None:
    page = bring(client, content, **changes)
    assert page.status_code == 422 and words in lines_of(page)
    assert not PersonaSet.objects.exists() and not AuditEvent.objects.filter(action="personas uploaded").exists()


def test_a_large_file_is_for_the_command(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "MOST_PERSONA_BYTES", 10)
    assert "manage.py import_personas NAME FILE" in lines_of(bring(client, '{"persona": "A nurse."}'))


def test_source_and_licence_are_changed_by_the_owner_and_audited(client: Client) -> None:
    corpus, personas = make_corpus(), make_personas("people", [("A made-up nurse.", [])])
    make_conversation(corpus)
    assert client.post(address("set-origin", "people"), ORIGIN).status_code == 403
    for thing in (corpus, personas):
        type(thing).objects.update(owner=get_user_model().objects.get())
    for name, subject, action in (
        ("set-origin", "people", "source of personas changed"),
        ("corpus-origin", "corpus", "source of a corpus changed"),
    ):
        page = client.post(address(name, subject), ORIGIN, follow=True)
        assert said(page) == ["Source and licence are saved."] and "CC0" in lines_of(page)
        assert AuditEvent.objects.get(action=action).detail == ORIGIN
        refused = client.post(address(name, subject), {"source": "Somewhere"}, follow=True)
        assert said(refused) == ["Say both, source and licence, or that they are not known."]


def test_conversations_of_a_corpus_are_looked_at_without_personal_details(client: Client) -> None:
    corpus = make_corpus()
    make_conversation(corpus, messages=[{"role": "user", "content": "Write to ann@example.org <b>now</b>"}])
    for _ in range(6):
        make_conversation(corpus)
    page = client.get(address("conversations", "corpus"))
    assert "7 conversations, in no particular order." in lines_of(page) and len(page.context["conversations"]) == 5
    assert re.findall(r"<h(\d)", text_of(page))[:3] == ["1", "2", "3"]
    both = text_of(page) + text_of(client.get(address("conversations", "corpus"), {"page": 2}))
    assert "ann@example.org" not in both and "[e-mail address] &lt;b&gt;now" in both


def test_a_run_is_begun_from_a_set_and_from_a_corpus(client: Client) -> None:
    make_endpoint()
    make_personas("people", [("A made-up nurse.", [])])
    make_corpus()
    link = f"{reverse('baselines:new-run', args=['teas'])}?condition=sp-profile&amp;personas=people"
    assert link in text_of(client.get(address("persona-set", "people")))
    form = client.get(link.replace("&amp;", "&")).context["form"]
    assert (form["condition"].value(), form["personas"].value()) == ("sp-profile", "people")
    assert "condition=sp-history&amp;corpus=corpus" in text_of(client.get(address("corpus", "corpus")))
