"""The codebook describes every column, with names that every format can hold."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from analysis.exports.codebook import KINDS, ExportColumn, ExportTable, as_document, as_markdown, unique_names
from analysis.exports.exports import ANNOTATION_TABLES, MODEL_TABLES, TABLES, codebook_of
from surveys.studies.files.definitions import Definition, read_study
from surveys.studies.lifecycle import load_definition
from tests.factories import make_definition, make_participant, make_study

pytestmark = pytest.mark.django_db
SPSS_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def columns_of(table: ExportTable) -> dict[str, ExportColumn]:
    return {column.name: column for column in table.columns}


@pytest.mark.parametrize("path", sorted((settings.BASE_DIR / "surveys" / "studies").glob("*.toml")), ids=str)
def test_columns_of_shipped_studies_are_named_and_described(path: Path) -> None:
    codebook = codebook_of(make_study(definition=read_study(path)), pids=True)
    annotated = codebook.versions[-1].definition.annotation is not None
    assert tuple(codebook.tables) == (*TABLES, *(ANNOTATION_TABLES if annotated else ()))
    for table in codebook.tables.values():
        names = [column.name.casefold() for column in table.columns]
        assert len(names) == len(set(names))
        for column in table.columns:
            assert SPSS_NAME.fullmatch(column.name), column.name
            assert column.meaning and column.kind in KINDS


def test_levels_name_the_chatbots_and_options() -> None:
    person = columns_of(codebook_of(make_study()).tables["participants"])
    assert list(person["answer_milk"].levels) == ["Milk", "No milk", "Oat milk"]
    none = {"several": "More than one of these", "none": "Neither"}
    assert person["answer_chatbot"].levels == {"chatgpt": "ChatGPT", "gemini": "Gemini"} | none
    assert (person["answer_cups"].kind, person["attention_leaf_passed"].kind) == ("integer", "boolean")


def test_pid_stands_beside_the_participant_only_when_asked_for() -> None:
    study = make_study()
    assert all("pid" not in columns_of(table) for table in codebook_of(study).tables.values())
    with_pid = {name for name, table in codebook_of(study, pids=True).tables.items() if "pid" in columns_of(table)}
    assert with_pid == set(TABLES) - {"flow", "aliases", "alias_decisions", *MODEL_TABLES}


def test_both_versions_of_a_changed_study_are_described() -> None:
    study = make_study()
    prompt = replace(make_definition().prompts[0], slug="infusions", title="Ask for infusions")
    load_definition(make_definition(prompts=(prompt,)), "tests", amendment="Other prompts.")
    codebook = codebook_of(study)
    assert [(version.number, version.amendment) for version in codebook.versions] == [(1, ""), (2, "Other prompts.")]
    assert list(columns_of(codebook.tables["flags"])["prompt"].levels) == ["teas", "water", "infusions"]
    text = as_markdown(codebook)
    assert "## Prompts of version 1" in text and "### Ask for infusions (`infusions`, recommendation)" in text


def test_questions_that_only_imported_people_answered_have_a_column() -> None:
    study = make_study()
    participant = make_participant(study, origin="imported")
    participant.answers["home_town"] = "Ulm"
    participant.save()
    assert "answer_home_town" in columns_of(codebook_of(study).tables["participants"])


def test_names_that_differ_only_in_signs_are_told_apart() -> None:
    columns = [
        ExportColumn(name, "text", "…") for name in ("answer_a-b", "answer_a_b", "answer_A-B", "answer_é", "a" * 90)
    ]
    named = [column.name for column in unique_names(columns)]
    assert named == ["answer_a_b", "answer_a_b_2", "answer_A_B_3", "answer__", "a" * 60]


def test_check_called_like_a_column_of_all_studies_has_a_column_of_its_own() -> None:
    checks = make_definition().attention
    study = make_study(definition=make_definition(attention=(replace(checks[0], slug="failed"), *checks[1:])))
    names = [column.name for column in codebook_of(study).tables["participants"].columns]
    assert len(names) == len({*names}) and {"attention_failed", "attention_failed_2"} <= {*names}


def test_document_is_json_and_markdown_obeys_no_sign_of_the_study() -> None:
    definition: Definition = make_definition(title="Teas | <script>alert(1)</script> `x`")
    codebook = codebook_of(make_study("draft", definition))
    assert json.loads(json.dumps(as_document(codebook)))["title"] == definition.title
    first = as_markdown(codebook).splitlines()[0]
    assert first == r"# Codebook of Teas \| &#60;script&#62;alert(1)&#60;/script&#62; \`x\`"
