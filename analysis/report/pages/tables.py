"""The tables below the figures of recommendations and choices: who says what, how varied, how far from the field."""

from collections.abc import Iterable

from analysis.report.pages.cells import Cell, Table, bits, chance, count, make_table, measured, share, words
from analysis.report.pages.places import Places, Row, setting_words
from analysis.report.samples import FIELD

MEASURES = (("unique", "Distinct items"), ("outside_top5", "Outside top five"), ("entropy_bits", "Entropy, bits"))
MEASURE_NAMES = dict(MEASURES) | {"top5_coverage": "Top-five coverage", "correct_share": "Right answers"}
WHO = ("Prompt", "Source", "Compared")


def who(places: Places, row: Row) -> list[Cell]:
    return [places.prompt_cell(row), places.source_cell(row), places.model_cell(row)]


def variety_cells(row: Row, values: Row, href: str = "") -> list[Cell]:
    """The three measures, coverage of the top five turned round so that higher is more varied in all."""
    spans = values.get("around") or values.get("ci") or {}
    why = row.get("why", "")
    covered, ends = values.get("top5_coverage"), spans.get("top5_coverage")
    return [
        measured(values.get("unique"), spans.get("unique"), digits=0, href=href, why=why),
        share(None if covered is None else 1 - covered, ends and [1 - ends[1], 1 - ends[0]], href=href, why=why),
        bits(values.get("entropy_bits"), spans.get("entropy_bits"), href=href, why=why),
    ]


def heterogeneity(places: Places) -> Table:
    rarefied = places.shown.asked.rarefied

    def cells(row: Row) -> list[Cell]:
        values = row["rarefied"] if rarefied else row
        top = row["top_items"][0] if row["top_items"] else None
        named = share(top["share"], top["ci"], places.texts(row, item=top["item"])) if top else Cell("–")
        return [
            *who(places, row),
            count(row["n"], places.texts(row)),
            *([count(values["n"])] if rarefied else []),
            *variety_cells(row, values),
            words(top["name"] if top else "–", soft=f"{named.text} ({named.interval})" if top else "", href=named.href),
            count(row["unknown"]),
        ]

    labels = [*WHO, "n", *(["Drawn down to"] if rarefied else []), *(label for _, label in MEASURES)]
    return make_table(
        "variety",
        "The numbers in the figure",
        [*labels, "Named most often", "Without items"],
        map(cells, places.shown.report["heterogeneity"]),
        definitions=("unique", "outside_top5", "entropy_bits", "rarefied", "ci", "unknown"),
        note="Every n leads to the texts it counts.",
    )


def against_field(places: Places) -> Table:
    """Field minus source in the rarefied measures."""

    def cells(row: Row) -> list[Cell]:
        tests = row["against_field"]
        entropy, unique, covered = (tests[name] for name in ("entropy_bits", "unique", "top5_coverage"))
        return [
            *who(places, row),
            count(entropy["n"], places.texts(row)),
            measured(entropy["effect"], entropy["ci"], sign=True),
            chance(entropy["p_holm"]),
            measured(unique["effect"], unique["ci"], digits=0, sign=True),
            chance(unique["p_holm"]),
            measured(negated(covered["effect"]), turned(covered["ci"]), 100, 0, sign=True),
            chance(covered["p_holm"]),
        ]

    rows = [row for row in places.shown.report["heterogeneity"] if "against_field" in row]
    labels = ["n", "Entropy, bits", "p", "Distinct items", "p ", "Outside top five, points", "p  "]
    return make_table(
        "against",
        "The field against each other source",
        [*WHO, *labels],
        map(cells, rows),
        definitions=("against_field",),
        note="Field minus source, both drawn down to the same n. p is corrected over prompts (Holm).",
    )


def negated(value: float | None) -> float | None:
    return None if value is None else -value


def turned(ends: list[float] | None) -> list[float] | None:
    return None if ends is None else [-ends[1], -ends[0]]


