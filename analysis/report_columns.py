"""The report with models as columns: the field beside every model that it is compared with."""

from collections.abc import Mapping
from typing import Any

from analysis.samples import ALL, FIELD

Row = dict[str, Any]


def line_up(report: Mapping[str, Any]) -> dict[str, Any]:
    """The same report with each field row once under every model of its chatbot.

    In the report a field row names its chatbot as its model. Where no model is compared with a chatbot, it stays.
    """
    models = {group["chatbot"]: group["models"] for group in report["groups"]}
    return {name: line_up_rows(rows, models) if is_rows(rows) else rows for name, rows in report.items()}


def is_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) and {"source", "model"} <= row.keys() for row in value)


def line_up_rows(rows: list[Row], models: Mapping[str | None, list[str]]) -> list[Row]:
    return [
        row | {"model": model}
        for row in rows
        for model in (models.get(chatbot_of(row)) or [row["model"]] if row["source"] == FIELD else [row["model"]])
    ]


def chatbot_of(row: Row) -> str | None:
    return None if row["model"] == ALL else str(row["model"])
