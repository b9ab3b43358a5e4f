"""Words after which a sentence names what it recommends, and words with which its names end or cannot begin."""

import re

_VERBS = (
    "like|enjoy|love|watch|read|play|visit|make|(?:use|try) (?:it|them) to make|use|have|prepare|cook|see|start with"
)
_KINDS = (
    "apps|books|brands|channels|classics|companies|films|games|movies|places|platforms|resources|services|shows"
    "|sites?|songs|textbooks|tools|websites"
)
_ENGLISH = (
    r"recommend(?:ed|ing)?|suggest(?:ing)?|consider(?:ing)?|try(?:ing)?|check(?:ing)? out|how about|what about",
    rf"you(?:['’]d| (?:might|may|could|can|would|should|will))?(?: (?:also|even|both|really|then))* (?:{_VERBS})",
    r"go (?:with|for)|go wrong with|(?<=[,;] )(?:watch|see|read|visit|play)",
    r"options?(?: \w+){0,6} (?:is|are|would be|include)",
    r"(?:alternatives|choices?|picks?|examples?|favou?rites?|ideas|ones|recommendations?)(?: \w+){0,2}"
    r" (?:is|are|would be|could be|include)",
    r"another(?: \w+){1,3} (?:is|would be|could be)|one(?: \w+){0,2} (?:is|would be)",
    r"have you (?:tried|considered|heard of)|includ(?:e|es|ing)|called|named",
)
_ELSEWHERE = (
    "recomiendo|recomendaría|sugiero|podrías (?:ver|leer|probar|visitar)|recomendo|sugiro|consiglio|suggerisco",
    "recommande|conseille|suggère|pourriez (?:voir|lire|essayer)|würde (?:dir|euch|ihnen)|empfehlen?|vorschlagen",
    "рекомендую|советую",
)
_WITHOUT_SPACES = "推荐|推薦|建议|أوصي بـ?|أنصح بـ?"
# Before kinds of things rather than the things, where the text has other words for those.
_KINDS_OF = rf"such as|(?:{_KINDS}) like"
_FILLERS = (
    "you|to|also|even|maybe|perhaps|something like|try|trying|out|make|making|mix|yourself|checking out|using|watching"
    "|visiting|reading|downloading|starting with|one of|either|both"
    "|the (?:following|textbook|book|film|movie|game|(?:free )?app|website|ones?)"
)
# For text in small letters, which is faster by far than a pattern that knows both.
CUE = re.compile(
    rf"(?:\b(?=[a-zрс])(?:{'|'.join((*_ENGLISH, *_ELSEWHERE))}|(?P<kinds>{_KINDS_OF}))\b|{_WITHOUT_SPACES})"
    rf"(?:\s+(?:{_FILLERS})\b)*(?:\s*[:：])?\s*"
)
GIVEN = re.compile(r"\bgive (?:the |an? )?(.{3,40}?) a (?:chance|go|try|shot)\b", re.I)
LEAD = re.compile(r"^[^,;:]{3,60}[:：]\s*")
DENIED = re.compile(r"\b(?:not|cannot|never|unable to)\b|n['’]t\b", re.I)
# Questions that recommend.
ASKING = re.compile(
    r"^(?:\W*(?:so|then|or),?\s+)?(?:(?:how|what) about|you (?:could|can|might))\b"
    r"|\bhave you (?:tried|considered|heard of)\b",
    re.I,
)

HARD_STOP = re.compile(r"[;:!?。！]|\.(?:\s|$)|\s[-–]\s|—")
# What may follow a name in its sentence and is no part of it.
CLAUSE = re.compile(
    r"\s+(which|that|who|where|because|since|if|so|when|while|as|than|made|using|with|by|from|for|to|in|on|at"
    r"|is|are|was|has|have|can|could|offers?|provides?|allows?|lets|empfehlen|vorschlagen"
    r"|(?:and|but|or) (?:it|they|you|i|use))\b\s*",
    re.I,
)
# Of those, the ones within a title, as in "Back to the Future", and within a dish, as in "eggs on toast".
IN_TITLES = frozenset(("with", "by", "from", "for", "to", "in", "on", "at"))
IN_DISHES = frozenset(("with", "in", "on"))
_AND = "and|or|y|o|et|und|oder|ou|as well as"
COMMA = re.compile(rf"\s*[,、，،]\s*(?:({_AND}|&)\s+(?:perhaps\s+|maybe\s+|even\s+)?)?")
AND = re.compile(
    rf"\s+(?:{_AND}|e|и)\s+(?:perhaps\s+|maybe\s+|even\s+)?|(?<=[\u3040-\u9fff])[和及与と](?=[\u3040-\u9fff])"
)
# Between bare names.
SLASH = re.compile(r"\s*[;|•·]\s*|\s+/\s+")
# A name does not begin with these in small letters; what does is a clause.
_NOT_NAMES = (
    "i you he she it we they them me us him her this these those that there here which who what where when "
    "how if so because since as to in on at by of from with for than then but and or not no any some "
    "something anything someone everything more other others another each every all both many much most few "
    "several various different new your my our their its his is are was were be been being do does did have "
    "has had can could will would shall should may might must let please sure yes okay ok thanks thank sorry "
    "hello hi etc also even just only very too out up down make making try trying get getting keep give lot "
    "bit variety number couple look combination list way great made based created used "
)
NO_NAME = frozenset(_NOT_NAMES.split())
ARTICLES = ("a", "an", "the")
