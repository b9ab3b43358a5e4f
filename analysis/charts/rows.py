"""Reads rows of a report for figures: names, order, settings, marks, tables and captions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from analysis.charts.figure import BESIDE, SIMULATED, Columns, Options, Report, Row
from analysis.charts.tables import Column, Made, at
from analysis.charts.theme import Series, printable, series_of_sources
from analysis.models.conditions import AMOUNTS, IN_ROWS, LABELS, SOURCES
from surveys.studies.wording import INTERVAL, THIN, decimal, join_words, number, plural, sized, span

SETTINGS = ("temperature", *(setting.name for setting in IN_ROWS), "settings")
DECLARED = {setting.name: setting for setting in IN_ROWS}


def rows_of(report: Report, part: str) -> list[Row]:
    """A part's rows, marked as simulated or not if the report says which data are."""
    rows = list(report.get(part) or [])
    if not report.get("simulated"):
        return rows
    with_field = part in BESIDE_FIELD and bool(report["simulated"].get("people"))
    return [row | {"simulated": with_field or is_made_up(report, row)} for row in rows]


# Parts whose rows compare a source with the field.
BESIDE_FIELD = ("distances", "calibration", "scores", "mixes", "blend")


def is_made_up(report: Report, row: Row) -> bool:
    if "simulated" in row:
        return bool(row["simulated"])
    if row.get("source", "field") == "field":
        return bool(report["simulated"].get("people"))
    names = [name for name in ("source", "model") if row.get(name)]
    rows = [*(report.get("sources") or []), *(report.get("repeated") or [])]
    return any(one.get("simulated") and all(one[name] == row[name] for name in names) for one in rows)


def in_order(values: Iterable[Any]) -> list[str]:
    """The distinct values as text, in order of first appearance."""
    return list(dict.fromkeys(str(value) for value in values))


def grouped(rows: Iterable[Row], name: str) -> dict[str, list[Row]]:
    """Group rows by their value of `name`, in order of first appearance."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row[name]), []).append(row)
    return found


def all_sources(report: Report) -> list[str]:
    """All sources that any part names, so that figures of a report agree on their looks."""
    parts = [part for part in report.values() if isinstance(part, list)]
    found = {str(row["source"]) for part in parts for row in part if isinstance(row, dict) and row.get("source")}
    return [name for name in SOURCES if name in found] + sorted(found - set(SOURCES))


def series_in(report: Report, marks: Iterable[Row]) -> Series:
    """The looks of the sources drawn."""
    return series_of_sources(all_sources(report)).only(mark["series"] for mark in marks)


def line_up(report: Report, rows: list[Row]) -> list[Row]:
    """Repeat each field row under every model that its chatbot is compared with; without any, keep it.

    A field row's model is its chatbot, or `all`, for models without a chatbot.
    """
    models = {group["chatbot"] or "all": group["models"] for group in report.get("groups") or []}
    return [
        row | {"model": model}
        for row in rows
        for model in (row["source"] == "field" and models.get(row["model"])) or [row["model"]]
    ]


def by_group(report: Report, rows: Sequence[Row]) -> list[Row]:
    """Sort rows by model, in the order of their chatbots, models without one last."""
    order = [model for group in report.get("groups") or [] for model in group["models"]]
    return sorted(rows, key=lambda row: order.index(row["model"]) if row["model"] in order else len(order))


def prompts_in_order(report: Report, rows: Iterable[Row]) -> list[str]:
    """The rows' prompts in the order of the study file, unknown ones last."""
    found = in_order(row["prompt"] for row in rows)
    listed = [str(prompt["slug"]) for prompt in report.get("prompts") or []]
    return sorted(found, key=lambda prompt: listed.index(prompt) if prompt in listed else len(listed))


def prompt_names(report: Report, rows: Iterable[Row], options: Options) -> tuple[str, ...]:
    """The rows' prompts, in the same order, as a figure names them."""
    return tuple(options.name(prompt) for prompt in prompts_in_order(report, rows))


def sorted_by_prompt(report: Report, rows: Sequence[Row]) -> list[Row]:
    order = prompts_in_order(report, rows)
    return sorted(rows, key=lambda row: order.index(row["prompt"]))


def setting_words(row: Row, names: Sequence[str] = SETTINGS) -> list[str]:
    """The row's settings in words; for an imported one also that its temperature is unknown."""
    given = [(name, row.get(name)) for name in names]
    unknown = ["temperature unknown"] * ("temperature" in names and row.get("temperature") is None)
    return unknown * bool(row.get("imported")) + [
        say_setting(name, value) for name, value in given if value is not None and value != ""
    ]


