"""Definitions: the shipped studies, their documents, and what they say about people and prompts."""

import json
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surveys.models.hashes import fingerprint
from surveys.studies.files import definitions
from surveys.studies.lifecycle import fill_benchmark_items
from tests.surveys.studies.files.sample_study import GOOD, SAMPLES, changed, faults_of, make_definition

ROOT = Path(__file__).resolve().parents[4]
STUDIES = ROOT / "surveys" / "studies"
SHARED = Path(os.environ.get("FIELDSTUDY_SHARED", ROOT.parent / "shared"))

# Shipped studies -----------------------------------------------------------------------------------------


@pytest.mark.skipif(not (SHARED / "data" / "mmlu").is_dir(), reason="needs the benchmark files of FIELDSTUDY_SHARED")
def test_field_13_names_items_that_the_benchmarks_have():
    files = ["mmlu/college_medicine_test", "ethics/commonsense_short_test", "ethics/justice_test"]
    rows = [json.loads(line) for name in files for line in (SHARED / "data" / f"{name}.jsonl").open(encoding="utf-8")]
    items = {row["id"]: row for row in rows}
    study = definitions.read_study(STUDIES / "field-13.toml")
    assert all(prompt.item in items for prompt in study.prompts if prompt.kind == "choice")
    filled = fill_benchmark_items(study, {name: item for name, item in items.items() if "choices" in item})
    assert [prompt.imported for prompt in filled.prompts[9:]] == [True, True, False, False]
    assert filled.prompts[9].question == items["mmlu/college_medicine/test/16"]["question"]


def test_field_13_consent_says_what_prolific_asks_for():
    text = definitions.read_study(STUDIES / "field-13.toml").consent.text.casefold()
    for word in ("what we collect", "use", "keep", "90 days", "anonymous", "share", "withdraw", "legal basis", "paste"):
        assert word in text


def test_demo_has_a_place_for_every_answer():
    study = definitions.read_study(STUDIES / "demo.toml")
    quota = [question for question in study.questions if question.purpose == "quota"]
    assert len(quota) == 1
    assert not study.chatbot_question.none
    for option in quota[0].options:
        for bot in study.chatbots:
            answers = {quota[0].slug: option}
            assert definitions.screened_out(study, answers, bot.slug) is None
            assert len(definitions.cells_for(study, [bot.slug], answers)) == 1


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_study_survives_its_document(path):
    study = definitions.read_study(path)
    assert definitions.Definition.from_document(json.loads(json.dumps(study.to_document()))) == study


HASHES = {
    "demo": "e1eb4ac9c7a84ff658f8102d03b79afa16bea42c520bd63c5bb8ba921f217158",
    "field-13": "ce2cc270e11b31b7e6945343e22d22659fafdc7459e845abc520d2390ccc8af3",
    "profiles": "445ba3cee338ffc17d5c9c785df0971f4273fc2835cc5a2226f59cfd52aab821",
    "recenter-1-quality": "7ea837865f8619d1ed26c9b90c808de96a36aff7a6680489f91c44d174ac2528",
    "recenter-2-relevance": "e3dd1888cfae3e28fb9374921dc80764319d607d9ae2ddc0e5dbf28e7486d758",
    "recenter-3-preference": "6c7e1b27e4b149df4557098d2e2533e0f2ff392686e6ceccde1310ec26107e55",
    "teas": "25ad46f47eafc3db5c5e69c05932114a01bbf98eccde9d0b996bf9b3c153a83f",
}


def test_hashes_of_studies_stay_what_they_are():
    """Otherwise a study that was already loaded would get a new version."""
    studies = [definitions.read_study(path) for path in (*STUDIES.glob("*.toml"), SAMPLES / "teas.toml")]
    assert {study.slug: fingerprint(study.to_document()) for study in studies} == HASHES


# Documents and fingerprints ------------------------------------------------------------------------------


def test_left_out_keys_get_their_defaults():
    study = make_definition()
    assert study.lease_minutes == 45
    assert study.order_scheme == "williams"
    usual = "empty prompt-itself refusal other-prompt cut-off residue same-as-other too-few-items"
    assert " ".join(study.paste_checks) == usual  # for good: a study without a list would get a new version
    assert study.chatbot_question.several == "More than one of these"
    assert study.prompts[0].items == 5
    assert study.questions[0].required
    assert study.prolific_study_ids == ()


