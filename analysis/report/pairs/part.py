"""A pair of sides: the items and letters that differ most, how varied each side is, and their distance."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import altair as alt
import numpy as np

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import PERCENT, Strips, colour_scale, make_legend, room_for, shape_scale, words_on_grid
from analysis.charts.tables import COUNT, FINE, POINTS, SHARE, Column, P
from analysis.charts.theme import LIGHT, printable, series_of_groups
from analysis.report import columns as col
from analysis.report.claims.enough import FEWEST, held_back, is_enough, may_turn
from analysis.report.claims.gate import PAGES, PAIR_ITEMS, PAIR_OPTIONS, PAIR_VARIETY
from analysis.report.columns import Part, TableSpec, intervals
from analysis.report.dataset import LETTERS
from analysis.report.pairs.sides import Chosen, Named, choose, name_items, shared_prompts, why_not
from analysis.report.parts.distances import distance_values
from analysis.report.parts.heterogeneity import difference_rows
from analysis.report.samples import Data, correct_over_prompts, difference_in, item_gaps, low_high, reasons
from analysis.stats.heterogeneity import Comparison, Distance, compare_sources, mean_excess
from analysis.stats.item_measures import MEASURES
from analysis.stats.simultaneous import LEVEL, Family, ShareGaps, share_gaps
from surveys.studies.wording import INTERVAL, decimal, join_words, percent, plural, sized


def compute(data: Data) -> Row:
    """Compute the part, empty unless the filters name a pair. Differences are the first side minus the second."""
    if not data.filters.compare:
        return {}
    a, b = (choose(data, text) for text in data.filters.compare)
    head: Row = {"a": a.heading, "b": b.heading}
    empty = {"items": [], "options": [], "varied": [], "distance": {"prompts": [], "mean": None}}
    if why := why_not(data, a, b):
        return {**head, **empty, "why": why}
    asked = shared_prompts(data, a, b)
    lists, choices = ([prompt for prompt in asked if prompt in some] for some in (data.lists, data.choices))
    named = {prompt: name_items(a, b, prompt) for prompt in lists}
    compared = {prompt: compare_items(data, a, b, found) for prompt, found in named.items()}
    items = [gaps_of(a, b, prompt, found) for prompt, found in named.items()]
    options = [letters_of(a, b, prompt) for prompt in choices]
    varied = [varied_row(a, b, prompt, found) for prompt, found in compared.items()]
    correct_over_prompts(varied, *(difference_in("differences", name) for name in MEASURES))
    told = families(items, options, varied)
    return {
        **head,
        "items": largest_first(items, told.get(PAIR_ITEMS)),
        "options": largest_first(options, told.get(PAIR_OPTIONS)),
        "varied": varied,
        "distance": distances_of(a, b, compared),
        "tails": {
            name: [list(gaps.tail) for _, gaps, *_ in found]
            for name, found in ((PAIR_ITEMS, items), (PAIR_OPTIONS, options))
            if name in told
        },
        **reasons(why=None if asked else no_prompt(a, b)),
    }


def no_prompt(a: Chosen, b: Chosen) -> str:
    if a.data.frames is b.data.frames:
        return "No prompt has answers of both sides."
    return "No prompt that both studies ask in the same words has answers of both sides."


def whose(chosen: Chosen, n: int, units: int, unknown: int) -> Row:
    return {"n": n, "units": units, "unit": chosen.data.unit_of(chosen.source), "unknown": unknown}


def compare_items(data: Data, a: Chosen, b: Chosen, named: Named) -> Comparison:
    samples = {side.side.text: sample for side, sample in zip((a, b), named.samples, strict=True)}
    return compare_sources(samples, [(a.side.text, b.side.text)], data.shared_draws)


Found = tuple[list[Row], ShareGaps]


def gaps_of(a: Chosen, b: Chosen, prompt: str, named: Named) -> Found:
    """A row for each item frequent enough to be tested, and the differences of all items with their widths."""
    samples = named.samples
    shares, gaps = item_gaps(samples)
    counts = [sample.counts() for sample in samples]
    sides = [
        whose(side, sample.n, sample.unit_count, sample.n - len(np.unique(sample.rows)))
        for side, sample in zip((a, b), samples, strict=True)
    ]
    rows = [
        {
            "prompt": prompt,
            "item": named.items[code],
            "name": named.names[code],
            **{
                key: side | {"count": int(count[code]), "share": share[code]} | named.behind(place, int(code))
                for place, (key, side, count, share) in enumerate(zip("ab", sides, counts, shares, strict=True))
            },
            "place": int(code),
        }
        for code in np.flatnonzero(gaps.tested)
    ]
    return rows, gaps


def letters_of(a: Chosen, b: Chosen, prompt: str) -> Found:
    """A row for each letter of a choice, and the differences with their widths."""
    samples = [side.options(prompt) for side in (a, b)]
    counts = [sample.counts().tolist() for sample in samples]
    sides = [
        whose(side, sample.n, sample.unit_count, sample.unknown) for side, sample in zip((a, b), samples, strict=True)
    ]
    shares = [np.array(count, dtype=float) / max(1, sample.n) for count, sample in zip(counts, samples, strict=True)]
    gaps = share_gaps(shares[0], sides[0]["units"], shares[1], sides[1]["units"], 0.0)
    asked = a.data.frames.prompts[prompt]
    answer, texts = asked.answer, asked.choices
    rows = [
        {
            "prompt": prompt,
            "item": LETTERS[place],
            "name": f"{LETTERS[place]}: {texts[place]}",
            "is_right": LETTERS[place] == answer,
            **{
                key: side | {"count": count[place], "share": share[place]}
                for key, side, count, share in zip("ab", sides, counts, shares, strict=True)
            },
            "place": place,
        }
        for place in range(samples[0].options)
    ]
    return rows, gaps


def families(items: Sequence[Found], options: Sequence[Found], varied: Sequence[Row]) -> dict[str, Family]:
    """Families as in the page's claims: those present divide the chance of claims if nothing differs."""
    found = {PAIR_ITEMS: items, PAIR_OPTIONS: options}
    enough = {
        name: any(is_enough(row["a"], row["b"]) for rows, _ in some for row in rows) for name, some in found.items()
    }
    there = [name for name, is_there in enough.items() if is_there] + [PAIR_VARIETY] * any(map(is_enough, varied))
    whole = sum(PAGES["pair"][name] for name in there)
    return {
        name: Family(0, [gaps.tail for _, gaps in some], PAGES["pair"][name] / whole)
        for name, some in found.items()
        if enough[name]
    }