def say_setting(name: str, value: Any) -> str:
    if name == "temperature":
        return f"T{THIN}{value:g}"
    setting = DECLARED.get(name)
    if setting is None:
        return printable(value)
    if setting.unit:
        return plural(int(value), setting.unit)
    if setting.kind is bool:
        return setting.words if value else setting.words_off
    return setting.words.format(printable(value))


# The settings for how much precedes a prompt, which some figures show apart from a source's name.
AMOUNT = tuple(setting.name for setting in AMOUNTS)
AMOUNT_COLUMNS = [Column(setting.name, setting.heading, unit=f"{setting.unit}s") for setting in AMOUNTS]


def without_amount(row: Row) -> Row:
    return row | dict.fromkeys(AMOUNT)


def amount_of(row: Row) -> int | None:
    return next((int(row[name]) for name in AMOUNT if row.get(name) is not None), None)


def amount_words(row: Row) -> str:
    """The amount in words, such as 20 conversations; empty if there is none."""
    return ", ".join(setting_words(row, AMOUNT))


def label_variants(rows: Sequence[Row]) -> list[str]:
    """Name each row's source, with the settings in which rows of the same source and model differ."""
    return [", ".join([shown_source(row["source"]), *differing_words(row, rows, ("source", "model"))]) for row in rows]


def differing_words(row: Row, rows: Iterable[Row], same: Sequence[str]) -> list[str]:
    """The row's settings that differ among rows with the same values of `same`."""
    others = [other for other in rows if all(other.get(name) == row.get(name) for name in same)]
    return setting_words(row, [name for name in SETTINGS if len({repr(other.get(name)) for other in others}) > 1])


def shown_source(source: object) -> str:
    name = printable(source)
    return LABELS.get(name, name)


def names_in(report: Report) -> dict[str, str]:
    """Display names of chatbots and of their models, such as ChatGPT · gpt-4o-mini."""
    chatbots = {str(slug): printable(name) for slug, name in (report.get("chatbots") or {}).items()}
    found = dict(chatbots)
    for group in report.get("groups") or []:
        if group["chatbot"] in chatbots:
            found |= {model: f"{chatbots[group['chatbot']]}{BESIDE}{printable(model)}" for model in group["models"]}
    return found


def shown_model(model: object, options: Options) -> str:
    return printable(options.names.get(str(model), model))


def n_words(rows: Iterable[Row], key: str = "n") -> str:
    counts = counts_in(rows, key)
    return sized(*counts) if counts else "n unknown"


def counts_in(rows: Iterable[Row], key: str = "n") -> list[int]:
    return [int(count) for row in rows if (count := number(row.get(key))) is not None]


# --- the table below a figure: a row for each mark, made of the report's row


def plain(*names: str) -> list[Column]:
    """Columns whose label is their name."""
    return [Column(name, name) for name in names]


PLACE = plain("prompt", "model", "source")
TESTED = [Column("p", "p"), Column("p_holm", "p, Holm over the page")]
WHY = Column("why", "why undefined", value=lambda row: row.get("why", ""))


def end_of(ci: str, place: int) -> Made:
    """Return a reader of the lower (0) or upper (1) end of a row's interval at `ci`."""
    return lambda row: (span(at(row, ci)) or (None, None))[place]


def ends_in(unit: str = "", ci: str = "ci", name: str = "") -> list[Column]:
    """Columns for the ends of an interval; `name` prefixes their names."""
    labels = {"low": "from", "high": "to"}
    return [Column(name + end, labels[end], unit=unit, value=end_of(ci, place)) for place, end in enumerate(labels)]


def drawn_row(row: Row, columns: Columns) -> Row:
    """The row's values in these columns, NaN as None, and `simulated` if it has that."""
    values = {column.name: column.of(row) for column in columns}
    known = {name: number(value) if isinstance(value, float) else value for name, value in values.items()}
    return known | ({"simulated": bool(row["simulated"])} if "simulated" in row else {})


def told_ends(ends: Any, write: Callable[[float], str] = decimal) -> str:
    """The interval in words, to follow a value; empty if `span` reads none."""
    known = span(ends)
    return f", {INTERVAL} {' to '.join(map(write, known))}" if known else ""


def from_to(values: Sequence[float], write: Callable[[float], str] = decimal) -> str:
    """Write the range from lowest to highest; one number if both are written the same."""
    return " to ".join(dict.fromkeys(map(write, (min(values), max(values)))))


# --- marks in panels, and their description


def make_mark(value: Any, ends: Any, **where: Any) -> Row:
    """A mark for a value, with its interval if it has one."""
    low, high = span(ends) or (None, None)
    return where | {"value": value, "low": low, "high": high}


def reach(marks: Iterable[Row]) -> list[float]:
    """All values and interval ends of the marks."""
    return [end for mark in marks for end in (mark["value"], mark["low"], mark["high"]) if end is not None]


