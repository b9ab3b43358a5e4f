"""A rehearsal that an owner starts in the console: when it may begin, and the server that it plays against."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

from surveys.models import AnnotationItem, AuditEvent, Participant, Study, locks
from surveys.simulation.browser import TurnedAway, Unreachable
from surveys.simulation.run import NotSimulated, simulate
from surveys.studies import audit, under_way
from surveys.studies.lifecycle import definition_of

WORK = "rehearsal"
STARTED, DONE, FAILED = "rehearsal started", "rehearsed", "rehearsal failed"
MOST = 200  # people
AT_ONCE = 4
FAULTS = (NotSimulated, Unreachable, TurnedAway)
UNFORESEEN = "Something unforeseen happened; the worker’s log says what."


class Quiet(WSGIRequestHandler):
    """Addresses of people are their signed links, so no request is written down."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def server() -> Iterator[str]:
    """The pages of this site, asked from this process alone; wherever the web servers are."""
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
    """Why nobody simulated may come now; nothing where they may."""
    if not study.is_open:
        return "Nobody is let in now. Start the pilot, or launch the study, and rehearse then."
    real = study.participants.filter(origin=Participant.Origin.PROLIFIC, pilot=False)
    if study.is_launched and real.exists():
        return "People take part in this study. Simulated ones would take their places."
    if definition_of(study.current_id).annotation and not has_items(study):
        return "There are no items to annotate yet."
    return ""


def has_items(study: Study) -> bool:
    """Whether there is work for those who come now; the pilot's items are its own."""
    items = AnnotationItem.objects.filter(study=study, pilot=study.state == Study.State.PILOT)
    return items.filter(purpose=AnnotationItem.Purpose.WORK).exists()


def rehearse(study: Study, people: int, seed: int, faults: bool, actor: str) -> None:
    """Play them and note in the audit trail how it went; one at a time in a study."""
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        under_way.set_progress(study, WORK, done, people)

    with locks.alone_in_process(WORK, study.pk) as is_mine:
        if not is_mine:
            return
        try:
            if reason := why_not(study):
                raise NotSimulated(reason)
            with server() as site:
                report = simulate(study, site, people, AT_ONCE, faults, seed, advance)
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


def last_of(study: Study) -> AuditEvent | None:
    """How the last one went, or that it was started."""
    return study.audit_events.filter(action__in=[STARTED, DONE, FAILED]).order_by("-number").first()
