"""Collect: the live monitor, and the participant flow as a figure, a table and a file."""

import textwrap
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import path
from django.views.decorators.http import require_safe

from surveys.console.monitoring.monitor import (
    HourlyPay,
    Monitor,
    count_items,
    count_missing,
    count_skips,
    say_labels,
    say_state,
    watch,
)
from surveys.console.monitoring.people import CHECK_NAMES, reason_name
from surveys.models import AnonymousExit, Participant
from surveys.studies.access import Role
from surveys.studies.files.kinds import IMPORTED
from surveys.studies.flow import (
    OUTCOME_NAMES,
    OUTCOMES,
    WHO,
    count_could_not,
    count_exits,
    flow_counts,
    kinds_of_people,
    simulated_among,
    who_or_main,
)
from surveys.studies.lifecycle import definition_of
from surveys.studies.pages import saved_as, show, study_page
from surveys.studies.wording import duration, money, money_range, percent

State, Step, Kind = Participant.State, Participant.Step, AnonymousExit.Kind
BAR = 1000  # width of a bar's own units


@study_page(Role.BLINDED, require_safe)
def monitor(request: HttpRequest) -> HttpResponse:
    return show(request, "console/monitor.html", "collect", **monitor_page(request))


@study_page(Role.BLINDED, require_safe)
def monitor_part(request: HttpRequest) -> HttpResponse:
    """The numbers alone, for a page that is open already."""
    return show(request, "console/_monitor.html", "collect", **monitor_page(request))


def monitor_page(request: HttpRequest) -> dict:
    study, definition = request.study, definition_of(request.study.current_id)
    watched, currency = watch(study, who_or_main(request.GET.get("who", ""))), definition.pay.currency
    is_asked = definition.annotation and definition.annotation.kind != IMPORTED
    labelling: dict = {"parts": count_items(study), "skips": count_skips(study)} if is_asked else {}
    stands = labelling and say_labels(study, labelling["parts"])
    stands = stands or say_state(study, watched.cells, count_missing(study) if labelling else 0)
    return {
        "monitor": watched,
        "sentence": stands + say_pay(watched.pay, currency),
        "who": watched.who,
        "choices": who_choices(watched.kinds, watched.who),
        "apart": people_apart(watched),
        "cells": [cell_row(cell) for cell in watched.cells],
        "states": state_rows(watched),
        "steps": [
            ("Items" if labelling and step == Step.PROMPTS else Step(step).label, n)
            for step, n in watched.steps.items()
            if n
        ],
        "flags": [(CHECK_NAMES[flag.check], flag) for flag in watched.flags],
        "pay": pay_row(watched.pay, currency),
        "pay_by_cell": [pay_row(pay, currency) for pay in watched.pay_by_cell],
        "bar": BAR,
        "last_answer": duration((watched.at - newest).total_seconds()) if (newest := watched.last_answer) else "",
        "labelling": labelling,
    }


def pay_row(pay: HourlyPay, currency: str) -> dict:
    per_hour = "" if pay.per_hour is None else money(pay.per_hour, currency)
    return {"pay": pay, "per_hour": per_hour, "promised": money_range(pay.promised, currency)}


def say_pay(pay: HourlyPay, currency: str) -> str:
    """A sentence if people earn less than promised; else empty."""
    if not pay.below or pay.per_hour is None:
        return ""
    per_hour, promised = money(pay.per_hour, currency), money_range(pay.promised, currency)
    return f" Pay is below the promise: {per_hour} instead of {promised} an hour."


def who_choices(kinds: dict[str, int], chosen: str) -> list[tuple[str, str, int]]:
    """Choices of people: the kinds in this study, and always the main data and the chosen one."""
    return [(who, name, kinds[who]) for who, (name, _) in WHO.items() if kinds[who] or who in ("main", chosen)]


def people_apart(watched: Monitor) -> list[str]:
    """Sentences about simulated, left-out and imported people, to prevent misreading."""
    kinds, words = watched.kinds, []
    if n := watched.simulated:
        words.append(f"{n:,} of {watched.people:,} who came {'is' if n == 1 else 'are'} simulated.")
    left_out = [
        f"{kinds[who]} {name}" for who, name in (("pilot", "of the pilot"), ("preview", "previewing")) if kinds[who]
    ]
    if watched.who == "main" and left_out:
        words.append(f"Left out: {' and '.join(left_out)}.")
    if watched.who in ("main", "imported") and kinds["imported"]:
        words.append(f"{kinds['imported']} imported: they never came here, but are in the list of participants.")
    return words


