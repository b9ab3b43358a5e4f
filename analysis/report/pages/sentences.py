"""What a comparing page says first: its answer in one sentence, from the report's own rows."""

from collections.abc import Callable, Sequence
from statistics import median

from analysis.report.findings import findings
from analysis.report.pages.cells import minus
from analysis.report.pages.places import Places, Row
from analysis.report.samples import FIELD


def headline(places: Places, kind: str, fallback: Callable[[Places], str]) -> str:
    """The largest finding of this kind; where nothing is sure, what can be said all the same."""
    found = [finding for finding in findings(places.shown.report) if finding["kind"] == kind]
    return found[0]["sentence"] if found else fallback(places)


def say_nothing_sure(places: Places) -> str:
    return "No difference between the field and the models is sure yet."


def say_variety(places: Places) -> str:
    rows = [row for row in places.shown.report["heterogeneity"] if row["entropy_bits"] is not None]
    if not rows:
        return "No answer with recommendations yet."
    if not any(row["source"] != FIELD for row in rows):
        low, high = ends(rows, "entropy_bits")
        return f"The field’s recommendations have {low:.1f} to {high:.1f} bits of entropy, by prompt."
    return "The field and the models are about equally varied: no difference is sure."


def ends(rows: Sequence[Row], name: str) -> tuple[float, float]:
    values = [row[name] for row in rows]
    return min(values), max(values)


def say_choices(places: Places) -> str:
    rows = [row for row in places.shown.report["choices"] if row["source"] == FIELD]
    known = [row for row in rows if row["correct_share"] is not None]
    if not known:
        return "No question with a right answer has been answered by people yet."
    low, high = ends(known, "correct_share")
    return f"In the field {100 * low:.0f} to {100 * high:.0f} % of answers are right, by question and chatbot."


def say_benchmarks(places: Places) -> str:
    rows = [row for row in places.shown.report["benchmarks"] if row["mean"] is not None]
    if not rows:
        return "No benchmark has been run yet."
    widest = max(rows, key=lambda row: row["range"] or 0)
    return (
        f"{places.source_cell(widest).text} with {widest['model']} scores {100 * widest['min']:.0f} to "
        f"{100 * widest['max']:.0f} % of {widest['benchmark']} over {len(widest['runs'])} runs."
    )


def say_items(places: Places) -> str:
    return "No item’s share differs surely between the field and a model yet."


def say_distances(places: Places) -> str:
    rows = [row for row in places.shown.report["distances"] if row["jsd_bits"] is not None]
    if not rows:
        return "No prompt has answers of both the field and a model yet."
    near = min(rows, key=lambda row: row["jsd_bits"])
    return (
        f"Nearest to the field is {places.source_cell(near).text} with {near['model']} on “{near['prompt']}”: "
        f"{near['jsd_bits']:.2f} bits (n = {near['n']:,})."
    )


def say_parts(places: Places) -> str:
    rows = places.shown.report["cells"]
    if not rows:
        return "Nobody has answered in a group yet."
    return "No group’s answers differ surely from everybody else’s."


def say_drift(places: Places) -> str:
    rows = places.shown.report["drift"]
    if not rows:
        return "No run has been repeated on another day yet."
    return f"No drift: none of {len(rows):,} comparisons of a run with its repetition is sure."


def say_costs(places: Places) -> str:
    rows = places.shown.report["costs"]
    if not rows:
        return "No run has answered yet."
    dollars, answers = sum(row["usd"] for row in rows), sum(row["completions"] for row in rows)
    cost = f"cost ${dollars:,.2f}" if dollars else "cost nothing"
    timed = [row for row in rows if row["latency_s"]["p50"] is not None]
    if not timed:
        return f"{answers:,} completions {cost}; none of them was timed."
    slow = max(timed, key=lambda row: row["latency_s"]["p50"])
    who = f"{places.source_cell(slow).text} with {slow['model']}"
    return f"{answers:,} completions {cost}; {who} takes longest, {slow['latency_s']['p50']:.1f} s in the median."


def say_precision(places: Places) -> str:
    rows = [
        row
        for row in places.shown.report["precision"]
        if row["measure"] == "entropy_bits" and row["planned_n"] == 400 and row["width"] is not None
    ]
    if not rows:
        return "Too few answers to say how wide the intervals will be."
    middle = median(row["width"] for row in rows)
    return f"With 400 answers a prompt, the interval of the entropy will be about {middle:.2f} bits wide."


def say_sensitivity(places: Places) -> str:
    """The largest change that any other choice of answers makes."""
    changes = list(changes_of(places.shown.report["sensitivity"]))
    if not changes:
        return "No answer is flagged or excluded: there is nothing to leave out."
    size, row, change = max(changes, key=lambda entry: entry[0])
    if row["kind"] == "choice":
        what = f"the share of right answers to “{row['prompt']}” by {minus(f'{100 * change:+.0f}')} percentage points"
    else:
        what = f"the entropy of “{row['prompt']}” by {minus(f'{change:+.2f}')} bits"
    if size == 0:
        return "Flagged or excluded answers, in or out: no number changes."
    return f"Of what could be left out or in, “{row['set']}” changes most: {what}."


def changes_of(rows: Sequence[Row]) -> list[tuple[float, Row, float]]:
    """Each set's distance from what is analysed, relative to what it is measured in."""
    base = {(row["prompt"], row["model"]): row for row in rows if row["set"] == "as analysed"}
    found = []
    for row in rows:
        other = base.get((row["prompt"], row["model"]))
        name = "correct_share" if row["kind"] == "choice" else "entropy_bits"
        if other is None or other is row or None in (row.get(name), other.get(name)):
            continue
        change = row[name] - other[name]
        found.append((abs(change) / (1 if name == "correct_share" else max(other[name], 1e-9)), row, change))
    return found
