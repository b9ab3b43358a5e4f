"""Words that sentences about the report share: whose answers, how many, and how significant."""

from collections.abc import Sequence

from analysis.charts.figure import Report, Row
from analysis.charts.rows import differing_words
from analysis.charts.theme import printable
from analysis.models.conditions import SOURCES
from analysis.report.dataset import ALL, FIELD
from surveys.studies.wording import INTERVAL, sized


def who(report: Report, row: Row) -> str:
    """Names a row's source, such as Offline with gpt-4o-mini, or the field of ChatGPT."""
    if row["source"] == FIELD:
        return "the field" if row["model"] == ALL else f"the field of {chatbot_name(report, row)}"
    known = SOURCES.get(row["source"])
    return f"{known.prose if known else row['source']} with {row['model']}"


def chatbot_name(report: Report, row: Row) -> str:
    """The name of the chatbot of a field row."""
    names = report.get("chatbots") or {}
    return "every chatbot" if row["model"] == ALL else printable(names.get(row["model"], row["model"]))


def settings_among(row: Row, rows: Sequence[Row]) -> str:
    """In brackets, the settings in which a row differs from others of its source, model and benchmark, if any."""
    words = ", ".join(differing_words(row, rows, ("source", "model", "benchmark")))
    return f" ({words})" if words else ""


def within(ci: list[float], n: int) -> str:
    return f"({INTERVAL} {100 * ci[0]:.0f}–{100 * ci[1]:.0f}, {sized(n)})"


def field_of(rows: list[Row], row: Row) -> Row | None:
    """The field's row to compare with this one: the same prompt, and the chatbot it belongs to."""
    model = row.get("chatbot") or ALL
    same = [other for other in rows if other["source"] == FIELD and other["model"] == model]
    return next((other for other in same if other["prompt"] == row["prompt"]), None)
