"""Words that name no recommendation by themselves: headings, verdicts, labels, aspects to ask about."""

import re
import unicodedata

# Headings over remarks on the whole answer.
_SECTIONS = (
    "overview|introduction|intro|summary|quick summary|conclusions?|final (?:thoughts?|verdict|note|tip|tips"
    "|recommendation)"
    "|bottom line|the bottom line|in short|short answer|quick (?:take|answer|guide|comparison|overview)|tl;?dr|at a"
    " glance"
    "|key takeaways?|takeaways?|next steps?|what(?:'s)? next|what to do next|how to .{1,60}|why .{1,60}|resources"
    "|sources|references"
    "|tips?|pro tips?|my tip|bonus(?: tips?)?|notes?|disclaimer|background|context|methodology|criteria|comparison"
    "|recommendations?|my recommendations?|suggestions?|my (?:suggestions?|picks|pick|take|verdict)|the list|verdict"
    "|honou?rable mentions?|runners?-?up|conclusion and .{1,40}|closing thoughts?|getting started|questions?(?: for"
    " you)?"
    "|überblick|übersicht|einleitung|einführung|zusammenfassung|fazit|kurz (?:gesagt|gefasst|und knapp)|mein"
    " (?:tipp|fazit|rat)"
    "|tipps?|hinweise?|nächste schritte|quellen|auf einen blick|schluss|vergleich|empfehlung(?:en)?|vorschläge"
    "|warum .{1,60}"
    "|wie .{1,60}|meine (?:empfehlung|empfehlungen|vorschläge)|extra|vorab|hintergrund|kriterien|rückfragen|(?:step"
    "|schritt|part|teil) \\d{1,2}"
)
# Above the whole list.
_OPENINGS = r"(?:here (?:are|is)|here['\u2019]s|below are|these are|hier sind|hier ist) .{1,100}"
SECTION = re.compile(rf"^\W*(?:\d{{1,2}}[.)] )?(?:{_SECTIONS}|{_OPENINGS})\W*$", re.I)

_TIMES = r"(?:(?:early|late) )?(?:morning|noon|afternoon|evening|night)|all day|(?:vormittag|mittag|nachmittag|abend)s?"
TIME = re.compile(rf"^(?:{_TIMES})$", re.I)
# Before the name, as in "Best overall: Apple", "Option B – Bob" and "For a splurge: Tantris".
_AWARDS = (
    r"(?:the |my |our |your )?(?:best|top|most|least|safest|safe|boldest|favou?rite|biggest|hidden gem|wild ?card"
    r"|dark horse"
    r"|crowd[- ]?pleaser|editor'?s|budget|premium|splurge|luxury|classic|modern|runner-?up|overall|winner|second"
    r"|honou?rable"
    r"|underrated|bonus|all-?rounder|number|gold|silver|bronze)\b.{0,40}"
    r"|[a-z-]{3,14}(?:est|iest)\b.{0,30}|(?:for|if|when|perfect for|great for|good for|ideal for|you want|you"
    r" like)\b.{1,50}"
    r"|(?:option|choice|pick|idea|suggestion|recommendation|film|movie|book|city|company|restaurant|haircut|major"
    r"|song|platz|tipp"
    r"|vorschlag|wahl|day|tag|stop|week|night|spot|place|rank|number|nr\.?|no\.?|cut|style)\s?#?(?:\d{1,2}|[a-h])"
    r"|(?:am |der |die |das )?[a-zäöüß]{3,20}st(?:en|e|er|es)\b.{0,30}|(?:für|wenn|falls|mein|meine|unser)\b.{1,50}"
    rf"|{_TIMES}"
    r"|(?:geheimtipp|klassiker|günstig|preiswert|überraschung|allrounder|favorit|luxus|sieger|beste\w*|top)\b.{0,30}"
)
AWARD = re.compile(rf"^\W*(?:{_AWARDS})\W*$", re.I)

