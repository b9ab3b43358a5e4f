"""The standing attributes of a corpus's users: called sensible by people or models, or judged by nobody."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from django.db.models import QuerySet

from analysis.models import Attribute, Corpus, CorpusUser
from analysis.people.pushing import KIND, studied_users
from analysis.people.stages import relevant
from analysis.people.stages.doubted import MAYBE, NO, QUALITY, YES
from analysis.people.stages.portions import Portion, shown_rows
from analysis.people.stages.relevant import attribute_in
from surveys.models import AnnotationItem, Study
from surveys.studies.files.kinds import LabelQuestion
from surveys.studies.labels import Label, iter_labels

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
    for study in studies_about(corpus, relevant.FROM):
        rows = AnnotationItem.objects.filter(study=study, corpus=corpus.name, payload__prompt__in=list(prompts))
        asked = {key: (prompt, source) for key, prompt, source in rows.values_list("key", "payload__prompt", "source")}
        for label in labels_of(study, relevant.RELEVANCE) if asked else ():
            if label.item in asked:
                prompt, source = asked[label.item]
                is_yes = label.value == relevant.RELEVANCE.positive
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
