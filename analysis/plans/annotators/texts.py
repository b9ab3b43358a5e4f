"""A simulated plan of annotators in words, for a terminal and for its page."""

from typing import Any

from analysis.plans.annotators.simulating import FEWEST_ITEMS, MOST_ITEMS
from analysis.plans.texts import drawing, say_chance, say_hours
from analysis.stats.intervals import Z
from surveys.studies.files.hypotheses import ALPHA, KAPPA, PREFERENCE
from surveys.studies.wording import decimal, join_words, percent, plural

Row = dict[str, Any]
HEAD = f"{'items':>7} {'labels':>7} {'value':>7} {'±':>12} {'error':>8} {'other raters ±':>15}"
NAMES = {
    ALPHA: "α of people",
    KAPPA: "Mean κ of people with a judge who is as accurate as people who do not guess",
    PREFERENCE: "Share of people’s ratings that prefer the personalised response",
}
NOT_DRAWN = "Not simulated: a plan draws labels of the first question, and of one judge."
SHORT = {ALPHA: "α", KAPPA: "κ with a judge", PREFERENCE: "The share preferred"}


def say(measure: str, value: float | None) -> str:
    """A width or spread in words; a share's in points."""
    if value is None:
        return "–"
    return f"{100 * value:.1f} points" if measure == PREFERENCE else decimal(value, 3)


def say_error(measure: str, error: float) -> str:
    """A width's simulation error in the unit of the width, with one more digit."""
    return f"{100 * error:.2f}" if measure == PREFERENCE else f"{error:.4f}"


def say_value(measure: str, value: float | None) -> str:
    if value is None:
        return "–"
    return percent(value) if measure == PREFERENCE else decimal(value, 2)


def say_design(design: Row) -> str:
    return f"{plural(design['items'], 'item')} with {plural(design['overlap'], 'label')} each"


def lines_of_annotators(report: Row) -> list[str]:
    found = [
        f"SIMULATED: {report['replicates']} studies for each number, seed {report['seed']}; question "
        f"{report['question']}; {report['rests_on']}.",
        *(f"{entry['name']}: {entry['words']}" for entry in report["scenarios"]),
        "±: half the 95 % interval, with the raters as they are; other raters: 95 % of studies lie within.",
    ]
    wide = max(len("scenario"), *(len(entry["name"]) for entry in report["scenarios"]))
    for measure in report["measures"]:
        found += ["", NAMES[measure], f"{'scenario':{wide}} {HEAD}"]
        for row in of_measure(report, measure):
            error = "–" if row["width_error"] is None else say_error(measure, row["width_error"])
            why = f"  {row['why']}" if row["width"] is None else ""
            found.append(
                f"{row['scenario']:{wide}} {row['items']:7,} {row['overlap']:7} {say_value(measure, row['value']):>7} "
                f"{say(measure, row['width']):>12} {error:>8} {say(measure, row['spread']):>15}{why}"
            )
    for group in chances_of(report):
        rows = [f"  {row['scenario']}, {say_design(row)}: supported in {row['chance']}" for row in group["rows"]]
        found += ["", group["title"], *(rows or [f"  {NOT_DRAWN}"])]
    return [*found, "", *map(say_cost, report["sizes"]), "", *cheapest_lines(report)]


def chances_of(report: Row) -> list[Row]:
    """The chance of each hypothesis by scenario and design, with its interval over simulated studies."""
    chances = [row | {"chance": say_chance(row, "supported")} for row in report.get("chances", ())]
    return [
        {
            "title": f"{each['hypothesis']}: {each['text']}",
            "rows": rows,
            "said": say_chances(report, rows) if rows else NOT_DRAWN,
        }
        for each in report.get("hypotheses", ())
        for rows in [[row for row in chances if row["hypothesis"] == each["hypothesis"]]]
    ]


def say_chances(report: Row, rows: list[Row]) -> str:
    """Write the chances of the study's own design, by scenario; empty if not simulated."""
    said = [f"{row['chance']} ({row['scenario']})" for row in own_design(report, rows)]
    return f"{say_design(report['planned'])}: supported in {', '.join(said)}." if said else ""


def own_design(report: Row, rows: list[Row]) -> list[Row]:
    """The rows of the study's own design."""
    return [row for row in rows if all(row[name] == value for name, value in report["planned"].items())]


def of_measure(report: Row, measure: str) -> list[Row]:
    return [row for row in report["rows"] if row["measure"] == measure]


def say_cost(size: Row) -> str:
    people, calls = plural(size["people"], "person", "people"), plural(size["calls"], "call")
    return (
        f"{say_design(size)}: {people}, {size['currency']} {size['pay']:,.0f} pay + {size['fee']:,.0f} fee, "
        f"{say_hours(size['minutes'])} of people, {calls} of a judge"
    )


