"""A simulated plan in words and drawings, for a terminal and for its page."""

from collections.abc import Callable, Sequence
from typing import Any

from analysis.report.planned.part import px
from analysis.report.planned.verdicts import say_alphas, unit_word, written
from surveys.studies.wording import join_words, percent, plural

Row = dict[str, Any]
LEFT, RIGHT, TOP, BOTTOM = 44.0, 262.0, 26.0, 170.0  # px of a drawing's plot within 372 × 214
APART = 16.0  # px between the names at the lines' ends


def lines_of(report: Row) -> list[str]:
    found = [
        f"SIMULATED: {report['replicates']} studies for each number, seed {report['seed']}; models answer each prompt "
        f"{report['calls_a_side']} times; {say_alphas(report['alphas'])}, Holm within it."
    ]
    found += [f"{entry['name']}: {entry['words']}" for entry in report["scenarios"]]
    wide = max(len("scenario"), *(len(entry["name"]) for entry in report["scenarios"]))
    for hypothesis in report["hypotheses"]:
        found += ["", f"{hypothesis['hypothesis']}: {hypothesis['text']}"]
        found.append(f"{'scenario':{wide}} {'people':>7} {'±':>7} {'told apart':>11} {'supported (Holm)':>17}")
        rows = rows_for(report, hypothesis)
        found += [f"{row['scenario']:{wide}} {line_of(row, hypothesis['measure'])}" for row in rows]
    benchmark = [report["benchmark"]] if "benchmark" in report else []
    return [*found, "", *benchmark, *costs_lines(report), *smallest_lines(report), *looks_lines(report)]


def rows_for(report: Row, hypothesis: Row) -> list[Row]:
    return [row for row in report["rows"] if row["hypothesis"] == hypothesis["hypothesis"]]


def costs_lines(report: Row) -> list[str]:
    return [
        f"{plural(size['people'], 'person', 'people')}: {size['currency']} {size['pay']:,.0f} pay + "
        f"{size['fee']:,.0f} fee, {say_hours(size['minutes'])} of people, {plural(size['calls'], 'call')}"
        for size in report["sizes"]
    ]


def say_hours(minutes: int) -> str:
    return f"{minutes / 60:,.{1 if minutes < 600 else 0}f} hours"


def smallest_lines(report: Row) -> list[str]:
    which, together = "The hypothesis", ""
    if len(report["hypotheses"]) > 1:
        which, together = "Each hypothesis by itself", " all at once perhaps less often,"
    return [
        f"{which} supported {percent(report['wish'])} of the time,{together} {entry['scenario']}: "
        f"{plural(entry['people'], 'person', 'people') if entry['people'] else 'none of these sizes'}."
        f"{say_close(report, entry['scenario'])}"
        for entry in report["smallest"]
    ]


def say_close(report: Row, scenario: str) -> str:
    """A further sentence on sizes that simulation error leaves on either side of the wish; else empty."""
    ends: dict[int, list[tuple[float, float]]] = {}
    for row in report["rows"]:
        if row["scenario"] == scenario:
            ends.setdefault(row["people"], []).append(row["supported_ci"])
    lowest = {people: [min(end) for end in zip(*found, strict=True)] for people, found in sorted(ends.items())}
    close = [f"{people:,}" for people, (low, high) in lowest.items() if low < report["wish"] <= high]
    error = f" Within the simulation’s error of {percent(report['wish'])}: {join_words(close)} people."
    return error if close else ""


def looks_lines(report: Row) -> list[str]:
    """Write how often a study of the planned size stops at each look; empty without looks."""
    found = [
        f"{row['scenario']}: of {plural(report['replicates'], 'study', 'studies')} "
        + join_words([f"{say_chance(stop, 'chance')} stop at {stop['people']:,} people" for stop in row["stops"]])
        + f"; {row['expected']:,.0f} people on average."
        for row in report["looks"]
        if row["people"] == report["planned"]
    ]
    if nothing := report["nothing"]:
        worst = f" of {nothing['family']}, the worst family," if len(report["alphas"]) > 1 else ""
        found.append(
            f"Where nothing differs, {say_chance(nothing, 'claimed')} of studies with "
            f"{plural(nothing['people'], 'person', 'people')} claim anything{worst} at any look; "
            f"{'its ' if worst else ''}alpha is {nothing['alpha']:g}."
        )
    return found


def say_chance(row: Row, name: str) -> str:
    low, high = (percent(end) for end in row[f"{name}_ci"])
    return f"{percent(row[name])} ({low}–{high})"


def notes_of(rows: list[Row], measure: str) -> list[str]:
    """Notes on scenarios in which lists cannot differ as much as planned."""
    short = {row["scenario"]: row for row in rows if abs(row["true"]) < 0.9 * abs(row["wanted"])}
    return [
        f"{name}: so few items cannot differ by {written(measure, abs(row['wanted']))} {unit_word(measure)}, only by "
        f"{written(measure, abs(row['true']))}."
        for name, row in short.items()
    ]


def line_of(row: Row, measure: str) -> str:
    width = "–" if row["width"] is None else written(measure, row["width"])
    chance, unit = say_chance(row, "supported"), unit_word(measure)
    return f"{row['people']:7,} {width:>7} {percent(row['told_apart']):>11} {chance:>17} {unit}"


