"""Behind each number stand exactly the answers that it counts."""

import pytest

from analysis.answers.aliases import accept
from analysis.models import Completion
from analysis.report.filters import Filters
from analysis.report.pages.text_views import behind
from surveys.models import Response, Study

pytestmark = pytest.mark.django_db


def texts(found: object) -> list[str]:
    rows = Response.objects if found.kind == "response" else Completion.objects
    field = "text" if found.kind == "response" else "reply"
    by_id = dict(rows.values_list("pk", field))
    return [by_id[key] for key in found.ids]


def test_the_field_answers_that_name_an_item(study: Study) -> None:
    found = behind(study, Filters(), "teas", "field", "chatgpt", item="sencha")
    assert texts(found) == ["1. Assam\n2. Sencha"] * 2


def test_an_items_other_spellings_are_behind_it_too(study: Study) -> None:
    accept(study, "teas", ["oolong"], "sencha", "tests")
    assert len(behind(study, Filters(), "teas", "field", "chatgpt", item="sencha").ids) == 3


def test_the_completions_of_a_letter_and_those_of_none(study: Study) -> None:
    assert texts(behind(study, Filters(), "water", "offline", "gpt-4o-mini", letter="C")) == ["C"] * 5
    assert texts(behind(study, Filters(), "water", "offline", "gpt-4o-mini", letter="")) == ["I would rather not say."]


def test_filters_hold_here_too(study: Study) -> None:
    assert len(behind(study, Filters(), "teas", "field", "chatgpt").ids) == 4
    assert behind(study, Filters(memory=("off",)), "teas", "field", "chatgpt").ids == []


@pytest.mark.parametrize(
    ("prompt", "source", "model"),
    [("teas", "sp-rag", "gpt-4o-mini"), ("teas", "offline", "gpt-5"), ("coffees", "field", "chatgpt")],
)
def test_what_is_not_there_has_nothing_behind_it(study: Study, prompt: str, source: str, model: str) -> None:
    assert behind(study, Filters(), prompt, source, model).ids == []


def test_an_unknown_item_is_named_by_nobody(study: Study) -> None:
    assert behind(study, Filters(), "teas", "field", "chatgpt", item="coffee").ids == []
