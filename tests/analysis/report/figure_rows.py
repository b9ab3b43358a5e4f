"""Invented rows of a full-size report, for tests of figures. No number here was ever measured."""

from collections.abc import Sequence
from random import Random
from typing import Any

from analysis.report.parts import DEFINITIONS
from analysis.stats.item_measures import MEASURES

Row = dict[str, Any]
LISTS = ("haircuts", "movies", "restaurants", "companies", "majors", "books", "weekend-trips", "hobbies", "gifts")
QUESTIONS = ("medicine-1", "medicine-2", "justice", "commonsense")
MODELS = {"gpt-4o-mini": "chatgpt", "gemini-2.0-flash": "gemini"}
SOURCES = ("field", "offline", "sp-history", "sp-rag", "sp-profile")
LEVELS = {"field": 0.75, "offline": 0.35, "sp-history": 0.5, "sp-rag": 0.45, "sp-profile": 0.9, "pilot-2024": 0.6}
ITEMS = ("tesla", "patagonia", "microsoft", "apple", "google", "nike", "costco", "lego", "nvidia", "ikea", "toyota",
         "a rather long name of a company that nobody abbreviates", "siemens", "sony")  # fmt: skip


def make_report(
    models: Sequence[str] = tuple(MODELS),
    lists: Sequence[str] = LISTS,
    questions: Sequence[str] = QUESTIONS,
    sources: Sequence[str] = SOURCES,
    **parts: Any,
) -> Row:
    """A whole report; `parts` replace some of its parts."""
    rng, others, prompts = Random(1), sources[1:], (*lists, *questions)
    chatbots = {model: MODELS.get(model, model) for model in models}
    kinds = [("recommendation", lists), ("choice", questions)]
    report: Row = {
        "definitions": DEFINITIONS,
        "study": "field-13",
        "version": 3,
        "draws": 2000,
        "prompts": [{"slug": slug, "title": slug, "kind": kind} for kind, slugs in kinds for slug in slugs],
        "groups": [{"chatbot": chatbot, "models": [model]} for model, chatbot in chatbots.items()],
        "exclusions": [
            {"slug": "attention", "text": "Two attention checks failed", "answers": 48, "declared": "before launch"}
        ],
        "simulated": {"people": 800, "people_in_all": 800, "completions": 41600, "models": ["m"], "is_any": True},
        "heterogeneity": [variety_row(rng, p, m, s) for p in lists for m in models for s in sources],
        "choices": [choice_row(rng, p, m, s) for p in questions for m in models for s in sources],
        "distances": [distance_row(rng, p, m, s) for p in lists for m in models for s in others],
        "mixes": [mix_row(rng, p, s) for p in prompts for s in others],
        "items": [row for p in lists[:2] for m in models for s in sources for row in item_rows(rng, p, m, s)],
        "drift": [row for m in models for p in prompts for row in drift_rows(rng, p, m, p in lists)],
        "variants": [row for m in models for s in sources for row in variant_rows(rng, m, s)],
        "taken": [row for p in lists for row in taken_rows(rng, p)],
        "explanations": explanation_rows(rng),
        "positions": position_rows(rng, len(prompts)),
    }
    for part, of_model in OF_MODELS.items():
        report[part] = [row for m in models for row in of_model(rng, m)]
    for part, names in PARTS_OF_FIELD.items():
        report[part] = [row for m in models for p in lists for row in part_rows(rng, p, chatbots[m], names)]
    for chatbot in chatbots.values():
        report.setdefault("precision", []).extend(row for p in prompts for row in width_rows(p, chatbot))
        report.setdefault("person_or_dice", []).extend(person_rows(rng, chatbot, lists))
        report.setdefault("arms", []).extend(arm_rows(rng, chatbot, lists[:3]))
    return report | parts


def field_model(model: str, source: str) -> str:
    """The model that a report names for this source; the field's is the chatbot."""
    return MODELS.get(model, model) if source == "field" else model


def around(value: float, half: float, low: float = 0.0, high: float = 1e9) -> list[float]:
    return [max(low, value - half), min(high, value + half)]


def variety_row(rng: Random, prompt: str, model: str, source: str) -> Row:
    level = LEVELS.get(source, 0.6) * rng.uniform(0.85, 1.15)
    unique, coverage, entropy = round(160 * level), max(0.05, 1 - 0.8 * level), 7 * level**0.5
    values = dict.fromkeys(MEASURES, coverage) | {"unique": unique, "entropy_bits": entropy}
    spans = dict.fromkeys(MEASURES, around(coverage, 0.04, 0, 1))
    spans |= {"unique": around(unique, 9), "entropy_bits": around(entropy, 0.2)}
    return {
        "prompt": prompt, "source": source, "model": field_model(model, source), "n": 400 - 4 * len(prompt),
        **values, "ci": spans, "unknown": 3,
        "rarefied": {"n": 352, **{k: v * 0.97 for k, v in values.items()}, "ci": spans},
        "top_items": [],
    }  # fmt: skip


