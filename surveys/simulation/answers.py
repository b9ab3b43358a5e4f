"""Pastes of simulated people: plain answers, wrong ones for each check, and lifelike ones by chatbot and person."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Protocol

from surveys.reading.checks import OtherPrompt, Paste, PasteCheck

# Separated by semicolons, since names hold commas.
LISTS = {
    "haircut": """Textured crop; Layered lob; Soft bob; Taper fade; Curtain bangs; Pixie cut; Side part; Shag;
        Buzz cut; Wolf cut; Box braids; Twist out; French crop; Blunt bob; Undercut; Long layers; Quiff;
        Crew cut; Mullet; Bixie; Locs; Cornrows; Tapered afro; Butterfly cut; Slicked-back bob; Ivy League;
        Pompadour; Knotless braids; High-top fade; Asymmetrical bob; Bantu knots; Caesar cut;
        Face-framing layers; Flat twists; Burst fade; Rounded afro; Invisible layers; Comb over; Finger coils;
        Micro bangs""",
    "movie": """Paddington 2; Arrival; Parasite; Spirited Away; The Grand Budapest Hotel; Moonlight; Knives Out;
        Hidden Figures; Whiplash; Inside Out; Mad Max: Fury Road; Past Lives; Little Women; The Farewell; Roma;
        Burning; Columbus; Drive My Car; Everything Everywhere All at Once; Black Panther; Interstellar;
        Get Out; The Shawshank Redemption; Inception; Sinners; One of Them Days; American Fiction; Hit Man;
        Dune: Part Two; The Holdovers; Love & Basketball; Top Gun: Maverick; The Woman King; Amélie; Coco;
        Do the Right Thing; Heat; Pride & Prejudice; Rye Lane; The Secret Life of Walter Mitty; Soul;
        The Martian; Waiting to Exhale; Ford v Ferrari""",
    "restaurant": """A neighborhood trattoria; A ramen bar; A farm-to-table bistro; A taqueria; A Thai kitchen;
        An Ethiopian restaurant; A steakhouse; A sushi counter; A smokehouse; A vegan diner;
        A Lebanese grill; A seafood shack; A soul food kitchen; A Korean barbecue; A dim sum house;
        An Indian buffet; A pizzeria; A Caribbean cafe; A tapas bar; A gastropub; A Nigerian kitchen;
        A noodle shop; A Greek taverna; A brunch cafe; A Vietnamese pho house; A Cajun restaurant;
        A burger joint; A creperie; A Peruvian rotisserie; A food hall; A hot chicken stand; A Japanese izakaya;
        A Mexican marisqueria; A deli; A wine bar; A West African grill""",
    "compan": """Microsoft; Patagonia; Google; Salesforce; Costco; Nvidia; Johnson & Johnson; Adobe; Target;
        HubSpot; REI; Stripe; Mayo Clinic; Procter & Gamble; Cisco; Bloomberg; Tesla; Apple; Delta Air Lines;
        Kaiser Permanente; Nike; Netflix; Spotify; LinkedIn; Deloitte; Trader Joe's; IBM; Toyota; Marriott;
        UnitedHealth Group; Airbnb; Intuit; Southwest Airlines; JPMorgan Chase; The Home Depot; Lockheed Martin;
        Etsy; Duolingo; Accenture; Mastercard; Ben & Jerry's; Siemens; Wegmans; Publix""",
    "major": """Computer Science; Psychology; Business Administration; Nursing; Data Science; Biology;
        Economics; Mechanical Engineering; Environmental Science; Graphic Design; Public Health; Linguistics;
        Statistics; Sociology; Finance; Marketing; Political Science; English Literature;
        Electrical Engineering; Communications; Philosophy; Kinesiology; Cybersecurity; Social Work;
        Architecture; Education; Film Studies; Neuroscience; Criminal Justice; African American Studies;
        International Relations; Accounting; Music; Journalism; Information Systems; Biomedical Engineering;
        Anthropology; Urban Planning""",
    "book": """Project Hail Mary; Pachinko; The Midnight Library; Educated; Circe; Klara and the Sun; Kindred;
        The Overstory; Piranesi; Homegoing; A Gentleman in Moscow; Station Eleven; Stoner; The Dispossessed;
        Convenience Store Woman; Atomic Habits; Sapiens; The Seven Husbands of Evelyn Hugo; Becoming;
        The Vanishing Half; Dune; Born a Crime; Where the Crawdads Sing; The Alchemist; James;
        Tomorrow, and Tomorrow, and Tomorrow; Deep Work; Their Eyes Were Watching God; The Name of the Wind;
        Braiding Sweetgrass; All About Love; The Silent Patient; The Song of Achilles; Between the World and Me;
        Gone Girl; The Nickel Boys; Remarkably Bright Creatures; Never Let Me Go; The Hobbit;
        Parable of the Sower; Americanah; Lonesome Dove""",
    "travel|trip|visit": """Savannah, Georgia; Santa Fe, New Mexico; Asheville, North Carolina; Portland, Maine;
        Kyoto; Lisbon; Chicago; Acadia National Park; Sedona, Arizona; Charleston; Hudson, New York;
        Marfa, Texas; Duluth, Minnesota; Machu Picchu; Galena, Illinois; New Orleans; Nashville; Miami; Atlanta;
        Washington, D.C.; Napa Valley; Austin; Great Smoky Mountains; San Diego; Mexico City; Montréal; Denver;
        Philadelphia; Key West; Memphis; Lake Tahoe; Zion National Park; Martha's Vineyard; Houston; Seattle;
        Hilton Head Island; Las Vegas; Joshua Tree; Outer Banks; Detroit; Quebec City""",
    "hobb|free time": """Hiking; Watercolor painting; Pottery; Gardening; Bouldering; Photography; Baking bread;
        Chess; Birdwatching; Learning the ukulele; Knitting; Swimming; Woodworking; Astronomy; Journaling; Yoga;
        Cooking; Learning a language; Salsa dancing; Cycling; Podcasting; Line dancing; Crocheting;
        Candle making; Fishing; Roller skating; Geocaching; Creative writing; Beekeeping; Disc golf;
        Calligraphy; Restoring furniture; DJing; Mushroom foraging; Volunteering; Model building; Home brewing;
        Pickleball; Genealogy; Sewing""",
    "gift": """A framed photo; A cooking class; A scented candle; A concert ticket; A good umbrella;
        A plant in a nice pot; A board game; A handwritten letter; A coffee grinder; A massage; A star map;
        A leather notebook; A book; A subscription box; A cozy blanket; Wireless earbuds; A spa day;
        A personalised mug; A bottle of wine; Silk pillowcase; A picnic basket; A gift card; A cocktail set;
        A portable speaker; A puzzle; A cookbook; Headphones; A custom playlist; A piece of jewelry;
        A shea butter set; A travel organizer; A digital frame; A satin bonnet; A grill set; A tote bag;
        A weekend away; A fitness tracker; A donation in their name""",
    "breakfast": """Overnight oats with berries; Avocado toast with egg; Greek yogurt parfait; Shakshuka;
        Banana pancakes; Congee; Breakfast burrito; Chia pudding; Miso soup with rice; Granola; Ful medames;
        Smoked salmon bagel""",
    "song": """Dreams by Fleetwood Mac; Levitating by Dua Lipa; Alright by Kendrick Lamar; Golden Hour by JVKE;
        Redbone by Childish Gambino; Sparks by Coldplay; Cranes in the Sky by Solange; Motion by Khruangbin;
        Feeling Good by Nina Simone; Sideline by Men I Trust; Bags by Clairo; Rivers by Leon Bridges""",
}


