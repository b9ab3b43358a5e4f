"""What is read from a response: items and letters, in the many forms a chatbot writes them."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surveys.reading.answers import DOUBTS, AnswerReading, count_items, normalise_item, read_answer, read_items
from tests.surveys.reading.item_examples import ITEMS, MORE_ITEMS

FIVE = ["tesla", "apple", "google", "amazon", "nike"]

LISTS = {
    "numbered": "1. Tesla\n2. Apple\n3. Google\n4. Amazon\n5. Nike",
    "parentheses": "1) Tesla, Inc. – electric cars\n2) Apple Inc. – phones\n3) Google LLC – search\n"
    "4) Amazon.com – shop\n5) Nike, Inc. – shoes".replace("Amazon.com", "Amazon"),
    "bold titles": "Sure! Here are five:\n\n1. **Tesla** – electric cars.\n2. **Apple** – phones.\n"
    "3. **Google** – search.\n4. **Amazon** – a shop.\n5. **Nike** – shoes.\n\nShall I say more?",
    "bold with colon inside": "1. **Tesla:** cars\n2. **Apple:** phones\n3. **Google:** search\n"
    "4. **Amazon:** shop\n5. **Nike:** shoes",
    "bold numbers": "**1. Tesla** – cars\n**2. Apple** – phones\n**3. Google**\n**4. Amazon**\n**5. Nike**",
    "bullets": "My list:\n- Tesla: makes electric cars\n- Apple: makes phones\n"
    "- Google: runs a search engine\n- Amazon: sells things\n- Nike: sells shoes",
    "round bullets with tabs": "•\tTesla\n•\tApple\n•\tGoogle\n•\tAmazon\n•\tNike",
    "nested details": "1. Tesla\n   - Why: cars\n   - Where: Austin\n2. Apple\n   - Why: phones\n"
    "3. Google\n   1. search\n   2. mail\n4. Amazon\n5. Nike",
    "headings with labels": "### 1. Tesla\n- **Why:** cars\n- **Location:** Austin\n\n"
    "### 2. Apple\n"
    "- **Why:** phones\n\n### 3. Google\n- **Why:** search\n\n"
    "### 4. Amazon\n- **Why:** shop\n\n### 5. Nike\n- **Why:** shoes",
    "headings without numbers": "## Tesla\nWhy: cars.\n\n## Apple\nWhy: phones.\n\n"
    "## Google\nSearch.\n\n"
    "## Amazon\nShop.\n\n## Nike\nShoes.",
    "table with numbers": "| # | Company | Why |\n|---|---|---|\n| 1 | **Tesla** | cars |\n"
    "| 2 | Apple | phones |\n"
    "| 3 | Google | search |\n| 4 | Amazon | shop |\n| 5 | Nike | shoes |",
    "table": "| Company | Why |\n|:--|:--|\n| Tesla | cars |\n| Apple | phones |\n| Google | search |\n"
    "| Amazon | shop |\n| Nike | shoes |\n\nAsk me for more.",
    "keycap digits": "1️⃣ Tesla\n2️⃣ Apple\n3️⃣ Google\n4️⃣ Amazon\n5️⃣ Nike",
    "markers lost in copying": "Tesla – electric cars\nApple – phones\nGoogle – search\nAmazon – shop\nNike – shoes",
    "bare lines": "Tesla\nApple\nGoogle\nAmazon\nNike",
    "comma list": "I'd recommend Tesla, Apple, Google, Amazon, and Nike.",
    "comma list alone": "Tesla, Apple, Google, Amazon, Nike",
    "bold in prose": "See **Tesla** or **Apple**. I like **Google**, **Amazon** and **Nike**.",
    "links": "1. [Tesla](https://tesla.com) – cars\n2. [Apple](https://apple.com/a_(b)) – phones\n"
    "3. Google [3]\n4. Amazon 【5†source】\n5. Nike",
    "all ones": "1. Tesla\n1. Apple\n1. Google\n1. Amazon\n1. Nike",
    "JSON": '{"items": ["Tesla, Inc.", "Apple", "Google", "Amazon", "Nike"]}',
    "JSON in a code block": '```json\n{\n  "items": [\n    "Tesla", "Apple", "Goo\\u0067le", "Amazon",'
    ' "Nike"\n  ]\n}\n```',
    "windows newlines": "1. Tesla\r\n2. Apple\r\n3. Google\r\n4. Amazon\r\n5. Nike",
    "emoji": "1. 🚗 **Tesla** – cars\n2. 🍏 **Apple** – phones\n3. 🔍 Google\n4. 📦 Amazon\n5. 👟 Nike",
}


@pytest.mark.parametrize("form", LISTS)
def test_read_items_finds_the_same_five_in_every_form(form):
    assert read_items(LISTS[form]) == FIVE


def test_read_items_takes_the_first_five_of_more():
    text = LISTS["numbered"] + "\n6. Sony\n7. Intel"
    assert read_items(text) == FIVE
    assert read_items(text, limit=6) == [*FIVE, "sony"]
    assert count_items(text) == 7


def test_read_items_drops_repeats_before_it_counts_to_five():
    assert read_items("1. Tesla\n2. TESLA, Inc.\n3. The Tesla Company\n4. Apple") == ["tesla", "apple"]


@pytest.mark.parametrize("text", [
    "", "   \n", "I'm sorry, but I can't help with that request.", "What kind of films do you like?", "- ",
    "1.\n2.\n",
])  # fmt: skip
def test_read_items_of_what_names_nothing_is_empty(text):
    assert read_items(text) == []


@pytest.mark.parametrize(("text", "items"), [
    ('{"items": ["Tesla", "Apple", "Goo', ["tesla", "apple"]),  # cut off at the longest length
    ('{"items": ["Rock, Paper, \\"Scissors\\"", "Apple"]}', ['rock, paper, "scissors', "apple"]),
    ('{"items": []}', []),
    ('{"items": ["', []),
])  # fmt: skip
def test_read_items_of_json_takes_whole_strings_only(text, items):
    assert read_items(text) == items


def test_read_items_of_one_name_is_that_name_and_without_prose_lists_only():
    assert read_items("**Tesla**") == ["tesla"]
    assert count_items("I'd recommend Tesla, Apple, and Google.", prose=False) == 0
    assert count_items("- Tesla\n- Apple", prose=False) == 2


def test_read_items_keeps_titles_with_a_subtitle_whole():
    text = "1. **Spider-Man: Into the Spider-Verse** (2018) – animated\n"
    text += '2. "Avatar: The Way of Water" – blue\n3. Heat (1995)'
    assert read_items(text) == ["spider-man: into the spider-verse", "avatar: the way of water", "heat"]


def test_read_items_of_recipe_steps_takes_quantities_for_no_numbering():
    assert read_items("1. Omelette: whisk 2 eggs\n1.5 cups of milk\n2. Pancakes: mix all") == ["omelette", "pancakes"]


@pytest.mark.parametrize(("raw", "item"), [
    ("  **Tesla**  ", "tesla"), ("1. Tesla", "tesla"), ("Tesla, Inc.", "tesla"), ("Tesla Inc", "tesla"),
    ("The Walt Disney Company", "walt disney"), ("Apple Inc. – phones and computers", "apple"),
    ("Patagonia: makes outdoor clothing", "patagonia"), ("Patagonia — outdoor", "patagonia"),
    ("“The Godfather” (1972)", "godfather"), ("Coca-Cola", "coca-cola"), ("Jean‑Luc", "jean-luc"),
    ("Ｔｅｓｌａ", "tesla"), ("Tesla™", "tesla"), ("L’Oréal", "l'oréal"), ("Straße", "strasse"), ("A24", "a24"),
    ("An Omelette", "omelette"), ("Theta", "theta"), ("🎬 Heat", "heat"), ("BMW AG", "bmw"), ("Company", "company"),
    ("شركة تسلا", "شركة تسلا"), ("千と千尋の神隠し", "千と千尋の神隠し"), ("", ""), ("**", ""),
])  # fmt: skip
def test_normalise_item_gives_one_form(raw, item):
    assert normalise_item(raw) == item


@settings(max_examples=150)
@given(st.text(max_size=60))
def test_normalise_item_of_anything_has_no_outer_space_or_capitals(raw):
    item = normalise_item(raw)
    assert item == item.strip()
    assert item == item.casefold()


@settings(max_examples=60)
@given(st.text(max_size=400))
def test_read_items_of_anything_is_short_and_distinct(text):
    items = read_items(text)
    assert len(items) <= 5
    assert len(set(items)) == len(items)
    assert count_items(text) >= len(items)


# --- examples in our own words


EXAMPLES = [*(pytest.param(*example, id=name) for name, *example in ITEMS), *MORE_ITEMS]


@pytest.mark.parametrize(("text", "items"), EXAMPLES)
def test_read_items_of_an_example_is_what_a_person_reads(text, items):
    assert read_items(text) == items


# --- readings with their doubts


def test_read_answer_keeps_the_full_stop_of_initials():
    text = "1. **Washington, D.C.** – the capital\n2. E.T.\n3. R.E.M. (a band)\n4. Nestlé S.A.\n5. Plan B."
    reading = read_answer(text, "recommendation")
    assert reading.names == ("Washington, D.C.", "E.T.", "R.E.M.", "Nestlé S.A.", "Plan B")
    assert reading.items == ("washington, d.c", "e.t", "r.e.m", "nestlé", "plan b")
    assert read_answer(text.replace("C.*", "C*"), "recommendation").items == reading.items


def test_read_answer_keeps_the_names_as_written():
    reading = read_answer("1. **The Walt Disney Company** – films\n2. L’Oréal™", "recommendation", limit=2)
    assert reading == AnswerReading(("walt disney", "l'oréal"), ("The Walt Disney Company", "L'Oréal"))


@pytest.mark.parametrize(("text", "doubt"), [
    (LISTS["numbered"], ""),
    ("1. Heat\n2. Alien", "fewer-than-asked"),
    ("1. Heat – a chase.\n2. Alien – a ship and", "cut-off"),
    ("I'd recommend Heat, Alien, Fargo, Amélie, and Up.", "prose-list"),
    ("I'm sorry, but I can't recommend any films.", "refusal"),
    ("Something went wrong. Please try again later.", "refusal"),
    ("What kind of films do you like?", "nothing-found"),
    ("- Put on some music that you liked when you were still at school and dance\n- Sing", "long-item"),
])  # fmt: skip
def test_read_answer_of_items_says_why_to_doubt_them(text, doubt):
    assert read_answer(text, "recommendation").doubt == doubt


CITIES = ("rome", "oslo", "bath", "york", "porto")
NUMBERED = "1. Rome\n2. Oslo\n3. Bath\n4. York\n5. Porto\n"
GUIDE = "\n| If you want … | Go to … |\n|---|---|\n| Great food | Rome |\n| Snow | Oslo |\n"
FULL_GUIDE = f"{GUIDE}| Spas | Bath |\n| Walls | York |\n| Port wine | Porto |\n"
OTHERS = "\n| Town |\n|---|\n| Lima |\n| Quito |\n| Bogotá |\n| Sucre |\n| Cusco |\n"


@pytest.mark.parametrize(("text", "doubt"), [
    pytest.param(NUMBERED + GUIDE, "", id="a short table after it"),
    pytest.param(NUMBERED + FULL_GUIDE, "", id="a table of as many rows after it"),
    pytest.param(FULL_GUIDE + NUMBERED, "", id="a table before it"),
    pytest.param(FULL_GUIDE, "", id="the table alone, its names in the second column"),
    pytest.param(NUMBERED + OTHERS, "two-lists", id="a table of other things"),
    pytest.param("Look at:\n- Price\n- Season\n- Food\n\nMy five:\n" + NUMBERED, "", id="criteria before it"),
    pytest.param("**Look at:**\n1. Price\n2. Food\n\n**My five:**\n" + NUMBERED, "", id="numbers that start again"),
    pytest.param(NUMBERED + "\nTowns:\n- Lima\n- Quito\n- Cusco\n- Sucre\n- Ica", "two-lists", id="two full lists"),
    pytest.param(NUMBERED.replace(" ", " **").replace("\n", "**\n- old\n- walls\n"), "", id="bullets between"),
    pytest.param(
        "- **South**\n  - Rome – old\n- **North**\n  - Oslo – snow\n  - Bath – spas\n- **Sea**\n  - York – walls\n"
        "  - Porto – wine",
        "",
        id="items below bare groups",
    ),
    pytest.param("1\nRome\nIt is old.\n2\nOslo\n3\nBath\n4\nYork\n5\nPorto", "", id="numbers on their own lines"),
    pytest.param(
        "| | Rome | Oslo | Bath | York | Porto |\n|--|--|--|--|--|--|\n| Rain | 1 | 2 | 3 | 4 | 5 |",
        "",
        id="a header",
    ),
])  # fmt: skip
def test_read_answer_takes_the_list_with_the_asked_number_and_doubts_two_that_disagree(text, doubt):
    reading = read_answer(text, "recommendation")
    assert (reading.items, reading.doubt) == (CITIES, doubt)


def test_read_answer_takes_the_table_where_the_list_has_fewer_than_asked():
    table = OTHERS + "\n\nTips:\n- Book early\n- Pack light"
    assert read_answer(table, "recommendation").items == ("lima", "quito", "bogotá", "sucre", "cusco")
    assert read_items("1. Rome\n2. Oslo\n3. Bath" + OTHERS, limit=3) == ["rome", "oslo", "bath"]


def test_read_answer_of_a_refusal_has_no_items_but_one_that_helps_all_the_same_has_them():
    assert read_answer("I cannot help with that. Try Yelp.", "recommendation").items == ()
    helpful = "I'm sorry, I can't see where you are. But these are good:\n- Nobu\n- Lilia\n- Carbone"
    assert read_answer(helpful, "recommendation") == AnswerReading(
        ("nobu", "lilia", "carbone"), ("Nobu", "Lilia", "Carbone"), doubt="fewer-than-asked"
    )


@pytest.mark.parametrize(("text", "reading"), [
    ("The answer is C.", AnswerReading(letter="C")),
    ("The answer is A or C.", AnswerReading(doubt="several-letters")),
    ("I'm sorry, but I can't answer that.", AnswerReading(doubt="refusal")),
    ("It depends.", AnswerReading(doubt="nothing-found")),
])  # fmt: skip
def test_read_answer_of_a_choice_is_a_letter_or_a_doubt(text, reading):
    assert read_answer(text, "choice") == reading


@settings(max_examples=80)
@given(st.text(max_size=300), st.sampled_from(["recommendation", "choice"]))
@example("\u00b9)", "recommendation")
@example("|1)", "recommendation")
def test_read_answer_of_anything_has_a_name_for_each_item_and_a_known_doubt(text, kind):
    reading = read_answer(text, kind)
    assert len(reading.items) == len(reading.names) <= 5
    assert all(normalise_item(name) for name in reading.names)
    assert reading.doubt in ("", *DOUBTS)
    assert kind == "choice" or reading.items or reading.doubt


# --- what is meant to take long does not

UNITS = (
    "1. ", "- ", "-\n", "\n", "  \n", "(", "[", "**a", "__", '"A', "<a", "&am", "a, ", "a and ", "recommend ", "try ",
    "another a b ", "give ", "|", "|-", "a\t", "a: ", "# a\n", "{", '["', '["a",', "\\", "```\n", "ingredients\n",
    "Name Of The ", "A. ", "the answer is ", "\\boxed{", "\\text{", "C is ", "it's ", "option ", "\u2014", "x",
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_reading_takes_little_time_however_the_text_repeats_itself(unit):
    text = unit * (200_000 // len(unit))
    start = time.process_time()
    read_answer(text, "recommendation")
    read_answer(text, "choice")
    count_items(text)
    assert time.process_time() - start < 2.0
