"""Turns candidates into items of relevance: prompts, each with a few users whose attributes may matter for it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from django.db.models import QuerySet

from analysis.models import Attribute, Corpus, CorpusUser, Run, Task
from analysis.people.corpora.records import short_hash
from analysis.people.pushing import (
    NOTHING_KNOWN,
    WHOLE,
    KnownKeys,
    Portion,
    cluster_of,
    known_keys,
    push_attributes,
    shown_rows,
    studied_users,
    tags_of,
)
from analysis.people.steps import ACTOR, PeopleError, require_open
from surveys.annotation.items import push_items, work_of
from surveys.models import AnnotationItem, Study
from surveys.reading.privacy import remove_personal

KIND = "relevance"
TASK = "candidates-"  # how the instruction of its runs begins
LONGEST_TAG = 80  # characters of a prompt
Pair = tuple[str, int]  # the hash of a prompt, and a user


@dataclass(frozen=True)
class PairSettings:
    """Which prompts (texts; None: all asked about), which endpoint's candidates, how many users and candidates."""

    prompts: Sequence[str] | None = None
    by: str = ""
    users: int = 4  # per prompt
    least: int = 2  # candidates of a pair


DEFAULTS = PairSettings()


class PairItem(NamedTuple):
    key: str
    prompt: str  # its hash
    user: int
    attribute: int


@dataclass
class PairItems:
    """The items of pairs, and counts of what was left out. Everything is read once the study is locked."""

    study: Study
    corpus: Corpus
    pilot: bool
    settings: PairSettings
    by: str
    portion: Portion = WHOLE
    asked: int = 0  # pairs whose candidates could be read
    unread: int = 0  # pairs without a readable reply
    not_studied: int = 0  # pairs of users who are no longer kept or sampled
    gone: int = 0  # candidates that no longer represent their cluster
    few: int = 0  # pairs with too few candidates
    not_drawn: int = 0  # pairs beyond the wanted users of a prompt
    pairs: int = 0
    beyond: int = 0  # items beyond the portion
    known: KnownKeys = NOTHING_KNOWN
    personal: int = 0  # personal details taken out
    tasks: dict[str, int] = field(default_factory=dict)  # for each prompt, one with its words
    prompts: set[str] = field(default_factory=set)
    users: set[int] = field(default_factory=set)

    def items(self) -> Iterator[dict[str, Any]]:
        people = {user.pk: user for user in studied_users(self.corpus, self.portion.sample).only("key", "band")}
        self.known = known_keys(self.study, self.pilot, self.portion, corpus=self.corpus.name)
        chosen = self.take(self.draw(self.candidates(people), people), people)
        asked = Task.objects.filter(pk__in={self.tasks[item.prompt] for item in chosen})
        texts = {pk: (text, name) for pk, text, name in asked.values_list("pk", "payload__prompt", "payload__name")}
        rows = Attribute.objects.in_bulk([item.attribute for item in chosen])
        for item in chosen:
            row, person = rows[item.attribute], people[item.user]
            text, found = remove_personal(row.text)
            self.personal += sum(found.values())
            prompt, name = texts[self.tasks[item.prompt]]
            tags = tags_of(self.corpus, person, row)
            yield {
                **{"key": item.key, "attribute": text, "prompt": prompt, "cluster": cluster_of(person.key)},
                **{"corpus": self.corpus.name, "source": str(row.pk)},
                "tags": tags | {"prompt": name or name_prompt(prompt), "candidates by": self.by},
            }

    def take(self, drawn: list[PairItem], people: dict[int, CorpusUser]) -> list[PairItem]:
        """Take the new items within the portion's limits of people and items, shuffled by seed."""
        seed = str(self.portion.seed)
        if self.portion.people is not None:
            users = sorted({item.user for item in drawn}, key=lambda user: short_hash(seed, people[user].key))
            drawn = [item for item in drawn if item.user in users[: self.portion.people]]
        new = [item for item in drawn if item.key not in self.known.all]
        new.sort(key=lambda item: short_hash(seed, item.key))
        chosen = new[: self.portion.room(len(self.known.here))]
        self.beyond = len(new) - len(chosen)
        pairs = {(item.prompt, item.user) for item in chosen}
        self.pairs, self.prompts, self.users = len(pairs), {p for p, _ in pairs}, {user for _, user in pairs}
        return chosen

    def candidates(self, people: dict[int, CorpusUser]) -> dict[Pair, list[int]]:
        """The candidates of each pair asked about that still represent a cluster; pairs with too few are left out."""
        found: dict[Pair, list[int]] = {}
        unread: set[Pair] = set()
        rows = asked_of(self.corpus, self.settings).values_list("pk", "key", "user", "values__candidates")
        for pk, key, user, ids in rows.iterator():
            pair = key.split(" ", 1)[0], user
            self.tasks[pair[0]] = pk
            if ids is None:
                unread.add(pair)
            else:
                found[pair] = ids
        self.asked, self.unread = len(found), len(unread - found.keys())
        merged = Attribute.objects.filter(user__corpus=self.corpus, merged_into__isnull=False)
        standing = set(shown_rows(merged, self.portion).values_list("merged_into", flat=True))
        return {pair: kept for pair, ids in found.items() if (kept := self.keep(pair[1], ids, people, standing))}

    def keep(self, user: int, ids: list[int], people: dict[int, CorpusUser], standing: set[int]) -> list[int]:
        if user not in people:
            self.not_studied += 1
            return []
        kept = [pk for pk in ids if pk in standing]
        self.gone += len(ids) - len(kept)
        if len(kept) < self.settings.least:
            self.few += 1
            return []
        return kept

    def draw(self, candidates: dict[Pair, list[int]], people: dict[int, CorpusUser]) -> list[PairItem]:
        """Draw the wanted number of users for each prompt, by seed.

        Users whom the study has, in either part, count among them; their pairs are completed if all that it has of them
        are still candidates.
        """
        known = self.known_pairs()
        by_prompt: dict[str, list[int]] = {}
        for prompt, user in candidates:
            by_prompt.setdefault(prompt, []).append(user)
        drawn = []
        for prompt, users in by_prompt.items():
            named = {user: (prompt, cluster_of(people[user].key)) for user in users}
            has = {user: known[pair] for user, pair in named.items() if pair in known}
            new = [user for user in users if user not in has]
            new.sort(key=lambda user: short_hash(str(self.portion.seed), prompt, people[user].key))
            there = sum(1 for each in known if each[0] == prompt)
            room = max(0, self.settings.users - there)
            self.not_drawn += len(new[room:])
            same = [user for user, ids in has.items() if ids <= set(candidates[prompt, user])]
            for user in (*same, *new[:room]):
                keys = ((f"{self.corpus.name}-{pk}-{prompt}", pk) for pk in candidates[prompt, user])
                drawn += [PairItem(key, prompt, user, pk) for key, pk in keys]
        return drawn

    def known_pairs(self) -> dict[tuple[str, str], set[int]]:
        """The attributes that the study has in either part, by prompt and cluster."""
        rows = AnnotationItem.objects.filter(study=self.study, corpus=self.corpus.name, key__in=self.known.all)
        found: dict[tuple[str, str], set[int]] = {}
        for key, cluster in rows.values_list("key", "cluster"):
            name, _, prompt = key.rpartition("-")
            pk = name.rpartition("-")[2]
            found.setdefault((prompt, cluster), set()).add(int(pk) if pk.isdecimal() else 0)
        return found


