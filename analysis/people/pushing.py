"""Items for annotators from merged attributes: conversations, attribute, evidence; and portions, how many of whom."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import numpy as np
from django.db.models import Q, QuerySet

from analysis.models import Attribute, Corpus, CorpusUser
from analysis.people.attributes import own_conversations
from analysis.people.corpora.records import short_hash
from analysis.people.evidence import without_personal
from analysis.people.steps import ACTOR, NAMES, PeopleError, report_of, require_merged, require_open
from surveys.annotation.items import push_items, work_of
from surveys.models import AnnotationItem, Study
from surveys.models.hashes import hash_text
from surveys.reading.privacy import remove_personal
from surveys.studies.files.payloads import LONGEST_HISTORY, MOST_ENTRIES

T = TypeVar("T")


@dataclass(frozen=True)
class Portion:
    """At most `items` in all, of at most `people`; None: as many as there are.

    The main study leaves out what its pilot has, and the other way round, unless `both` lets it be asked twice.
    Conversations that their source marks as toxic or redacted are shown to nobody unless `marked`.
    """

    items: int | None = None
    people: int | None = None
    seed: int = 0
    both: bool = False
    marked: bool = False
    sample: str = ""  # the name of a further sample; empty: the studied users

    def check(self) -> None:
        """Raise PeopleError if a limit is below 1."""
        if any(number is not None and number < 1 for number in (self.items, self.people)):
            raise PeopleError("A portion has 1 item or more, of 1 person or more.")

    @property
    def is_whole(self) -> bool:
        return self.items is None and self.people is None

    def room(self, there: int) -> int | None:
        return None if self.items is None else max(0, self.items - there)


WHOLE = Portion()
TOXIC_OR_REDACTED = Q(toxic=True) | Q(redacted=True)  # of conversations


def shown_rows(rows: QuerySet[Attribute], portion: Portion) -> QuerySet[Attribute]:
    """Exclude rows that rest on a conversation that annotators are not shown."""
    marked = Q(conversation__toxic=True) | Q(conversation__redacted=True)
    return rows if portion.marked else rows.exclude(marked)


@dataclass(frozen=True)
class KnownKeys:
    """The keys of a study's items, in the part that is being filled (`here`) and in its other one (`there`)."""

    here: frozenset[str]
    there: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.here | self.there


NOTHING_KNOWN = KnownKeys(frozenset(), frozenset())


def known_keys(study: Study, pilot: bool, portion: Portion, **about: Any) -> KnownKeys:
    """Read the keys of a study's items. The study must be locked, so that of two concurrent pushes one adds nothing."""
    rows = AnnotationItem.objects.filter(study=study, **about)
    keys: dict[bool, set[str]] = {True: set(), False: set()}
    for key, in_pilot in rows.values_list("key", "pilot"):
        keys[in_pilot].add(key)
    return KnownKeys(frozenset(keys[pilot]), frozenset() if portion.both else frozenset(keys[not pilot]))


def interleave(groups: Iterable[Sequence[T]]) -> list[T]:
    """Interleave the groups, one of each in turn, so that any beginning of the result takes an even share of each."""
    known = list(groups)
    longest = max(map(len, known), default=0)
    return [group[place] for place in range(longest) for group in known if place < len(group)]


def draw_balanced(
    candidates: Sequence[T],
    names_of: Callable[[T], Sequence[Hashable]],
    number: int,
    order_of: Callable[[T], str],
    taken: Collection[Sequence[Hashable]] = (),
) -> list[T]:
    """Draw `number` candidates, each time the one whose names have had the smallest share so far.

    `names_of` gives a candidate's name for each feature (such as writer, prompt, user); those in `taken` count from the
    start. Ties go by `order_of`, a hash with the seed.
    """
    ordered = sorted(candidates, key=order_of)
    if not ordered or number < 1:
        return []
    columns = [dict.fromkeys(column) for column in zip(*map(names_of, ordered), strict=True)]
    places = [{name: place for place, name in enumerate(column)} for column in columns]
    codes = np.array([[places[at][name] for at, name in enumerate(names_of(each))] for each in ordered])
    counts = [np.zeros(len(column)) for column in columns]
    for names in taken:
        for at, name in enumerate(names):
            if name in places[at]:
                counts[at][places[at][name]] += 1
    free, drawn = np.ones(len(ordered), bool), []
    for _ in range(min(number, len(ordered))):
        # The names of a feature with few of them occur more often, so counts are weighted by the number of names.
        shares = sum(count[codes[:, at]] * len(count) for at, count in enumerate(counts))
        best = int(np.argmin(np.where(free, shares, np.inf)))
        free[best] = False
        drawn.append(ordered[best])
        for at, count in enumerate(counts):
            count[codes[best, at]] += 1
    return drawn


# --- items of merged attributes

KIND = "attribute"
ROOM = LONGEST_HISTORY - 10_000  # characters; titles and roles count too
USERS_AT_ONCE = 100

