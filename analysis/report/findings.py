"""A report in sentences: what differs most between field, offline and sock puppets, the largest of each kind first."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from analysis.models.conditions import SOURCES
from analysis.report.dataset import FIELD

Row = dict[str, Any]
Report = Mapping[str, Any]

SURE = 0.05  # of a corrected p-value
FEWEST = 20  # answers of either side, below which nothing is said
MOST_OF_A_KIND = 4
FIXED = "\u00a0"  # between a number and its unit no line is broken


def findings(report: Report, most: int = 12) -> list[Row]:
    """Sentences with their `kind` (the page that shows more), `size` (0 to 1), `params` and `query` of that page's
    address, and the names of the definitions that they rest on. Differences that chance explains are left out.

    Sizes of different kinds have nothing in common, so the largest of each kind come first, in the order of FINDERS,
    then the second largest of each.
    """
    chosen = []
    for place, find in enumerate(FINDERS):
        found = sorted(find(report), key=lambda finding: -finding["size"])[:MOST_OF_A_KIND]
        chosen += [(number, place, finding) for number, finding in enumerate(found)]
    return [finding for _, _, finding in sorted(chosen, key=lambda entry: entry[:2])[:most]]


def finding(report: Report, kind: str, size: float, sentence: str, definitions: list[str], **params: str) -> Row:
    view = parse_qsl(report["filters"]["query"])
    kept = [(name, value) for name, value in view if name not in params]
    return {
        "sentence": sentence[0].upper() + sentence[1:],
        "kind": kind,
        "size": round(size, 4),
        "params": params,
        "query": urlencode([*kept, *params.items()]),
        "definitions": definitions,
    }


# --- words


def who(row: Row) -> str:
    """Offline with gpt-4o-mini; the field of chatgpt."""
    if row["source"] == FIELD:
        return "the field" if row["model"] == "all" else f"the field of {row['model']}"
    known = SOURCES.get(row["source"])
    return f"{known.prose if known else row['source']} with {row['model']}"


def percent(share: float) -> str:
    return f"{100 * share:.0f}{FIXED}%"


def within(ci: list[float], n: int) -> str:
    return f"(95{FIXED}% interval {100 * ci[0]:.0f}–{100 * ci[1]:.0f}, {sized(n)})"


def sized(n: int) -> str:
    return f"n{FIXED}={FIXED}{n:,}"


def field_of(rows: list[Row], row: Row) -> Row | None:
    """The field's row that stands beside this one."""
    model = row.get("chatbot") or "all"
    same = [other for other in rows if other["source"] == FIELD and other["model"] == model]
    return next((other for other in same if other["prompt"] == row["prompt"]), None)


# --- what there is to say


def of_items(report: Report) -> Iterator[Row]:
    """For each source and prompt the item whose share is furthest from the field's."""
    rows = report.get("heterogeneity", ())
    for row in rows:
        field = field_of(rows, row) if row["source"] != FIELD else None
        if field is None or min(row["n"], field["n"]) < FEWEST:
            continue
        item, here, there = furthest(row, field)
        if item and apart(here["ci"], there["ci"]):
            words = (
                f"{who(row)} names {item['name']} in {percent(here['share'])} of answers to “{row['prompt']}”, "
                f"{who(field)} in {percent(there['share'])} {within(there['ci'], field['n'])}."
            )
            params = {"prompt": row["prompt"], "source": row["source"], "model": row["model"], "item": item["item"]}
            size = abs(here["share"] - there["share"])
            yield finding(report, "items", size, words, ["item_share", "ci"], **params)


def furthest(row: Row, field: Row) -> tuple[Row | None, Row, Row]:
    """The item of both top lists with the largest gap between the two shares."""
    here = {item["item"]: item for item in row["top_items"]}
    there = {item["item"]: item for item in field["top_items"]}
    both = here.keys() & there.keys()
    best = max(sorted(both), key=lambda name: abs(here[name]["share"] - there[name]["share"]), default=None)
    return (here[best], here[best], there[best]) if best else (None, {}, {})


def apart(one: list[float], other: list[float]) -> bool:
    return one[0] > other[1] or other[0] > one[1]


def of_heterogeneity(report: Report) -> Iterator[Row]:
    """For each source over all prompts: where the field is surely more, or less, varied."""
    families: dict[tuple[str, str], list[Row]] = {}
    for row in report.get("heterogeneity", ()):
        if "against_field" in row and min(row["n"], row["against_field"]["entropy_bits"]["n"]) >= FEWEST:
            families.setdefault((row["source"], row["model"]), []).append(row)
    for rows in families.values():
        tests = [row["against_field"]["entropy_bits"] for row in rows]
        known = [test for test in tests if test["effect"] is not None]
        sure = [test for test in known if test["p_holm"] is not None and test["p_holm"] < SURE]
        mean = sum(test["effect"] for test in known) / len(known) if known else 0.0
        same_way = [test for test in sure if test["effect"] * mean > 0]
        if not same_way:
            continue
        average = sum(row["rarefied"]["entropy_bits"] or 0 for row in rows) / len(rows)
        word = "more" if mean > 0 else "less"
        words = (
            f"The field is {word} varied than {who(rows[0])} for {len(same_way)} of {len(rows)} prompts: "
            f"entropy {abs(mean):.2f} bits {'above' if mean > 0 else 'below'} its {average:.2f} on average "
            f"(Holm-corrected p < {SURE})."
        )
        size = min(1.0, abs(mean) / max(average, average + mean, 1e-9))
        params = {"source": rows[0]["source"], "model": rows[0]["model"]}
        definitions = ["entropy_bits", "rarefied", "against_field"]
        yield finding(report, "heterogeneity", size, words, definitions, **params)


