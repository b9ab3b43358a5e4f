"""Whether a response names an attribute: examples by hand, and what an item says about itself."""

from typing import Any

import pytest

from analysis.agreement.follow_ups.mention_rule import cut_ending, read_mentions, words_of

PROMPT = "What is a good plan for Sunday?"
GENERIC = "Take a walk in the park."


def item_with(attributes: list[dict[str, Any]], response: str) -> dict[str, Any]:
    return {"prompt": PROMPT, "generic": GENERIC, "personalised": response, "attributes": attributes}


@pytest.mark.parametrize(
    ("attribute", "response", "named"),
    [
        ("Interested in machine learning.", "Given your interest in machine learning, visit the lab.", True),
        ("Is a Java developer.", "As a developer who knows Java, you could try a code jam.", True),
        # One of two own words, `java` and `develop`, is half of them.
        ("Is a Java developer.", "Since you are developing things, try a code jam.", True),
        ("Drinks no milk.", "Have black tea somewhere quiet.", False),
        # Half of four own words would be two, and they must be in one sentence.
        ("Grows tomatoes and sells clocks.", "Water the tomatoes. Then wind a clock.", False),
        ("Grows tomatoes and sells clocks.", "Water the tomatoes, then wind a clock.", True),
        # The generic response has the park too: only what is the attribute's own can name it.
        ("Likes the park.", "Go to the park.", None),
        ("Plans every Sunday.", "Plan your Sunday well.", False),
        ("The user prefers this.", "Whatever the user prefers.", None),
        ("Enjoys jazz.", "Enjoy the day, as you like to.", False),
    ],
)
def test_response_names_an_attribute_by_the_words_that_are_its_own(
    attribute: str, response: str, named: bool | None
) -> None:
    assert read_mentions(item_with([{"id": "a", "text": attribute}], response)) == {"a": (named, False)}


def test_words_lose_their_endings_and_what_says_nothing() -> None:
    assert words_of("The user often USES 3 developers' tools, for developing classes.") == {
        *("3", "develop", "tool", "class")
    }


@pytest.mark.parametrize(
    ("word", "stem"), [("studies", "stud"), ("study", "stud"), ("class", "class"), ("tea", "tea"), ("teas", "tea")]
)
def test_an_ending_is_cut_only_where_three_letters_stay(word: str, stem: str) -> None:
    assert cut_ending(word) == stem


def test_what_an_item_says_itself_goes_before_the_rule() -> None:
    attributes = [
        {"id": "milk", "text": "Drinks no milk.", "mentioned": False},
        {"id": "chess", "text": "Plays chess."},
    ]
    assert read_mentions(item_with(attributes, "Milk and chess.")) == {"milk": (False, True), "chess": (True, False)}