def parted(names: str) -> tuple[str, ...]:
    return tuple(" ".join(name.split()) for name in names.split(";"))


TOPICS: dict[str, tuple[str, ...]] = {word: parted(names) for word, names in LISTS.items()}
ANYTHING = parted(
    """The green one; The small one; A quiet one; The classic; A new one; The long way; The old way; A bright one;
    The plain one; The bold one; A slow one; The local one"""
)


def items_for(prompt_text: str) -> tuple[str, ...]:
    """The items that fit a prompt: those of the topic named first, or anything."""
    found = [(match.start(), items) for word, items in TOPICS.items() if (match := re.search(word, prompt_text, re.I))]
    return min(found)[1] if found else ANYTHING


# --- answers ----------------------------------------------------------------


class AskedPrompt(Protocol):
    """A prompt as the database or a study's definition has it."""

    slug: str
    kind: str
    text: str
    items: int | None
    choices: list[str]
    answer: str


OPENINGS = (
    "Here are {n} suggestions for you:",
    "Sure! Here are {n} that I think you would enjoy:",
    "Based on what you have told me before, I would suggest these:",
    "Of course. A few ideas:",
)
REASONS = (
    "a safe choice that most people like",
    "it fits what you usually go for",
    "popular at the moment, and with good reason",
    "a little different, if you feel like a change",
    "easy to begin with and easy to stop",
    "often named as one of the best of its kind",
    "worth it for the atmosphere alone",
    "a good match for a quiet day",
)
CLOSINGS = (
    "Tell me more about your taste and I can narrow it down.",
    "Would you like more like these?",
    "I hope that helps!",
    "Let me know which one you choose.",
)
RIGHT_SHARE = 0.8


