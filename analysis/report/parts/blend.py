"""The blend of a chatbot's sources nearest to the field: weights, distances before and after, and p of luck."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import altair as alt
import numpy as np
from scipy.sparse import csr_matrix, vstack

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import PERCENT, Strips, along, colour_scale, dots, room_for
from analysis.charts.tables import COUNT, FINE, SHARE, Column, NumberFormat, P
from analysis.charts.theme import LIGHT, Series, series_of_sources
from analysis.report import columns as col
from analysis.report.claims.sentences import chatbot_name
from analysis.report.columns import Part, TableSpec, intervals
from analysis.report.dataset import ALL
from analysis.report.persons.askings import estimate_cells, offline_of
from analysis.report.samples import (
    Data,
    Group,
    Rows,
    Source,
    correct_over_prompts,
    generator_for,
    interval_cells,
    reasons,
)
from analysis.stats.intervals import FEWEST_UNITS, why_no_interval
from analysis.stats.persons.blends import FEWEST_TESTED, FOLDS, Blend, BlendSides, blend, compare
from analysis.stats.resampling import UNKNOWN
from surveys.studies.wording import (
    INTERVAL,
    count_range,
    decimal,
    join_words,
    number,
    p_value,
    percent,
    plural,
    sized,
    span,
)

FEWEST_PEOPLE = 3  # per prompt: without any one of them, two are left to compare
TOO_FEW = (
    "A blend needs two sources with answers to the prompts that people answered: run offline and a sock puppet, or a "
    "sock puppet with two settings, over the same prompts."
)
NOT_BLENDED = f"Left out of the blend: fewer than {FEWEST_UNITS} simulated users or repeats answered its prompts."
FEWEST_DRAWS = 100
TOLD = 0.05  # p below which a blend differs from luck
SHOWN = 0.005  # weight below which a source is not named


@dataclass(frozen=True)
class Blended:
    """The field and its `sources` on `prompts` that all of them answered; `left_out` are sources that did not."""

    field: Source
    sources: tuple[Source, ...]
    left_out: tuple[Source, ...]
    prompts: tuple[str, ...]

    @property
    def sides(self) -> tuple[Source, ...]:
        return (self.field, *self.sources)


def gather(data: Data, group: Group) -> Blended:
    """Choose, of all sets of prompts that two sources share, the one with the most sources × prompts.

    All sides of a blend must answer the same prompts. A source counts in all its settings.
    """
    sources = [source for source in data.sources if source.chatbot == group.chatbot]
    asked = [prompt for prompt in data.prompts if units_of(data, group.field, prompt) >= FEWEST_PEOPLE]
    answered = {
        source: {prompt for prompt in asked if units_of(data, source, prompt) >= FEWEST_UNITS} for source in sources
    }

    def with_all(prompts: Collection[str]) -> list[Source]:
        return [source for source in sources if prompts and answered[source].issuperset(prompts)]

    both = [answered[one] & answered[other] for one in sources for other in sources if one is not other]
    best = max(both, key=lambda prompts: len(prompts) * len(with_all(prompts)), default=set())
    chosen = with_all(best)
    left_out = tuple(source for source in sources if source not in chosen)
    return Blended(group.field, tuple(chosen), left_out, tuple(prompt for prompt in asked if prompt in best))


def units_of(data: Data, source: Source, prompt: str) -> int:
    """Number of persons, simulated users or repeats with a readable answer."""

    def count() -> int:
        rows = data.rows_of(source, prompt)
        named = names_in(data, source, prompt, rows).getnnz(axis=1) > 0
        return len(np.unique(data.frame(source.is_field).who[rows][named]))

    return int(data.once(("readable units", source, prompt), count))


def names_in(data: Data, source: Source, prompt: str, rows: Rows) -> csr_matrix:
    """Matrix of answers × items or letters: 1 if the answer names the item or takes the letter."""
    if prompt in data.choices:
        sample = data.options_in(source.is_field, prompt, rows)
        read = np.flatnonzero(sample.codes != UNKNOWN)
        return csr_matrix((np.ones(len(read)), (read, sample.codes[read])), (sample.n, sample.options))
    items = data.items_in(source.is_field, prompt, rows)
    return csr_matrix((np.ones(len(items.rows)), (items.rows, items.codes)), (items.n, items.size))


def sides_of(data: Data, blended: Blended) -> BlendSides:
    """The sides with their answers; a person, simulated user or repeat is the same unit in all prompts."""
    found = [whose_and_what(data, blended.sides, prompt) for prompt in blended.prompts]
    whose = np.concatenate([who for _, _, who in found])
    is_call = np.concatenate([side > 0 for _, side, _ in found])
    names, unit = np.unique(whose - whose.min(initial=0) + is_call * (int(np.ptp(whose)) + 1), return_inverse=True)
    units = np.split(unit, np.cumsum([len(who) for _, _, who in found])[:-1])
    prompts = [compare(named, side, of) for (named, side, _), of in zip(found, units, strict=True)]
    return BlendSides(prompts, len(blended.sides), len(names))


def whose_and_what(data: Data, sides: Sequence[Source], prompt: str) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
    """For each answer to a prompt: the items it names, its side, and its unit (a person, simulated user or repeat)."""
    rows = [data.rows_of(side, prompt) for side in sides]
    named = vstack([names_in(data, side, prompt, some) for side, some in zip(sides, rows, strict=True)], "csr")
    side = np.repeat(np.arange(len(sides)), [len(some) for some in rows])
    who = np.concatenate([data.frame(each.is_field).who[some] for each, some in zip(sides, rows, strict=True)])
    return named, side, who


def compute(data: Data) -> list[Row]:
    """For each chatbot, a row for the blend (its `source` is None) and one for each source."""
    found = [row for group in data.groups for row in group_rows(data, group)]
    correct_over_prompts([row for row in found if is_blend(row)], lambda row: row)
    return found


def is_blend(row: Row) -> bool:
    return row["source"] is None


def group_rows(data: Data, group: Group) -> list[Row]:
    blended = gather(data, group)
    head: Row = {"source": None, "model": None, "chatbot": group.chatbot, "prompts": len(blended.prompts)}
    head |= {"prompt_slugs": list(blended.prompts), "sources": len(blended.sources)}
    if not blended.sources:
        people = max((units_of(data, group.field, prompt) for prompt in data.prompts), default=0)
        return [head | data.unit_row(group.field, people) | {"p": None, "p_holm": None, "why": TOO_FEW}]
    sides, is_offline = sides_of(data, blended), [source == offline_of(group) for source in blended.sources]
    offline = is_offline.index(True) if any(is_offline) else None
    rng = generator_for(data, "blend", group.field, "")
    found = blend(sides, rng, max(FEWEST_DRAWS, data.draws // 5), offline)
    people, *units = sides.counts[0].tolist()
    held_out = {
        "distance": found.held_out.blend,
        "single": found.held_out.single,
        "gain": found.held_out.gain,
        "offline": found.held_out.named,
        "gain_on_offline": found.held_out.gain_on_named,
    }
    blended_row: Row = {
        **head,
        **data.unit_row(group.field, people),
        "fitted": found.fitted,
        **{name: cell for each, value in held_out.items() for name, cell in estimate_cells(each, value).items()},
        "p": found.p,
        "p_holm": None,
        **reasons(why=found.why),
    }
    rows = [source_row(data, blended, place, units[place], found) for place in range(len(units))]
    left_out = [head_of(data, source) | {"units": None, "why": NOT_BLENDED} for source in blended.left_out]
    return [blended_row, *rows, *left_out]


def head_of(data: Data, source: Source) -> Row:
    return {**source.key, "chatbot": source.chatbot, **source.settings, "unit": data.unit_of(source)}


def source_row(data: Data, blended: Blended, place: int, units: int, found: Blend) -> Row:
    ci = found.weights_ci[place]
    return {
        **head_of(data, blended.sources[place]),
        "units": units,
        "weight": float(found.weights[place]),
        **interval_cells("ci_weight", ci, found.why or why_no_interval(None, units)),
        **estimate_cells("distance", found.distances[place]),
    }


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Which blend of sources comes nearest to the field?"
NOTHING = "No chatbot has two sources with answers to the prompts that people answered: there is nothing to blend."
BLEND = "Blend"
STEP, ON_PHONE, ON_PAPER, GAP, LONGEST = 26, 36, 16, 22, 190  # px: of a row, between panels, and for names
DRAWN_COLUMNS = [
    Column("chatbot", "field of", value=lambda row: row["chatbot"] or ALL),
    Column("source", "source", value=lambda row: row["source"] or "blend"),
    *read.plain("model", "name"),
    Column("units", "people, simulated users or repeats"),
    Column("weight", "weight", unit="share"),
    *read.ends_in("share", "ci_weight", "weight_"),
    Column("distance", "distance to the field; of the blend held out"),
    *read.ends_in("", "ci_distance", "distance_"),
    Column("p", "p"),
    Column("p_holm", "p, Holm over chatbots"),
    read.WHY,
]


def draw_blend(report: Report, options: Options) -> Figure:
    rows = named(read.rows_of(report, "blend"))
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    marks = [mark for row in rows for mark in marks_of(row, options)]
    if not marks:
        return figure.empty_figure("blend", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    series = series_of_sources(row["source"] for row in rows if row["source"])
    series = Series((*series.names, BLEND), (*series.colours, LIGHT["ink"]), (*series.shapes, "diamond"))
    models = read.in_order(mark["model"] for mark in marks)
    spec = figure.below([draw_chatbot(marks, model, models, series, options) for model in models], 16)
    words = Words(TITLE, caption(report, rows), describe(rows, options))
    return figure.make_figure("blend", words, spec, marks, table, DRAWN_COLUMNS, options)


def named(rows: Sequence[Row]) -> list[Row]:
    """Rows with names: for each chatbot the sources by weight, then their blend."""
    names = read.label_variants(rows)
    rows = [row | {"name": name if row["source"] else BLEND} for row, name in zip(rows, names, strict=True)]
    order = read.in_order(row["chatbot"] for row in rows)
    return sorted(
        rows, key=lambda row: (order.index(str(row["chatbot"])), not row["source"], -(row.get("weight") or 0))
    )


def marks_of(row: Row, options: Options) -> list[Row]:
    series = read.shown_source(row["source"]) if row["source"] else BLEND
    where = {"row": row["name"], "model": read.shown_model(row["chatbot"] or ALL, options), "series": series}
    found = []
    for kind, write in (("weight", percent), ("distance", lambda value: decimal(value, 3))):
        value, ends = number(row.get(kind)), span(row.get(f"ci_{kind}"))
        if value is not None:
            low, high = ends or (value, value)
            told = f", {INTERVAL} {write(low)} to {write(high)}" if ends else ""
            text = f"{row['name']}, {where['model']}: {kind} {write(value)}{told}"
            found.append(where | {"kind": kind, "value": value, "low": low, "high": high, "text": text})
    return found


def draw_chatbot(marks: Sequence[Row], model: str, models: Sequence[str], series: Series, options: Options) -> Spec:
    here = [mark for mark in marks if mark["model"] == model]
    names = tuple(read.in_order(mark["row"] for mark in here))
    room = room_for(names, 120 if options.narrow else LONGEST, 11 if options.column else 12)
    width = (options.width - 24 - room - GAP) // 2
    on_phone = options.narrow and not options.column
    step = ON_PAPER if options.column else ON_PHONE if on_phone else STEP
    titles = ("Weight in the blend", "Distance to the field")
    panels = []
    for place, (kind, title) in enumerate(zip(("weight", "distance"), titles, strict=True)):
        strips = Strips(names, width, room, step, 0.4, named=not place)
        layers = figure.specs_of(layers_of(strips, kind, marks, series, on_phone))
        panels.append(figure.panel(layers, width, strips.height, title, model=model, kind=kind))
    return figure.below([figure.beside(panels, GAP)], title=model if len(models) > 1 else "")


def layers_of(strips: Strips, kind: str, marks: Sequence[Row], series: Series, on_phone: bool) -> list[alt.Chart]:
    """Bars of weights with their intervals, or dots of distances; both axes include 0."""
    y = strips.axis("row")
    if on_phone and strips.named:
        y["axis"]["labelExpr"] = "split(datum.label, ', ')"  # settings on a line of their own
    base = alt.Chart().encode(y=y)
    shown = [mark for mark in marks if mark["kind"] == kind]
    low, high = min(0.0, *(mark["low"] for mark in shown)), max(mark["high"] for mark in shown)
    is_weight = kind == "weight"
    scale = alt.Scale(domain=[0, 1] if is_weight else [low, high], nice=not is_weight)
    axis = alt.Axis(title=None, tickCount=4, grid=True, ticks=False, domain=False, format=".2~f")
    if is_weight:
        axis["labelExpr"] = PERCENT
    x = along(alt.X, scale, axis)
    if not is_weight:
        zero = alt.Chart().mark_rule(stroke=LIGHT["strong-line"], strokeWidth=1).encode(x=alt.X(datum=0, scale=scale))
        return [zero, *dots(base, x, series, None, 70)]
    colour = alt.Color("series:N", scale=colour_scale(series), legend=None)
    bar = base.mark_bar(height=strips.bar, stroke=LIGHT["soft"], strokeWidth=0.5, aria=True)
    return [
        bar.encode(x=x("value"), x2=alt.X2Datum(0), color=colour, description=alt.Description("text:N")),
        base.mark_rule(stroke=LIGHT["ink"], strokeWidth=1.4).encode(x=x("low"), x2=alt.X2("high:Q")),
    ]


def caption(report: Report, rows: Sequence[Row]) -> str:
    people = [int(row["units"]) for row in rows if not row["source"] and row["units"]]
    units = [int(row["units"]) for row in rows if row["source"] and row["units"]]
    return read.write_caption(
        report,
        f"{sized(*people)} people, {count_range(*units)} simulated users or repeats a source. Weights are the "
        "same for all prompts; the blend’s distance is in people and simulated users that it was not fitted to.",
        f"Lines are {INTERVAL}s over people, simulated users and repeats.",
        definitions=["blend_distance"],
        missing=sum(row.get("distance") is None for row in rows if row["source"]),
        rows=rows,
        sizes=False,
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    found = []
    for blended in (row for row in rows if not row["source"]):
        same = [row for row in rows if row["source"] and row["chatbot"] == blended["chatbot"] and row.get("weight")]
        if same:
            parts = join_words(
                [f"{row['name']} {percent(row['weight'])}, {decimal(row['distance'], 3)} away" for row in same]
            )
            away = "" if blended["distance"] is None else f"; the blend {decimal(blended['distance'], 3)} away"
            model = read.shown_model(blended["chatbot"] or ALL, options)
            found.append(f"{model}, over {plural(blended['prompts'], 'prompt')}: {parts}{away}.")
    return " ".join(found)


# In tables --------------------------------------------------------------------------------------------------


def blends_in(report: Report, options: Options) -> list[Row]:
    """Each blend, with its sources' weights in words."""
    rows = report.get("blend") or []
    return [row | {"weights": weight_words(sources_of(rows, row))} for row in rows if is_blend(row)]