def largest_first(found: Sequence[Found], family: Family | None) -> list[Row]:
    return by_size(row for one in found for row in shares_rows(*one, family))


def by_size(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -abs(row["difference"]))


def shares_rows(rows: Sequence[Row], gaps: ShareGaps, family: Family | None) -> Iterator[Row]:
    """Yield rows with the difference, its simultaneous interval and corrected p, or why there is none."""
    for row in rows:
        place = row.pop("place")
        gap, width, strength = (float(found[place]) for found in (gaps.gaps, gaps.widths, gaps.strength))
        found: Row = {"difference": gap, "width": width, "strength": strength, "ci": None, "p": None}
        why = "" if is_enough(row["a"], row["b"]) else f"Fewer than {FEWEST} on one side: too few to test."
        if family and not why:
            half, p = family.critical * width, family.p(strength)
            turns = may_turn(row["a"], row["a"]["share"], row["b"], row["b"]["share"])
            if held_back(row["a"], row["b"]) or turns and p < LEVEL:
                why = "Held back: answers in which nothing was found could turn it round."
            found |= {"ci": [max(-1.0, gap - half), min(1.0, gap + half)], "p": None if why else p}
        yield row | found | reasons(why=why)


def varied_row(a: Chosen, b: Chosen, prompt: str, found: Comparison) -> Row:
    pair = (a.side.text, b.side.text)
    differences = found.differences[pair]
    return {
        "prompt": prompt,
        "n": min(side.items(prompt).unit_count for side in (a, b)),
        "differences": difference_rows(differences),
    }