# Aspects that one may be asked about, or weigh: the whole name, or the last of a few words.
_WHOLE = (
    "age city pay size time people length era where when what how who why style dates name plans subjects setting"
    " team parks"
    " trains schools rents distance crowds weather food culture mission growth goals values skills location alter"
    " zeit ort"
    " stil länge dauer team wohnort stadt stadt oder viertel anreise uhrzeit klima lage genre mood industry level"
)
_LAST = (
    "shape texture type maintenance upkeep effort budget price range cost costs cuisine occasion needs people genre"
    " services"
    " interests strengths lifestyle income salary balance preferences restrictions stability commute seating"
    " duration party"
    " availability dietary neighborhood timeline density routine experience requirements benefits perks code"
    " factors criteria"
    " gesichtsform haartyp haarstruktur haarlänge pflegeaufwand anlass küche lieblingsküche preisklasse preis"
    " personen interessen"
    " reisezeit stärken gehalt bezahlung sicherheit entwicklung standort vorlieben fähigkeiten abschluss noten branche"
)
WHOLE = frozenset(_WHOLE.split()) | {"stadt oder viertel", "number of people", "stage of life", "klima im team"}
LAST = frozenset(_LAST.split())
FIRST = LAST | {"number", "anzahl"}
LONGEST_ASPECT = 4  # words


def is_aspect(name: str) -> bool:
    """Whether the name, in lower case, is an aspect to ask about, such as "hair texture" and "budget"."""
    words = name.removeprefix("your ").removeprefix("dein ").removeprefix("deine ").split()
    if not 0 < len(words) <= LONGEST_ASPECT:
        return False
    first = words[0] if len(words) > 1 and words[1] in ("of", "der", "von", "in", "or", "oder", "and", "und") else ""
    return " ".join(words) in WHOLE or words[-1] in LAST or first in FIRST


# The headings of columns, keys and labels that hold the names, or describe them.
_NAMES = (
    "name title item recommendation suggestion pick film movie show series book novel company employer firm restaurant"
    " place city town destination song track album artist band major subject field haircut cut hairstyle hobby"
    " activity game"
    " podcast label product model brand app tool university course degree recipe dish drink hotel museum language"
    " option choice"
    " titel filmtitel buch roman unternehmen firma arbeitgeber lokal stadt ort reiseziel lied studiengang fach"
    " studienfach"
    " frisur haarschnitt schnitt spiel marke produkt serie empfehlung vorschlag aktivität gericht hochschule was"
)
NAMES = frozenset(_NAMES.split()) - {"was"}
_ABOUT = (
    "why what when where who how reason benefit benefits strength feature features aspect criterion criteria"
    " category factor"
    " goal need mood vibe use description details notes note genre year price cost rating country location address"
    " cuisine"
    " author director artist length pages duration upkeep maintenance style known industry size outlook weather"
    " food pay"
    " id url link rank score salary balance job best pros cons stars runtime starring type tags"
    " warum wofür grund vorteil stärke merkmal eigenschaft aspekt kriterium kriterien kategorie ziel stimmung jahr"
    " preis bewertung"
    " land adresse küche autor autorin regie länge seiten dauer pflege stil branche größe wetter essen gehalt fsk"
)
ABOUT = frozenset(_ABOUT.split())
_CORNER = (
    "feature features aspect aspects criterion criteria category factor attribute property merkmal eigenschaft aspekt"
    " kriterium kriterien kategorie faktor"
)
CORNER = frozenset(_CORNER.split())


def names_things(label: str) -> bool:
    """Whether a column or key of this name holds the names."""
    words = re.findall(r"\w+", label.lower())
    return (
        0 < len(words) <= 2 and (words[-1] in NAMES or words[-1].removesuffix("s") in NAMES) and words[0] not in ABOUT
    )


def tells_about(label: str) -> bool:
    """Whether a column, row or key of this name describes things named elsewhere."""
    words = re.findall(r"\w+", label.lower())
    return bool(words) and (
        words[0] in ABOUT or (len(words) <= 3 and (words[-1] in ABOUT or is_aspect(" ".join(words))))
    )


# Kinds of things, which come before a name more often than they are one.
_KINDS = (
    "crime horror comedy romance drama thriller action family sci-fi science_fiction documentary fantasy mystery"
    " animation"
    " adventure war western musical breakfast brunch lunch dinner dessert krimi komödie romanze familie abenteuer"
    " frühstück"
    " mittagessen abendessen classics for_kids for_families for_couples fun"
)
KINDS = frozenset(kind.replace("_", " ") for kind in _KINDS.split())


def is_kind(name: str) -> bool:
    return name.lower().strip() in KINDS


