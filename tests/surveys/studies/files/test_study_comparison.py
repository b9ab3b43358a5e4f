"""What a study file says about the comparison (rules, variants, models, references) is read, stored and checked."""

import json
from dataclasses import replace
from typing import Any

import pytest

from surveys.models.hashes import fingerprint
from surveys.studies.exclusions import effect_of
from surveys.studies.files.definitions import Definition
from surveys.studies.files.schema import Reference
from surveys.studies.lifecycle import fill_benchmark_items, load_definition
from tests.surveys.studies.files.sample_study import changed, faults_of, make_definition

RULE = "attention_fails = 2"
END = "[debrief]"
VARIANT = """
[[prompts]]
slug = "teas-typos"
title = "Ask for teas, in haste"
kind = "recommendation"
text = "recomend five tease"
variant_of = "teas"
variant = "typos"

"""
CHOICE_VARIANT = """
[[prompts]]
slug = "water-slang"
title = "Ask about water, casually"
kind = "choice"
question = "How hot, mate?"
choices = ["Cold", "Warm", "Hot"]
answer = "C"
variant_of = "water"
variant = "slang"

"""
REFERENCE = """
[[references]]
benchmark = "tea"
name = "Best kettle"
accuracy = 0.82
source = "A leaderboard of kettles"

"""


def told(*changes: tuple[str, str]) -> list[tuple[str, str]]:
    return [(fault.place, fault.message) for fault in faults_of(changed(*changes))]


# Reading -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "kind", "threshold"),
    [
        ("minutes_under = 4", "minutes_under", 4.0),
        ("minutes_under = 4.5", "minutes_under", 4.5),
        ("seconds_under = 10", "seconds_under", 10.0),
        ("pasted_under = 0.5", "pasted_under", 0.5),
        ("pasted_under = 1", "pasted_under", 1.0),
        ('flags = ["refusal", "cut-off"]', "flags", ("refusal", "cut-off")),
        ("flags_kept = 3", "flags_kept", 3),
        (
            'context = { memory = "off", device = ["phone", "tablet"] }',
            "context",
            {"memory": ("off",), "device": ("phone", "tablet")},
        ),
        ('context = { product = "other" }', "context", {"product": ("other",)}),
        ('context = { product = ["gemini"] }', "context", {"product": ("gemini",)}),
        ('context = { model_shown = "*mini*" }', "context", {"model_shown": ("*mini*",)}),
        ('perception = ["wrong"]\n\n[perception]', "perception", ("wrong",)),
        ("attention_fails = 0", "", None),
        ("flags = []\ncontext = {}", "", None),
    ],
)
def test_rule_has_one_kind_and_survives_its_document(written: str, kind: str, threshold: Any) -> None:
    study = make_definition((RULE, written))
    (rule,) = study.exclusions
    assert effect_of(rule) == (kind, threshold)
    assert Definition.from_document(json.loads(json.dumps(study.to_document()))) == study


def test_number_written_in_two_ways_is_one_document() -> None:
    first, second = (make_definition((RULE, f"minutes_under = {minutes}")) for minutes in ("8", "8.00"))
    assert fingerprint(first.to_document()) == fingerprint(second.to_document())


def test_variants_models_and_references_survive_their_document() -> None:
    study = make_definition(
        ("[[exclusions]]", VARIANT + CHOICE_VARIANT + "[[exclusions]]"),
        ('model = "GPT-4o mini"', 'model = "GPT-4o mini"\nmodels = ["gpt-*", "o?-*"]'),
        (END, REFERENCE + END),
    )
    assert [(prompt.slug, prompt.variant_of, prompt.variant) for prompt in study.prompts] == [
        ("teas", "", ""),
        ("water", "", ""),
        ("teas-typos", "teas", "typos"),
        ("water-slang", "water", "slang"),
    ]
    assert [bot.models for bot in study.chatbots] == [("gpt-*", "o?-*"), ()]
    assert study.references == (Reference("tea", "Best kettle", 0.82, "A leaderboard of kettles"),)
    assert Definition.from_document(json.loads(json.dumps(study.to_document()))) == study


