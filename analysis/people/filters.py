"""The filters that a user must pass, in order; each gives a verdict with a reason."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from surveys.studies.wording import plural

SPACE = re.compile(r"\s+")
DIGITS = re.compile(r"\d+")


class SettingError(ValueError):
    """An invalid threshold; the message says which one and what it may be."""


def setting(default: Any, words: str, least: float = 0, most: float | None = None) -> Any:
    return field(default=default, metadata={"words": words, "least": least, "most": most})


def language_key(language: str) -> str:
    """The form in which names of languages are compared."""
    return language.strip().casefold()


@dataclass(frozen=True)
class FilterSettings:
    """Thresholds of the funnel; the defaults are those of the paper (docs/people.md)."""

    language: str = setting("English", "the language that conversations must be labelled with")
    unlabelled: bool = setting(False, "count conversations without a language as being in it")
    language_share: float = setting(
        1.0, "share in the language, by a model's verdict, from which a conversation is kept; 1: all of it", 0, 1
    )
    window: int = setting(120, "characters of a window", 20)
    stride: int = setting(60, "characters from one window to the next", 1)
    repeated: int = setting(5, "turns with the same window that make an account scripted, with --coverage", 2)
    coverage: float = setting(0.4, "share of the turns that the window must exceed", 0, 1)
    always: int = setting(8, "turns with the same window that make an account scripted in any case", 2)
    conversations: int = setting(3, "fewest conversations", 1)
    messages: int = setting(15, "user messages that must be exceeded")
    assistant_use: float = setting(0.6, "least mean score of use as an assistant, where a model gave scores", 0, 1)
    without_assistant_use: bool = setting(False, "keep users about whose use as an assistant no model was asked")

    def __post_init__(self) -> None:
        for each in fields(self):
            value, least, most = getattr(self, each.name), each.metadata["least"], each.metadata["most"]
            if isinstance(value, str):
                if not value.strip():
                    raise SettingError(f"{each.name} needs a word.")
            elif not isinstance(value, bool) and not (least <= value and (most is None or value <= most)):
                upto = f"from {least} to {most}" if most is not None else f"at least {least}"
                raise SettingError(f"{each.name.replace('_', ' ')} is {value:g}; it must be {upto}.")


class SeenConversation(NamedTuple):
    """One conversation as the filters see it: what its user wrote, and what models said of it."""

    language: str
    texts: list[str]
    language_verdict: float | None = None
    assistant_use: float | None = None


# --- scripted accounts: the same stretch of text in turn after turn


def normalise(text: str) -> str:
    """Fold compatibility forms, case, white space and numbers, which do not tell one template from another."""
    return SPACE.sub(" ", DIGITS.sub("0", unicodedata.normalize("NFKC", text).casefold())).strip()


def windows(text: str, width: int, stride: int) -> Iterator[str]:
    """Stretches of `width` characters of a normalised text, one every `stride`; none if it is shorter."""
    return (text[start : start + width] for start in range(0, len(text) - width + 1, stride))


class TemplateCounter:
    """Counts of one user's turns by window. Only hashes are kept, so that long histories take little memory."""

    def __init__(self, width: int, stride: int) -> None:
        self.width, self.stride = width, stride
        self.turns = 0
        self._counts: Counter[int] = Counter()

    def add(self, text: str) -> None:
        self.turns += 1
        if len(text) >= self.width:  # normalising shortens almost every text, and lengthens few
            self._counts.update({hash(window) for window in windows(normalise(text), self.width, self.stride)})

    @property
    def most(self) -> int:
        """The number of turns that share the most frequent window."""
        return max(self._counts.values(), default=0)


# --- what is counted, and judged


