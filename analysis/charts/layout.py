"""Panels put side by side and below each other, and the whole as a spec whose rows stand in it once."""

from collections.abc import Sequence
from typing import Any, TypeVar

import altair as alt

from analysis.charts.theme import CONFIG, LIGHT

Spec = dict[str, Any]
Part = TypeVar("Part")
SCHEMA = alt.SCHEMA_URL
# All panels draw from one dataset by filters. Altair's own concatenation copies every part of every part again and
# again, seconds for a figure of this size; so panels are Altair's and what holds them together is written here.
DATASET = "rows"


def panel(layers: Sequence[Spec], width: int, height: int, title: str = "", **where: Any) -> Spec:
    """Layers on one another. `where` keeps the rows whose field equals the value, or is one of a list."""
    filters = [{"filter": {"field": field, **match(value)}} for field, value in where.items()]
    return {
        "width": width,
        "height": height,
        **({"title": panel_title(title)} if title else {}),
        **({"transform": filters} if filters else {}),
        "layer": list(layers),
    }


def match(value: Any) -> Spec:
    return {"oneOf": list(value)} if isinstance(value, list | tuple) else {"equal": value}


def specs_of(charts: Sequence[alt.Chart]) -> list[Spec]:
    """Layers as plain specs, without data of their own. Validating takes longer than drawing: the tests do it."""
    found = [chart.to_dict(validate=False, context={"top_level": False}) for chart in charts]
    return [{key: value for key, value in spec.items() if key != "data"} for spec in found]


def of_kind(kind: str) -> alt.Chart:
    """The part of a layer that draws rows of one `kind` only."""
    return alt.Chart().transform_filter(alt.FieldEqualPredicate(field="kind", equal=kind))


def panel_title(text: str) -> Spec:
    return {"text": text, "fontSize": 12, "fontWeight": "normal", "color": LIGHT["soft"], "offset": 5}


def beside(specs: Sequence[Spec], spacing: int = 22) -> Spec:
    return specs[0] if len(specs) == 1 else {"hconcat": list(specs), "spacing": spacing}


def below(specs: Sequence[Spec], spacing: int = 10, title: str = "") -> Spec:
    heading = {"title": {"text": title, "fontSize": 14, "offset": 8}} if title else {}
    return {"vconcat": list(specs), "spacing": spacing, **heading}


def complete(spec: Spec, rows: Sequence[Spec]) -> Spec:
    """The spec as it is kept and handed out: with its rows and the theme."""
    return {
        "$schema": SCHEMA,
        "config": CONFIG,
        "data": {"name": DATASET},
        "datasets": {DATASET: list(rows)},
        **spec,
    }


def split(names: Sequence[Part], most: int) -> list[Sequence[Part]]:
    return [names[start : start + most] for start in range(0, len(names), most)]


def split_evenly(names: Sequence[Part], most: int) -> list[Sequence[Part]]:
    """Parts of at most `most`, as equal in length as can be."""
    parts = -(-len(names) // most)
    return split(names, -(-len(names) // parts)) if parts else []
