"""The plan frozen at the launch beside today's, if study, analysis or pilot have changed since it was simulated."""

from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from typing import Any

import numpy as np

from analysis.models import MetricValue
from analysis.plans.kept import find_frozen, fingerprint_of_plan, plan_version
from analysis.plans.texts import say_chance
from analysis.report.planned.verdicts import unit_word, written
from analysis.stats.intervals import Interval, Z, share_difference
from surveys.models import Study
from surveys.studies.wording import decimal, join_words, plural

Row = dict[str, Any]


def beside_frozen(study: Study, found: Row | None, at: datetime | None) -> Row | None:
    """Both plans at their own number of people, by hypothesis and scenario; None without a frozen plan or a change.

    `found`: today's plan, simulated at `at`.
    """
    frozen = find_frozen(study)
    if frozen is None or frozen.fingerprint == fingerprint_of_plan(study):
        return None
    before, now = by_place(frozen.value), by_place(found) if found else {}
    plans = [plan for plan in (frozen.value, found) if plan]
    return {
        "why": say_changes(study, frozen, at),
        "simulated": [{name: plan[name] for name in ("version", "planned", "replicates")} for plan in plans],
        "rows": [compare(place, before.get(place), now.get(place)) for place in dict.fromkeys((*before, *now))],
    }


def by_place(plan: Row) -> dict[tuple[str, ...], Row]:
    return {
        (entry["hypothesis"], entry["measure"], row["scenario"]): row
        for entry in plan["hypotheses"]
        for row in plan["rows"]
        if (row["hypothesis"], row["people"]) == (entry["hypothesis"], plan["planned"])
    }


def compare(place: tuple[str, ...], frozen: Row | None, today: Row | None) -> Row:
    """Today's minus frozen numbers, with 95 % intervals as for simulations that share no draws."""
    found: Row = dict(zip(("hypothesis", "measure", "scenario"), place, strict=True))
    found |= {"frozen": frozen, "today": today, "wider": None, "wider_ci": None, "more": None, "more_ci": None}
    if frozen is None or today is None:
        return found
    found["more"] = today["supported"] - frozen["supported"]
    found["more_ci"] = share_difference(
        today["supported"], today["supported_ci"], frozen["supported"], frozen["supported_ci"]
    )
    if frozen["width"] is not None and today["width"] is not None:
        found["wider"] = wider = today["width"] - frozen["width"]
        if None not in (errors := (frozen["width_error"], today["width_error"])):
            half = Z * float(np.hypot(*errors))
            found["wider_ci"] = (wider - half, wider + half)
    return found


# --- in words


def day(at: date) -> str:
    return f"{at:%-d %b %Y}"


def say_simulated(kept: MetricValue) -> str:
    analysis = kept.value["analysis"][:8] if "analysis" in kept.value else "of an earlier version"
    return f"Simulated on {day(kept.computed_at)} for version {kept.value['version']} by analysis {analysis}"


def say_changes(study: Study, frozen: MetricValue, at: datetime | None) -> str:
    assert study.current is not None and study.launched_at is not None
    changes = []
    if frozen.value["version_sha256"] != study.current.sha256:
        how = "was amended to" if study.current.amendment else "became"
        changes.append(f"the study {how} version {study.current.number} on {day(study.current.created_at)}")
    if frozen.value.get("analysis") != plan_version():
        changes.append(f"the analysis has changed to {plan_version()[:8]}")
    now = f"were simulated on {day(at)}" if at else "are not simulated yet"
    return (
        f"{say_simulated(frozen)}, frozen at the launch on {day(study.launched_at)}; since it was "
        f"simulated, {join_words(changes) or 'the pilot has changed'}; today’s numbers {now}."
    )


def head_of(beside: Row) -> str:
    """The numbers of people and simulated studies behind each plan."""
    words = [
        f"{name}: {plural(plan['planned'], 'person', 'people')}, {plural(plan['replicates'], 'study', 'studies')}"
        for name, plan in zip(("Frozen", "today"), beside["simulated"], strict=False)
    ]
    return f"Simulated. {'; '.join(words)} for each number."


def cells_of(row: Row) -> Row:
    measure, plans = row["measure"], (row["frozen"], row["today"])
    widths = [plan["width"] if plan else None for plan in plans]
    return {
        "hypothesis": row["hypothesis"],
        "scenario": row["scenario"],
        "unit": unit_word(measure),
        "widths": ["–" if width is None else written(measure, width) for width in widths],
        "wider": say_ends(partial(written, measure), row["wider"], row["wider_ci"]),
        "chances": [say_chance(plan, "supported") if plan else "–" for plan in plans],
        "more": say_ends(points, row["more"], row["more_ci"]),
    }


def points(share: float, sign: bool = False) -> str:
    return decimal(100 * share, sign=sign, digits=0)


def say_ends(say: Callable[..., str], value: float | None, ends: Interval | None) -> str:
    """+2 (−6 to 10)"""
    if value is None:
        return "–"
    return say(value, sign=True) + (f" ({' to '.join(map(say, ends))})" if ends else "")


def lines_of_frozen(beside: Row) -> list[str]:
    found = ["", beside["why"], f"{head_of(beside)} Differences are today’s minus frozen, in points or bits:"]
    for row in map(cells_of, beside["rows"]):
        widths, chances = (" → ".join(row[name]) for name in ("widths", "chances"))
        found.append(
            f"{row['hypothesis']}, {row['scenario']}: ± {widths} {row['unit']}, difference {row['wider']}; "
            f"supported {chances}, difference {row['more']}"
        )
    return found