def of_choices(report: Report) -> Iterator[Row]:
    rows = report.get("choices", ())
    for row in rows:
        field = field_of(rows, row) if row["source"] != FIELD else None
        test = row.get("against_field", {}).get("correct_share", {})
        if field is None or test.get("effect") is None or min(row["n"], field["n"]) < FEWEST:
            continue
        if test["p_holm"] < SURE:
            words = (
                f"{who(row)} answers “{row['prompt']}” correctly in {percent(row['correct_share'])} of cases, "
                f"{who(field)} in {percent(field['correct_share'])} {within(field['ci'], field['n'])}."
            )
            params = {"prompt": row["prompt"], "source": row["source"], "model": row["model"]}
            yield finding(report, "choices", abs(test["effect"]), words, ["correct_share", "against_field"], **params)


def beside_offline(report: Report) -> Iterator[Row]:
    """Benchmark rows of more than one run that offline runs stand beside."""
    return (row for row in report.get("benchmarks", ()) if row["source"] != "offline" and len(row["runs"]) > 1)


def of_ranges(report: Report) -> Iterator[Row]:
    """Ranges of benchmark scores that offline runs do not reach."""
    for row in beside_offline(report):
        if row["overlaps_offline"] is False:
            ranges = f"{percent(row['min'])} to {percent(row['max'])} in {len(row['runs'])} runs"
            words = f"{who(row)} scores {ranges} of {row['benchmark']}: a range that offline runs never reach."
            params = {"source": row["source"], "model": row["model"]}
            gap = abs(row["mean"] - row["offline_mean"])
            yield finding(report, "benchmarks", gap, words, ["benchmark_run", "overlaps_offline"], **params)


def of_new_letters(report: Report) -> Iterator[Row]:
    """Questions to which offline runs never give a letter that others give."""
    for row in beside_offline(report):
        if row["novel_share"]:
            words = (
                f"On {percent(row['novel_share'])} of {row['shared_questions']} questions of {row['benchmark']} a run "
                f"of {who(row)} gives a letter that no offline run gives"
            )
            words += f" {within(row['novel_ci'], row['shared_questions'])}." if row.get("novel_ci") else "."
            params = {"source": row["source"], "model": row["model"]}
            yield finding(report, "benchmarks", row["novel_share"], words, ["novel_share"], **params)


def of_calibration(report: Report) -> Iterator[Row]:
    """Which sock puppet is nearest to the field, and how near offline comes."""
    rows = report.get("calibration", ())
    for row in rows:
        if not row["nearest"]:
            continue
        size = f", {row['history_size']} conversations" if row["history_size"] else ""
        offline = next(
            (other for other in rows if (other["source"], other["model"]) == ("offline", row["model"])), None
        )
        beside = f"; offline is at {bits(offline)}" if offline and offline["jsd_bits"] is not None else ""
        words = (
            f"The sock puppet nearest to the field is {who(row)}{size}: mean distance {bits(row)} over "
            f"{row['prompts']} prompt{'' if row['prompts'] == 1 else 's'}{beside}."
        )
        params = {"source": row["source"], "model": row["model"]}
        yield finding(report, "calibration", row["jsd_bits"], words, ["jsd_bits", "around", "calibration"], **params)


def bits(row: Row) -> str:
    """A mean distance with its interval."""
    around = row.get("around")
    interval = f" (95{FIXED}% interval {around[0]:.2f}–{around[1]:.2f})" if around else ""
    return f"{row['jsd_bits']:.2f} bits{interval}"


def of_cells(report: Report) -> Iterator[Row]:
    for row in report.get("cells", ()):
        name = "correct_share" if row["kind"] == "choice" else "entropy_bits"
        test = row.get("against_rest", {}).get(name, {})
        if test.get("p_holm") is None or test["p_holm"] >= SURE or row["n"] < FEWEST:
            continue
        effect = test["effect"]
        what = "right {} often" if name == "correct_share" else "{} varied"
        much = f"{100 * abs(effect):.0f} percentage points" if name == "correct_share" else f"{abs(effect):.2f} bits"
        words = (
            f"Answers of {row['name']} to “{row['prompt']}” ({row['model']}) are "
            f"{what.format('more' if effect > 0 else 'less')} than everybody else's: {much} ({sized(row['n'])})."
        )
        size = abs(effect) if name == "correct_share" else min(1.0, abs(effect) / max(row["entropy_bits"], 1e-9))
        yield finding(report, "demographics", size, words, ["cell", name], prompt=row["prompt"], cell=row["cell"])


def of_drift(report: Report) -> Iterator[Row]:
    for row in report.get("drift", ()):
        if row["p_holm"] is None or row["p_holm"] >= SURE:
            continue
        distance = row["jsd_bits"] if row["kind"] == "recommendation" else row["tv"]
        words = (
            f"{who(row)} answers “{row['prompt']}” otherwise on {row['date']} than on {row['first_date']}: distance "
            f"{distance:.2f} (Holm-corrected p = {row['p_holm']:.3f})."
        )
        yield finding(report, "drift", distance, words, ["drift"], prompt=row["prompt"], model=row["model"])


# In the order in which they are told.
FINDERS: tuple[Callable[[Report], Iterator[Row]], ...] = (
    of_heterogeneity,
    of_items,
    of_calibration,
    of_choices,
    of_ranges,
    of_cells,
    of_drift,
    of_new_letters,
)
