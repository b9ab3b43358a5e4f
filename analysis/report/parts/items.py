"""The recommendations of all sources side by side: every item frequent in any, with its share in each."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import altair as alt
import numpy as np

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words, prompt_name
from analysis.charts.marks import PERCENT, Strips, along, dots, make_legend, room_for
from analysis.charts.panels import GAP
from analysis.charts.tables import COUNT, POINTS, SHARE, Column
from analysis.charts.theme import Series, printable, series_of_sources
from analysis.report import columns as col
from analysis.report.claims.enough import FEWEST, TO_LISTS, too_few
from analysis.report.columns import Part, TableSpec, intervals, rows_in
from analysis.report.dataset import ALL, FIELD
from analysis.report.parts.heterogeneity import item_rows
from analysis.report.samples import Data, Source, interval_cells
from analysis.stats.intervals import ONE_UNIT, share_difference
from surveys.studies.wording import join_words, number, percent, plural

TOP = 20


def compute(data: Data) -> list[Row]:
    """Rows for the TOP items of each source, or for all items if the filters name a prompt."""
    return [row for prompt in data.lists for row in prompt_rows(data, prompt)]


def prompt_rows(data: Data, prompt: str) -> list[Row]:
    sources = [source for group in data.groups for source in group.sources if data.items(source, prompt).n]
    shown = [source for source in sources if not source.is_field or data.shows_field]
    codes = frequent_items(data, sources, prompt)
    return [
        {"prompt": prompt, **source.key, "n": sample.n, **data.unit_row(source, sample.unit_count), **row}
        for source in shown
        for sample in [data.items(source, prompt)]
        for row in rows_beside_field(data, source, prompt, codes)
    ]


def rows_beside_field(data: Data, source: Source, prompt: str, codes: list[int]) -> list[Row]:
    """A source's share of each item and, if both sides have enough units, the field's share minus it."""
    rows, field = item_rows(data, source, prompt, codes), data.group_of(source.chatbot).field
    if source.is_field or min(data.items(side, prompt).unit_count for side in (field, source)) < FEWEST:
        return rows
    of_field = item_rows(data, field, prompt, codes)
    return [row | difference_row(row, there) for row, there in zip(rows, of_field, strict=True)]


def difference_row(row: Row, of_field: Row) -> Row:
    """The field's share minus the source's, with Newcombe's interval of this one difference."""
    ci = share_difference(of_field["share"], of_field["ci"], row["share"], row["ci"])
    return {"difference": of_field["share"] - row["share"], **interval_cells("ci_difference", ci, ONE_UNIT)}


def frequent_items(data: Data, sources: list[Source], prompt: str) -> list[int]:
    """Codes of the items that are among the most frequent of any source, by their frequency in the field."""
    counts = [data.items(source, prompt).counts() for source in sources]
    if not counts:
        return []
    most = len(counts[0]) if data.filters.prompt else TOP
    chosen = {int(code) for count in counts for code in (-count).argsort(kind="stable")[:most] if count[code]}
    field = np.sum([data.items(source, prompt).counts() for source in sources if source.is_field] or counts, axis=0)
    return sorted(chosen, key=lambda code: (-field[code], code))


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "What each source recommends"
HIGH = 290  # px of all items in a journal's column
NOTHING = "No items to compare yet: no source has named any to this prompt."
DRAWN_COLUMNS = [
    *read.PLACE,
    Column("item", "item", value=lambda row: printable(row.get("name") or row["item"])),
    Column("n", "responses"),
    Column("count", "of them name it", unit="responses"),
    Column("share", "share", unit="share"),
    *read.ends_in("share"),
    Column("difference", "field minus it", unit="share"),
    Column("difference_low", "from", unit="share", value=read.end_of("ci_difference", 0)),
    Column("difference_high", "to", unit="share", value=read.end_of("ci_difference", 1)),
]


