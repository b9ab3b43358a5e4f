"""The sock puppet and history size that are surely nearest to the field, by prompt and over all prompts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import altair as alt

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words, prompt_name
from analysis.charts.marks import along, beside_each_other, colour_scale, dots, make_legend, words_on_grid
from analysis.charts.panels import panel_width
from analysis.charts.tables import COUNT, FINE, Column, NumberFormat, at
from analysis.charts.theme import LIGHT, Series, look_of, printable, series_of_sources
from analysis.models.conditions import AMOUNTS, PUPPETS
from analysis.report import columns as col
from analysis.report.beyond import (
    DISTANCE_WITH_MISSING,
    OF_MISSING_DISTANCES,
    missing_distance_row,
    missing_distance_words,
)
from analysis.report.claims.enough import FEWEST
from analysis.report.columns import Measure, Part, TableSpec, intervals, rows_in
from analysis.report.samples import Data, Group, Source, interval_cells, name_of, to_field
from analysis.stats.heterogeneity import Distance, EvenDistance, MeanExcess, distance_at, mean_excess, p_farther
from analysis.stats.intervals import redrawn_interval
from analysis.stats.simultaneous import LEVEL
from surveys.studies.wording import THIN, Span, decimal, number, plural, sized, span

EXCESS = Measure(
    "jsd_excess",
    "Mean distance above chance, bits",
    "Mean distance above chance, bits",
    "Jensen–Shannon divergence minus what chance gives samples of these sizes: it compares sources of different sizes, "
    "and is about 0, a little above or below, where nothing differs.",
    unit="bits",
    format=FINE,
    is_sole=True,
)
NO_PROMPT = "No prompt has answers of both the field and this source that can be compared."
NO_QUESTION = "No question with choices has answers of both the field and this source that can be compared."
FEW_UNITS = f"Below {FEWEST} people, or {FEWEST} simulated users or repeats, nothing is called the nearest."
NOTHING_NAMED = "For some prompt no draw names anything."
OTHER_PROMPTS = "It did not answer the same prompts as the sock puppet with most of them."


@dataclass(frozen=True)
class Placed:
    """A source's row, and its distances to the field by prompt."""

    row: Row
    distances: dict[str, Distance]

    @property
    def mean(self) -> MeanExcess:
        return mean_excess(list(self.distances.values()))


def compute(data: Data) -> list[Row]:
    """A row for every setting of every source, even those that other parts leave out."""
    placed_of = {source: place_source(data, source) for source in data.sources}
    found, puppets = [], []
    for chatbot in dict.fromkeys(source.chatbot for source in data.sources):
        of_group = [placed for source, placed in placed_of.items() if source.chatbot == chatbot]
        for model in dict.fromkeys(placed.row["model"] for placed in of_group):
            puppets.append([one for one in of_group if one.row["model"] == model and one.row["source"] in PUPPETS])
        found += [placed.row for placed in of_group]
    mark_nearest(puppets)
    return found


def place_source(data: Data, source: Source) -> Placed:
    group = data.group_of(source.chatbot)
    found = distances_of(data, group, source, data.lists)
    sizes = {prompt: data.items(source, prompt).unit_count for prompt in found}
    placed = Placed({}, found)
    placed.row.update(
        {
            **source.key,
            "chatbot": source.chatbot,
            **source.settings,
            "main": source in group.others,
            **data.unit_row(source, min(sizes.values(), default=0)),
            **distance_row(placed.mean),
            **missing_distance_row(data, group, source, list(found)),
            "equal": equal_row(data, group, source, placed),
            "prompts": len(found),
            "choices": choices_row(data, group, source),
            "nearest_for": [],
            "by_prompt": [
                {"prompt": prompt, **distance_row(mean_excess([found[prompt]])), "p": found[prompt].p}
                | {"n": data.items(source, prompt).n, "units": sizes[prompt]}
                for prompt in found
            ],
            **({} if found else {"why": NO_PROMPT}),
        }
    )
    return placed


def distances_of(data: Data, group: Group, source: Source, prompts: Sequence[str]) -> dict[str, Distance]:
    """Distances by prompt, without prompts to which either side names nothing."""
    tried = {prompt: to_field(data, group, source, prompt) for prompt in prompts}
    return {prompt: distance for prompt, distance in tried.items() if distance and distance.jsd_bits is not None}


