"""How a page names what a row is about, and where the texts behind a number are."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from analysis.charts.theme import name_of_source
from analysis.report.filters.filters import names_of
from analysis.report.pages.cells import THIN, Cell, words
from analysis.report.pages.shown import Shown
from analysis.report.samples import ALL, FIELD

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Places:
    """The names and addresses of one page."""

    shown: Shown

    @property
    def slug(self) -> str:
        return self.shown.study.slug

    @cached_property
    def names(self) -> dict[tuple[str, str], str]:
        return names_of(self.shown.study)

    def prompt(self, slug: str) -> str:
        """`weekend-trips` as Weekend trips: the names that stand in the figures too."""
        words = slug.replace("-", " ")
        return words[:1].upper() + words[1:]

    def chatbot(self, slug: str | None) -> str:
        return "Everybody" if slug in (None, ALL) else self.names.get(("chatbot", str(slug)), str(slug))

    def model(self, row: Row) -> str:
        """The model; of the field, whose answers they are."""
        return self.chatbot(row["model"]) if row["source"] == FIELD else str(row["model"] or "all models")

    def prompt_cell(self, row: Row) -> Cell:
        order = list(self.names)
        place = order.index(("prompt", row["prompt"])) if ("prompt", row["prompt"]) in order else len(order)
        return words(self.prompt(row["prompt"]), key=place)

    def source_cell(self, row: Row, settings: bool = False) -> Cell:
        made_up = "simulated" if row.get("simulated") else ""
        return words(name_of_source(row["source"]), chip=made_up, soft=setting_words(row) if settings else "")

    def model_cell(self, row: Row) -> Cell:
        return words(self.model(row))

    def texts(self, row: Row, **more: str) -> str:
        """The texts behind a row; `more` names an item or letter, or filters that narrow the field."""
        about = {name: row[name] for name in ("prompt", "source", "model")}
        kept = [pair for pair in self.shown.asked.filters.to_pairs() if pair[0] not in about and pair[0] not in more]
        return f"{self.page('texts')}?{urlencode([*about.items(), *more.items(), *kept])}"

    def page(self, name: str) -> str:
        return reverse(f"compare:{name}", args=[self.slug])

    def run(self, number: int) -> str:
        return reverse("baselines:run", args=[self.slug, number])


def setting_words(row: Row) -> str:
    """What sets a row apart from others of the same source and model."""
    parts = []
    if row.get("temperature") is not None:
        parts.append(f"T{THIN}{row['temperature']:g}")
    if row.get("history_size") is not None:
        parts.append(f"K{THIN}{row['history_size']}")
    if row.get("per_user"):
        parts.append("one user’s")
    parts += [str(row[name]) for name in ("corpus", "personas") if row.get(name)]
    return ", ".join(parts)
