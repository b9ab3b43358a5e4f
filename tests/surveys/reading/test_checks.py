"""Paste checks: what each notices and leaves alone, what is said only once, and how long they may take."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surveys.models import Flag
from surveys.reading.checks import CHECKS, SAME_AGAIN, OtherPrompt, Paste, PasteCheck, find_problems
from surveys.reading.residue import page_lines
from surveys.studies.files.definitions import read_study

ALL = list(CHECKS)
STUDIES = Path(__file__).parents[3] / "surveys" / "studies"
PROMPT = "Please recommend five movies that I could watch this weekend, with one sentence about each."
ANSWER = """Here are five movies for your weekend:

1. **Heat** – A thief and a detective in Los Angeles.
2. **Up** – An old man flies away with his house.
3. **Alien** – A crew meets a creature in space.
4. **Amélie** – A shy waitress makes others happy.
5. **Jaws** – A shark comes to a small town.

Would you like more of one kind?"""
COMPANIES = "Please recommend five companies that I could work for after my degree, with one sentence about each."
CHOICE = "Is this right?\nA. Yes, it is right\nB. No, it is wrong\nAnswer with one letter."
OTHERS = (OtherPrompt("companies", COMPANIES), OtherPrompt("right", CHOICE, "choice"))


def make_paste(text=ANSWER, **changes):
    return replace(Paste(text, PROMPT, other_prompts=OTHERS), **changes)


def make_choice(text, **changes):
    return replace(Paste(text, CHOICE, kind="choice", letters="AB", items_wanted=0), **changes)


def noticed(paste, enabled=ALL):
    return [finding.check for finding in find_problems(paste, enabled)]


# Stored flags and study files name checks by these.
NAMES = ["empty", "prompt-itself", "other-prompt", "refusal", "cut-off", "residue", "same-as-other", "agent"]
NAMES += ["too-few-items"]


def test_checks_have_the_agreed_names() -> None:
    assert set(NAMES) <= set(CHECKS)
    assert all(name == check.name for name, check in CHECKS.items())


@pytest.mark.parametrize("check", CHECKS.values(), ids=list(CHECKS))
def test_check_says_all_that_is_asked_of_it(check: PasteCheck) -> None:
    """Pages, codebook, simulated people and measured rates take what they need about a check from its record."""
    assert check.version >= 1 and len(check.name) <= Flag._meta.get_field("check_name").max_length
    assert check.label[0].isupper() and len(check.label) <= 40
    assert check.message.endswith((".", "?")) or check.name in ("same-as-other", "agent")
    assert [other.name for other in CHECKS.values() if other.label == check.label] == [check.name]
    (finding,) = find_problems(check.spoil(make_paste()), [check.name])
    assert bool(finding.message % finding.detail) == bool(check.message)
    assert check.name in noticed(check.spoil(make_paste()))


@pytest.mark.parametrize(("study", "asks_again"), [("demo", True), ("field-13", False)])
def test_shipped_study_uses_every_check(study: str, asks_again: bool) -> None:
    unused = set() if asks_again else {SAME_AGAIN}
    assert set(read_study(STUDIES / f"{study}.toml").paste_checks) == set(CHECKS) - unused


@pytest.mark.parametrize(
    "paste",
    [
        make_paste(),
        make_paste(ANSWER.replace("**", "")),
        make_paste("Heat, Up, Alien, Amélie, Jaws"),
        make_paste("Heat\nUp\nAlien\nAmélie\nJaws"),
        make_paste(ANSWER + "\n\nI hope this helps 😊"),
        make_paste(ANSWER + "\n\n```\nHeat 1995\n```"),
        make_choice("A"),
        make_choice("**B**"),
        make_choice("(B) No, it is wrong"),
        make_choice("The answer is A, because it is."),
        make_choice("A", same_as_other=True),
    ],
)
def test_find_problems_of_a_fine_answer_is_silent(paste):
    assert noticed(paste) == []


@pytest.mark.parametrize("text", ["", "  \n\t", "…", "\u200b", "***", "-"])
def test_empty_paste_is_called_empty_and_nothing_else(text):
    assert noticed(make_paste(text, same_as_other=True)) == ["empty"]


@pytest.mark.parametrize(
    "text",
    [
        PROMPT,
        PROMPT.upper() + "\n\n",
        f"You said:\n{PROMPT}",
        f"{PROMPT}\n\nChatGPT said:",
        PROMPT.replace(" ", "\n"),
        PROMPT[:70],
    ],
)
def test_prompt_pasted_back_is_called_so_once(text):
    assert noticed(make_paste(text)) == ["prompt-itself"]


def test_prompt_before_its_answer_is_residue():
    findings = find_problems(make_paste(f"{PROMPT}\n\n{ANSWER}"), ALL)
    assert [finding.check for finding in findings] == ["residue"]
    assert findings[0].detail["words"] == PROMPT[:60]


def test_answer_that_begins_like_a_choice_of_its_prompt_is_not_the_prompt():
    assert noticed(make_choice("A. Yes, it is right")) == []


@pytest.mark.parametrize(
    "text",
    [
        COMPANIES,
        "Here are five companies that suit a new degree:\n1. Tesla\n2. Apple\n3. Google\n4. Amazon\n5. Nike",
        f"{COMPANIES}\n1. Tesla\n2. Apple\n3. Google\n4. Amazon\n5. Nike",
    ],
)
def test_answer_to_another_prompt_is_named_with_that_prompt(text):
    findings = [finding for finding in find_problems(make_paste(text), ALL) if finding.check == "other-prompt"]
    assert [finding.detail for finding in findings] == [{"slug": "companies"}]


@pytest.mark.parametrize(("one", "many"), [("company", "companies"), ("movie", "movies"), ("hobby", "hobbies")])
def test_topic_of_a_prompt_is_known_in_singular_and_plural(one, many):
    others = (OtherPrompt("other", f"Please recommend five {many}."),)
    text = f"For you I would choose this {one} first:\n1. A\n2. B\n3. C\n4. D\n5. E"
    assert noticed(make_paste(text, prompt_text="Please recommend five gifts.", other_prompts=others)) == [
        "other-prompt"
    ]


@pytest.mark.parametrize("topic", ["movies", "companies", "gifts", "hobbies"])
def test_answer_in_general_words_belongs_to_any_prompt(topic):
    text = "Here are five ideas to start something new in your free time:\n1. A\n2. B\n3. C\n4. D\n5. E"
    others = (OtherPrompt("hobbies", "I would like to take up something new in my free time. Recommend five hobbies."),)
    prompt = f"I am thinking about something new. Recommend five {topic} for me."
    assert noticed(make_paste(text, prompt_text=prompt, other_prompts=others)) == []


def test_answer_given_before_to_another_prompt_is_noticed():
    text = "1. Tesla, for its cars\n2. Apple, for its phones\n3. Google\n4. Amazon\n5. Nike"
    known = (OtherPrompt("companies", COMPANIES, answer=text.replace("\n", " \n ")),)
    assert noticed(make_paste(text, other_prompts=known)) == ["other-prompt"]


def test_same_letter_for_two_choice_prompts_is_no_mistake():
    others = (OtherPrompt("other", "Another question?\nA. x\nB. y", "choice", answer="A"),)
    assert noticed(make_choice("A", other_prompts=others)) == []


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I can’t assist with that request.",
        "As an AI language model, I don't have access to film data.",
        "I cannot recommend specific movies.",
        "Something went wrong. Please try again later.",
        "There was an error generating a response",
        "You've reached your limit of messages for today. Try again after 3 PM.",
        "Network error",
        "Too many requests in 1 hour. Try again later.",
        "Lo siento, pero no puedo ayudarte con eso.",
        "Es tut mir leid, dabei kann ich nicht helfen.",
        "Ich kann dir leider keine persönlichen Empfehlungen geben, weil ich nichts über dich weiß. "
        + "Erzähl mir mehr. " * 20,
        "Da ist etwas schiefgelaufen. Versuche es später noch einmal.",
        "Du hast dein Nachrichtenlimit erreicht.",
        "عذرًا، لا أستطيع المساعدة في ذلك.",
    ],
)
def test_refusal_or_error_is_called_so_once(text):
    assert noticed(make_paste(text)) == ["refusal"]
    assert noticed(make_choice(text)) == ["refusal"]


@pytest.mark.parametrize(
    "paste",
    [
        make_paste("I'm sorry, I can't know your taste, but here you go.\n\n" + ANSWER),
        make_paste("Ich kann deinen Geschmack nicht kennen, aber bitte sehr.\n\n" + ANSWER),
        make_paste("As an AI, I don't have personal opinions. " + ANSWER),
        make_choice("I can't give legal advice, but the answer is B."),
        make_choice("I'm sorry to hear that. The answer is A."),
    ],
)
def test_apology_before_an_answer_is_no_refusal(paste):
    assert "refusal" not in noticed(paste)


@pytest.mark.parametrize(("named", "wanted", "is_refusal"), [(2, 5, True), (3, 5, False), (2, 2, False), (1, 2, True)])
def test_refusal_with_three_things_or_all_that_were_asked_for_is_an_answer(named, wanted, is_refusal):
    films = "\n".join(f"{number}. {film}" for number, film in enumerate(("Heat", "Up", "Alien")[:named], 1))
    paste = make_paste(f"I'm sorry, but I can't recommend films for you.\n\n{films}", items_wanted=wanted)
    assert ("refusal" in noticed(paste)) == is_refusal


def test_error_below_a_half_answer_is_noticed():
    assert "refusal" in noticed(make_paste(ANSWER * 3 + "\n\nThere was an error generating a response"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ANSWER[:210], "sentence"),
        ("1. Heat – A thief.\n2. Up – A house.\n3. Alien – A crew.\n4. Amélie – A waitress.\n5.", "list"),
        ("1. Heat\n2. Up\n3. Alien\n4. Amélie\n5. **Ja", "hanging"),
        ("Heat, Up, Alien, Amélie, and", "hanging"),
        ("Here are five movies you may like:", "hanging"),
        ("Heat (1995), Up (2009), Alien (1979), Amélie (20", "hanging"),
        ("1. Heat\n2. Up\n3. Alien\n4. Amélie\n5. Jaws\n```python\nprint(1)", "code"),
        ("1. Heat\n2. Up\n3. Alien\n4. Amélie\n5. Jaws\n\nContinue generating", "button"),
        ("Here are ten movies:\n1. Heat\n2. Up\n3. Alien\n4. Amélie\n5. Jaws", "count"),
        ("- Heat: a thief\n- Up: a house that flies\n- Alien: a crew\n- Amélie: a shy waitress\n- Jaws", "explanation"),
        ("You could watch Heat. It is about a thief and a detective who both know that it is", "hanging"),
        (ANSWER[:210] + "\n\nChatGPT can make mistakes. Check important info.", "sentence"),
    ],
)
def test_answer_that_stops_early_is_called_cut_off(text, reason):
    findings = {finding.check: finding.detail for finding in find_problems(make_paste(text), ALL)}
    assert findings["cut-off"] == {"reason": reason}


@pytest.mark.parametrize(
    "text",
    [
        "1. Heat\n2. Up\n3. Alien\n4. Amélie\n5. Jaws",
        "1. Heat – a thief\n2. Up – a house\n3. Alien – a crew\n4. Amélie – a waitress\n5. Jaws – a shark",
        "Watch Heat. See https://example.org/heat",
        "Heat, Up, Alien, Amélie, Jaws :)",
        "1. Dune\n2. Emma\n3. Dracula\n4. Persuasion\n5. Mrs. Dalloway by Virginia Woolf",
        "1. Etsy\n2. Costco\n3. Apple\n4. Nike\n5. J.P. Morgan",
        "Good ones to see now: Heat, Jaws, Alien, Her",
        "一、热\n二、飞屋环游记\n三、异形。",
        "أنصحك بفيلم هيت وفيلم أب؟",
        "ลองดู Heat และ Up และ Alien และ Amélie และ Jaws นะครับ",
        "| Movie | Why |\n|---|---|\n| Heat | thief |",
    ],
)
def test_complete_answer_is_not_called_cut_off(text):
    assert noticed(make_paste(text), ["cut-off"]) == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("ChatGPT said:\n", "", "ChatGPT said:"),
        ("You said:\nmovies\nChatGPT said:\n", "", "You said:"),
        ("", "\nCopy code", "Copy code"),
        ("pythonCopy code\n", "", "pythonCopy code"),
        ("", "\n\nRegenerate", "Regenerate"),
        ("Show drafts\n", "", "Show drafts"),
        ("", "\nGemini can make mistakes, so double-check it", "Gemini can make mistakes, so double-check it"),
        ("", "\nExport to Sheets", "Export to Sheets"),
        ("Thought for 3 seconds\n", "", "Thought for 3 seconds"),
        ("", "\nShare", "Share"),
        ("ChatGPT\n", "", "ChatGPT"),
        ("", "\n2 / 2", "2 / 2"),
        ("ChatGPT hat gesagt:\n", "", "ChatGPT hat gesagt:"),
        ("قال ChatGPT:\n", "", "قال ChatGPT:"),
    ],
)
def test_words_of_the_page_are_residue(before, after, words):
    findings = find_problems(make_paste(f"{before}{ANSWER}{after}"), ALL)
    assert [finding.check for finding in findings] == ["residue"]
    assert findings[0].detail["words"] == words


@pytest.mark.parametrize(
    "text",
    [
        ANSWER.replace("Heat", "Share"),
        ANSWER.replace("A thief", "You can copy code from it, a thief"),
        "Share",
        "Heat\nUp\nYou\nShare\nJaws",
        "Copy this list, then regenerate it. Share your thoughts.",
    ],
)
def test_the_same_words_inside_an_answer_are_no_residue(text):
    assert noticed(make_paste(text), ["residue"]) == []


def test_same_text_as_another_participant_is_noticed_for_lists_only():
    assert noticed(make_paste(same_as_other=True)) == ["same-as-other"]
    assert noticed(make_choice("The answer is B. " + "It is wrong to do so. " * 4, same_as_other=True)) == []
    assert noticed(make_choice("The answer is B.", same_as_other=True)) == []


def test_too_few_items_says_how_many():
    findings = find_problems(make_paste("1. Heat\n2. Up\n3. Alien"), ALL)
    assert [(finding.check, finding.detail) for finding in findings] == [("too-few-items", {"found": 3, "wanted": 5})]
    assert findings[0].message % findings[0].detail == (
        "We asked for 5 suggestions and found 3. Please check that you copied all of them."
    )


def test_too_few_items_does_not_count_the_rows_of_a_table_beside_the_list():
    cities = "1. Rome\n2. Oslo\n3. Bath\n4. York\n5. Porto\n\n"
    table = "| If you want … | Go to … |\n|---|---|\n| Great food | Rome |\n| Snow | Oslo |"
    assert "too-few-items" not in noticed(make_paste(cities + table))


def test_items_are_counted_for_recommendations_only():
    assert noticed(make_choice("A", items_wanted=5)) == []


def test_find_problems_asks_only_the_enabled_checks():
    text = "ChatGPT said:\n1. Heat\n2. Up,"
    assert noticed(make_paste(text)) == ["cut-off", "residue", "too-few-items"]
    assert noticed(make_paste(text), ["residue"]) == ["residue"]
    assert noticed(make_paste(""), ["residue"]) == []
    assert noticed(make_paste(text), []) == []


@settings(max_examples=80)
@given(st.text(max_size=300), st.sampled_from(["recommendation", "choice"]))
def test_find_problems_of_anything_gives_messages_that_can_be_filled_in(text, kind):
    for finding in find_problems(make_paste(text, kind=kind), ALL):
        assert bool(finding.message % finding.detail) == bool(finding.message)
        assert finding.version == CHECKS[finding.check].version


HOSTILE = [
    "a",
    "a ",
    "1. ",
    "1.\n",
    "- ",
    "**a ",
    "(",
    "[a](",
    "<a ",
    "a: ",
    "\n",
    "|",
    "| a |\n",
    "A B\n",
    "A. ",
    "a, ",
]
HOSTILE += ["The answer is ", "\\boxed{", "i'm sorry ", "thought for ", "`", "“", "\u0301", "😀", "- a - b: c\n"]


@pytest.mark.parametrize("unit", HOSTILE)
def test_find_problems_of_200_kb_of_one_thing_stays_fast(unit):
    text = (unit * (200_000 // len(unit) + 1))[:200_000]
    start = time.process_time()
    noticed(make_paste(text))
    noticed(make_choice(text))
    assert time.process_time() - start < 0.5  # typically 20 to 60 ms; a quadratic rule would need minutes


@pytest.mark.parametrize(
    "text",
    [
        "1. القاهرة – مدينة الأهرامات.\n2. مراكش – أسواق.\n3. البتراء – صخر.\n4. فاس – قديمة.\n5. بيروت – بحر",
        "1. Oats – with berries 🫐\n2. Toast – with egg 🍳\n3. Yogurt – with honey 🍯\n4. Congee – with ginger",
        "1. 活着——余华的小说。\n2. 三体——刘慈欣的小说。\n3. 围城——钱钟书的小说。\n4. 边城——沈从文\u200f",
    ],
)
def test_last_item_without_its_full_stop_is_no_break_where_scripts_and_pictures_go_without(text):
    assert noticed(make_paste(text), ["cut-off"]) == []


@pytest.mark.parametrize("text", ["1. رواية\n2. رواية قصيرة جدا من الشام عن", "1. Идиот – роман.\n2. Мы – роман о"])
def test_word_that_leads_on_is_a_break_in_other_scripts_too(text):
    assert noticed(make_paste(text), ["cut-off"]) == ["cut-off"]


def test_short_answer_given_before_to_another_prompt_is_noticed_and_a_letter_is_not():
    text, letter = "Heat, Up, Alien, Jaws, Big", "B"
    lists = (OtherPrompt("companies", COMPANIES, answer=text),)
    choices = (OtherPrompt("other", "Another question?\nA. x\nB. y", "choice", answer=letter),)
    assert noticed(make_paste(text, other_prompts=lists)) == ["other-prompt"]
    assert noticed(make_choice(letter, other_prompts=choices)) == []


@pytest.mark.parametrize(
    ("text", "prompt", "kind"),
    [
        ("1. Paris\n2. Tokyo\n3. Rome\n4. Oslo", "Recommend five breakfasts for me to try.", "city"),
        ("1. Wien\n2. Rom\n3. Prag\n4. Oslo", "Empfiehl mir fünf Frühstücke.", "city"),
        ("1. Oatmeal\n2. Pancakes\n3. Scrambled eggs\n4. Bagel", "Suggest five places for me to visit.", "food"),
        ("1. Paris\n2. Tokyo\n3. Rome\n4. Oslo", "Suggest five places for me to visit.", None),
        ("1. Vienna\n2. Chicago\n3. Barcelona\n4. Fast Car\n5. Hurt", "Which five songs should I hear?", None),
        ("1. Paris\n2. Tokyo\n3. Rome\n4. Oslo", "Пять завтраков, пожалуйста", None),
    ],
)
def test_names_of_another_kind_than_the_prompt_asks_for_are_noticed(text, prompt, kind):
    found = [finding.detail for finding in find_problems(make_paste(text, prompt_text=prompt), ["other-prompt"])]
    assert found == ([{"kind": kind}] if kind else [])


ENGLISH_PAGE = """You said:
Recommend five teas.
ChatGPT said:
Here are five teas:

