"""What made-up participants paste: items by topic, answers as chatbots write them, what each check is for."""

import re
from collections.abc import Iterable
from random import Random
from typing import Protocol

from surveys.reading.checks import OtherPrompt, Paste, PasteCheck

# Parted by semicolons, since names hold commas.
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
    """The items that go with a prompt; of several topics the one that is named first."""
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


def write_list(prompt: AskedPrompt, rng: Random, wanted: int | None = None) -> str:
    wanted = wanted or prompt.items or 5
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
    letters = "ABCDEFGH"[: len(prompt.choices)]
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
    """A paste that this check is for; `others` are the study's prompts."""
    own = Paste(
        write_answer(prompt, rng),
        prompt.text,
        prompt.kind,
        prompt.items or 0,
        choices=tuple(prompt.choices),
        other_prompts=tuple(OtherPrompt(one.slug, one.text, one.kind) for one in others if one.slug != prompt.slug),
    )
    return check.spoil(own)
