"""The conditions in which a model is asked, one record each: read by plans, forms, pages, reports and style sheets.

What a condition puts in front of a prompt is written by its builder in `analysis.runs.recipes.recipes`.
"""

from dataclasses import dataclass


class ConditionError(Exception):
    """A run's messages can't be built; the message says what is missing."""


class GoneError(ConditionError):
    """What one simulated user was made of is gone, as after a person was erased; others' messages can be built."""


@dataclass(frozen=True)
class Look:
    """A colour for each scheme, and the shape that goes with it: one of Vega-Lite's, or a name that the theme knows."""

    light: str
    dark: str
    printed: str
    shape: str


@dataclass(frozen=True)
class AnswerSource:
    """A source of answers, as tables and figures name it."""

    slug: str
    label: str
    prose: str  # in the middle of a sentence
    look: Look


OF_PUPPETS = ("users", "repeats_per_user")


@dataclass(frozen=True)
class Condition(AnswerSource):
    sentence: str  # what it means, after its label in the form of a new run
    takes: tuple[str, ...] = ()  # a run's settings, beside those that all conditions take
    needs: tuple[str, ...] = ()  # those of them that must be given
    counted: str = ""  # one of what stands in front of a prompt

    @property
    def is_puppet(self) -> bool:
        """Whether simulated users ask."""
        return "users" in self.takes

    def users_differ(self, per_user: bool) -> bool:
        """Whether simulated users differ in what stands in front; a whole corpus gives everybody the same."""
        return self.is_puppet and (per_user or "per_user" not in self.takes)


# Colours are safe for colour-blind readers (Okabe-Ito); tests check how far apart they are.
FIELD = AnswerSource("field", "Field", "the field", Look("#d55e00", "#f07f2e", "#c25400", "square"))
# In the order of legends, tables and forms.
CONDITIONS = {
    condition.slug: condition
    for condition in (
        Condition(
            "offline",
            "Offline",
            "offline",
            Look("#008f68", "#1fb58c", "#00795a", "circle"),
            sentence="the prompt alone, without any context.",
        ),
        Condition(
            "sp-history",
            "SP-History",
            "SP-History",
            Look("#1f8fd1", "#6cc4f2", "#1779b5", "x"),
            sentence="real conversations of more than 4 turns, drawn by seed for each simulated user, stand before the "
            "prompt.",
            takes=(*OF_PUPPETS, "corpus", "history_size", "language", "toxic"),
            needs=("corpus",),
            counted="conversation",
        ),
        Condition(
            "sp-rag",
            "SP-RAG",
            "SP-RAG",
            Look("#c2529a", "#d98bb8", "#b0508a", "triangle-up"),
            sentence="the conversations most similar to the prompt stand before it, the nearest last.",
            takes=(*OF_PUPPETS, "corpus", "history_size", "language", "toxic", "per_user"),
            needs=("corpus",),
            counted="conversation",
        ),
        Condition(
            "sp-profile",
            "SP-Profile",
            "SP-Profile",
            Look("#0055a4", "#4f74ea", "#003f7d", "diamond"),
            sentence="a profile drawn from the personas stands in the system message.",
            takes=(*OF_PUPPETS, "personas"),
            needs=("personas",),
            counted="sentence",
        ),
        Condition(
            "sp-memory",
            "SP-Memory",
            "SP-Memory",
            Look("#7d1235", "#e6335f", "#6b0c30", "hourglass"),
            sentence="attributes of one user of the corpus, those most relevant to the prompt first, stand in the "
            "system message; attributes that people or models rejected do not.",
            takes=(*OF_PUPPETS, "corpus", "memory_size", "toxic"),
            needs=("corpus",),
            counted="attribute",
        ),
    )
}
CHOICES = [(slug, condition.label) for slug, condition in CONDITIONS.items()]
PUPPETS = tuple(slug for slug, condition in CONDITIONS.items() if condition.is_puppet)
SOURCES: dict[str, AnswerSource] = {FIELD.slug: FIELD, **CONDITIONS}
LABELS = {slug: source.label for slug, source in SOURCES.items()}  # imported sources are named by their files
