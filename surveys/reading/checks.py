"""Paste checks: possible faults of a pasted answer; each check is a function that returns one finding, or none."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from surveys.reading import endings, refusals, residue
from surveys.reading.answers import count_items, outer_text, read_choice, read_items
from surveys.reading.markup import NUMBER, WORD


class OtherPrompt(NamedTuple):
    """Another prompt of the study, with the same person's answer to it so far."""

    slug: str
    text: str
    kind: str = "recommendation"
    answer: str = ""


@dataclass(frozen=True)
class Paste:
    """A pasted answer with everything that the checks may know about it."""

    text: str
    prompt_text: str
    kind: str = "recommendation"
    items_wanted: int = 5
    letters: str = "ABCD"
    choices: tuple[str, ...] = ()
    other_prompts: tuple[OtherPrompt, ...] = ()
    same_as_other: bool = False
    same_again: bool = False  # as the same person's answer when they were asked the same before
    by_agent: bool = False

    @cached_property
    def said(self) -> tuple[str, ...]:
        """The words of the paste; none if it is longer than any prompt."""
        return _words(residue.strip_residue(self.text)) if len(self.text) < LONGEST_PROMPT else ()


class Finding(NamedTuple):
    """A check's finding. `message` is the translatable sentence; `detail` fills its placeholders."""

    check: str
    version: int
    message: str
    detail: dict[str, Any]


@dataclass(frozen=True)
class PasteCheck:
    """A named rule over a paste, with all texts about it.

    `label` is its name for researchers; `message` the English sentences for participants, which the page translates and
    fills with the detail that `find` returns (None: no finding); if it is empty, the finding is only stored. `spoil`
    turns a good paste into one that the check should find: simulated people paste that, and the check's rates are
    measured on it if there is no better sample.
    """

    name: str
    version: int
    label: str
    message: str
    find: Callable[[Paste], dict[str, Any] | None]
    spoil: Callable[[Paste], Paste]
    silences: frozenset[str] = field(default_factory=frozenset)
    is_last: bool = False  # a finding ends the checks
    of_choices: bool = True  # whether it applies to answers to multiple-choice questions


TOPIC_HEAD = 3000  # characters in which an answer shows its subject
LONGEST_PROMPT = 10_000
OPENING_WORDS = 25  # its first sentence or two, which name the subject
_STOPWORDS = (
    "about above after again also because been before being both could does each every five four from "
    "give have here into just like list make more most much only other over please recommend "
    "recommendation same should some such suggest suggestion tell than that their them then there these "
    "they thing this those three what when where which while who will with would your best good great "
    "idea ideas need want looking different answer question following explain name option options choose "
    "correct any but can for how not out the try way you are all and its may one two has had was why get "
    "got let our per through either ones provide directly mainly limit else enjoy based type types did "
    "person people someone right letter new free next time take something think thinking numbered start "
    "starting year month week soon close work imagine apply suit today"
)
STOPWORDS = frozenset(_STOPWORDS.split())
# Words of a request in the languages in which kinds are known; two of them show that it is in one of these.
_ASKING = (
    "recommend suggest give list name which what five for me my should could would the and that "
    "empfiehl nenne schlag gib welche was fünf mir ich für die und soll sollte kann "
    "recomienda sugiere dame cuáles qué cinco para una recommande suggère donne quels quelles cinq pour moi une "
    "consiglia suggerisci dammi quali cinque per"
)
ASKING = frozenset(_ASKING.split())


def find_problems(paste: Paste, enabled: Sequence[str]) -> list[Finding]:
    """The findings of the `enabled` checks, in the order of CHECKS; a finding silences those it explains."""
    if (text := outer_text(paste.text)) != paste.text:
        paste = replace(paste, text=text)
    findings: list[Finding] = []
    silenced: set[str] = set()
    for check in CHECKS.values():
        if check.name not in enabled or check.name in silenced:
            continue
        if paste.kind == "choice" and not check.of_choices:
            continue
        detail = check.find(paste)
        if detail is not None:
            findings.append(Finding(check.name, check.version, check.message, detail))
            silenced |= check.silences
            if check.is_last:
                break
    return findings


