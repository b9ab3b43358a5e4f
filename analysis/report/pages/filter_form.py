"""The filters of a page as a form and as chips: what there is to choose from, and what is chosen."""

from dataclasses import dataclass
from typing import Any

from analysis.charts.theme import name_of_source
from analysis.report.filters.filters import CHOICES, Filters
from analysis.report.filters.options import filter_options
from analysis.report.pages.asked import Asked, drop_value
from surveys.models import Study
from surveys.studies.lifecycle import definition_of

# In the order of the form; a filter that leaves no choice is not shown.
LABELS = {
    "prompt": "Prompt",
    "model": "Model",
    "chatbot": "Chatbot",
    "source": "Source",
    "cell": "Group",
    "memory": "Memory",
    "plan": "Plan",
    "model_shown": "Model shown",
    "version": "Study version",
    "history_size": "History size",
    "temperature": "Temperature",
    "answer": "Answered",
    "excluded": "Excluded answers",
    "flagged": "Flagged answers",
    "pilot": "The pilot",
    "simulated": "Simulated people and models",
    "people": "People",
}
CHOICE_WORDS = {
    "with": "with them",
    "without": "without them",
    "only": "nothing else",
    "completed": "who completed",
    "all": "all who answered",
}
MOST_OFFERED = 40


@dataclass(frozen=True)
class Option:
    value: str
    label: str
    chosen: bool


@dataclass(frozen=True)
class Choice:
    """One filter of the form; of `single` ones one option is always chosen."""

    name: str
    label: str
    options: list[Option]
    single: bool

    @property
    def is_long(self) -> bool:
        return len(self.options) > 5


@dataclass(frozen=True)
class Chip:
    """A filter that is on, and the view without it."""

    words: str
    query: str


def names_of(study: Study) -> dict[tuple[str, str], str]:
    """How values of filters are written where their slug is not the best name."""
    definition = definition_of(study.current_id)
    return {
        **{("prompt", prompt.slug): prompt.title for prompt in definition.prompts},
        **{("chatbot", bot.slug): bot.name for bot in definition.chatbots},
        **{("cell", cell.slug): cell.name for cell in definition.cells},
    }


def write_value(names: dict[tuple[str, str], str], name: str, value: Any) -> str:
    if name == "answer":
        return ": ".join(value) if isinstance(value, tuple) else str(value).replace(":", ": ", 1)
    if name == "source":
        return name_of_source(str(value))
    if name in CHOICES:
        return CHOICE_WORDS[str(value)]
    if name == "history_size":
        return f"{value} conversations"
    return names.get((name, str(value)), str(value))


def form_of(study: Study, filters: Filters) -> list[Choice]:
    names, offered = names_of(study), filter_options(study)
    found = []
    for name, label in LABELS.items():
        single = name in CHOICES
        values = list(CHOICES[name]) if single else offered[name][:MOST_OFFERED]
        if len(values) < 2:
            continue
        chosen = (getattr(filters, name),) if single else getattr(filters, name)
        options = [Option(written(value), write_value(names, name, value), value in chosen) for value in values]
        found.append(Choice(name, label, options, single))
    return found


def written(value: Any) -> str:
    return ":".join(value) if isinstance(value, tuple) else str(value)


def chips_of(study: Study, asked: Asked) -> list[Chip]:
    names = names_of(study)
    return [
        Chip(
            f"{LABELS[name]}: {write_value(names, name, value)}",
            asked.address(filters=drop_value(asked.filters, name, value)),
        )
        for name, value in asked.filters.to_pairs()
    ]
