"""Runs a simulation: who plays when, and the report on all of them."""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import timedelta
from time import perf_counter
from typing import Any

from django.db import connection
from django.utils import timezone

from surveys.annotation.qualification import Verdict, decide_gate
from surveys.models import AnnotationItem, Participant, Place, Slot, Study
from surveys.participation.places import lease_minutes, release_expired
from surveys.simulation.annotating import AnnotatingPlayer
from surveys.simulation.answering import AnsweringPlayer
from surveys.simulation.check import count_exits, count_overlap, find_violations
from surveys.simulation.people import Person, Story, make_people
from surveys.simulation.player import Player
from surveys.studies.lifecycle import definition_of, prompts_of

AWAY = ("late", "walk_away", "excluded")
COME_BACK = ("late", "excluded")
Progress = Callable[[int], None]


class NotSimulated(Exception):
    """The server took our first person for a real one: it must not get any more."""


def simulate(
    study: Study, site: str, participants: int, concurrency: int, faults: bool, seed: int, progress: Progress
) -> dict[str, Any]:
    """Play all people and compare. Who will be away for a time plays first, lapses, and comes back after all others."""
    players = make_players(
        study, site, make_people(definition_of(study.current_id), participants, faults, seed), faults
    )
    before, start = count_exits(study), perf_counter()
    first, *others = players
    play([first], 1, progress)
    check_mark(study, first.person)
    early = [player for player in others if player.person.way in AWAY]
    play(early, concurrency, progress)
    lapsed = [player for player in early if player.story.lapsed]
    for player in lapsed:
        age_lease(study, player.person)
    exclude(study, [player.person.pid for player in lapsed if player.person.way == "excluded"])
    play([player for player in others if player not in early], concurrency, progress)
    release_expired(study)
    play([player for player in lapsed if player.person.way in COME_BACK], concurrency, progress)
    seconds = perf_counter() - start
    stories = [player.story for player in players]
    report = make_report(stories, seconds)
    if definition_of(study.current_id).annotation:
        habits = sum((story.habits for story in stories), Counter())
        report |= {
            "habits": dict(habits.most_common()),
            "items": count_overlap(study, study.state == Study.State.PILOT),
        }
    return report | {"violations": list(find_violations(study, stories, before))}


def make_players(study: Study, site: str, people: list[Person], faults: bool) -> list[Player]:
    definition = definition_of(study.current_id)
    if definition.annotation:
        items = {item.pk: item for item in AnnotationItem.objects.filter(study=study)}
        return [AnnotatingPlayer(site, person, definition, items, faults) for person in people]
    prompts = prompts_of(study.current_id)
    return [AnsweringPlayer(site, person, definition, prompts, faults) for person in people]


def play(players: Iterable[Player], concurrency: int, progress: Progress) -> None:
    """Nothing is asked meanwhile, so no connection is held that may be dead by then."""
    if not connection.in_atomic_block:
        connection.close()
    with ThreadPoolExecutor(concurrency) as pool:
        running = [pool.submit(player.play) for player in players]
        try:
            for done in as_completed(running):
                story = done.result()
                progress(not (story.lapsed and story.person.way in COME_BACK))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def check_mark(study: Study, person: Person) -> None:
    row = Participant.objects.filter(study=study, pid=person.pid).first()
    if row is None:
        raise NotSimulated("The server stored nobody in this database. Does it use another one?")
    if row.origin != Participant.Origin.SIMULATED:
        raise NotSimulated(
            f"The server took {person.pid} for a real person; withdraw them. Does it use another SECRET_KEY?"
        )


def age_lease(study: Study, person: Person) -> None:
    """Let time pass for one simulated person: lease and holds end now; they were last here before these began."""
    rows = Participant.objects.filter(study=study, pid=person.pid, origin=Participant.Origin.SIMULATED)
    for row in rows:
        now = timezone.now()
        Place.objects.filter(participant=row, confirmed_at__isnull=True).update(expires_at=now)
        Slot.objects.filter(participant=row, done_at=None).update(held_until=now)
        rows.update(last_seen_at=now - timedelta(minutes=lease_minutes(row) + 1))


def exclude(study: Study, pids: list[str]) -> None:
    """The gate decides against these simulated people, as researchers do after a pilot."""
    people = Participant.objects.filter(study=study, pid__in=pids, origin=Participant.Origin.SIMULATED)
    verdicts = {person.pseudonym: Verdict(kept=False, note="simulated") for person in people}
    if verdicts:
        pilot = study.state == Study.State.PILOT
        rule, reason = "Some simulated people, drawn by lot", "Rehearsal with simulated people"
        decide_gate(study, "simulate", verdicts, pilot=pilot, rule=rule, thresholds={}, reason=reason)


def make_report(stories: list[Story], seconds: float) -> dict[str, Any]:
    waits = sorted(wait for story in stories for wait in story.waits)
    requests = sum(story.requests for story in stories)
    submissions = sum(story.submissions for story in stories)
    mishaps: Counter[str] = Counter()
    for story in stories:
        mishaps += story.mishaps
    return {
        "participants": len(stories),
        "seconds": round(seconds, 2),
        "requests": requests,
        "requests_per_second": round(requests / seconds, 1),
        "submissions": submissions,
        "confirmed": sum(len(set(story.confirmed)) for story in stories),
        "questioned": sum(len(story.kept | story.fixed) for story in stories),
        "wait_ms": {f"p{share}": round(1000 * waits[len(waits) * share // 100], 1) for share in (50, 95, 99)},
        "ways": dict(Counter(story.person.way for story in stories).most_common()),
        "ends": dict(Counter(story.code or story.end or "none" for story in stories).most_common()),
        "mishaps": dict(mishaps.most_common()),
    }