def choice_row(rng: Random, prompt: str, model: str, source: str) -> Row:
    letters = "AB" if prompt in ("justice", "commonsense") else "ABCD"
    correct = "B" if prompt in ("medicine-1", "justice") else "A"
    weights = {letter: rng.uniform(0, 0.4) * LEVELS.get(source, 0.6) for letter in letters} | {correct: 1.0}
    weights["unknown"] = rng.choice((0, 0.02, 0.06))
    counts = {letter: int(400 * weight / sum(weights.values())) for letter, weight in weights.items()}
    n = sum(counts.values())
    share = counts[correct] / n
    return {
        "prompt": prompt, "source": source, "model": field_model(model, source), "n": n, "counts": counts,
        "correct": correct, "correct_share": share, "ci": around(share, 0.045, 0, 1), "entropy_bits": 0.8,
        "unknown": counts["unknown"],
    }  # fmt: skip


def distance_row(rng: Random, prompt: str, model: str, source: str) -> Row:
    jsd = min(0.9, abs(LEVELS.get(source, 0.6) - 0.75) * rng.uniform(0.7, 1.3) + 0.12)
    return {
        "prompt": prompt, "model": model, "source": source, "n": 400, "n_field": 352, "jsd_bits": jsd, "tv": jsd * 1.1,
        "ci": around(jsd, 0.03, 0, 1), "ci_tv": around(jsd * 1.1, 0.03, 0, 1), "chance": 0.05, "chance_tv": 0.08,
        "p": 0.0005, "p_holm": 0.0045,
    }  # fmt: skip


def calibration_rows(rng: Random, model: str) -> list[Row]:
    settings = [("offline", None, 0.45), ("sp-profile", None, 0.22)]
    settings += [(s, k, d) for s, far in (("sp-history", 0.4), ("sp-rag", 0.36)) for k, d in fall(rng, far)]
    rows = [
        {
            "source": s, "model": model, "temperature": 1.0, "history_size": k, "per_user": False,
            "corpus": "wildchat" if k else "", "personas": "", "jsd_bits": d + 0.01, "chance": 0.01,
            "ci_jsd": around(d + 0.01, 0.02, 0, 1), "jsd_excess": d, "ci": around(d, 0.02, -1, 1), "prompts": 9,
            "nearest": False, "not_told_apart": [], "nearest_for": [],
            "equal": {"n": [352, 352], "jsd_bits": d + 0.03, "ci": around(d + 0.03, 0.02, 0, 1), "chance": 0.03},
        }
        for s, k, d in settings
    ]  # fmt: skip
    min((row for row in rows if row["source"] != "offline"), key=lambda row: row["jsd_excess"])["nearest"] = True
    return rows


def fall(rng: Random, far: float) -> list[tuple[int, float]]:
    return [(size, far - 0.05 * step + rng.uniform(0, 0.02)) for step, size in enumerate((5, 20, 50, 100))]


def mix_row(rng: Random, prompt: str, source: str) -> Row:
    field, raw, at_mix = (rng.uniform(0.1, 0.9) for _ in range(3))
    shares = {"field": field, "raw": raw, "standardised": at_mix}
    gaps = {"difference_raw": field - raw, "difference": field - at_mix}
    return {
        "prompt": prompt, "kind": "recommendation", "source": source, "model": None, "answer": "a", "name": "A",
        "mix": {"chatgpt": 0.5, "gemini": 0.5}, "mix_source": {"chatgpt": 0.9, "gemini": 0.1}, "n_field": 800, "n": 800,
        **shares, **gaps, **{f"ci_{name}": around(value, 0.04, 0, 1) for name, value in shares.items()},
        **{f"ci_{name}": around(value, 0.06, -1, 1) for name, value in gaps.items()}, "between": [0.1, 0.9],
    }  # fmt: skip


def item_rows(rng: Random, prompt: str, model: str, source: str) -> list[Row]:
    shares = {
        item: min(0.97, (1 - place / 16) * rng.uniform(0.3, 1.1) * (1.2 - LEVELS.get(source, 0.6)))
        for place, item in enumerate(ITEMS)
    }
    return [
        {
            "prompt": prompt, "source": source, "model": field_model(model, source), "n": 400, "item": item,
            "name": item.title(), "count": int(share * 400), "share": share, "ci": around(share, 0.045, 0, 1),
        }
        for item, share in shares.items()
    ]  # fmt: skip


