"""The pages in every language they are offered in: complete catalogues, and who decides which is shown."""

import re

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from surveys.models import Participant
from surveys.participation.steps import address
from tests.factories import make_definition, make_participant, make_study, make_visit
from tests.translations import compiled, find_messages, po_path, read_catalogue, singular, untranslated

pytestmark = pytest.mark.django_db
LANGUAGES = [code for code, _ in settings.LANGUAGES if code != "en"]
PLACEHOLDER = re.compile(r"%\(\w+\)s|%s|<\w+>")


def arrival(study: str, **more: str) -> tuple[str, dict[str, str]]:
    return reverse("survey:arrive", args=[study]), make_visit().as_parameters() | more


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogue_has_exactly_the_sentences_of_the_pages(language: str) -> None:
    catalogue = {entry.id for entry in read_catalogue(language) if entry.id}
    assert catalogue == set(find_messages())
    assert len(catalogue) > 150


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_translated(language: str) -> None:
    catalogue = read_catalogue(language)
    assert untranslated(catalogue) == []
    assert not [entry.id for entry in catalogue if entry.fuzzy and entry.id]


@pytest.mark.parametrize("language", LANGUAGES)
def test_translation_keeps_the_placeholders(language: str) -> None:
    for entry in read_catalogue(language):
        if not entry.id:
            continue
        ids, words = (part if isinstance(part, tuple) else (part,) for part in (entry.id, entry.string))
        for one, other in zip(ids, words, strict=True):
            assert sorted(PLACEHOLDER.findall(one)) == sorted(PLACEHOLDER.findall(other)), singular(entry.id)


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_catalogue_is_in_step(language: str) -> None:
    assert po_path(language).with_suffix(".mo").read_bytes() == compiled(read_catalogue(language))


def test_study_speaks_its_own_language_whatever_the_browser_says(client: Client) -> None:
    study = make_study(definition=make_definition(language="de"))
    url, visit = arrival(study.slug)
    page = client.get(url, visit, headers={"Accept-Language": "en"})
    assert '<html lang="de" dir="ltr">' in page.text
    assert "Ich bin einverstanden und nehme teil" in page.text


def test_language_of_the_address_wins_and_stays_with_the_person(client: Client) -> None:
    study = make_study()
    url, visit = arrival(study.slug, lang="de")
    assert "Ich bin einverstanden" in client.get(url, visit).text
    client.post(url, visit | {"consent": "yes"})
    participant = Participant.objects.get(pid=visit["PROLIFIC_PID"])
    assert participant.language == "de"
    assert "Zuerst einige Fragen zu Ihnen" in client.get(address(participant, "questions")).text


def test_switching_in_between_is_kept(client: Client) -> None:
    participant = make_participant(at="questions")
    questions = address(participant, "questions")
    assert 'href="?lang=de"' in client.get(questions).text
    client.get(questions, {"lang": "de"})
    page = client.get(address(participant, "trouble"))
    assert "Etwas funktioniert nicht?" in page.text
    assert 'href="?lang=en"' in page.text


def test_switch_keeps_the_ids_of_the_arrival(client: Client) -> None:
    url, visit = arrival(make_study().slug)
    page = client.get(url, visit).text
    link = re.search(r'href="(\?[^"]*lang=de[^"]*)"', page)
    assert link
    assert "Ich bin einverstanden" in client.get(url + link[1].replace("&amp;", "&")).text


def test_unknown_language_changes_nothing(client: Client) -> None:
    participant = make_participant(at="questions")
    page = client.get(address(participant, "questions"), {"lang": "tlh"})
    assert '<html lang="en"' in page.text
    participant.refresh_from_db()
    assert participant.language == "en"


def test_prompts_stay_in_the_language_of_the_study(client: Client) -> None:
    participant = make_participant(language="de")
    page = client.get(address(participant, "prompt", 1)).text
    assert '<html lang="de"' in page
    assert re.search(r'<p class="prompt" lang="en"[^>]*>', page)
    assert "Fügen Sie hier die ganze Antwort ein" in page


def test_paste_checks_ask_in_the_persons_language(client: Client) -> None:
    participant = make_participant(language="de")
    page = client.post(address(participant, "prompt", 1), {"text": ""})
    assert "Das Feld ist leer." in page.text


def test_ends_of_people_who_are_gone_keep_the_language(client: Client) -> None:
    participant = make_participant(language="de")
    page = client.post(address(participant, "stop"), {"how": "withdraw"}, follow=True)
    assert "Alles, was Sie uns gegeben haben, ist gelöscht" in page.text
    url, visit = arrival("teas", lang="de")
    page = client.post(url, visit | {"consent": "no"}, follow=True)
    assert "Danke fürs Lesen" in page.text


@pytest.mark.parametrize("language", ["ar", "he"])
def test_right_to_left_language_turns_the_page(client: Client, settings, language: str) -> None:
    settings.LANGUAGES = [*settings.LANGUAGES, (language, language)]
    participant = make_participant(language=language)
    page = client.get(address(participant, "prompt", 1)).text
    assert f'<html lang="{language}" dir="rtl">' in page
