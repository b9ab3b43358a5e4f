"""Attributes as people and models judge them: which stand, and which are doubted.

Doubted ones go to others who say what is wrong with them, and their revisions come back.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from analysis.models import Attribute, Corpus, CorpusUser, Task
from analysis.people.corpora.records import short_hash
from analysis.people.pushing import KIND, Portion, shown_rows, studied_users
from analysis.people.sensitive import mark_sensitive
from analysis.people.stages.relevant import FROM as RELEVANCE_KIND
from analysis.people.stages.relevant import RELEVANCE, attribute_in
from analysis.people.steps import ACTOR, PeopleError, require_kind, require_open
from surveys.annotation.items import GENERATOR, REJECTED_BY, Pushed, push_items
from surveys.models import AnnotationItem, Study
from surveys.reading.privacy import remove_personal
from surveys.studies.files.kinds import KINDS, LabelQuestion
from surveys.studies.labels import Label, ModelRater, iter_labels, labels_by

INTO = "error"
QUALITY = KINDS[KIND].main
NO, MAYBE, YES = QUALITY.values


# When an attribute counts as rejected.
RULES: dict[str, Callable[[Counter[str]], bool]] = {
    "majority": lambda votes: votes[NO] > max(votes[MAYBE], votes[YES]),
    "one": lambda votes: votes[NO] > 0,
    "doubt": lambda votes: votes[NO] + votes[MAYBE] > 0,
}


def push_rejected(
    study: Study, into: Study, actor: str, rule: str = "majority", *, pilot: bool = False, revised: bool = False
) -> Pushed:
    """Push the attributes that people reject into `into`; those that it already has are left alone.

    Include models' revisions only with `revised`, since their mistakes are not those of extraction. Raises
    PeopleError, ImportFault.
    """
    require_kind(study, KIND)
    require_kind(into, INTO)
    require_open(into)
    keys = find_rejected(study, rule, pilot, revised=revised)
    return push_items(
        into, make_items(study, into, keys, rule, pilot), actor, pilot=pilot, subject=f"rejected in {study.slug}"
    )


def find_rejected(study: Study, rule: str, pilot: bool, *, revised: bool = False) -> set[str]:
    """Keys of the attributes that this rule rejects, by the labels of people that count."""
    votes: dict[str, Counter[str]] = {}
    for label in iter_labels(study, pilot=pilot):
        if label.question == QUALITY.name and not label.is_model and (revised or not label.revises):
            votes.setdefault(label.item, Counter())[label.value] += 1
    return {key for key, counted in votes.items() if RULES[rule](counted)}


def find_doubts(study: Study, rule: str, models: Iterable[ModelRater]) -> dict[str, list[ModelRater | None]]:
    """Who doubts each item, by its key: people (None) by the rule, if there is one, and models that do not say yes."""
    found: dict[str, list[ModelRater | None]] = {}
    for key in find_rejected(study, rule, pilot=False, revised=True) if rule else ():
        found[key] = [None]
    for model in models:
        for key, value in labels_by(study, model, QUALITY).items():
            if value != YES:
                found.setdefault(key, []).append(model)
    return found


def make_items(study: Study, into: Study, keys: set[str], rule: str, pilot: bool) -> Iterator[dict[str, Any]]:
    """Yield what was shown, without any label, so that later labels or another rule change no item."""
    there = AnnotationItem.objects.filter(study=into, pilot=pilot, key__in=keys)
    if taken := sorted(there.exclude(source=study.slug).values_list("key", flat=True)):
        more = f" and {len(taken) - 1:,} more" if len(taken) > 1 else ""
        held = f"{into.slug} already has {taken[0]}{more} of these attributes from elsewhere, and items never change"
        raise PeopleError(f"{held}. Push what people rejected in {study.slug} into another study.")
    tags = dict(there.values_list("key", "tags"))
    rows = AnnotationItem.objects.filter(study=study, pilot=pilot, key__in=keys).select_related("history")
    for item in rows.order_by("position").iterator(chunk_size=200):
        yield {
            **{name: getattr(item, name) for name in ("key", "cluster", "corpus")},
            **{name: item.payload[name] for name in ("attribute", "evidence")},
            "history": item.history.conversations,
            "tags": tags.get(item.key, item.tags | {REJECTED_BY: rule}),
            "source": study.slug,
        }


# --- revisions

TASK = "refine-"  # how the instruction of its runs begins
LEFT_BEHIND = ("sensitive",)  # tags that describe the old words
FLAGGED_BY = "flagged by"  # tag of attributes that models chose for revision
LONGEST_KEY = 180  # characters of the revised item's key


@dataclass
class RevisedItems:
    """The items of revisions. Everything is read once the study is locked."""

    study: Study
    asked: int = 0  # attributes, once for each model that was asked about them
    withdrawn: int = 0
    unchanged: int = 0  # revisions that change nothing
    already_there: int = 0
    personal: int = 0  # personal details taken out

    def items(self) -> Iterator[dict[str, Any]]:
        known = set(AnnotationItem.objects.filter(study=self.study, pilot=False).values_list("key", flat=True))
        for pk, author in newest_replies(self.study).items():
            task = Task.objects.select_related("annotation_item__history").get(pk=pk)
            item, text = task.annotation_item, remove_personal(task.values["attribute"])
            key = f"{item.key[:LONGEST_KEY]}-{short_hash(item.key, author)}"
            self.asked += 1
            if task.values["action"] == "withdraw":
                self.withdrawn += 1
            elif text[0].split() == item.payload["attribute"].split():
                self.unchanged += 1
            elif key in known:
                self.already_there += 1
            else:
                self.personal += sum(text[1].values())
                yield revise(item, key, text[0], author, task)


def revise(item: AnnotationItem, key: str, text: str, author: str, task: Task) -> dict[str, Any]:
    """Make an item from the old one with the new words; nobody is shown that they are new."""
    tags = {name: value for name, value in item.tags.items() if name not in LEFT_BEHIND} | {GENERATOR: author}
    if models := task.payload.get("flagged_by"):
        tags[FLAGGED_BY] = ", ".join(each["rater"] for each in models)
    marks = mark_sensitive(text)
    return {
        **{"key": key, "attribute": text, "before": item.key, "evidence": item.payload["evidence"]},
        **{"history": item.history.conversations, "cluster": item.cluster, "corpus": item.corpus},
        **{"source": str(task.pk), "tags": tags | ({"sensitive": " ".join(marks)} if marks else {})},
    }


def newest_replies(study: Study) -> dict[int, str]:
    """The newest readable task of each item and author, in the items' order."""
    rows = Task.objects.filter(
        annotation_item__study=study, annotation_item__pilot=False, run__instruction__startswith=TASK
    )
    newest: dict[tuple[int, str], int] = {}
    for task in rows.filter(values__isnull=False).select_related("run__endpoint").order_by("pk").defer("payload"):
        newest[task.annotation_item_id, task.run.author] = task.pk
    places = dict(rows.values_list("annotation_item", "annotation_item__position"))
    ordered = sorted(newest.items(), key=lambda entry: (places[entry[0][0]], entry[0][1]))
    return {pk: author for (_, author), pk in ordered}