def choices_row(data: Data, group: Group, source: Source) -> Row:
    """The mean distance above chance over questions with choices, which do not count for the nearest."""
    found = distances_of(data, group, source, data.choices)
    mean = mean_excess(list(found.values()))
    why = {} if found else {"why": NO_QUESTION}
    return {"prompts": len(found), "units": mean.units, **excess_row(mean), **why}


def equal_row(data: Data, group: Group, source: Source, placed: Placed) -> Row:
    """The mean distance of equally many units of field and source, and what chance gives these.

    The interval lies around this mean; its width is from the draws of the mean distance of all answers.
    """
    found = [at_equal_n(data, group, source, prompt) for prompt in placed.distances]
    known = [each for each in found if each]
    nothing: Row = {"n": None, col.DISTANCE.name: None, "ci": None, "chance": None}
    if not known or len(known) < len(found):
        return nothing | {"why": NOTHING_NAMED if found else NO_PROMPT}
    bits, chance = (
        sum(values) / len(known) for values in zip(*((one.jsd_bits, one.chance) for one in known), strict=True)
    )
    ci = redrawn_interval(placed.mean.drawn, bits, placed.mean.units, 0.0, 1.0)
    cells = interval_cells("ci", ci, placed.mean.ci_why)
    return {
        "n": [min(one.n for one in known), max(one.n for one in known)],
        col.DISTANCE.name: bits,
        **cells,
        "chance": chance,
    }


def at_equal_n(data: Data, group: Group, source: Source, prompt: str) -> EvenDistance | None:
    """The distance at the smaller side's number of units, independent of other sources."""
    samples = data.items(group.field, prompt), data.items(source, prompt)
    names = name_of(group.field), name_of(source)
    return distance_at(*samples, min(sample.unit_count for sample in samples), data.shared_draws, names)


def distance_row(found: MeanExcess) -> Row:
    return {**excess_row(found), "nearest": False, "not_told_apart": []}


def excess_row(found: MeanExcess) -> Row:
    return {
        col.DISTANCE.name: found.jsd_bits,
        **interval_cells("ci_jsd", found.ci_jsd, found.ci_why),
        "chance": found.chance,
        EXCESS.name: found.excess,
        **interval_cells("ci", found.ci, found.ci_why),
    }


Rival = tuple[str, Row, MeanExcess]


def mark_nearest(models: list[list[Placed]]) -> None:
    """Mark each model's nearest sock puppet, or those not told apart; and likewise for each prompt.

    Means over different prompts, or of too few answers, are not compared. If puppets do not differ, at most 5 in 100
    studies get a nearest one for any model, and as many get one for some prompt.
    """
    tell_apart([able_of(puppets) for puppets in models])
    tell_apart([entries for puppets in models for entries in of_prompts(puppets)])
    for placed in (placed for puppets in models for placed in puppets):
        placed.row["nearest_for"] += [entry["prompt"] for entry in placed.row["by_prompt"] if entry["nearest"]]


def able_of(puppets: list[Placed]) -> list[Rival]:
    """Return the puppets of one model that can be compared; put the reason into the rows of the others."""
    names = names_of([placed.row for placed in puppets])
    enough = [set(placed.distances) for placed in puppets if placed.mean.units >= FEWEST]
    asked = max(enough, key=lambda prompts: len(prompts), default=set())
    able = []
    for name, placed in zip(names, puppets, strict=True):
        if placed.mean.units < FEWEST:
            placed.row["why_nearest"] = FEW_UNITS
        elif placed.distances.keys() != asked:
            placed.row["why_nearest"] = OTHER_PROMPTS
        else:
            able.append((name, placed.row, placed.mean))
    return able


def of_prompts(puppets: list[Placed]) -> list[list[Rival]]:
    by_prompt: dict[str, list[Rival]] = {}
    for name, placed in zip(names_of([placed.row for placed in puppets]), puppets, strict=True):
        for entry in placed.row["by_prompt"]:
            found = mean_excess([placed.distances[entry["prompt"]]])
            if found.units >= FEWEST:
                by_prompt.setdefault(entry["prompt"], []).append((name, entry, found))
    return list(by_prompt.values())


