"""Shares over all chatbots together: as counted, with each side's own mix of chatbots, and at the field's mix."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.charts import rows as read
from analysis.charts.figure import Figure, Options, Report, Row, Words, empty_figure, make_figure
from analysis.charts.panels import Panel, draw_grids, grid_of
from analysis.charts.tables import ENDS, POINTS, SHARE, Column, NumberFormat
from analysis.charts.theme import printable, series_of_groups
from analysis.report import columns as col
from analysis.report.columns import Part, TableSpec, intervals, rows_in
from analysis.report.dataset import LETTERS
from analysis.report.parts.heterogeneity import item_rows
from analysis.report.samples import Data, Source, low_high
from analysis.stats import choices
from analysis.stats.population import StratumShare, weighted
from surveys.studies.wording import INTERVAL, join_words, number, percent, span

MOST = 5  # items per side in a prompt's rows
OF_NO_CHATBOT = "Its model belongs to no chatbot: which mix its answers stand for is not known."
NO_ANSWER = "None of its answers stands for {}: at the field’s mix there is no share."


@dataclass(frozen=True)
class Stratum:
    """One chatbot's people, or the answers of one of its models, with the share of each answer."""

    chatbot: str | None
    n: int
    shares: dict[str, StratumShare]


def compute(data: Data) -> list[Row]:
    """Rows for prompts that people answered with two chatbots or more."""
    fields = [group.field for group in data.groups if group.chatbot is not None]
    return [row for prompt in data.prompts for row in prompt_rows(data, fields, prompt)]


def prompt_rows(data: Data, fields: Sequence[Source], prompt: str) -> Iterator[Row]:
    asked = [field for field in fields if len(data.rows_of(field, prompt))]
    if len(asked) < 2:
        return
    for name in dict.fromkeys(source.name for source in data.main_sources):
        sources = [source for source in data.main_sources if source.name == name]
        sources = [source for source in sources if len(data.rows_of(source, prompt))]
        # Models without a chatbot stay apart: the mix of their answers is unknown.
        known = [source for source in sources if source.chatbot is not None]
        for together in ([known] if known else []) + [[source] for source in sources if source.chatbot is None]:
            answers = answers_of(data, prompt, asked, together)
            field, calls = (strata_of(data, prompt, some, answers) for some in (asked, together))
            for answer in answers:
                head = {"prompt": prompt, "kind": data.prompts[prompt].kind, "source": name}
                written = data.frames.name_of(prompt, answer) if prompt in data.lists else answer
                models = {"model": None if known and together is known else together[0].model}
                yield head | models | {"answer": answer, "name": written} | mixed(answer, field, calls)


def answers_of(data: Data, prompt: str, asked: Sequence[Source], sources: Sequence[Source]) -> list[str]:
    """The right letter, or the items most frequent in the field and in the source."""
    if prompt in data.choices:
        return [key] if (key := data.frames.prompts[prompt].answer) else []
    vocabulary, found = data.frames.vocabulary(prompt), []
    for some in (asked, sources):
        counts = np.sum([data.items(source, prompt).counts() for source in some], axis=0)
        found += [vocabulary[code] for code in (-counts).argsort(kind="stable")[:MOST] if counts[code]]
    return list(dict.fromkeys(found))


def strata_of(data: Data, prompt: str, sources: Sequence[Source], answers: Sequence[str]) -> list[Stratum]:
    return [
        Stratum(source.chatbot, len(data.rows_of(source, prompt)), shares_of(data, prompt, source, answers))
        for source in sources
    ]


def shares_of(data: Data, prompt: str, source: Source, answers: Sequence[str]) -> dict[str, StratumShare]:
    if prompt in data.choices:
        found = data.once(("choices", source, prompt), lambda: choices.describe(data.options(source, prompt)))
        places = [LETTERS.index(answer) for answer in answers]
        return {LETTERS[place]: StratumShare(found.shares[place], found.share_ci[place]) for place in places}
    codes = [data.frames.vocabulary(prompt).index(answer) for answer in answers]
    rows = item_rows(data, source, prompt, codes)
    return {row["item"]: StratumShare(row["share"], row["ci"]) for row in rows}