def push_refined(study: Study, actor: str = ACTOR) -> dict[str, Any]:
    """Push the revisions of a study's attributes to its own annotators, each with the item `before` it.

    Those that are there already are left alone. Raises PeopleError, ImportFault.
    """
    require_kind(study, KIND)
    pushing = RevisedItems(study)
    done = push_items(study, pushing.items(), actor, subject="revisions")
    counted = ("asked", "withdrawn", "unchanged", "already_there", "personal")
    return {"study": study.slug, **asdict(done), **{name: getattr(pushing, name) for name in counted}}


# --- standing attributes: called sensible by people or models, or judged by nobody

PEOPLE, MODELS, NOBODY = "people", "models", "nobody"  # who lets an attribute stand


class StandingAttribute(NamedTuple):
    """A standing merged attribute, and who judged it; `nobody` if its confidence alone is enough."""

    pk: int
    sha256: str
    by: str


class KnownAttributes(NamedTuple):
    """Each user's standing attributes, in no particular order, and the number of merged ones that were rejected."""

    users: dict[str, list[StandingAttribute]]
    rejected: int
    sampled: bool


def known_attributes(corpus: Corpus, *, toxic: bool = False) -> KnownAttributes:
    """The standing attributes of the sampled users, or of all kept ones if nobody was sampled, by the users' keys.

    People's majority decides about an attribute that they judged, else that of models. Merging has left out those of
    too little confidence, or sensitive ones. Those only from toxic or redacted conversations need `toxic`.
    """
    users = studied_users(corpus)
    keys = dict(users.values_list("pk", "key"))
    judged = judged_quality(corpus)
    found: dict[str, list[StandingAttribute]] = {key: [] for key in keys.values()}
    rejected = 0
    for pk, user, sha256 in merged_rows(users, toxic).order_by("pk").values_list("pk", "user", "sha256"):
        by, is_sensible = judged.get(pk, (NOBODY, True))
        if is_sensible:
            found[keys[user]].append(StandingAttribute(pk, sha256, by))
        else:
            rejected += 1
    return KnownAttributes(found, rejected, users.filter(place__isnull=False).exists())


