"""Candidates for claims in a report's rows, by kind: each difference with its strength, and its family."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.charts.figure import Report, Row
from analysis.models.conditions import PUPPETS
from analysis.report import columns as col
from analysis.report.claims.enough import held_back, is_enough, may_turn, units_of
from analysis.report.columns import is_choice
from analysis.report.dataset import ALL, FIELD, OFFLINE
from analysis.stats import benchmark_runs
from analysis.stats.intervals import Z, t_quantile
from analysis.stats.simultaneous import share_gaps, share_width, strength_of, student_p
from surveys.studies.wording import number, span

INFINITE = 1e9  # degrees of freedom of a normal statistic


@dataclass(frozen=True, eq=False)
class Candidate:
    """A difference that could be claimed: its interval is `estimate` ± reach times `error`, none if `error` is 0.

    `strength`: its statistic as a normal deviate; for shares, in units of the share's width, which `error` then holds.
    `turns`: whether answers in which nothing was found could reverse it; if so, it is held back.
    """

    strength: float
    estimate: float
    row: Row
    other: Row = field(default_factory=dict)
    error: float = 0.0
    freedom: float = INFINITE
    item: Row = field(default_factory=dict)
    is_share: bool = False
    turns: bool = False


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of one kind, and their family: its number of `normal` tests, and its tails of shares.

    `held`: the number of comparisons held back; `width`: the largest width of a share of a half.
    """

    found: Sequence[Candidate]
    normal: int
    tests: int
    tails: tuple[Any, ...] = ()
    held: int = 0
    width: float = 0.0


Gather = Callable[[Report], Candidates]


def of_normal(found: Iterable[Candidate | None], count: int) -> Candidates:
    return Candidates([one for one in found if one], count, count)


def field_of(rows: list[Row], row: Row) -> Row | None:
    """The field's row for the same prompt and chatbot."""
    model = row.get("chatbot") or ALL
    same = [other for other in rows if other["source"] == FIELD and other["model"] == model]
    return next((other for other in same if other["prompt"] == row["prompt"]), None)


def pairs_in(report: Report, part: str, of_offline: bool | None = None) -> Iterator[tuple[Row, Row]]:
    """Yield each source with its field, if there is enough of both."""
    rows: list[Row] = list(report.get(part) or [])
    for row in rows:
        other = field_of(rows, row) if row["source"] != FIELD and "against_field" in row else None
        fits = of_offline is None or (row["source"] == OFFLINE) == of_offline
        if other is not None and fits and is_enough(row, other):
            yield row, other


def items(of_offline: bool) -> Gather:
    """Gather shares of people who get an item, the strongest difference of each source and prompt."""

    def gather(report: Report) -> Candidates:
        found, tails, held, width = [], [], 0, 0.0
        for row, other in pairs_in(report, "heterogeneity", of_offline):
            gaps = row.get("item_gaps")
            if not gaps:
                continue
            tails.append(gaps["tail"])
            width = max(width, float(share_width(0.5, *gaps["units"])))
            if held_back(row, other):
                held += 1
                continue
            for gap in gaps["strongest"][:1]:
                turns = may_turn(row, gap["other"], other, gap["value"])
                given = gap["strength"], gap["effect"], row, other, gap["width"]
                found.append(Candidate(*given, item=gap, is_share=True, turns=turns))
        return Candidates(found, 0, len(tails), tuple(tails), held, width)

    return gather


def variety(report: Report) -> Candidates:
    """Gather the field's entropy minus each source's, at as many units, by prompt."""
    found, held, count = [], 0, 0
    for row, other in pairs_in(report, "heterogeneity"):
        test = (row.get("against_field") or {}).get(col.ENTROPY.key) or {}
        count += 1
        if held_back(row, other):
            held += 1
        elif one := of_interval(test, min(units_of(row), units_of(other)) - 1, row, other):
            found.append(one)
    return Candidates(found, count, count, held=held)


