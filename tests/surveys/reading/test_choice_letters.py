"""The letter read from a response to a multiple-choice question, or none if the rules are unsure."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.reading.measure_checks import default_data
from surveys.reading.answers import read_choice
from tests.surveys.reading.letter_examples import CHOICES, LETTERS, MORE_LETTERS

PLAIN_LETTERS = [
    ("C", "C"),
    (" D", "D"),
    ("c", "C"),
    ("(b)", "B"),
    ("**C**", "C"),
    ("C.", "C"),
    ("C. Mitosis", "C"),
    ("C) Mitosis", "C"),
    ("**B) 5 mL**\n\nBecause of the volume.", "B"),
    ("B – because the pH falls.", "B"),
    ("The answer is (C).", "C"),
    ("The correct answer is **C. Glucose**.", "C"),
    ("The correct option is: D", "D"),
    ("Correct answer: b", "B"),
    ("**Answer:** A", "A"),
    ("Answer: A because muscle needs ATP.", "A"),
    ("Option B is right, since it is the only base.", "B"),
    ("$\\boxed{D}$", "D"),
    ("A is tempting, and so is (B). The final answer is B.", "B"),
    ("At first the answer is A. After checking, the final answer is C.", "C"),
    ("A. one\nB. two\nC. three\nD. four\n\nThe correct answer is C.", "C"),
    ("A. one\n**B. two** ✅\nC. three\nD. four", "B"),
    ("La respuesta correcta es C.", "C"),
    ("Die richtige Antwort ist B.", "B"),
    ("La bonne réponse est D.", "D"),
    ("答案是C", "C"),
    ("الإجابة الصحيحة هي C", "C"),
]
UNKNOWN = [
    "",
    "A and B",
    "The answer is A or C.",
    "Both A and B are right.",
    "A. one\nB. two\nC. three\nD. four",
    "The answer is a matter of taste.",
    "A doctor should be asked.",
    "I'm sorry, but I can't help with that.",
    "The answer isn't clear from the question.",
    "The answer is not A.",
    "It is hard to say which one is right.",
    "To",
    "The",
    "E",
    "I don't think the answer is B.",
    "The answer is A. The answer is B.",
]


@pytest.mark.parametrize(("text", "letter"), PLAIN_LETTERS)
def test_read_choice_finds_the_letter(text, letter):
    assert read_choice(text) == letter


@pytest.mark.parametrize("text", UNKNOWN)
def test_read_choice_guesses_nothing(text):
    assert read_choice(text) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Wrong", "A"),
        ("Not wrong.", "B"),
        ("**Not wrong**", "B"),
        ("The answer is not wrong.", "B"),
        ("The correct answer is: wrong", "A"),
        ("B. Not wrong", "B"),
        ("The correct answer is A shame.", "C"),
        ("It depends on who is asked.", None),
    ],
)
def test_read_choice_knows_the_words_of_the_choices(text, letter):
    assert read_choice(text, letters="ABC", choices=("Wrong", "Not wrong", "A shame")) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ('{"choice": "A"}', "A"),
        ('{\n  "choice": "C"\n}\n', "C"),
        ('```json\n{"choice": "D"}\n```', "D"),
        ('{"choice": "Mitosis"}', "B"),
        ('{"choice": "E"}', None),
        ('{"choice": ""}', None),
        ('{"choice": "A", "choice": "B"}', None),
    ],
)
def test_read_choice_of_json_is_the_letter_it_holds(text, letter):
    assert read_choice(text, choices=["Meiosis", "Mitosis", "Osmosis", "Lysis"]) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [("-3", "B"), ("The answer is \u22123.", "B"), ("3 \u2013 5", None), ("10\u00b3", None), ("CO\u2082", "D")],
)
def test_read_choice_tells_choices_apart_by_their_signs(text, letter):
    assert read_choice(text, choices=["3", "-3", "10", "CO\u2082"]) == letter


def test_read_choice_knows_only_the_letters_of_its_prompt():
    assert read_choice("E", letters="ABCDE") == "E"
    assert read_choice("(C)", letters="AB") is None
    assert read_choice("A", letters="") is None


def test_read_choice_of_a_long_text_reads_its_end():
    assert read_choice("Let me think about it. " * 5000 + "The final answer is D.") == "D"


# --- examples in our own words


EXAMPLES = [*(pytest.param(*example, id=name) for name, *example in LETTERS), *MORE_LETTERS]


@pytest.mark.parametrize(("text", "letter"), EXAMPLES)
def test_read_choice_of_an_example_is_what_a_person_reads(text, letter):
    assert read_choice(text, choices=CHOICES) == letter


# --- the real answers of ten models to multiple-choice questions

HELM = Path(default_data()) / "helm_mmlu_college_chemistry.jsonl"


@pytest.mark.skipif(not HELM.is_file(), reason="needs the model answers of FIELDSTUDY_SHARED")
def test_read_choice_of_the_real_letters_gives_the_published_figures():
    rows = [json.loads(line) for line in HELM.read_text(encoding="utf-8").splitlines()]
    letters = [read_choice(row["completion"]) for row in rows]
    assert letters.count(None) == 36
    right = Counter(row["model"] for row, letter in zip(rows, letters, strict=True) if letter == row["answer"])
    assert len(right) == 10
    assert (min(right.values()), max(right.values())) == (47, 61)
    assert _mean_entropy(rows, letters) == pytest.approx(0.7507, abs=1e-4)


def _mean_entropy(rows, letters):
    """The mean entropy of a question, in bits, over the known letters of the ten models."""
    known = {row["question_id"]: Counter() for row in rows}
    for row, letter in zip(rows, letters, strict=True):
        known[row["question_id"]].update([letter] if letter else [])
    return sum(
        -sum(count / counts.total() * math.log2(count / counts.total()) for count in counts.values())
        for counts in known.values()
    ) / len(known)
