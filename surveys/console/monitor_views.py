"""Collect: the live monitor."""

from django.http import HttpRequest, HttpResponse

from surveys.annotation.progress import count_items, count_skips, say_labels
from surveys.console.pages import show, study_page
from surveys.console.words import CHECK_NAMES
from surveys.models import AnonymousExit, Participant
from surveys.monitoring.monitor import Monitor, say_state, watch
from surveys.monitoring.people import WHO, who_or_main
from surveys.pasting.evidence import duration
from surveys.studies.lifecycle import definition_of

State, Kind = Participant.State, AnonymousExit.Kind
BAR = 1000  # width of a bar's own units


@study_page()
def monitor(request: HttpRequest) -> HttpResponse:
    return show(request, "console/monitor.html", "collect", **monitor_page(request))


@study_page()
def monitor_part(request: HttpRequest) -> HttpResponse:
    """The numbers alone, for a page that is open already."""
    return show(request, "console/_monitor.html", "collect", **monitor_page(request))


def monitor_page(request: HttpRequest) -> dict:
    watched = watch(request.study, who_or_main(request.GET.get("who", "")))
    labelling = labelling_of(request)
    return {
        "monitor": watched,
        "sentence": labelling and say_labels(request.study, labelling["parts"]) or say_state(request.study, watched),
        "who": watched.who,
        "choices": who_choices(watched.kinds, watched.who),
        "apart": people_apart(watched),
        "cells": [cell_row(cell) for cell in watched.cells],
        "states": state_rows(watched),
        "steps": [(Participant.Step(step).label, n) for step, n in watched.steps.items() if n],
        "flags": [(CHECK_NAMES[flag.check], flag) for flag in watched.flags],
        "currency": currency_of(request),
        "bar": BAR,
        "last_answer": since(watched),
        "labelling": labelling,
    }


def labelling_of(request: HttpRequest) -> dict | None:
    """How far the items are; None in a study that has no annotators."""
    study = request.study
    if not definition_of(study.current_id).annotation:
        return None
    return {"parts": count_items(study), "skips": count_skips(study)}


def since(watched: Monitor) -> str:
    return duration((watched.at - watched.last_answer).total_seconds()) if watched.last_answer else ""


def currency_of(request: HttpRequest) -> str:
    return "£" if definition_of(request.study.current_id).pay.currency == "GBP" else "$"


def who_choices(kinds: dict[str, int], chosen: str) -> list[tuple[str, str, int]]:
    """The switch: only kinds of people that this study has, the main data and the chosen one always."""
    return [(who, name, kinds[who]) for who, (name, _) in WHO.items() if kinds[who] or who in ("main", chosen)]


def people_apart(watched: Monitor) -> list[str]:
    """Sentences about people who are not what a reader would take them for."""
    kinds, words = watched.kinds, []
    if watched.who in ("main", "all") and kinds["simulated"]:
        words.append(f"{kinds['simulated']} of these people {are(kinds['simulated'])} simulated.")
    left_out = [
        f"{kinds[who]} {name}" for who, name in (("pilot", "of the pilot"), ("preview", "previewing")) if kinds[who]
    ]
    if watched.who == "main" and left_out:
        words.append(f"Left out: {' and '.join(left_out)}.")
    if watched.who in ("main", "imported") and kinds["imported"]:
        words.append(f"{kinds['imported']} imported: never here, but in the list of participants.")
    return words


def are(n: int) -> str:
    return "is" if n == 1 else "are"


def cell_row(cell) -> dict:
    """A cell with its bar: where each part begins and how wide it is."""
    places = max(cell.places, 1)
    filled, leased = BAR * cell.filled / places, BAR * cell.leased / places
    return {"cell": cell, "filled": round(filled), "leased": round(leased), "leased_at": round(filled)}


def state_rows(watched: Monitor) -> list[dict]:
    rows = [{"state": state, "name": State(state).label, "n": n} for state, n in watched.states.items()]
    rows += [{"state": "", "name": Kind(kind).label, "n": n} for kind, n in watched.exits.items()]
    for row in rows:
        row["share"] = round(100 * row["n"] / watched.people) if watched.people else 0
    return rows