def of_interval(test: Row, freedom: float, row: Row, other: Row | None = None) -> Candidate | None:
    """A candidate from an estimate and its 95 % interval, by Student's t, no stronger than a known `p_tail` allows."""
    effect, ends = number(test.get("effect")), span(test.get("ci"))
    if effect is None or ends is None or freedom < 1 or ends[1] <= ends[0]:
        return None
    error = (ends[1] - ends[0]) / 2 / (Z if freedom >= INFINITE else float(t_quantile(freedom)))
    permuted = number(test.get("p_tail"))
    strength = strength_of(max(student_p(effect, error, freedom), 0.0 if permuted is None else permuted))
    return Candidate(strength, effect, row, other or {}, error, freedom)


def letters(is_right: bool) -> Gather:
    """Gather shares of the right letter, or of letters that offline never gives, tested among all letters."""

    def gather(report: Report) -> Candidates:
        found, tails, held, tests, width = [], [], 0, 0, 0.0
        for row, other in pairs_in(report, "choices"):
            names = [name for name in row["counts"] if name == row.get("correct") or not is_right]
            names = [name for name in names if name != "unknown"]
            if not is_right and row["source"] != OFFLINE or not names:
                continue
            units = units_of(other), units_of(row)
            mine, theirs = ([each["counts"].get(name, 0) / each["n"] for name in names] for each in (other, row))
            gaps = share_gaps(mine, units[0], theirs, units[1], 0.0)
            tests += len(names)
            tails.append(gaps.tail)
            width = max(width, float(share_width(0.5, *units, 0.0)))
            for place, name in enumerate(names):
                if not (is_right or (mine[place] and not theirs[place])):
                    continue
                if held_back(row, other):
                    held += 1
                    continue
                item = {"letter": name, "value": mine[place], "other": theirs[place]}
                strength, gap, wide = (float(one[place]) for one in (gaps.strength, gaps.gaps, gaps.widths))
                turns = may_turn(row, theirs[place], other, mine[place])
                found.append(Candidate(strength, gap, row, other, wide, item=item, is_share=True, turns=turns))
        return Candidates(found, 0, tests, tuple(tails), held, width)

    return gather


def pair_shares(kind: str, place: str, most: int, level: float) -> Gather:
    """Gather the pair's items or options, the `most` strongest of each prompt. `level`: as in `share_width`."""

    def gather(report: Report) -> Candidates:
        found, held, width, ranks, tested = list[Candidate](), 0, 0.0, dict[str, int](), set[str]()
        for item in sorted(report["pair"].get(place) or [], key=lambda row: -row["strength"]):
            a, b, prompt = item["a"], item["b"], item["prompt"]
            ranks[prompt] = ranks.get(prompt, 0) + 1
            if not is_enough(a, b):
                continue
            tested.add(prompt)
            width = max(width, float(share_width(0.5, a["units"], b["units"], level)))
            if ranks[prompt] > most:
                continue
            row, other = b | {"prompt": prompt}, a | {"prompt": prompt}
            if held_back(row, other):
                held += ranks[prompt] == 1
                continue
            turns, given = may_turn(row, b["share"], other, a["share"]), (item["strength"], item["difference"])
            found.append(Candidate(*given, row, other, item["width"], item=item, is_share=True, turns=turns))
        tails = (report["pair"].get("tails") or {}).get(kind, ())
        return Candidates(found, 0, len(tested), tuple(tails), held, width)

    return gather


def pair_variety(report: Report) -> Candidates:
    """Gather the first side's entropy minus the second's, at as many units, by prompt."""
    rows = [row for row in report["pair"].get("varied") or [] if is_enough(row)]
    tests = [row["differences"].get(col.ENTROPY.key) or {} for row in rows]
    made = (of_interval(test, row["n"] - 1, row, row) for row, test in zip(rows, tests, strict=True))
    return of_normal(made, len(rows))