def tell_apart(families: list[list[Rival]]) -> None:
    """Mark each family's nearest if all others are surely farther, else all candidates; leave a single one unmarked.
    Sure: p below LEVEL over all comparisons of all families (Bonferroni).
    """
    compared = sum(len(found) - 1 for found in families if len(found) > 1)
    for found in families:
        if len(found) < 2:
            continue
        best = min(found, key=lambda entry: entry[2].excess or 0.0)
        chances = [0.0 if entry is best else p_farther(best[2], entry[2]) for entry in found]
        near = [entry for entry, p in zip(found, chances, strict=True) if entry is best or p * compared >= LEVEL]
        best[1]["nearest"] = len(near) == 1
        best[1]["p_nearest"], best[1]["compared_puppets"] = max(chances), len(found) - 1
        for name, row, _ in near:
            row["not_told_apart"] = [other for other, _, _ in near if other != name]


def names_of(rows: Sequence[Row]) -> list[str]:
    """Each row's source, with the settings in which the rows of that source differ."""
    return [", ".join([row["source"], *read.differing_words(row, rows, ["source"])]).replace(THIN, " ") for row in rows]


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Which sock puppet is nearest to the field"
NOTHING = "No prompt has answers of both the field and a sock puppet that can be compared."
NO_HISTORY = "none"
HEIGHT, MARK, LABEL = 190, 16, 30  # px: of a panel, of a mark along x, and of a word below it along y
ON_PAPER = 170  # px of the panels below one another in a journal's column
MEAN_COLUMNS = (  # a source's distance from the field over all prompts
    Column(EXCESS.name, EXCESS.heading, unit=EXCESS.unit),
    *read.ends_in("bits"),
    Column(col.DISTANCE.name, f"mean {col.DISTANCE.heading}", unit=col.DISTANCE.unit),
    Column("chance", "by chance", unit="bits"),
)
DRAWN_COLUMNS = [
    *read.plain("model", "source"),
    *read.AMOUNT_COLUMNS,
    *read.plain("temperature", "corpus", "personas"),
    *MEAN_COLUMNS,
    Column("missing_low", "with missing answers from", unit="bits", value=read.end_of("bounds", 0)),
    Column("missing_high", "to", unit="bits", value=read.end_of("bounds", 1)),
    Column("prompts", "prompts"),
    Column("choices_excess", "of choices", unit="bits", value=lambda row: at(row, f"choices.{EXCESS.name}")),
    Column("choices_low", "from", unit="bits", value=read.end_of("choices.ci", 0)),
    Column("choices_high", "to", unit="bits", value=read.end_of("choices.ci", 1)),
    Column("nearest", "nearest sock puppet"),
    Column("not_told_apart", "not told apart from", value=lambda row: "; ".join(row.get("not_told_apart") or ())),
    read.WHY,
]


