"""Pages of the gate after a pilot: annotators' figures, limits that show who would stay, decisions, the invite list."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from analysis.agreement.agreements import rows_for
from analysis.agreement.annotations import LabelChoice
from analysis.agreement.gate.rules import (
    LIMITS,
    SHARED,
    AnnotatorFigures,
    broken_limits,
    find_candidates,
    format_rule,
    read_limits,
    unsure_limits,
)
from analysis.agreement.tables import ALPHA_NOMINAL, ALPHA_ORDINAL, aside, groups_of
from analysis.agreement.views import pick_question, work_of
from analysis.charts.tables import PLAIN, Cell
from surveys.annotation.qualification import GateError, Verdict, decide_gate, list_invited
from surveys.models import AnnotationItem, GateDecision, GateVerdict
from surveys.studies.access import Role
from surveys.studies.labels import kept_people
from surveys.studies.pages import as_file, may, show, study_page

HERE = "gate"
LONGEST_REASON, LONGEST_NOTE = 5_000, 500


def read_page(request: HttpRequest, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the people of the chosen part with their figures, and what the limits in the address say about each."""
    work_of(request.study)
    has_pilot = AnnotationItem.objects.filter(study=request.study, pilot=True).exists()
    pilot = has_pilot and query.get("part") != "main"
    limits = read_limits(query)
    shared = round(limits[SHARED.name])
    found = rows_for(request.study, LabelChoice(pilot=pilot), threshold=shared, in_parts=False)
    question = pick_question(found, query.get("question", ""))
    people = find_candidates(request.study, pilot, question, found["times"])
    broken = {person.pseudonym: broken_limits(person, limits) for person in people}
    return {
        "has_pilot": has_pilot,
        "pilot": pilot,
        "part": "pilot" if pilot else "main",
        "names": [each["question"] for each in found["questions"]],
        "question": question["question"],
        "people": people,
        "labelled": sum(person.labels > 0 for person in people),
        "limits": limits,
        "sliders": [
            (limit, at := limits[limit.name], "off" if at == limit.off else limit.write(at)) for limit in LIMITS
        ],
        "broken": broken,
        "unsure": {person.pseudonym: unsure_limits(person, limits) for person in people},
        "stay": sum(not faults for faults in broken.values()),
        "rule": format_rule(limits, question["question"]),
        "alpha": find_alpha(question),
    }


def find_alpha(question: dict[str, Any]) -> Cell:
    """Find alpha of the main group, ordinal if labels have an order, as in the column of alpha without each."""
    if not question["labels"]:
        return Cell(why=question["why"])
    group = groups_of(question)[question["group"]]
    ordinal = ALPHA_ORDINAL.cell(group)
    return ALPHA_NOMINAL.cell(group) if ordinal.value is None else ordinal


@require_safe
@study_page()
def gate(request: HttpRequest) -> HttpResponse:
    page = read_page(request, request.GET)
    broken = page["broken"]
    page["rows"] = [(one, not broken[one.pseudonym], "") for one in page["people"]]
    if request.headers.get("HX-Request"):
        page["rows"] = list_people(page)
        frame = {"study": request.study, "live": True, "may_act": may(request, Role.RESEARCHER)}
        return render(request, "agreement/_who_stays.html", frame | page)
    return show_gate(request, page)


def show_gate(request: HttpRequest, page: dict[str, Any], status: int = 200, **more: Any) -> HttpResponse:
    decisions = request.study.gate_decisions.prefetch_related("verdicts__participant").order_by("-number")
    return show(
        request,
        "agreement/gate.html",
        HERE,
        status=status,
        decisions=[describe_decision(decision) for decision in decisions],
        kept=kept_people(request.study).count(),
        may_invite=may(request, Role.OWNER),
        **page | {"rows": list_people(page)},
        **more,
    )


def list_people(page: Mapping[str, Any]) -> list[tuple[AnnotatorFigures, list[str], list[str], bool, str]]:
    """List each person with the limits they break, those that are unsure, and the form's choice and note."""
    return [
        (person, page["broken"][person.pseudonym], page["unsure"][person.pseudonym], kept, note)
        for person, kept, note in page["rows"]
    ]


def describe_decision(decision: GateDecision) -> dict[str, Any]:
    verdicts = list(decision.verdicts.all())
    return {
        "decision": decision,
        "kept": [(verdict, format_kappa(verdict)) for verdict in verdicts if verdict.kept],
        "excluded": [(verdict, format_kappa(verdict)) for verdict in verdicts if not verdict.kept],
    }


def format_kappa(verdict: GateVerdict) -> str:
    """Write the mean kappa that a verdict rests on, with its interval; empty if none was frozen."""
    figures = verdict.figures
    number = Cell(figures.get("mean_kappa"), PLAIN, figures.get("mean_kappa_ci"))
    return f"κ {number.text}{aside(number)}" if number.value is not None else ""


@require_POST
@study_page(Role.RESEARCHER)
def decide(request: HttpRequest) -> HttpResponse:
    """Freeze the form's verdict about each person listed in it, with their current figures."""
    given = request.POST
    page = read_page(request, given)
    listed = [person for person in page["people"] if given.get(f"keep-{person.pseudonym}") in ("yes", "no")]
    rows = [(person, *read_verdict(given, person)) for person in listed]
    reason = given.get("reason", "").replace("\x00", "").strip()[:LONGEST_REASON]
    if fault := find_fault(rows, page["broken"], reason):
        return show_gate(request, page | {"rows": rows}, 422, fault=fault, reason=reason)
    verdicts = {
        person.pseudonym: Verdict(kept, person.figures | {"unsure": page["unsure"][person.pseudonym]}, note)
        for person, kept, note in rows
    }
    try:
        decision = decide_gate(
            request.study,
            request.user.get_username(),
            verdicts,
            pilot=page["pilot"],
            rule=page["rule"],
            thresholds=page["limits"] | {"question": page["question"]},
            reason=reason,
        )
    except GateError as error:
        return show_gate(request, page | {"rows": rows}, 422, fault=str(error), reason=reason)
    kept = sum(verdict.kept for verdict in verdicts.values())
    messages.success(request, f"Decision {decision.number}: {kept} kept, {len(verdicts) - kept} not.")
    return redirect(f"{reverse('agreement:gate', args=[request.study.slug])}?part={page['part']}")


def read_verdict(given: Mapping[str, str], person: AnnotatorFigures) -> tuple[bool, str]:
    note = given.get(f"note-{person.pseudonym}", "").replace("\x00", "").strip()
    return given[f"keep-{person.pseudonym}"] == "yes", note[:LONGEST_NOTE]


def find_fault(rows: list[tuple[AnnotatorFigures, bool, str]], broken: Mapping[str, list[str]], reason: str) -> str:
    """Say why this cannot be decided yet; empty if it can."""
    if not rows:
        return "There is nobody to decide about."
    if not reason:
        return "Say why you decide so: the reason is kept with the decision."
    unexplained = [one.pseudonym for one, kept, note in rows if kept is bool(broken[one.pseudonym]) and not note]
    if unexplained:
        return f"{', '.join(unexplained)}: this is not what the rule says. Write a note that says why."
    return ""


@require_POST
@study_page(Role.OWNER)
def invited(request: HttpRequest) -> HttpResponse:
    """Send the Prolific ids of the people kept, one a line, for a participant group there."""
    work_of(request.study)
    ids = list_invited(request.study, request.user.get_username())
    lines = "".join(f"{pid}\n" for pid in ids)
    return as_file(lines, "text/plain; charset=utf-8", f"{request.study.slug}-invited.txt")