def mixed(answer: str, field: Sequence[Stratum], calls: Sequence[Stratum]) -> Row:
    """Shares and differences with each side's own mix, and with the source at the field's."""
    people, own = shares_in(field), shares_in(calls)
    theirs, mine = ([stratum.shares[answer] for stratum in side] for side in (field, calls))
    row: Row = {
        "mix": {str(stratum.chatbot): weight for stratum, weight in zip(field, people, strict=True)},
        "mix_source": None if calls[0].chatbot is None else together(calls, own),
        "n_field": sum(stratum.n for stratum in field),
        "n": sum(stratum.n for stratum in calls),
        **written("field", weighted(people, theirs)),
        **written("raw", weighted(own, mine)),
        **written("difference_raw", weighted([*people, *(-w for w in own)], [*theirs, *mine])),
        "between": [min(share.value for share in theirs), max(share.value for share in theirs)],
        "standardised": None,
        "ci_standardised": None,
        "difference": None,
        "ci_difference": None,
    }
    if why := why_not(field, calls):
        return row | {"why": why}
    at_field = weights_at(row["mix"], calls)
    return row | {
        **written("standardised", weighted(at_field, mine)),
        **written("difference", weighted([*people, *(-w for w in at_field)], [*theirs, *mine])),
    }


def shares_in(strata: Sequence[Stratum]) -> list[float]:
    total = sum(stratum.n for stratum in strata)
    return [stratum.n / total for stratum in strata]