def sources_in(report: Report, options: Options) -> list[Row]:
    return [row for row in report.get("blend") or [] if not is_blend(row)]


def sources_of(rows: Sequence[Row], blended: Row) -> list[Row]:
    return [row for row in rows if not is_blend(row) and row["chatbot"] == blended["chatbot"]]


def weight_words(rows: Sequence[Row], with_intervals: bool = False) -> str:
    """Such as "55 % Offline (95 % interval 40–70) and 45 % Profile (30–60)", heaviest first."""
    found: list[str] = []
    for row, name in heavy_of(rows):
        ends, kind = span(row["ci_weight"]) if with_intervals else None, "" if found else f"{INTERVAL} "
        around = f" ({kind}{100 * ends[0]:.0f}–{100 * ends[1]:.0f})" if ends else ""
        found.append(f"{percent(row['weight'])} {name}{around}")
    return join_words(found)


def heavy_of(rows: Sequence[Row]) -> list[tuple[Row, str]]:
    """The sources of a blend, heaviest first, each with its name among all sources."""
    named = [(row, name) for row, name in zip(rows, read.label_variants(rows), strict=True) if row.get("weight")]
    return sorted((pair for pair in named if pair[0]["weight"] >= SHOWN), key=lambda pair: -pair[0]["weight"])


