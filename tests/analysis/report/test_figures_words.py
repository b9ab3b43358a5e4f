"""What figures say: alternative texts and captions, from rows small enough to check by hand."""

from typing import Any

import pytest

from analysis.charts.figure import Figure, Options
from analysis.report import columns as col
from analysis.report.overview import OVERVIEW_FIGURES
from analysis.report.parts import DEFINITIONS, FIGURES, distances, heterogeneity
from analysis.stats.item_measures import MEASURES
from tests.analysis.report.figure_rows import make_report

Row = dict[str, Any]


def make(name: str, rows: list[Row], part: str = "", **options: Any) -> Figure:
    return FIGURES[name]({"study": "teas", "version": 2, part or name: rows}, Options(**options))


def variety(prompt: str, source: str, entropy: float | None, unique: int = 10, coverage: float = 0.5) -> Row:
    where = {"prompt": prompt, "source": source, "model": "m", "n": 40}
    known = {"unique": unique, "top5_coverage": coverage, "entropy_bits": entropy}
    return where | dict.fromkeys(MEASURES, 0.5) | known


def test_a_field_alone_is_described_from_twenty_people_on() -> None:
    row = {"source": "field", "prompt": "teas", "model": "chatgpt", "n": 20, "units": 20, col.ENTROPY.key: 2.32}
    said = heterogeneity.say({"heterogeneity": [row]})
    assert said == "The field’s recommendations have 2.3 bits of entropy, by prompt, n\u00a0=\u00a020 people."
    few = heterogeneity.say({"heterogeneity": [row | {"n": 19, "units": 19}]})
    assert few == "Fewer than 20 people have answered a prompt: too few to compare."


def test_heterogeneity_says_from_where_to_where_each_source_goes_and_compares_nothing() -> None:
    rows = [
        variety("a", "field", 3.0), variety("b", "field", 3.5), variety("a", "offline", 2.0),
        variety("b", "offline", None), variety("b", "sp-rag", 3.25),
    ]  # fmt: skip
    assert make("heterogeneity", rows).alt == (
        "m: bits of entropy, by prompt: Field 3.00 to 3.50, Offline 2.00 and SP-RAG 3.25."
    )


def test_without_people_nothing_is_drawn_down_to_the_field() -> None:
    alone, beside = (
        make("heterogeneity", [variety("a", source, 2.0) | {"rarefied": {"n": 25, "entropy_bits": 1.9}}
                               for source in sources], rarefied=True).own
        for sources in (["offline", "sp-rag"], ["offline", "field"])
    )  # fmt: skip
    assert alone.startswith("Values are of as many units as the smallest source with 20 or more has; n")
    assert beside.startswith("Values are of as many units as the smaller of the source and the field has; n")


def test_what_is_not_drawn_is_no_n_of_a_mark() -> None:
    rows = [variety("a", "field", 3.0), variety("b", "field", None) | dict.fromkeys(MEASURES) | {"n": 6}]
    assert "n\u00a0=\u00a040 responses a mark" in make("heterogeneity", rows).own
    groups = [row | {"cell": "men"} for row in rows]
    assert "n\u00a0=\u00a040 responses a mark" in make("demographics", groups, "cells").own
    pairs = [{"measure": "unique", "over": "prompts", "source": "offline", "model": model, "n": n, "spearman": rho}
             for model, n, rho in (("m", 9, 0.5), ("k", 2, None))]  # fmt: skip
    assert "n\u00a0=\u00a09 pairs a mark" in make("scores", pairs).own
    far = [distance("a", "offline", 0.4), distance("b", "offline", 0.4) | {"n": 3, "n_field": 1, "jsd_bits": None}]
    assert "n\u00a0=\u00a040 responses a mark, against 50 of the field" in make("distances", far).own