class Evidence:
    """Counts over one user's conversations; texts are read once and not kept."""

    def __init__(self, settings: FilterSettings) -> None:
        self.settings = settings
        self.conversations = self.messages = 0  # in all
        self.long = 0  # conversations of more than four user messages
        self.labelled = self.kept = self.kept_messages = 0
        self.judged = self.disagree = 0
        self.templates = TemplateCounter(settings.window, settings.stride)
        self.scores: list[float] = []

    def add(self, conversation: SeenConversation) -> None:
        self.conversations += 1
        self.messages += len(conversation.texts)
        self.long += len(conversation.texts) > 4
        if self.is_in_language(conversation):
            self.kept += 1
            self.kept_messages += len(conversation.texts)
            for text in conversation.texts:
                self.templates.add(text)
            if conversation.assistant_use is not None:
                self.scores.append(conversation.assistant_use)

    def is_in_language(self, conversation: SeenConversation) -> bool:
        """Whether the label and, if there is one, a model's verdict say so; counts how often they differ."""
        wanted = language_key(self.settings.language)
        labelled = conversation.language.casefold() == wanted if conversation.language else self.settings.unlabelled
        self.labelled += labelled
        if conversation.language_verdict is None:
            return labelled
        judged = conversation.language_verdict >= self.settings.language_share
        self.judged += 1
        self.disagree += judged is not labelled
        return labelled and judged


def verdict(kept: bool, reason: str, **figures: Any) -> dict[str, Any]:
    return {"kept": kept, "reason": reason, **figures}


def judge_language(seen: Evidence) -> dict[str, Any]:
    figures = {"of": seen.conversations, "labelled": seen.labelled, "in_language": seen.kept}
    if seen.judged:
        figures |= {"asked": seen.judged, "disagree": seen.disagree}
    reason = f"{seen.kept} of {plural(seen.conversations, 'conversation')} in {seen.settings.language}"
    return verdict(seen.kept > 0, reason, **figures)


def judge_templates(seen: Evidence) -> dict[str, Any]:
    most, turns, limits = seen.templates.most, seen.templates.turns, seen.settings
    scripted = most >= limits.always or (most >= limits.repeated and most > limits.coverage * turns)
    reason = f"the same {limits.window} characters in {most} of {plural(turns, 'message')}" if most > 1 else "none"
    return verdict(not scripted, reason, turns=most, of=turns)


def judge_activity(seen: Evidence) -> dict[str, Any]:
    enough = seen.kept >= seen.settings.conversations and seen.kept_messages > seen.settings.messages
    reason = f"{plural(seen.kept, 'conversation')}, {plural(seen.kept_messages, 'user message')}"
    return verdict(enough, reason, conversations=seen.kept, messages=seen.kept_messages)


def judge_assistant_use(seen: Evidence) -> dict[str, Any]:
    if seen.settings.without_assistant_use:
        return verdict(True, "waived", asked=len(seen.scores))
    if not seen.scores:
        return verdict(True, "no model was asked", asked=0)
    mean = sum(seen.scores) / len(seen.scores)
    reason = f"mean score {mean:.2f} of {plural(len(seen.scores), 'conversation')}"
    return verdict(mean >= seen.settings.assistant_use, reason, asked=len(seen.scores), score=mean)


class FilterRule(NamedTuple):
    label: str
    judge: Callable[[Evidence], dict[str, Any]]


FILTERS: dict[str, FilterRule] = {
    "language": FilterRule("Language", judge_language),
    "templates": FilterRule("Scripted templates", judge_templates),
    "activity": FilterRule("Activity", judge_activity),
    "assistant-use": FilterRule("Use as an assistant", judge_assistant_use),
}


def judge(seen: Evidence) -> tuple[dict[str, dict[str, Any]], str]:
    """Each filter's verdict, and the first that fails or empty; stops after one filter if no conversation is left."""
    verdicts: dict[str, dict[str, Any]] = {}
    for name, each in FILTERS.items():
        verdicts[name] = each.judge(seen)
        if not seen.kept:
            break
    failed = next((name for name, said in verdicts.items() if not said["kept"]), "")
    return verdicts, failed
