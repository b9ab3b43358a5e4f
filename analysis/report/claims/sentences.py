"""The sentences of claims, by kind: one claim for each source, or for each source and prompt.

They share words with other sentences about the report: whose answers, how many, and how significant.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.charts.figure import Report, Row, prompt_name
from analysis.charts.rows import amount_of, amount_words, differing_words, shown_source, without_amount
from analysis.charts.theme import printable
from analysis.models.conditions import SOURCES
from analysis.report import columns as col
from analysis.report.claims.candidates import Candidate, shared_ends, shared_range
from analysis.report.claims.enough import few_in, is_enough
from analysis.report.columns import is_choice
from analysis.report.dataset import ALL, FIELD, OFFLINE
from surveys.studies.wording import FIXED, INTERVAL, Span, decimal, p_value, percent, plural, sized

SIMULTANEOUS = f"simultaneous {INTERVAL}"


def who(report: Report, row: Row) -> str:
    """Name a row's source, such as offline with gpt-4o-mini, or the field of ChatGPT."""
    if row["source"] == FIELD:
        return "the field" if row["model"] == ALL else f"the field of {chatbot_name(report, row)}"
    known = SOURCES.get(row["source"])
    return f"{known.prose if known else row['source']} with {row['model']}"


def chatbot_name(report: Report, row: Row) -> str:
    """The name of the chatbot of a field row."""
    names = report.get("chatbots") or {}
    return "every chatbot" if row["model"] == ALL else printable(names.get(row["model"], row["model"]))


def settings_among(row: Row, rows: Sequence[Row]) -> str:
    """The settings in which a row differs from others of its source, model and benchmark, in brackets, if any."""
    words = ", ".join(differing_words(row, rows, ("source", "model", "benchmark")))
    return f" ({words})" if words else ""


def within(ci: list[float], n: int) -> str:
    return f"({INTERVAL} {100 * ci[0]:.0f}–{100 * ci[1]:.0f}, {sized(n)})"


@dataclass(frozen=True, eq=False)
class Sure:
    """A candidate too strong for chance anywhere on the page, with its p and interval."""

    candidate: Candidate
    p: float
    ci: Span | None

    @property
    def row(self) -> Row:
        return self.candidate.row

    @property
    def other(self) -> Row:
        return self.candidate.other

    @property
    def counts(self) -> list[int]:
        return [int(row["n"]) for row in (self.other, self.row) if row.get("n")]


MakeClaims = Callable[[Report, Sequence[Sure]], Iterator[Row]]


def claim(sure: Sure, measure: str, sentence: str, size: float, definitions: list[str], **more: Any) -> Row:
    """A claim as a row; `params` are the query of the page that shows it."""
    place = {name: sure.row[name] for name in ("prompt", "source", "model") if name in sure.row}
    params = more.pop("params", place)
    return {
        "sentence": sentence[0].upper() + sentence[1:],
        "measure": measure,
        "estimate": sure.candidate.estimate,
        "ci": list(sure.ci) if sure.ci else None,
        "n": sure.counts,
        "p": sure.p,
        **{name: value for name, value in params.items() if name in ("prompt", "source", "model")},
        "size": round(min(1.0, size), 4),
        "params": params,
        "definitions": definitions,
        **more,
    }


def points(value: float) -> str:
    return f"{100 * abs(value):.0f}"


def both_shares(one: float, other: float) -> tuple[str, str]:
    """Write two shares, with a decimal if rounded ones would differ by another number than `points` gives."""
    apart = abs(round(100 * one) - round(100 * other))
    digits = 0 if f"{apart}" == points(one - other) else 1
    return percent(one, digits), percent(other, digits)


def apart(ci: Span | None, scale: float = 100, digits: int = 0) -> str:
    """Write the ends of a difference's interval without signs, the smaller first and not rounded to 0."""
    ends = sorted(abs(scale * end) for end in ci or (0, 0))
    digits = next((more for more in range(digits, digits + 3) if round(ends[0], more)), digits)
    return "–".join(decimal(end, digits) for end in ends)


def aside(sure: Sure, scale: float = 100, digits: int = 0) -> str:
    """The interval and n, in brackets."""
    return f"({SIMULTANEOUS} {apart(sure.ci, scale, digits)}, {sized(*sure.counts)})"


def by_source(found: Sequence[Sure]) -> list[list[Sure]]:
    kinds: dict[tuple[Any, ...], list[Sure]] = {}
    for one in found:
        kinds.setdefault((one.row["source"], one.row["model"]), []).append(one)
    return list(kinds.values())