def write_answer(prompt: AskedPrompt, rng: Random) -> str:
    """One answer, different for each state of `rng`."""
    return write_choice(prompt, rng) if prompt.kind == "choice" else write_list(prompt, rng)


def write_list(prompt: AskedPrompt, rng: Random) -> str:
    wanted = prompt.items or 5
    mark = rng.choice(("{n}. **{item}**", "{n}. {item}", "{n}) {item}"))
    lines = [
        f"{mark.format(n=n, item=item)}: {rng.choice(REASONS)}."
        for n, item in enumerate(draw_items(items_for(prompt.text), wanted, rng), 1)
    ]
    return "\n\n".join([rng.choice(OPENINGS).format(n=wanted), "\n".join(lines), rng.choice(CLOSINGS)])


def draw_items(items: tuple[str, ...], wanted: int, rng: Random) -> list[str]:
    """Distinct items with a heavy tail: the one at rank r is drawn about 1/r as often as the first."""
    weights = [1 / rank for rank in range(1, len(items) + 1)]
    drawn: list[str] = []
    while len(drawn) < min(wanted, len(items)):
        item = rng.choices(items, weights)[0]
        if item not in drawn:
            drawn.append(item)
    return drawn


def write_choice(prompt: AskedPrompt, rng: Random) -> str:
    letters = LETTERS[: len(prompt.choices)]
    letter = prompt.answer if prompt.answer and rng.random() < RIGHT_SHARE else rng.choice(letters)
    choice = prompt.choices[letters.index(letter)]
    form = rng.choice(("{letter}", "**{letter}. {choice}**", "The answer is {letter}.", "{letter}. {choice}\n\n{why}"))
    why = "The other options do not fit what is described, so this one is left."
    return form.format(letter=letter, choice=choice, why=why)


# --- wrong pastes -----------------------------------------------------------------------------------------

NAME, MAIL = "Marguerite", "m.lindqvist.1987@example.org"


def write_personal(prompt: AskedPrompt, rng: Random) -> str:
    """An answer that greets by name and repeats an address."""
    return f"Hi {NAME},\n\n{write_answer(prompt, rng)}\n\nI can send this to {MAIL} if you like."


