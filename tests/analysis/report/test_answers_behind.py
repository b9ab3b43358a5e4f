"""The answers behind each number are exactly those that it counts."""

import pytest

from analysis.answers.aliases import accept
from analysis.models import Completion
from analysis.report.filters import Filters
from analysis.report.pages.views import WantedText, behind
from surveys.models import Response, Study

pytestmark = pytest.mark.django_db
EVERYTHING = Filters()


def texts(study: Study, *about: str, filters: Filters = EVERYTHING, **more: str) -> list[str]:
    kind, ids = behind(study, filters, WantedText(*about, **more))
    rows = Response.objects if kind == "response" else Completion.objects
    by_id = dict(rows.values_list("pk", "text" if kind == "response" else "reply"))
    return [by_id[key] for key in ids]


def test_the_field_answers_that_name_an_item(study: Study) -> None:
    assert texts(study, "teas", "field", "chatgpt", item="sencha") == ["1. Assam\n2. Sencha"] * 2


def test_an_items_other_spellings_are_behind_it_too(study: Study) -> None:
    accept(study, "teas", ["oolong"], "sencha", "tests")
    assert len(texts(study, "teas", "field", "chatgpt", item="sencha")) == 3


def test_the_completions_of_a_letter_and_those_of_none(study: Study) -> None:
    assert texts(study, "water", "offline", "gpt-4o-mini", letter="C") == ["C"] * 5
    assert texts(study, "water", "offline", "gpt-4o-mini", letter="") == ["I would rather not say."]


def test_filters_hold_here_too(study: Study) -> None:
    assert len(texts(study, "teas", "field", "chatgpt")) == 4
    assert texts(study, "teas", "field", "chatgpt", filters=Filters(memory=("off",))) == []


@pytest.mark.parametrize(
    ("prompt", "source", "model"),
    [("teas", "sp-rag", "gpt-4o-mini"), ("teas", "offline", "gpt-5"), ("coffees", "field", "chatgpt")],
)
def test_what_is_not_there_has_nothing_behind_it(study: Study, prompt: str, source: str, model: str) -> None:
    assert texts(study, prompt, source, model) == []


def test_an_unknown_item_is_named_by_nobody(study: Study) -> None:
    assert texts(study, "teas", "field", "chatgpt", item="coffee") == []
