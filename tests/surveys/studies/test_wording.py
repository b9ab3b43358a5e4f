"""Numbers, money, shares, durations and plurals as people read them."""

from decimal import Decimal

import pytest
from django.utils.safestring import mark_safe

from surveys.console.tags import with_bold, with_code
from surveys.studies import wording


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "$0.00"),
        (1234.5, "$1,234.50"),
        (0.1, "$0.10"),
        (0.0999, "$0.10"),
        (0.05, "$0.05"),
        (0.01234, "$0.012"),
        (Decimal("0.00421"), "$0.0042"),
        (0.0000003, "$0.0000003"),
    ],
)
def test_small_sums_keep_two_digits(amount: float | Decimal, words: str) -> None:
    assert wording.dollars(amount) == words


@pytest.mark.parametrize(
    ("amount", "words"),
    [("0.25000000", "$0.25"), ("1.5", "$1.50"), ("1000", "$1,000.00"), ("0.4998", "$0.4998"), ("0", "$0.00")],
)
def test_sums_to_compare_keep_every_digit(amount: str, words: str) -> None:
    assert wording.exact_dollars(Decimal(amount)) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-2, "0 s"), (0.4, "0 s"), (59, "59 s"), (60, "1 min 00 s"), (3599, "59 min 59 s"), (7260, "2 h 01 min")],
)
def test_duration_is_short(seconds: float, words: str) -> None:
    assert wording.duration(seconds) == words


def test_numbers_have_a_real_minus_and_a_thin_space() -> None:
    assert (wording.decimal(-0.126), wording.decimal(-0.001), wording.decimal(0.12, sign=True)) == (
        "\u22120.13",
        "0.00",
        "+0.12",
    )
    assert (wording.percent(0.354), wording.percent(0.354, 1), wording.percent(-0.02)) == (
        "35\u202f%",
        "35.4\u202f%",
        "\u22122\u202f%",
    )
    assert (wording.p_value(0.0004), wording.p_value(0.04)) == ("<\u202f0.001", "0.040")


@pytest.mark.parametrize(
    ("share", "digits", "words"),
    [(0, 0, "0"), (1 / 300, 0, "<\u202f1"), (299 / 300, 0, ">\u202f99"), (1, 0, "100"), (0.9999, 1, ">\u202f99.9")],
)
def test_some_is_never_written_as_none_and_most_never_as_all(share: float, digits: int, words: str) -> None:
    assert wording.percent(share, digits) == f"{words}\u202f%"


def test_plurals_and_counts() -> None:
    assert [wording.plural(n, "call") for n in (0, 1, 1200)] == ["0 calls", "1 call", "1,200 calls"]
    assert wording.plural(2, "person", "people") == "2 people"
    assert (wording.sized(400, 400), wording.sized(352, 1400)) == ("n\u00a0=\u00a0400", "n\u00a0=\u00a0352–1,400")
    assert wording.join_words(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    ("number", "words", "shown"),
    [
        (5200, "", "5,200"),
        (5200, "answer", "5,200 answers"),
        (1, "person,people", "1 person"),
        (13776, "person,people", "13,776 people"),
        (None, "", None),
        ("–", "", "–"),
    ],
)
def test_templates_write_counts_alike(number: object, words: str, shown: object) -> None:
    assert wording.counted(number, words) == shown


def test_sentences_of_commands_count_with_their_words() -> None:
    words = "{study}: {items:item}, {people:person,people}, {share:.2f}, {new:,} new"
    assert wording.fill(words, study="teas", items=1, people=1, share=0.5, new=1200) == (
        "teas: 1 item, 1 person, 0.50, 1,200 new"
    )
    assert wording.fill(words, study="teas", items=1200, people=0, share=1, new=0) == (
        "teas: 1,200 items, 0 people, 1.00, 0 new"
    )


def test_cents_are_written_in_their_currency() -> None:
    assert (wording.money(123456), wording.money(5, "GBP"), wording.money(0)) == ("$1,234.56", "£0.05", "$0.00")
    assert (wording.money_range([900, 1200]), wording.money_range([900], "GBP")) == ("$9.00 to $12.00", "£9.00")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Try **Earl Grey** or **green**.", "Try <b>Earl Grey</b> or <b>green</b>."),
        ("2 ** 3, 4 ** 5", "2 ** 3, 4 ** 5"),
        ("**One\ntwo**", "**One\ntwo**"),
        ("**<i>tea</i>**", "<b>&lt;i&gt;tea&lt;/i&gt;</b>"),
        (mark_safe("**a <mark>tea</mark>**"), "<b>a <mark>tea</mark></b>"),
        (mark_safe("**a <mark>b** c</mark>"), "**a <mark>b** c</mark>"),
    ],
)
def test_bold_words_of_a_chatbot_are_bold_and_all_else_is_escaped(text: str, shown: str) -> None:
    assert with_bold(text) == shown


def test_levels_of_p_have_two_digits_and_no_row_of_zeros() -> None:
    assert [wording.two_digits(level) for level in (0.05, 0.00763, 8.02535e-08, 0.0)] == [
        "0.05",
        "0.0076",
        "8 × 10⁻⁸",
        "0",
    ]


def test_code_is_marked_and_nothing_else() -> None:
    assert with_code("is `a<b`, and `c\nd` <i>") == "is <code>a&lt;b</code>, and `c\nd` &lt;i&gt;"
