"""A report as tables of words: the same for the terminal, for one HTML file and for a PDF."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
NOTHING = "–"
Span = Sequence[float] | None


@dataclass(frozen=True)
class Table:
    """Cells as they are shown; `right` says which columns hold numbers."""

    part: str
    title: str
    definitions: tuple[str, ...]
    labels: tuple[str, ...]
    right: tuple[bool, ...]
    rows: list[list[str]]
    notes: list[str]  # why values are undefined

    @property
    def heads(self) -> list[dict[str, Any]]:
        return [{"label": label, "right": right} for label, right in zip(self.labels, self.right, strict=True)]

    @property
    def cells(self) -> list[list[dict[str, Any]]]:
        """Each cell with the side it stands on, for templates."""
        return [
            [{"text": cell, "right": right} for cell, right in zip(row, self.right, strict=True)] for row in self.rows
        ]


@dataclass(frozen=True)
class Column:
    label: str
    show: Callable[[Row], str]
    right: bool = True


def tables_of(report: Mapping[str, Any], parts: Iterable[str] | None = None) -> list[Table]:
    """A table for each of these parts that has rows, in the order of SECTIONS; by default for all."""
    wanted = None if parts is None else set(parts)
    chosen = [section for section in SECTIONS if wanted is None or section.part in wanted]
    found = [make_table(section, report.get(section.part) or []) for section in chosen]
    return [table for table in found if table.rows]


def make_table(section: "Section", rows: list[Row]) -> Table:
    shown = [row for row in rows if section.shows(row)]
    columns = [column for column in section.columns if any(column.show(row) != NOTHING for row in shown)]
    return Table(
        part=section.part,
        title=section.title,
        definitions=section.definitions,
        labels=tuple(column.label for column in columns),
        right=tuple(column.right for column in columns),
        rows=[[column.show(row) for column in columns] for row in shown],
        notes=list(dict.fromkeys(row["why"] for row in shown if row.get("why"))),
    )


# --- values


def number(value: float | None, ci: Span = None, digits: int = 2) -> str:
    if value is None:
        return NOTHING
    shown = f"{value:,.{digits}f}"
    return shown if ci is None else f"{shown} ({ci[0]:,.{digits}f} to {ci[1]:,.{digits}f})"


def percent(share: float | None, ci: Span = None, digits: int = 0) -> str:
    if share is None:
        return NOTHING
    shown = f"{100 * share:.{digits}f} %"
    return shown if ci is None else f"{shown} ({100 * ci[0]:.{digits}f} to {100 * ci[1]:.{digits}f})"


def chance(p: float | None) -> str:
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def words(value: Any) -> str:
    return NOTHING if value is None or value == "" else str(value)


def text(name: str, label: str = "") -> Column:
    return Column(label or name.replace("_", " "), lambda row: words(row.get(name)), right=False)


def count(name: str, label: str = "") -> Column:
    return Column(
        label or name.replace("_", " "), lambda row: NOTHING if row.get(name) is None else f"{row[name]:,.0f}"
    )


def settings(row: Row) -> str:
    """What sets a source apart from others of its name."""
    size, warmth = row.get("history_size"), row.get("temperature")
    parts = [f"{size} conversations"] if size is not None else []
    parts += [f"temperature {warmth:g}"] if warmth is not None and warmth != 1 else []
    return ", ".join(parts) or NOTHING


WHO = (text("source"), text("model"))
SETTINGS = Column("settings", settings, right=False)
P_HOLM = Column("p (Holm)", lambda row: chance(row.get("p_holm")))


def measure(name: str, label: str, digits: int = 2) -> Column:
    return Column(label, lambda row: number(row.get(name), (row.get("around") or {}).get(name), digits))


def outside_top5(row: Row) -> str:
    coverage, ci = row.get("top5_coverage"), (row.get("around") or {}).get("top5_coverage")
    return NOTHING if coverage is None else percent(1 - coverage, ci and [1 - ci[1], 1 - ci[0]])


def tested(key: str, name: str, show: Callable[..., str] = number) -> tuple[Column, Column]:
    """The difference of one measure, and its corrected p."""

    def test_of(row: Row) -> Row:
        return (row.get(key) or {}).get(name) or {}

    return (
        Column("difference", lambda row: show(test_of(row).get("effect"), test_of(row).get("ci"))),
        Column("p (Holm)", lambda row: chance(test_of(row).get("p_holm"))),
    )


MEASURES = (
    count("n"),
    count("unknown"),
    measure("unique", "unique", 0),
    Column("outside top 5", outside_top5),
    measure("entropy_bits", "entropy, bits"),
)
RAREFIED = Column("rarefied entropy", lambda row: rarefied(row))
CORRECT = Column("correct", lambda row: percent(row.get("correct_share"), ci_of_share(row)))
BOUNDS = Column("if unknown wrong to right", lambda row: between(row.get("bounds")))


def rarefied(row: Row) -> str:
    """Where nothing was left out, the value stands in another column already."""
    found = row.get("rarefied")
    if not found or found["n"] == row["n"]:
        return NOTHING
    return f"{number(found['entropy_bits'], found['ci']['entropy_bits'])}, n = {found['n']}"


def is_choice(row: Row) -> bool:
    return row["kind"] == "choice"


def is_list(row: Row) -> bool:
    return row["kind"] != "choice"


def ci_of_share(row: Row) -> Span:
    """The interval of a correct share; a list's row has one interval for each measure instead."""
    return row.get("ci") if isinstance(row.get("ci"), list) else None


