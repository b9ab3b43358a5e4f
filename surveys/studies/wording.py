"""Numbers, money, shares, durations and plurals as written for people, on pages, terminals and paper alike.

It is independent of the subject, so that every room above may use it.
"""

from collections.abc import Sequence
from decimal import Decimal
from difflib import get_close_matches
from math import isfinite
from string import Formatter
from typing import Any

from django.utils.translation import get_language_info

Span = tuple[float, float]
THIN = "\u202f"  # narrow no-break space, between a number and its unit
FIXED = "\u00a0"  # a space at which no line is broken
INTERVAL = f"95{THIN}% interval"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SMALL = Decimal("0.1")  # dollars; smaller sums are written with two significant digits


class RaisedAs:
    """Raises these faults as another kind, in the same words."""

    def __init__(self, kind: type[Exception], *faults: type[Exception]) -> None:
        self.kind, self.faults = kind, faults

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if isinstance(fault, self.faults):
            raise self.kind(str(fault)) from None


def number(value: Any) -> float | None:
    """The value as a float; None if it is undefined or no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) else None


def span(value: Any) -> Span | None:
    """Lower and upper bound of [low, high] or {"low": …, "high": …}."""
    pair = [value.get("low"), value.get("high")] if isinstance(value, dict) else list(value or [])
    bounds = [number(bound) for bound in pair]
    return (bounds[0], bounds[1]) if len(bounds) == 2 and bounds[0] is not None and bounds[1] is not None else None


def minus(text: str) -> str:
    """The number with a real minus sign, and none before zero."""
    if text.startswith("-"):
        return f"\u2212{text[1:]}" if text.strip("-0.,") else text[1:]
    return text


def decimal(value: float, digits: int = 2, unit: str = "", sign: bool = False) -> str:
    """1,234.50, −0.12 or 35 %; with a sign +0.12."""
    return with_unit(minus(f"{value:{'+' if sign else ''},.{digits}f}"), unit)


def with_unit(text: str, unit: str) -> str:
    return f"{text}{THIN}{unit}" if unit else text


def percent(share: float, digits: int = 0) -> str:
    """35 %; a share between none and all never rounds to either, but is <1 % or >99 %."""
    least = 10**-digits
    if 0 < share < 1 and (bound := round(100 * share, digits)) in (0, 100):
        return f"{'>' if bound else '<'}{THIN}{decimal(100 - least if bound else least, digits, '%')}"
    return decimal(100 * share, digits, "%")


def p_value(p: float) -> str:
    """A p value, never 0."""
    return f"<{THIN}0.001" if p < 0.001 else f"{p:.3f}"


def dollars(amount: float | Decimal) -> str:
    """Dollars and cents; sums below SMALL with two significant digits."""
    value = Decimal(str(amount))
    return exact_dollars(Decimal(f"{value:.2g}")) if 0 < value < SMALL else f"${value:,.2f}"


def two_digits(value: float) -> str:
    """0.0076, or 8 × 10⁻⁸ where that is shorter."""
    digits, _, power = f"{value:.2g}".partition("e")
    return f"{digits} × 10{str(int(power)).translate(RAISED)}" if power else digits


def exact_dollars(amount: Decimal) -> str:
    """Dollars to the last digit, at least to cents, for comparing two sums."""
    places = max(2, -int(amount.normalize().as_tuple().exponent))
    return f"${amount:,.{places}f}"


def money(cents: int, currency: str = "USD") -> str:
    return f"{'£' if currency == 'GBP' else '$'}{cents / 100:,.2f}"


def money_range(cents: Sequence[int], currency: str = "USD") -> str:
    """The lowest to the highest sum, or the only one."""
    return " to ".join(dict.fromkeys(money(each, currency) for each in (min(cents), max(cents))))


def duration(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def plural(count: int, word: str, many: str = "") -> str:
    """1 call, 1,200 calls; `many` if the plural is more than an added s."""
    return f"{count:,} {word if count == 1 else many or word + 's'}"


def counted(number: object, words: str = "") -> object:
    """5,200, or with a word 5,200 answers; `person,people` for other plurals. Anything but an integer stays."""
    if isinstance(number, bool) or not isinstance(number, int):
        return number
    return plural(number, *words.split(",")) if words else f"{number:,}"


class CountFormatter(Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        is_word = format_spec[1:2].isalpha()
        return str(counted(value, format_spec)) if is_word else super().format_field(value, format_spec)


def fill(words: str, **values: Any) -> str:
    """Format as `str.format` does, and counts with their word: `{items:item}` is 1 item, 1,200 items."""
    return CountFormatter().vformat(words, (), values)


def sized(*counts: int) -> str:
    """`n = 400`, or `n = 352–400` if the counts differ."""
    return f"n{FIXED}={FIXED}{count_range(*counts)}"


def count_range(*counts: int) -> str:
    if not counts:
        return "an unknown number"
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def language_name(code: str) -> str:
    """The language's name in English; the code itself if it is unknown."""
    try:
        return str(get_language_info(code)["name"])
    except KeyError:
        return code


def join_words(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def say_offered(value: str, names: Sequence[str]) -> str:
    """For a name that does not exist: suggest the nearest of `names`, or list the first twenty."""
    near = get_close_matches(value, names, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"There is {', '.join(names[:20])}." if names else "There is none yet."
