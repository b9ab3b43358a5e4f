"""How a page names what a row is about, and where the texts behind a number are."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from analysis.charts.figure import Options
from analysis.charts.theme import name_of_source
from analysis.report.columns import Column, Listing, prompt_name
from analysis.report.dataset import ALL, FIELD
from analysis.report.filters.filters import names_of
from analysis.report.pages.cells import Cell, Table, make_table, words, write
from analysis.report.pages.contents import PAGE_OF_FIGURE
from analysis.report.pages.shown import Shown
from surveys.console.wording import THIN

Row = dict[str, Any]
ABOUT = ("prompt", "source", "model")


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
        return prompt_name(slug)

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
        about = {name: row[name] for name in ABOUT}
        kept = [pair for pair in self.shown.asked.filters.to_pairs() if pair[0] not in about and pair[0] not in more]
        return f"{self.page('texts')}?{urlencode([*about.items(), *more.items(), *kept])}"

    def page(self, name: str) -> str:
        return reverse(f"compare:{name}", args=[self.slug])

    def run(self, number: int) -> str:
        return reverse("baselines:run", args=[self.slug, number])

    # --- how the page shows its parts

    def options(self, figure: str, narrow: bool = False) -> Options:
        """What the address chooses, as far as the figure's page lets a reader choose it."""
        asked, switches = self.shown.asked, PAGE_OF_FIGURE[figure].switches
        chatbots = {slug: words for (kind, slug), words in self.names.items() if kind == "chatbot"}
        return Options(
            narrow=narrow,
            rarefied=asked.rarefied and "values" in switches,
            measure=asked.measure,
            prompt=self.chosen_prompt if "prompt" in switches else "",
            names=chatbots | {ALL: self.chatbot(ALL)},
            search=asked.q if "search" in switches else "",
        )

    @property
    def chosen_prompt(self) -> str:
        """The one that the address names, else the first that has items."""
        lists = [prompt["slug"] for prompt in self.shown.report["prompts"] if prompt["kind"] == "recommendation"]
        wanted = self.shown.asked.filters.prompt
        return next((slug for slug in lists if not wanted or slug in wanted), "")

    def table(self, listing: Listing, options: Options) -> Table | None:
        rows = listing.rows(self.shown.report, options)
        if listing.optional and not rows:
            return None
        columns = listing.columns_of(rows, options)
        return make_table(
            listing.name,
            listing.title(options) if callable(listing.title) else listing.title,
            [column.label for column in columns],
            [[self.cell(column, row) for column in columns] for row in rows],
            note=listing.note(rows) if callable(listing.note) else listing.note,
            definitions=listing.definitions,
            empty=listing.empty(options) if callable(listing.empty) else listing.empty,
        )

    def cell(self, column: Column, row: Row) -> Cell:
        value, form = column.of(row), column.form_in(row)
        if form.is_number:
            cell = write(form, value, column.around(row), column.nothing, column.reason(row))
        elif form.kind == "words":
            cell = words(column.nothing if value is None or value == "" else value)
        else:
            cell = self.name_cell(form.kind, row, value)
        changes: dict[str, Any] = {}
        if column.mark and cell.key is not None:
            changes["text"] = cell.text + column.mark(row)
        if column.texts and value:
            asked = column.texts(row)
            changes["href"] = self.texts(row | asked, **{key: asked[key] for key in asked.keys() - set(ABOUT)})
        if column.href:
            page, number = column.href(row)
            changes["href"] = getattr(self, page)(number)
        for name, found in (("chip", column.chip), ("soft", column.soft), ("key", column.key)):
            if found:
                changes[name] = found(row)
        return replace(cell, **changes) if changes else cell

    def name_cell(self, kind: str, row: Row, value: Any) -> Cell:
        if kind == "prompt":
            return self.prompt_cell(row)
        if kind == "model":
            return self.model_cell(row)
        if kind == "chatbot":
            return words(self.chatbot(value))
        return self.source_cell(row, settings=kind == "variant")


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
