"""Shares things with studies and takes them back; checks, at each action, that the study may use what it needs."""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from analysis.models import Corpus, Endpoint, ExampleSet, PersonaSet, Run, TrainedModel
from analysis.models.conditions import CHOSEN, DRAWN, drawn_from
from surveys.models import Study, locks
from surveys.studies import audit
from surveys.studies.access import RANK, Role, role_in

# Models whose rows are owned and shared, by their words in addresses and commands.
KINDS: dict[str, Any] = {
    "corpus": Corpus,
    "personas": PersonaSet,
    "examples": ExampleSet,
    "model": TrainedModel,
    "run": Run,
}


class NotShared(Exception):
    """Nothing was done, since the study may not use what it takes; the message says what, and what to do."""


def word_for(thing: Any) -> str:
    return next(word for word, model in KINDS.items() if isinstance(thing, model))


def called(thing: Any) -> str:
    """The thing's name in a sentence."""
    return f"run {thing.pk}" if isinstance(thing, Run) else thing.name


def require_owner(account: Any, thing: Any) -> None:
    """Raise PermissionDenied for everybody but its owner and administrators."""
    if not thing.may_be_changed_by(account):
        raise PermissionDenied(f"Only the owner of {called(thing)} may do this.")


# --- checked at each action -----------------------------------------------------


def hold(study: Study, alone: bool = False) -> None:
    """Hold the study's sharing lock until the transaction ends: shared to use things, `alone` to take them back."""
    locks.hold("sharing", study.pk, shared=not alone)


def require_use(account: Any, study: Study, *things: Any) -> None:
    """Hold what is shared with the study. Raises NotShared if the account may not use one of the things there.

    Every account needs the study's leave for an endpoint, since it spends the money of the study it belongs to.
    """
    hold(study)
    for thing in filter(None, things):
        if isinstance(thing, Endpoint):
            may = Endpoint.objects.usable_in([study]).filter(pk=thing.pk).exists()
        else:
            may = thing.is_shown_to(account, study)
        if not may:
            raise NotShared(refusal(thing, study))


def require_shared(study: Study, endpoint: Endpoint, *things: Any) -> None:
    """Require the same for a run of the study: all its members see it, so what it draws from must be shared with it."""
    hold(study)
    for thing in filter(None, things):
        if not thing.is_shared_with(study):
            raise NotShared(refusal(thing, study))
    if not Endpoint.objects.usable_in([study]).filter(pk=endpoint.pk).exists():
        raise NotShared(refusal(endpoint, study))


def require_role(account: Any, study: Study) -> None:
    """Raise NotShared if the account is no longer active, or no longer a researcher of the study."""
    role = role_in(account, study) if account.is_active else None
    if role is None or RANK[role] < RANK[Role.RESEARCHER]:
        raise NotShared(f"{account} is no longer a researcher of {study.slug}. Somebody who is has to start it.")


def require_sending(run: Run, account: Any, study: Study) -> None:
    """Raise NotShared if the run may not use what it needs in its study or, without one, in the study of this page."""
    if run.study:
        require_shared(run.study, run.endpoint, *drawn_from(run))
    else:
        require_use(account, study, run.endpoint, *drawn_from(run))


def refusal(thing: Any, study: Study) -> str:
    return f"{called(thing)} is no longer shared with {study.slug}: ask its owner."


# --- sharing ----------------------------------------------------------------


def share(thing: Any, studies: Iterable[Study], actor: str) -> None:
    """Share it with these studies and no others. Each that gains or loses it records that; runs that lose it stop."""
    wanted = {study.pk: study for study in studies}
    with transaction.atomic():
        type(thing).objects.select_for_update(of=("self",), no_key=True).get(pk=thing.pk)
        before = {study.pk: study for study in thing.shared_with.all()}
        for study in in_order(before, wanted):
            hold(study, alone=True)
        thing.shared_with.set(wanted.values())
        for study in in_order(before, wanted):
            action = "shared with it" if study.pk in wanted else "no longer shared with it"
            audit.record(study, actor, f"{word_for(thing)} {action}", called(thing))
            if study.pk not in wanted:
                stop_runs(thing, study)


def take_back(endpoint: Endpoint, studies: Iterable[Study]) -> None:
    """Stop what these studies run with the endpoint, which they may not use any more from this transaction on."""
    for study in sorted(studies, key=lambda study: study.pk):
        hold(study, alone=True)
        stop_runs(endpoint, study)


def in_order(before: dict[int, Study], wanted: dict[int, Study]) -> list[Study]:
    """The studies for which something changes, always in one order, so that no two transactions wait for each other."""
    changed = before.keys() ^ wanted.keys()
    return [(before | wanted)[pk] for pk in sorted(changed)]


def lend(thing: Any, study: Study, actor: str) -> None:
    """Share it with this study too, if it is not."""
    if not thing.is_shared_with(study):
        with transaction.atomic():
            thing.shared_with.add(study)
            audit.record(study, actor, f"{word_for(thing)} shared with it", called(thing))


def stop_runs(thing: Any, study: Study) -> None:
    """Stop the study's runs under way that use what was taken back, as if the money had run out."""
    field = {Endpoint: "endpoint", **{setting.kind: setting.name for setting in CHOSEN}}.get(type(thing))
    if field is None:
        return
    rows = Run.objects.of_study(study).filter(state=Run.State.RUNNING, **{field: thing})
    for run in rows.select_related("endpoint", *DRAWN, "study", "owner"):
        if run.study or not goes_on(run):
            left = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING)
            left.update(state=Run.State.STOPPED, reason=refusal(thing, study))


def goes_on(run: Run) -> bool:
    """Whether one of the studies that a run without a study is shared with may still send it."""
    for study in run.shared_with.all():
        may_ask = Endpoint.objects.usable_in([study]).filter(pk=run.endpoint_id).exists()
        if may_ask and all(
            thing.is_shared_with(study) or (run.owner is not None and thing.may_be_changed_by(run.owner))
            for thing in drawn_from(run)
        ):
            return True
    return False