def nearest(report: Report) -> Candidates:
    """Gather each model's sock puppet nearest to the field, tested against every other one."""
    rows = [row for row in report.get("calibration") or [] if row.get("p_nearest") is not None]
    found = [Candidate(strength_of(row["p_nearest"]), row["jsd_excess"], row) for row in rows]
    return of_normal(found, sum(row["compared_puppets"] for row in rows))


def person(report: Report) -> Candidates:
    """Gather, for each chatbot's field over all prompts, how much more two people's answers differ than one's own."""
    rows = [row for row in report.get("person_or_dice") or [] if row["source"] == FIELD and is_whole(report, row)]
    tested = [row for row in rows if row["p"] is not None and is_enough({"units": row["repeated"]})]
    made = (
        of_interval(
            {"effect": row["person"], "ci": row["ci_person"], "p_tail": row["p_tail"]}, row["repeated"] - 1, row
        )
        for row in tested
    )
    return of_normal(made, len(tested))


def is_whole(report: Report, row: Row) -> bool:
    """Whether the row is the mean over prompts, or that of the only prompt."""
    names = ("source", "model")
    same = [other for other in report["person_or_dice"] if all(other[name] == row[name] for name in names)]
    return not row["prompt"] or all(other["prompt"] for other in same)


def states(report: Report) -> Candidates:
    """Gather how far each state of the account moves answers beyond the dice, by chatbot, over all prompts."""
    rows = list(report.get("arms") or [])
    whole = {(row["arm"], row["model"]) for row in rows if not row["prompt"]}
    tested = [
        row
        for row in rows
        if row["p"] is not None and is_enough({"units": row["thrice"]})
        if not row["prompt"] or (row["arm"], row["model"]) not in whole
    ]
    made = (
        of_interval({"effect": row["effect"], "ci": row["ci_effect"], "p_tail": row["p_tail"]}, row["thrice"] - 1, row)
        for row in tested
    )
    return of_normal(made, len(tested))


def explained(report: Report) -> Candidates:
    """Gather how much further than its base each level of an explanation lies from everybody else's answers."""
    rows = [row for row in report.get("explanations") or [] if is_enough(row) and span(row["ci"])]
    made = (of_interval({"effect": row["effect"], "ci": row["ci"]}, row["units"] - 1, row) for row in rows)
    return of_normal(made, len(rows))


def groups(report: Report) -> Candidates:
    """Gather each group of people against everybody else with the same chatbot, by prompt, if there is enough of both;
    a test's n is that of the smaller side.
    """
    found, held, count = [], 0, 0
    for row in report.get("cells") or []:
        measure = col.CORRECT if is_choice(row) else col.ENTROPY
        test = (row.get("against_rest") or {}).get(measure.key) or {}
        if not is_enough(row, test):
            continue
        count += 1
        freedom = INFINITE if is_choice(row) else int(test["n"]) - 1
        if held_back(row, row):
            held += 1
        elif one := of_interval(test, freedom, row):
            found.append(replace(one, turns=is_choice(row) and may_turn_group(report, one)))
    return Candidates(found, count, count, held=held)


def may_turn_group(report: Report, one: Candidate) -> bool:
    """Whether unknown answers of the group, or of everybody else, to the question could reverse the difference."""
    row = one.row
    same = [other for other in report["cells"] if all(other[name] == row[name] for name in ("prompt", "model"))]
    rest = {name: sum(int(other.get(name) or 0) for other in same if other is not row) for name in ("n", "unknown")}
    share = row[col.CORRECT.key]
    return bool(rest["n"]) and may_turn(row, share, rest, share - one.estimate)