Turn = tuple[str, int]  # a conversation's hash and the number of a message in it


def cluster_of(key: str) -> str:
    """The name of a user in items: the key, or its hash if the key does not fit on one line."""
    return key if key.isprintable() and key == key.strip() else hash_text(key)


def studied_users(corpus: Corpus, sample: str = "") -> QuerySet[CorpusUser]:
    """The sampled users, or all kept ones if nobody was sampled; or those of the further sample named `sample`.

    Raises PeopleError if there is no sample of that name.
    """
    if sample:
        drawn = report_of(corpus, NAMES.SAMPLE).get("samples", {})
        if sample not in drawn:
            known = ", ".join(sorted(drawn)) or "none yet"
            raise PeopleError(f"{corpus.name} has no sample called {sample} ({known}): people sample --name {sample}.")
        return corpus.users.filter(key__in=drawn[sample]["keys"], left_out_by="").order_by("key")
    sampled = corpus.users.filter(place__isnull=False).order_by("place")
    return sampled if sampled.exists() else corpus.users.filter(left_out_by="").order_by("key")


@dataclass
class UserHistory:
    """What annotators are shown of a user: conversations in order, and the place of each message in them."""

    history: list[dict[str, Any]] = field(default_factory=list)
    places: dict[Turn, tuple[int, int]] = field(default_factory=dict)  # counted from 1
    texts: dict[Turn, str] = field(default_factory=dict)
    personal: int = 0  # personal details taken out
    left_out: int = 0  # conversations without room
    hidden: set[str] = field(default_factory=set)  # conversations marked as toxic or redacted


@dataclass
class AttributeItems:
    study: Study
    corpus: Corpus
    pilot: bool
    portion: Portion = WHOLE
    users: int = 0
    personal: int = 0
    without_evidence: int = 0
    conversations_left_out: int = 0
    conversations_marked: int = 0
    beyond: int = 0  # attributes beyond the portion
    known: KnownKeys = NOTHING_KNOWN

    def items(self, users: QuerySet[CorpusUser]) -> Iterator[dict[str, Any]]:
        self.known = known_keys(self.study, self.pilot, self.portion, corpus=self.corpus.name)
        drawn = None if self.portion.is_whole else self.draw(users)
        for user in users.iterator(chunk_size=USERS_AT_ONCE):
            if drawn is not None and user.pk not in drawn:
                continue
            merged = user.attributes.filter(merged_into__isnull=False)
            attributes = list(shown_rows(merged, self.portion).order_by("id"))
            members: dict[int, list[Attribute]] = {}
            for attribute in attributes:
                members.setdefault(attribute.merged_into_id, []).append(attribute)
            known = {row.merged_into_id for row in attributes if self.key(row.pk) in self.known.all}
            known |= {cluster for cluster in members if self.key(cluster) in self.known.all}
            wanted = members.keys() - known if drawn is None else drawn[user.pk]
            new = list(user.attributes.filter(pk__in=wanted).order_by("id"))
            if new:
                yield from self.of_one(user, new, members)

    def draw(self, users: QuerySet[CorpusUser]) -> dict[int, set[int]]:
        """Draw the portion's new attributes, by user: from people in the order of a hash, one of each in turn."""
        merged = Attribute.objects.filter(user__in=users, merged_into__isnull=False)
        rows = shown_rows(merged, self.portion).exclude(evidence=[])
        clusters: dict[int, list[int]] = {}
        taken = set()
        for user, pk, cluster in rows.order_by("id").values_list("user", "pk", "merged_into"):
            clusters.setdefault(user, []).append(cluster)
            if self.key(pk) in self.known.all or self.key(cluster) in self.known.all:
                taken.add(cluster)
        keys = dict(users.filter(pk__in=clusters).values_list("pk", "key"))
        people = sorted(keys, key=lambda pk: short_hash(str(self.portion.seed), keys[pk]))[: self.portion.people]
        turns = interleave([[(user, cluster) for cluster in dict.fromkeys(clusters[user])] for user in people])
        new = [each for each in turns if each[1] not in taken]
        room = self.portion.room(len(self.known.here))
        self.beyond = len(new) - len(new[:room])
        drawn: dict[int, set[int]] = {}
        for user, cluster in new[:room]:
            drawn.setdefault(user, set()).add(cluster)
        return drawn

    def key(self, attribute: int) -> str:
        return f"{self.corpus.name}-{attribute}"

    def of_one(
        self, user: CorpusUser, attributes: list[Attribute], members: dict[int, list[Attribute]]
    ) -> Iterator[dict[str, Any]]:
        """Yield the items about a user; the first one brings the history, which the others share."""
        needed = {q["conversation"] for row in attributes for q in quotes_of(members[row.pk])}
        history = read_history(self.corpus, user, needed, marked=self.portion.marked)
        shared: dict[str, Any] = {"history": history.history}
        for row in attributes:
            quotes = [quote for quote in quotes_of(members[row.pk]) if quote["conversation"] not in history.hidden]
            evidence = [shown(quote, history) for quote in quotes][:MOST_ENTRIES]
            if not evidence or not history.history:
                self.without_evidence += 1
                continue
            yield shared | {
                **{"key": self.key(row.pk), "attribute": remove_personal(row.text)[0], "evidence": evidence},
                **{"cluster": cluster_of(user.key), "corpus": self.corpus.name, "source": str(row.pk)},
                **{"tags": tags_of(self.corpus, user, row)},
            }
            shared = {}
        if not shared:
            self.users += 1
            self.personal += history.personal
            self.conversations_left_out += history.left_out
            self.conversations_marked += len(history.hidden)


