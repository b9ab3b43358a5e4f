"""The two-person rule, if the study file has it: one researcher asks, and only another one's confirmation acts."""

from collections.abc import Callable, Collection
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from surveys.models import Study, TeamRequest
from surveys.studies import audit

What, State = TeamRequest.What, TeamRequest.State
WORDS = {What.LAUNCH: "launch this study", What.PAY: "pay people of this study"}


class SecondPersonError(Exception):
    """A second person is missing, or may not answer; the message says what to do."""


def require(wanted: Collection[str], what: str, study: Study, second: TeamRequest | None) -> None:
    """Raise SecondPersonError if the file's `second_person` (`wanted`) names this and nobody has confirmed it."""
    if what not in wanted:
        return
    if second is None or (second.study_id, second.what, second.state) != (study.pk, what, State.CONFIRMED):
        raise SecondPersonError(
            f"The study file wants a second person to {WORDS[What(what)]}. One researcher asks in the console, and "
            "another one confirms there."
        )


def waiting(study: Study, what: str) -> QuerySet[TeamRequest]:
    """Requests that wait for a second person, oldest first."""
    return TeamRequest.objects.filter(study=study, what=what, state=State.WAITING).select_related("asked_by")


def shown_requests(wanted: Collection[str], what: str, study: Study) -> list[TeamRequest]:
    """Requests that a page shows: those waiting, and those declined with no later one of their key or account."""
    if what not in wanted:
        return []
    same = Q(key=OuterRef("key")) | Q(asked_by=OuterRef("asked_by"))
    later = TeamRequest.objects.filter(same, study=study, what=what, asked_at__gt=OuterRef("answered_at"))
    declined = TeamRequest.objects.filter(~Exists(later), study=study, what=what, state=State.DECLINED)
    return [*waiting(study, what), *declined.select_related("asked_by", "answered_by")]


def ask(study: Study, what: str, key: str, account: AbstractBaseUser, detail: dict[str, Any]) -> TeamRequest:
    """Make a request in place of the account's waiting one; raises SecondPersonError if another account's waits."""
    with transaction.atomic():
        lock(study.pk)
        if before := waiting(study, what).filter(key=key).first():
            if before.asked_by != account:
                raise SecondPersonError(f"{before.asked_by} has asked for this already. Confirm or decline it.")
            TeamRequest.objects.filter(pk=before.pk).update(state=State.REPLACED)
        request = TeamRequest.objects.create(study=study, what=what, key=key, asked_by=account, detail=detail)
        audit.record(study, account.get_username(), f"second person asked: {what}", key, request=request.pk)
        return request


def lock(study_id: int) -> None:
    """Lock the study, always before its requests."""
    list(Study.objects.select_for_update(no_key=True).filter(pk=study_id).values("pk"))


def confirm(request: TeamRequest, account: AbstractBaseUser, act: Callable[[TeamRequest], Any]) -> Any:
    """Confirm the request and carry it out, both or neither."""
    with transaction.atomic():
        return act(answer(request, account, State.CONFIRMED))


def decline(request: TeamRequest, account: AbstractBaseUser, reason: str) -> TeamRequest:
    if not (said := reason.replace("\x00", "").strip()[:500]):
        raise SecondPersonError("Say why you decline.")
    return answer(request, account, State.DECLINED, said)


def answer(request: TeamRequest, account: AbstractBaseUser, state: str, reason: str = "") -> TeamRequest:
    with transaction.atomic():
        lock(request.study_id)
        row = TeamRequest.objects.select_for_update(of=("self",)).select_related("asked_by").get(pk=request.pk)
        if row.state != State.WAITING:
            raise SecondPersonError(f"This does not wait any more: {row.get_state_display().lower()}.")
        if row.asked_by == account:
            raise SecondPersonError("You asked for this yourself. Somebody else has to confirm or decline it.")
        row.state, row.reason, row.answered_by, row.answered_at = state, reason, account, timezone.now()
        row.save(update_fields=["state", "reason", "answered_by", "answered_at"])
        detail = {"asked_by": row.asked_by.get_username(), "request": row.pk, "reason": reason}
        actor = account.get_username()
        audit.record(row.study, actor, f"second person {State(state).label.lower()}: {row.what}", row.key, **detail)
        return row