def write_wrong(check: PasteCheck, prompt: AskedPrompt, others: Iterable[AskedPrompt], rng: Random) -> Paste:
    """A paste that this check should notice; `others` are the study's prompts."""
    own = Paste(
        write_answer(prompt, rng),
        prompt.text,
        prompt.kind,
        prompt.items or 0,
        choices=tuple(prompt.choices),
        other_prompts=tuple(OtherPrompt(one.slug, one.text, one.kind) for one in others if one.slug != prompt.slug),
    )
    return check.spoil(own)


# --- lifelike answers ---------------------------------------------------------

LETTERS = "ABCDEFGH"
OWN_FAVOURITES = 0.45  # how far a chatbot's order is from that of the lists
OF_THE_GROUP = 0.5  # how far a group's order is from its chatbot's, at full spread
ABILITY = 0.9  # of questions of usual difficulty
SURENESS = 2.4  # how much the same question gets the same answer
FAVOURITE_MISTAKE = 0.75
RESPELLED = 0.04
PRAISE = (
    *("well loved and hard to get wrong", "popular right now", "a little unexpected", "friendly to beginners"),
    *("a true classic", "perfect for a slow afternoon", "little effort, big effect"),
    *("bold and memorable", "kind to your budget", "warm and easygoing", "highly rated lately"),
    *("best when shared", "quietly brilliant", "versatile and long lasting"),
)


@dataclass(frozen=True)
class Taste:
    """A chatbot's ranking of items; without a person there is no spread."""

    chatbot: str
    skew: float  # how much more often the first of its order come
    spread: float = 0.0  # how far the person's order is from the chatbot's
    person: str = ""
    group: str = ""


def write_lifelike(prompt: AskedPrompt, rng: Random, taste: Taste) -> str:
    if prompt.kind == "choice":
        letter = choose_letter(prompt.text, len(prompt.choices), prompt.answer, rng, taste)
        return write_letter(letter, prompt.choices[LETTERS.index(letter)], rng)
    return write_items(pick_items(items_for(prompt.text), prompt.items or 5, rng, taste), rng)


# --- the choice of items and letters -------------------------------------------


def pick_items(items: Sequence[str], wanted: int, rng: Random, taste: Taste) -> list[str]:
    """Distinct items, drawn with the weights of the taste (each weight's logarithm with Gumbel noise, sorted)."""
    own = Random(f"{taste.person} {items[0]}")
    shifts = order_of(taste.chatbot, taste.group, tuple(items))
    scores = [
        -taste.skew * (shift[0] + taste.spread * (OF_THE_GROUP * shift[1] + own.gauss(0, 1)))
        - math.log(-math.log(rng.random() or 0.5))
        for shift in shifts
    ]
    ranked = sorted(range(len(items)), key=lambda place: -scores[place])
    return [items[place] for place in ranked[:wanted]]