def choices(places: Places) -> Table:
    rows = places.shown.report["choices"]
    letters = sorted({letter for row in rows for letter in row["counts"] if letter != "unknown"})
    any_unknown = any(row["unknown"] for row in rows)

    def letter_cell(row: Row, letter: str) -> Cell:
        found = row["shares"].get(letter)
        if found is None:
            return Cell("", is_number=True)
        cell = share(found["share"], found["ci"], places.texts(row, letter="" if letter == "unknown" else letter))
        return Cell(
            cell.text + (" ✓" if letter == row["correct"] else ""), cell.interval, cell.href, "", cell.key, True
        )

    def cells(row: Row) -> list[Cell]:
        right = share(row["correct_share"], row["ci"], why=row.get("why", ""))
        bounds = row["bounds"] if row["unknown"] else None
        return [
            *who(places, row),
            count(row["n"], places.texts(row)),
            right,
            *(
                [Cell(f"{100 * bounds[0]:.0f}–{100 * bounds[1]:.0f}" if bounds else "", is_number=True)]
                if any_unknown
                else []
            ),
            *(letter_cell(row, letter) for letter in letters),
            letter_cell(row, "unknown"),
            bits(row["entropy_bits"], row["ci_entropy"], why=row.get("why", "")),
        ]

    return make_table(
        "answers",
        "The numbers in the figure",
        [*WHO, "n", "Right", *(["Bounds, %"] if any_unknown else []), *letters, "Unknown", "Entropy, bits"],
        map(cells, rows),
        definitions=("correct_share", "bounds", "unknown", "entropy_bits", "ci"),
        note="✓ marks the right letter."
        + (" Bounds: if every unknown answer were wrong, and if every one were right." if any_unknown else ""),
    )


