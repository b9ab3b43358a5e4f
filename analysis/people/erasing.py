"""Erases a person from a corpus: conversations, attributes, what annotators were shown of them and said about it."""

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q, Sum

from analysis.models import (
    Attribute,
    Completion,
    Conversation,
    ConversationRepeat,
    Corpus,
    MetricValue,
    Run,
    SimulatedUser,
)
from analysis.people.attributes import remove_unused
from analysis.people.corpora.importing import note_erased
from analysis.people.pushing import cluster_of
from analysis.people.steps import ACTOR, NAMES, PeopleError
from surveys.models import Annotation, AnnotationItem, History, Slot, locks
from surveys.studies import audit

ERASED = "erased"


def erase_user(corpus: Corpus, key: str) -> dict[str, Any]:
    """Erase a user of the corpus and everything about them, in one transaction, and return the counts.

    An anonymous count of items and labels stays in their study's audit trail, as for people who withdraw. What others
    said in the same words stays theirs. A salted hash stays too, so that later imports leave the person out. Retried if
    it collides with a run that is asking about the person. Raises PeopleError.
    """
    return locks.again(partial(_erase, corpus, key))


def _erase(corpus: Corpus, key: str) -> dict[str, Any]:
    own = corpus.conversations.filter(user=key)
    repeats = ConversationRepeat.objects.filter(conversation__corpus=corpus, user=key)
    users = corpus.users.filter(key=key)
    if not key or not (own.exists() or repeats.exists() or users.exists()):
        raise PeopleError(f"{corpus.name} has no user {key[:100]!r}.")
    with transaction.atomic():
        done = {
            "corpus": corpus.name,
            "conversations": own.count() + repeats.count(),
            **_erase_items(corpus, key),
        }
        attributes = Attribute.objects.filter(Q(user__in=users) | Q(conversation__in=own, user__key=key))
        hashes = list(attributes.values_list("sha256", flat=True))
        done["attributes"] = len(hashes)
        note_erased(corpus, key)
        _leave_samples(corpus, key)
        done["completions"] += Completion.objects.filter(task__user__in=users).count()
        users.delete()
        repeats.delete()
        _hand_over(own)
        done["completions"] += Completion.objects.filter(task__conversation__in=own).count()
        own.delete()
        remove_unused(hashes)
        _give_back_budgets()
        for user in SimulatedUser.objects.filter(run__corpus=corpus, recipe__corpus_user=key):
            user.recipe["corpus_user"] = ERASED
            if "attributes" in user.recipe:
                user.recipe["attributes"] = []  # a hash of so short a text may be guessed
            user.save(update_fields=["recipe"])
    return done


def _leave_samples(corpus: Corpus, key: str) -> None:
    """Take the person out of the further samples, whose report names everybody in them."""
    for step in corpus.steps.select_for_update().filter(name=NAMES.SAMPLE):
        for drawn in step.report.get("samples", {}).values():
            drawn["keys"] = [each for each in drawn["keys"] if each != key]
        step.save(update_fields=["report"])


def _give_back_budgets() -> None:
    """Release what runs have reserved of their budgets for erased calls, which are never settled."""
    for run in Run.objects.select_for_update(of=("self",)).filter(reserved__gt=0).order_by("pk"):
        run.reserved = run.completions.aggregate(amount=Sum("reserved"))["amount"] or 0
        run.save(update_fields=["reserved"])


def _hand_over(own: Any) -> None:
    """Hand conversations that others had in the same words to the first of them; others' attributes stay on them."""
    for row in own.filter(repeats__isnull=False).distinct():
        other = row.repeats.order_by("id").first()
        Conversation.objects.filter(pk=row.pk).update(
            **{name: getattr(other, name) for name in ("source_id", "user", "language", "began_at")}
        )
        other.delete()


def _erase_items(corpus: Corpus, key: str) -> dict[str, int]:
    """Erase items about the person, their slots, labels and calls, agreement results, and histories only they show."""
    items = AnnotationItem.objects.filter(corpus=corpus.name, cluster=cluster_of(key)).select_related("study")
    done = {"items": 0, "labels": 0, "completions": 0}
    for study in {item.study for item in items.defer("payload")}:
        own = items.filter(study=study)
        histories = list(own.exclude(history=None).values_list("history", flat=True).distinct())
        labels = Annotation.objects.filter(item__in=own)
        calls = Completion.objects.filter(task__annotation_item__in=own)
        counted = {"items": own.count(), "labels": labels.count(), "completions": calls.count()}
        calls.delete()
        labels.delete()
        Slot.objects.filter(item__in=own).delete()
        own.delete()
        History.objects.filter(pk__in=histories, items=None).delete()
        MetricValue.objects.filter(study=study, name__startswith="agreement").delete()  # they name users
        audit.record(study, ACTOR, "person erased", corpus.name, **counted)
        done = {name: done[name] + number for name, number in counted.items()}
    return done
