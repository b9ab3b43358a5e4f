"""Curves of a simulated plan: width of the interval, and chance, against the number of people, a line a scenario."""

from collections.abc import Callable, Sequence
from typing import Any

from analysis.report.planned.cards import px
from analysis.report.planned.verdicts import unit_word, written
from surveys.console.wording import percent

Row = dict[str, Any]
LEFT, RIGHT, TOP, BOTTOM = 44.0, 262.0, 26.0, 170.0  # px of the plot within 372 × 214
APART = 16.0  # px between the names at the lines' ends


def curves_of(report: dict[str, Any], hypothesis: Row) -> list[dict[str, Any]]:
    """Both drawings of one hypothesis."""
    rows = [row for row in report["rows"] if row["hypothesis"] == hypothesis["hypothesis"]]
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
    report: dict[str, Any],
    rows: Sequence[Row],
    name: str,
    most: float,
    say: Callable[[float], str],
    along: str = "people",
) -> dict[str, Any]:
    """`along`: what the sizes are numbers of."""
    counts = [size[along] for size in report["sizes"]]
    first, last = min(counts), max(counts)

    def x(count: float) -> float:
        return LEFT + (RIGHT - LEFT) * ((count - first) / (last - first) if last > first else 0.5)

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * value / most

    lines = []
    for scenario in report["scenarios"]:
        found = [row for row in rows if row["scenario"] == scenario["name"] and row[name] is not None]
        dots = [(x(row[along]), y(row[name])) for row in found]
        errors = [
            {"x": px(x(row[along])), "low": px(y(row[f"{name}_ci"][0])), "high": px(y(row[f"{name}_ci"][1]))}
            for row in found
            if f"{name}_ci" in row
        ]
        lines.append(
            {
                "name": scenario["name"],
                "look": "thick" if scenario["name"] == report["main"] else scenario["name"],
                "points": " ".join(f"{px(across)},{px(down)}" for across, down in dots),
                "dots": [{"x": px(across), "y": px(down)} for across, down in dots],
                "errors": errors,
                "end": dots[-1][1] if dots else BOTTOM,
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


def spread(lines: list[dict[str, Any]]) -> None:
    """Names at the ends of lines stand below one another."""
    before = 0.0
    for line in sorted(lines, key=lambda line: float(line["end"])):
        before = max(line["end"] + 4, before + APART)
        line["label"] = px(before)


def short(size: Row) -> str:
    """3.4k"""
    return f"{size['total'] / 1000:.1f}k" if size["total"] >= 1000 else f"{size['total']:.0f}"
