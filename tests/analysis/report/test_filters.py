"""Filters survive the round trip through an address, and reject meaningless values."""

import re

import pytest
from django.conf import settings
from django.http import QueryDict

from analysis.report.api import OF_FIGURES
from analysis.report.api import OWN as OF_API
from analysis.report.filters import FILTERS, IN_ADDRESSES, ROW_FILTERS, FilterError, Filters, check_filters
from analysis.report.pages.shown import IN_FORM
from analysis.report.pages.shown import OWN as OF_PAGES

COMPARE = (settings.BASE_DIR / "docs" / "compare.md").read_text(encoding="utf-8")
IN_DOCS = " ".join(COMPARE.partition("## Filters")[2].partition("\n## ")[0].lower().split())


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_is_declared_whole(name: str) -> None:
    known = FILTERS[name]
    assert known.help or len(known.options) > 1
    if name != "compare":  # leaves all rows, and has a form of its own
        assert [rule for rule in (known.people, known.answers, known.source, known.prompt) if rule]
        assert name in IN_FORM
    assert name in IN_ADDRESSES
    assert name not in {*OF_API, *OF_FIGURES, *OF_PAGES}
    assert re.search(rf"\b{known.label.lower()}\b", IN_DOCS), "docs/compare.md says nothing of it"


def test_filters_on_rows_are_not_about_the_field() -> None:
    assert [name for name in ROW_FILTERS if FILTERS[name].is_of_field] == []


def read(query: str, **ignore: set[str]) -> Filters:
    return Filters.from_query(QueryDict(query), **ignore)


def test_no_filter_is_everything_by_default() -> None:
    assert read("") == Filters()
    assert Filters().to_query() == ""
    assert read("chatbot=&memory=+") == Filters()


@pytest.mark.parametrize(
    "query",
    [
        "chatbot=chatgpt&chatbot=gemini",
        "model=openai%2Fgpt-4o-mini&source=sp-rag&prompt=teas",
        "cell=milky&answer=milk%3AOat+milk&memory=off&plan=paid&model_shown=GPT-4o+mini",
        "version=1&version=3&history_size=100&temperature=0.5",
        "flagged=without&excluded=with&pilot=only&simulated=without&people=all",
    ],
)
def test_a_query_comes_back_as_it_was(query: str) -> None:
    assert read(query).to_query() == query


def test_a_value_given_twice_counts_once() -> None:
    assert read("chatbot=chatgpt&chatbot=chatgpt").chatbot == ("chatgpt",)


def test_changes_are_put_into_the_query() -> None:
    assert read("memory=off").to_query(prompt=("teas",)) == "prompt=teas&memory=off"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("memry=off", "memry is not a filter. Did you mean memory?"),
        ("excluded=yes", "excluded is one of without, with, not yes."),
        ("pilot=with&pilot=only", "pilot is one of without, with, only, not with and only."),
        ("version=one", "version takes whole numbers, not one."),
        ("version=²", "version takes whole numbers, not ²."),
        ("version=2147483648", "version takes whole numbers, not 2147483648."),
        ("history_size=-1", "history_size takes whole numbers, not -1."),
        ("temperature=warm", "temperature takes numbers, not warm."),
        ("temperature=nan", "temperature takes numbers from 0, not nan."),
        ("answer=milk", "answer=milk names no answer: write answer=QUESTION:ANSWER."),
        ("chatbot=a%00b", "chatbot has a value that can't be a name: at most 200 printable characters."),
        (f"model={'x' * 201}", "model has a value that can't be a name: at most 200 printable characters."),
    ],
)
def test_what_means_nothing_is_refused_with_a_sentence(query: str, words: str) -> None:
    with pytest.raises(FilterError) as refused:
        read(query)
    assert str(refused.value) == words


def test_a_pages_own_parameters_are_ignored() -> None:
    assert read("page=2&memory=off", ignore={"page"}) == Filters(memory=("off",))


def test_filters_in_words() -> None:
    everything = "All answers of people who completed, excluded ones and the pilot's left out."
    assert Filters().describe() == everything
    some = read("chatbot=chatgpt&memory=off&memory=unknown&answer=milk:Oat+milk&excluded=with&version=2")
    assert some.describe() == (
        "Chatbot chatgpt; memory off or unknown; study version 2; milk answered “Oat milk”; excluded answers left in."
    )


OFFERED = {"chatbot": ["chatgpt", "gemini"], "version": [1, 2], "answer": [("milk", "Oat milk")], "model": []}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("chatbot=chatgtp", "chatbot=chatgtp is unknown here. Did you mean chatgpt?"),
        ("version=7", "version=7 is unknown here. There is 1, 2."),
        ("answer=tea:Green", "answer=tea:Green is unknown here. There is milk:Oat milk."),
        ("model=gpt", "model=gpt is unknown here. There is none yet."),
    ],
)
def test_what_is_not_there_is_refused(query: str, words: str) -> None:
    with pytest.raises(FilterError) as refused:
        check_filters(read(query), OFFERED)
    assert str(refused.value) == words


def test_what_is_there_passes() -> None:
    check_filters(read("chatbot=gemini&version=2&answer=milk:Oat+milk&excluded=with"), OFFERED)


def test_filters_of_the_field_alone() -> None:
    assert read("memory=off&prompt=teas&model=x&source=field").of_field == Filters(memory=("off",))