def distance(prompt: str, source: str, jsd: float) -> Row:
    row = {"prompt": prompt, "model": "m", "source": source, "n": 40, "n_field": 50, "jsd_bits": jsd, "ci": [0, 1]}
    return row | {"even": jsd, "chance": 0.1}


def test_distances_say_how_far_each_source_is_above_chance() -> None:
    rows = [distance("a", "offline", 0.4), distance("a", "sp-rag", 0.3), distance("b", "offline", 0.2)]
    rows += [distance("b", "sp-rag", 0.3), distance("c", "offline", 0.5)]
    made = make("distances", rows)
    # (0.3 + 0.1 + 0.4) / 3 and (0.2 + 0.2) / 2; a small distance of few answers says nothing by itself.
    assert made.alt == (
        "m: mean distance above chance, in bits: Offline 0.267 over 3 prompts and SP-RAG 0.200 over 2 prompts."
    )
    assert "n\u00a0=\u00a040 responses a mark, against 50 of the field." in made.caption


def test_distances_are_not_compared_where_nothing_was_found() -> None:
    nothing = distance("a", "offline", 0.4) | {"jsd_bits": None, "ci": None, "even": None, "chance": None}
    assert distances.say({"distances": [nothing]}) == "Nothing is compared: in too many answers nothing was found."
    assert distances.say({"distances": []}) == (
        "No prompt for recommendations has answers of both the field and a model."
    )


def test_one_distance_is_no_range() -> None:
    one, other = distance("a", "offline", 0.4), distance("b", "offline", 0.2)
    assert distances.say({"distances": [one]}) == "The distance to the field is 0.30 bits above chance."
    both = distances.say({"distances": [one, other]})
    assert both == "By prompt and source, distances to the field lie 0.10 to 0.30 bits above chance."


def choice(source: str, counts: Row, correct: str | None = "B") -> Row:
    n = sum(counts.values())
    share = counts[correct] / n if correct else None
    where = {"prompt": "medicine-1", "source": source, "model": "m", "n": n}
    return where | {"counts": counts, "correct": correct, "correct_share": share, "ci": None}


def test_choices_say_who_is_right_how_often_where_most_answers_are_known() -> None:
    rows = [
        choice("field", {"A": 1, "B": 2, "C": 1, "unknown": 1}),
        choice("offline", {"A": 0, "B": 9, "C": 1, "unknown": 0}),
    ]
    made = make("choices", rows)
    assert made.alt == "Medicine 1, m: correct in Field 40\u202f% and Offline 90\u202f%."
    rows[0] = choice("field", {"A": 1, "B": 0, "C": 0, "unknown": 4}) | {"unknown": 4}
    assert make("choices", rows).alt == "Medicine 1, m: correct in Offline 90\u202f%."
    assert "n\u00a0=\u00a05–10 answers a bar; 1 of all 15 are unknown and count as wrong." in made.caption


def test_choices_without_a_correct_answer_are_drawn_without_hatching() -> None:
    made = make("choices", [choice("field", {"A": 3, "B": 1, "unknown": 0}, correct=None)])
    kinds = {row["kind"] for row in made.spec["datasets"]["rows"]}
    assert "segment" in kinds and not kinds & {"hatch", "plate", "ci", "key-hatch"}


def item(source: str, name: str, share: float) -> Row:
    where = {"prompt": "companies", "source": source, "model": "m", "n": 100, "item": name.lower(), "name": name}
    return where | {"count": round(100 * share), "share": share, "ci": [share, share]}


def test_items_are_those_some_source_names_most_in_the_fields_order() -> None:
    rows = [
        *(item("field", name, share) for name, share in (("Sony", 0.5), ("Tesla", 0.35), ("Ikea", 0.3), ("Lego", 0.0))),
        *(
            item("offline", name, share)
            for name, share in (("Sony", 0.1), ("Tesla", 0.93), ("Ikea", 0.3), ("Lego", 0.4))
        ),
    ]
    made = make("items", rows, top=3)
    assert list(dict.fromkeys(row["item"] for row in made.table)) == ["Sony", "Tesla", "Lego"]
    assert "The 3 items of 4 that some source names most." in made.caption