def test_keys_may_be_blank_empty_or_left_out_where_nothing_needs_them():
    blank = make_definition(("required = false", 'required = false\nhelp = ""\noptions = []\naccept = []'))
    assert blank == make_definition()
    assert make_definition(("[debrief]", "[checks]\npaste = []\n[debrief]")).paste_checks == ()
    comprehension = GOOD[GOOD.index("[[comprehension]]") : GOOD.index("[[attention]]")]
    assert "misunderstood" not in make_definition((comprehension, ""), ('misunderstood = "CODE9"\n', "")).codes


def test_least_pay_and_an_exclusion_after_one_check_are_enough_for_a_short_study():
    study = make_definition(("minutes = 10", "minutes = 4"), ("attention_fails = 2", "attention_fails = 1"))
    assert study.exclusions[0].attention_fails == 1
    # 1.60 for 12 minutes is 8.00 an hour.
    study = make_definition(("minutes = 10", "minutes = 12"), ("amount = 2.00", "amount = 1.6"))
    assert (study.pay.amount, study.pay.cents, study.pay_per_hour) == (Decimal("1.60"), 160, 8)


def test_amounts_that_are_equal_give_the_same_document():
    assert make_definition(("2.00", "2")).to_document() == make_definition(("2.00", "2.0")).to_document()
    assert make_definition().to_document()["pay"] == {"currency": "USD", "amount": "2.00"}


def test_document_is_plain_json_and_complete():
    document = make_definition().to_document()
    assert json.loads(json.dumps(document)) == document
    assert document["cells"][0]["where"] == {"milk": ["Milk", "Oat milk"]}
    assert document["cells"][1]["where"] == {"milk": ["No milk"]}
    assert document["consent"]["text"].startswith("We ask about tea.")


TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=60).filter(str.strip)


@settings(max_examples=100)
@given(st.lists(TEXT.map(str.strip), min_size=2, max_size=8, unique=True), TEXT, st.integers(1, 20))
def test_definition_survives_file_and_document(choices, text, items):
    study = make_definition(
        ('choices = ["Cold", "Warm", "Hot"]', f"choices = {json.dumps(choices, ensure_ascii=False)}"),
        ('answer = "C"', 'answer = "B"'),
        ('text = "Recommend five teas."', f"text = {json.dumps(text, ensure_ascii=False)}\nitems = {items}"),
    )
    assert study.prompts[1].choices == tuple(choices)
    assert (study.prompts[0].text, study.prompts[0].items) == (text.strip(), items)
    assert definitions.Definition.from_document(json.loads(json.dumps(study.to_document()))) == study


def test_fingerprint_does_not_depend_on_the_order_of_keys():
    # printf '{"a":"é","b":[1,2]}' | sha256sum
    expected = "9cfb1f938a87f2b8f3b8cc429c7a09116d54f048322742d4c23d4767b85f85da"
    assert fingerprint({"b": [1, 2], "a": "é"}) == fingerprint({"a": "é", "b": [1, 2]}) == expected


@pytest.mark.parametrize(
    "change",
    [
        ("We ask about tea.", "We ask about teas."),
        ("amount = 2.00", "amount = 2.01"),
        ("after = 1", "after = 2"),
        ('answer = "C"', 'answer = "B"'),
        ("[debrief]", '[order]\nscheme = "latin"\n[debrief]'),
        ('options = ["Milk", "No milk", "Oat milk"]', 'options = ["No milk", "Milk", "Oat milk"]'),
    ],
)
def test_fingerprint_changes_with_whatever_a_participant_meets(change):
    assert fingerprint(make_definition(change).to_document()) != fingerprint(make_definition().to_document())


def test_fingerprint_does_not_change_with_comments_and_layout():
    spaced = make_definition(("minutes = 10", "# about ten\nminutes   =  1_0"))
    assert fingerprint(spaced.to_document()) == fingerprint(make_definition().to_document())


# People --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chatbots", "answers", "cells"),
    [
        (["chatgpt"], {"milk": "Milk"}, [("chatgpt", "milky")]),
        (["chatgpt"], {"milk": "Oat milk"}, [("chatgpt", "milky")]),
        (["gemini", "chatgpt"], {"milk": "No milk"}, [("gemini", "plain"), ("chatgpt", "plain")]),
        (["chatgpt"], {"milk": "Soy"}, []),
        (["chatgpt"], {}, []),
        (["claude"], {"milk": "Milk"}, []),
        ([], {"milk": "Milk"}, []),
    ],
)
def test_cells_for_a_person(chatbots, answers, cells):
    assert definitions.cells_for(make_definition(), chatbots, answers) == cells