def tags_of(corpus: Corpus, user: CorpusUser, row: Attribute) -> dict[str, Any]:
    tags: dict[str, Any] = {"corpus": corpus.name, "user": cluster_of(user.key)}
    tags |= {"generator": row.generator} if row.generator else {}
    tags |= {"sensitive": " ".join(row.sensitive)} if row.sensitive else {}
    return tags | ({"band": user.band} if user.band else {})


def quotes_of(rows: Iterable[Attribute]) -> list[dict[str, Any]]:
    """The quotes of a cluster, each once."""
    return list({(q["conversation"], q["message"], q["quote"]): q for row in rows for q in row.evidence}.values())


def shown(quote: dict[str, Any], history: UserHistory) -> dict[str, Any]:
    """The quote in the conversation's own words, with its place if annotators see that conversation."""
    turn = (quote["conversation"], quote["message"])
    if turn not in history.places:
        return {"quote": remove_personal(quote["quote"])[0]}
    number, at = history.places[turn]
    text, ((start, end),), _ = without_personal(history.texts[turn], [(quote["start"], quote["end"])])
    return {"quote": text[start:end], "conversation": number, "turn": at}


def read_history(corpus: Corpus, user: CorpusUser, needed: set[str | None], *, marked: bool = False) -> UserHistory:
    """Read the user's conversations, oldest first; if there is no room for all, those with evidence go before others.

    Personal details are taken out by rule before anybody sees them. Conversations that their source marks as toxic or
    redacted stay out unless `marked`.
    """
    own = own_conversations(corpus, user.key)
    rows = own if marked else own.exclude(TOXIC_OR_REDACTED)
    sizes = list(rows.values_list("sha256", "characters"))
    kept, room = set(), ROOM
    for sha256, characters in sorted(sizes, key=lambda row: row[0] not in needed):
        if characters <= room:
            kept.add(sha256)
            room -= characters
    hidden = set() if marked else set(own.filter(TOXIC_OR_REDACTED).values_list("sha256", flat=True))
    history = UserHistory(left_out=len(sizes) - len(kept), hidden=hidden)
    for row in rows.filter(sha256__in=kept).iterator(chunk_size=20):
        turns = []
        for at, message in enumerate(row.messages):
            if message["role"] == "system" or not message["content"].strip():
                continue
            text, found = remove_personal(message["content"])
            history.personal += sum(found.values())
            turns.append({"role": message["role"], "text": text})
            history.places[row.sha256, at] = (len(history.history) + 1, len(turns))
            history.texts[row.sha256, at] = message["content"]
        if turns:
            title = f"{row.began_at:%-d %B %Y}" if row.began_at else f"Conversation {len(history.history) + 1}"
            history.history.append({"title": title, "turns": turns})
    return history


def push_attributes(
    corpus: Corpus, study: Study, actor: str = ACTOR, *, pilot: bool = False, portion: Portion = WHOLE
) -> dict[str, Any]:
    """Push the merged attributes of the studied users as items into the study, and return a report.

    Attributes that the study or its pilot already has are left alone; those without evidence can't be judged and are
    counted. Raises PeopleError, ImportFault.
    """
    portion.check()
    require_open(study)
    require_merged(corpus)
    _, kind = work_of(study)
    if kind.name != KIND:
        raise PeopleError(f"Annotators of {study.slug} judge {kind.name} items; attributes go into a study of {KIND}.")
    users = studied_users(corpus, portion.sample)
    if not Attribute.objects.filter(user__in=users, merged_into__isnull=False).exists():
        raise PeopleError(f"{corpus.name} has no merged attributes: people {corpus.name} merge.")
    pushing = AttributeItems(study, corpus, pilot, portion)
    done = push_items(study, pushing.items(users), actor, pilot=pilot, subject=f"attributes of {corpus.name}")
    counted = ("users", "without_evidence", "personal", "conversations_left_out", "conversations_marked", "beyond")
    there = {"already_there": len(pushing.known.here), "in_other_part": len(pushing.known.there)}
    return {
        **{"corpus": corpus.name, "study": study.slug, **asdict(done), **there},
        **{name: getattr(pushing, name) for name in counted},
    }