@pytest.mark.django_db
def test_unchanged_file_makes_no_new_version() -> None:
    load_definition(make_definition(), "tests")
    assert load_definition(make_definition(), "tests")[1] == "unchanged"
    assert load_definition(make_definition((END, REFERENCE + END)), "tests")[1] == "updated"


# Faults --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "place", "says"),
    [
        ("attention_fails = 2\nflags_kept = 3", "exclusions[1].flags_kept", "stands beside `attention_fails`"),
        ("minutes_under = 4\npasted_under = 0.5", "exclusions[1].pasted_under", "stands beside `minutes_under`"),
        ("minutes_under = 10", "exclusions[1].minutes_under", "is 10, but 10 minutes are what people are told"),
        ("minutes_under = 0", "exclusions[1].minutes_under", "must be a number above 0 and at most 240"),
        ("minutes_under = nan", "exclusions[1].minutes_under", "must be a number above 0"),
        ("minutes_under = 1e-999999", "exclusions[1].minutes_under", "must be a number above 0"),
        ('minutes_under = "4"', "exclusions[1].minutes_under", "must be a number, not text"),
        ("seconds_under = true", "exclusions[1].seconds_under", "must be a number, not true or false"),
        ("seconds_under = 9e9999", "exclusions[1].seconds_under", "at most 3,600"),
        ("pasted_under = 50", "exclusions[1].pasted_under", "must be a number above 0 and at most 1"),
        ("flags_kept = 0", "exclusions[1].flags_kept", "must be a whole number from 1"),
        ('flags = ["refusals"]', "exclusions[1].flags", "did you mean `refusal`?"),
        ('context = { memori = "off" }', "exclusions[1].context", "did you mean `memory`?"),
        ('context = { chat = "same" }', "exclusions[1].context", "names `chat`, which nobody is asked"),
        ('context = { memory = "of" }', "exclusions[1].context", "names 'of' for `memory`, which can be `on`, `off`"),
        ('context = { product = "claude" }', "exclusions[1].context", "which can be `chatgpt`, `gemini`, `other`"),
        ('context = "off"', "exclusions[1].context", "must be a table"),
        ("context = { memory = [] }", "exclusions[1].context", "has 0 entries"),
    ],
)
def test_fault_of_a_rule_is_named(new: str, place: str, says: str) -> None:
    ((found, message),) = told((RULE, new))
    assert found == place and says in message


def test_flags_are_those_of_checks_that_the_study_uses() -> None:
    changes = ((RULE, 'flags = ["refusal", "residue"]'), (END, f'[checks]\npaste = ["refusal"]\n{END}'))
    ((place, message),) = told(*changes)
    assert place == "exclusions[1].flags" and message.startswith("names `residue`, which is not one of this")


@pytest.mark.parametrize(
    ("part", "old", "new", "place", "says"),
    [
        (VARIANT, '"teas"\nvariant =', '"tea"\nvariant =', "prompts[3].variant_of", "`tea`, which does not exist"),
        (
            VARIANT,
            'variant_of = "teas"',
            'variant_of = "teas-typos"',
            "prompts[3].variant_of",
            "names the prompt itself",
        ),
        (VARIANT, 'variant_of = "teas"', 'variant_of = "water"', "prompts[3].kind", "is `recommendation`, but `water`"),
        (VARIANT, 'variant_of = "teas"\n', "", "prompts[3].variant_of", "come together"),
        (VARIANT, 'variant = "typos"\n', "", "prompts[3].variant", "come together"),
        (VARIANT, 'variant = "typos"', f'variant = "{"x" * 41}"', "prompts[3].variant", "at most 40 characters"),
        (VARIANT, 'text = "recomend', 'items = 4\ntext = "recomend', "prompts[3].items", "but it is 5 for `teas`"),
        (CHOICE_VARIANT, '"Cold", ', '"Cold", "Tepid", ', "prompts[3].choices", "has 4 entries, but `water`, of which"),
        (CHOICE_VARIANT, 'answer = "C"', 'answer = "B"', "prompts[3].answer", "is B, but it is C for `water`"),
        (
            CHOICE_VARIANT,
            'answer = "C"',
            'answer = "C"\nbenchmark = "tea"\nitem = "tea/2"',
            "prompts[3].item",
            "is not for a variant",
        ),
        (REFERENCE, "0.82", "82", "references[1].accuracy", "must be a number from 0 to 1"),
        (REFERENCE, "0.82", "-0.1", "references[1].accuracy", "must be a number from 0 to 1"),
        (REFERENCE, 'source = "A leaderboard of kettles"\n', "", "references[1].source", "is missing"),
        (REFERENCE, 'benchmark = "tea"', 'benchmark = ""', "references[1].benchmark", "is empty"),
    ],
)
def test_fault_of_a_variant_or_reference_is_named(part: str, old: str, new: str, place: str, says: str) -> None:
    assert old in part
    ((found, message),) = told((END, part.replace(old, new) + END))
    assert found == place and says in message


