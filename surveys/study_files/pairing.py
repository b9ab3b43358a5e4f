"""Which chatbot a model's answers are compared with: by the study's patterns, else by what models are called."""

from fnmatch import fnmatchcase

from surveys.study_files.definitions import Definition
from surveys.study_files.parts import Chatbot

# By a chatbot's slug. The names in front of a slash are those of routers, `models/` is that of Google's own API.
WELL_KNOWN: dict[str, tuple[str, ...]] = {
    "chatgpt": ("gpt-*", "chatgpt-*", "o[0-9]*", "openai/*"),
    "gemini": ("gemini*", "google/gemini*", "models/gemini*"),
    "claude": ("claude*", "anthropic/*"),
}


def chatbot_of(definition: Definition, model: str) -> str | None:
    """The slug of the first chatbot that the model belongs to; None: compared with all field answers together."""
    name = model.strip().casefold()
    for chatbot in definition.chatbots:
        if any(fnmatchcase(name, pattern.casefold()) for pattern in patterns_of(chatbot)):
            return chatbot.slug
    return None


def patterns_of(chatbot: Chatbot) -> tuple[str, ...]:
    """What the file says, else what is known of a chatbot with this slug or name."""
    known = WELL_KNOWN.get(chatbot.slug) or WELL_KNOWN.get(chatbot.name.casefold(), ())
    return chatbot.models or known