def claim_items(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for one in found:
        row, field, item = one.row, one.other, one.candidate.item
        topic, (share, beside) = prompt_name(row["prompt"]), both_shares(item["other"], item["value"])
        words = (
            f"{who(report, row)} names {item['name']} in {share} of answers to “{topic}”, "
            f"{who(report, field)} in {beside}: {points(item['effect'])} points apart "
            f"{aside(one)}."
        )
        params = {"prompt": row["prompt"], "source": row["source"], "model": row["model"], "item": item["item"]}
        definitions = ["item_share", "simultaneous"]
        opening = headline(report, row, field, item)
        yield claim(one, "item_share", words, abs(item["effect"]), definitions, params=params, headline=opening) | {
            "item": item["item"],
            "detail": f"{row['model']} · {points(item['effect'])} points apart, {SIMULTANEOUS} {apart(one.ci)}",
        }


def claim_pair_shares(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    """Claim items that one side names, or options that it takes, more often."""
    names = [report["pair"][key]["name"] for key in "ab"]
    for one in found:
        item, topic = one.candidate.item, prompt_name(one.row["prompt"])
        shares = both_shares(*(item[key]["share"] for key in "ab"))
        verb, where = (f"answers “{topic}” with", "") if "is_right" in item else ("names", f" to “{topic}”")
        words = (
            f"{names[0]} {verb} {item['name']} in {shares[0]} of answers{where}, {inside(names[1])} in {shares[1]}: "
            f"{points(item['difference'])} points apart {aside(one)}."
        )
        yield claim(one, "item_share", words, abs(item["difference"]), ["item_share", "simultaneous"], params={})


def claim_pair_variety(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    """Claim for how many prompts one side is more varied, and where most."""
    names = [report["pair"][key]["name"] for key in "ab"]
    rows = [row for row in report["pair"]["varied"] if is_enough(row)]
    for one in [max(found, key=lambda one: abs(one.candidate.estimate))] if found else []:
        test, more = one.row["differences"][col.ENTROPY.key], one.candidate.estimate > 0
        same = [other for other in found if (other.candidate.estimate > 0) == more]
        first, second = names if more else reversed(names)
        words = (
            f"{first} is more varied than {inside(second)} {for_prompts(one, len(same), len(rows))}: entropy "
            f"{abs(one.candidate.estimate):.2f} bits above {min(test['value'], test['other']):.2f} {aside(one, 1, 2)}."
        )
        size = abs(one.candidate.estimate) / max(test["other"], test["value"], 1e-9)
        yield claim(one, col.ENTROPY.name, words, size, [col.ENTROPY.name, "rarefied", "simultaneous"], params={})


def inside(name: str) -> str:
    """The name of a side within a sentence."""
    first, space, rest = name.partition(" ")
    return f"{first.lower() if first in ('The', 'Offline') else first}{space}{rest}"


def for_prompts(best: Sure, claimed: int, asked: int) -> str:
    """Write the number of prompts with the claim, and the prompt where it is strongest."""
    name = f"“{prompt_name(best.row['prompt'])}”"
    if asked == 1:
        return f"for {name}"
    return f"for {claimed} of {plural(asked, 'prompt')}, {'most for ' if claimed > 1 else ''}{name}"


def headline(report: Report, row: Row, field: Row, item: Row) -> str:
    """The sentence Compare opens with, in shares of people."""
    whose = "the API" if row["source"] == OFFLINE else shown_source(row["source"])
    people = "the people" if field["model"] == ALL else f"{chatbot_name(report, field)}’s users"
    topic, (share, beside) = row["prompt"].replace("-", " "), both_shares(item["other"], item["value"])
    return f"Asked for {topic}, {whose} names {item['name']} in {share} of answers. Of {people}, {beside} get it."


def claim_variety(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    """Claim for how many prompts the field is more, or less, varied than each source."""
    for some in by_source(found):
        best = max(some, key=lambda one: abs(one.candidate.estimate))
        more = best.candidate.estimate > 0
        same = [one for one in some if (one.candidate.estimate > 0) == more]
        row, test = best.row, best.row["against_field"][col.ENTROPY.key]
        prompts = [other for other in report["heterogeneity"] if is_beside(other, row)]
        words = (
            f"The field is {'more' if more else 'less'} varied than {who(report, row)} "
            f"{for_prompts(best, len(same), len(prompts))}: entropy {abs(best.candidate.estimate):.2f} bits "
            f"{'above' if more else 'below'} {test['other']:.2f} {aside(best, 1, 2)}."
        )
        size = abs(best.candidate.estimate) / max(test["other"], test["value"], 1e-9)
        params = {"source": row["source"], "model": row["model"]}
        definitions = [col.ENTROPY.name, "rarefied", "against_field", "simultaneous"]
        yield claim(best, col.ENTROPY.name, words, size, definitions, params=params)


def is_beside(other: Row, row: Row) -> bool:
    """Whether the other row is of the same source, at a prompt with enough answers of it and of the field."""
    if "against_field" not in other or few_in(other, (other["against_field"] or {}).get(col.ENTROPY.key)):
        return False
    return all(other[name] == row[name] for name in ("source", "model"))


def claim_right(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for one in found:
        item, question = one.candidate.item, prompt_name(one.row["prompt"])
        share, beside = both_shares(item["other"], item["value"])
        words = (
            f"{who(report, one.row)} answers “{question}” correctly in {share} of cases, "
            f"{who(report, one.other)} in {beside}: {points(item['value'] - item['other'])} points apart {aside(one)}."
        )
        definitions = [col.CORRECT.name, "against_field", "simultaneous"]
        yield claim(one, col.CORRECT.name, words, abs(one.candidate.estimate), definitions)


def claim_letters(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for one in found:
        item, question = one.candidate.item, prompt_name(one.row["prompt"])
        words = (
            f"{who(report, one.other)} answers “{question}” with {item['letter']} in {percent(item['value'])} of "
            f"cases, a letter that {who(report, one.row)} never gives {aside(one)}."
        )
        yield claim(one, "new_letters", words, abs(one.candidate.estimate), ["new_letters", "simultaneous"])


def claim_nearest(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    """Claim which sock puppet is nearest to the field, beside offline's distance."""
    rows = report.get("calibration") or []
    for one in found:
        row = one.row
        size = f", {amount_words(row)}" if amount_of(row) else ""
        others = settings_among(without_amount(row), [without_amount(other) for other in rows])
        of_model = (other for other in rows if (other["source"], other["model"]) == (OFFLINE, row["model"]))
        offline = next((other for other in of_model if other["main"]), None)
        beside = ""
        if offline and offline.get("jsd_excess") is not None:
            beside = f"; offline{settings_among(offline, rows)} is at {bits(offline)}"
        words = (
            f"The sock puppet nearest to the field is {who(report, row)}{size}{others}: {bits(row)} above chance over "
            f"{plural(row['prompts'], 'prompt')}{beside}."
        )
        params = {"source": row["source"], "model": row["model"]}
        definitions = ["jsd_excess", "calibration"]
        made = claim(one, "jsd_excess", words, abs(row["jsd_excess"]), definitions, params=params)
        yield made | {"ci": row.get("ci"), "n": [row["units"]] if row.get("units") else []}


def bits(row: Row) -> str:
    """A mean distance above chance with its interval."""
    ci = row.get("ci")
    interval = f" ({INTERVAL} {decimal(ci[0])}{' to ' if ci[0] < 0 else '–'}{decimal(ci[1])})" if ci else ""
    return f"{decimal(row['jsd_excess'])} bits{interval}"


def claim_person(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    """Split the difference between two people's answers into dice and person, or say what another person adds."""
    several = len({row["model"] for row in report["person_or_dice"] if row["source"] == FIELD}) > 1
    for one in found:
        row, value = one.row, one.candidate.estimate
        whose = f"{chatbot_name(report, row)}: of" if several else "Of"
        interval = f"({SIMULTANEOUS} {between(one.ci)}, {sized(row['repeated'])} asked twice)"
        offline, dice = row.get("offline"), row.get("dice")
        if value > 0 and offline is not None and dice is not None and dice >= 0:
            words = (
                f"{whose} the difference between two people’s answers, {decimal(row['between'])}, the API’s own dice "
                f"make {decimal(offline)}, the product’s extra dice {decimal(dice)}, the person {decimal(value)} "
                f"{interval}."
            )
        else:
            lead = f"{chatbot_name(report, row)}: two" if several else "Two"
            words = (
                f"{lead} people’s answers lie {decimal(row['between'])} apart, one person’s own two "
                f"{decimal(row['within'])}: another person {'adds' if value > 0 else 'takes away'} "
                f"{decimal(abs(value))} {interval}."
            )
        yield claim(one, "person", words, abs(value), ["unlikeness", "person", "simultaneous"], params={})


def between(ci: Span | None, digits: int = 2) -> str:
    """Write the ends of a difference's interval; without signs if both are negative, which "nearer" already says."""
    ends = [-end for end in reversed(ci)] if ci and ci[1] < 0 else ci or ()
    return " to ".join(decimal(end, digits) for end in ends)


def claim_states(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for one in found:
        row, value = one.row, one.candidate.estimate
        words = (
            f"{row['name']}: the same people’s answers ({chatbot_name(report, row)}) lie "
            f"{decimal(abs(value))} {'further apart than' if value > 0 else 'nearer than'} two in their usual state "
            f"({SIMULTANEOUS} {between(one.ci)}, {sized(row['thrice'])})."
        )
        yield claim(one, "arm_effect", words, abs(value), ["arm_effect", "simultaneous"], params={})


def claim_explained(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    """Claim an effect of explanations drawn by lot, an association for all others."""
    for one in found:
        row, value = one.row, one.candidate.estimate
        way = f"{decimal(abs(value), 3)} {'further from' if value > 0 else 'nearer to'} everybody else’s"
        interval = f"({SIMULTANEOUS} {between(one.ci, 3)}, {sized(row['units'])} people)"
        what = f"{row['label']}: with {row['level_name']}" if row["level"] else row["label"]
        beside = f" than with {row['base_name']}" if row["level"] else ""
        kind = "drawn by lot" if row["by_lot"] else "an association"
        words = f"{what}, answers lie {way}{beside} {interval}, {kind}."
        yield claim(one, "explanation", words, abs(value), ["explanation", "simultaneous"], params={})


def claim_groups(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for one in found:
        row, effect = one.row, one.candidate.estimate
        measure = col.CORRECT if is_choice(row) else col.ENTROPY
        what = "right {} often" if is_choice(row) else "{} varied"
        much = f"{points(effect)} points" if is_choice(row) else f"{abs(effect):.2f} bits"
        scale, digits = (100, 0) if is_choice(row) else (1, 2)
        words = (
            f"Answers of {row['name']} to “{prompt_name(row['prompt'])}” ({chatbot_name(report, row)}) are "
            f"{what.format('more' if effect > 0 else 'less')} than everybody else’s: {much} "
            f"{aside(one, scale, digits)}."
        )
        size = abs(effect) if is_choice(row) else abs(effect) / max(row[col.ENTROPY.key], 1e-9)
        params = {"prompt": row["prompt"], "cell": row["cell"]}
        yield claim(one, measure.name, words, size, ["cell", measure.name, "simultaneous"], params=params)


def claim_drift(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for one in found:
        row, distance = one.row, one.candidate.estimate
        words = (
            f"{who(report, row)} answers “{prompt_name(row['prompt'])}” differently on {row['date']} than on "
            f"{row['first_date']}: distance {distance:.2f} (p{FIXED}={FIXED}{p_value(one.p)} over all comparisons of "
            f"the page, {sized(int(row['n']))})."
        )
        params = {"prompt": row["prompt"], "model": row["model"]}
        measure = "tv" if is_choice(row) else col.DISTANCE.name
        yield claim(one, measure, words, distance, ["drift"], params=params)


def asked_of(row: Row) -> str:
    """The benchmark, or the number of its questions if offline runs share only a part."""
    return f"{row['shared_questions']:,} questions of {row['benchmark']}" if "shared_min" in row else row["benchmark"]


def claim_ranges(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for one in found:
        row = one.row
        scores = f"{' to '.join(map(percent, shared_ends(row)))} in {len(row['runs'])} runs"
        words = (
            f"{who(report, row)}{settings_among(row, report['benchmarks'])} scores {scores} of {asked_of(row)}: a "
            f"range that none of {plural(row['offline_runs'], 'offline run')} reaches."
        )
        yield of_benchmark(one, "overlaps_offline", words, abs(one.candidate.estimate))


def claim_new_letters(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for one in found:
        row, (low, high) = one.row, one.ci or (0.0, 0.0)
        words = (
            f"On {percent(row[col.NOVEL.key])} of {row['shared_questions']} questions of {row['benchmark']} a run of "
            f"{who(report, row)}{settings_among(row, report['benchmarks'])} gives a letter that no offline run gives "
            f"{within(row['novel_ci'], row['shared_questions'])}; with {plural(row['novel_runs'], 'run')} of each that "
            f"is {points(row['novel_excess'])} points more than held-out offline runs give "
            f"({SIMULTANEOUS} {100 * low:.0f}–{100 * high:.0f})."
        )
        yield of_benchmark(one, "novel_excess", words, row["novel_excess"], [col.NOVEL.name, "novel_excess"])


def claim_spread(report: Report, found: Sequence[Sure]) -> Iterator[Row]:
    for some in [max(found, key=lambda one: shared_range(one.row))] if found else []:
        row, floor = some.row, some.row["noise_floor"]
        words = (
            f"The choice of simulated user moves the score on {asked_of(row)} by "
            f"{points(shared_range(row))} points over {len(row['runs'])} runs of {who(report, row)}; "
            f"as many offline repeats alone would move it by {points(floor['range'])} "
            f"({INTERVAL} {'–'.join(points(end) for end in floor['ci'])})."
        )
        yield of_benchmark(some, "noise_floor", words, abs(some.candidate.estimate))


def of_benchmark(one: Sure, measure: str, words: str, size: float, definitions: list[str] | None = None) -> Row:
    params = {"source": one.row["source"], "model": one.row["model"]}
    defined = definitions or ["benchmark_run", measure]
    return claim(one, measure, words, size, defined, params=params) | {"n": [len(one.row["runs"])]}