def together(strata: Sequence[Stratum], weights: Sequence[float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for stratum, weight in zip(strata, weights, strict=True):
        found[str(stratum.chatbot)] = found.get(str(stratum.chatbot), 0.0) + weight
    return found


def weights_at(mix: dict[str, float], calls: Sequence[Stratum]) -> list[float]:
    """The field's share of each chatbot, divided among that chatbot's models by their number of answers."""
    of_chatbot = together(calls, [stratum.n for stratum in calls])
    return [mix.get(str(s.chatbot), 0.0) * s.n / of_chatbot[str(s.chatbot)] for s in calls]


def why_not(field: Sequence[Stratum], calls: Sequence[Stratum]) -> str:
    if any(stratum.chatbot is None for stratum in calls):
        return OF_NO_CHATBOT
    there = {stratum.chatbot for stratum in calls}
    lacking = [str(stratum.chatbot) for stratum in field if stratum.chatbot not in there]
    return NO_ANSWER.format(join_words(lacking)) if lacking else ""


def written(name: str, found: StratumShare) -> Row:
    return {name: found.value, f"ci_{name}": low_high(found.ci)}


# In a figure -----------------------------------------------------------------------------------------------

TITLE = "Over all chatbots, at one mix"
NOTHING = "People answered with fewer than two chatbots: there is no mix."
SERIES = {"field": "Field", "raw": "Source as counted", "standardised": "Source at the field’s mix"}
DRAWN_COLUMNS = [
    *read.plain("prompt", "source", "model"),
    Column("answer", "item or letter"),
    *(
        column
        for name, words in {
            **SERIES, "difference_raw": "field minus source as counted", "difference": "field minus source at its mix"
        }.items()
        for column in (Column(name, words, unit="share"), *read.ends_in("share", f"ci_{name}", f"{name}_"))
    ),
    Column("mix", "mix of the field"),
    Column("mix_source", "mix of the source"),
    Column("why", "why undefined"),
]  # fmt: skip


def draw_mixes(report: Report, options: Options) -> Figure:
    rows = read.rows_of(report, "mixes")
    table = [table_row(report, row) for row in rows]
    shown = most_frequent(rows)
    points = [point for row in shown for point in points_of(row, options)]
    if not points:
        return empty_figure("mixes", TITLE, NOTHING, DRAWN_COLUMNS, options, table)
    panel = Panel("share", "Share of answers", format=".0%", top=max(point["high"] for point in points))
    grid = grid_of([panel], points, series_of_groups(SERIES.values()), options, height=170)
    caption = read.write_caption(
        report,
        "The right answer, or the item that the field names most. Filled in: as counted, each side in its own mix of "
        "chatbots, and the source as it were if as much of it stood for each chatbot as of the field. "
        f"{read.n_words(rows)} answers of the source.",
        read.INTERVAL_WORDS,
        definitions=["standardised"],
        missing=sum(row["standardised"] is None for row in rows),
        sizes=False,
    )
    words = Words(TITLE, caption, describe(shown, options))
    return make_figure("mixes", words, draw_grids([grid]), points, table, DRAWN_COLUMNS, options)


def table_row(report: Report, row: Row) -> Row:
    return read.drawn_row(row, DRAWN_COLUMNS) | {
        name: mix_words(report, row.get(name)) for name in ("mix", "mix_source")
    }


def mix_words(report: Report, mix: dict[str, float] | None) -> str:
    names = report.get("chatbots") or {}
    return ", ".join(f"{printable(names.get(bot, bot))} {percent(share)}" for bot, share in (mix or {}).items())


def most_frequent(rows: Sequence[Row]) -> list[Row]:
    """For each prompt, source and model, the answer that is most frequent in the field."""
    best: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        key = row["prompt"], row["source"], str(row["model"])
        if key not in best or row["field"] > best[key]["field"]:
            best[key] = row
    return list(best.values())


def points_of(row: Row, options: Options) -> Iterator[Row]:
    where = source_of(row), options.name(row["prompt"])
    for name, words in SERIES.items():
        value = number(row.get(name))
        if value is None:
            continue
        ends = span(row.get(f"ci_{name}")) or (value, value)
        said = f"{printable(row['name'])} {percent(value)}, {INTERVAL} {percent(ends[0])} to {percent(ends[1])}"
        yield read.mark_at("share", *where, words, value, ends, said)


def source_of(row: Row) -> str:
    name = read.shown_source(row["source"])
    return f"{name} · {printable(row['model'])}" if row["model"] else name


def describe(rows: Sequence[Row], options: Options) -> str:
    found = []
    for row in rows:
        at = f"{percent(row['standardised'])} at its mix" if number(row["standardised"]) is not None else "no other mix"
        shares = f"{percent(row['field'])} of the field, {percent(row['raw'])} as counted, {at}"
        found.append(f"{source_of(row)}, {options.name(row['prompt'])}, {printable(row['name'])}: {shares}.")
    return " ".join(found)


# In tables --------------------------------------------------------------------------------------------------

ANSWER = Column("name", "Item or letter", value=lambda row: printable(row["name"]))
COLUMNS = (
    *(col.PROMPT, ANSWER, col.SOURCE, Column("model", "Model", NumberFormat("model"), nothing="all of chatbots")),
    Column("field", "Field", SHARE, "ci_field"),
    Column("raw", "As counted", SHARE, "ci_raw"),
    Column("difference_raw", "Field minus that, points", POINTS, "ci_difference_raw", short="as counted, points"),
    Column("standardised", "At the field’s mix", SHARE, "ci_standardised", why="why"),
    Column("difference", "Field minus that, points", POINTS, "ci_difference", why="why", short="at its mix, points"),
    Column("between", "Field, by chatbot", ENDS),
)
PAGE = TableSpec(
    "mixes",
    TITLE,
    COLUMNS,
    rows_in("mixes"),
    ("standardised", "mix", "between"),
    "All chatbots together: two sides that are alike with each chatbot differ as counted where one has more of one "
    "chatbot’s answers. Only the shares at the field’s mix compare them.",
    NOTHING,
)
TABLE = replace(PAGE, note="")

PART = Part(
    "mixes",
    "all chatbots together",
    compute,
    {
        "standardised": "The source’s share if as much of it stood for each chatbot as of the field: Σ of the field’s "
        "share of people with a chatbot × the source’s share with the models that stand for it; undefined where some "
        "chatbot of the field has no answer of the source, or the model stands for none.",
        "mix": "Which part of the answers is of each chatbot: of people whose chatbot is known, and of the models that "
        "stand for it.",
        "between": "The field’s lowest and highest share by chatbot: any share in between some mix of chatbots gives.",
    },
    intervals=intervals(
        "wilson", "unit", "ci_field", "ci_raw", "ci_difference_raw", "ci_standardised", "ci_difference"
    ),
    tables=(TABLE,),
    pages=(PAGE,),
    draw=draw_mixes,
    is_long=True,
)
