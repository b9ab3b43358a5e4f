"""A study in several languages: complete in each or refused with a list, and the same study in all of them."""

import json
from dataclasses import replace

import pytest
from django.conf import settings

from surveys.models.hashes import fingerprint
from surveys.studies.files.definitions import Definition, StudyFileError, in_language, parse_study, prompt_text
from surveys.studies.files.languages import PAGE_LANGUAGES, TEXTS
from surveys.studies.files.schema import LISTS, PROMPT_KINDS, TABLES, StudyHead, keys_of
from surveys.studies.lifecycle import fill_benchmark_items
from tests.surveys.studies.files.sample_study import GOOD, IN_GERMAN, faults_of


def translated(*changes: tuple[str, str]) -> str:
    """The sample in both languages, with pieces of its German part replaced."""
    text = IN_GERMAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return GOOD + text


def read() -> Definition:
    return parse_study(translated().encode(), "teas")


def faults(*changes: tuple[str, str]) -> list[str]:
    # Without the line number, which counts from the start of the sample and its German part together.
    return [f"{fault.place} {fault.message}" for fault in faults_of(translated(*changes))]


def test_study_is_offered_in_its_own_language_first():
    assert read().offered == ("en", "de")
    assert parse_study(GOOD.encode(), "teas").offered == ("en",)


def test_file_without_languages_keeps_its_document_and_hash():
    document = parse_study(GOOD.encode(), "teas").to_document()
    assert "languages" not in json.dumps(document) and "shown_options" not in json.dumps(document)
    assert fingerprint(document) != fingerprint(read().to_document())


def test_study_of_two_languages_survives_its_document():
    study = read()
    assert Definition.from_document(json.loads(json.dumps(study.to_document()))) == study


def test_everything_that_people_are_shown_is_in_the_language_that_they_chose():
    german = in_language(read(), "de")
    assert (german.language, german.title, german.contact, german.debrief) == (
        "de",
        "Tees",
        "Schreiben Sie uns.",
        "Danke.",
    )
    assert (german.consent.version, german.consent.text) == ("1", "Wir fragen nach Tee.")
    assert german.chatbot_question.several == "Mehrere davon"
    assert german.chatbots[0].login == "Melden Sie sich an." and german.chatbots[0].name == "ChatGPT"
    assert german.comprehension[0].explanation == "Antworten."
    assert prompt_text(german.prompts[1]) == (
        "Wie heiß soll es sein?\n\nA. Kalt\nB. Warm\nC. Heiß\n\nBitte antworte mit dem Buchstaben einer Möglichkeit."
    )
    assert german.offered == ("en", "de") and in_language(read(), "en") == read()


def test_what_people_choose_is_kept_in_the_words_of_the_file():
    german = in_language(read(), "de")
    milk, leaf = german.questions[1], german.attention[0]
    assert milk.choices == [("Milk", "Milch"), ("No milk", "Keine Milch"), ("Oat milk", "Hafermilch")]
    assert german.cells[0].fits({"milk": "Oat milk"})
    assert leaf.choices[1] == ("Green tea", "Grüner Tee") and leaf.passed_by("Green tea")


def test_every_hole_is_named_at_its_line_and_nothing_is_offered_by_halves():
    holes = ('options = ["Ja", "Nein"]\n', 'login = "Melden Sie sich an."\n', 'debrief.text = "Danke."\n')
    text = translated(*((hole, "") for hole in holes))
    found = faults_of(text)
    assert [(fault.place, fault.message) for fault in found] == [
        ("languages.de.debrief.text", "is missing"),
        ("languages.de.chatbots.chatgpt.login", "is missing"),
        ("languages.de.questions.adult.options", "is missing"),
    ]
    assert text.splitlines()[found[0].line - 1] == "[languages.de]"