def choices_against(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        right, far = (row["against_field"][name] for name in ("correct_share", "tv"))
        return [
            *who(places, row),
            count(row["n"], places.texts(row)),
            measured(right["effect"], right["ci"], 100, 0, sign=True),
            chance(right["p_holm"]),
            bits(far["effect"], far["ci"]),
            chance(far["p_holm"]),
        ]

    rows = [row for row in places.shown.report["choices"] if "against_field" in row]
    return make_table(
        "choices-against",
        "The field against each other source",
        [*WHO, "n", "Right: field minus source, points", "p", "Distance of the letters", "p "],
        map(cells, rows),
        definitions=("tv",),
        note="p is corrected over prompts (Holm).",
    )


def items(places: Places) -> Table:
    """One prompt's items as rows, sources side by side."""
    prompt = chosen_prompt(places)
    rows = [row for row in places.shown.report["items"] if row["prompt"] == prompt]
    sources = list(dict.fromkeys((row["source"], row["model"]) for row in rows))
    by_item: dict[str, dict[tuple[str, str], Row]] = {}
    for row in rows:
        by_item.setdefault(row["item"], {})[row["source"], row["model"]] = row
    wanted = places.shown.asked.q.casefold()
    found = [entry for item, entry in by_item.items() if not wanted or matches(item, entry, wanted)]

    def cells(entry: dict[tuple[str, str], Row]) -> list[Cell]:
        name = next(iter(entry.values()))["name"]
        return [words(name), *(item_cell(entry.get(source)) for source in sources)]

    def item_cell(row: Row | None) -> Cell:
        if row is None:
            return Cell("–", is_number=True)
        href = places.texts(row, item=row["item"]) if row["count"] else ""
        return share(row["share"], row["ci"], href)

    labels = [f"{places.source_cell(row).text} · {places.model(row)}" for row in first_rows(rows, sources)]
    return make_table(
        "items",
        f"What each source recommends: {places.prompt(prompt)}" if prompt else "What each source recommends",
        ["Item", *labels],
        map(cells, found),
        definitions=("item_share", "ci"),
        empty="No item matches." if wanted else "No source has answered this prompt yet.",
        note="Share of answers that name the item, with its 95 % interval. Every share leads to the texts.",
    )


def first_rows(rows: list[Row], sources: list[tuple[str, str]]) -> list[Row]:
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault((row["source"], row["model"]), row)
    return [first[source] for source in sources]


def matches(item: str, entry: dict[tuple[str, str], Row], wanted: str) -> bool:
    return wanted in item or any(wanted in row["name"].casefold() for row in entry.values())


def chosen_prompt(places: Places) -> str:
    """The one that the address names, else the first that has items."""
    lists = [prompt["slug"] for prompt in places.shown.report["prompts"] if prompt["kind"] == "recommendation"]
    wanted = places.shown.asked.filters.prompt
    return next((slug for slug in lists if not wanted or slug in wanted), "")


def distances(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        why = row.get("why", "")
        field = {"prompt": row["prompt"], "source": FIELD, "model": row["chatbot"] or "all"}
        return [
            *who(places, row),
            count(row["n"], places.texts(row)),
            count(row["n_field"], places.texts(field)),
            bits(row["jsd_bits"], row["around"], why=why),
            bits(row["chance"]),
            bits(row["tv"], row["ci_tv"], why=why),
            chance(row["p_holm"], why),
        ]

    labels = ["n", "n field", "Distance, bits", "By chance", "Total variation", "p"]
    return make_table(
        "distances",
        "Distance to the field, by prompt",
        [*WHO, *labels],
        map(cells, places.shown.report["distances"]),
        definitions=("jsd_bits", "chance", "tv", "around"),
        note="p is corrected over prompts (Holm).",
    )


def calibration(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        nearest = "all" if len(row["nearest_for"]) == row["prompts"] > 1 else ""
        nearest = nearest or ", ".join(places.prompt(prompt) for prompt in row["nearest_for"])
        return [
            words(places.source_cell(row).text, chip="nearest" if row["nearest"] else "", soft=setting_words(row)),
            places.model_cell(row),
            words(places.chatbot(row["chatbot"])),
            bits(row["jsd_bits"], row["around"], why=row.get("why", "")),
            count(row["prompts"]),
            count(len(row["nearest_for"])),
            words(nearest),
        ]

    return make_table(
        "calibration",
        "Which sock puppet comes nearest",
        ["Source", "Model", "Field of", "Mean distance, bits", "Prompts", "Nearest for", "Which"],
        map(cells, places.shown.report["calibration"]),
        definitions=("jsd_bits", "around"),
        note="The mean over prompts of the distance between the items of field and source. Offline stands beside them.",
    )


def scores(places: Places) -> Table:
    def cells(row: Row) -> list[Cell]:
        why = row.get("why", "")
        return [
            words(MEASURE_NAMES.get(row["measure"], row["measure"])),
            words(row["over"]),
            places.source_cell(row),
            words(row["model"] or "all"),
            count(row["n"]),
            bits(row["spearman"], row["ci_spearman"], why=why),
            bits(row["kendall"], row["ci_kendall"], why=why),
        ]

    rows = [row for row in places.shown.report["scores"] if "spearman" in row]
    labels = ["Measure", "Over", "Source", "Model", "n", "Spearman", "Kendall"]
    return make_table(
        "scores",
        "Would scores without people put things in the field's order?",
        labels,
        map(cells, rows),
        note="Rank correlation of a source's value with the field's, with 95 % intervals. 1 is the same order.",
    )


def near_labels(places: Places) -> Table | None:
    """Labels on a scale, right and nearly right, where the study has such prompts."""
    rows: Iterable[Row] = (row for row in places.shown.report["scores"] if "within_1" in row and row.get("prompt"))

    def cells(row: Row) -> list[Cell]:
        return [
            *who(places, row),
            count(row["n"], places.texts(row)),
            share(row["exact"], row["ci_exact"], why=row.get("why", "")),
            share(row["within_1"], row["ci"], why=row.get("why", "")),
            count(row["unknown"]),
        ]

    found = list(map(cells, rows))
    labels = [*WHO, "n", "Exactly right", "Within one step", "Unknown"]
    return make_table("near", "Right, and nearly right", labels, found) if found else None