def cheapest_lines(report: Row, *measures: str) -> list[str]:
    """The cheapest designs for these measures, or for all."""
    entries = [entry for entry in report["cheapest"] if not measures or entry["measure"] in measures]
    return [say_cheapest(entry, report["within"]) for entry in entries]


def say_cheapest(entry: Row, within: float) -> str:
    measure, design = entry["measure"], entry["design"]
    wanted = f"{SHORT[measure]} to ± {say(measure, within)}, {entry['scenario']}"
    if not design:
        return f"{wanted}: none of these designs{entry['why'] and '; ' + entry['why']}."
    return f"{wanted}: {say_design(design)}, {design['currency']} {design['total']:,.0f} with the fee."


# --- for a page


def opening_of_annotators(report: Row) -> str:
    """A sentence on α in the study's own design, by scenario."""
    rows = as_planned(report, ALPHA)
    design, question = say_design(report["planned"]), report["question"]
    if not rows:
        among = f"the {plural(len(report['sizes']), 'design')} simulated"
        return f"This study’s own {design} are not among {among}{why_not(report['planned'])}."
    widths, whys = list[str](), dict[str, list[str]]()
    for row in rows:
        if row["width"] is None:
            whys.setdefault(row["why"], []).append(row["scenario"])
        else:
            value = say_value(ALPHA, row["value"])
            widths.append(f"± {say(ALPHA, row['width'])} ({row['scenario']}, α {value})")
    missing = "; ".join(f"{join_words(scenarios)}: {why}" for why, scenarios in whys.items())
    if not widths:
        return f"{design} do not tell how sure α of {question} will be ({missing})."
    return f"{design} tell α of {question} to {', '.join(widths)}{missing and '; ' + missing}."


def why_not(design: Row) -> str:
    """Why a plan never simulates the study's own design; empty if it can."""
    if design["overlap"] < 2:
        return ": agreement needs two labels an item"
    is_simulated = FEWEST_ITEMS <= design["items"] <= MOST_ITEMS
    return "" if is_simulated else f": a plan is of {FEWEST_ITEMS} to {MOST_ITEMS:,} items"


def say_others(report: Row, measure: str) -> str:
    """Write how far studies of the study's own design differ with other raters; empty if not simulated."""
    rows = [row for row in as_planned(report, measure) if row["spread"] is not None]
    spreads = ", ".join(f"± {say(measure, row['spread'])} ({row['scenario']})" for row in rows)
    design = say_design(report["planned"])
    return f"With other raters 95 % of studies lie within {spreads} of their mean: {design}." if rows else ""


def as_planned(report: Row, measure: str) -> list[Row]:
    return own_design(report, of_measure(report, measure))


def table_of(report: Row, measure: str) -> Row:
    """A measure's table, with a drawing of widths by items for each number of labels per item."""
    rows = [row | {"width_ci": ends_of(row)} if row["width_error"] else row for row in of_measure(report, measure)]
    widest = max((row["width"] for row in rows if row["width"] is not None), default=1.0) or 1.0
    curves = []
    for overlap in dict.fromkeys(row["overlap"] for row in rows if row["width"] is not None):
        part = report | {
            "sizes": [size for size in report["sizes"] if size["overlap"] == overlap],
            "planned": report["planned"]["items"] if report["planned"]["overlap"] == overlap else 0,
        }
        here = [row for row in rows if row["overlap"] == overlap]
        drawn = drawing(part, here, "width", 1.1 * widest, lambda value: say(measure, value).split()[0], "items")
        unit = ", ± points" if measure == PREFERENCE else ", ±"
        curves.append({"title": f"{plural(overlap, 'label')} an item{unit}", **drawn})
    return {
        "name": NAMES[measure],
        "curves": curves,
        "others": say_others(report, measure),
        "rows": [cells_of(row) for row in rows],
        "cheapest": cheapest_lines(report, measure),
    }


def ends_of(row: Row) -> tuple[float, float]:
    return row["width"] - Z * row["width_error"], row["width"] + Z * row["width_error"]


def cells_of(row: Row) -> Row:
    measure = row["measure"]
    return {
        "scenario": row["scenario"],
        "items": row["items"],
        "overlap": row["overlap"],
        "value": say_value(measure, row["value"]),
        "width": row["why"] if row["width"] is None else say(measure, row["width"]),
        "between": " to ".join(say(measure, end) for end in row["width_ci"]) if "width_ci" in row else "–",
        "spread": say(measure, row["spread"]),
        "without": row["without"],
    }
