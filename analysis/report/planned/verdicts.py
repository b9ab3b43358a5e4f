"""Verdicts on hypotheses and their sentences, for reports and simulated studies alike."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from analysis.charts.figure import Row
from analysis.stats.hypotheses.tested import Tested
from analysis.stats.intervals import Interval
from surveys.studies.files.hypotheses import ALPHA, DIFFERENT, EQUAL, KAPPA, MORE
from surveys.studies.wording import decimal, join_words, minus, plural, with_unit

SUPPORTED, WITHIN, CONTRADICTED = "supported", "equal within bounds", "contradicted"
NOT_APART, TOO_SMALL, NOT_YET = "not told apart", "there, but too small to matter", "not enough yet"
NOT_LOOKED, TOO_FEW = "not looked at yet", "not enough"
UNDECIDED = {NOT_YET: "cannot be decided yet", TOO_FEW: "cannot be decided"}  # the latter at the end
GOOD, BAD = (SUPPORTED, WITHIN), (CONTRADICTED, TOO_SMALL)
COEFFICIENT = "coefficient"
UNITS = {"entropy_bits": "bits", "jsd_excess": "bits", ALPHA: COEFFICIENT, KAPPA: COEFFICIENT}


def p_of(expected: str, smallest: float, found: Tested) -> float | None:
    """The p that is corrected over the family: for `equal`, of the bounds; else, of no difference."""
    return found.p_of_bounds(smallest) if expected == EQUAL else found.p


def decide(expected: str, smallest: float, value: float | None, ci: Interval | None, passes: bool) -> str:
    """Decide a verdict. `passes`: whether p, corrected over the family, is at most alpha. A difference is supported if
    it is on the planned side and its interval reaches the smallest one that matters.
    """
    if value is None or ci is None or not passes:
        return NOT_APART
    low, high = ci
    if expected == EQUAL:
        return WITHIN if abs(value) <= smallest else CONTRADICTED
    side = 1 if expected == MORE or expected == DIFFERENT and value > 0 else -1
    if side * value < 0:
        return CONTRADICTED
    return SUPPORTED if max(side * low, side * high) >= smallest else TOO_SMALL


def alphas_in(rows: Iterable[Row]) -> dict[str, float]:
    """Alpha by family."""
    return {row["family"]: row["alpha"] for row in rows}


# --- in words


def say_alphas(alphas: Mapping[str, float]) -> str:
    if len(set(alphas.values())) == 1:
        return f"alpha {next(iter(alphas.values())):g} a family"
    return f"alpha by family {join_words([f'{alpha:g} ({family})' for family, alpha in alphas.items()])}"


def unit_of(measure: str) -> str:
    return UNITS.get(measure, "share")


def written(measure: str, value: float, sign: bool = False) -> str:
    if unit_of(measure) != "share":
        return f"{decimal(value, 2, '', sign)}"
    return f"{decimal(100 * value, 1 if abs(value) < 0.1 else 0, '', sign)}"


def unit_word(measure: str) -> str:
    return {"bits": "bits", COEFFICIENT: ""}.get(unit_of(measure), "points")


def sized_as(measure: str, value: float) -> str:
    """A size with its unit, such as 0.1 bits or 6 points; a coefficient has none."""
    return f"{written(measure, value)} {unit_word(measure)}".rstrip()


def say_level(measure: str, value: float) -> str:
    """A value that is not a difference, as a study file writes it: 0.667, 50 %."""
    return with_unit(f"{100 * value:.6g}", "%") if unit_of(measure) == "share" else minus(f"{value:g}")


def say_difference(row: Row) -> str:
    """The difference, 6 points more (−2 to 14); against a reference the value itself, 58 % (52 to 64)."""
    if row["value"] is None:
        return row.get("why") or "no number"
    measure, level = row["measure"], row.get("reference")
    side = " more" if row["value"] > 0 else " less" if row["value"] < 0 else ""
    found = sized_as(measure, abs(row["value"])) + side
    if level is not None:
        found = with_unit(written(measure, row["value"]), "%" if unit_of(measure) == "share" else "")
    ends = " to ".join(written(measure, end) for end in row["ci"]) if row["ci"] else "no interval"
    return f"{found} ({ends})"


def from_reference(row: Row) -> tuple[float | None, Interval | None]:
    """Value and interval minus the reference, if any, as a verdict takes them."""
    less, ci = row.get("reference") or 0.0, row["ci"]
    value = None if row["value"] is None else row["value"] - less
    return value, (ci[0] - less, ci[1] - less) if ci else None


def say_wanted(row: Row) -> str:
    """Write the result that would support the hypothesis."""
    size = sized_as(row["measure"], row["smallest"])
    reference = row.get("reference")
    level = "" if reference is None else f" {say_level(row['measure'], reference)}"
    if row["expected"] == EQUAL:
        return f"within {size} of{level}" if level else f"within {size} either way"
    least = f", by {size} or more" if row["smallest"] else ""
    than = {DIFFERENT: " from"}.get(row["expected"], " than") if level else ""
    return f"{row['expected']}{than}{level}{least}"


def many(unit: str) -> str:
    return "people" if unit == "person" else f"{unit}s"


def say_verdicts(rows: Sequence[Row]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    if counts.keys() <= UNDECIDED.keys():
        units = join_words([*dict.fromkeys(many(row["unit"]) for row in rows)])
        yet = " yet" if counts[NOT_YET] else ""
        return f"As planned: {plural(len(rows), 'hypothesis', 'hypotheses')}, not enough {units}{yet} to decide."
    order = (SUPPORTED, WITHIN, TOO_SMALL, NOT_APART, CONTRADICTED, NOT_LOOKED, *UNDECIDED)
    parts: list[str] = []
    for verdict in order:
        if number := counts[verdict]:
            subject = plural(number, "hypothesis", "hypotheses") if not parts else f"{number}"
            says = UNDECIDED.get(verdict) or f"{'is' if number == 1 else 'are'} {verdict}"
            parts.append(f"{subject} {says}")
    return f"As planned: {join_words(parts)}."
