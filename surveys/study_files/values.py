"""What a single value of a study file may be: each check gives the fault of a value, or None."""

import difflib
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

LONGEST_TEXT = 20_000
LONGEST_LINE = 300
# Characters that pages, PostgreSQL or spreadsheets cannot keep; tab and line feed are fine.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")

Check = Callable[[Any], str | None]


def long_text(value: Any) -> str | None:
    return _text_fault(value, LONGEST_TEXT)


def line(value: Any) -> str | None:
    if isinstance(value, str) and "\n" in value.strip():
        return "must be on one line"
    return _text_fault(value, LONGEST_LINE)


def _text_fault(value: Any, longest: int) -> str | None:
    if not isinstance(value, str):
        return f"must be text in quotes, not {kind_of(value)}"
    if not value.strip():
        return "is empty"
    if len(value) > longest:
        return f"has {len(value):,} characters; the limit is {longest:,}"
    if found := CONTROL.search(value):
        return f"holds the control character U+{ord(found[0]):04X}, which pages and exports cannot show"
    return None


def matching(pattern: str, wanted: str) -> Check:
    def check(value: Any) -> str | None:
        if fault := line(value):
            return fault
        return None if re.fullmatch(pattern, value) else f"is {_shown(value)}, but must be {wanted}"

    return check


def one_of(*names: str) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, str) and value in names:
            return None
        return f"is {_shown(value)}{nearest(value, names)}; it can be {listed(names)}"

    return check


def whole_number(low: int, high: int) -> Check:
    def check(value: Any) -> str | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return f"must be a whole number, not {kind_of(value)}"
        return None if low <= value <= high else f"must be a whole number from {low:,} to {high:,}"

    return check


def number(low: int, high: int, above: bool = False) -> Check:
    """A number within these bounds; `above` leaves out the lower one."""
    bounds = f"above {low:,} and at most {high:,}" if above else f"from {low:,} to {high:,}"

    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            return f"must be a number, not {kind_of(value)}"
        # As a float, which is what is kept of it: a number too small for one would be kept as 0.
        kept = float(value) if isinstance(value, Decimal) else value
        return None if low <= kept <= high and (kept > low or not above) else f"must be a number {bounds}"

    return check


def yes_or_no(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"must be true or false, not {kind_of(value)}"


def money(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return f"must be a number such as 5.00, not {kind_of(value)}"
    if isinstance(value, Decimal) and not value.is_finite() or not 0 < value <= 1000:
        return "must be a number above 0, and at most 1,000"
    return None if round(Decimal(value), 2) == value else "must have at most two decimals"


def list_of(check: Check, least: int = 0, most: int = 100) -> Check:
    """A list of different texts, each of which passes the check."""

    def check_list(value: Any) -> str | None:
        if not isinstance(value, list):
            return f"must be a list in square brackets, not {kind_of(value)}"
        if not least <= len(value) <= most:
            return f"has {len(value)} entries, but must have from {least} to {most}"
        for number, entry in enumerate(value, 1):
            if fault := check(entry):
                return f"entry {number} {fault}"
        entries = [entry.strip() for entry in value]
        repeated = next((entry for entry in entries if entries.count(entry) > 1), None)
        return f"names {_shown(repeated)} more than once" if repeated else None

    return check_list


def lines_by_key(value: Any) -> str | None:
    """A cell's `where`: for each question one option or a list of options."""
    if not isinstance(value, dict):
        return f'must be a table such as {{ gender = "Woman" }}, not {kind_of(value)}'
    options = list_of(line, least=1)
    for key, wanted in value.items():
        if fault := options(wanted) if isinstance(wanted, list) else line(wanted):
            return f"for {_shown(key)} {fault}"
    return None


def kind_of(value: Any) -> str:
    names = {
        bool: "true or false",
        int: "a number",
        Decimal: "a number",
        str: "text",
        list: "a list",
        dict: "a table",
    }
    return names.get(type(value), "a date or time")


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else kind_of(value)
    return text if len(text) <= 60 else text[:57] + "…"


def listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def nearest(name: Any, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name[:100], known, 1) if isinstance(name, str) else []
    return f" (did you mean `{near[0]}`?)" if near else ""
