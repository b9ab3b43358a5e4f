"""The pages in every language offered: complete catalogues, and who decides which language is shown."""

import re

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from surveys.models import Participant, Response, Study
from surveys.participation.languages import preferred
from surveys.participation.steps import address
from tests.factories import answer_text, make_definition, make_participant, make_response, make_study, make_visit
from tests.surveys.studies.files.sample_study import read_german
from tests.translations import compiled, find_messages, po_path, read_catalogue, singular, untranslated

pytestmark = pytest.mark.django_db
LANGUAGES = [code for code, _ in settings.LANGUAGES if code != "en"]
PLACEHOLDER = re.compile(r"%\(\w+\)s|%s|<\w+>")


def make_bilingual(**changes: object) -> Study:
    return make_study(languages=read_german(), **changes)


def arrival(study: str, **more: str) -> tuple[str, dict[str, str]]:
    return reverse("survey:arrive", args=[study]), make_visit().as_parameters() | more


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogue_has_exactly_the_sentences_of_the_pages(language: str) -> None:
    catalogue = {entry.id for entry in read_catalogue(language) if entry.id}
    assert catalogue == set(find_messages()), "python -m tests.translations renews the catalogues"
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
    is_in_step = po_path(language).with_suffix(".mo").read_bytes() == compiled(read_catalogue(language))
    assert is_in_step, "python -m tests.translations compiles it"


def test_study_speaks_its_own_language_whatever_the_browser_says(client: Client) -> None:
    url, visit = arrival(make_study(definition=make_definition(language="de")).slug)
    page = client.get(url, visit, headers={"Accept-Language": "en"})
    assert '<html lang="de" dir="ltr">' in page.text
    assert "Ich bin einverstanden und nehme teil" in page.text


def test_language_of_the_address_wins_and_stays_with_the_person(client: Client) -> None:
    url, visit = arrival(make_bilingual().slug, lang="de")
    assert "Ich bin einverstanden" in client.get(url, visit).text
    client.post(url, visit | {"consent": "yes"})
    participant = Participant.objects.get(pid=visit["PROLIFIC_PID"])
    assert participant.language == "de"
    assert "Zuerst einige Fragen zu Ihnen" in client.get(address(participant, "questions")).text


def test_switching_in_between_is_kept(client: Client) -> None:
    participant = make_participant(make_bilingual(), at="questions")
    questions = address(participant, "questions")
    assert 'href="?lang=de"' in client.get(questions).text
    assert client.get(questions, {"lang": "de", "again": "1"}).url == f"{questions}?again=1"
    page = client.get(address(participant, "trouble"))
    assert "Etwas funktioniert nicht?" in page.text
    assert 'href="?lang=en"' in page.text


def test_switch_keeps_the_ids_of_the_arrival(client: Client) -> None:
    url, visit = arrival(make_bilingual().slug)
    link = re.search(r'href="(\?[^"]*lang=de[^"]*)"', client.get(url, visit).text)
    assert link
    assert "Ich bin einverstanden" in client.get(url + link[1].replace("&amp;", "&")).text


@pytest.mark.parametrize("language", ["tlh", "de"])
def test_language_that_the_study_is_not_in_changes_nothing(client: Client, language: str) -> None:
    participant = make_participant(at="questions")
    page = client.get(address(participant, "questions"), {"lang": language})
    assert "hreflang" not in page.text
    assert '<html lang="en"' in page.text
    participant.refresh_from_db()
    assert participant.language == "en"


def test_pages_around_a_study_are_in_no_language_but_its_own(client: Client) -> None:
    page = client.get(address(make_participant(language="de"), "prompt", 1)).text
    assert '<html lang="en"' in page and "Fügen Sie" not in page


def test_paste_checks_ask_in_the_persons_language(client: Client) -> None:
    page = client.post(address(make_participant(make_bilingual(), language="de"), "prompt", 1), {"text": ""})
    assert "Das Feld ist leer." in page.text


def test_ends_of_people_who_are_gone_keep_the_language(client: Client) -> None:
    participant = make_participant(make_bilingual(), language="de")
    page = client.post(address(participant, "stop"), {"how": "withdraw", "sure": "1"}, follow=True)
    assert "Alles, was Sie uns gegeben haben, ist gelöscht" in page.text
    url, visit = arrival("teas", lang="de")
    page = client.post(url, visit | {"consent": "no"}, follow=True)
    assert "Danke fürs Lesen" in page.text


@pytest.mark.parametrize("language", ["ar", "he"])
def test_right_to_left_language_turns_the_page(client: Client, settings, language: str) -> None:
    settings.LANGUAGES = [*settings.LANGUAGES, (language, language)]
    participant = make_participant(make_study(language=language), language=language)
    assert f'<html lang="{language}" dir="rtl">' in client.get(address(participant, "prompt", 1)).text


# --- a study in two languages -------------------------------------------------