def _repeats(said: Sequence[str], prompt: str) -> bool:
    """Whether the words are the prompt's, at least half of them, or all with no more than a few around them."""
    asked = _prompt_words(prompt)
    if not 4 <= len(said) <= len(asked) + max(6, len(asked) // 4):
        return False
    said_line, asked_line = f" {' '.join(said)} ", f" {' '.join(asked)} "
    return asked_line in said_line or (said_line in asked_line and 2 * len(said) >= len(asked))


def _is_of_other_prompt(paste: Paste) -> dict[str, Any] | None:
    words, start = _words(paste.text[:TOPIC_HEAD]), _squeeze(paste.text)
    for other in paste.other_prompts:
        if (
            (other.answer and start == _squeeze(other.answer) and _tells(paste, other, words))
            or _repeats(paste.said, other.text)
            or _opens_with(words, other.text)
        ):
            return {"slug": other.slug}
    slug = _find_topic(paste, words)
    if slug:
        return {"slug": slug}
    kind = None if paste.kind == "choice" else _find_kind(paste)
    return {"kind": kind} if kind else None


def _tells(paste: Paste, other: OtherPrompt, words: Sequence[str]) -> bool:
    """Whether the same answer to two prompts is wrong for one: "B" may be right twice, names may not."""
    return len(words) > LONGEST_CHOICE or "choice" not in (paste.kind, other.kind)


class ThingKind(NamedTuple):
    """A kind of things: words by which prompts ask for it, and names of its members."""

    asked: tuple[str, ...]
    members: frozenset[str]
    words: frozenset[str]
    heads: frozenset[str]  # the first words of the members, and the words

    def is_asked(self, words: Sequence[str]) -> bool:
        return any(word.startswith(self.asked) for word in words)

    def holds(self, item: str) -> bool:
        return item.partition(",")[0].strip() in self.members or not self.words.isdisjoint(item.split())


def _read_kinds() -> dict[str, ThingKind]:
    given = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text(encoding="utf-8"))
    kinds = {}
    for name, entry in given.items():
        asked = given[entry["asked"][1:]]["asked"] if entry["asked"].startswith("@") else entry["asked"]
        members = frozenset(filter(None, entry.get("members", "").split("|")))
        words = frozenset(entry.get("words", "").split())
        heads = words | {WORD.findall(member)[0] for member in members}
        kinds[name] = ThingKind(tuple(asked.split()), members, words, heads)
    return kinds


KINDS = _read_kinds()
TITLES = KINDS.pop("titles")
HEADS = frozenset[str]().union(*(kind.heads for kind in KINDS.values()))
LONGEST_CHOICE = 8  # words in which a choice may be given
FEWEST_OF_A_KIND = 3
SHARE_OF_A_KIND = 0.6


def _find_kind(paste: Paste) -> str | None:
    """The kind of most items (of all, if the prompt asks for titles), if the prompt plainly asks for another one."""
    asked = _prompt_words(paste.prompt_text)
    if len(ASKING.intersection(asked)) < 2:
        return None  # in words that the kinds do not know
    # A reading costs as much as all checks together, so only a text that may hold a kind is read.
    said = [word for word in _words(paste.text) if word in HEADS]
    likely = {
        name: kind
        for name, kind in KINDS.items()
        if sum(word in kind.heads for word in said) >= FEWEST_OF_A_KIND and not kind.is_asked(asked)
    }
    items = read_items(paste.text, paste.items_wanted) if likely else []
    share = 1.0 if TITLES.is_asked(asked) else SHARE_OF_A_KIND
    for name, kind in likely.items():
        held = sum(kind.holds(item) for item in items)
        if held >= max(FEWEST_OF_A_KIND, share * len(items)):
            return name
    return None


def _squeeze(text: str) -> str:
    return " ".join(text[:TOPIC_HEAD].split())