def distances_of(a: Chosen, b: Chosen, compared: dict[str, Comparison]) -> Row:
    """Distances by prompt, and their mean, with what chance gives samples of these sizes."""
    pair = (a.side.text, b.side.text)
    found: dict[str, Distance] = {prompt: one.distances[pair] for prompt, one in compared.items()}
    rows = [{"prompt": prompt, "n": one.units, **distance_values(one)} for prompt, one in found.items()]
    correct_over_prompts(rows, lambda row: row if row["p"] is not None else None)
    mean = mean_excess(list(found.values())) if found else None
    whole = mean and {
        "jsd_bits": mean.jsd_bits,
        "chance": mean.chance,
        "excess": mean.excess,
        "ci": low_high(mean.ci),
        "prompts": mean.prompts,
        "units": mean.units,
        **reasons(ci_why=mean.ci_why),
    }
    return {"prompts": rows, "mean": whole}


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Which items differ most"
NARROW_TOP = 8  # rows that fit below the sentence on a phone's first screen
NOTHING = "No pair is chosen, or its sides have no item in common prompts yet."
DRAWN_COLUMNS = [
    Column("prompt", "prompt"),
    Column("item", "item", value=lambda row: printable(row["name"])),
    Column("a", "first side", value=lambda row: row["names"][0]),
    Column("n_a", "responses of the first", value=lambda row: row["a"]["n"]),
    Column("share_a", "share of the first", unit="share", value=lambda row: row["a"]["share"]),
    Column("b", "second side", value=lambda row: row["names"][1]),
    Column("n_b", "responses of the second", value=lambda row: row["b"]["n"]),
    Column("share_b", "share of the second", unit="share", value=lambda row: row["b"]["share"]),
    Column("difference", "difference", unit="share"),
    *read.ends_in("share"),
    Column("p", "p, corrected"),
    read.WHY,
]


def pair_in(report: Report) -> Row:
    found: Row = report.get("pair") or {}
    return found


def largest(pair: Row) -> list[Row]:
    """The pair's items and letters over all prompts, the largest difference first."""
    return by_size([*pair.get("items", ()), *pair.get("options", ())])


def draw(report: Report, options: Options) -> Figure:
    pair = pair_in(report)
    rows = largest(pair)
    if not rows:
        nothing = pair.get("why") or NOTHING
        return figure.empty_figure("pair", TITLE, nothing, DRAWN_COLUMNS, options)
    names = [pair[key]["name"] for key in "ab"]
    shown = rows[: min(options.top, NARROW_TOP) if options.narrow and not options.column else options.top]
    marks = [mark for row in shown for mark in marks_of(row, names, options)]
    words = Words(TITLE, caption(report, names, shown, rows), describe(shown, names))
    table = [read.drawn_row(row | {"names": names}, DRAWN_COLUMNS) for row in rows]
    return figure.make_figure("pair", words, draw_strips(marks, names, options), marks, table, DRAWN_COLUMNS, options)


BETWEEN = " · "  # an item and its prompt


def label_of(row: Row, options: Options) -> str:
    return f"{printable(row['name'])}{BETWEEN}{options.name(row['prompt'])}"


def marks_of(row: Row, names: Sequence[str], options: Options) -> Iterator[Row]:
    shares = [row[key]["share"] for key in "ab"]
    told = difference_words(row)
    for key, name, share in zip("ab", names, shares, strict=True):
        yield {
            "row": label_of(row, options),
            "series": name,
            "share": share,
            "low": min(shares),
            "high": max(shares),
            "said": told if key == "a" else "",
            "label": label_of(row, options) if key == "a" else "",
            "text": f"{label_of(row, options)}, {name}: {percent(share)}, {row[key]['count']} of {row[key]['n']}",
        }


def difference_words(row: Row) -> str:
    """Such as "+30 (12 to 48)"; without an interval the points alone."""
    gap = decimal(100 * row["difference"], 0, "", True)
    ci = row.get("ci")
    return f"{gap} ({decimal(100 * ci[0], 0)} to {decimal(100 * ci[1], 0)})" if ci else gap