def drift(report: Report) -> Candidates:
    """Gather each repetition of a run against its first, by prompt, with p by permutation."""
    found, count = [], 0
    for row in report.get("drift") or []:
        distance = row.get("tv") if is_choice(row) else row.get(col.DISTANCE.key)
        if row.get("p") is None or distance is None or not is_enough(row, {"n": row["n_first"]}):
            continue
        count += 1
        ends = span(row.get("ci_tv") if is_choice(row) else row.get("ci"))
        error = (ends[1] - ends[0]) / 2 / Z if ends else 0.0
        found.append(Candidate(strength_of(row["p"]), distance, row, error=error))
    return of_normal(found, count)


def of_runs(report: Report) -> list[Row]:
    """Benchmark rows of several runs that have offline runs to compare with."""
    rows = report.get("benchmarks") or []
    return [row for row in rows if row["source"] != OFFLINE and len(row["runs"]) > 1 and row.get("offline_runs")]


def ranges(report: Report) -> Candidates:
    """Gather ranges of scores that no offline run reaches."""
    found, rows = [], [row for row in of_runs(report) if row.get("overlaps_offline") is not None]
    for row in rows:
        if row["overlaps_offline"] is False:
            strength = strength_of(benchmark_runs.chance_apart(row["offline_runs"], row["units"]))
            found.append(Candidate(strength, row["mean"] - row["offline_mean"], row, turns=may_meet(report, row)))
    return of_normal(found, len(rows))


def may_meet(report: Report, row: Row) -> bool:
    """Whether the ranges of a source and its offline runs would meet if unknown answers were right."""
    wanted = {"source": OFFLINE, "benchmark": row["benchmark"], "model": row["model"], **(row.get("offline") or {})}
    rows = report.get("benchmarks") or []
    same = [other for other in rows if all(other.get(name) == value for name, value in wanted.items())]
    if "shared_min" in row:  # how many of its unknown answers are to shared questions is not known
        return any(each.get("unknown_answers") for each in (row, *same))
    return any(highest(row) >= other["min"] and highest(other) >= row["min"] for other in same)


def highest(row: Row) -> float:
    """The highest score if all unknown answers were right."""
    return max([row["max"], *(run["high"] for run in row["runs"] if number(run.get("high")) is not None)])


def new_letters(report: Report) -> Candidates:
    """Gather shares of questions with a letter that no offline run gives, above what held-out offline runs give."""
    known = [row for row in of_runs(report) if row.get("novel_excess") is not None]
    rows = [row for row in known if row["shared_questions"] >= benchmark_runs.FEWEST]
    made = (
        of_interval({"effect": row["novel_excess"], "ci": row.get("novel_excess_ci")}, row["shared_questions"] - 1, row)
        for row in rows
    )
    return of_normal((one for one in made if one and one.estimate > 0), len(rows))


def spread(report: Report) -> Candidates:
    """Gather how far simulated users move a score, compared with as many repeats."""
    rows = [row for row in of_runs(report) if row["source"] in PUPPETS and (row.get("noise_floor") or {}).get("p")]
    found = []
    for row in rows:
        floor, range_ = row["noise_floor"], shared_range(row)
        if range_ > floor["range"]:
            turns = least_range(row) <= floor["range"]
            found.append(Candidate(strength_of(floor["p"]), range_ - floor["range"], row, turns=turns))
    return of_normal(found, len(rows))


def shared_ends(row: Row) -> tuple[float, float]:
    """The lowest and highest score on the questions shared with offline runs, which the noise floor is about."""
    return (row["shared_min"], row["shared_max"]) if "shared_min" in row else (row["min"], row["max"])


def shared_range(row: Row) -> float:
    low, high = shared_ends(row)
    return high - low


def least_range(row: Row) -> float:
    """The least range of the runs' scores, whatever unknown answers say; 0 if the shared part may have any range."""
    if "shared_min" in row:
        return 0.0 if row.get("unknown_answers") else shared_range(row)
    highs = [high for run in row["runs"] if (high := number(run.get("high"))) is not None]
    return float(row["max"] - min([row["max"], *highs])) if highs else float(row["max"] - row["min"])