def asked_of(corpus: Corpus, settings: PairSettings) -> QuerySet[Task]:
    """The tasks that asked for candidates with these settings, newest last."""
    rows = Task.objects.filter(run__corpus=corpus, run__instruction__startswith=TASK).order_by("pk")
    if settings.by:
        rows = rows.filter(run__endpoint__name=settings.by)
    if settings.prompts is not None:
        rows = rows.filter(payload__prompt__in=list(settings.prompts))
    return rows


def name_prompt(prompt: str) -> str:
    """Put the prompt on one line, short enough for a tag."""
    words = " ".join(prompt.split())
    return words if len(words) <= LONGEST_TAG else f"{words[: LONGEST_TAG - 10]}… {short_hash(prompt)[:6]}"


def push_people(
    corpus: Corpus,
    study: Study,
    actor: str = ACTOR,
    *,
    pilot: bool = False,
    settings: PairSettings = DEFAULTS,
    portion: Portion = WHOLE,
) -> dict[str, Any]:
    """Push what annotators of this study judge, by its kind: attributes, or candidates of drawn pairs; return a report.

    Pairs that the study has already are left alone, and count among the users of their prompt. Raises PeopleError,
    ImportFault.
    """
    if work_of(study)[1].name != KIND:
        return push_attributes(corpus, study, actor, pilot=pilot, portion=portion)
    if settings.users < 1 or settings.least < 1:
        raise PeopleError("A prompt takes 1 user or more, and a pair 1 candidate or more.")
    portion.check()
    require_open(study)
    pushing = PairItems(study, corpus, pilot, settings, find_author(corpus, settings), portion)
    done = push_items(study, pushing.items(), actor, pilot=pilot, subject=f"pairs of {corpus.name}")
    counted = ("asked", "unread", "not_studied", "gone", "few", "not_drawn", "beyond", "pairs", "personal")
    return {
        **{"corpus": corpus.name, "study": study.slug, "kind": KIND, "by": pushing.by, **asdict(done)},
        **{name: getattr(pushing, name) for name in counted},
        **{"prompts": len(pushing.prompts), "users": len(pushing.users)},
        **{"already_there": len(pushing.known.here), "in_other_part": len(pushing.known.there)},
    }


def find_author(corpus: Corpus, settings: PairSettings) -> str:
    """The author of these candidates. Raises PeopleError if no model was asked, or several were."""
    runs = Run.objects.filter(pk__in=asked_of(corpus, settings).order_by().values("run")).order_by("pk")
    authors = {run.endpoint.name: run.author for run in runs.select_related("endpoint")}
    if not authors:
        asked = f"Corpora → {corpus.name} → Candidates, or manage.py people {corpus.name} ask candidates"
        raise PeopleError(f"{corpus.name} has no candidates of these prompts and this model. Ask for some: {asked}.")
    if len(authors) > 1:
        known = ", ".join(sorted(authors))
        raise PeopleError(f"Candidates come from {known}: choose one of them (Candidates by, or --by).")
    return next(iter(authors.values()))