def draw_strips(marks: Sequence[Row], names: Sequence[str], options: Options) -> Spec:
    """Draw shares on strips, with labels beside them or, on a phone, above, to save width."""
    labels = tuple(dict.fromkeys(mark["row"] for mark in marks))
    room = 6 if options.narrow else room_for(labels, 260)
    told = 0 if options.narrow else 92
    width = options.width - 24 - room - told
    step = (25 if options.narrow else 20) if options.column else 36 if options.narrow else 26
    strips = Strips(labels, width, room, step=step, padding=0.0)
    series = series_of_groups(names)
    scale = alt.Scale(domain=[0, min(1.0, max(mark["high"] for mark in marks))], nice=True)
    axis = alt.Axis(title="share of answers that name it", labelExpr=PERCENT, tickCount=5, grid=True, ticks=False)
    y = strips.axis("row")
    if options.narrow:
        y["axis"]["labels"] = False
    base = alt.Chart().encode(y=y)
    below: Row = {"yOffset": 6 if options.column else 8} if options.narrow else {}
    colour = alt.Color("series:N", scale=colour_scale(series), legend=make_legend(series, options, room))
    shape = alt.Shape("series:N", scale=shape_scale(series), legend=None)
    layers = [
        base.mark_rule(strokeWidth=3, stroke=LIGHT["soft"], opacity=0.35, **below)
        .encode(x=alt.X("low:Q", scale=scale, axis=axis), x2=alt.X2("high:Q")),
        base.mark_point(filled=True, opacity=1, size=50 if options.column else 95, aria=True, **below)
        .encode(alt.X("share:Q", scale=scale, axis=axis), colour, shape, alt.Description("text:N")),
        *said_in(base, width, options),
    ]  # fmt: skip
    return figure.below([figure.panel(figure.specs_of(layers), width, strips.height)])


def said_in(base: alt.Chart, width: int, options: Options) -> list[alt.Chart]:
    """The differences, and the labels if they are above the strips."""
    size, high = (11, -6) if options.column else (12, -8)
    said, label = (
        base.encode(x=alt.XValue(x), text=alt.Text(f"{field}:N")) for x, field in ((width, "said"), (0, "label"))
    )
    if not options.narrow:
        return words_on_grid(said, size, align="left", dx=10)
    return [
        *words_on_grid(said, size, align="right", dy=high),
        *words_on_grid(label, size, align="left", dy=high, limit=width - 100),
    ]


def caption(report: Report, names: Sequence[str], shown: Sequence[Row], rows: Sequence[Row]) -> str:
    first = shown[0]
    n = sized(*(row[key]["n"] for row in shown for key in "ab"))
    units = join_words(list(dict.fromkeys(plural(first[key]["units"], first[key]["unit"]) for key in "ab")))
    tested = sum(row.get("ci") is not None for row in rows)
    some = f", of which {tested:,} {'was' if tested == 1 else 'were'} tested"
    ends = ", with simultaneous 95 % intervals over all of them" if tested else ""
    return read.write_caption(
        report,
        f"{names[0]} and {names[1]}: the largest of {plural(len(rows), 'difference')}"
        f"{some if tested < len(rows) else ' that were tested'}. At the right the first side minus the second in "
        f"points{ends} ({n}; {units})."
        f"{pooled(pair_in(report)['distance'].get('mean'))}",
        definitions=["item_share", "simultaneous", "jsd_excess"],
        sizes=False,
    )


def pooled(mean: Row | None) -> str:
    """The mean distance over all prompts and its excess over chance, in words."""
    if not mean or mean["excess"] is None:
        return ""
    ci = mean["ci"] and f", {INTERVAL} {decimal(mean['ci'][0], 3)} to {decimal(mean['ci'][1], 3)}"
    apart, excess = decimal(mean["jsd_bits"], 3), decimal(mean["excess"], 3)
    return (
        f" Over {plural(mean['prompts'], 'prompt')} their items are on average {apart} bits apart, {excess} above "
        f"chance ({sized(mean['units'])} on the smaller side{ci or ''})."
    )


def describe(rows: Sequence[Row], names: Sequence[str]) -> str:
    """The first three rows in words."""
    return " ".join(
        f"{printable(row['name'])}: {names[0]} {percent(row['a']['share'])}, {names[1]} {percent(row['b']['share'])}."
        for row in rows[:3]
    )


# In tables --------------------------------------------------------------------------------------------------


