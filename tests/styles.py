"""The style sheet that follows from the records of sources and conditions; written by `python -m tests.styles`."""

import os
from collections.abc import Iterator
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
os.environ.setdefault("DEBUG", "true")
django.setup()  # for `python -m`; in the tests Django is ready and this does nothing

from analysis.charts.theme import LIGHT, PALETTES  # noqa: E402
from analysis.models.conditions import CONDITIONS, SETTINGS  # noqa: E402

SHEET = Path(__file__).resolve().parents[1] / "analysis/static/analysis/sources.css"
HEADING = """\
/* Written by `make styles` from analysis/charts/theme.py and analysis/models/conditions.py; change those instead. */
/* An SVG of a figure is drawn in the light colours; what has one of them also has a class of its name. Where
   light-dark() is not known, figures keep their light colours on a light ground. */"""
NAMES = [setting.name for setting in SETTINGS]
OTHERS = {"repeats": "repeats_per_user"}  # what a sock puppet is asked by another name
FORM = "/* What the chosen condition does not take is out of the way; the server drops it too. */"


def write_sheet() -> str:
    return "\n".join([HEADING, *_figure_rules(), FORM, *_form_rules(), ""])


def _figure_rules() -> Iterator[str]:
    yield "@supports (color: light-dark(#000, #fff)) {"
    yield "  svg.figure, .pair {"
    for token, colour in LIGHT.items():
        yield f"    --figure-{token}: light-dark({colour}, {PALETTES['dark'][token]});"
    yield "  }"
    for token in LIGHT:
        yield f"  .fill-{token} {{ fill: var(--figure-{token}); }}"
        yield f"  .stroke-{token} {{ stroke: var(--figure-{token}); }}"
    yield "}"


def _form_rules() -> Iterator[str]:
    for slug, condition in CONDITIONS.items():
        chosen = f'form:has([name="condition"] [value="{slug}"]:checked)'
        names = [name for name in NAMES if name not in condition.takes]
        names += [name for name, other in OTHERS.items() if other in condition.takes]
        if unused := ", ".join(f'[data-field="{name}"]' for name in names):
            yield f"{chosen} :is({unused}) {{ display: none; }}"
        yield f'{chosen} [data-condition="{slug}"] {{ display: block; }}'


if __name__ == "__main__":
    SHEET.write_text(write_sheet())