def benchmark_rows(rng: Random, model: str) -> list[Row]:
    rows = []
    middle = 0.62 if model.startswith("gpt") else 0.7
    for source, temperature, half, unknown in (
        ("offline", 0.0, 0.003, 0.0), ("offline", 1.0, 0.008, 0.002),
        ("sp-history", 1.0, 0.025, 0.03), ("sp-profile", 1.0, 0.018, 0.004),
    ):  # fmt: skip
        centre = middle - (0.03 if source == "sp-history" else 0)
        scores = [centre + rng.uniform(-half, half) for _ in range(10)]
        rows.append({
            "benchmark": "mmlu", "source": source, "model": model, "temperature": temperature, "questions": 514,
            "runs": [{"run": f"user {k}", "accuracy": s, "low": s, "high": s + unknown, "unknown": unknown}
                     for k, s in enumerate(scores)],
            "min": min(scores), "max": max(scores), "mean": sum(scores) / 10, "ci": around(sum(scores) / 10, half / 3),
            "sd": half / 2, "novel_share": 0.2,
            "noise_floor": {"low": middle - 0.008, "high": middle + 0.008, "range": 0.016},
            "references": [{"name": "Model One", "accuracy": 0.809}, {"name": "Model Two", "accuracy": 0.803},
                           {"name": "Model Five", "accuracy": 0.772}],
        })  # fmt: skip
    return rows


def field_benchmark_rows(rng: Random, model: str) -> list[Row]:
    """A field, and a model's offline runs on its questions."""
    chatbot, found = MODELS.get(model, model), []
    for source, unit, units in (("field", "person", 400), ("offline", "repeat", 10)):
        share = rng.uniform(0.6, 0.8)
        against = None if source == "field" else {"value": -0.05, "ci": around(-0.05, 0.02, -1), "p": 0.01}
        row = {"benchmark": "mmlu", "source": source, "model": field_model(model, source), "chatbot": chatbot}
        row |= {"n": 6 * units, "unit": unit, "units": units, "questions": 500, "size": 514, "accuracy": share}
        found.append(row | {"ci": around(share, 0.025, 0, 1), "against_field": against, "orders": []})
    return found


def variability_rows(rng: Random, model: str) -> list[Row]:
    return [
        {
            "benchmark": "mmlu", "prompt": None, "item": f"mmlu/college_medicine/test/{place}", "source": "offline",
            "model": model, "n": 10, "unit": "repeat", "units": 10, "entropy_bits": 1.9 - place / 20,
            "ci": around(1.9 - place / 20, 0.4, 0.0, 2.0), "counts": {"A": 4, "B": 6, "unknown": 0}, "correct": "A",
            "right": rng.random(), "taken": False, "rank": place + 1, "among": 514,
        }
        for place in range(20)
    ]  # fmt: skip


def drift_rows(rng: Random, prompt: str, model: str, is_list: bool) -> list[Row]:
    rows = []
    for week in range(1, 7):
        value = 0.05 + 0.01 * week * rng.uniform(0, 2)
        row = {
            "prompt": prompt, "kind": "recommendation" if is_list else "choice", "source": "offline", "model": model,
            "first": 1, "again": 1 + week, "first_date": "2026-01-05",
            "date": ("2026-01-12", "2026-01-19", "2026-01-26", "2026-02-02", "2026-02-09", "2026-02-16")[week - 1],
            "n_first": 400, "n": 400, "p": rng.uniform(0, 0.2), "p_holm": rng.uniform(0, 0.2),
        }  # fmt: skip
        if is_list:
            row |= {"jsd_bits": value, "tv": value, "ci": around(value, 0.02, 0), "chance": 0.04}
        else:
            effect = rng.uniform(-0.06, 0.03)
            row |= {"effect": effect, "ci": around(effect, 0.04, -1), "tv": abs(effect)}
        rows.append(row)
    return rows


def cost_rows(rng: Random, model: str) -> list[Row]:
    tokens = {"offline": 60, "sp-history": 41000, "sp-rag": 38000, "sp-profile": 420}
    return [
        {
            "source": source, "model": model, "benchmark": "", "completions": 5200, "failed": 3,
            "prompt_tokens": 5200 * size, "completion_tokens": 5200 * 210, "usd": 5200 * (size * 1.5e-7 + 210 * 6e-7),
            "usd_per_1000": 1000 * (size * 1.5e-7 + 210 * 6e-7),
            "latency_s": {
                "n": 5200, "p50": 1.1 + size / 40000, "p95": 2.6 + size / 15000,
                "ci_p50": around(1.1 + size / 40000, 0.05), "ci_p95": around(2.6 + size / 15000, 0.3),
            },
        }
        for source, size in tokens.items()
    ]  # fmt: skip