def cell_row(cell: Any) -> dict:
    """A cell with its bar: where each part begins and how wide it is."""
    places = max(cell.places, 1)
    filled, leased = BAR * cell.filled / places, BAR * cell.leased / places
    return {"cell": cell, "filled": round(filled), "leased": round(leased), "leased_at": round(filled)}


def state_rows(watched: Monitor) -> list[dict]:
    rows: list[dict[str, Any]] = [
        {"state": state, "name": State(state).label, "n": n} for state, n in watched.states.items()
    ]
    rows += [{"state": "", "name": Kind(kind).label, "n": n} for kind, n in watched.exits.items()]
    for row in rows:
        row["share"] = percent(row["n"] / watched.people) if watched.people else ""
    return rows


# --- the participant flow ---------------------------------------------------


WIDTH, MAIN, SIDE, SIDE_AT = 760, 270, 380, 360
LINE, PADDING, GAP = 20, 14, 34
LONGEST = 48  # characters that a line beside the arrow has room for


@dataclass(frozen=True)
class Box:
    """A box of the figure; `lines` are (indent, words, bold)."""

    x: int
    y: int
    width: int
    lines: tuple[tuple[int, str, bool], ...]
    side: bool = False

    @property
    def height(self) -> int:
        return 2 * PADDING + LINE * len(self.lines) - 4

    @property
    def middle(self) -> int:
        return self.y + self.height // 2

    @property
    def centre(self) -> int:
        return self.x + self.width // 2

    @property
    def rows(self) -> list[tuple[int, int, str, bool]]:
        """(x, baseline, words, bold) of each line."""
        return [
            (self.x + PADDING + indent, self.y + PADDING + 12 + LINE * number, words, bold)
            for number, (indent, words, bold) in enumerate(self.lines)
        ]


@dataclass(frozen=True)
class FlowFigure:
    """Boxes from top to bottom, each main box with the one beside the arrow that leaves it."""

    boxes: list[Box]
    height: int
    width: int = WIDTH

    @property
    def arrows(self) -> list[tuple[int, int, int, int]]:
        main = [box for box in self.boxes if not box.side]
        down = [
            (upper.centre, upper.y + upper.height, lower.centre, lower.y - 1)
            for upper, lower in zip(main, main[1:], strict=False)
        ]
        return down + [(main[0].centre, box.middle, box.x - 1, box.middle) for box in self.boxes if box.side]


@study_page(Role.BLINDED, require_safe)
def flow(request: HttpRequest) -> HttpResponse:
    who = who_or_main(request.GET.get("who", ""))
    counts, kinds = flow_counts(request.study, who), kinds_of_people(request.study)
    return show(
        request,
        "console/flow.html",
        "flow",
        counts=counts,
        figure=draw_flow(counts),
        rows=table_rows(counts),
        could_not=[
            {
                "outcome": OUTCOME_NAMES[outcome],
                "reason": reason and reason_name(reason),
                "people": n,
                "share": 100 * share,
                "said": percent(share, 1),
                "low": 100 * low,
                "high": 100 * high,
            }
            for outcome, reason, n, share, low, high in count_could_not(counts)
        ],
        who=who,
        choices=[
            (name, label)
            for name, (label, _) in WHO.items()
            if name != "imported" and (kinds[name] or name in ("main", who))
        ],
        imported=kinds["imported"],
        simulated=simulated_among(kinds, count_exits(request.study, who), who),
    )


@study_page(Role.BLINDED, require_safe)
def flow_file(request: HttpRequest, kind: str) -> HttpResponse:
    """The figure as SVG, or its numbers as JSON."""
    counts = flow_counts(request.study, who_or_main(request.GET.get("who", "")))
    if kind == "json":
        response = JsonResponse(counts, json_dumps_params={"indent": 2})
    else:
        drawn = render_to_string(
            "console/_flow.svg", {"figure": draw_flow(counts), "study": request.study, "file": True}
        )
        response = HttpResponse(drawn, content_type="image/svg+xml; charset=utf-8")
    return saved_as(f"{request.study.slug}-flow.{kind}", response)