def test_items_are_of_the_prompt_asked_for() -> None:
    rows = [item("field", "Sony", 0.5), item("field", "Dune", 0.2) | {"prompt": "movies"}]
    assert [row["item"] for row in make("items", rows, prompt="movies").table] == ["Dune"]
    assert make("items", rows, prompt="nowhere").table == []


def test_calibration_names_the_nearest_sock_puppet() -> None:
    rows = [
        {
            "source": "sp-rag",
            "model": "m",
            "history_size": size,
            "jsd_excess": far,
            "prompts": 9,
            "nearest": size == 100,
        }
        for size, far in ((20, 0.4), (100, 0.25))
    ]
    assert make("calibration", rows).alt == (
        "m: nearest to the field is SP-RAG with 100 conversations, 0.250 bits above chance on average."
    )


def test_calibration_draws_a_line_for_each_setting_that_differs() -> None:
    rows = [
        {"source": "sp-rag", "model": "m", "history_size": size, "per_user": per_user, "jsd_excess": 0.3, "prompts": 9}
        for size in (20, 100)
        for per_user in (False, True)
    ]
    points = make("calibration", rows).spec["datasets"]["rows"]
    assert [(point["series"], point["size"]) for point in points] == [
        ("SP-RAG, all users’", "20"),
        ("SP-RAG, one user’s", "20"),
        ("SP-RAG, all users’", "100"),
        ("SP-RAG, one user’s", "100"),
    ]


def test_one_prompt_is_one_and_several_are_counted() -> None:
    row = {"source": "sp-rag", "model": "m", "jsd_excess": 0.3, "prompts": 1, "units": 9, "unit": "repeat"}
    for rows, said in (([row], "1 prompt"), ([row, row | {"model": "k", "prompts": 9}], "1–9 prompts")):
        drawn = OVERVIEW_FIGURES["far"].draw({"calibration": rows, "groups": []}, Options())
        assert drawn.own.startswith(f"Means over {said} of the distance")


def test_demographics_show_the_measure_asked_for() -> None:
    rows = [
        variety("a", "field", 3.0) | {"cell": "men"},
        variety("a", "field", 3.0) | {"cell": "women", "kind": "choice"},
    ]
    rows[1] |= {"correct_share": 0.5, "ci": [0.4, 0.6]}
    chosen = make("demographics", rows, "cells", measure="correct_share").table
    assert [(row["group"], row["correct_share"], row["low"]) for row in chosen] == [("women", 0.5, 0.4)]
    assert [row["unique"] for row in make("demographics", rows, "cells", measure="unique").table] == [10]


def test_drift_counts_what_is_more_than_chance() -> None:
    rows = [
        {"prompt": "a", "kind": "recommendation", "source": "offline", "model": "m", "date": day, "first": 1,
         "again": 2, "n_first": 40, "n": 30, "jsd_bits": jsd, "p": 0.01, "p_page": p}
        for day, jsd, p in (("2026-01-12", 0.05, 0.2), ("2026-01-19", 0.11, 0.03))
    ]  # fmt: skip
    made = make("drift", rows)
    assert made.alt == ("m: 1 of 2 comparisons with the first run differ by more than chance.")
    assert [point["clear"] for point in made.spec["datasets"]["rows"]] == [False, True]
    assert made.spec["datasets"]["rows"][1]["text"].endswith(": 0.110, p times the number of comparisons = 0.030")
    of_tables = "Tables have Holm’s p, over all tests of the page."
    assert f"p times the number of comparisons is at least 0.05, or under 20 answers. {of_tables}" in made.caption
    assert f"p times the number of comparisons is below 0.05. {of_tables}" in make("drift", rows[1:]).caption