PARTS_OF_FIELD: dict[str, list[Row]] = {
    "cells": [
        {"cell": cell, "name": cell.replace("-", " ").capitalize(), "n": 98}
        for cell in ("black-women", "black-men", "white-women", "white-men")
    ],
    "contexts": [
        {"context": context, "value": value}
        for context, values in {"memory": ("on", "off"), "plan": ("free", "paid")}.items()
        for value in values
    ],
    "sensitivity": [{"set": name} for name in ("as analysed", "with excluded", "without flagged")],
}


def part_rows(rng: Random, prompt: str, chatbot: str, names: Sequence[Row]) -> list[Row]:
    """The field's measures of lists, once for each group in `names`."""
    return [variety_row(rng, prompt, chatbot, "field") | {"kind": "recommendation"} | name for name in names]


def score_rows(rng: Random, model: str) -> list[Row]:
    rows = []
    for measure in ("unique", "entropy_bits", "correct_share"):
        for source in SOURCES[1:]:
            rho = rng.uniform(-0.2, 0.9)
            rows.append({
                "measure": measure, "over": "prompts", "source": source, "model": model, "n": 9, "spearman": rho,
                "ci_spearman": around(rho, 0.3, -1, 1), "kendall": rho * 0.8, "ci_kendall": around(rho, 0.3, -1, 1),
            })  # fmt: skip
    return rows


def variant_rows(rng: Random, model: str, source: str) -> list[Row]:
    rows = []
    for variant in ("typos", "slang", "spanish"):
        where = {"variant": variant, "source": source, "model": field_model(model, source), "n": 400, "n_original": 398}
        jsd, effect = rng.uniform(0.05, 0.3), rng.uniform(-0.12, 0.03)
        of_list = {"prompt": "movies", "kind": "recommendation", "jsd_bits": jsd, "chance": 0.05, "p": 0.01}
        rows.append(where | of_list | {"ci": around(jsd, 0.03, 0), "p_holm": 0.03})
        of_choice = {"prompt": "justice", "kind": "choice", "effect": effect, "p": 0.2, "p_holm": 0.6}
        rows.append(where | of_choice | {"ci": around(effect, 0.03, -1)})
    return rows


def width_rows(prompt: str, chatbot: str) -> list[Row]:
    measures = ("correct_share",) if prompt in QUESTIONS else ("entropy_bits", "item_share")
    return [
        {"prompt": prompt, "model": chatbot, "source": "field", "measure": measure, "n": 60, "planned_n": size,
         "width": 2 / size**0.5, "ci": around(2 / size**0.5, 0.01)}
        for measure in measures
        for size in (50, 100, 200, 400, 800)
    ]  # fmt: skip


def blend_rows(rng: Random, model: str) -> list[Row]:
    """A blend, its sources, and one source that is left out."""
    whose = {"chatbot": MODELS.get(model, model)}
    head = {"source": None, "model": None, "prompts": 13, "sources": 3, "unit": "person", "units": 400, "p": 0.001}
    found: list[Row] = [
        whose | head | {"distance": 0.02, "ci_distance": [0.0, 0.05], "fitted": 0.01, "gain": 0.1, "single": 0.12}
        | {"ci_gain": [0.05, 0.15], "offline": 0.3, "p_holm": 0.002}
    ]  # fmt: skip
    for source, weight in (("offline", 0.1), ("sp-history", 0.6), ("sp-profile", 0.3)):
        row = whose | {"source": source, "model": model, "unit": "simulated user", "units": 100, "weight": weight}
        row |= {"ci_weight": around(weight, 0.1, 0, 1), "history_size": 100 if "h" in source else None}
        distance = 0.3 - weight / 3
        found.append(row | {"distance": distance, "ci_distance": around(distance, 0.05)})
    return [*found, whose | {"source": "sp-rag", "model": model, "units": None, "why": "Left out."}]