def draw_items(report: Report, options: Options) -> Figure:
    rows = read.line_up(report, read.rows_of(report, "items"))
    prompt = options.prompt or next(iter(read.prompts_in_order(report, rows)), "")
    rows = [row for row in rows if row["prompt"] == prompt and number(row.get("share")) is not None]
    chosen = choose_items(rows, options.top)
    shown = [row for row in rows if row["item"] in chosen]
    if not shown:
        return figure.empty_figure("items", TITLE, NOTHING, DRAWN_COLUMNS, options)
    series = series_of_sources(read.all_sources(report)).only(read.shown_source(row["source"]) for row in shown)
    names = {item: name_of(item, shown) for item in chosen}
    models = read.in_order(read.shown_model(row["model"], options) for row in shown)
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in shown]
    points = [point_of(row, names[row["item"]], options) for row in shown]
    spec = draw_dots(tuple(names.values()), models, series, max(read.reach(points)), options)
    title = f"{TITLE}: {options.name(prompt)}"
    words = Words(title, caption(report, rows, shown, chosen), describe(shown, names, options))
    return figure.make_figure("items", words, spec, points, table, DRAWN_COLUMNS, options)


def choose_items(rows: Sequence[Row], top: int) -> list[str]:
    """The `top` items with the largest share in any source, sorted by the field's share."""
    largest: dict[str, float] = {}
    field: dict[str, float] = {}
    for row in rows:
        largest[row["item"]] = max(row["share"], largest.get(row["item"], 0))
        if row["source"] == "field":
            field[row["item"]] = max(row["share"], field.get(row["item"], 0))
    named = [item for item in largest if largest[item] > 0]
    chosen = sorted(named, key=lambda item: (-largest[item], item))[:top]
    return sorted(chosen, key=lambda item: (-field.get(item, 0), -largest[item], item))


def name_of(item: str, rows: Sequence[Row]) -> str:
    return next(printable(row.get("name") or item) for row in rows if row["item"] == item)


def point_of(row: Row, name: str, options: Options) -> Row:
    ends, model, source = row.get("ci"), read.shown_model(row["model"], options), read.shown_source(row["source"])
    share = f"{percent(row['share'])}{read.told_ends(ends, percent)}"
    told = f"{name}, {source}, {model}: {share}, {row['count']} of {row['n']}"
    return read.make_mark(row["share"], ends, item=name, model=model, series=source, text=told)