PEOPLE = Column("units", "People", COUNT)
DISTANCE = Column("distance", "Distance", FINE, "ci_distance", why="why")
SIGNED = replace(FINE, sign=True)
OF_BLENDS = (
    Column("chatbot", "Field of", NumberFormat("chatbot")),
    replace(DISTANCE, label="Blend, held out"),
    Column("single", "Nearest alone", FINE, "ci_single", why="why"),
    Column("gain", "Nearer than the nearest alone by", SIGNED, "ci_gain", why="why"),
    Column("offline", "Offline", FINE, "ci_offline"),
    Column("gain_on_offline", "Nearer than offline by", SIGNED, "ci_gain_on_offline", short="nearer than offline by"),
    Column("p_holm", "p", P, short="p (Holm)", why="why"),
    PEOPLE,
    Column("prompts", "Prompts", COUNT),
)
WEIGHT = Column("weight", "Weight", SHARE, "ci_weight", why="why")
UNITS = Column("units", "Units", COUNT, soft=lambda row: row["unit"] + "s")
PAGE = TableSpec(
    "blend",
    "The blend nearest to the field",
    OF_BLENDS,
    blends_in,
    ("blend_distance", "blend_held_out", "blend_gain", "blend_p"),
    f"Weights are fitted to people and simulated users in {FOLDS} parts, each held against the part that it was not "
    "fitted to. p: some source alone is as near as any blend (Holm over chatbots).",
    TOO_FEW,
)
TABLE = replace(PAGE, columns=(OF_BLENDS[0], Column("weights", "Blend"), *OF_BLENDS[1:]))
SOURCES = TableSpec(
    "blend-sources",
    "Weights, and how far each source is alone",
    (col.VARIANT, col.MODEL, WEIGHT, DISTANCE, UNITS),
    sources_in,
    ("blend_weight", "blend_distance"),
    "Sources that answer alike can stand in for each other: wide intervals of their weights say so, and only the sum "
    "of these weights is then known.",
    optional=True,
)