def person_rows(rng: Random, chatbot: str, prompts: Sequence[str]) -> list[Row]:
    """One row per prompt and one for their mean; in the second prompt the product's dice are below the API's."""
    found = []
    for place, prompt in enumerate((*prompts, "")):
        offline, dice, person = rng.uniform(0.3, 0.5), rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.3)
        dice *= (-1) ** (place == 1)
        values = {"offline": offline, "dice": dice, "person": person, "within": offline + dice, "added": dice + person}
        values["between"] = values["within"] + person
        values["share"] = person / values["between"]
        found.append(
            {"prompt": prompt, "kind": "recommendation" if prompt else "", "prompts": 1 if prompt else len(prompts)}
            | {"source": "field", "model": chatbot, "chatbot": chatbot, "n": 600, "unit": "person", "units": 400}
            | {"repeated": 200, "pairs": 200, "unread": 3, "n_offline": 400, "p": 0.001, "p_tail": 0.001}
            | {"p_holm": 0.01, **values}
            | {f"ci_{name}": around(value, 0.03, -1, 1) for name, value in values.items()}
        )
    return found


def arm_rows(rng: Random, chatbot: str, prompts: Sequence[str]) -> list[Row]:
    def change(value: float) -> Row:
        return {"effect": value, "ci": [value - 0.05, value + 0.05], "n": 150, "p": 0.2, "p_tail": 0.2, "p_holm": 1.0}

    return [
        {"arm": "temporary", "name": "Temporary chat", "prompt": prompt, "kind": "recommendation" if prompt else ""}
        | {"prompts": 1 if prompt else len(prompts), "source": "field", "model": chatbot, "chatbot": chatbot}
        | {"unit": "person", "units": 160, "asked": 200, "unreached": 40, "unread": 2, "thrice": 150}
        | {"distance": 0.6, "ci_distance": [0.55, 0.65], "effect": (effect := rng.uniform(-0.05, 0.2))}
        | {"ci_effect": around(effect, 0.06, -1, 1), "p": 0.01, "p_tail": 0.01, "p_holm": 0.04}
        | {"changes": {"top5_share": change(-0.1), "items": change(0.2), "rating": change(-0.3)}}
        for prompt in (*prompts, "")
    ]


def explanation_rows(rng: Random) -> list[Row]:
    given = (
        ("memory", "Memory", "on", "off", False),
        ("personalisation", "Custom instructions", "on", "off", False),
        ("plan", "Plan", "paid", "free", False),
        ("position", "Position, per step", "", "", True),
    )
    return [
        {"explanation": name, "label": label, "level": level, "level_name": level.title(), "base": base}
        | {"base_name": base.title(), "source": "field", "n": 5000, "unit": "person", "units": 400, "persons": 150}
        | {"effect": (value := rng.uniform(-0.02, 0.1)), "ci": [value - 0.03, value + 0.03], "by_lot": by_lot}
        | {"p": 0.001 if name == "memory" else 0.4, "p_holm": 0.004 if name == "memory" else 1.0}
        for name, label, level, base, by_lot in given
    ]


def taken_rows(rng: Random, prompt: str) -> list[Row]:
    return [
        {"prompt": prompt, "kind": "recommendation", "source": "field", "explanation": name, "label": label, "n": 400}
        | {"unit": "person", "units": 400, "persons": 380, "taken": rng.uniform(0, 0.1), "p": 0.1, "p_tail": 0.1}
        | {"p_holm": 1.0, "p_spread": 0.5}
        for name, label in (("memory", "Memory"), ("plan", "Plan"), ("cell", "Group"))
    ]


def position_rows(rng: Random, steps: int) -> list[Row]:
    person = {"source": "field", "unit": "person"}
    found = [
        {"kind": "position", "measure": name, **person, "n": 400, "units": 400, "position": step}
        | {"value": (value := rng.uniform(0.4, 0.6)), "ci": [value - 0.03, value + 0.03]}
        for name in ("distance", "correct_share", "rating")
        for step in range(1, steps + 1)
    ]
    trend = {"value": 0.001, "ci": [-0.002, 0.004], "p": 0.4, "p_holm": 1.0}
    found.append({"kind": "trend", "measure": "distance", **person, "n": 5000, "units": 400} | trend)
    share = {"share": 0.1, "chance": 0.08, "value": 0.02, "ci": [0.0, 0.04]}
    found.append({"kind": "carry_over", "measure": "repeats", **person, "n": 3000, "units": 400} | share)
    left = {"done": 3, "left": 10, "value": 0.025, "ci": [0.01, 0.05]}
    return [*found, {"kind": "attrition", "measure": "left", **person, "n": 400, "units": 400} | left]


OF_MODELS = {
    "calibration": calibration_rows,
    "benchmarks": benchmark_rows,
    "field_benchmark": field_benchmark_rows,
    "variability": variability_rows,
    "scores": score_rows,
    "costs": cost_rows,
    "blend": blend_rows,
}
