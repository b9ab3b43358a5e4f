"""The participant flow: from everybody who came to those analysed, with the reason for every loss."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

from django.db.models import Count, Q, QuerySet

from surveys.models import AnonymousExit, Participant, Response, Study, asked_of_all
from surveys.studies.exclusions import ExclusionRule, excluded_people, excluded_responses, rules_of

State, Step, Origin, Kind = Participant.State, Participant.Step, Participant.Origin, AnonymousExit.Kind
# Pilots and previews are never part of the main data; simulated and imported rows are, and are marked.
WHO = {
    "main": ("Main data", Q(pilot=False) & ~Q(origin=Origin.PREVIEW)),
    "prolific": ("Prolific only", Q(pilot=False, origin=Origin.PROLIFIC)),
    "simulated": ("Simulated", Q(pilot=False, origin=Origin.SIMULATED)),
    "imported": ("Imported", Q(pilot=False, origin=Origin.IMPORTED)),
    "pilot": ("Pilot", Q(pilot=True) & ~Q(origin=Origin.PREVIEW)),
    "preview": ("Previews", Q(origin=Origin.PREVIEW)),
    "all": ("Everybody", Q()),
}
# Every outcome of a participation with its label for researchers; each person has exactly one.
OUTCOME_NAMES = {
    "no_consent": "No consent",
    **{str(state): state.label for state in State if state not in (State.SCREENING, State.ACTIVE, State.COMPLETED)},
    "withdrawn": "Withdrawn",
    "in_progress": "Still working",
    "completed": State.COMPLETED.label,
}
OUTCOMES = tuple(OUTCOME_NAMES)
# Obstacles to going on; they precede the person's own words in the reason of a technical end, "no-access: …".
TROUBLES = ("no-copying", "no-window", "no-chatbot", "no-access", "other")
# Outcomes of people who had agreed and could not take part.
COULD_NOT = ("technical", "misunderstood", "screened_out")
Z = 1.959964  # of 95 %

Row = dict[str, Any]
LeftOut = dict[int, tuple[str, ...]]


def who_or_main(name: str) -> str:
    return name if name in WHO else "main"


def people_of(study: Study, who: str) -> QuerySet[Participant]:
    return Participant.objects.filter(WHO[who][1], study=study)


def kinds_of_people(study: Study) -> dict[str, int]:
    """The number of people for each choice of WHO, and of simulated ones in the pilot, in one query."""
    counts = {name: Count("id", filter=condition) for name, (_, condition) in WHO.items() if condition}
    rehearsed = Count("id", filter=Q(pilot=True, origin=Origin.SIMULATED))
    return Participant.objects.filter(study=study).aggregate(simulated_pilot=rehearsed, **counts, all=Count("id"))


def count_exits(study: Study, who: str) -> list[tuple[str, str, int]]:
    """(kind, origin, number) of those who said no or withdrew, of whom only a count is kept."""
    exits = AnonymousExit.objects.filter(WHO[who][1], version__study=study).order_by()
    return list(exits.values_list("kind", "origin").annotate(n=Count("id")))


def simulated_among(kinds: Mapping[str, int], exits: Sequence[tuple[str, str, int]], who: str) -> int:
    """Number of simulated people in a choice whose name does not say so; `exits` as `count_exits` returns them."""
    main, pilot = kinds["simulated"], kinds["simulated_pilot"]
    there = {"main": main, "pilot": pilot, "all": main + pilot}
    return there[who] + sum(n for _, origin, n in exits if origin == Origin.SIMULATED) if who in there else 0


def flow_counts(study: Study, who: str = "main") -> dict[str, Any]:
    """Count who started, consented and reached each outcome, in all and by version, with the reasons.

    `started` is the sum of OUTCOMES and `consented` leaves out only no_consent. `placed` are those who got past the
    questions; `before_place` and `after_place` split each outcome by that. `overflow` is a part of `completed`. People
    who withdrew after the end count as placed, as no more is known about them. Imported people never came here and are
    left out. `completed` is the sum of `excluded` and `analysed`.
    """
    rows = [*participant_rows(study, who), *exit_rows(study, who)]
    versions = sorted({row["version"] for row in rows})
    counts, exclusions = count_rows(rows), count_exclusions(study, who)
    return {
        **counts,
        **exclusions,
        "analysed": counts["completed"] - exclusions["excluded"],
        "before_place": by_outcome(row for row in rows if not row["placed"]),
        "after_place": by_outcome(row for row in rows if row["placed"]),
        "reasons": count_reasons(rows),
        "versions": [
            {"version": version, **count_rows(row for row in rows if row["version"] == version)} for version in versions
        ],
    }


def count_exclusions(study: Study, who: str) -> Row:
    """Count people who completed but are left out of the analysis, and single responses of the others.

    `excluded_later` are people left out only by rules declared after the launch. A person may meet several rules, so
    `excluded_by` adds up to `excluded` or more.
    """
    rules = rules_of(study)
    people, responses = left_out(study, who, rules)
    later = {rule.slug for rule in rules if rule.is_later}
    met = Counter(slug for slugs in [*people.values(), *responses.values()] for slug in slugs)
    return {
        "excluded": len(people),
        "excluded_later": sum(later.issuperset(slugs) for slugs in people.values()),
        "excluded_responses": len(responses),
        "excluded_by": [describe_rule(rule, met[rule.slug]) for rule in rules],
    }


def left_out(study: Study, who: str, rules: list[ExclusionRule]) -> tuple[LeftOut, LeftOut]:
    """People who completed and are left out, and responses of the others that would be counted, each with its rules."""
    completed = people_of(study, who).exclude(origin=Origin.IMPORTED).filter(state=State.COMPLETED)
    here = set(completed.values_list("pk", flat=True)) if rules else set()
    people = {person: slugs for person, slugs in excluded_people(study, rules).items() if person in here}
    responses = excluded_responses(study, rules)
    stay = Response.objects.filter(asked_of_all("prompt__"), pk__in=responses, participant__in=here - people.keys())
    return people, {response: responses[response] for response in stay.values_list("pk", flat=True)}


def describe_rule(rule: ExclusionRule, n: int) -> Row:
    """A rule for the figure; `n` is None for a rule in words only, which leaves out nothing here."""
    return {
        "rule": rule.slug,
        "text": rule.text,
        "condition": rule.words,
        "declared": rule.declared,
        "later": rule.is_later,
        "leaves_out": rule.scope,
        "n": n if rule.scope else None,
    }


def participant_rows(study: Study, who: str) -> list[Row]:
    people = people_of(study, who).exclude(origin=Origin.IMPORTED).order_by()
    # Many ends give the place itself back, but not the cell.
    grouped = people.annotate(placed=Q(cell__isnull=False)).values_list(
        "version__number", "state", "reason", "overflow", "step", "placed"
    )
    return [
        {
            "version": version,
            "outcome": "in_progress" if state in (State.SCREENING, State.ACTIVE) else state,
            "reason": reason_of(state, reason, step),
            "overflow": overflow,
            "placed": placed,
            "n": n,
        }
        for version, state, reason, overflow, step, placed, n in grouped.annotate(n=Count("id"))
    ]


def reason_of(state: str, reason: str, step: str) -> str:
    if state == State.TIMED_OUT:
        return f"at {step}"
    if state != State.TECHNICAL:
        return reason
    chosen = reason.split(":", 1)[0]  # the person's own words follow, which are no category to count
    return chosen if chosen in TROUBLES else ""


def count_could_not(counts: Row) -> list[tuple[str, str, int, float, float, float]]:
    """(outcome, reason or "", people, their share of all who agreed, its 95 % interval by Wilson), the most first."""
    n, found = counts["consented"], []
    for outcome in COULD_NOT:
        reasons = counts["reasons"].get(outcome, {})
        found += [(outcome, reason, people) for reason, people in reasons.items()]
        found += [(outcome, "", left)] if (left := counts[outcome] - sum(reasons.values())) else []
    return [(*row, row[2] / n, *wilson(row[2], n)) for row in sorted(found, key=lambda row: -row[2])]


def wilson(count: int, n: int) -> tuple[float, float]:
    share, spread = count / n, Z * sqrt(count * (n - count) / n + Z * Z / 4)
    middle, width = count + Z * Z / 2, n + Z * Z
    return max(0.0, (middle - spread) / width) if share else 0.0, min(1.0, (middle + spread) / width)


def exit_rows(study: Study, who: str) -> list[Row]:
    exits = AnonymousExit.objects.filter(WHO[who][1], version__study=study).order_by()
    return [
        {
            "version": version,
            "outcome": kind,
            "reason": f"at {step}" if step else "",
            "overflow": False,
            "placed": kind == Kind.WITHDRAWN and step != Step.QUESTIONS,
            "n": n,
        }
        for version, kind, step, n in exits.values_list("version__number", "kind", "step").annotate(n=Count("id"))
    ]


def count_rows(rows: Iterable[Row]) -> dict[str, int]:
    rows = list(rows)
    counts = by_outcome(rows)
    started = sum(counts.values())
    return {
        "started": started,
        "consented": started - counts["no_consent"],
        "placed": sum(row["n"] for row in rows if row["placed"]),
        **counts,
        "overflow": sum(row["n"] for row in rows if row["overflow"]),
    }


def by_outcome(rows: Iterable[Row]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row["outcome"]] += row["n"]
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def count_reasons(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Outcome → reason → how many, the most frequent first."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["reason"]:
            found[row["outcome"]][row["reason"]] += row["n"]
    return {outcome: dict(found[outcome].most_common()) for outcome in OUTCOMES if outcome in found}
