"""Costs and waiting times of each source's completions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import altair as alt
import pandas as pd

from analysis.charts import figure
from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Spec, Words
from analysis.charts.marks import KeyEntry, Strips, colour_scale, draw_key, room_for, words_on_grid
from analysis.charts.tables import COUNT, DOLLARS, PLAIN, Column, NumberFormat, at
from analysis.charts.theme import LIGHT, printable, series_of_sources
from analysis.models import Completion, Run
from analysis.report import columns as col
from analysis.report.columns import Part, TableSpec, intervals, rows_in
from analysis.report.dataset import by_column
from analysis.report.samples import Data, low_high, source_of, source_order
from analysis.stats.scores import percentiles
from surveys.studies.wording import dollars, number, plural, sized, span

Status = Completion.Status
CALLS = ("run", "prompt", "status", "prompt_tokens", "cached_tokens", "completion_tokens", "latency_ms", "usd")
WAITS = (0.5, 0.95)
NOT_TIMED = "Answers of a batch, and imported ones, have no waiting time."


def costs(data: Data) -> list[Row]:
    """A row for each source and model over the study's prompts, and one for each benchmark; all runs together."""
    return [cost_row(head, calls) for head, calls in by_source(data) if len(calls)]


def latency(data: Data) -> list[Row]:
    """Waiting times by source and prompt; benchmarks are left out."""
    found = []
    for head, calls in by_source(data):
        if head.pop("benchmark") is not None:
            continue
        done = calls[calls["status"] == Status.DONE]
        by_prompt = dict(iter(done["latency_ms"].groupby(done["prompt"], observed=True)))
        found += [
            {"prompt": prompt, **head, **waits(by_prompt[prompt])} for prompt in data.prompts if prompt in by_prompt
        ]
    return found


def by_source(data: Data) -> Iterator[tuple[Row, pd.DataFrame]]:
    """Yield the start of a row for each source, model and benchmark, with the calls of its runs."""
    runs: dict[tuple[str, str, str], list[Run]] = {}
    for run in sorted(data.frames.runs.values(), key=lambda run: source_order(source_of(run, data.definition))):
        if data.filters.wants_source(source_of(run, data.definition)):
            runs.setdefault((run.source, run.model, run.benchmark), []).append(run)
    calls = data.once(("calls",), lambda: load_calls([run.pk for run in data.frames.runs.values()]))
    for (source, model, benchmark), members in runs.items():
        made_up = all(run.is_simulated for run in members)
        head = {"source": source, "model": model, "benchmark": benchmark or None, "simulated": made_up}
        yield head, calls[calls["run"].isin([run.pk for run in members])]


def load_calls(runs: list[int]) -> pd.DataFrame:
    ended = Completion.objects.filter(run__in=runs, status__in=[Status.DONE, Status.FAILED]).order_by("id")
    fields = ("run_id", "prompt__slug", "status", "prompt_tokens", "cached_tokens", "completion_tokens", "latency_ms")
    table = pd.DataFrame(dict(zip(CALLS, by_column(ended, *fields, "cost")(), strict=True)))
    table["usd"] = table["usd"].astype(float)
    for name in ("prompt", "status"):
        table[name] = table[name].astype("category")  # compared 8 times as fast as text
    return table


