"""Texts made to keep a pattern busy: one thing repeated, and openings that are never closed."""

from collections.abc import Iterator
from functools import cache

LONGEST = 200_000  # characters
SECONDS = 0.2  # of processor time that anything may take for one of them

SIGNS = (
    *".-+*_#`'\"()[]{}<>|/\\:;,=!?&~$%^@ \t\n0aA",
    *("\r\n", "\x00", "\x1f", "\u00a0", "\u2003", "\u2028", "\u3000", "\u200d", "\ufeff", "\u202e", "\u0301"),
    *("é", "中", "。", "：", "“", "”", "٣", "①", "✅", "🔥", "👩🏽‍🔬", "\ud800"),
)
PAIRS = (
    *("a ", "a.", "a,", "a-", "a\n", "a: ", "A ", ". ", "- "),
    *("1 ", "1.", "1)", "1-", "+1 ", "(1) ", "\n ", " \n", "\t "),
    *("[[", "[]", "[a](", "](", "(a", "()", "((", "{[", '{"', '"a":', '["a",', "'a", "“a”", "[a](b "),
    *("<a", "<b>", "</", "<br>", "<a b='", "<!--", "&a;", "&#1;", "&am", "]]>"),
    *("| ", "|a|b\n", "|-", "|---|\n", "a\t", "**a ", "**"),
    *("__a", "# a\n", "```\n", "> ", "1. a\n", "- a\n", "- a - b: c\n"),
    *("✅✅!", "e\u0301", "中 ", "\u2003\n", "a\u00a0", "www."),
    *("http://a.", ".com", "a@a.", "a/", "//", "%41", "\\u0041"),
    *("and ", "the ", "or ", "not ", "option ", "answer "),
    *("answer: ", "so, the ", "is a ", "it's ", "C is ", "la ", "try "),
    *("called ", "such as ", "give ", "recipe ", "ingredients\n"),
    *("copy ", "You said: ", "i am ", "inc. ", "No. ", "2024-01-"),
    *("\\boxed{", "\\text{", "$\\boxed{a}$", "error ", "hi Aa-"),
    *("\nHi Aa", "call 1 ( ", "x='1', ", "<answer>", "a_b ", "[user]\n"),
)  # fmt: skip
OPENINGS = (
    *('"', "'", "[", "{", "(", "<", "a", "A.", "1. ", "**", "|"),
    *("\n|", "a\n|", "2 A", "- ", "\n", "[[", "[a](", "![", "“", ".", "✅"),
    *("answer", "The answer is a", "Option ", "not ", "a. give "),
    *("so", "http://", "https://chatgpt.com/share/", "a@", "+49"),
    *('{"items": [', "```json\n{", "$\\boxed{", "\\text", "you reached your "),
    *("thought about ", "A, ", "( ", "<b ", "&", "x\n1 A"),
)  # fmt: skip
FILLINGS = (" ", "\n", "\t", "a", "1", ".", "-", "(", " a", ".com", "✅", "\u00a0")
ENDINGS = ("x", ")", "]", "\x01", ' "')


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


@cache
def hostile_units() -> tuple[tuple[str, str, str], ...]:
    """(opening, repeated unit, ending) of every hostile text."""
    alone = [("", unit, "") for unit in (*SIGNS, *PAIRS)]
    # Each opening meets a third of the fillings, and the endings take turns.
    framed = [
        (opening, filling, ENDINGS[(row + column) % len(ENDINGS)])
        for row, opening in enumerate(OPENINGS)
        for column, filling in enumerate(FILLINGS)
        if filling == " " or (row + column) % 3 == 0
    ]
    return (*alone, *framed)


def hostile_texts(length: int) -> Iterator[tuple[str, str]]:
    """Each text, after a description of how it is made."""
    for opening, unit, ending in hostile_units():
        text = opening + repeated(unit, max(length - len(opening) - len(ending), 1)) + ending
        yield f"{opening!r} + {unit!r} × n + {ending!r}", text