# In sentences -----------------------------------------------------------------------------------------------


def say(report: Report) -> str:
    """Describe the blend with the lowest p, or the first if none is tested."""
    rows = report.get("blend") or []
    known = [row for row in rows if is_blend(row) and sources_of(rows, row)]
    if not known:
        return TOO_FEW
    row = min(known, key=lambda row: 2.0 if row["p_holm"] is None else row["p_holm"])
    return say_blend(report, row, sources_of(rows, row))


def say_blend(report: Report, row: Row, sources: Sequence[Row]) -> str:
    name = chatbot_name(report, {"model": row["chatbot"]})
    field = f"the field of {name}" if row["chatbot"] else "the field"
    heavy = heavy_of(sources)
    basis = f"n = {plural(row['units'], 'person', 'people')}, {units_words([source for source, _ in heavy])}"
    away = f"{decimal(row['fitted'], 3)} away"
    opening = f"{weight_words(sources, True)} together come nearest to {field}"
    if row["p"] is None:
        opening = opening if len(heavy) > 1 else f"{heavy[0][1]} alone comes nearest to {field}"
        return f"{opening}, {away}; {basis} are too few to tell that from luck."
    if len(heavy) < 2:
        return f"No blend comes surely nearer to {field} than {heavy[0][1]} alone, {away} ({basis})."
    p = p_value(row["p_holm"])
    is_told = row["p_holm"] < TOLD
    told = "more than luck gives" if is_told else "not told apart from luck"
    told += f" (p {p if p[0] == '<' else f'= {p}'}; {basis})"
    if row["distance"] is None:
        return f"{opening}, {told}."
    before = "" if row["offline"] is None else f"; offline alone: {decimal(row['offline'], 3)}"
    held = f"at a distance of {decimal(row['distance'], 3)} in people held out (0: no difference{before})"
    if is_told and row["gain"] < 0:
        return f"{opening}, {told}, though {held} {gain_words(row)}."
    return f"{opening}, {held}: {gain_words(row)}, {told}."


