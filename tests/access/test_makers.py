"""Who may make studies, and the command by which administrators share what commands have made."""

import json
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from surveys.models import AuditEvent, Study
from surveys.studies.access import let_make_studies, may_make_studies
from tests.analysis.runs.baseline_factories import make_corpus
from tests.factories import make_account, make_study
from tests.surveys.studies.files.sample_study import SAMPLES

pytestmark = pytest.mark.django_db
NEW = "/console/new/"


def log_in(account: object) -> Client:
    client = Client()
    client.force_login(account)
    return client


def test_only_those_who_are_allowed_make_studies() -> None:
    bob, text = make_account("bob", make_study("draft", slug="herbs"), "owner"), (SAMPLES / "teas.toml").read_text()
    client = log_in(bob)
    for answer in (client.get(NEW), client.post(NEW, {"text": text})):
        assert answer.status_code == 403 and "Your account may not make studies." in answer.content.decode()
    assert NEW not in client.get(reverse("console:studies")).content.decode()
    assert not Study.objects.filter(slug="teas").exists()
    let_make_studies(bob)
    client = log_in(get_user_model().objects.get())
    assert NEW in client.get(reverse("console:studies")).content.decode()
    assert client.post(NEW, {"text": text}).status_code == 302 and Study.objects.filter(slug="teas").exists()


def test_first_account_makes_studies_and_others_as_the_operator_says() -> None:
    for name, options in (("ada", []), ("bob", []), ("cid", ["--makes-studies"])):
        call_command("create_owner", name, "--generate", *options, stdout=StringIO())
    found = {account.username: may_make_studies(account) for account in get_user_model().objects.all()}
    assert found == {"ada": True, "bob": False, "cid": True}


def test_command_says_and_changes_whose_something_is() -> None:
    corpus, study = make_corpus("chats"), make_study("draft")
    make_account("ada")

    def share(*options: str) -> dict:
        out = StringIO()
        call_command("share", "corpus", "chats", "--json", *options, stdout=out)
        return json.loads(out.getvalue())

    assert share() == {"name": "chats", "owner": None, "studies": []}
    assert share("--study", "teas", "--owner", "ada") == {"name": "chats", "owner": "ada", "studies": ["teas"]}
    assert corpus.is_shared_with(study)
    assert share("--take-back", "teas", "--owner", "") == {"name": "chats", "owner": None, "studies": []}
    noted = AuditEvent.objects.filter(subject="chats").order_by("number").values_list("action", flat=True)
    assert list(noted) == ["corpus shared with it", "corpus no longer shared with it"]
    with pytest.raises(CommandError, match="There is no corpus 'nothing'"):
        call_command("share", "corpus", "nothing")
