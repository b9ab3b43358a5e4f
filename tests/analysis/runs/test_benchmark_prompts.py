"""How a benchmark item is asked: HELM's form and the bare one, to the letter."""

import pytest

from analysis.runs.recipes.questions import BenchmarkPromptError, examples_for, examples_name, write_question
from tests.analysis.runs.baseline_factories import make_item

pytestmark = pytest.mark.django_db


def test_helm_form_to_the_letter() -> None:
    plain = write_question(make_item(1, subject=""))
    assert plain.startswith("The following are multiple choice questions (with answers).\n")
    assert write_question(make_item(3)) == (
        "The following are multiple choice questions (with answers) about small sums.\n"
        "\n"
        "Question: What is 3 + 3?\n"
        "A. 3\n"
        "B. 6\n"
        "C. 9\n"
        "D. 12\n"
        "Answer:"
    )


def test_bare_form_is_question_and_choices() -> None:
    assert write_question(make_item(3), "bare") == "What is 3 + 3?\nA. 3\nB. 6\nC. 9\nD. 12"


def test_worked_examples_stand_before_the_question() -> None:
    examples = [make_item(number, examples_name("sums")) for number in range(11, 17)]
    asked = make_item(3)
    found = examples_for(asked)

    assert list(found) == examples[:5]
    blocks = write_question(asked, "helm", found).split("\n\n")
    assert blocks[1] == "Question: What is 11 + 11?\nA. 11\nB. 22\nC. 33\nD. 44\nAnswer: B"
    assert len(blocks) == 7
    assert blocks[-1].endswith("Answer:")
    assert write_question(asked, "bare", found).split("\n\n")[0].endswith("D. 44\nB")


def test_too_few_worked_examples_and_unknown_forms_are_refused() -> None:
    make_item(1, examples_name("sums"))

    with pytest.raises(BenchmarkPromptError, match="import_benchmark sums-examples FILE"):
        examples_for(make_item(2))
    with pytest.raises(BenchmarkPromptError, match="Choose helm or bare"):
        write_question(make_item(3), "chat")