def gain_words(row: Row) -> str:
    """Such as "it is 0.020 (95 % interval 0.011 to 0.029) nearer than the nearest source alone"."""
    sign, way = (1, "nearer") if row["gain"] >= 0 else (-1, "farther")
    ends = sorted(sign * end for end in span(row["ci_gain"]) or ())
    around = f" ({INTERVAL} {decimal(ends[0], 3)} to {decimal(ends[1], 3)})" if ends else ""
    return f"it is {decimal(abs(row['gain']), 3)}{around} {way} than the nearest source alone"


def units_words(sources: Sequence[Row]) -> str:
    """Such as "24 and 12 simulated users, 40 repeats", in the order of the sources."""
    counts: dict[str, list[str]] = {}
    for source in sources:
        counts.setdefault(source["unit"], []).append(f"{source['units']:,}")
    return ", ".join(f"{join_words(known)} {unit}s" for unit, known in counts.items())


PART = Part(
    "blend",
    "the blend nearest to the field",
    compute,
    {
        "blend_distance": "Twice the mean unlikeness of an answer of the field and one of the source or blend, minus "
        "those of two of the field and of two of the source: 0 where both give all answers equally often; unbiased at "
        "any number of answers, so it may be a little below 0.",
        "blend_weight": "Which part of the blend’s answers is the source’s; the weights, one for all prompts, with "
        "which it is nearest to the field.",
        "blend_held_out": "Distance to people, and of simulated users, that the weights were not fitted to; `single` "
        "is that of the source that is nearest alone among those they were fitted to.",
        "blend_gain": "`single`, or `offline`, minus the blend’s distance, all held out.",
        "blend_p": "The chance that weight on others brings every single source as much nearer to the field where in "
        f"truth one of them is as near as any blend; from {FEWEST_TESTED} people on.",
    },
    intervals=(
        *intervals("bootstrap", "unit", "ci_weight"),
        *intervals("jackknife", "unit", "ci_distance", "ci_single", "ci_gain", "ci_offline", "ci_gain_on_offline"),
    ),
    tables=(TABLE, SOURCES),
    pages=(PAGE, SOURCES),
    draw=draw_blend,
    say=say,
)
