"""How often each paste check is wrong: misses and false alarms over a labelled sample, with intervals."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from benchmarks.reading.paste_samples import Case
from surveys.reading.checks import CHECKS, find_problems


@dataclass(frozen=True)
class Rate:
    """`wrong` of `n` cases of one kind, as a share with its 95 % interval; None if there are no cases."""

    n: int
    wrong: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CheckRates:
    """Misses among faulty pastes and false alarms among the others, for one check and one origin."""

    check: str
    version: int
    origin: str
    misses: Rate
    false_alarms: Rate
    unnoticed: Rate  # faulty pastes about which no check speaks


class Result(NamedTuple):
    """A case, whether its own check spoke, and whether it is faulty and no check spoke."""

    case: Case
    noticed: bool
    unnoticed: bool


def wilson_interval(wrong: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Compute Wilson's score interval for `wrong` of `n` > 0 (Wilson 1927, JASA 22:209-212)."""
    p, z2 = wrong / n, z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def measure_rates(cases: Iterable[Case], held_out: bool = True) -> list[CheckRates]:
    """Compute each check's rates over all cases of one half of the sample, then over each origin."""
    results = [Result(case, is_noticed(case), _is_unnoticed(case)) for case in cases if case.held_out is held_out]
    rates = []
    for name in CHECKS:
        of_check = [result for result in results if result.case.check == name]
        for origin in ("all", *dict.fromkeys(result.case.origin for result in of_check)):
            rates.append(_check_rates(name, origin, [r for r in of_check if origin in ("all", r.case.origin)]))
    return rates


def is_noticed(case: Case) -> bool:
    """Ask the case's check alone, so that it does not count as right because another one spoke first."""
    return bool(find_problems(case.paste, [case.check]))


def _is_unnoticed(case: Case) -> bool:
    return case.faulty and not find_problems(case.paste, list(CHECKS))


def _check_rates(name: str, origin: str, results: Sequence[Result]) -> CheckRates:
    faulty = [result for result in results if result.case.faulty]
    fine = [result for result in results if not result.case.faulty]
    return CheckRates(
        name,
        CHECKS[name].version,
        origin,
        misses=_rate(len(faulty), sum(not result.noticed for result in faulty)),
        false_alarms=_rate(len(fine), sum(result.noticed for result in fine)),
        unnoticed=_rate(len(faulty), sum(result.unnoticed for result in faulty)),
    )


def _rate(n: int, wrong: int) -> Rate:
    return Rate(n, wrong, wrong / n, *wilson_interval(wrong, n)) if n else Rate(0, 0, None, None, None)


def write_table(page: Path, table: str, name: str = "rates") -> None:
    """Replace the text between the two marks of a markdown page. Raises ValueError if a mark is missing."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    if not end:
        raise ValueError(f"it has no place for the table, <!-- {name} --> to <!-- end of {name} -->")
    page.write_text(f"{before}{begin}\n\n{table.rstrip()}\n\n{end}{after}", encoding="utf-8")


def as_json(rates: Sequence[CheckRates]) -> list[dict[str, object]]:
    return [asdict(rate) for rate in rates]


def as_table(rates: Sequence[CheckRates]) -> str:
    """Return a markdown table with a line for each check and origin."""
    head = (
        "| check | sample | faulty | missed | miss rate (95 %) | missed by every check "
        "| fine | false alarms | false-alarm rate (95 %) |\n"
    )
    return (
        head
        + "| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | --- |\n"
        + "\n".join(_line(rate) for rate in rates)
        + "\n"
    )


def _line(rate: CheckRates) -> str:
    name = f"**{rate.check}** v{rate.version}" if rate.origin == "all" else ""
    unnoticed = "\u2013" if rate.unnoticed.share is None else f"{rate.unnoticed.share:.1%}"
    cells = (name, rate.origin, *_cells(rate.misses), unnoticed, *_cells(rate.false_alarms))
    return f"| {' | '.join(cells)} |"


def _cells(rate: Rate) -> tuple[str, str, str]:
    if rate.share is None or rate.low is None or rate.high is None:
        return "\u2013", "\u2013", "\u2013"
    return str(rate.n), str(rate.wrong), f"{rate.share:.1%} ({rate.low:.1%}\u2013{rate.high:.1%})"