def between(bounds: Span) -> str:
    return NOTHING if bounds is None else f"{100 * bounds[0]:.0f} to {100 * bounds[1]:.0f} %"


def counted(row: Row) -> str:
    return "  ".join(f"{letter} {number}" for letter, number in sorted(row["counts"].items()) if letter != "unknown")


def distance(name: str = "jsd_bits") -> Column:
    return Column("distance, bits", lambda row: number(row.get(name), row.get("around"), 3))


def runs_of(row: Row) -> str:
    if row["min"] is None:
        return NOTHING
    return f"{percent(row['min'], digits=1)} to {percent(row['max'], digits=1)}"


def floor_of(row: Row) -> str:
    floor = row.get("noise_floor") or {}
    return (
        number(100 * floor["range"], [100 * end for end in floor["ci"]], 1)
        if floor.get("range") is not None
        else NOTHING
    )


def waited(name: str) -> Column:
    def show(row: Row) -> str:
        waits = row.get("latency_s", row)
        return number(waits.get(name), waits.get(f"ci_{name}"))

    return Column("median seconds" if name == "p50" else "95 % within, seconds", show)


def dollars(row: Row) -> str:
    return f"{row['usd']:,.4f}" if 0 < row["usd"] < 0.01 else f"{row['usd']:,.2f}"


# --- the tables


@dataclass(frozen=True)
class Section:
    part: str
    title: str
    definitions: tuple[str, ...]
    columns: tuple[Column, ...]
    shows: Callable[[Row], bool] = lambda row: True


