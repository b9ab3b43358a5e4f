"""Personal details in pasted answers: what is marked and what is not, and that a browser marks the same."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.personal_details import as_lines, read_labelled
from benchmarks.personal_details import measure as measure_details
from benchmarks.public_phones import LABELLED, measure
from surveys.reading.privacy import (
    KINDS,
    PATTERNS,
    RULES,
    RULES_PATH,
    count_personal,
    find_personal,
    is_link_alone,
    remove_personal,
)

FINDER = Path(__file__).parents[2] / "samples" / "marks_in_browser.mjs"

PERSONAL = [
    ("Hi Anna, here are five films.", [("name", "Anna")]),
    ("Hi, Anna! Here are five films.", [("name", "Anna")]),
    ("Hello, José! Here you go.", [("name", "José")]),
    ("Hey Anna Maria — of course.", [("name", "Anna Maria")]),
    ("Hello Jean-Luc O'Neill!", [("name", "Jean-Luc O'Neill")]),
    ("Dear Ms. Smith,\n", [("name", "Smith")]),
    ("Good morning, Zoë.", [("name", "Zoë")]),
    ("Welcome back, Darnell!", [("name", "Darnell")]),
    ("Hi Sam 👋 Here are", [("name", "Sam")]),
    ("Hi Łukasz\n1. Tesla", [("name", "Łukasz")]),
    ("**Hi Tyrone!**", [("name", "Tyrone")]),
    ("Sure, Maria! Here are five films.", [("name", "Maria")]),
    ("Of course, Keisha. Here", [("name", "Keisha")]),
    ("Great question, Sam — let me think.", [("name", "Sam")]),
    ("Absolutely, Li Wei! Here", [("name", "Li Wei")]),
    ("Sure, Maria, here are five.", [("name", "Maria")]),
    ("ChatGPT said:\nHi Anna!", [("name", "Anna")]),
    ("¿Qué tal?\nHola María, aquí tienes", [("name", "María")]),
    ("Bonjour Zoé !", [("name", "Zoé")]),
    ("Hallo Jürgen, hier", [("name", "Jürgen")]),
    ("Olá João!", [("name", "João")]),
    ("Привет, Анна! Вот", [("name", "Анна")]),
    ("Здравствуйте, Мария.", [("name", "Мария")]),
    ("Γεια Μαρία!", [("name", "Μαρία")]),
    ("مرحبا سارة، إليك", [("name", "سارة")]),
    ("مرحباً يا سارة!", [("name", "سارة")]),
    ("שלום דנה, הנה", [("name", "דנה")]),
    ("你好，小明！这里", [("name", "小明")]),
    ("Write to anna.smith+films@mail.example.co.uk today.", [("e-mail", "anna.smith+films@mail.example.co.uk")]),
    ("(a_b@example.org)", [("e-mail", "a_b@example.org")]),
    ("почта иван@пример.рф.", [("e-mail", "иван@пример.рф")]),
    ("Call +44 20 7946 0958.", [("phone", "+44 20 7946 0958")]),
    ("+1 (415) 555-2671", [("phone", "+1 (415) 555-2671")]),
    ("+33 1 42 68 53 00", [("phone", "+33 1 42 68 53 00")]),
    ("+4915112345678", [("phone", "+4915112345678")]),
    ("0049 30 901820", [("phone", "0049 30 901820")]),
    ("(212) 555-0199", [("phone", "(212) 555-0199")]),
    ("212-555-0199", [("phone", "212-555-0199")]),
    ("212.555.0199, open daily", [("phone", "212.555.0199")]),
    ("1-800-555-0199", [("phone", "1-800-555-0199")]),
    ("020 7946 0958", [("phone", "020 7946 0958")]),
    ("Tel: 555 0199 22", [("phone", "555 0199 22")]),
    ("Phone 5550199", [("phone", "5550199")]),
    ("+٩٦٦ ٥٠ ١٢٣ ٤٥٦٧", [("phone", "+٩٦٦ ٥٠ ١٢٣ ٤٥٦٧")]),
    ("DE89 3704 0044 0532 0130 00, please", [("bank-account", "DE89 3704 0044 0532 0130 00")]),
    ("IBAN GB29NWBK60161331926819.", [("bank-account", "GB29NWBK60161331926819")]),
    ("card 4111 1111 1111 1111", [("card", "4111 1111 1111 1111")]),
    ("378282246310005", [("card", "378282246310005")]),
    ("my number is 078-05-1120.", [("social-security", "078-05-1120")]),
    ("https://chatgpt.com/share/67a1f0-abc-123", [("chat-link", "https://chatgpt.com/share/67a1f0-abc-123")]),
    ("see chatgpt.com/c/6789abcd.", [("chat-link", "chatgpt.com/c/6789abcd")]),
    ("https://chat.openai.com/share/aaaa-bbbb", [("chat-link", "https://chat.openai.com/share/aaaa-bbbb")]),
    ("HTTPS://CHATGPT.COM/SHARE/ABCD1234", [("chat-link", "HTTPS://CHATGPT.COM/SHARE/ABCD1234")]),
    ("https://gemini.google.com/app/0a1b2c3d", [("chat-link", "https://gemini.google.com/app/0a1b2c3d")]),
    ("gemini.google.com/u/1/app/0a1b2c3d", [("chat-link", "gemini.google.com/u/1/app/0a1b2c3d")]),
    ("https://gemini.google.com/share/0a1b2c", [("chat-link", "https://gemini.google.com/share/0a1b2c")]),
    ("https://g.co/gemini/share/0a1b2c", [("chat-link", "https://g.co/gemini/share/0a1b2c")]),
    (
        "Hi Anna,\nI sent it to a@b.example and g.co/gemini/share/abcd.",
        [("name", "Anna"), ("e-mail", "a@b.example"), ("chat-link", "g.co/gemini/share/abcd")],
    ),
]
EVERYWHERE = [
    ("Hi Anna, five films.\n1. Heat\nEnjoy, anna! Anna's own list.", ["Anna", "anna", "Anna"]),
    ("Hola José:\n1. Lima\nSaludos, JOSE; Jose\u0301 y Josefina", ["José", "JOSE", "Jose\u0301"]),
    ("Hallo Jürgen, hier. Jürgens Buch, Juergen!", ["Jürgen", "Jürgens", "Juergen"]),
    ("Hi Ho-young! Ho, ho, Ho-Young", ["Ho-young", "Ho-Young"]),
    ("Hello Anna Maria! So, Maria and Annabel, or Mariana", ["Anna Maria", "Maria"]),
    ("Hi Will, you will like it. Yours, Will", ["Will", "Will"]),
    ("Привет, Анна! Книги для Анны, не для Аннабель.", ["Анна", "Анны"]),
    ("مرحبا سارة، إليك. وسارة", ["سارة", "وسارة"]),
    ("你好，小明！祝小明好", ["小明", "小明"]),
    ("Call me at 555 0199 22. I mean 555-0199-22, not 555 0199 223.", ["555 0199 22", "555-0199-22"]),
    ("You were born on 12 March 1990. On 12 march 1990!", ["12 March 1990", "12 march 1990"]),
]
ADDRESSES = [
    ("I live at 12 Baker Street.", ["12 Baker Street"]),
    ("at 221B Baker St, London NW1 6XE", ["221B Baker St", "NW1 6XE"]),
    ("1428 Elm Street, Apt 4B, Springfield, IL 62704", ["1428 Elm Street, Apt 4B", "IL 62704"]),
    ("P.O. Box 1187, Halifax B3J 2X1", ["P.O. Box 1187", "B3J 2X1"]),
    ("18 George Street, Parramatta NSW 2150", ["18 George Street", "NSW 2150"]),
    ("Hauptstr. 5, 12345 Musterstadt", ["Hauptstr. 5", "12345"]),
    ("Am Markt 3a\n23552 Lübeck", ["Am Markt 3a", "23552"]),
    ("Mariahilfer Straße 12, 1060 Wien und CH-8001 Zürich", ["Mariahilfer Straße 12", "1060", "CH-8001"]),
    ("DOB: 03/12/1990", ["03/12/1990"]),
    ("geboren am 4. Juli 1988", ["4. Juli 1988"]),
    ("am 4. Juli 1988 geboren", ["4. Juli 1988"]),
    ("Dein Geburtstag ist am 3. Oktober", ["3. Oktober"]),
]
LINKS_ALONE = [
    ("https://chatgpt.com/share/67a1f0-abc-123", True),
    ("Five teas for you\nhttps://g.co/gemini/share/0a1b2c \n", True),
    ("https://claude.ai/share/0a1b2c3d-aaaa", True),
    ("https://copilot.microsoft.com/shares/aB3dEfGhIjK", True),
    ("B\nhttps://chatgpt.com/share/67a1f0-abc-123", False),
    ("1. Assam\n2. Sencha\n3. Mate\n4. Oolong\n5. Rooibos\nhttps://chatgpt.com/share/67a1f0", False),
    ("https://example.org/a", False),
]
HARMLESS = [
    "In 2023 Berlin had 3.7 million people, 20000 Leagues, 10000 Schritte, am Montag 3 Stunden.",
    "1. 10 Cloverfield Lane (2016)\n2. Engineering 101\n3. Training 3x",
    "The war ended on 8 May 1945. Released on 12 March 1990. Albert (born March 14, 1979) wrote.",
    "1. Misi, a restaurant, 329 Kent Avenue, Brooklyn, NY 11249\n2. Lilia",
    "An M1 8GB, the ACT 2024, SA 2020, May 4th",
    "ISO 8601-2:2019 and 2001-02-03 and 123-456-789",
    "AB12 and the A4 B3 series, FL350",
    "1990 2000 2010 2020 were census years",
    "666-12-1234 and 900-12-1234 are none",
    "Hi there, here are five films.",
    "Hi there!",
    "Hi There!",
    "Hello World!",
    "Hello! Sure, here you go.",
    "Hey everyone,",
    "Dear all,",
    "Hi, I'm Gemini.",
    "Hi! I am glad you asked.",
    "Sure, here are five films:",
    "Sure! Here are five films:",
    "Sure, Netflix, Hulu and Disney are good.",
    "Of course, Paris is lovely.",
    "Absolutely. Tesla is one.",
    "Great question! Tesla",
    "1. Hello Kitty – a shop",
    "The film Hi, Mom! is old.",
    "Welcome to Paris!",
    "Thank You, Next",
    "你好！这里有五部电影",
    "مرحبا! إليك خمسة أفلام",
    "between 1998-2003 and 2010–2015",
    "It cost $1,200.00, later 15.000.000 euros.",
    "ISBN 978-3-16-148410-0",
    "ISBN-10: 0-306-40615-2",
    "0306406152",
    "1. One\n2. Two\n10. Ten",
    "version 10.15.7, server 192.168.100.100",
    "2024-01-15 10:20:30",
    "Thu Oct 27 14:08:25 +0000 2022",
    "15/01/2024",
    "a ratio of 100 200 300",
    "temperatures of +5 to +10 degrees",
    "call it 3 or 4 times",
    "phone 12",
    "0.5 - 1.5 - 2.5",
    "Follow @anna on the site",
    "a @ b . c",
    "user@localhost",
    "Open gemini.google.com/app or chatgpt.com and sign in.",
    "https://chatgpt.com/",
    "https://example.com/share/abcdef",
    "order 212555019912345",
]


def marked(text):
    return [(mark.kind, text[mark.start : mark.end]) for mark in find_personal(text)]


@pytest.mark.parametrize(("text", "marks"), PERSONAL)
def test_find_personal_marks_the_detail_alone(text, marks):
    assert marked(text) == marks


@pytest.mark.parametrize("text", HARMLESS)
def test_find_personal_leaves_ordinary_words_and_numbers(text):
    assert marked(text) == []


@pytest.mark.parametrize(("text", "words"), [*EVERYWHERE, *ADDRESSES])
def test_every_place_of_a_detail_is_marked_and_goes(text, words):
    assert [words for _, words in marked(text)] == words
    assert find_personal(remove_personal(text)[0]) == []


@pytest.mark.parametrize(("text", "alone"), LINKS_ALONE)
def test_link_to_a_chat_alone_is_told_from_an_answer(text, alone):
    assert is_link_alone(text) == alone


def test_remove_personal_keeps_the_rest_and_counts():
    text = "Hi Anna,\nwrite to a@b.example or c@d.example. It cost $5."
    removed, counts = remove_personal(text)
    assert removed == "Hi [name],\nwrite to [e-mail address] or [e-mail address]. It cost $5."
    assert counts == {"name": 1, "e-mail": 2}
    assert count_personal(text) == counts


def test_remove_personal_of_nothing_personal_changes_nothing():
    assert remove_personal("Five films:\n1. Heat") == ("Five films:\n1. Heat", {})


@settings(max_examples=150)
@given(st.lists(st.sampled_from([text for text, _ in PERSONAL] + HARMLESS), max_size=6).map("\n".join))
def test_remove_personal_leaves_nothing_to_find(text):
    removed, _ = remove_personal(text)
    assert find_personal(removed) == []


def test_rules_name_the_kinds_and_their_group():
    kinds = {"name", "e-mail", "phone", "chat-link", "bank-account", "card", "social-security", "address"}
    assert set(KINDS) == kinds | {"birth-date"}
    assert all(pattern.groups <= 1 for _, _, pattern in PATTERNS)
    assert all(set(rule) == {"kind", "pattern", "flags", "replacement"} for rule in RULES)
    assert all("u" in rule["flags"] for rule in RULES)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Restaurants:\n1. Lilia, 567 Union Ave, (718) 555-0195\n2. Misi", []),
        ("Contacts:\n1. Anna, 567 Union Ave, (718) 555-0195\n2. Bob", [("phone", "(718) 555-0195")]),
        ("1. Lilia, a restaurant, (718) 555-0195. Call me at (718) 555-0196.", [("phone", "(718) 555-0195")]),
        ("1. Lilia, a restaurant, (718) 555-0195\n\nYours,\nAnna, 718-555-0196", [("phone", "718-555-0196")]),
        ("1. Lilia, a restaurant\n2. Anna: (718) 555-0195", [("phone", "(718) 555-0195")]),
        ("The restaurant has the number (718) 555-0195.", [("phone", "(718) 555-0195")]),
        ("1. Lilia, a restaurant, anna@lilia.example", [("e-mail", "anna@lilia.example")]),
    ],
)
def test_number_of_a_place_in_a_list_is_not_personal(text, marks):
    found = [mark for mark in marked(text) if mark[0] != "address"]
    assert found[:1] == marks[:1] and len(found) >= len(marks)
    assert bool(found) == bool(marks)


def test_published_rates_are_measured():
    rates, page = measure(), Path(__file__).resolve().parents[3] / "benchmarks" / "rates" / "paste-checks.md"
    lines = [
        f"{rates[whose].right} of {rates[whose].n} numbers of a {whose} {words}"
        for whose, words in (("business", "unmarked"), ("person", "marked"))
    ]
    published = page.read_text(encoding="utf-8")
    assert [line for line in (*lines, *as_lines(measure_details())) if line not in published] == []


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_rules_mark_the_same_in_a_browser():
    texts = [text for text, _ in (*PERSONAL, *EVERYWHERE, *ADDRESSES, *LINKS_ALONE)] + HARMLESS
    texts += ["\n".join(texts), "".join(chr(c) for c in range(0x20, 0x2100))]
    texts += [row["text"] for row in json.loads(LABELLED.read_text(encoding="utf-8"))]
    texts += [labelled.text for half in ("kept", "looked-at") for labelled in read_labelled(half)]
    command = ["node", "--no-warnings", str(FINDER), str(RULES_PATH), str(RULES_PATH.with_name("details.js"))]
    answer = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=60)
    here = [
        [[[m.kind, text[m.start : m.end], m.of] for m in find_personal(text)], is_link_alone(text)] for text in texts
    ]
    assert json.loads(answer.stdout) == here


UNITS = ["a", "a@", "a.a@a.", "+1", "012-", "\nHi Aa", "\nHi Aa-", "call 1 ( ", "\n", "Hi A", "1 ", "1 A ", "A-"]


@pytest.mark.parametrize("unit", [*UNITS, "1 May ", "\n12345 "])
def test_find_personal_takes_time_in_proportion_to_the_text(unit):
    def seconds(length):
        text, start = (unit * length)[:length], time.process_time()
        find_personal(text)
        return time.process_time() - start

    # The best of three each: what else the machine does only ever adds.
    most = 8 * min(seconds(50_000) for _ in range(3)) + 0.2
    # Four times the text; a quadratic pattern would need sixteen times as long.
    assert any(seconds(200_000) < most for _ in range(3))
