"""Which spellings are one thing in the answers to a prompt: a table that people's numbered decisions add up to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Max

from analysis.models import Alias, AliasDecision
from surveys.access import audit
from surveys.models import Study

Action = AliasDecision.Action
LONGEST = 300


class AliasError(Exception):
    """A decision that cannot be made, with a sentence for the person who wants to make it."""


def alias_version(study: Study) -> int:
    """The number of the last decision; 0 before the first."""
    return AliasDecision.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0


def alias_map(study: Study) -> dict[str, dict[str, str]]:
    """What each spelling stands for, by prompt. An item that stands for itself is not in it."""
    found: dict[str, dict[str, str]] = {}
    for prompt, spelling, item in Alias.objects.filter(study=study).values_list("prompt", "spelling", "item"):
        found.setdefault(prompt, {})[spelling] = item
    return found


# --- deciding ---------------------------------------------------------------


def accept(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """These spellings are one thing, called `item`. What stood for one of them stands for `item` too."""
    item, others = check(spellings, item)
    return decide(study, prompt, Action.ACCEPT, others, item, actor, "They are one thing already.")


def reject(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """These are different things, and are not proposed as one again."""
    item, others = check(spellings, item)
    return decide(study, prompt, Action.REJECT, others, item, actor)


def split(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """These spellings no longer stand for `item`."""
    item, others = check(spellings, item)
    return decide(study, prompt, Action.SPLIT, others, item, actor, f"They do not stand for {item}.")


def undo(study: Study, number: int, actor: str) -> AliasDecision:
    """As if decision `number` had not been made; later ones stand."""
    with transaction.atomic():
        lock(study)
        decision = AliasDecision.objects.filter(study=study, number=number).first()
        if decision is None or decision.action == Action.UNDO:
            raise AliasError(f"There is no decision {number} to undo.")
        if AliasDecision.objects.filter(undoes=decision).exists():
            raise AliasError(f"Decision {number} is undone already.")
        made = write(study, decision.prompt, Action.UNDO, decision.spellings, decision.item, actor, decision)
        rebuild(study, decision.prompt)
        return made


def check(spellings: Iterable[str], item: str) -> tuple[str, list[str]]:
    """The item and the other spellings, tidied. Raises AliasError."""
    item, *others = (name.replace("\x00", "").strip() for name in (item, *spellings))
    others = sorted({*others} - {item, ""})
    if not item or not others:
        raise AliasError("Give the name to keep and at least one other spelling.")
    if too_long := [name for name in (item, *others) if len(name) > LONGEST]:
        raise AliasError(f"{too_long[0][:60]}… is longer than {LONGEST} characters.")
    return item, others


def decide(
    study: Study, prompt: str, action: str, others: list[str], item: str, actor: str, idle: str = ""
) -> AliasDecision:
    """Write the decision and the table that follows from it. Raises AliasError where `idle` and nothing changes."""
    with transaction.atomic():
        lock(study)
        before = dict(Alias.objects.filter(study=study, prompt=prompt).values_list("spelling", "item"))
        made = write(study, prompt, action, others, item, actor)
        if rebuild(study, prompt) == before and idle:
            raise AliasError(idle)
        return made


def lock(study: Study) -> None:
    """One decision about a study's spellings at a time; people go on arriving meanwhile."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)


def write(
    study: Study,
    prompt: str,
    action: str,
    spellings: Sequence[str],
    item: str,
    actor: str,
    undoes: AliasDecision | None = None,
) -> AliasDecision:
    number = alias_version(study) + 1
    audit.record(
        study, actor, f"aliases: {action}", item[:200], number=number, prompt=prompt, spellings=list(spellings)
    )
    return AliasDecision.objects.create(
        study=study,
        number=number,
        prompt=prompt,
        action=action,
        spellings=list(spellings),
        item=item,
        undoes=undoes,
        decided_by=actor,
    )


# --- what the decisions add up to -------------------------------------------


@dataclass
class Standing:
    """The table of one prompt after its decisions, and what was called different."""

    items: dict[str, str] = field(default_factory=dict)
    made_by: dict[str, AliasDecision] = field(default_factory=dict)
    apart: set[frozenset[str]] = field(default_factory=set)


def rebuild(study: Study, prompt: str) -> dict[str, str]:
    """Write the prompt's table anew from its decisions."""
    standing = add_up(decisions_of(study, prompt))
    Alias.objects.filter(study=study, prompt=prompt).delete()
    Alias.objects.bulk_create(
        Alias(study=study, prompt=prompt, spelling=spelling, item=item, decision=standing.made_by[spelling])
        for spelling, item in standing.items.items()
    )
    return standing.items


def decisions_of(study: Study, prompt: str) -> list[AliasDecision]:
    """The decisions that stand, oldest first."""
    rows = AliasDecision.objects.filter(study=study, prompt=prompt, undone_by__isnull=True).exclude(action=Action.UNDO)
    return list(rows.order_by("number"))


def add_up(decisions: Iterable[AliasDecision]) -> Standing:
    standing = Standing()
    for decision in decisions:
        APPLY[decision.action](standing, decision)
    return standing


def apply_accept(standing: Standing, decision: AliasDecision) -> None:
    item = standing.items.get(decision.item, decision.item)
    for spelling in decision.spellings:
        followers = [name for name, stands_for in standing.items.items() if stands_for == spelling]
        for name in (spelling, *followers):
            if name != item:
                standing.items[name], standing.made_by[name] = item, decision
    standing.apart -= {frozenset(pair) for pair in pairs_of(decision)}


def apply_reject(standing: Standing, decision: AliasDecision) -> None:
    standing.apart |= {frozenset(pair) for pair in pairs_of(decision)}


def apply_split(standing: Standing, decision: AliasDecision) -> None:
    for spelling in decision.spellings:
        if standing.items.get(spelling) == decision.item:
            del standing.items[spelling]
    apply_reject(standing, decision)


def pairs_of(decision: AliasDecision) -> Iterable[tuple[str, str]]:
    return ((spelling, decision.item) for spelling in decision.spellings)


APPLY = {Action.ACCEPT: apply_accept, Action.REJECT: apply_reject, Action.SPLIT: apply_split}