def _opens_with(words: tuple[str, ...], prompt: str) -> bool:
    asked = _prompt_words(prompt)
    return len(asked) >= 6 and words[: len(asked)] == asked


def _find_topic(paste: Paste, words: Sequence[str]) -> str | None:
    """The other prompt whose words the text uses much more than its own's: three of them, or one in its opening."""
    own = _topic_words(paste.prompt_text)
    said, opening = {_stem(word) for word in set(words)}, {_stem(word) for word in words[:OPENING_WORDS]}
    own_share = len(own & said) / len(own) if own else 1.0
    for other in paste.other_prompts:
        topic = _words_apart(other.text, paste.prompt_text)
        used = len(topic & said)
        share = used / len(topic) if topic else 0.0
        if share >= 0.2 and own_share <= share / 2 and (used >= 3 or topic & opening and not own & opening):
            return other.slug
    return None


# A study has a dozen prompts and each submission is held against all of them.
@lru_cache(maxsize=512)
def _prompt_words(prompt: str) -> tuple[str, ...]:
    return _words(prompt)


@lru_cache(maxsize=512)
def _topic_words(prompt: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _words(prompt) if len(word) > 2 and word not in STOPWORDS)


@lru_cache(maxsize=8192)
def _words_apart(prompt: str, other: str) -> frozenset[str]:
    return _topic_words(prompt) - _topic_words(other)


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """One form for "movie" and "movies", "hobby" and "hobbies"; crude, but alike on both sides."""
    for ending in ("ing", "s"):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            word = word.removesuffix(ending)
            break
    word = word.rstrip("e")
    return word[:-1] + "i" if word.endswith("y") else word


# Several checks ask for those of one paste.
@lru_cache(maxsize=4)
def _words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.casefold()))


def _is_refusal(paste: Paste) -> dict[str, Any] | None:
    failure = refusals.reports_failure(paste.text)
    if failure:
        return {"words": failure}
    if refusals.declines(paste.text):
        return None if _answers(paste) else {}
    return {} if refusals.falls_short(paste.text) and not _answers(paste, prose=True) else None


def _answers(paste: Paste, prose: bool = False) -> bool:
    """Whether an answer follows, as in "I can't know your taste, but here are five films"."""
    if paste.kind == "choice":
        return read_choice(paste.text, paste.letters, paste.choices) is not None
    return count_items(paste.text, prose, paste.items_wanted) >= min(3, paste.items_wanted)


def _is_cut_off(paste: Paste) -> dict[str, Any] | None:
    reason = endings.find_break(paste.text)
    return {"reason": reason} if reason else None


def _has_residue(paste: Paste) -> dict[str, Any] | None:
    found = residue.find_residue(paste.text)
    if not found and _opens_with(_words(paste.text[: 2 * len(paste.prompt_text)]), paste.prompt_text):
        found = [paste.prompt_text]
    return {"words": found[0][:60], "count": len(found)} if found else None


def _is_same_again(paste: Paste) -> dict[str, Any] | None:
    """Ask about the same text of many words only; a chatbot may well choose the same letter again."""
    tells = paste.kind != "choice" or len(_words(paste.text)) > LONGEST_CHOICE
    return {} if paste.same_again and tells else None


def _given_again(paste: Paste) -> Paste:
    """An answer marked as given before, with enough words to tell."""
    return replace(paste, text=f"{paste.text}\n\nI went through all of them once more.", same_again=True)


def _has_too_few_items(paste: Paste) -> dict[str, Any] | None:
    found = count_items(paste.text, asked=paste.items_wanted)
    return {"found": found, "wanted": paste.items_wanted} if found < paste.items_wanted else None


def _becomes(text: str) -> Callable[[Paste], Paste]:
    """Turn a good paste into this text; `{text}` in it is the answer, `{prompt}` its prompt, `{other}` another one."""

    def spoil(paste: Paste) -> Paste:
        other = paste.other_prompts[0].text if paste.other_prompts else ""
        return replace(paste, text=text.format(text=paste.text, prompt=paste.prompt_text, other=other))

    return spoil