def test_variant_of_a_variant_is_refused() -> None:
    chained = VARIANT.replace('"teas"\nvariant', '"teas-typos"\nvariant').replace('slug = "teas-typos"', 'slug = "b"')
    chained = chained.replace("in haste", "in a hurry")
    ((place, message),) = told(("[[exclusions]]", VARIANT + chained + "[[exclusions]]"))
    assert place == "prompts[4].variant_of"
    assert message == "names `teas-typos`, which is a variant itself; name `teas`"


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ('["gpt 4"]', "entry 1 is 'gpt 4', but must be a model's name"),
        ('"gpt-*"', "must be a list in square brackets"),
        ('["gpt-*", "gpt-*"]', "more than once"),
    ],
)
def test_fault_of_models_is_named(models: str, says: str) -> None:
    ((place, message),) = told(('model = "GPT-4o mini"', f'model = "GPT-4o mini"\nmodels = {models}'))
    assert place == "chatbots[1].models" and says in message


def test_pattern_belongs_to_one_chatbot() -> None:
    both = [(f'model = "{name}"', f'model = "{name}"\nmodels = ["{p}"]') for name, p in (("GPT-4o mini", "m-*"),)]
    ((place, message),) = told(*both, ('model = "Gemini 2.0 Flash"', 'model = "x"\nmodels = ["M-*"]'))
    assert place == "chatbots[2].models" and message == "names 'M-*', which chatbots[1] names already"


def test_reference_stands_once_for_each_benchmark() -> None:
    assert len(make_definition((END, REFERENCE + REFERENCE.replace('"tea"', '"coffee"') + END)).references) == 2
    ((place, message),) = told((END, REFERENCE + REFERENCE.replace("Best", "BEST") + END))
    assert place == "references[2].name" and "references[1] has it for `tea` already" in message


@pytest.mark.parametrize("accuracy", ["0", "1", "0.0", "1.0"])
def test_reference_may_be_at_either_end(accuracy: str) -> None:
    (reference,) = make_definition((END, REFERENCE.replace("0.82", accuracy) + END)).references
    assert reference.accuracy == float(accuracy)


# Benchmark items -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "answer", "filled"),
    [(["1", "2", "3"], "C", True), (["1", "2", "3"], "A", False), (["1", "2", "3", "4"], "C", False)],
)
def test_item_is_taken_where_variants_of_the_prompt_fit_it(choices: list[str], answer: str, filled: bool) -> None:
    study = make_definition(("[[exclusions]]", CHOICE_VARIANT + "[[exclusions]]"))
    item = {"question": "How long?", "choices": choices, "answer": answer}
    water = fill_benchmark_items(study, {"tea/1": item}).prompts[1]
    assert water.imported is filled
    assert (water.question == "How long?") is filled
    assert fill_benchmark_items(replace(study, prompts=study.prompts[:2]), {"tea/1": item}).prompts[1].imported
