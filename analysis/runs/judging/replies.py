"""The form that a model is asked to answer in, where its endpoint offers answers by JSON schema."""

from typing import Any

from analysis.models import Endpoint
from surveys.models import AnnotationItem, BenchmarkItem, Prompt

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def reply_format(endpoint: Endpoint, subject: Prompt | BenchmarkItem | AnnotationItem) -> dict[str, Any] | None:
    """The `response_format` of a request; None leaves the model free: a judge's message says the form."""
    if not endpoint.json_schema or isinstance(subject, AnnotationItem):
        return None
    name, schema = ("choice", letter_schema(subject)) if subject.choices else ("items", items_schema(subject))
    closed = {
        "type": "object",
        "properties": {name: schema},
        "required": [name],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": closed}}


def letter_schema(subject: Prompt | BenchmarkItem) -> dict[str, Any]:
    return {"type": "string", "enum": list(LETTERS[: len(subject.choices)])}


def items_schema(subject: Prompt | BenchmarkItem) -> dict[str, Any]:
    count = getattr(subject, "items", None) or 5
    return {"type": "array", "items": {"type": "string"}, "minItems": count, "maxItems": count}
