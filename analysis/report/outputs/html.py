"""A report as one HTML file that needs nothing else: figures inside, no scripts, nothing from elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from analysis.report.outputs.documents import make_document

STYLES = ("surveys/tokens.css", "analysis/sources.css", "analysis/figures.css", "analysis/report_file.css")


def write_html(report: Mapping[str, Any]) -> str:
    document = make_document(report, "light")
    return render_to_string("report/report_file.html", {"document": document, "style": style_element()})


def style_element() -> str:
    """All styles of the file in one element; they are our own files, and no page of the platform has such a thing."""
    found = [finders.find(name) for name in STYLES]
    styles = "\n".join(Path(path).read_text() for path in found if path)
    return mark_safe(f"<style>\n{styles}\n</style>")
