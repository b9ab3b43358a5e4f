"""Figures 6 and 7 by the word of models that were asked which attributes a response names."""

from collections.abc import Mapping
from typing import Any

from analysis.agreement.tables import estimate, make_table
from analysis.charts.tables import FINE, SHARE, Column, Table

Shape = Mapping[str, Any]


def gaps_by_models(question: Shape) -> list[Table]:
    """Figure 6 by the word of each model that was asked which attributes a response names."""
    rows = question["ratings"]["mentions"].get("models", ())
    columns = [Column("rater", "Rated by"), estimate("gap", "Gap", FINE)]
    return [make_table(columns, row["gaps"], f"By the word of {row['model']}") for row in rows]


def habits_by_models(question: Shape) -> list[Table]:
    """Figure 7 by the same word: how often each writer names attributes, and its gap as a judge."""
    tables = []
    for row in question["ratings"]["mentions"].get("models", ()):
        both = [
            {"generator": written["generator"], "mention_rate": written["mention_rate"], "gap": judged["gap"]}
            for written in row["generators"]
            for judged in row["gaps"]
            if written["generator"] and judged["rater"].startswith(f"{written['generator']} ")
        ]
        columns = [
            Column("generator", "Model"),
            estimate("mention_rate", "Names the attribute, as a writer", SHARE),
            estimate("gap", "Gap, as a judge", FINE),
        ]
        tables += [make_table(columns, both, f"By the word of {row['model']}")] if both else []
    return tables
