"""Runs a simulation: who plays when, and the report on all of them."""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import timedelta
from time import perf_counter
from typing import Any

from django.utils import timezone

from surveys.models import Participant, Place, Study
from surveys.places import lease_minutes, release_expired
from surveys.simulation.check import count_exits, find_violations
from surveys.simulation.people import Person, Story, make_people
from surveys.simulation.player import Player
from surveys.studies import definition_of, prompts_of

Progress = Callable[[int], None]


class NotSimulated(Exception):
    """The server took our first person for a real one: it must not get any more."""


def simulate(
    study: Study, site: str, participants: int, concurrency: int, faults: bool, seed: int, progress: Progress
) -> dict[str, Any]:
    """Play all people and compare. Who will be late plays first, lapses, and comes back after all others."""
    definition, prompts = definition_of(study.current_id), prompts_of(study.current_id)
    people = make_people(definition, participants, faults, seed)
    players = [Player(site, person, definition, prompts, faults) for person in people]
    before, start = count_exits(study), perf_counter()
    first, *others = players
    play([first], 1, progress)
    check_mark(study, first.person)
    early = [player for player in others if player.person.way in ("late", "walk_away")]
    play(early, concurrency, progress)
    lapsed = [player for player in early if player.story.lapsed]
    for player in lapsed:
        age_lease(study, player.person)
    play([player for player in others if player not in early], concurrency, progress)
    release_expired(study)
    play([player for player in lapsed if player.person.way == "late"], concurrency, progress)
    seconds = perf_counter() - start
    stories = [player.story for player in players]
    return make_report(stories, seconds) | {"violations": list(find_violations(study, stories, before))}


def play(players: Iterable[Player], concurrency: int, progress: Progress) -> None:
    with ThreadPoolExecutor(concurrency) as pool:
        running = [pool.submit(player.play) for player in players]
        try:
            for done in as_completed(running):
                progress(not done.result().lapsed)
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
    """Let time pass for one simulated person: their lease ends now; they were last here before it began."""
    rows = Participant.objects.filter(study=study, pid=person.pid, origin=Participant.Origin.SIMULATED)
    for row in rows:
        now = timezone.now()
        Place.objects.filter(participant=row, confirmed_at__isnull=True).update(expires_at=now)
        rows.update(last_seen_at=now - timedelta(minutes=lease_minutes(row) + 1))


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