def test_cell_without_conditions_takes_everybody():
    plain = GOOD[GOOD.rindex("[[cells]]") : GOOD.index("[codes]")]
    study = make_definition((plain, ""), ('where = { milk = ["Milk", "Oat milk"] }', "where = {}"))
    assert definitions.cells_for(study, ["gemini"], {}) == [("gemini", "milky")]


SUGAR = """
[[questions]]
slug = "sugar"
text = "Do you take sugar?"
kind = "choice"
options = ["Sugar", "No sugar"]
purpose = "quota"

[[cells]]
"""


def test_cells_that_name_different_questions_overlap():
    # A person who takes milk and no sugar would fit both.
    text = changed(("\n[[cells]]\n", SUGAR), ('{ milk = "No milk" }', '{ sugar = "No sugar" }'))
    assert [(fault.place, fault.message) for fault in faults_of(text)] == [
        ("cells[2].where", "overlaps with the cell `milky`: a person could fit both")
    ]


def test_cells_told_apart_by_one_of_two_questions_do_not_overlap():
    study = definitions.read_study(STUDIES / "field-13.toml")
    black, white = "Black or African American", "White"
    fits = [
        definitions.cells_for(study, ["chatgpt"], {"ethnicity": ethnicity, "gender": gender})
        for ethnicity in (black, white)
        for gender in ("Woman", "Man")
    ]
    assert fits == [[("chatgpt", cell.slug)] for cell in study.cells]


@pytest.mark.parametrize(
    ("answers", "chatbot", "reason"),
    [
        ({"adult": "Yes"}, "chatgpt", None),
        ({"adult": "Yes"}, "several", None),
        ({"adult": "Yes"}, "none", "chatbot"),
        ({"adult": "No"}, "chatgpt", "adult"),
        ({"adult": "yes"}, "chatgpt", "adult"),
        ({}, "chatgpt", "adult"),
        ({"adult": "No"}, "none", "chatbot"),
    ],
)
def test_reason_for_screening_out(answers, chatbot, reason):
    assert definitions.screened_out(make_definition(), answers, chatbot) == reason


def test_nobody_is_screened_out_by_a_chatbot_question_without_none():
    assert definitions.screened_out(make_definition(('none = "Neither"\n', "")), {"adult": "Yes"}, "none") is None


def test_checks_accept_each_of_their_answers():
    leaf, sea = make_definition().attention
    assert [leaf.passed_by(answer) for answer in ("Green tea", "Black tea", "")] == [True, False, False]
    assert [sea.passed_by(answer) for answer in sea.options] == [False, True, True]
    (task,) = make_definition().comprehension
    assert [task.passed_by(answer) for answer in task.options] == [True, False]


# Prompts -------------------------------------------------------------------------------------------------


def test_prompt_is_asked_as_it_stands_with_lettered_options_and_its_own_request():
    prompt = make_definition().prompts[0]
    assert definitions.prompt_text(prompt) == "Recommend five teas."
    assert definitions.letters(prompt) == ""
    prompt = make_definition().prompts[1]
    assert definitions.letters(prompt) == "ABC"
    assert definitions.prompt_text(prompt) == (
        "How hot should it be?\n\nA. Cold\nB. Warm\nC. Hot\n\nPlease answer with the letter of one option."
    )
    prompt = make_definition(('answer = "C"', 'answer = "C"\nrequest = "Nenne nur den Buchstaben."')).prompts[1]
    assert definitions.prompt_text(prompt).endswith("C. Hot\n\nNenne nur den Buchstaben.")


def test_benchmark_item_replaces_the_default_which_stays_without_one():
    study = make_definition()
    item = {"question": "How long?", "choices": ["1", "2", "3", "4"], "answer": "D", "subject": "tea"}
    filled = fill_benchmark_items(study, {"tea/1": item, "tea/2": item})
    assert filled.prompts[0] == study.prompts[0]
    assert filled.prompts[1] == replace(
        study.prompts[1], question="How long?", choices=("1", "2", "3", "4"), answer="D", imported=True
    )
    assert definitions.letters(filled.prompts[1]) == "ABCD"
    assert definitions.Definition.from_document(filled.to_document()) == filled
    assert fill_benchmark_items(study, {"tea/2": {"question": "?", "choices": ["1", "2"], "answer": "A"}}) == study


@pytest.mark.parametrize("answer", ["E", "", "AB", "a"])
def test_benchmark_item_without_a_right_answer_is_refused(answer):
    item = {"question": "How long?", "choices": ["1", "2", "3", "4"], "answer": answer}
    with pytest.raises(ValueError, match="tea/1"):
        fill_benchmark_items(make_definition(), {"tea/1": item})
