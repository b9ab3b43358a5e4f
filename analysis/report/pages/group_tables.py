"""The tables of parts of the people, of repetitions, costs, planned numbers, and what exclusions change."""

from collections.abc import Sequence
from typing import Any

from analysis.report.pages.cells import NONE, Cell, Table, bits, chance, count, make_table, measured, share, words
from analysis.report.pages.places import Places, Row
from analysis.report.pages.tables import MEASURES, negated, turned, variety_cells
from analysis.report.samples import FIELD

CONTEXTS = {"memory": "Memory", "plan": "Plan", "model_shown": "Model shown"}
LIST, CHOICE = "recommendation", "choice"


# --- parts of the people


def cells_of_lists(places: Places) -> Table:
    return parts_of_lists(places, "cells", "groups", "Recommendations, by group")


def cells_of_choices(places: Places) -> Table:
    return parts_of_choices(places, "cells", "group-choices", "Choices, by group")


def contexts_of_lists(places: Places) -> Table:
    return parts_of_lists(places, "contexts", "contexts", "Recommendations, by how the chatbot was set up")


def contexts_of_choices(places: Places) -> Table:
    return parts_of_choices(places, "contexts", "context-choices", "Choices, by how the chatbot was set up")


def part_cells(places: Places, row: Row) -> list[Cell]:
    """Prompt, chatbot, which part of the people, and how many."""
    if "cell" in row:
        part, narrowed = row["name"], {"cell": row["cell"]}
    else:
        part, narrowed = f"{CONTEXTS[row['context']]}: {row['value']}", {row["context"]: row["value"]}
    who = [places.prompt_cell(row), places.model_cell(row), words(part)]
    return [*who, count(row["n"], places.texts(row, **narrowed))]


def parts_of_lists(places: Places, part: str, name: str, title: str) -> Table:
    def cells(row: Row) -> list[Cell]:
        test = row.get("against_rest", {}).get("entropy_bits", {})
        values = row["rarefied"] if places.shown.asked.rarefied else row
        return [
            *part_cells(places, row),
            *variety_cells(row, values),
            measured(test.get("effect"), test.get("ci"), sign=True),
            chance(test.get("p_holm")),
        ]

    rows = [row for row in places.shown.report[part] if row["kind"] == LIST]
    labels = ["Prompt", "Chatbot", "Who", "n", *(label for _, label in MEASURES), "Entropy minus the rest's", "p"]
    note = "The rest is everybody else with the same chatbot. p is corrected over prompts (Holm)."
    return make_table(
        name, title, labels, map(cells, rows), note=note, definitions=("cell", "rarefied", "entropy_bits")
    )


def parts_of_choices(places: Places, part: str, name: str, title: str) -> Table:
    def cells(row: Row) -> list[Cell]:
        test = row.get("against_rest", {}).get("correct_share", {})
        return [
            *part_cells(places, row),
            share(row["correct_share"], row["ci"], why=row.get("why", "")),
            share(row["unknown"] / row["n"] if row["n"] else None),
            measured(test.get("effect"), test.get("ci"), 100, 0, sign=True),
            chance(test.get("p_holm")),
        ]

    rows = [row for row in places.shown.report[part] if row["kind"] == CHOICE]
    labels = ["Prompt", "Chatbot", "Who", "n", "Right", "Unknown", "Minus the rest's, points", "p"]
    return make_table(name, title, labels, map(cells, rows), definitions=("correct_share",))


# --- the same again


