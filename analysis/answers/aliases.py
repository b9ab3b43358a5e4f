"""Spellings of one item in the answers to a prompt: what people decide of them, and the table that results."""

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Max

from analysis.models import Alias, AliasDecision
from surveys.models import Study, locks
from surveys.studies import audit

Action = AliasDecision.Action
LONGEST = 300


class AliasError(Exception):
    """An impossible decision; its message is for the person who tried to make it."""


def alias_version(study: Study) -> int:
    """Number of the last decision; 0 before the first."""
    return AliasDecision.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0


def alias_map(study: Study) -> dict[str, dict[str, str]]:
    """The item that each spelling stands for, by prompt; items that stand for themselves are absent."""
    found: dict[str, dict[str, str]] = {}
    for prompt, spelling, item in Alias.objects.filter(study=study).values_list("prompt", "spelling", "item"):
        found.setdefault(prompt, {})[spelling] = item
    return found


# --- deciding ---------------------------------------------------------------


def accept(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """Merge these spellings, and all that stood for one of them, into `item`."""
    return decide(study, prompt, Action.ACCEPT, spellings, item, actor, "They are already the same thing.")


def reject(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """Declare these spellings different from `item`; they are not proposed as one again."""
    return decide(study, prompt, Action.REJECT, spellings, item, actor)


def split(study: Study, prompt: str, spellings: Iterable[str], item: str, actor: str) -> AliasDecision:
    """Separate these spellings from `item` again."""
    return decide(study, prompt, Action.SPLIT, spellings, item, actor, "They do not stand for {item}.")


def undo(study: Study, number: int, actor: str) -> AliasDecision:
    """Rebuild the table as if decision `number` had not been made; later ones stay."""
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
    """Tidy the item and the other spellings. Raises AliasError."""
    item, *others = (name.replace("\x00", "").strip() for name in (item, *spellings))
    others = sorted({*others} - {item, ""})
    if not item or not others:
        raise AliasError("Give the name to keep and at least one other spelling.")
    if too_long := [name for name in (item, *others) if len(name) > LONGEST]:
        raise AliasError(f"{too_long[0][:60]}… is longer than {LONGEST} characters.")
    return item, others


def decide(
    study: Study, prompt: str, action: str, spellings: Iterable[str], item: str, actor: str, idle: str = ""
) -> AliasDecision:
    """Write the decision and rebuild the table. Raises AliasError with `idle`, if given, when nothing changes."""
    item, others = check(spellings, item)
    with transaction.atomic():
        lock(study)
        before = dict(Alias.objects.filter(study=study, prompt=prompt).values_list("spelling", "item"))
        made = write(study, prompt, action, others, item, actor)
        if rebuild(study, prompt) == before and idle:
            raise AliasError(idle.format(item=item))
        return made


def lock(study: Study) -> None:
    """Allow one decision about a study's spellings at a time; withdrawals take this lock, not the study's."""
    locks.hold("spellings", study.pk)


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
    # By number only: spellings of people who withdraw go with them, but an audit event stays for good.
    audit.record(study, actor, f"aliases: {action}", number=number, prompt=prompt, spellings=len(spellings))
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


def rebuild(study: Study, prompt: str) -> dict[str, str]:
    """Rewrite the prompt's table from its decisions."""
    standing = PromptTable(decisions_of(study, prompt=prompt))
    Alias.objects.filter(study=study, prompt=prompt).delete()
    Alias.objects.bulk_create(
        Alias(study=study, prompt=prompt, spelling=spelling, item=item, decision=standing.made_by[spelling])
        for spelling, item in standing.items.items()
    )
    return standing.items


def decisions_of(study: Study, **about: str) -> list[AliasDecision]:
    """Decisions that were not undone, oldest first: all, or those `about` one prompt."""
    rows = AliasDecision.objects.filter(study=study, undone_by__isnull=True, **about).exclude(action=Action.UNDO)
    return list(rows.order_by("number"))


class PromptTable:
    """One prompt's table after its decisions, and the pairs declared different."""

    def __init__(self, decisions: Iterable[AliasDecision]) -> None:
        self.items: dict[str, str] = {}
        self.made_by: dict[str, AliasDecision] = {}
        self.apart: set[frozenset[str]] = set()
        for decision in decisions:
            pairs = {frozenset((spelling, decision.item)) for spelling in decision.spellings}
            if decision.action == Action.ACCEPT:
                self.accept(decision)
                self.apart -= pairs
            else:
                self.apart |= pairs
            if decision.action == Action.SPLIT:
                for spelling in decision.spellings:
                    if self.items.get(spelling) == decision.item:
                        del self.items[spelling]

    def accept(self, decision: AliasDecision) -> None:
        """Merge the spellings, and all that stood for one of them, into the item."""
        item = self.items.get(decision.item, decision.item)
        for spelling in decision.spellings:
            followers = [name for name, stands_for in self.items.items() if stands_for == spelling]
            for name in (spelling, *followers):
                if name != item:
                    self.items[name], self.made_by[name] = item, decision