def mark_at(
    panel: str, model: str, prompt: str, series: str, value: float, ends: Any, said: str, chance: float | None = None
) -> Row:
    """A mark with its interval; its hover text names series, prompt and model before `said`."""
    where: Row = {"panel": panel, "model": model, "prompt": prompt, "series": series, "chance": chance}
    return make_mark(value, ends, **where, text=f"{series}, {prompt}, {model}: {said}")


def describe_marks(marks: Sequence[Row], measure: str, write: Callable[[float], str] = decimal) -> str:
    """Describe the range of each series of each model over prompts."""
    found = []
    for model, here in grouped(marks, "model").items():
        by_series = grouped(here, "series").items()
        ends = [f"{series} {from_to([mark['value'] for mark in some], write)}" for series, some in by_series]
        found.append(f"{model}: {measure}, by prompt: {join_words(ends)}.")
    return " ".join(found)


# --- captions


class Caption(str):
    """The words below a figure in a document; `own`: the part of this figure alone, which pages show."""

    own: str
    simulated: bool  # whether some of the report is


def write_caption(
    report: Report,
    *sentences: str,
    definitions: Iterable[str] = (),
    missing: int = 0,
    rows: Iterable[Row] = (),
    sizes: bool = True,
) -> Caption:
    """Write the figure's own sentences, then shared ones. `definitions`: names in the report, or whole sentences.

    `rows`: the rows drawn; `sizes`: whether to add their history sizes, for figures without these.
    """
    left_out = f"{plural(missing, 'value')} could not be computed and {'is' if missing == 1 else 'are'} left out."
    own = [*sentences, history_words(report, rows) if sizes else "", left_out if missing else ""]
    shared = (study_words(report), filter_words(report), exclusion_words(report), simulated_words(report))
    parts = [*own, *shared, *define(report, definitions)]
    found = Caption(" ".join(part for part in parts if part))
    found.own = " ".join(part for part in own if part and part != INTERVAL_WORDS)
    found.simulated = bool(simulated_words(report))
    return found


def history_words(report: Report, rows: Iterable[Row]) -> str:
    """Write how much precedes a prompt in these rows, by their own settings or else their source's."""
    drawn = list(rows)
    there = {(row.get("source"), row.get("model")) for row in drawn if AMOUNT[0] not in row}
    main = [row for row in report.get("sources") or [] if row.get("main") and (row["source"], row["model"]) in there]
    sizes: dict[tuple[str, str], set[int]] = {}
    for row in (*drawn, *main):
        for setting in AMOUNTS:
            if row.get(setting.name) is not None:
                sizes.setdefault((shown_source(row["source"]), setting.unit), set()).add(int(row[setting.name]))
    found = [
        f"{name} {' or '.join(f'{size:,}' for size in sorted(known))} {unit}{'s' * (known != {1})}"
        for (name, unit), known in sizes.items()
    ]
    return f"In front of a prompt: {join_words(found)}." if found else ""


def study_words(report: Report) -> str:
    return f"Study {printable(report.get('study', 'unnamed'))}, version {printable(report.get('version', 'unknown'))}."


def filter_words(report: Report) -> str:
    filters = report.get("filters")
    words = printable(filters.get("words", "")) if isinstance(filters, dict) else ""
    return f"Answers: {words[:1].lower()}{words[1:]}" if words else ""


def exclusion_words(report: Report) -> str:
    rules = [rule_words(rule) for rule in report.get("exclusions") or []]
    return f"Exclusion rules: {'; '.join(rules)}." if rules else "No exclusion rules."


def rule_words(rule: Row) -> str:
    declared = f", declared {printable(rule['declared'])}" if rule.get("declared") else ""
    met = f" ({plural(int(rule['answers']), 'answer')}{declared})" if number(rule.get("answers")) is not None else ""
    return printable(rule.get("text") or rule.get("slug", "")).rstrip(".") + met


def simulated_words(report: Report) -> str:
    found = report.get("simulated") or {}
    return f"{SIMULATED}: {made_up(found)}." if found.get("is_any") else ""


def made_up(simulated: Row) -> str:
    """Write how many people and completions are simulated, and the models; "runs" of these before any completion."""
    people, calls, models = (simulated[name] for name in ("people", "completions", "models"))
    of_people = f"{people:,} of {plural(simulated['people_in_all'], 'person', 'people')}" if people else ""
    what = plural(calls, "completion") if calls else "" if people else "runs"
    return " and ".join(filter(None, (of_people, what and f"{what} of {', '.join(models)}")))


def define(report: Report, names: Iterable[str]) -> list[str]:
    given = report.get("definitions") or {}
    return [f"{name}: {printable(given[name])}" if name in given else name for name in names]


INTERVAL_WORDS = "Lines are 95 % intervals over people, simulated users or repeats, whichever gave the answers."