def drift(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        lists = row["kind"] == LIST
        why = row.get("why", "")
        return [
            *(places.prompt_cell(row), places.source_cell(row, settings=True), places.model_cell(row)),
            words(f"{row['first_date']}, run {row['first']}", href=places.run(row["first"])),
            words(f"{row['date']}, run {row['again']}", href=places.run(row["again"])),
            count(row["n_first"]),
            count(row["n"]),
            bits(row["jsd_bits"] if lists else row["tv"], row["around"] if lists else row["ci_tv"], why=why),
            measured(None if lists else row["effect"], None if lists else row["ci"], 100, 0, sign=True),
            chance(row["p_holm"], why),
        ]

    labels = ["Prompt", "Source", "Model", "First", "Again", "n first", "n again", "Distance"]
    return make_table(
        "drift",
        "The same run again, by prompt",
        [*labels, "Right: change in points", "p"],
        map(cells, places.shown.report["drift"]),
        definitions=("jsd_bits", "tv"),
        note="Distance: of recommendations in bits, of choices total variation. p is corrected over prompts (Holm).",
        empty="No run has been repeated on another day yet.",
    )


def variants(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        lists = row["kind"] == LIST
        why = row.get("why", "")
        return [
            *(places.prompt_cell(row), words(row["variant"]), places.source_cell(row), places.model_cell(row)),
            count(row["n"], places.texts(row | {"prompt": row["variant_prompt"]})),
            bits(row["jsd_bits"] if lists else None, row["around"] if lists else None, why=why if lists else ""),
            measured(None if lists else row["effect"], None if lists else row["ci"], 100, 0, sign=True),
            chance(row["p_holm"], why),
        ]

    labels = ["Prompt", "Variant", "Source", "Model", "n", "Distance, bits", "Right: change in points", "p"]
    rows = map(cells, places.shown.report["variants"])
    empty = "No prompt of this study is a variant of another one."
    return make_table("variants", "Variants of a prompt beside the original", labels, rows, empty=empty)


# --- benchmarks, costs


def benchmarks(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        floor, why = row["noise_floor"] or {}, row.get("why", "")
        novel = share(row["novel_share"], row["novel_ci"], why=row.get("why_offline", ""))
        overlap = {None: NONE, True: "yes", False: "no"}[row["overlaps_offline"]]
        return [
            words(row["benchmark"]),
            places.source_cell(row, settings=True),
            words(row["model"]),
            count(len(row["runs"]), benchmark_texts(places, row)),
            count(row["questions"]),
            share(row["mean"], row["ci"], why=why),
            words(f"{span_words(row['min'], row['max'])}", key=row["range"] if row["range"] is not None else -1),
            measured(floor.get("range"), floor.get("ci"), 100, 0, why=floor.get("why", "")),
            share(row["unknown"], row["bounds"] if row["unknown"] else None),
            words(overlap),
            novel,
        ]

    labels = ["Benchmark", "Source", "Model", "Runs", "Questions", "Mean accuracy", "Lowest to highest"]
    return make_table(
        "benchmarks",
        "The numbers in the figure",
        [*labels, "Range by chance, points", "Unknown", "Overlaps offline", "Novel answers"],
        map(cells, places.shown.report["benchmarks"]),
        definitions=("benchmark_run", "noise_floor", "overlaps_offline", "novel_share"),
        note="Beside unknown: the accuracy if all of them were wrong, and if all were right.",
        empty="No benchmark has been run with this study's models yet.",
    )


def span_words(low: Any, high: Any) -> str:
    return NONE if low is None else f"{100 * low:.0f}–{100 * high:.0f} %"


def benchmark_texts(places: Places, row: Row) -> str:
    return places.texts(row | {"prompt": ""}, benchmark=row["benchmark"])


def costs(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        done, wait = row["completions"], row["latency_s"]
        why = wait.get("why", "")
        return [
            places.source_cell(row),
            words(row["model"]),
            words(row["benchmark"] or "the study’s prompts"),
            count(done),
            count(row["failed"]),
            measured(per(row["prompt_tokens"], done), digits=0),
            measured(per(row["completion_tokens"], done), digits=0),
            money(row["usd"]),
            money(row["usd_per_1000"]),
            measured(wait["p50"], wait["ci_p50"], why=why),
            measured(wait["p95"], wait.get("ci_p95"), why=why),
        ]

    labels = ["Source", "Model", "Asked", "Answered", "Failed", "Tokens in", "Tokens out", "Dollars", "Per 1,000"]
    return make_table(
        "costs",
        "What answers cost, and how long they took",
        [*labels, "Median wait, s", "95th percentile, s"],
        map(cells, places.shown.report["costs"]),
        note="Tokens are means of a completion. Failed calls are counted in the dollars.",
        empty="No run has answered yet.",
    )


def per(total: float | None, n: int) -> float | None:
    return None if total is None or not n else total / n


def money(dollars: float | None) -> Cell:
    if dollars is None:
        return Cell(NONE, is_number=True)
    digits = 2 if dollars >= 1 or dollars == 0 else 4
    return Cell(f"${dollars:,.{digits}f}", key=dollars, is_number=True)


def latency(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        why = row.get("why", "")
        return [
            *(places.prompt_cell(row), places.source_cell(row), places.model_cell(row)),
            count(row["n"]),
            measured(row["p50"], row["ci_p50"], why=why),
            measured(row["p95"], row["ci_p95"], why=why),
        ]

    rows = [row for row in places.shown.report["latency"] if row["n"]]
    labels = ["Prompt", "Source", "Model", "Timed", "Median wait, s", "95th percentile, s"]
    empty = "No answer has a waiting time: those of batches and imported ones have none."
    return make_table("latency", "Waiting times, by prompt", labels, map(cells, rows), empty=empty)


# --- planning, and leaving out


def precision(places: Places) -> Table:
    """A row for each prompt, chatbot and measure; the planned numbers as columns."""
    rows = places.shown.report["precision"]
    planned = sorted({row["planned_n"] for row in rows})
    names = {"entropy_bits": "Entropy, bits", "item_share": "Share of the top item", "correct_share": "Right answers"}

    def cells(found: Sequence[Row]) -> list[Cell]:
        row, by_n = found[0], {row["planned_n"]: row for row in found}
        return [
            places.prompt_cell(row),
            words(places.model(row)),
            words(names.get(row["measure"], row["measure"])),
            count(row["n"], places.texts(row)),
            *(width_cell(by_n.get(n)) for n in planned),
        ]

    labels = ["Prompt", "Chatbot", "Measure", "n now", *(f"{n:,} answers" for n in planned)]
    return make_table(
        "precision",
        "How wide the 95 % intervals will be",
        labels,
        map(cells, by(rows, "prompt", "model", "measure")),
        note="The whole width, from end to end: of entropy in bits, of shares in percentage points.",
        empty="Nobody has answered yet: the width is judged from the answers there are.",
    )


def width_cell(row: Row | None) -> Cell:
    if row is None:
        return Cell(NONE, is_number=True)
    scale, digits = (1, 2) if row["measure"] == "entropy_bits" else (100, 0)
    return measured(row["width"], row.get("ci"), scale, digits, why=row.get("why", ""))


def by(rows: Sequence[Row], *names: str) -> list[list[Row]]:
    """Rows that agree in these, in the order in which they come first."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return list(found.values())


SETS = {
    "as analysed": ("As analysed", {}),
    "with excluded": ("With excluded", {"excluded": "with"}),
    "without flagged": ("Without flagged", {"flagged": "without"}),
    "with flagged": ("With flagged", {"flagged": "with"}),
    "everybody": ("Everybody", {"people": "all", "excluded": "with", "flagged": "with"}),
}


def sensitivity_of_lists(places: Places) -> Table:
    asked = places.shown.asked.measure
    measure = asked if asked in dict(MEASURES) else "entropy_bits"
    label = dict(MEASURES)[measure]
    return sensitivity(places, LIST, "left-out", f"Recommendations: {label.lower()}", measure)


def sensitivity_of_choices(places: Places) -> Table:
    return sensitivity(places, CHOICE, "left-out-choices", "Choices: right answers", "correct_share")


def sensitivity(places: Places, kind: str, name: str, title: str, measure: str) -> Table:
    def cells(found: Sequence[Row]) -> list[Cell]:
        by_set = {row["set"]: row for row in found}
        return [
            places.prompt_cell(found[0]),
            places.model_cell(found[0]),
            *(cell for key in SETS for cell in set_cells(places, key, by_set.get(key), measure)),
        ]

    rows = [row for row in places.shown.report["sensitivity"] if row["kind"] == kind]
    labels = [label for key in SETS for label in (SETS[key][0], f"n {SETS[key][0].lower()}")]
    return make_table(name, title, ["Prompt", "Chatbot", *labels], map(cells, by(rows, "prompt", "model")))


def set_cells(places: Places, key: str, row: Row | None, measure: str) -> list[Cell]:
    if row is None:
        return [Cell(NONE, is_number=True), Cell(NONE, is_number=True)]
    spans = row.get("around") or row.get("ci") or {}
    why = row.get("why", "")
    if measure == "correct_share":
        value = share(row["correct_share"], row["ci"], why=why)
    elif measure == "outside_top5":
        covered = negated(row["top5_coverage"])
        value = share(None if covered is None else 1 + covered, shifted(turned(spans.get("top5_coverage"))), why=why)
    else:
        value = measured(row[measure], spans.get(measure), digits=0 if measure == "unique" else 2, why=why)
    return [value, count(row["n"], places.texts(row | {"source": FIELD}, **SETS[key][1]))]


def shifted(ends: list[float] | None) -> list[float] | None:
    return None if ends is None else [1 + ends[0], 1 + ends[1]]