def draw_dots(items: tuple[str, ...], models: Sequence[str], series: Series, end: float, options: Options) -> Spec:
    room = room_for(items, 110 if options.narrow else 170, 11 if options.column else 12)
    on_paper = bool(options.column)
    across = 1 if options.narrow and not on_paper else min(len(models), 2)
    rooms = 1 if on_paper else across  # on paper names appear once, at the left
    width = (options.width - 24 - (across - 1) * GAP - rooms * room) // across
    step = min(5 * len(series.names) + 4, HIGH // len(items)) if on_paper else 7 * len(series.names) + 8
    strips = Strips(items, width, room, step=max(14, step), padding=0.14, lined=True)
    columns = strips.side_by_side(across, rooms)
    drawn = [figure.specs_of(dot_layers(each, series, end, options)) for each in columns]
    panels = [
        figure.below([figure.panel(layers, width, strips.height, model=model)], title=model, offset=each.above)
        for model, each, layers in zip(models, cycle(columns), cycle(drawn), strict=False)
    ]
    return figure.in_rows(panels, across, 18)


def dot_layers(strips: Strips, series: Series, end: float, options: Options) -> list[alt.Chart]:
    scale = alt.Scale(domain=[0, min(1.0, end)], nice=end < 0.9)
    axis = alt.Axis(title=None, labelExpr=PERCENT, tickCount=2 if options.column else 5, grid=True, ticks=False)
    side = min(8.5, max(4.4, strips.bar / len(series.names)))

    x = along(alt.X, scale, axis)
    return dots(
        strips.rows_of("item", series), x, series, make_legend(series, options, strips.room), 0.79 * side**2, 1.5
    )


def caption(report: Report, rows: Sequence[Row], shown: Sequence[Row], chosen: Sequence[str]) -> str:
    among = len({row["item"] for row in rows})
    left_out = f" of {among}" if among > len(chosen) else ""
    return read.write_caption(
        report,
        f"The {plural(len(chosen), 'item')}{left_out} that some source names most.",
        f"{read.n_words(shown)} responses a source. Lines are 95 % intervals (Wilson), over people, simulated users or "
        "repeats.",
        definitions=["item_share"],
        rows=shown,
    )


def describe(rows: Sequence[Row], names: dict[str, str], options: Options) -> str:
    """Write for each model the share of its first item in each source."""
    found = []
    for model, here in read.grouped(rows, "model").items():
        first = next(item for item in names if any(row["item"] == item for row in here))
        shares = [f"{read.shown_source(row['source'])} {percent(row['share'])}" for row in here if row["item"] == first]
        found.append(f"{read.shown_model(model, options)}: {names[first]} in {join_words(shares)}.")
    return " ".join(found)


# In tables --------------------------------------------------------------------------------------------------

NAME = Column("name", "Item")
ITEM_SHARE = Column("share", "Share", SHARE, "ci")
DIFFERENCE = Column("difference", "Field minus source, points", POINTS, "ci_difference")
DOCUMENT = TableSpec(
    "items",
    "What each source recommends",
    (col.PROMPT, NAME, col.SOURCE, col.COMPARED, Column("count", "Count", COUNT), col.SIZE, ITEM_SHARE, DIFFERENCE),
    rows_in("items"),
    ("item_share", "item_difference", "ci"),
)


def side_by_side(report: Report, options: Options) -> list[Row]:
    """One prompt's items that match the search, each with its row of every source."""
    entries: dict[str, Row] = {}
    for row in report["items"]:
        if row["prompt"] == options.prompt:
            entry = entries.setdefault(row["item"], {"item": row["item"], "name": row["name"], "by": {}})
            entry["by"][row["source"], row["model"]] = row
    wanted = options.search.casefold()
    return [entry for entry in entries.values() if not wanted or matches(entry, wanted)]


def matches(entry: Row, wanted: str) -> bool:
    return wanted in entry["item"] or any(wanted in row["name"].casefold() for row in entry["by"].values())


def source_columns(rows: list[Row], options: Options) -> list[Column]:
    return [
        NAME,
        *(
            source_column(source, model, options)
            for source, model in dict.fromkeys(key for row in rows for key in row["by"])
        ),
    ]


def source_column(source: str, model: str, options: Options) -> Column:
    whose = options.names.get(model, "Everybody" if model == ALL else model) if source == FIELD else model

    def row_of(entry: Row) -> Row:
        found: Row = entry["by"].get((source, model), {})
        return found

    return Column(
        f"{source}.{model}",
        f"{read.shown_source(source)} · {whose or 'all models'}",
        SHARE,
        lambda entry: row_of(entry).get("ci"),
        lambda entry: row_of(entry).get("ci_why"),
        value=lambda entry: row_of(entry).get("share"),
        texts=lambda entry: {name: row_of(entry)[name] for name in ("prompt", "source", "model", "item")},
    )


PAGE = TableSpec(
    "items",
    lambda options: f"{TITLE}: {prompt_name(options.prompt)}" if options.prompt else TITLE,
    source_columns,
    side_by_side,
    ("item_share", "ci"),
    "Share of answers that name the item, with its 95 % interval. Every share leads to the texts.",
    lambda options: "No item matches." if options.search else "No source has answered this prompt yet.",
)

DIFFERENCES = TableSpec(
    "item-differences",
    "The field’s share minus each other source’s",
    lambda rows, options: [NAME, *difference_columns(rows, options)],
    lambda report, options: [row for row in side_by_side(report, options) if differing(row)],
    ("item_difference",),
    "In points, each with the interval of this difference alone: where nothing differs, five of a hundred lie apart "
    "from 0. What the page says first is tested over all items.",
    optional=True,
)


def differing(entry: Row) -> dict[tuple[str, str], Row]:
    return {key: row for key, row in entry["by"].items() if "difference" in row}


def difference_columns(rows: list[Row], options: Options) -> list[Column]:
    keys = dict.fromkeys(key for row in rows for key in differing(row))

    def cell(key: tuple[str, str], name: str) -> Callable[[Row], Any]:
        return lambda entry: entry["by"].get(key, {}).get(name)

    return [
        Column(
            f"difference.{source}.{model}",
            f"{read.shown_source(source)} · {model or 'all models'}",
            POINTS,
            cell((source, model), "ci_difference"),
            cell((source, model), "ci_difference_why"),
            value=cell((source, model), "difference"),
        )
        for source, model in keys
    ]


PART = Part(
    "items",
    "items",
    compute,
    {
        "item_share": "Responses that name the item, divided by all responses.",
        "item_difference": "The field’s share of an item minus the source’s, with the interval of this one difference.",
    },
    intervals=intervals("wilson", "unit", "ci", "ci_difference"),
    tables=(DOCUMENT,),
    pages=(PAGE, DIFFERENCES),
    draw=draw_items,
    say=lambda report: too_few(report["items"], TO_LISTS),
    is_long=True,
)