def rows_of_pair(find: Callable[[Row], list[Row]]) -> Callable[[Report, Options], list[Row]]:
    """Return a reader of rows with both sides' headings, for column labels and links to texts."""

    def rows(report: Report, options: Options) -> list[Row]:
        pair = pair_in(report)
        sides = {"sides": [pair[key] for key in "ab"]} if pair else {}
        return [row | sides | {"source": "", "model": ""} for row in find(pair)] if pair else []

    return rows


def side_texts(place: int, row: Row) -> Row | None:
    """The parameters of a side's texts; None if the row merges several of its items, or no address selects them."""
    behind, texts = row["ab"[place]].get("items", [row["item"]]), row["sides"][place]["texts"]
    if len(behind) != 1 or not texts:
        return None
    more = {"item": behind[0]} if "is_right" not in row else {"letter": row["item"]}
    return {**texts, **more}


def side_column(place: int, row: Row) -> Column:
    key = "ab"[place]
    return Column(
        f"{key}.share",
        row["sides"][place]["name"],
        SHARE,
        short=row["sides"][place]["name"],
        soft=lambda row: f"{row[key]['count']} of {row[key]['n']}",
        texts=partial(side_texts, place),
    )


DIFFERENCE = Column("difference", "Difference, points", POINTS, "ci", why="why")
P_OF_PAIR = Column("p", "p, corrected", P, why="why")
NAME = Column("name", "Item")


def share_columns(rows: list[Row], options: Options) -> Sequence[Column]:
    sides = [side_column(place, rows[0]) for place in (0, 1)] if rows else []
    return [col.PROMPT, NAME, *sides, DIFFERENCE, P_OF_PAIR]


def varied_columns(rows: list[Row], options: Options) -> Sequence[Column]:
    return [col.PROMPT, Column("n", "n of each", COUNT), *col.differences_of(col.OF_LISTS, "differences")]


DISTANCE_COLUMNS = (
    col.PROMPT,
    Column("n", "n of the smaller", COUNT),
    col.DISTANCE.column(),
    Column("chance", "By chance", FINE),
    col.P_HOLM,
)
ITEMS_TABLE = TableSpec(
    "pair-items", "All items that were tested", share_columns, rows_of_pair(lambda pair: pair["items"]),
    ("item_share", "simultaneous"), "Every prompt’s items that at least 2 % of both sides together name.",
    "No item to compare.",
)  # fmt: skip
OPTIONS_TABLE = TableSpec(
    "pair-options", "Options", share_columns, rows_of_pair(lambda pair: pair["options"]), ("simultaneous",),
    optional=True,
)  # fmt: skip
VARIED_TABLE = TableSpec(
    "pair-varied", "How much more varied the first side is", varied_columns, rows_of_pair(lambda pair: pair["varied"]),
    (col.ENTROPY.name, "rarefied"), f"Both of as many units as the smaller side has. {col.CORRECTED}",
)  # fmt: skip
DISTANCE_TABLE = TableSpec(
    "pair-distances", "How far apart", DISTANCE_COLUMNS, rows_of_pair(lambda pair: pair["distance"]["prompts"]),
    (col.DISTANCE.name, "chance"), col.CORRECTED,
)  # fmt: skip


def say(report: Report) -> str:
    pair = pair_in(report)
    if pair.get("why") or not largest(pair):
        return str(pair.get("why") or "Choose two sides to compare.")
    return f"No prompt has answers of {FEWEST} people, simulated users or repeats on both sides: too few to compare."


PART = Part(
    "pair",
    "the two sides",
    compute,
    {"pair": "Two sides of one’s choice: differences are the first side minus the second."},
    intervals=(
        *intervals("simultaneous", "unit", "items.*.ci", "options.*.ci"),
        *intervals("jackknife", "unit", "varied.*.differences.*.ci"),
        *intervals("bootstrap", "unit", "distance.prompts.*.ci", "distance.prompts.*.ci_tv", "distance.mean.ci"),
    ),
    tables=(ITEMS_TABLE, OPTIONS_TABLE, VARIED_TABLE, DISTANCE_TABLE),
    pages=(ITEMS_TABLE, OPTIONS_TABLE, VARIED_TABLE, DISTANCE_TABLE),
    draw=draw,
    say=say,
)