def test_what_has_too_few_answers_is_not_said_to_differ_no_more_than_chance() -> None:
    row = {"prompt": "a", "kind": "recommendation", "source": "offline", "model": "m", "date": "2026-01-12",
           "first": 1, "again": 2, "n_first": 40, "n": 6, "jsd_bits": 0.1, "p": 0.9, "p_page": 0.9}  # fmt: skip
    assert make("drift", [row]).alt == "m: under 20 answers, too few to tell drift."
    many = row | {"prompt": "b", "n": 40}
    assert make("drift", [row, many]).alt == "m: 0 of 1 comparison with the first run differ by more than chance."
    level = {"explanation": "memory", "label": "Memory", "level": "on", "level_name": "On", "base": "off", "n": 5,
             "units": 19, "persons": 9, "effect": 0.1, "ci": None, "p_holm": None, "by_lot": False}  # fmt: skip
    few = "Who gets answers further from everybody else’s: fewer than 20 people, too few to tell levels apart."
    assert make("explanations", [level]).alt == few
    assert "none of 1 level is told apart" in make("explanations", [level | {"units": 20}]).alt


def test_people_whose_answers_are_alike_are_not_said_to_have_given_none() -> None:
    row = {"prompt": "teas", "model": "chatgpt", "n": 25, "planned_n": 50, "ci": None}
    rows = [row | {"measure": "entropy_bits", "width": None}, row | {"measure": "item_share", "width": 0.07}]
    said = "The answers so far do not say how wide this measure’s intervals will be."
    assert make("precision", rows, measure="entropy_bits").alt == said
    assert make("precision", []).alt.startswith("No answers of people that can be counted")
    assert make("precision", rows, measure="item_share").alt.startswith("Width for the share")


def asked(item: str, entropy: float) -> Row:
    where = {"benchmark": "sums", "prompt": None, "item": item, "source": "offline", "model": "m", "n": 8}
    return where | {col.ENTROPY.key: entropy, "ci": None, "counts": {}, "correct": "A", "right": 1.0, "taken": False}


def test_only_a_question_that_varies_more_than_all_others_is_the_most_variable() -> None:
    assert make("variability", [asked("a", 1.0), asked("b", 0.5)]).alt == "The most variable is a, m, 1.00 bits."
    tied = make("variability", [asked("a", 1.0), asked("b", 1.0), asked("c", 0.0)])
    assert tied.alt == "2 questions are the most variable, 1.00 bits each, among them a, m."
    assert tied.own.startswith("3 questions; n\u00a0=\u00a08 repeats each.")
    assert make("variability", [asked("a", 0.0)]).alt == "To no question do repeats give different letters."
    many = make("variability", [asked(f"q{number}", 1.0) for number in range(13)])
    assert many.own.startswith("The 12 that vary most;")


def cost(source: str, usd: float | None, **changes: Any) -> Row:
    tokens = {"prompt_tokens": 1000, "completion_tokens": 500}
    return {"source": source, "model": "m", "completions": 10, "usd": usd, **tokens} | changes


def test_costs_are_told_for_a_thousand_completions() -> None:
    made = make("costs", [cost("offline", 0.02), cost("sp-history", 0.3)])
    assert made.alt == "1,000 completions cost from $2.00 (Offline, m) to $30.00 (SP-History, m); all together $0.32."
    assert [row["usd_per_1000"] for row in made.table] == pytest.approx([2, 30])


def test_completions_that_cost_nothing_are_said_to() -> None:
    assert make("costs", [cost("offline", 0.0), cost("sp-rag", None)]).alt == (
        "All 20 completions together cost nothing."
    )


def test_small_costs_keep_two_digits() -> None:
    made = make("costs", [cost("offline", 0.00002345), cost("sp-rag", 0.2)])
    assert made.alt == "1,000 completions cost from $0.0023 (Offline, m) to $20.00 (SP-RAG, m); all together $0.20."


