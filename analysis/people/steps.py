"""Records each step with the users of a corpus: by whom, with which settings, how far it is, and what came out."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection, connections, transaction
from django.utils import timezone

from analysis.endpoints.owners.sharing import NotShared, require_role, require_use
from analysis.models import Corpus, CorpusStep, Endpoint
from analysis.models.conditions import ConditionError
from surveys.models import Study, locks
from surveys.studies.access import role_in
from surveys.studies.lifecycle import annotation_of
from surveys.studies.wording import RaisedAs

ACTOR = "command line"
Whose = dict[str, int] | None  # who ordered something: `account` and `study`
Show = Callable[[float, int], None]  # gets the share and the number that are done
NAMES = CorpusStep.Name
# Steps whose results go when a step is repeated.
LATER = {"filter": ("sample",), "merge": ("sample",)}


class PeopleError(Exception):
    """Nothing was done; the message says why and what to do."""


class PeopleBusy(PeopleError):
    """Another step is running for the same people; it may be tried again."""


def require_step(account: Any, study: Study, corpus: Corpus, settings: Mapping[str, Any]) -> None:
    """Check that account and study may do the step, and keep it so until the transaction ends. Raises PeopleError."""
    endpoint = Endpoint.objects.filter(name=settings["endpoint"]).first() if settings.get("endpoint") else None
    with RaisedAs(PeopleError, NotShared):
        require_role(account, study)
        require_use(account, study, corpus, endpoint)
        for other in Study.objects.filter(slug__in=[settings[key] for key in ("study", "prompts") if key in settings]):
            require_other(account, corpus, other, is_target="study" in settings)
            if "study" in settings:
                require_open(other)


def require_other(account: Any, corpus: Corpus, other: Study, *, is_target: bool) -> None:
    """Raise NotShared unless the account may push items into the other study, or ask about its prompts."""
    if not is_target:
        if role_in(account, other) is None:
            raise NotShared(f"{account} is no longer a member of {other.slug}.")
        return
    require_role(account, other)
    if not corpus.may_be_changed_by(account):
        require_use(account, other, corpus)


def recheck_order(whose: Whose, corpus: Corpus, settings: Mapping[str, Any]) -> tuple[Any, Study] | None:
    """Return who ordered a step and for which study, None for the server. Raises PeopleError if they no longer may."""
    if whose is None:
        return None
    account = get_user_model().objects.filter(pk=whose["account"]).first()
    study = Study.objects.filter(pk=whose["study"]).first()
    if account is None or study is None:
        raise PeopleError("The account or the study that ordered it is gone.")
    with transaction.atomic():
        require_step(account, study, corpus, settings)
    return account, study


def require_kind(study: Study, kind: str) -> None:
    """Raise PeopleError unless the study's annotators judge this kind of items."""
    work = annotation_of(study)
    if work is None or work.kind != kind:
        raise PeopleError(f"{study.slug} is not a study of annotators with the kind `{kind}`.")


def require_open(study: Study) -> None:
    """Raise PeopleError if the study is closed, since nobody new would come to label more items."""
    if study.state == Study.State.CLOSED:
        raise PeopleError(f"{study.slug} is closed for good: nobody new can label more items. Push them into another.")


def report_of(corpus: Corpus, name: str) -> dict[str, Any]:
    """The report of a step that is done; empty for any other."""
    row = corpus.steps.filter(name=name, state=CorpusStep.State.DONE).first()
    return row.report if row else {}


class Step:
    """A step under way. `show` records the share that is done; `report` is kept at the end."""

    def __init__(self, row: CorpusStep) -> None:
        self.row = row
        self.report: dict[str, Any] = {}

    def show(self, share: float) -> None:
        if share - self.row.share < 0.01:
            return
        self.row.share = min(share, 1.0)
        if not connection.in_atomic_block:
            self.row.save(update_fields=["share"])
            return
        beside = connections.create_connection("default")  # nobody sees what a transaction writes before it ends
        try:
            with beside.cursor() as cursor:
                cursor.execute("UPDATE analysis_corpusstep SET share = %s WHERE id = %s", [share, self.row.pk])
        finally:
            beside.close()


@contextmanager
def step_of(corpus: Corpus, name: str, settings: dict[str, Any], actor: str) -> Iterator[Step]:
    """Run one step of a corpus at a time; failures are noted with their reasons, and a killed step stays `running`."""
    with locks.alone("people", corpus.pk) as is_mine:
        if not is_mine:
            raise PeopleBusy(say_busy(corpus))
        corpus.steps.filter(name__in=LATER.get(name, ())).delete()
        row = _note(corpus, name, actor, CorpusStep.State.RUNNING, settings=settings)
        step = Step(row)
        try:
            yield step
        except Exception as error:
            _end(
                row,
                CorpusStep.State.FAILED,
                reason=str(error) if isinstance(error, PeopleError | ConditionError) else repr(error),
            )
            raise
        _end(row, CorpusStep.State.DONE, report=step.report, share=1.0)


def _end(row: CorpusStep, state: str, **changes: Any) -> None:
    CorpusStep.objects.filter(pk=row.pk).update(state=state, ended_at=timezone.now(), **changes)


def _note(corpus: Corpus, name: str, actor: str, state: str, **given: Any) -> CorpusStep:
    fresh = {"settings": {}, "report": {}, "reason": "", "share": 0.0, "began_at": timezone.now(), "ended_at": None}
    return CorpusStep.objects.update_or_create(
        corpus=corpus, name=name, defaults=fresh | {"state": state, "started_by": actor} | given
    )[0]


def note_waiting(corpus: Corpus, name: str, settings: dict[str, Any], actor: str) -> None:
    """Note that a worker is to do the step. Raises PeopleBusy while another is running."""
    if is_busy(corpus):
        raise PeopleBusy(say_busy(corpus))
    _note(corpus, name, actor, CorpusStep.State.WAITING, settings=settings)


def note_failure(corpus: Corpus, name: str, reason: str) -> None:
    """Note why a step failed before it began; one that is under way notes its own failure."""
    CorpusStep.objects.filter(corpus=corpus, name=name, state=CorpusStep.State.WAITING).update(
        state=CorpusStep.State.FAILED, reason=reason, ended_at=timezone.now()
    )


def say_busy(corpus: Corpus) -> str:
    return f"A step is running for {corpus.name}; wait until it is over."


def is_busy(corpus: Corpus) -> bool:
    """Whether a step is running now; if not, one marked `running` was killed."""
    return locks.is_held("people", corpus.pk)


def require_merged(corpus: Corpus) -> None:
    """Raise PeopleError if filtering or merging did not finish."""
    require_whole(corpus, NAMES.FILTER, "The funnel")
    require_whole(corpus, NAMES.MERGE, "Merging the attributes")


def require_whole(corpus: Corpus, name: str, what: str) -> None:
    """Raise PeopleError if this step did not finish, since then only some users have its result."""
    row = corpus.steps.filter(name=name).first()
    if row and row.state != CorpusStep.State.DONE:
        raise PeopleError(f"{what} of {corpus.name} did not come to its end. Repeat it: people {corpus.name} {name}.")
