"""Runs a simulation: the order of play, the report on all people, and rehearsals that owners start in the console."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import Any

from celery import shared_task
from django.core.handlers.wsgi import WSGIHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.db import connection
from django.utils import timezone

from surveys.annotation.items import has_items
from surveys.annotation.qualification import Verdict, decide_gate
from surveys.models import AnnotationItem, AuditEvent, Participant, Place, Slot, Study, locks
from surveys.participation.places import lease_minutes, release_expired
from surveys.simulation.annotating import AnnotatingPlayer
from surveys.simulation.answering import AnsweringPlayer
from surveys.simulation.browser import TurnedAway, Unreachable
from surveys.simulation.check import count_exits, count_overlap, find_violations
from surveys.simulation.people import Person, Story, make_people
from surveys.simulation.player import Player
from surveys.studies import audit, under_way
from surveys.studies.lifecycle import definition_of, prompts_of

AWAY = ("late", "walk_away", "excluded")
COME_BACK = ("late", "excluded")
Progress = Callable[[int, int], None]


class NotSimulated(Exception):
    """The server took our first person for a real one: it must not get any more."""


def simulate(
    study: Study, site: str, participants: int, concurrency: int, faults: bool, seed: int, progress: Progress
) -> dict[str, Any]:
    """Play all people and compare. Those who will be away play first, lapse, and come back after all others."""
    done = 0

    def note(story: Story) -> None:
        nonlocal done
        done += not (story.lapsed and story.person.way in COME_BACK)
        progress(done, participants)

    players = make_players(
        study, site, make_people(definition_of(study.current_id), participants, faults, seed), faults
    )
    before, start = count_exits(study), perf_counter()
    first, *others = players
    play([first], 1, note)
    check_mark(study, first.person)
    early = [player for player in others if player.person.way in AWAY]
    play(early, concurrency, note)
    lapsed = [player for player in early if player.story.lapsed]
    for player in lapsed:
        age_lease(study, player.person)
    exclude(study, [player.person.pid for player in lapsed if player.person.way == "excluded"])
    play([player for player in others if player not in early], concurrency, note)
    release_expired(study)
    play([player for player in lapsed if player.person.way in COME_BACK], concurrency, note)
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


def play(players: Iterable[Player], concurrency: int, note: Callable[[Story], None]) -> None:
    """Play people in threads. Close the database connection first: unused meanwhile, it may be dead by the end."""
    if not connection.in_atomic_block:
        connection.close()
    with ThreadPoolExecutor(concurrency) as pool:
        running = [pool.submit(player.play) for player in players]
        try:
            for done in as_completed(running):
                note(done.result())
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
    """Exclude these simulated people at the gate, as researchers do after a pilot."""
    people = Participant.objects.filter(study=study, pid__in=pids, origin=Participant.Origin.SIMULATED)
    verdicts = {person.pseudonym: Verdict(kept=False, note="simulated") for person in people}
    if verdicts:
        pilot = study.state == Study.State.PILOT
        rule, reason = "Some simulated people, drawn by lot", "Rehearsal with simulated people"
        decide_gate(study, "simulate", verdicts, pilot=pilot, rule=rule, thresholds={}, reason=reason)


def make_report(stories: list[Story], seconds: float) -> dict[str, Any]:
    waits = sorted(wait for story in stories for wait in story.waits)
    requests = sum(story.requests for story in stories)
    mishaps = sum((story.mishaps for story in stories), Counter[str]())
    return {
        "participants": len(stories),
        "seconds": round(seconds, 2),
        "requests": requests,
        "requests_per_second": round(requests / seconds, 1),
        "submissions": sum(story.submissions for story in stories),
        "confirmed": sum(len(set(story.confirmed)) for story in stories),
        "questioned": sum(len(story.kept | story.fixed) for story in stories),
        "wait_ms": {f"p{share}": round(1000 * waits[len(waits) * share // 100], 1) for share in (50, 95, 99)},
        "ways": dict(Counter(story.person.way for story in stories).most_common()),
        "ends": dict(Counter(story.code or story.end or "none" for story in stories).most_common()),
        "mishaps": dict(mishaps.most_common()),
    }


# --- rehearsals ---------------------------------------------------------------

WORK = "rehearsal"
STARTED, DONE, FAILED = "rehearsal started", "rehearsed", "rehearsal failed"
MOST = 200  # people
AT_ONCE = 4
FAULTS = (NotSimulated, Unreachable, TurnedAway)
UNFORESEEN = "Something unforeseen happened; the worker’s log says what."


class Quiet(WSGIRequestHandler):
    """A handler that logs no request, as people's addresses are their signed links."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def server() -> Iterator[str]:
    """Serve the site's pages to this process alone, wherever the web servers are; yield the address."""
    beside = ThreadedWSGIServer(("127.0.0.1", 0), Quiet)
    beside.daemon_threads = True
    beside.set_app(WSGIHandler())
    threading.Thread(target=beside.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{beside.server_port}"
    finally:
        beside.shutdown()
        beside.server_close()


def why_not(study: Study) -> str:
    """Why simulated people may not come now; empty if they may."""
    if not study.is_open:
        return "Nobody is let in now. Start the pilot, or launch the study, and rehearse then."
    real = study.participants.filter(origin=Participant.Origin.PROLIFIC, pilot=False)
    if study.is_launched and real.exists():
        return "People take part in this study. Simulated ones would take their places."
    if definition_of(study.current_id).annotation and not has_items(study, study.state == Study.State.PILOT):
        return "There are no items to annotate yet."
    return ""


def rehearse(study: Study, people: int, seed: int, faults: bool, actor: str) -> None:
    """Play people and record the outcome in the audit trail; one rehearsal at a time in a study."""
    progress = partial(under_way.set_progress, study, WORK)
    with locks.alone_in_process(WORK, study.pk) as is_mine:
        if not is_mine:
            return
        try:
            if reason := why_not(study):
                raise NotSimulated(reason)
            with server() as site:
                report = simulate(study, site, people, AT_ONCE, faults, seed, progress)
            kept = {name: report[name] for name in ("seconds", "confirmed", "questioned", "ends", "violations")}
            audit.record(study, actor, DONE, f"{people} simulated people", seed=seed, faults=faults, **kept)
        except Exception as fault:
            foreseen = isinstance(fault, FAULTS)
            why = str(fault) if foreseen else UNFORESEEN
            audit.record(study, actor, FAILED, f"{people} simulated people", seed=seed, why=why)
            if not foreseen:
                raise
        finally:
            under_way.forget_progress(study, WORK)


@shared_task(name="surveys.simulation.tasks.rehearse_study")
def rehearse_study(study_id: int, people: int, seed: int, faults: bool, actor: str) -> None:
    rehearse(Study.objects.select_related("current").get(pk=study_id), people, seed, faults, actor)


def last_of(study: Study) -> AuditEvent | None:
    """The audit event of the last rehearsal: its outcome, or its start."""
    return study.audit_events.filter(action__in=[STARTED, DONE, FAILED]).order_by("-number").first()