def test_tokens_are_drawn_only_where_they_were_counted() -> None:
    counted = make("costs", [cost("offline", 0.1)]).spec["datasets"]["rows"]
    uncounted = make("costs", [cost("offline", 0.1, prompt_tokens=None, completion_tokens=None)]).spec["datasets"][
        "rows"
    ]
    assert [row["end"] for row in counted if row["kind"] == "tokens"] == [100, 150]
    assert {row["kind"] for row in uncounted if not row["kind"].startswith("key")} == {"usd", "usd-text"}


def test_waiting_times_are_medians() -> None:
    rows = [cost(s, 0.0, latency_s={"n": 9, "p50": p50, "p95": 4.0}) for s, p50 in (("offline", 1.0), ("sp-rag", 2.5))]
    assert make("latency", rows, "costs").alt == "Median waiting times go from 1.0 s (Offline, m) to 2.5 s (SP-RAG, m)."


def test_one_source_does_not_go_from_itself_to_itself() -> None:
    timed = cost("offline", 0.02, latency_s={"n": 9, "p50": 1.0, "p95": 4.0})
    assert make("latency", [timed], "costs").alt == "The median waiting time is 1.0 s (Offline, m)."
    assert make("costs", [timed]).alt == "1,000 completions cost $2.00 (Offline, m); all together $0.02."
    both = [timed, timed | {"source": "sp-rag"}]
    assert make("latency", both, "costs").alt == "The median waiting time is 1.0 s everywhere."
    assert make("costs", both).alt == "1,000 completions cost $2.00 everywhere; all together $0.04."


def test_waits_below_a_second_are_told_apart() -> None:
    quick = cost("offline", 0.02, latency_s={"n": 9, "p50": 0.03, "p95": 0.06})
    slow = cost("sp-rag", 0.02, latency_s={"n": 9, "p50": 0.08, "p95": 2.0})
    made = make("latency", [quick, slow], "costs")
    assert made.alt == "Median waiting times go from 0.03 s (Offline, m) to 0.08 s (SP-RAG, m)."
    assert [row["text"] for row in made.spec["datasets"]["rows"] if row["kind"] == "time-text"] == [
        "0.03 – 0.06 s",
        "0.08 – 2.0 s",
    ]


def test_benchmark_calls_are_told_apart_from_the_studys() -> None:
    made = make("costs", [cost("offline", 0.1, benchmark=None), cost("offline", 0.2, benchmark="mmlu")])
    rows = made.spec["datasets"]["rows"]
    assert {row["row"] for row in rows if row["kind"] == "usd"} == {"Offline", "Offline, mmlu"}


# Captions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "pair"])
def test_caption_states_n_version_exclusions_and_what_is_simulated(name: str) -> None:
    caption = FIGURES[name](make_report(), Options()).caption
    assert "n\u00a0=\u00a0" in caption
    assert "Study field-13, version 3." in caption
    assert "Two attention checks failed (48 answers, declared before launch)." in caption
    assert "Simulated, not real: 800 of 800 people and 41,600 completions of m." in caption


def test_caption_says_when_nothing_is_excluded_or_simulated() -> None:
    caption = make("heterogeneity", [variety("a", "field", 3.0)]).caption
    assert "No exclusion rules." in caption and "Simulated" not in caption


def test_caption_takes_the_reports_definitions_and_filters() -> None:
    report = {
        "heterogeneity": [variety("a", "field", 3.0)],
        "definitions": DEFINITIONS | {"unique": "How many."},
        "filters": {"words": "Memory off."},
    }
    caption = FIGURES["heterogeneity"](report, Options()).caption
    assert "unique: How many." in caption and f"entropy_bits: {DEFINITIONS['entropy_bits']}" in caption
    assert "Answers: memory off." in caption


def test_caption_counts_values_that_are_left_out() -> None:
    rows = [variety("a", "field", 3.0), variety("b", "field", None)]
    assert "1 value could not be computed and is left out." in make("heterogeneity", rows).caption