1. Assam
wikipedia.org
+2
2. Mate
3. Chai – said to be +2 better
4. Sencha
5. Yen

Share
Copy
Sources
ChatGPT can make mistakes. Check important info."""
GERMAN_PAGE = """Du hast gesagt:
Empfiehl mir fünf Tees.
Gemini hat gesagt
Hier sind fünf Tees für dich:

1. Assam
2. Mate

Quellen
Teilen
Gute Antwort
Gemini kann Fehler machen, auch in Bezug auf Personen. Überprüfe die Antworten daher noch einmal."""


@pytest.mark.parametrize(
    ("text", "prompt", "left"),
    [
        (ENGLISH_PAGE, "Recommend five teas.", "Here are five teas: 1. Assam 2. Mate 3. Chai – said to be +2 better"),
        (GERMAN_PAGE, "Empfiehl mir fünf Tees.", "Hier sind fünf Tees für dich: 1. Assam 2. Mate"),
    ],
)
def test_lines_of_the_page_are_told_from_those_of_the_answer(text, prompt, left):
    gone = page_lines(text, prompt)
    stays = " ".join(line for at, line in enumerate(text.split("\n")) if at not in gone and line)
    assert stays.startswith(left) and "Fehler" not in stays and "mistakes" not in stays and "Share" not in stays
    assert page_lines("\n".join(line for at, line in enumerate(text.split("\n")) if at not in gone), prompt) == []


@pytest.mark.parametrize(
    "text",
    [
        "1. You\n2. Share\n3. Copy",
        "You\nShare\nCopy",
        "Copy code",
        "Here are sites that you may like:\n\n1. Booking.com\nwikipedia.org\n2. Share a table\n3. Quellen der Isar",
    ],
)
def test_lines_of_an_answer_are_not_taken_for_the_page(text):
    assert page_lines(text, "Recommend five teas.") == []