_SITES = (
    "wikipedia imdb reddit yelp tripadvisor opentable google_maps google_reviews the_infatuation infatuation eater"
    " forbes"
    " glassdoor indeed linkedin goodreads letterboxd rotten_tomatoes metacritic michelin_guide timeout zomato the_verge"
    " booking.com lonely_planet numbeo justwatch"
)
SITES = tuple(" " + site.replace("_", " ") for site in _SITES.split())
CITED = re.compile(r"\+\d{1,2}$")


def is_cited(name: str) -> bool:
    """Whether the name of a source sticks to its end, as citations do in copied text."""
    return bool(CITED.search(name)) or name.lower().endswith(SITES)


QUESTION = re.compile(
    r"^(?:what|which|where|when|who|how|do|are|is|was|welche\w*|wo|wann|wer|wie|wofür)\s\S+\s\S|^.{12,}\?$", re.I
)


def is_label(name: str) -> bool:
    """Whether the name looks like a label, a kind, a verdict or an aspect."""
    lowered = name.lower().strip()
    return (
        is_aspect(lowered)
        or is_kind(name)
        or bool(AWARD.match(name))
        or (len(lowered.split()) <= 2 and tells_about(lowered))
    )


_SPEAKERS = "user assistant system human bot ai chatbot chatgpt doctor customer"
SPEAKERS = frozenset(_SPEAKERS.split())
# An ingredient of a recipe, as "2 cups flour" and "1oz. vodka".
QUANTITY = re.compile(
    r"^(?:\d{1,4}|[½¼¾⅓⅔])[\d.,/½¼¾ -]{0,8}(?:oz|ounces?|ml|cl|g|kg|tsp|tbsp|teaspoons?|tablespoons?|cups?"
    r"|dash(?:es)?|parts?"
    r"|slices?|cloves?|pinch|tl|el|eggs?|large|medium|small)\b",
    re.I,
)
_STEPS = (
    "add|bake|beat|boil|bring|chop|combine|cook|crack|drain|flip|fold|fry|grill|heat|in an?|in the|let|melt|mix|once"
    "|place|pour|preheat|put|remove|season|serve|simmer|sprinkle|spread|stir|toast|top|transfer|use|wash|when|while"
    "|whisk|(?:die|den|das|in) .{2,30}?|erhitze|gib|koche|brate|rühre"
)
_KITCHEN = (
    "pan|skillet|pot|oven|bowl|plate|heat|oil|butter|water|salt|pepper|mixture|dough|batter|eggs?|minutes?|until"
    "|spatula|pfanne|topf|ofen|schüssel|öl|wasser|salz|minuten|erhitzen|braten|kochen|verrühren|geben"
)
STEP, KITCHEN = re.compile(rf"(?:{_STEPS})\b", re.I), re.compile(rf"\b(?:{_KITCHEN})\b", re.I)


def is_step(line: str) -> bool:
    """Whether the line is a step of a recipe: an action and something of the kitchen, not written like a title."""
    words = line.split()
    if len(words) < 4 or 2 * sum(word[0].islower() for word in words) <= len(words):
        return False
    begun = STEP.match(line)
    return begun is not None and KITCHEN.search(line, begun.end()) is not None


# Lines of a shop's or a map's card, which describe the name above them: prices, ratings, addresses, hours.
DETAIL = re.compile(
    r"^(?:[$\u20ac\u00a3]\s?\d[\d.,]*|\d[\d.,]*\s?[$\u20ac\u00a3]|\d[.,]\d(?:\s?[\u2605\u2b50]| ?/ ?\d{1,2})?"
    r"|\d[.,]\d\s?[\u2605\u2b50]?\s?\(.*"
    r"|.{1,60} [\u00b7\u2022] .*|.{1,40} \+ (?:others|more)|\d{1,5} .{1,40} (?:st|ave|rd|blvd|lane|ln|dr|street"
    r"|road|avenue)\b.*"
    r"|(?:open|closed|closes|opens|ge\u00f6ffnet|geschlossen)\b.*|\+\d{1,2}|[\u2605\u2b50]{1,5}.*)$",
    re.I,
)


def is_in_two_scripts(name: str) -> bool:
    """Whether it has Latin letters and those of another script, as when a name is given twice."""
    if name.isascii():
        return False
    letters = [c for c in name if c.isalpha()]
    latin = sum(c < "\u0250" or "LATIN" in unicodedata.name(c, "") for c in letters)
    return 2 < latin < len(letters) - 1
