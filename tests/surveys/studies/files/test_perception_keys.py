"""`[perception]` in a study file: what it may hold, the faults with their places, and what it changes."""

import json

import pytest

from surveys.models.hashes import fingerprint
from surveys.studies.files.definitions import Definition, StudyFileError, in_language, parse_study
from surveys.studies.files.schema import Perception
from tests.factories import make_annotation_study
from tests.surveys.studies.files.sample_study import GOOD, IN_GERMAN, fault_at, make_definition

OWN = 'text = "What is hot?"\noptions = ["Tea", "Ice"]\nanswer = "Tea"\n'


def read(table: str) -> Definition:
    return parse_study(f"{GOOD}\n[perception]\n{table}".encode(), "teas")


def test_study_without_the_table_has_no_figure_and_keeps_its_document() -> None:
    study = make_definition()
    assert study.perception is None and "perception" not in study.to_document()


@pytest.mark.parametrize(
    ("table", "asked"),
    [
        ("", Perception()),
        ("after = 2", Perception(after=2)),
        (OWN, Perception(text="What is hot?", options=("Tea", "Ice"), answer="Tea")),
    ],
)
def test_table_is_read_and_survives_its_document(table: str, asked: Perception) -> None:
    study = read(table)
    assert study.perception == asked
    assert Definition.from_document(json.loads(json.dumps(study.to_document()))) == study
    assert fingerprint(study.to_document()) != fingerprint(make_definition().to_document())


@pytest.mark.parametrize(
    ("table", "line", "place", "says"),
    [
        ("after = 3", "after = 3", "perception.after", "is 3, but there are 2 prompts"),
        ("after = 0", "after = 0", "perception.after", "must be a whole number from 1"),
        ('after = "last"', "after =", "perception.after", "a whole number"),
        ("figure = 1", "figure = 1", "perception.figure", "is not a key here"),
        ('text = "What is hot?"', "[perception]", "perception.options", "come together"),
        (OWN.replace('"Ice"', '"Tea"'), "options", "perception.options", "more than once"),
        (OWN.replace('["Tea", "Ice"]', '["Tea"]'), "options", "perception.options", "must have from 2"),
        (OWN.replace('answer = "Tea"', 'answer = "Fire"'), "answer =", "perception.answer", "not one of the options"),
        (OWN.replace('answer = "Tea"', ""), "[perception]", "perception.answer", "is missing"),
    ],
)
def test_fault_is_named_at_its_line(table: str, line: str, place: str, says: str) -> None:
    text = f"{GOOD}\n[perception]\n{table}"
    fault = fault_at(place, text)
    assert says in fault.message
    assert fault.line == text[: text.rindex(line)].count("\n") + 1


def test_rule_about_the_figure_wants_the_table() -> None:
    with pytest.raises(StudyFileError, match=r"exclusions\[1\]\.perception is about a figure"):
        make_definition(("attention_fails = 2", 'perception = ["wrong"]'))
    with pytest.raises(StudyFileError, match="it can be `wrong`, `unseen`"):
        make_definition(("attention_fails = 2", 'perception = ["alternative"]'))


def test_own_question_is_said_in_each_language() -> None:
    german = '[languages.de.perception]\ntext = "Was ist heiß?"\noptions = ["Tee", "Eis"]\n'
    text = f"{GOOD}\n[perception]\n{OWN}\n{IN_GERMAN}\n"
    asked = in_language(parse_study((text + german).encode(), "teas"), "de").perception
    assert asked is not None
    assert (asked.text, asked.choices) == ("Was ist heiß?", [("Tea", "Tee"), ("Ice", "Eis")])
    with pytest.raises(StudyFileError, match=r"languages\.de\.perception\.text is missing"):
        parse_study(text.encode(), "teas")


@pytest.mark.django_db
def test_annotators_are_shown_no_figure() -> None:
    assert "perception" not in make_annotation_study().current.document
    with pytest.raises(StudyFileError, match="perception is not for a study of annotators"):
        parse_study(b"[annotation]\n[perception]\n", "teas")
