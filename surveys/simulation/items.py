"""What made-up chatbots recommend, by the word of a prompt that names the topic; the most popular first."""

import re

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
