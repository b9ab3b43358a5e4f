"""The parts of an answer besides its list: what the reader passes over, and what it doubts instead of misreading."""

import time

import pytest

from surveys.reading.answers import read_answer

FILMS = ("heat", "alien", "fargo", "amélie", "up")
LIST = "- Heat\n- Alien\n- Fargo\n- Amélie\n- Up\n"
COUNTED = "1. Heat\n2. Alien\n3. Fargo\n4. Amélie\n5. Up\n"
OTHERS = "1. Jaws\n2. Big\n3. Rocky\n4. Saw\n5. It\n"

READ = {
    "what is remembered, in the second person":
        "What I know about you:\n- You live in Bonn\n- You run\n\nTry:\n" + LIST,
    "what is remembered, in the third person":
        "So far:\n1. Lives in Bonn\n2. Has a cat\n3. Likes rain\n\nI'd go with:\n" + LIST,
    "what is remembered, in a sentence": "Based on what I remember: You live in Bonn and run.\n\n" + COUNTED,
    "what is remembered, under a heading":
        "## What I remember about you\n- Bonn\n- Runner\n- Tea\n\n## My picks\n" + LIST,
    "a memory that leads to the list": "Given what you've told me about rain, here are five:\n" + COUNTED,
    "the page around it": "You said:\nFive films, please: not\n- Jaws\n- Big\n\nChatGPT said:\n\n" + COUNTED,
    "the page without the answer's speaker": "You said:\nFive films, please\n\n" + LIST,
    "what follows from it": "Here are five films based on what I know about you:\n" + COUNTED,
    "what follows from past chats": "**Based on our previous conversations, my top five:**\n\n" + LIST,
    "what follows, each with a reason below":
        "As you've told me that you like snow, five films:\n\n"
        + COUNTED.replace("\n", "\n**Why:** good.\n\n") + "**My pick:** Heat",
    "a bold line over the whole":
        "**Here are five films for tonight:**\n\n" + LIST.replace("- ", "**").replace("\n", "** is good.\n\n"),
    "a lead with a dash": "Sure — here are some for the cold:\n" + LIST.replace("- ", "").replace("\n", " – good\n"),
    "runners-up below lines without marks":
        LIST.replace("- ", "").replace("\n", " – good\n") + "\nHonorable mentions:\n- Jaws\n- Big",
    "what follows in German": "Fünf Filme, die zu dem passen, was ich über dich weiß:\n" + COUNTED,
    "what is remembered, before what follows":
        "Based on what you told me:\n- Bonn\n- Tea\n- Cats\n- Rain\n- Runs\n\n" + COUNTED,
    "details to come": "Here are five films with some details on each:\n" + COUNTED,
    "a word on what comes": "Here are five. Let me know what you think!\n" + COUNTED,
    "why not": "Why not try:\n" + LIST,
    "what is remembered, in German": "Ich weiß, dass du:\n- in Bonn lebst\n- gern läufst\n\nMeine Vorschläge:\n" + LIST,
    "lines of a search": "Searching the web\n- good films\n- best films\n\nMy picks:\n" + LIST,
    "thoughts": f"<thinking>\n{OTHERS}</thinking>\n\n{COUNTED}",
    "criteria": "What I looked for:\n- Pace\n- Sound\n- Light\n- Cast\n- Plot\n\nMy suggestions:\n" + LIST,
    "an offer": LIST + "\nIf you like, I can:\n- sort them\n- shorten them\n- find more\n- explain them\n- link them",
    "a question with its choices":
        COUNTED + "\nHow would you like to go on?\n1. Older\n2. Newer\n3. Longer\n4. Sadder\n5. Done",
    "runners-up": COUNTED + "\nRunners-up:\n" + OTHERS,
    "sources": LIST + "\nSources:\n1. IMDb\n2. Eater\n3. Time\n4. Vox\n5. BBC",
    "a corrected list": OTHERS + "\nOn reflection, those are old. My final list:\n" + COUNTED,
    "an apology": OTHERS + "\nI apologize, you asked for newer ones:\n" + COUNTED,
    "a correction in German": OTHERS + "\nMoment, hier ist die korrigierte Liste:\n" + COUNTED,
    "questions alone": LIST + "\nTo narrow it down:\n1. What is your budget?\n2. Who is coming?\n3. Which snow is it?",
    "what to avoid": LIST + "\nI'd skip these in winter:\n- Jaws\n- Big\n- Rocky\n- Saw\n- It",
    "whom to call": "If it is too much, please contact:\n- 112\n- A doctor\n\nElse I'd try:\n" + LIST,
    "steps of a recipe":
        LIST + "\nSo it goes:\n1. Heat some oil in a pan\n2. Add the eggs and stir\n3. Serve with salt on a plate",
    "leads before what is set off":
        "1. The long one: *Heat*\n2. The cold one: *Alien* by Scott\n3. Snow → **Fargo**, twice\n4. Paris: **Amélie**"
        "\n5. The dog: **Up**",
    "times of day":
        "**Day 1**\n- Morning: **Heat**\n- Evening: **Alien**\n\n**Day 2**\n- Morning: **Fargo**\n- Evening: **Amélie**"
        "\n\n**Day 3**\n- Morning: **Up**, with kids",
    "sentences behind names": "- Heat. See it late.\n- Alien. Loud.\n- Fargo. Cold.\n- Amélie. Sweet.\n- Up\n\nEnjoy.",
    "groups without marks":
        "🔫 Loud\nHeat — a chase\nAlien — a ship\n\n❄️ Cold\nFargo — snow\n\n🎈 Light\nAmélie — Paris\nUp — a dog",
    "what is struck out": COUNTED.replace("Heat", "~~Jaws~~ Heat"),
    "headings over the whole":
        "## Overview\nText.\n\n" + LIST.replace("- ", "## ").replace("\n", "\nText.\n\n") + "## Next steps\nText.",
    "records":
        "".join(f"Name: {film}\nYear: 1999\nWhy: good\n\n" for film in ("Heat", "Alien", "Fargo", "Amélie", "Up")),
    "records in lines": "".join(f"Name: {film} | Why: good\n" for film in ("Heat", "Alien", "Fargo", "Amélie", "Up")),
    "verdicts": "- Best overall: Heat\n- Scariest: Alien\n- For cold nights: Fargo\n- Top pick: Amélie\n- Option 5: Up",
    "verdicts as headings":
        "### Best Crime: Heat\n### Best Horror: Alien\n### Best Snow: Fargo\n### Best Paris: Amélie\n### Best Dog: Up",
    "days": "Day 1: Heat\nDay 2: Alien\nDay 3: Fargo\nDay 4: Amélie\nDay 5: Up",
    "numbers of notes": "1. Heat1\n2. Alien2\n3. Fargo3\n4. Amélie4\n5. Up5",
    "sources behind names": "1. Heat 1 Vox+2\n2. Alien 2 BBC+1\n3. Fargo 3 Vox\n4. Amélie vox.com+1\n5. Up vox.com",
    "reasons in the first column":
        "| Why | Film |\n|-|--|\n| a | Heat |\n| b | Alien |\n| c | Fargo |\n| d | Amélie |\n| e | Up |",
    "things side by side":
        "| Aspect | Heat | Alien | Fargo | Amélie | Up |\n|--|--|--|--|--|--|\n| Year | 1 | 2 | 3 | 4 | 5 |",
    "commas": "```csv\nfilm,year\nHeat,1995\nAlien,1979\nFargo,1996\nAmélie,2001\nUp,2009\n```",
    "cards without gaps": "Heat\n$12.99\nShop + others\nAlien\n$9\nShop + others\nFargo\n$8\nAmélie\n$7\nUp\n$6",
    "JSON with tags":
        '{"tags": ["a", "b"], "found": {"films": ['
        '{"why": "a", "film": {"name": "Heat"}}, "Alien", "Fargo", "Amélie", "Up"]}}',
    "JSON that counts": '{"1": "Heat", "2": "Alien", "3": "Fargo", "4": "Amélie", "5": "Up"}',
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_read_answer_names_what_is_advised_and_nothing_else(name):
    reading = read_answer(READ[name], "recommendation")
    assert (reading.items, reading.doubt) == (FILMS, "")


NOTHING = {
    "aspects": "I can help, but first:\n\n1. Face shape\n2. Hair type\n3. Length\n4. Upkeep\n5. Style",
    "aspects in German": "Sag mir bitte:\n- Budget\n- Reisezeit\n- Anreise\n- Interessen\n- Dauer",
    "a question with its choices": "What are you in the mood for?\n1. Comedy\n2. Drama\n3. Action\n4. Horror",
    "after a refusal": "I can't pick one. Please share:\n1. Face shape\n2. Colour\n3. Length\n4. Style",
    "only what is remembered": "From what I remember:\n1. Lives in Bonn\n2. Runner\n3. Two cats\n4. Tea\n5. Rain",
    "questions as headings": "**What is your budget?**\nAny.\n\n**Where are you?**\nBonn.\n\n**Who will come?**\nAll.",
    "a dialogue": "user: hello there\nassistant: hello to you\nuser: any films?\nassistant: many films",
}


@pytest.mark.parametrize("name", NOTHING)
def test_read_answer_of_a_text_that_advises_nothing_is_empty_and_in_doubt(name):
    reading = read_answer(NOTHING[name], "recommendation")
    assert (reading.items, bool(reading.doubt)) == ((), True)


UNSURE = {
    "taken back": (COUNTED + "\nActually, scratch Heat.", "takes-back"),
    "two names": ("1. Heat / Hitze\n2. Alien / Wesen\n3. Fargo / Eis\n4. Amélie / Welt\n5. Up / Oben", "two-names"),
    "two scripts": (
        "1. Heat 热火\n2. Alien 异形\n3. Fargo 冰血暴\n4. Amélie 天使爱美丽\n5. Up 飞屋环游记",
        "two-names",
    ),
    "kinds": ("1. Crime: Heat\n2. Horror: Alien\n3. Comedy: Fargo\n4. Romance: Up\n5. Family: It", "label-like"),
    "a heading among items": ("- **Overview:** five\n" + LIST, "label-like"),
    "where to look": ("I don't have access to your location. You can check:\n- Yelp\n- Eater\n- Vox", "refusal"),
    "more lines than items": ("Sure thing\n\nHeat\nAlien\nFargo\nAmélie\nUp\n\nEnjoy", "loose-lines"),
    "people before their works": (
        "- Johnny Cash – Hurt\n- Nina Simone – Sinnerman\n- Bon Iver – Holocene\n- Fleet Foxes – Mykonos",
        "two-names",
    ),
    "people before what is set off": (
        "Jane Austen — *Emma*\nCal Newport — *Deep Work*\nSusan Cain — *Quiet*\nLeo Tolstoy — *War and Peace*",
        "two-names",
    ),
    "two answers to choose from": ("Choice A\n" + LIST + "\nChoice B\n" + LIST.replace("Heat", "Jaws"), "two-lists"),
    "lines that name more": (
        "Heat (a chase) is a film. Saw (2004) is another.\nAlien is a film.\nFargo is a film.\n"
        "Amélie is a film.\nUp is a film.",
        "loose-lines",
    ),
    "a list that starts again": (OTHERS + "\n" + COUNTED, "two-lists"),
    "as many rows as columns": (
        "| | Heat | Alien | Fargo | Amélie | Up |\n|-|--|-|-|-|-|\n"
        + "".join(f"| {side} | a | b | c | d | e |\n" for side in ("Tone", "Sound", "Look", "End", "Start")),
        "two-lists",
    ),
}


@pytest.mark.parametrize("name", UNSURE)
def test_read_answer_doubts_what_can_be_read_in_two_ways(name):
    text, doubt = UNSURE[name]
    assert read_answer(text, "recommendation").doubt == doubt


def test_read_answer_of_a_list_after_a_word_of_regret_has_no_doubt():
    text = "I don't have personal preferences, but these are loved by many:\n" + COUNTED
    assert read_answer(text, "recommendation").doubt == ""


UNITS = (
    "~~a", "~~a~~", "\\item ", "Name: a\nWhy: b\n", "<think>", "1. Apple 1 W+2\n", "a / ", "**a** b\n",
    "You are:\n- a\n",
    "tell me:\n1. a\n", "1. a: b\n", "## Overview\n", "- best a: b\n", "a,b,c\n", "4.5 (\n", "a\nb\n\n", "a¹", "[1, 2",
    "a: *b", "A B – C D\n", "add a pan\n", ". A (", "https://a ", "Choice A\n", "aaaa. A", "Morning: **a**\n", "½",
    "what is a b\n", "1 cup a\n", "wait, \n", "here are ", "about you ", "better list:\n1. a\n",
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_roles_take_little_time_however_the_text_repeats_itself(unit):
    text = unit * (200_000 // len(unit))
    start = time.process_time()
    read_answer(text, "recommendation")
    assert time.process_time() - start < 2.0