@lru_cache(maxsize=1024)
def order_of(chatbot: str, group: str, items: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """For each item the logarithm of its rank with the chatbot, and the group's shift."""
    bot, shared = Random(f"{chatbot} {items[0]}"), Random(f"{group} {items[0]}")
    return tuple(
        (math.log(rank) + bot.gauss(0, OWN_FAVOURITES), shared.gauss(0, 1) if group else 0.0)
        for rank in range(1, len(items) + 1)
    )


def choose_letter(question: str, options: int, right: str, rng: Random, taste: Taste) -> str:
    """The right letter if chatbot and person make it likely; else mostly the chatbot's usual mistake."""
    letters = LETTERS[:options]
    usual, own = Random(f"{taste.chatbot} {question}"), Random(f"{taste.person} {question}")
    strength = ABILITY + usual.gauss(0, 1) + taste.spread * own.gauss(0, 1)
    wrong = [letter for letter in letters if letter != right]
    mistake = usual.choice(wrong)
    if right and rng.random() < 1 / (1 + math.exp(-SURENESS * strength)):
        return right
    if taste.spread and own.random() < taste.spread / 3:
        mistake = own.choice(wrong)
    return mistake if rng.random() < FAVOURITE_MISTAKE else rng.choice(wrong)


# --- the wording ---------------------------------------------------------------


def write_items(items: Sequence[str], rng: Random) -> str:
    names = [respell(item) if rng.random() < RESPELLED else item for item in items]
    form = rng.choices(list(LIST_FORMS), list(LIST_FORMS.values()))[0]
    return form(names, rng)


def respell(name: str) -> str:
    """Another spelling of the name."""
    if " & " in name:
        return name.replace(" & ", " and ")
    if ", " in name or ": " in name:
        return name.replace(", ", " ").replace(": ", " ")
    if name.startswith("A "):
        return f"{name[2:].capitalize()}s"
    return name.replace(" ", "-", 1) if name.count(" ") == 1 else name


def numbered(pattern: str, end: str = "\n") -> Callable[[Sequence[str], Random], str]:
    def write(names: Sequence[str], rng: Random) -> str:
        lines = [
            pattern.format(n=n, item=name, why=rng.choice(PRAISE), Why=rng.choice(PRAISE).capitalize())
            for n, name in enumerate(names, 1)
        ]
        opening = rng.choice((*OPENINGS, "")).format(n=len(names))
        return "\n\n".join(filter(None, (opening, end.join(lines), rng.choice((*CLOSINGS, "", "")))))

    return write


def write_table(names: Sequence[str], rng: Random) -> str:
    rows = [f"| {n} | {name} | {rng.choice(PRAISE)} |" for n, name in enumerate(names, 1)]
    return "\n".join(["| # | Recommendation | Why |", "| --- | --- | --- |", *rows])


def write_prose(names: Sequence[str], rng: Random) -> str:
    return f"I would go with {', '.join(names[:-1])} or {names[-1]}: {rng.choice(PRAISE)}."


def write_fewer(names: Sequence[str], rng: Random) -> str:
    return numbered("{n}. {item}")(names[: rng.choice((3, 4))], rng)


def write_refusal(names: Sequence[str], rng: Random) -> str:
    declined = "I'm sorry, but I can't help with that request."
    return rng.choice(
        (declined, "I don't know enough about you to recommend anything. Could you tell me what you like?")
    )


# Each form with its share in a thousand.
LIST_FORMS: dict[Callable[[Sequence[str], Random], str], int] = {
    numbered("{n}. **{item}**: {why}."): 320,
    numbered("{n}. **{item}** – {Why}."): 170,
    numbered("{n}. {item}"): 170,
    numbered("{n}. {item}: {why}."): 110,
    numbered("{n}) {item} - {why}"): 60,
    numbered("### {n}. {item}\n\n{Why}.", end="\n\n"): 60,
    numbered("{n}. **{item}**\n   - {Why}.\n   - It is {why}."): 50,
    write_table: 15,
    write_prose: 20,
    write_fewer: 15,
    write_refusal: 10,
}
CHOICE_FORMS = {
    "{letter}": 250,
    "**{letter}. {choice}**": 250,
    "The answer is {letter}.": 130,
    "The correct answer is **{letter}**.\n\n{why}": 160,
    "{letter}. {choice}\n\n{why}": 160,
    "{choice}": 20,
    "It depends on what exactly is meant, so I can't settle on one of these options.": 15,
    "Either {letter} or {other} could be defended here.": 15,
}
WHY = (
    *("The other options don't fit what is described.", "Each other option can be ruled out."),
    *("Of all these, it is the one that follows from the text.", "That is what one would expect here."),
    *("Nothing in the text speaks for another option.", "This is the usual answer in textbooks."),
)


def write_letter(letter: str, choice: str, rng: Random) -> str:
    form = rng.choices(list(CHOICE_FORMS), list(CHOICE_FORMS.values()))[0]
    other = "A" if letter != "A" else "B"
    return form.format(letter=letter, choice=choice, why=" ".join(rng.sample(WHY, rng.choice((1, 2)))), other=other)
