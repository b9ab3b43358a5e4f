"""What made-up chatbots recommend, by the word of a prompt that names the topic; the most popular first."""

import re

TOPICS: dict[str, tuple[str, ...]] = {
    "haircut": (
        *(
            "Textured crop",
            "Layered lob",
            "Soft bob",
            "Taper fade",
            "Curtain bangs",
            "Pixie cut",
            "Side part",
        ),
        *("Shag", "Buzz cut", "Wolf cut", "Box braids", "Twist out", "French crop", "Blunt bob", "Undercut"),
    ),
    "movie": (
        *("Paddington 2", "Arrival", "Parasite", "Spirited Away", "The Grand Budapest Hotel", "Moonlight"),
        *("Knives Out", "Hidden Figures", "Whiplash", "Inside Out", "Mad Max: Fury Road", "Past Lives"),
        *("Little Women", "The Farewell", "Roma", "Burning", "Columbus", "Drive My Car"),
    ),
    "restaurant": (
        *(
            "A neighborhood trattoria",
            "A ramen bar",
            "A farm-to-table bistro",
            "A taqueria",
            "A Thai kitchen",
        ),
        *("An Ethiopian restaurant", "A steakhouse", "A sushi counter", "A barbecue place", "A vegan diner"),
        *("A Lebanese grill", "A seafood shack", "A soul food kitchen"),
    ),
    "compan": (
        *("Microsoft", "Patagonia", "Google", "Salesforce", "Costco", "Nvidia", "Johnson & Johnson", "Adobe"),
        *("Target", "HubSpot", "REI", "Stripe", "Mayo Clinic", "Procter & Gamble", "Cisco", "Bloomberg"),
    ),
    "major": (
        *("Computer Science", "Psychology", "Business Administration", "Nursing", "Data Science", "Biology"),
        *("Economics", "Mechanical Engineering", "Environmental Science", "Graphic Design", "Public Health"),
        *("Linguistics", "Statistics", "Sociology"),
    ),
    "book": (
        *("Project Hail Mary", "Pachinko", "The Midnight Library", "Educated", "Circe", "Klara and the Sun"),
        *("Kindred", "The Overstory", "Piranesi", "Homegoing", "A Gentleman in Moscow", "Station Eleven"),
        *("Stoner", "The Dispossessed", "Convenience Store Woman"),
    ),
    "travel|trip|visit": (
        *(
            "Savannah, Georgia",
            "Santa Fe, New Mexico",
            "Asheville, North Carolina",
            "Portland, Maine",
            "Kyoto",
        ),
        *("Lisbon", "Chicago", "Acadia National Park", "Sedona, Arizona", "Charleston", "Hudson, New York"),
        *("Marfa, Texas", "Duluth, Minnesota", "Machu Picchu", "Galena, Illinois"),
    ),
    "hobb|free time": (
        *(
            "Hiking",
            "Watercolor painting",
            "Pottery",
            "Gardening",
            "Bouldering",
            "Photography",
            "Baking bread",
        ),
        *(
            "Chess",
            "Birdwatching",
            "Learning the ukulele",
            "Knitting",
            "Swimming",
            "Woodworking",
            "Astronomy",
        ),
    ),
    "gift": (
        *("A framed photo", "A cooking class", "A scented candle", "A concert ticket", "A good umbrella"),
        *("A plant in a nice pot", "A board game", "A handwritten letter", "A coffee grinder", "A massage"),
        *("A star map", "A leather notebook"),
    ),
    "breakfast": (
        *("Overnight oats with berries", "Avocado toast with egg", "Greek yogurt parfait", "Shakshuka"),
        *("Banana pancakes", "Congee", "Breakfast burrito", "Chia pudding", "Miso soup with rice", "Granola"),
        *("Ful medames", "Smoked salmon bagel"),
    ),
    "song": (
        *(
            "Dreams by Fleetwood Mac",
            "Levitating by Dua Lipa",
            "Alright by Kendrick Lamar",
            "Golden Hour by JVKE",
        ),
        *(
            "Redbone by Childish Gambino",
            "Sparks by Coldplay",
            "Cranes in the Sky by Solange",
            "Motion by Khruangbin",
        ),
        *(
            "Feeling Good by Nina Simone",
            "Sideline by Men I Trust",
            "Bags by Clairo",
            "Rivers by Leon Bridges",
        ),
    ),
}
ANYTHING = (
    *(
        "The green one",
        "The small one",
        "A quiet one",
        "The classic",
        "A new one",
        "The long way",
        "The old way",
    ),
    *("A bright one", "The plain one", "The bold one", "A slow one", "The local one"),
)


def items_for(prompt_text: str) -> tuple[str, ...]:
    """The items that go with a prompt; of several topics the one that is named first."""
    found = [(match.start(), items) for word, items in TOPICS.items() if (match := re.search(word, prompt_text, re.I))]
    return min(found)[1] if found else ANYTHING