@pytest.mark.parametrize(
    ("header", "offered", "found"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", ("en", "de"), "de"),
        ("fr,en;q=0.8,de;q=0.9", ("en", "de"), "de"),
        ("fr", ("de", "en"), "de"),
        ("", ("en", "de"), "en"),
        ("*", ("en", "de"), "en"),
        ("pt-PT", ("en", "pt-BR"), "pt-BR"),
        ("pt-PT", ("pt-BR", "pt-PT"), "pt-PT"),
        ("de;q=x,\x00", ("en", "de"), "en"),
    ],
)
def test_browser_chooses_among_the_languages_of_the_study(header: str, offered: tuple[str, ...], found: str) -> None:
    assert preferred(header, offered) == found


def test_every_page_of_the_way_is_in_the_chosen_language(client: Client) -> None:
    study = make_bilingual(order_scheme="fixed")
    url, visit = arrival(study.slug)
    page = client.get(url, visit, headers={"Accept-Language": "de-AT,de;q=0.9,en;q=0.8"}).text
    assert '<html lang="de"' in page and "Wir fragen nach Tee." in page
    # The form sends the language, whatever the browser that carries it would prefer.
    client.post(url, visit | {"consent": "yes", "lang": "de"}, headers={"Accept-Language": "en"})
    someone = Participant.objects.get(pid=visit["PROLIFIC_PID"])
    assert (someone.language, someone.consent_language, someone.consent_version) == ("de", "de", "1")
    assert someone.consent_sha256 != make_participant(study).consent_sha256
    said = []

    def at(name: str, *args: object) -> str:
        said.append(client.get(address(someone, name, *args)).text)
        return address(someone, name, *args)

    client.post(at("questions"), {"chatbot": "chatgpt", "q-adult": "Yes", "q-milk": "Oat milk"})
    client.post(at("instructions"))
    client.post(at("comprehension"), {"task": "Answers"})
    client.post(at("context"), {"plan": "free", "memory": "on", "personalisation": "off"})
    client.post(at("prompt", 1), {"text": "1. Assam\n2. Sencha\n3. Rooibos\n4. Mate\n5. Oolong"})
    client.post(at("attention", "leaf"), {"answer": "Green tea"})
    client.post(at("prompt", 2), {"text": "Heiß", "letter": "C", "read": "right", "keep": "1"})
    client.post(at("attention", "sea"), {"answer": "Disagree"})
    at("debrief")
    wanted = (
        "Nehmen Sie Milch?",
        "Melden Sie sich an.",
        "Antworten",
        "Ihr ChatGPT",
        "Empfiehl fünf Tees.",
        "Grüner Tee",
    )
    for words, page in zip((*wanted, "C. Heiß", "Stimmt nicht", "Danke."), said, strict=True):
        assert words in page
        # Nothing is in English but the link to English.
        assert '<html lang="de"' in page and re.findall(r'\slang="en"', page) == [' lang="en"']
    someone.refresh_from_db()
    assert someone.answers == {"chatbot": "chatgpt", "adult": "Yes", "milk": "Oat milk", "cups": ""}
    assert someone.cell.slug == "milky"
    assert all(given["passed"] for given in someone.checks["attention"].values())
    assert [row.language for row in Response.objects.filter(participant=someone)] == ["de", "de"]


def test_answer_is_read_and_kept_by_the_language_that_its_page_showed(client: Client) -> None:
    """A person may change the language in another tab; the page they send still asked in its own."""
    participant = make_participant(make_bilingual(order_scheme="fixed"))
    make_response(participant, "teas")
    client.get(address(participant, "prompt", 2), {"lang": "de"})
    for language, text, kept in (("en", "Hot", "en"), ("de", "Heiß", "de"), ("tlh", "Heiß", "de"), ("", "Heiß", "de")):
        client.post(address(participant, "prompt", 2), {"text": text, "shown_in": language})
        newest = Response.objects.filter(participant=participant, prompt__slug="water").latest("revision")
        assert (newest.language, newest.text, newest.accepted) == (kept, text, True)


def test_prompt_that_was_begun_stays_in_its_language(client: Client) -> None:
    participant = make_participant(make_bilingual(order_scheme="fixed"))
    prompt, draft = address(participant, "prompt", 1), address(participant, "draft")
    client.post(draft, {"step": "prompt:teas", "text": "1. Assam", "shown_in": "en"})
    page = client.get(f"{prompt}?lang=de", follow=True).text
    assert "Recommend five teas." in page and 'name="shown_in" value="en"' in page
    assert "Diese Nachricht bleibt in der Sprache" in page
    client.post(draft, {"step": "prompt:teas", "text": "", "shown_in": "en", "number": "1"})
    assert "Empfiehl fünf Tees." in client.get(prompt).text
    make_response(participant, "teas", answer_text(participant.version.prompts.get(slug="teas")), language="en")
    assert "Recommend five teas." in client.get(prompt).text
    assert "Nach Wasser fragen" in client.get(address(participant, "prompt", 2)).text


def test_prompt_of_another_language_pasted_back_is_noticed(client: Client) -> None:
    participant = make_participant(make_bilingual(order_scheme="fixed"), language="de")
    page = client.post(address(participant, "prompt", 1), {"text": "Empfiehl fünf Tees.", "shown_in": "de"})
    assert "Das ist die Nachricht selbst" in page.text or 'class="gate"' in page.text
