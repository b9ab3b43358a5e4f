"""The ways to push items into a study, by its stage; shared by the console, the API and the commands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from analysis.models import Corpus
from analysis.people.pushing import WHOLE, Portion
from analysis.people.stages.judged import push_refined
from analysis.people.stages.pairs import DEFAULTS, PairSettings, push_people
from analysis.people.stages.relevant import push_relevant
from analysis.people.steps import PeopleError
from surveys.models import Study
from surveys.studies.imports.files import ImportFault


@dataclass(frozen=True)
class PushOrder:
    """An order to push items into a study. `source` is a corpus, the study of the stage before, or nothing."""

    study: Study
    actor: str
    source: Any = None
    pilot: bool = False
    pairs: PairSettings = DEFAULTS
    portion: Portion = WHOLE


@dataclass(frozen=True)
class Push:
    """One way: title, what it brings by the kind of items, the type of their source, and the rule itself."""

    title: str
    kinds: dict[str, str]
    source: type | None
    carry_out: Callable[[PushOrder], dict[str, Any]]
    has_pilot: bool = True


PUSHES: dict[str, Push] = {
    "people": Push(
        "From a corpus",
        {
            "attribute": "Merged attributes of its sampled users.",
            "relevance": "Attributes that a model proposed for pairs of prompt and user.",
        },
        Corpus,
        lambda order: push_people(
            order.source, order.study, order.actor, pilot=order.pilot, settings=order.pairs, portion=order.portion
        ),
    ),
    "refined": Push(
        "Revised attributes",
        {"attribute": "What models made of attributes that were doubted, to be judged once more."},
        None,
        lambda order: push_refined(order.study, order.actor),
        has_pilot=False,
    ),
    "relevant": Push(
        "From the stage before",
        {
            "preference": "What most people call relevant in the stage before, beside a generic and a personalised "
            "response of each model."
        },
        Study,
        lambda order: push_relevant(order.source, order.study, order.actor, pilot=order.pilot, portion=order.portion),
    ),
}


def push_into(name: str, order: PushOrder, *, dry: bool = False) -> dict[str, Any]:
    """Add the items, each once even if several push at a time, or with `dry` only count them. Raises PeopleError."""
    way = PUSHES[name]
    if way.source and not isinstance(order.source, way.source):
        raise PeopleError(f"{way.title}: say which {way.source.__name__.lower()}.")
    try:
        with transaction.atomic():
            report = way.carry_out(order)
            transaction.set_rollback(dry)
    except ImportFault as fault:
        raise PeopleError(f"{order.study.slug}: nothing was added. Faults: {fault.count}\n{fault}") from None
    return report | {"dry": dry}