def cost_row(head: Row, calls: pd.DataFrame) -> Row:
    done = calls[calls["status"] == Status.DONE]
    usd = float(calls["usd"].sum())
    return {
        **head,
        "completions": len(done),
        "failed": len(calls) - len(done),
        **{name: total(done[name]) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")},
        "usd": usd,
        "usd_per_1000": 1000 * usd / len(done) if len(done) else None,
        "latency_s": waits(done["latency_ms"]),
    }


def total(tokens: pd.Series) -> int | None:
    """Sum of the tokens; None if no call has a count."""
    return int(tokens.sum()) if tokens.notna().any() else None


def waits(milliseconds: pd.Series) -> Row:
    seconds = milliseconds.to_numpy(float) / 1000
    middle, late = percentiles(seconds, WAITS)
    row: Row = {"n": middle.n, "p50": middle.value, "p95": late.value}
    row |= {"ci_p50": low_high(middle.ci), "ci_p95": low_high(late.ci)}
    return row if middle.n else row | {"why": NOT_TIMED}


# In a figure -----------------------------------------------------------------------------------------------

TOKENS = "tokens: Tokens divided by completions."
COST_TITLE, LATENCY_TITLE = "What completions cost", "How long completions take"
NO_COSTS = "No completions yet: nothing has cost anything."
NO_TIMES = "No completion was timed: there are no waiting times to show."
COST_COLUMNS = [
    *read.plain("model", "source", "benchmark", "completions"),
    Column("prompt_tokens", "prompt tokens", unit="tokens"),
    Column("completion_tokens", "completion tokens", unit="tokens"),
    Column("usd", "cost", unit="US$"),
    Column("usd_per_1000", "cost of 1,000 completions", unit="US$", value=lambda row: per_1000(row)),
]
LATENCY_COLUMNS = [
    *read.plain("model", "source", "benchmark"),
    Column("n", "timed completions", value=lambda row: times_of(row).get("n", row.get("completions"))),
    Column("p50", "median", unit="s", value=lambda row: at(row, "latency_s.p50")),
    *read.ends_in("s", "latency_s.ci_p50", "p50_"),
    Column("p95", "95th percentile", unit="s", value=lambda row: at(row, "latency_s.p95")),
    *read.ends_in("s", "latency_s.ci_p95", "p95_"),
]
COST_PANELS = {"usd": "US$ for 1,000 completions", "tokens": "Tokens of a completion"}
TOKEN_ENTRIES = (KeyEntry("prompt tokens", LIGHT["strong-line"]), KeyEntry("completion tokens", LIGHT["ink"]))
MakeLayers = Callable[[Strips], list[alt.Chart]]
STEP, TEXT = 26, 84  # px: of a row, and for the number at the end of a bar
PAPER_STEP, PAPER_TEXT = 14, 44  # the same in a journal's column


def name_rows(rows: Sequence[Row]) -> list[str]:
    """Each row's source with its settings, and the benchmark, if any."""
    names = read.label_variants(rows)
    asked = [printable(row.get("benchmark") or "") for row in rows]
    return [f"{name}, {benchmark}" if benchmark else name for name, benchmark in zip(names, asked, strict=True)]


# Costs -----------------------------------------------------------------------------------------------------


def draw_costs(report: Report, options: Options) -> Figure:
    rows = [row for row in read.by_group(report, read.rows_of(report, "costs")) if number(row.get("completions"))]
    table = [read.drawn_row(row, COST_COLUMNS) for row in rows]
    if not rows:
        return figure.empty_figure("costs", COST_TITLE, NO_COSTS, COST_COLUMNS, options)
    pairs = list(zip(name_rows(rows), table, strict=True))
    parts = [part for name, row in pairs for part in cost_parts(name, row, options)]
    panels = [(title, bar_layers(kind, parts, rows)) for kind, title in COST_PANELS.items() if ends_of(kind, parts)]
    key, key_rows = draw_key(TOKEN_ENTRIES, options, room_for([name for name, _ in pairs]))
    spec = figure.below([*([key] if ends_of("tokens", parts) else []), draw_models(pairs, panels, options)], 14)
    words = Words(COST_TITLE, cost_caption(report, table), describe_costs(pairs, options))
    return figure.make_figure("costs", words, spec, [*key_rows, *parts], table, COST_COLUMNS, options)


def ends_of(kind: str, parts: Sequence[Row]) -> list[float]:
    return [part["end"] for part in parts if part["kind"] == kind]


def per_1000(row: Row) -> float | None:
    usd = number(row.get("usd"))
    return None if usd is None else 1000 * usd / row["completions"]


def cost_parts(name: str, row: Row, options: Options) -> list[Row]:
    where = {"row": name, "model": read.shown_model(row["model"], options), "series": read.shown_source(row["source"])}
    parts: list[Row] = []
    if (usd := row["usd_per_1000"]) is not None:
        told = f"{name}: {dollars(usd)} for 1,000 of {row['completions']:,} completions"
        parts += [{"kind": "usd", "start": 0, "end": usd, "text": told}, text_part("usd", usd, dollars(usd))]
    tokens = [number(row.get(f"{part}_tokens")) for part in ("prompt", "completion")]
    asked, given = ((value or 0) / row["completions"] for value in tokens)
    if any(value is not None for value in tokens):
        told = f"{name}: {asked:,.0f} prompt and {given:,.0f} completion tokens on average"
        parts.append({"kind": "tokens", "start": 0, "end": asked, "colour": LIGHT["strong-line"], "text": told})
        parts.append({"kind": "tokens", "start": asked, "end": asked + given, "colour": LIGHT["ink"], "text": told})
        parts.append(text_part("tokens", asked + given, f"{asked + given:,.0f}"))
    return [where | part for part in parts]


def text_part(kind: str, at: float, text: str) -> Row:
    return {"kind": f"{kind}-text", "start": at, "text": text}


def draw_models(rows: Sequence[tuple[str, Row]], panels: Sequence[tuple[str, MakeLayers]], options: Options) -> Spec:
    """A block for each model, with its panels side by side if there is room."""
    room = room_for([name for name, _ in rows], size=11 if options.column else 12)
    on_phone = options.narrow and not options.column
    across = 1 if on_phone else len(panels)
    text, rooms = (PAPER_TEXT, 1) if options.column and across > 1 else (TEXT, across)
    width = (options.width - 20 - (across - 1) * 20 - rooms * room) // across - text
    step = PAPER_STEP if options.column else STEP
    blocks = []
    for model in read.in_order(row["model"] for _, row in rows):
        name = read.shown_model(model, options)
        names = tuple(read.in_order(label for label, row in rows if row["model"] == model))
        first = Strips(names, width, room, step, padding=0.36)
        strips = [first, *(replace(first, named=not options.column) for _ in panels[1:])]
        drawn = [
            figure.panel(figure.specs_of(layers(each)), width, each.height, title, model=name)
            for each, (title, layers) in zip(strips, panels, strict=True)
        ]
        blocks.append(figure.below([figure.below(drawn, 12) if on_phone else figure.beside(drawn, 20)], title=name))
    return figure.below(blocks, 16)


def bar_layers(kind: str, parts: Sequence[Row], rows: Sequence[Row]) -> MakeLayers:
    """Bars in the source's colour, or split into prompt and completion tokens, with the number at their end."""
    axis = alt.Axis(title=None, tickCount=4, format=",~f", ticks=False, grid=True, labelOverlap=True)
    x = alt.X("start:Q", scale=alt.Scale(domain=[0, max(ends_of(kind, parts)) or 1.0], nice=False), axis=axis)
    colour = source_colour(rows) if kind == "usd" else alt.Color("colour:N", scale=None)

    def layers(strips: Strips) -> list[alt.Chart]:
        y = strips.axis("row")
        bars = figure.of_kind(kind).mark_bar(aria=True)
        said = figure.of_kind(f"{kind}-text").encode(y=y, x=x, text=alt.Text("text:N"))
        return [
            bars.encode(y=y, x=x, x2=alt.X2("end:Q"), color=colour, description=alt.Description("text:N")),
            *words_on_grid(said, 11, LIGHT["soft"], align="left", dx=6),
        ]

    return layers


def source_colour(rows: Sequence[Row]) -> alt.Color:
    return alt.Color("series:N", scale=colour_scale(series_of_sources(row["source"] for row in rows)), legend=None)


def cost_caption(report: Report, table: Sequence[Row]) -> str:
    return read.write_caption(
        report,
        f"{read.n_words(table, 'completions')} completions a bar. Totals, not estimates: there are no intervals.",
        definitions=["usd", TOKENS],
        rows=table,
        missing=sum(row["usd"] is None for row in table),
    )


def describe_costs(rows: Sequence[tuple[str, Row]], options: Options) -> str:
    total = sum(row["usd"] or 0 for _, row in rows)
    priced = [(name, row) for name, row in rows if row["usd_per_1000"]]
    if not priced:
        return f"All {sum(row['completions'] for _, row in rows):,} completions together cost nothing."
    least, most = (pick(priced, key=lambda pair: pair[1]["usd_per_1000"]) for pick in (min, max))
    ends = [
        f"{dollars(row['usd_per_1000'])} ({name}, {read.shown_model(row['model'], options)})"
        for name, row in (least, most)
    ]
    cost = f"from {ends[0]} to {ends[1]}"
    if least is most:  # one row, or all cost the same
        cost = ends[0] if len(priced) == 1 else f"{dollars(least[1]['usd_per_1000'])} everywhere"
    return f"1,000 completions cost {cost}; all together {dollars(total)}."


# Waiting times ---------------------------------------------------------------------------------------------


def draw_latency(report: Report, options: Options) -> Figure:
    rows = read.by_group(report, read.rows_of(report, "costs"))
    rows = [row for row in rows if number(times_of(row).get("p50")) is not None]
    table = [read.drawn_row(row, LATENCY_COLUMNS) for row in rows]
    if not rows:
        return figure.empty_figure("latency", LATENCY_TITLE, NO_TIMES, LATENCY_COLUMNS, options)
    names = name_rows(rows)
    pairs = list(zip(names, table, strict=True))
    top = max(value for row in table for value in (row["p50"], row["p95"], row["p95_high"]) if value is not None)
    key, key_rows = draw_key(time_entries(table), options, room_for(names))
    parts = [part for name, row in pairs for part in time_parts(name, row, options)]
    spec = draw_models(pairs, [("Seconds", lambda strips: time_layers(strips, top, rows))], options)
    answers = f"{read.n_words(table)} completions a row, those that failed left out."
    caption = read.write_caption(report, answers, definitions=["latency_s"], rows=table)
    words, spec = Words(LATENCY_TITLE, caption, describe_times(pairs, options)), figure.below([key, spec], 14)
    return figure.make_figure("latency", words, spec, [*key_rows, *parts], table, LATENCY_COLUMNS, options)


def times_of(row: Row) -> Row:
    found = row.get("latency_s")
    return found if isinstance(found, dict) else {}


def time_parts(name: str, row: Row, options: Options) -> list[Row]:
    where = {"row": name, "model": read.shown_model(row["model"], options), "series": read.shown_source(row["source"])}
    late = row["p95"] if row["p95"] is not None else row["p50"]
    told = f"{name}: median {row['p50']:.2f} s, 95th percentile {late:.2f} s, {sized(row['n'])}"
    text = " – ".join(dict.fromkeys(map(seconds, (row["p50"], late)))) + " s"
    parts: list[Row] = [{"kind": "time", "start": row["p50"], "end": late, "text": told}]
    parts += [{"kind": "ci", "start": low, "end": high} for low, high in spans_of(row)]
    furthest = max([late, *(high for _, high in spans_of(row))])
    return [where | part for part in [*parts, text_part("time", furthest, text)]]


def seconds(value: float) -> str:
    return f"{value:.{1 if value >= 1 else 2}f}"


def spans_of(row: Row) -> list[tuple[float, float]]:
    found = [span([row[f"{name}_low"], row[f"{name}_high"]]) for name in ("p50", "p95")]
    return [bounds for bounds in found if bounds]


def time_layers(strips: Strips, top: float, rows: Sequence[Row]) -> list[alt.Chart]:
    """A dot at the median, a tick at the 95th percentile, and their intervals below in ink."""
    axis = alt.Axis(title=None, tickCount=6, format="~g", ticks=False, grid=True)
    scale = alt.Scale(domain=[0, top], nice=False)
    colour = source_colour(rows)
    y, x = strips.axis("row"), alt.X("start:Q", scale=scale, axis=axis)
    said = figure.of_kind("time-text").encode(y=y, x=x, text=alt.Text("text:N"))
    return [
        figure.of_kind("time").mark_rule(strokeWidth=3).encode(y=y, x=x, x2=alt.X2("end:Q"), color=colour),
        figure.of_kind("time").mark_tick(thickness=3, size=14, opacity=1)
        .encode(y=y, x=alt.X("end:Q", scale=scale, axis=axis), color=colour),
        figure.of_kind("time").mark_point(filled=True, shape="circle", size=80, opacity=1, aria=True)
        .encode(y=y, x=x, color=colour, description=alt.Description("text:N")),
        figure.of_kind("ci").mark_rule(strokeWidth=1.6, stroke=LIGHT["ink"], yOffset=9).encode(y, x, alt.X2("end:Q")),
        *words_on_grid(said, 11, LIGHT["soft"], align="left", dx=8),
    ]  # fmt: skip


def time_entries(table: Sequence[Row]) -> list[KeyEntry]:
    found = [KeyEntry("median", LIGHT["soft"], sign="dot"), KeyEntry("95th percentile", LIGHT["soft"], sign="tick")]
    return [*found, KeyEntry("95 % intervals", LIGHT["ink"], sign="line")] if any(map(spans_of, table)) else found


def describe_times(rows: Sequence[tuple[str, Row]], options: Options) -> str:
    fast, slow = (pick(rows, key=lambda pair: pair[1]["p50"]) for pick in (min, max))
    ends = [
        f"{seconds(row['p50'])} s ({name}, {read.shown_model(row['model'], options)})" for name, row in (fast, slow)
    ]
    if fast is slow:  # one row, or all take as long
        time = ends[0] if len(rows) == 1 else f"{seconds(fast[1]['p50'])} s everywhere"
        return f"The median waiting time is {time}."
    return f"Median waiting times go from {ends[0]} to {ends[1]}."


# In tables --------------------------------------------------------------------------------------------------


def waited(inside: str = "") -> tuple[Column, Column]:
    return (
        Column(f"{inside}p50", "Median wait, s", PLAIN, f"{inside}ci_p50", why=f"{inside}why"),
        Column(f"{inside}p95", "95th percentile, s", PLAIN, f"{inside}ci_p95", why=f"{inside}why"),
    )


def per_completion(name: str, label: str) -> Column:
    def mean(row: Row) -> float | None:
        return None if row[name] is None or not row["completions"] else row[name] / row["completions"]

    return Column(name, label, NumberFormat(digits=0), value=mean)


ASKED = Column("benchmark", "Asked", value=lambda row: row["benchmark"] or "the study’s prompts")
COUNTS = (Column("completions", "Answered", COUNT), Column("failed", "Failed", COUNT))
PAID = (Column("usd", "Dollars", DOLLARS), Column("usd_per_1000", "Per 1,000", DOLLARS))
COST_TABLE = TableSpec(
    "costs",
    "Cost",
    (
        *(col.SOURCE, col.MODEL, ASKED, *COUNTS),
        *(Column("prompt_tokens", "Tokens in", COUNT), Column("completion_tokens", "Tokens out", COUNT)),
        *(*PAID, *waited("latency_s.")),
    ),
    rows_in("costs"),
    ("usd", "latency_s"),
)
COST_PAGE = TableSpec(
    "costs",
    "What answers cost, and how long they took",
    (
        *(col.SOURCE, col.MODEL, ASKED, *COUNTS),
        *(per_completion("prompt_tokens", "Tokens in"), per_completion("completion_tokens", "Tokens out")),
        *(*PAID, *waited("latency_s.")),
    ),
    rows_in("costs"),
    note="Tokens are means of a completion. Failed calls are counted in the dollars.",
    empty="No run has answered yet.",
)
LATENCY_TABLE = TableSpec(
    "latency",
    "Waiting time by prompt",
    (col.PROMPT, col.SOURCE, col.COMPARED, col.SIZE, *waited()),
    rows_in("latency"),
    ("latency_s",),
)
LATENCY_PAGE = TableSpec(
    "latency",
    "Waiting times, by prompt",
    (col.PROMPT, col.SOURCE, col.MODEL, Column("n", "Timed", COUNT), *waited()),
    rows_in("latency", lambda row: bool(row["n"])),
    empty="No answer has a waiting time: those of batches and imported ones have none.",
)


def say(report: Report) -> str:
    rows = report["costs"]
    if not rows:
        return "No run has answered yet."
    usd, answers = sum(row["usd"] for row in rows), sum(row["completions"] for row in rows)
    if not answers:
        return f"No run has answered yet{f'; calls that failed cost {dollars(usd)}' if usd else ''}."
    cost = f"cost {dollars(usd)}" if usd else "cost nothing"
    timed = [row for row in rows if at(row, "latency_s.p50") is not None]
    if not timed:
        return f"{plural(answers, 'completion')} {cost}; none of them was timed."
    medians = [row["latency_s"]["p50"] for row in timed]
    waits = " to ".join(dict.fromkeys(map(seconds, (min(medians), max(medians)))))
    return f"{plural(answers, 'completion')} {cost}; in the median a source takes {waits} s."


COSTS = Part(
    "costs",
    "costs",
    costs,
    {"usd": "What the provider's prices make of the tokens, failed calls that were paid included."},
    intervals=intervals("exact", "call", "latency_s.ci_p50", "latency_s.ci_p95"),
    tables=(COST_TABLE,),
    pages=(COST_PAGE,),
    draw=draw_costs,
    say=say,
    is_brief=True,
)
LATENCY = Part(
    "latency",
    "waiting times",
    latency,
    {"latency_s": "Seconds from sending a call to its whole reply."},
    intervals=intervals("exact", "call", "ci_p50", "ci_p95"),
    tables=(LATENCY_TABLE,),
    pages=(LATENCY_PAGE,),
    draw=draw_latency,
    draws_from=("costs",),
    is_long=True,
)
