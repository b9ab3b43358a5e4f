"""Texts cut where marks begin and end: no text is lost, and every mark stays whole."""

from hypothesis import given
from hypothesis import strategies as st

from surveys.annotation.texts import MOST_FOUND, Highlight, cut_text, find_quote, find_words

TEXT = "I drink tea. I like tea."


def test_text_without_marks_is_one_piece_and_an_empty_one_none() -> None:
    (piece,) = cut_text(TEXT, [])
    assert piece.text == TEXT and not piece.is_marked
    assert cut_text("", [Highlight(0, 0, 1)]) == []


def test_overlapping_marks_are_cut_and_each_opens_once() -> None:
    pieces = cut_text("abcdef", [Highlight(0, 4, 1), Highlight(2, 6, 2)])
    assert [(piece.text, piece.evidence) for piece in pieces] == [("ab", (1,)), ("cd", (1, 2)), ("ef", (2,))]
    assert [piece.anchors for piece in pieces] == [["evidence-1"], ["evidence-2"], []]


def test_quote_is_marked_where_it_stands_first() -> None:
    assert list(find_quote(TEXT, "tea", 7)) == [Highlight(8, 11, 7)]
    assert list(find_quote(TEXT, "coffee", 7)) == []


def test_words_are_found_in_whatever_case_and_numbered_on() -> None:
    assert find_words(TEXT, "TEA", 5) == [Highlight(8, 11, 5, True), Highlight(20, 23, 6, True)]
    assert find_words(TEXT, ".", 1) == [Highlight(11, 12, 1, True), Highlight(23, 24, 2, True)]
    assert find_words(TEXT, "", 1) == []


def test_no_more_is_found_than_a_page_can_show() -> None:
    assert len(find_words("a" * 3 * MOST_FOUND, "a", 1)) == MOST_FOUND
    assert find_words("aaa", "a", MOST_FOUND + 1) == []


MARKS = st.lists(st.builds(Highlight, st.integers(-2, 30), st.integers(-2, 30), st.integers(1, 9), st.booleans()))


@given(st.text(max_size=25), MARKS)
def test_pieces_make_up_the_text_and_hold_each_mark_exactly(text: str, marks: list[Highlight]) -> None:
    pieces = cut_text(text, marks)
    assert "".join(piece.text for piece in pieces) == text
    for mark in marks:
        whole = 0 <= mark.start < mark.end <= len(text)
        assert sum(mark in piece.opens for piece in pieces) == whole