def _cut_off(paste: Paste) -> Paste:
    return replace(paste, text=f"{paste.text.rpartition(':')[0] or paste.text}: it is one of the")


def _copied(paste: Paste) -> Paste:
    """The same text from everybody, marked as the same as a neighbour's."""
    items = [f"{number}. Number {number} of what most people choose" for number in range(1, paste.items_wanted + 1)]
    lines = ["I went through it twice, and these came out on top, in no order of their own.", *items]
    return replace(paste, text="\n".join(lines), same_as_other=True)


def _left_with_two_items(paste: Paste) -> Paste:
    lines = paste.text.split("\n")
    more = [line for line in lines if NUMBER.match(line)][2:]
    return replace(paste, text="\n".join(line for line in lines if line not in more))


# The page asks about it when it reads the answer back.
UNREAD = "too-few-items"
# For studies that ask somebody again, whichever checks their files name.
SAME_AGAIN = "same-again"
_NO_ANSWER = frozenset({"cut-off", UNREAD, "other-prompt"})
CHECKS = {
    check.name: check
    for check in (
        PasteCheck(
            "empty",
            1,
            "Empty",
            "The box is empty. Please paste what your chatbot answered.",
            lambda paste: None if any(c.isalnum() for c in paste.text) else {},
            _becomes(" \n"),
            is_last=True,
        ),
        PasteCheck(
            "prompt-itself",
            1,
            "Our prompt pasted back",
            "This looks like our question. Please paste what your chatbot answered to it.",
            lambda paste: {} if _repeats(paste.said, paste.prompt_text) else None,
            _becomes("{prompt}"),
            _NO_ANSWER | {"same-as-other", "residue"},
        ),
        PasteCheck(
            "refusal",
            2,
            "Refusal or error message",
            "Your chatbot seems not to have answered. You could ask it once more in a new chat.",
            _is_refusal,
            _becomes("I'm sorry, but I can't help with that request."),
            _NO_ANSWER,
        ),
        PasteCheck(
            "other-prompt",
            2,
            "Answer to another prompt",
            "This looks like the answer to another question. Please check that it belongs to this one.",
            _is_of_other_prompt,
            _becomes("{other}\n\n{text}"),
            frozenset({UNREAD}),
        ),
        PasteCheck(
            "cut-off",
            3,
            "Cut off",
            "The answer seems to stop before its end. Please check that you copied all of it.",
            _is_cut_off,
            _cut_off,
        ),
        PasteCheck(
            "residue",
            2,
            "Words of the chatbot’s page",
            "Some words of the chatbot's page seem to be in the text: \u201c%(words)s\u201d. You can take them out.",
            _has_residue,
            _becomes("ChatGPT said:\n{text}\nCopy code"),
        ),
        # Not for choices: the right letter is the same from everybody.
        PasteCheck(
            "same-as-other",
            2,
            "Same as another person’s",
            "",
            lambda paste: {} if paste.same_as_other else None,
            _copied,
            of_choices=False,
        ),
        PasteCheck(
            SAME_AGAIN,
            1,
            "Same answer again",
            "You pasted exactly this answer before. If your chatbot gave you the same again, that is fine.",
            _is_same_again,
            _given_again,
        ),
        PasteCheck(
            "agent",
            1,
            "Signs of an agent",
            "",
            lambda paste: {} if paste.by_agent else None,
            lambda paste: replace(paste, by_agent=True),
        ),
        PasteCheck(
            UNREAD,
            1,
            "Fewer items than asked",
            "We asked for %(wanted)s suggestions and found %(found)s. Please check that you copied all of them.",
            _has_too_few_items,
            _left_with_two_items,
            of_choices=False,
        ),
    )
}
# The checks that leave answers to multiple-choice questions alone.
NOT_OF_CHOICES = frozenset(check.name for check in CHECKS.values() if not check.of_choices)
