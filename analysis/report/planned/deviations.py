"""Deviations from the plan: amendments, later exclusions, other numbers of people, missing runs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils import timezone

from analysis.charts.figure import Row
from analysis.report.planned.answers import Sides
from analysis.report.planned.looks import Standing, say_look
from analysis.report.samples import Data
from surveys.models import AuditEvent, Study, StudyVersion
from surveys.reading.answers import RULES_VERSION
from surveys.studies.exclusions import rules_of
from surveys.studies.files.hypotheses import TESTS_VERSION
from surveys.studies.lifecycle import LAUNCHED
from surveys.studies.wording import join_words, plural, two_digits

PLANNED = ("hypotheses", "plan")


def plan_of(study: Study) -> Row:
    """The plan and the version in which it was frozen: the launch's, or today's before the launch."""
    versions = StudyVersion.objects.filter(study=study).order_by("-number")
    frozen = versions.filter(amendment="").first() or study.current
    assert frozen is not None
    launched = study.launched_at
    return {
        "version": frozen.number,
        "sha256": frozen.sha256,
        "frozen_at": launched.isoformat(timespec="seconds") if launched else None,
        "document": {name: frozen.document.get(name) for name in PLANNED},
    }


def later_hypotheses(study: Study, frozen: Row) -> set[str]:
    """Slugs of hypotheses that the frozen plan lacks or has in another form; none before the launch."""
    assert study.current is not None
    launched = {entry["slug"]: entry for entry in frozen["document"]["hypotheses"] or ()}
    now = study.current.document.get("hypotheses") or ()
    return {entry["slug"] for entry in now if launched.get(entry["slug"]) != entry} if study.is_launched else set()


def deviations(
    seen: Data, sides: list[Sides], frozen: Row, standing: Standing, alphas: Mapping[str, float]
) -> list[Row]:
    """All deviations from the plan; `alphas` are by family."""
    return [
        *amendments(seen.study, frozen),
        *(
            {"kind": "exclusion", "text": f"{rule.text} ({rule.words})", "when": f"declared {rule.declared}"}
            for rule in rules_of(seen.study)
            if rule.is_later
        ),
        *other_looks(standing),
        *other_analysis(versions_of(seen.study)),
        *short(replace(standing, people=len(seen.people)), "people", "completed"),
        *spent_in_part(standing, alphas),
        *later_people(came_later(standing, seen)),
        *missing_runs(sides),
    ]


def amendments(study: Study, frozen: Row) -> Iterator[Row]:
    before: dict[str, Any] = frozen["document"]
    for version in StudyVersion.objects.filter(study=study).exclude(amendment="").order_by("number"):
        document = {name: version.document.get(name) for name in PLANNED}
        what = "changes the plan" if document != before else "leaves the plan as it was"
        before = document
        day = timezone.localdate(version.created_at)
        when = f"amendment, version {version.number}, {day.day} {day:%B %Y}"
        yield {"kind": "amendment", "text": f"{version.amendment} It {what}.", "when": when}
    now = {entry["slug"] for entry in before["hypotheses"] or ()}
    for entry in frozen["document"]["hypotheses"] or ():
        if entry["slug"] not in now:
            text = f"{entry['text']} It was planned and is tested no more."
            yield {"kind": "hypothesis", "text": text, "when": "left out"}


def other_looks(standing: Standing) -> Iterator[Row]:
    """Yield looks outside the plan, and planned ones not taken."""
    for row in standing.taken:
        if not row["look"]:
            yield {"kind": "look", "text": f"{say_look(row)}, by {row['by']}.", "when": row["when"][:10]}
    taken = {row["at"] for row in standing.taken}
    for at in standing.looks:
        if standing.is_launched and standing.is_over and at not in taken and at < standing.places:
            text = f"Look {standing.number(at)}, at {plural(at, 'person', 'people')}, was not taken; it spent no alpha."
            yield {"kind": "look", "text": text, "when": "passed over"}


def versions_of(study: Study) -> Row:
    """The versions of reading rules and tests: those recorded at the launch, if any, and today's."""
    launched = AuditEvent.objects.filter(study=study, action=LAUNCHED).order_by("number").first()
    now = {"rules": RULES_VERSION, "tests": TESTS_VERSION}
    known = launched is not None and now.keys() <= launched.detail.keys()
    return {"planned": {name: launched.detail[name] for name in now} if known else None, "reported": now}


def other_analysis(versions: Row) -> Iterator[Row]:
    planned, now = versions["planned"], versions["reported"]
    words = {"rules": "reading rules", "tests": "tests of hypotheses"}
    for name in now if planned else ():
        if planned[name] != now[name]:
            text = f"Planned with {words[name]} {planned[name]}, reported with {now[name]}."
            if name == "rules":
                text += " Of answers that stand as earlier rules read them the multiverse has both readings."
            yield {"kind": "analysis", "text": text, "when": "since the launch"}


def short(standing: Standing, noun: str, came: str) -> Iterator[Row]:
    """Yield a deviation if fewer or more came than were planned."""
    there, planned = standing.people, standing.places
    if standing.is_over and there != planned:
        more = "Fewer" if there < planned else "More"
        text = f"{more} {noun}: {there:,} of {planned:,} {came}."
        few = "withdrawn since the end" if standing.reached >= planned else "the study is closed"
        yield {"kind": noun, "text": text, "when": few if there < planned else "over the places"}


def spent_in_part(standing: Standing, alphas: Mapping[str, float]) -> Iterator[Row]:
    """Yield a deviation if the end spends only part of alpha, as fewer people came than were planned at a look."""
    if standing.is_over and standing.times[-1] < 1:
        levels = join_words([f"{two_digits(standing.level(alpha))} ({family})" for family, alpha in alphas.items()])
        text = (
            f"The end is at {standing.reached:,} of the {standing.whole:,} people planned when somebody looked, "
            f"so that not all of alpha is spent: a hypothesis alone passes with p ≤ {levels}."
        )
        yield {"kind": "alpha", "text": text, "when": "since a look"}


def came_later(standing: Standing, seen: Data) -> int:
    """The number of people who completed after the end was shown."""
    return standing.people - len(seen.people) if standing.shown else 0


def later_people(count: int) -> Iterator[Row]:
    if count:
        people = plural(count, "person", "people")
        text = f"{people} came after the end was shown; they are among what is explored."
        yield {"kind": "people", "text": text, "when": "since the end"}


def missing_runs(sides: list[Sides]) -> Iterator[Row]:
    both = [pair for each in sides for pair in ((each.hypothesis.a, each.a), (each.hypothesis.b, each.b))]
    for text in dict.fromkeys(text for text, chosen in both if text and chosen is None):
        waiting = [each.hypothesis.slug for each in sides if text in (each.hypothesis.a, each.hypothesis.b)]
        needed = plural(len(waiting), "hypothesis", "hypotheses")
        yield {"kind": "run", "text": f"There is no run of {text}; {needed} cannot be tested.", "when": "missing"}