def draw_flow(counts: dict) -> FlowFigure:
    """Started → consented → given a place → completed → analysed, with those who left beside each arrow."""
    mains = [
        ("Came to the first page", counts["started"], None),
        ("Agreed to take part", counts["consented"], side_lines({"no_consent": counts["no_consent"]}, {})),
        ("Were given a place", counts["placed"], side_lines(counts["before_place"], counts["reasons"], "no_consent")),
        ("Completed", counts["completed"], side_lines(counts["after_place"], {}, "completed")),
        ("In the analysis", counts["analysed"], left_out_lines(counts) if counts["excluded_by"] else None),
    ]
    boxes, y = [], 8
    for title, n, beside in mains:
        if beside:
            side = Box(SIDE_AT, y - GAP // 2, SIDE - 8, tuple(beside), side=True)
            boxes.append(side)
            y = side.y + side.height + GAP // 2
        lines = [(0, title, False), (0, f"n = {n:,}", True)]
        if title == "Completed" and counts["overflow"]:
            lines.append((0, f"{counts['overflow']:,} of them after their place was given away", False))
        if title == "In the analysis" and counts["excluded_responses"]:
            lines.append((0, f"without {counts['excluded_responses']:,} of their responses", False))
        box = Box(8, y, MAIN, tuple(lines))
        boxes.append(box)
        y = box.y + box.height + GAP
    return FlowFigure(boxes, y - GAP + 8)


def side_lines(counts: dict[str, int], reasons: dict, *without: str) -> list[tuple[int, str, bool]]:
    working = counts.get("in_progress", 0)
    left = {outcome: n for outcome, n in counts.items() if n and outcome not in (*without, "in_progress")}
    lines = [(0, f"{OUTCOME_NAMES['in_progress']}: {working:,}", True)] if working else []
    lines.append((0, f"Stopped here: {sum(left.values()):,}", True))
    for outcome, n in left.items():
        lines.append((0, f"{OUTCOME_NAMES[outcome]}: {n:,}", False))
        if outcome == "screened_out":
            lines += [(16, f"{reason_name(reason)}: {k:,}", False) for reason, k in reasons.get(outcome, {}).items()]
    return lines


def left_out_lines(counts: dict) -> list[tuple[int, str, bool]]:
    """How many people each rule leaves out, then single responses, without rules in words only."""
    lines = [(0, f"Left out of the analysis: {counts['excluded']:,}", True)]
    if counts["excluded_later"]:
        lines.append((0, f"{counts['excluded_later']:,} of them only by rules declared later", False))
    for scope, begin in (("person", ""), ("response", "single responses, ")):
        for rule in counts["excluded_by"]:
            if rule["leaves_out"] == scope:
                words = f"{begin}{rule['condition']}: {rule['n']:,}"
                first, *more = textwrap.wrap(words[0].upper() + words[1:], LONGEST)
                more += [f"declared {rule['declared']}"] if rule["later"] else []
                lines += [(0, first, False), *((16, line, False) for line in more)]
    return lines


def table_rows(counts: dict) -> list[dict]:
    return [
        {
            "name": OUTCOME_NAMES[outcome],
            "n": counts[outcome],
            "share": percent(counts[outcome] / counts["started"]) if counts["started"] else "",
            "reasons": [(reason_name(reason), n) for reason, n in counts["reasons"].get(outcome, {}).items()],
            "versions": [version[outcome] for version in counts["versions"]],
        }
        for outcome in OUTCOMES
    ]


urlpatterns = [
    path("<slug:slug>/collect/", monitor, name="monitor"),
    path("<slug:slug>/collect/numbers/", monitor_part, name="monitor-part"),
    path("<slug:slug>/flow/", flow, name="flow"),
    path("<slug:slug>/flow/flow.svg", flow_file, {"kind": "svg"}, name="flow-svg"),
    path("<slug:slug>/flow/flow.json", flow_file, {"kind": "json"}, name="flow-json"),
]