def merged_rows(users: QuerySet[CorpusUser], toxic: bool) -> QuerySet[Attribute]:
    """Representatives of clusters with at least one member that may be shown."""
    members = shown_rows(Attribute.objects.filter(user__in=users, merged_into__isnull=False), Portion(marked=toxic))
    return Attribute.objects.filter(pk__in=members.values("merged_into"))


def judged_quality(corpus: Corpus) -> dict[int, tuple[str, bool]]:
    """By merged attribute, who judged it and whether most call it sensible; labels of its members count for it."""
    votes: dict[str, dict[int, Counter[str]]] = {PEOPLE: {}, MODELS: {}}
    for study in studies_about(corpus, KIND):
        for label in labels_of(study, QUALITY):
            if label.corpus == corpus.name and not label.revises:
                votes[whose(label)].setdefault(attribute_in(label.source), Counter())[label.value] += 1
    heads = heads_of(corpus, {pk for counted in votes.values() for pk in counted})
    found: dict[int, tuple[str, bool]] = {}
    for by in (MODELS, PEOPLE):  # people's word overrides that of models
        together: dict[int, Counter[str]] = {}
        for pk, counted in votes[by].items():
            if pk in heads:
                together.setdefault(heads[pk], Counter()).update(counted)
        found |= {head: (by, said[YES] > max(said[NO], said[MAYBE])) for head, said in together.items()}
    return found


def judged_relevance(corpus: Corpus, prompts: Collection[str]) -> dict[tuple[str, int], bool]:
    """By prompt and merged attribute, whether most people, or else most models, call it relevant; ties do not count."""
    votes: dict[str, Counter[tuple[str, int]]] = {PEOPLE: Counter(), MODELS: Counter()}
    for study in studies_about(corpus, RELEVANCE_KIND):
        rows = AnnotationItem.objects.filter(study=study, corpus=corpus.name, payload__prompt__in=list(prompts))
        asked = {key: (prompt, source) for key, prompt, source in rows.values_list("key", "payload__prompt", "source")}
        for label in labels_of(study, RELEVANCE) if asked else ():
            if label.item in asked:
                prompt, source = asked[label.item]
                is_yes = label.value == RELEVANCE.positive
                votes[whose(label)][prompt, attribute_in(source)] += 1 if is_yes else -1
    heads = heads_of(corpus, {pk for counted in votes.values() for _, pk in counted})
    found: dict[tuple[str, int], bool] = {}
    for by in (MODELS, PEOPLE):
        ahead: Counter[tuple[str, int]] = Counter()
        for (prompt, pk), number in votes[by].items():
            if pk in heads:
                ahead[prompt, heads[pk]] += number
        found |= {pair: number > 0 for pair, number in ahead.items() if number}
    return found


def studies_about(corpus: Corpus, kind: str) -> QuerySet[Study]:
    """Studies with items of this kind about the corpus; labels of studies that may not use it count nowhere."""
    items = AnnotationItem.objects.filter(corpus=corpus.name, kind=kind, pilot=False)
    return corpus.shared_with.filter(pk__in=items.values("study")).order_by("pk")


def labels_of(study: Study, question: LabelQuestion) -> Iterator[Label]:
    """Labels by people, judges and models that learned from people; not by retrieval, which judges nothing."""
    for label in iter_labels(study):
        if label.question == question.name and (label.is_trained or not label.is_baseline):
            yield label


def whose(label: Label) -> str:
    return MODELS if label.is_model else PEOPLE


def heads_of(corpus: Corpus, attributes: Collection[int]) -> dict[int, Any]:
    """The merged attribute that stands for each of them."""
    rows = Attribute.objects.filter(user__corpus=corpus, pk__in=attributes, merged_into__isnull=False)
    return dict(rows.values_list("pk", "merged_into"))