PROMPT = text("prompt")
CHATBOT = text("model", "chatbot")
GROUP = text("name", "group")
OF_CHOICES = (count("n"), count("unknown"), CORRECT, BOUNDS, *tested("against_rest", "correct_share", percent))
SECTIONS: tuple[Section, ...] = (
    Section(
        "heterogeneity",
        "How varied the recommendations are",
        ("unique", "outside_top5", "entropy_bits", "around", "rarefied", "against_field"),
        (PROMPT, *WHO, SETTINGS, *MEASURES, RAREFIED, *tested("against_field", "entropy_bits")),
    ),
    Section(
        "items",
        "What each source recommends",
        ("item_share", "ci"),
        (
            *(PROMPT, text("name", "item"), *WHO, count("count"), count("n")),
            Column("share", lambda row: percent(row["share"], row["ci"])),
        ),
    ),
    Section(
        "choices",
        "Questions with choices",
        ("correct_share", "bounds", "unknown", "ci", "against_field"),
        (
            *(PROMPT, *WHO, SETTINGS, count("n"), count("unknown")),
            Column("answers", counted, right=False),
            *(text("correct", "key"), CORRECT, BOUNDS),
            Column("entropy, bits", lambda row: number(row["entropy_bits"], row["ci_entropy"])),
            *tested("against_field", "correct_share", percent),
        ),
    ),
    Section(
        "distances",
        "How far from the field",
        ("jsd_bits", "around", "chance", "tv"),
        (
            *(PROMPT, *WHO, SETTINGS, count("n"), count("n_field", "n field"), distance()),
            Column("by chance", lambda row: number(row["chance"], digits=3)),
            Column("total variation", lambda row: number(row["tv"], row.get("around_tv", row["ci_tv"]))),
            P_HOLM,
        ),
    ),
    Section(
        "calibration",
        "Which sock puppet is nearest to the field",
        ("jsd_bits", "calibration", "around"),
        (
            *(*WHO, SETTINGS, count("prompts"), distance()),
            Column("nearest", lambda row: "nearest" if row["nearest"] else NOTHING, right=False),
            Column("nearest for", lambda row: ", ".join(row["nearest_for"]) or NOTHING, right=False),
        ),
    ),
    Section(
        "benchmarks",
        "Benchmark runs",
        ("benchmark_run", "bounds", "noise_floor", "novel_share", "overlaps_offline"),
        (
            *(text("benchmark"), *WHO, SETTINGS, count("questions")),
            Column("runs", lambda row: f"{len(row['runs'])}"),
            Column("lowest to highest", runs_of),
            Column("mean", lambda row: percent(row["mean"], row["ci"], 1)),
            Column("SD", lambda row: percent(row["sd"], digits=1)),
            Column("range by chance, points", floor_of),
            Column("unknown", lambda row: percent(row["unknown"], digits=1)),
            BOUNDS,
            Column("new letters", lambda row: percent(row["novel_share"], row["novel_ci"])),
            Column(
                "range meets offline's", lambda row: {True: "yes", False: "no"}.get(row["overlaps_offline"], NOTHING)
            ),
            Column("entropy, bits", lambda row: number(row["entropy_bits"], row["ci_entropy"])),
        ),
    ),
    Section(
        "costs",
        "Cost",
        ("usd", "latency_s"),
        (
            *(*WHO, text("benchmark"), count("completions"), count("failed")),
            *(count("prompt_tokens", "tokens in"), count("completion_tokens", "tokens out")),
            Column("US dollars", dollars),
            Column("per 1,000", lambda row: number(row["usd_per_1000"])),
            *(waited("p50"), waited("p95")),
        ),
    ),
    Section(
        "latency", "Waiting time by prompt", ("latency_s",), (PROMPT, *WHO, count("n"), waited("p50"), waited("p95"))
    ),
    Section(
        "cells",
        "By group of people: recommendations",
        ("cell", "entropy_bits", "around", "against_rest"),
        (
            PROMPT,
            CHATBOT,
            text("name", "group"),
            *MEASURES,
            RAREFIED,
            *tested("against_rest", "entropy_bits"),
        ),
        is_list,
    ),
    Section(
        "cells",
        "By group of people: questions with choices",
        ("cell", "correct_share", "against_rest"),
        (PROMPT, CHATBOT, GROUP, *OF_CHOICES),
        is_choice,
    ),
    Section(
        "contexts",
        "By the chatbot's context: recommendations",
        ("contexts", "entropy_bits", "around", "against_rest"),
        (
            *(PROMPT, CHATBOT, text("context"), text("value"), *MEASURES, RAREFIED),
            *tested("against_rest", "entropy_bits"),
        ),
        is_list,
    ),
    Section(
        "contexts",
        "By the chatbot's context: questions with choices",
        ("contexts", "correct_share", "against_rest"),
        (PROMPT, CHATBOT, text("context"), text("value"), *OF_CHOICES),
        is_choice,
    ),
    Section(
        "drift",
        "The same again on another day",
        ("drift", "jsd_bits", "tv"),
        (
            *(
                PROMPT,
                *WHO,
                text("first_date", "first"),
                text("date", "again"),
                count("n_first", "n first"),
                count("n"),
            ),
            distance(),
            Column("total variation", lambda row: number(row["tv"], row.get("around_tv", row["ci_tv"]))),
            P_HOLM,
        ),
    ),
    Section(
        "scores",
        "Do scores foretell the field's",
        ("scores", "ci"),
        (
            *(text("measure"), text("over"), *WHO, count("n")),
            Column("Spearman", lambda row: number(row.get("spearman"), row.get("ci_spearman"))),
            Column("Kendall", lambda row: number(row.get("kendall"), row.get("ci_kendall"))),
            Column("exact", lambda row: percent(row.get("exact"), row.get("ci_exact"))),
            Column("within one step", lambda row: percent(row.get("within_1"), row.get("ci"))),
        ),
    ),
    Section(
        "variants",
        "Variants of prompts",
        ("variants", "jsd_bits"),
        (
            *(PROMPT, text("variant"), *WHO, count("n_original", "n original"), count("n"), distance()),
            Column("correct, original", lambda row: percent(row.get("correct_share_original"))),
            Column("correct, variant", lambda row: percent(row.get("correct_share"))),
            Column("difference", lambda row: percent(row.get("effect"), row.get("ci") if "effect" in row else None)),
            Column("changed", lambda row: percent(row.get("changed"))),
            P_HOLM,
        ),
    ),
    Section(
        "precision",
        "Expected width of the interval with more answers",
        ("precision",),
        (
            *(PROMPT, CHATBOT, text("measure"), count("n", "n now"), count("planned_n", "planned n")),
            Column("width", lambda row: number(row["width"], digits=3)),
        ),
    ),
    Section(
        "sensitivity",
        "With other answers left out",
        ("sensitivity", "entropy_bits", "correct_share", "around"),
        (
            *(PROMPT, CHATBOT, text("set", "answers"), count("n"), count("unknown")),
            *(measure("unique", "unique", 0), measure("entropy_bits", "entropy, bits"), CORRECT),
        ),
    ),
)