def test_a_prompt_that_was_forgotten_is_missing_with_all_its_texts():
    forgotten = IN_GERMAN[IN_GERMAN.index("[languages.de.prompts.water]") :]
    assert faults((forgotten, "")) == [
        f"languages.de.prompts.water.{key} is missing" for key in ("choices", "question", "request", "title")
    ]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "prompts.teas]",
            "prompts.tees]",
            "languages.de.prompts.tees is not a text of this study (did you mean `teas`?)",
        ),
        (
            '["Ja", "Nein"]',
            '["Ja", "Nein", "?"]',
            "questions.adult.options has 3 entries, but must say the 2 of the study",
        ),
        ('["Ja", "Nein"]', '["Ja", "Ja"]', "languages.de.questions.adult.options names 'Ja' more than once"),
        ('title = "Tees"', "title = 5", "languages.de.title must be text in quotes, not a number"),
        ('title = "Tees"', 'titel = "Tees"', "languages.de.titel is not a text of this study (did you mean `title`?)"),
        ("hier Grüner Tee", "hier den grünen", "attention.leaf.text must name the answer it asks for, 'Grüner Tee'"),
        ("cups]", 'cups]\nhelp = "Etwa."', "languages.de.questions.cups.help is not a text of this study"),
        ("[languages.de]", "[languages]\nfr = 5\n[languages.de]", "languages.fr is not a language of the pages"),
        ("[languages.de]", "[languages.en]\n[languages.de]", "languages.en is the language of the file's own texts"),
        (
            "[languages.de]",
            "[languages.Deutsch]\n[languages.de]",
            "languages.Deutsch is 'Deutsch', but must be a language",
        ),
    ],
)
def test_what_fits_no_text_is_refused(old: str, new: str, fault: str):
    assert [said for said in faults((old, new)) if fault in said]


def test_annotators_are_shown_their_items_in_one_language():
    studies = settings.BASE_DIR / "surveys" / "studies" / "profiles.toml"
    with pytest.raises(StudyFileError, match="languages is not for a study of annotators"):
        parse_study(studies.read_bytes() + b"\n[languages.de]\n", "profiles")


def test_an_item_of_another_length_than_its_translation_stays_out():
    item = {"question": "How?", "choices": ["1", "2"], "answer": "B"}
    same = {"question": "How?", "choices": ["1", "2", "3"], "answer": "C"}
    assert not fill_benchmark_items(read(), {"tea/1": item}).prompts[1].imported
    assert fill_benchmark_items(read(), {"tea/1": same}).prompts[1].imported
    assert fill_benchmark_items(replace(read(), languages={}), {"tea/1": item}).prompts[1].imported


def test_pages_speak_every_language_that_a_study_may_have():
    assert dict(settings.LANGUAGES) == PAGE_LANGUAGES


# Keys of text that participants do not see and that are therefore not translated.
NOT_SHOWN = {
    "": {"slug", "language", "prolific_study_ids", "minutes"},
    "consent": {"version", "full"},
    "chatbots": {"slug", "name", "address", "model", "models", "model_offered"},
    "questions": {"slug", "kind", "purpose", "accept", "required", "setting"},
    "comprehension": {"slug", "answer"},
    "attention": {"slug", "answer", "also", "after", "kind"},
    "perception": {"answer", "after"},
    "prompts": {"slug", "kind", "items", "answer", "benchmark", "item", "variant", "variant_of"},
    "arms": {"slug", "prompts", "order"},
    "rating": {"prompts"},
    "matrix": {"set", "each"},
}
NEVER_SHOWN = {"pay", "places", "codes", "order", "checks", "annotation", "cells", "exclusions", "references"}
NEVER_SHOWN |= {"wordings", "recruiting", "filters", "repeats", "hypotheses", "team", "plan"}


def test_every_key_of_a_file_is_either_said_in_each_language_or_known_not_to_be_shown():
    for name, table in {"": StudyHead, **TABLES, **LISTS}.items():
        keys = set(keys_of(table))
        if name == "prompts":
            keys |= {key for kind in PROMPT_KINDS.values() for key in keys_of(kind)}
        if name in NEVER_SHOWN:
            assert name not in TEXTS
        else:
            assert keys == {*TEXTS[name]} | NOT_SHOWN.get(name, set()), name