def draw_calibration(report: Report, options: Options) -> Figure:
    rows = read.by_group(report, read.rows_of(report, "calibration"))
    table = [read.drawn_row(row, DRAWN_COLUMNS) for row in rows]
    known = [row for row in rows if number(row.get(EXCESS.name)) is not None]
    if not known:
        return figure.empty_figure("calibration", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    # The history size is on the x axis; names have only the other settings.
    names = read.label_variants([read.without_amount(row) for row in known])
    points = [point_of(name, row, options) for name, row in zip(names, known, strict=True)]
    sizes = {read.amount_of(row) for row in known}
    steps = [NO_HISTORY] * (None in sizes) + [f"{size:,}" for size in sorted(size for size in sizes if size)]
    spec = draw_panels(points, steps, units_of(known), series_of_variants(names, known), options)
    words = Words(TITLE, caption(report, table, known, options), describe(known, options))
    return figure.make_figure("calibration", words, spec, points, table, DRAWN_COLUMNS, options)


def units_of(rows: Sequence[Row]) -> str:
    """The unit of the sizes: conversations, attributes, or either."""
    counted = [f"{each.unit}s" for each in AMOUNTS if any(row.get(each.name) is not None for row in rows)]
    return " or ".join(counted or [f"{AMOUNTS[0].unit}s"]).capitalize()


def point_of(name: str, row: Row, options: Options) -> Row:
    ends, size, model = span(row.get("ci")), read.amount_of(row), read.shown_model(row["model"], options)
    step = NO_HISTORY if size is None else f"{size:,}"
    asked = "" if size is None else f", {read.amount_words(row)}"
    over, is_nearest = plural(int(row.get("prompts") or 0), "prompt"), bool(row.get("nearest"))
    told = f"{name}{asked}, {model}: {decimal(row[EXCESS.name], 3)} bits above chance over {over}"
    where = {"model": model, "series": name, "size": step, "text": told + ", the nearest" * is_nearest}
    below = ends[0] if ends else row[EXCESS.name]
    return read.make_mark(row[EXCESS.name], ends, **where, nearest=is_nearest, below=below)


def series_of_variants(names: Sequence[str], rows: Sequence[Row]) -> Series:
    """The looks of variants: a source's first has the source's, the others its colour and another shape."""
    looks: dict[str, tuple[str, str]] = {}
    taken: dict[str, int] = {}
    base = series_of_sources(str(row["source"]) for row in rows)
    for name, row in zip(names, rows, strict=True):
        if name in looks:
            continue
        place, variant = base.names.index(read.shown_source(row["source"])), taken.get(row["source"], 0)
        shape = base.shapes[place] if not variant else look_of(variant - 1)[1]
        looks[name], taken[row["source"]] = (base.colours[place], shape), variant + 1
    return Series(tuple(looks), tuple(look[0] for look in looks.values()), tuple(look[1] for look in looks.values()))


def draw_panels(points: Sequence[Row], steps: Sequence[str], units: str, series: Series, options: Options) -> Spec:
    models = read.in_order(point["model"] for point in points)
    across = 1 if options.narrow else min(len(models), 3)
    width = panel_width(across, options)
    height = max(70, min(HEIGHT, ON_PAPER * across // len(models))) if options.column else HEIGHT
    least, most = min(0.0, *read.reach(points)), max(0.0, *read.reach(points))
    room = LABEL / height * (most - least)  # for the word below the nearest one
    layers = figure.specs_of(
        size_layers(steps, units, series, (min(least, *(p["below"] - room for p in points)), most), width, options)
    )
    columns = [
        figure.below([figure.panel(layers, width, height, EXCESS.title, model=model)], title=printable(model))
        for model in models
    ]
    return figure.in_rows(columns, across, 18)


def size_layers(
    steps: Sequence[str], units: str, series: Series, domain: Span, width: int, options: Options
) -> list[alt.Chart]:
    """Sizes along x, lines joining the sizes of each source, a ring round the nearest."""
    axis = alt.Axis(title=f"{units} in front of the prompt", labelAngle=0, ticks=False, labelPadding=6)
    taken = min(0.8, MARK * len(series.names) * len(steps) / width)
    x = alt.X("size:O", scale=alt.Scale(domain=list(steps), paddingInner=1 - taken, paddingOuter=0.5), axis=axis)
    offset = alt.XOffset("series:N", scale=beside_each_other(series))
    y_axis = alt.Axis(title=None, tickCount=5, format=".2~f", domain=False, ticks=False, minExtent=32, maxExtent=32)
    scale = alt.Scale(domain=list(domain), nice=True)
    legend = make_legend(series, options)
    colour = alt.Color("series:N", scale=colour_scale(series), legend=legend)
    base = alt.Chart().encode(x=x, xOffset=offset)

    y = along(alt.Y, scale, y_axis)
    ring = base.transform_filter(alt.FieldEqualPredicate(field="nearest", equal=True))
    return [
        base.mark_line(strokeWidth=1, opacity=0.6).encode(y=y("value"), color=colour),
        *dots(base, y, series, legend, 64),
        ring.mark_point(shape="circle", size=260, stroke=LIGHT["ink"], strokeWidth=1.4).encode(y=y("value")),
        *words_on_grid(ring.encode(y=y("below")), 11, dy=20, text="nearest"),
    ]


def caption(report: Report, table: Sequence[Row], known: Sequence[Row], options: Options) -> str:
    counts = [int(row["prompts"]) for row in table if number(row["prompts"])] or [0]
    return read.write_caption(
        report,
        f"Means over {sized(*counts)} prompt{'s' * ({*counts} != {1})}.",
        "A ring marks a model's sock puppet from which all others are surely farther."
        * any(row.get("nearest") for row in known),
        *open_questions(known, options),
        "Lines are 95 % bootstrap intervals.",
        definitions=[EXCESS.name],
        missing=sum(row[EXCESS.name] is None for row in table),
    )


def describe(rows: Sequence[Row], options: Options) -> str:
    found = [describe_nearest(row, options) for row in rows if row.get("nearest")]
    return (
        " ".join([*found, *open_questions(rows, options)])
        or f"{TITLE}: mean distance above chance by source and history size."
    )


def describe_nearest(row: Row, options: Options) -> str:
    with_size = f" with {read.amount_words(row)}" if read.amount_of(row) is not None else ""
    model, source = read.shown_model(row["model"], options), read.shown_source(row["source"])
    excess = f"{decimal(row[EXCESS.name], 3)} bits above chance on average"
    return f"{model}: nearest to the field is {source}{with_size}, {excess}."


def open_questions(rows: Sequence[Row], options: Options) -> list[str]:
    """For each model whose nearest sock puppet is not sure, a sentence with the candidates."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.get("not_told_apart"):
            found.setdefault(read.shown_model(row["model"], options), []).extend(row["not_told_apart"])
    return [
        f"Not told apart for {model}: {'; '.join(map(spoken, read.in_order(names)))}." for model, names in found.items()
    ]


def spoken(name: str) -> str:
    source, _, settings = name.partition(", ")
    return ", ".join([read.shown_source(source), *filter(None, [printable(settings)])])


# In tables --------------------------------------------------------------------------------------------------


def reasons(rows: Sequence[Row]) -> list[str]:
    """Why some sock puppets are not compared."""
    return read.in_order(row["why_nearest"] for row in rows if row.get("why_nearest"))


def nearest_words(row: Row) -> str:
    if len(row["nearest_for"]) == row["prompts"] > 1:
        return "all"
    return ", ".join(map(prompt_name, row["nearest_for"]))


OF_BOTH = (
    "Means over prompts with lists, and for choices over questions; lists alone decide which is nearest. "
    "Offline stands beside the sock puppets."
)
PROMPTS = Column("prompts", "Prompts", COUNT)
MEAN_DISTANCE = Column(col.DISTANCE.name, "Mean distance, bits", FINE, "ci_jsd")
OF_CHOICES = Column(
    f"choices.{EXCESS.name}",
    "Of choices, bits",
    FINE,
    "choices.ci",
    soft=lambda row: plural(count, "question") if (count := at(row, "choices.prompts")) else "",
)
NOT_TOLD_APART = Column(
    "not_told_apart", "Not told apart from", value=lambda row: "; ".join(map(spoken, row["not_told_apart"])), nothing=""
)
TABLE = TableSpec(
    "calibration",
    "Which sock puppet is nearest to the field",
    (
        *(col.SOURCE, col.MODEL, col.SETTINGS, PROMPTS, EXCESS.column(), MEAN_DISTANCE, OF_CHOICES),
        Column("nearest", "Nearest", value=lambda row: "nearest" if row["nearest"] else None),
        NOT_TOLD_APART,
        Column("nearest_for", "Nearest for", value=lambda row: ", ".join(row["nearest_for"])),
    ),
    rows_in("calibration"),
    (EXCESS.name, col.DISTANCE.name, "calibration"),
)
PAGE = TableSpec(
    "calibration",
    "Which sock puppet comes nearest",
    (
        replace(col.VARIANT, chip=lambda row: "nearest" if row["nearest"] else ""),
        *(col.MODEL, Column("chatbot", "Field of", NumberFormat("chatbot"))),
        *(EXCESS.column(), NOT_TOLD_APART, MEAN_DISTANCE, PROMPTS, OF_CHOICES),
        Column("nearest_for", "Nearest for", value=nearest_words),
        DISTANCE_WITH_MISSING,
    ),
    lambda report, options: read.by_group(report, report.get("calibration") or []),
    (EXCESS.name, col.DISTANCE.name, "calibration"),
    lambda rows: " ".join([OF_BOTH, *reasons(rows), *missing_distance_words(rows)]),
)

PART = Part(
    "calibration",
    "the nearest sock puppet",
    compute,
    {
        "calibration": "Mean distance over prompts for each sock puppet and history size; one is called the nearest "
        "where the interval of every other's difference from it lies above 0.",
        EXCESS.name: EXCESS.definition,
        **OF_MISSING_DISTANCES,
        "equal": "The mean distance of as many units of the field as of the source, the number of the smaller, one "
        "answer each; chance is that of such samples of both mixed at random.",
    },
    intervals=(
        *intervals("bootstrap", "respondent", "ci", "ci_jsd", "equal.ci", "choices.ci", "choices.ci_jsd"),
        *intervals("bootstrap", "unit", "by_prompt.ci", "by_prompt.ci_jsd"),
    ),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_calibration,
    is_brief=True,
)