# --- for a page


def opening_of(report: Row) -> str:
    """A sentence on the hypothesis supported least often at the planned size in the main scenario."""
    planned, middle = report["planned"], report["main"]
    rows = [row for row in report["rows"] if (row["people"], row["scenario"]) == (planned, middle)]
    if not rows:
        return f"Simulated for {plural(len(report['sizes']), 'number')} of people."
    worst = min(rows, key=lambda row: row["supported"])
    others = [
        f"{row['scenario']} {percent(row['supported'])}"
        for row in report["rows"]
        if (row["people"], row["hypothesis"]) == (planned, worst["hypothesis"]) and row["scenario"] != middle
    ]
    people, hardest = plural(planned, "person", "people"), f"“{worst['hypothesis']}”"
    which = f"{hardest} is" if len(report["hypotheses"]) == 1 else f"{hardest}, the hardest hypothesis, is"
    return (
        f"With {people}, {which} supported in {percent(worst['supported'])} of simulated studies ({', '.join(others)})."
    )


def tables_of(report: Row) -> list[Row]:
    """A table for each hypothesis, with a row in words for each number of people and scenario."""
    return [
        {
            "text": hypothesis["text"],
            "slug": hypothesis["hypothesis"],
            "curves": curves_of(report, hypothesis),
            "notes": notes_of(rows_for(report, hypothesis), hypothesis["measure"]),
            "rows": [cells_of(row, hypothesis["measure"]) for row in rows_for(report, hypothesis)],
        }
        for hypothesis in report["hypotheses"]
    ]


def cells_of(row: Row, measure: str) -> Row:
    width = "–" if row["width"] is None else f"{written(measure, row['width'])} {unit_word(measure)}"
    low, high = (percent(end) for end in row["supported_ci"])
    return {
        "scenario": row["scenario"],
        "people": f"{row['people']:,}",
        "n": join_words([f"{n:,}" for n in (row["n_a"], row["n_b"]) if n]),
        "width": width,
        "told_apart": percent(row["told_apart"]),
        "supported": percent(row["supported"]),
        "between": f"{low} to {high}",
    }


# --- drawings


def curves_of(report: Row, hypothesis: Row) -> list[Row]:
    """Drawings of a hypothesis's interval width and chance by number of people, with a line for each scenario."""
    rows = rows_for(report, hypothesis)
    widest = max((row["width"] for row in rows if row["width"] is not None), default=1.0) or 1.0
    measure = hypothesis["measure"]
    return [
        {
            "title": f"Width of the interval, ± {unit_word(measure)}",
            **drawing(report, rows, "width", 1.1 * widest, lambda value: written(measure, value)),
        },
        {"title": "Supported, with Holm", **drawing(report, rows, "supported", 1.0, percent)},
    ]


def drawing(
    report: Row,
    rows: Sequence[Row],
    name: str,
    most: float,
    say: Callable[[float], str],
    along: str = "people",
) -> Row:
    """Draw `name` by size, with a line for each scenario. `along`: what the sizes count."""
    counts = [size[along] for size in report["sizes"]]
    first, last = min(counts), max(counts)

    def x(count: float) -> float:
        return LEFT + (RIGHT - LEFT) * ((count - first) / (last - first) if last > first else 0.5)

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * value / most

    lines = []
    for scenario in report["scenarios"]:
        found = [row for row in rows if row["scenario"] == scenario["name"] and row[name] is not None]
        dots = [{"x": px(x(row[along])), "y": px(y(row[name]))} for row in found]
        errors = [(row[along], *row[f"{name}_ci"]) for row in found if f"{name}_ci" in row]
        lines.append(
            {
                "name": scenario["name"],
                "look": "thick" if scenario["name"] == report["main"] else scenario["name"],
                "points": " ".join(f"{dot['x']},{dot['y']}" for dot in dots),
                "dots": dots,
                "errors": [{"x": px(x(at)), "low": px(y(low)), "high": px(y(high))} for at, low, high in errors],
                "end": y(found[-1][name]) if found else BOTTOM,
            }
        )
    spread(lines)
    return {
        "lines": lines,
        "levels": [{"y": px(y(most * part)), "label": say(most * part)} for part in (0, 0.5, 1)],
        "sizes": [{"x": px(x(size[along])), "count": size[along], "cost": short(size)} for size in report["sizes"]],
        "planned": px(x(report["planned"])) if first <= report["planned"] <= last else None,
        "alt": "; ".join(
            f"{row['scenario']}, {row[along]} {along}: {'none' if row[name] is None else say(row[name])}"
            for row in rows
        ),
    }


def spread(lines: list[Row]) -> None:
    """Set the y of the names at the lines' ends, so that they overlap neither each other nor the axis."""
    ordered = sorted(lines, key=lambda line: float(line["end"]))
    before, below = 0.0, BOTTOM + 4.0
    for line in ordered:
        line["label"] = before = max(line["end"] + 4, before + APART)
    for line in reversed(ordered):
        below = min(line["label"], below)
        line["label"] = px(below)
        below -= APART


def short(size: Row) -> str:
    """Such as "3.4k"."""
    return f"{size['total'] / 1000:.1f}k" if size["total"] >= 1000 else f"{size['total']:.0f}"
