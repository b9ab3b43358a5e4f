"""Turns what people call relevant into items of preference: two responses side by side, with the person's profile."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from django.db.models import F

from analysis.models import Attribute, Endpoint, Task
from analysis.people.corpora.records import short_hash
from analysis.people.pushing import NOTHING_KNOWN, WHOLE, KnownKeys, Portion, draw_balanced, known_keys
from analysis.people.steps import ACTOR, PeopleError, require_kind, require_open
from surveys.annotation.items import GENERATOR, RELEVANT_BY, next_of, push_items
from surveys.models import AnnotationItem, Study
from surveys.reading.privacy import remove_personal
from surveys.studies.files.kinds import GENERIC, KINDS, PERSONALISED
from surveys.studies.files.payloads import MOST_ENTRIES
from surveys.studies.labels import ModelRater, iter_labels, labels_by

FROM, INTO = "relevance", "preference"
RELEVANCE = KINDS[FROM].main
TASK = "respond-"  # how the instruction of its runs begins
ARMS = (GENERIC, PERSONALISED)
LEFT_BEHIND = (GENERATOR, "candidates by", "sensitive")  # tags of one attribute, not of the response


class RelevantPair(NamedTuple):
    """A prompt with what people call relevant about one user. `name` is a hash of prompt and user."""

    prompt: str
    name: str
    items: list[AnnotationItem]

    @property
    def attributes(self) -> list[str]:
        return [item.payload["attribute"] for item in self.items]

    @property
    def key(self) -> str:
        return f"{self.name} {short_hash(*self.attributes)}"

    @property
    def prompt_key(self) -> str:
        """The key of the generic response, which is written once for a prompt."""
        return short_hash(self.prompt)


class Writer(NamedTuple):
    """Which model writes responses, and how; two responses side by side are always one writer's."""

    endpoint: str
    provider: str
    instruction: str
    temperature: float | None


Responses = dict[str, dict[Writer, dict[str, int]]]  # the newest task, by pair or prompt, writer and arm


class Written(NamedTuple):
    """A pair with both responses of one writer, to become an item."""

    key: str
    pair: RelevantPair
    writer: Writer
    arms: dict[str, int]

    @property
    def names(self) -> tuple[str, str, str]:
        """What a draw is balanced over: writer, prompt and user."""
        return str(self.writer), self.pair.prompt, self.pair.items[0].cluster


def count_votes(study: Study, by: ModelRater | None = None) -> Counter[str]:
    """How many more people said yes than no about each item; or with `by`, 1 or -1 as the model says."""
    if by:
        said = labels_by(study, by, RELEVANCE)
        return Counter({key: 1 if value == RELEVANCE.positive else -1 for key, value in said.items()})
    votes: Counter[str] = Counter()
    for label in iter_labels(study, pilot=False):
        if label.question == RELEVANCE.name and not label.is_model:
            votes[label.item] += 1 if label.value == RELEVANCE.positive else -1
    return votes


def relevant_pairs(study: Study, votes: Counter[str]) -> list[RelevantPair]:
    """Pairs of prompt and user, with the items whose attribute has more yes than no votes, in the items' order."""
    wanted = [key for key, ahead in votes.items() if ahead > 0]
    found: dict[tuple[str, str, str], list[AnnotationItem]] = {}
    rows = AnnotationItem.objects.filter(study=study, pilot=False, key__in=wanted).order_by("position")
    for item in rows.iterator(chunk_size=500):
        found.setdefault((item.payload["prompt"], item.cluster, item.corpus), []).append(item)
    # Users of two corpora may have the same name.
    alike = Counter((prompt, cluster) for prompt, cluster, _ in found)
    return [
        RelevantPair(prompt, short_hash(prompt, cluster, *([corpus] if alike[prompt, cluster] > 1 else [])), items)
        for (prompt, cluster, corpus), items in found.items()
    ]


def responses_of(study: Study) -> Responses:
    """The readable responses to the study's pairs."""
    rows = Task.objects.filter(annotation_item__study=study, run__instruction__startswith=TASK, values__isnull=False)
    writer = ("run__endpoint__name", "run__endpoint__provider", "run__instruction", "run__temperature")
    found: Responses = {}
    for pk, key, *who in rows.order_by("pk").values_list("pk", "key", *writer):
        arm, _, pair = key.partition(" ")
        found.setdefault(pair, {}).setdefault(Writer(*who), {})[arm] = pk
    return found


@dataclass
class PreferenceItems:
    """The items of pairs with both responses. Everything is read once the study they go to is locked."""

    study: Study
    into: Study
    pilot: bool
    by: ModelRater | None = None  # who calls attributes relevant; None: most people
    portion: Portion = WHOLE
    relevant: int = 0  # attributes
    not_relevant: int = 0
    tied: int = 0
    pairs: int = 0
    without_responses: int = 0  # pairs and writers that lack one response or both
    already_there: int = 0
    beyond: int = 0  # items beyond the portion
    known: KnownKeys = NOTHING_KNOWN
    personal: int = 0  # personal details taken out
    generators: Counter[str] = field(default_factory=Counter)

    def items(self) -> Iterator[dict[str, Any]]:
        votes, written = count_votes(self.study, self.by), responses_of(self.study)
        self.relevant = sum(ahead > 0 for ahead in votes.values())
        self.not_relevant = sum(ahead < 0 for ahead in votes.values())
        self.tied = len(votes) - self.relevant - self.not_relevant
        self.known = known_keys(self.into, self.pilot, self.portion)
        profiles = Profiles(self.study)
        for each in self.draw(list(self.written(votes, written))):
            self.generators[each.writer.endpoint] += 1
            yield self.item(each, profiles.of(each.pair.items))

    def written(self, votes: Counter[str], written: Responses) -> Iterator[Written]:
        """Yield every pair and writer with both responses, including those that are items already."""
        writers = sorted({writer for by_writer in written.values() for writer in by_writer}, key=str)
        for pair in relevant_pairs(self.study, votes):
            self.pairs += 1
            self.without_responses += not writers
            for writer in writers:
                chosen_by = [self.by.name] if self.by else []
                key = f"{self.study.slug}-{pair.name}-{short_hash(*map(str, writer), *chosen_by)}"
                arms = written.get(pair.prompt_key, {}).get(writer, {}) | written.get(pair.key, {}).get(writer, {})
                if key in self.known.all or len(arms) == len(ARMS):
                    yield Written(key, pair, writer, arms)
                else:
                    self.without_responses += 1

    def draw(self, found: list[Written]) -> list[Written]:
        """Take the new ones, in the pairs' order; for a portion, a draw balanced over writers, prompts and users."""
        seed = str(self.portion.seed)
        if self.portion.people is not None:
            users = sorted({each.names[-1] for each in found}, key=lambda user: short_hash(seed, user))
            found = [each for each in found if each.names[-1] in users[: self.portion.people]]
        new = [each for each in found if each.key not in self.known.all]
        taken = [each.names for each in found if each.key in self.known.here]
        self.already_there = len(taken)
        room = self.portion.room(self.already_there)
        if room is None:
            return new
        drawn = draw_balanced(new, lambda each: each.names, room, lambda each: short_hash(seed, each.key), taken)
        self.beyond = len(new) - len(drawn)
        keys = {each.key for each in drawn}
        return [each for each in new if each.key in keys]

    def item(self, each: Written, profile: list[str]) -> dict[str, Any]:
        key, pair, writer, arms = each
        said = dict(Task.objects.filter(pk__in=arms.values()).values_list("pk", "values__response"))
        first = pair.items[0]
        of_all = {
            name: value
            for name, value in first.tags.items()
            if name not in LEFT_BEHIND and all(item.tags.get(name) == value for item in pair.items)
        }
        parts = zip(name_parts(pair.items), pair.attributes, strict=True)
        return {
            **{"key": key, "prompt": pair.prompt, "source": str(arms[PERSONALISED])},
            **{arm: self.clean(said[arms[arm]]) for arm in ARMS},
            "attributes": [{"id": name, "text": self.clean(text)} for name, text in parts],
            "profile": profile,
            **{"cluster": first.cluster, "corpus": first.corpus},
            "tags": of_all | tags_of_writer(writer) | ({RELEVANT_BY: self.by.name} if self.by else {}),
        }

    def clean(self, text: str) -> str:
        text, found = remove_personal(text)
        self.personal += sum(found.values())
        return text


def tags_of_writer(writer: Writer) -> dict[str, Any]:
    temperature = {} if writer.temperature is None else {"temperature": writer.temperature}
    own_words = not writer.instruction.removeprefix(TASK).isdecimal()  # a lab's, not the shipped ones
    return {
        GENERATOR: writer.endpoint,
        **temperature,
        **({"instruction": writer.instruction} if own_words else {}),
        **({"simulated": True} if writer.provider == Endpoint.Provider.FAKE else {}),
    }


def name_parts(items: list[AnnotationItem]) -> list[str]:
    """Name the parts by the ids of their attributes if the items have them, else by hashes of the items' keys."""
    ids = [item.source for item in items]
    if len(set(ids)) == len(ids) and all(each.isdecimal() and len(each) < 20 for each in ids):
        return ids
    return [short_hash(item.key) for item in items]


def next_stage(study: Study) -> str:
    """The slug of the next study that this one's file names. Raises PeopleError if it names none."""
    if slug := next_of(study):
        return slug
    raise PeopleError(f"{study.slug} names no next stage in its file: say where to (--to STUDY).")


def push_relevant(
    study: Study,
    into: Study,
    actor: str = ACTOR,
    *,
    pilot: bool = False,
    by: ModelRater | None = None,
    portion: Portion = WHOLE,
) -> dict[str, Any]:
    """Push what most people of `study`, or the model `by`, call relevant into `into`, an item for each pair and writer.

    Items that it already has are left alone. Raises PeopleError, ImportFault.
    """
    require_kind(study, FROM)
    require_kind(into, INTO)
    require_open(into)
    portion.check()
    pushing = PreferenceItems(study, into, pilot, by, portion)
    subject = f"relevant in {study.slug}" + (f" by {by.name} {by.version}".rstrip() if by else "")
    done = push_items(into, pushing.items(), actor, pilot=pilot, subject=subject)
    counted = ("relevant", "not_relevant", "tied", "pairs", "without_responses", "beyond", "personal")
    return {
        **{"study": study.slug, "to": into.slug, **asdict(done)},
        **{"already_there": pushing.already_there, "in_other_part": len(pushing.known.there)},
        **{name: getattr(pushing, name) for name in counted},
        "generators": dict(pushing.generators),
        **({"relevant_by": by.named} if by else {}),
    }


LONGEST_ID = 19  # digits
SUREST = F("cluster_confidence").desc(nulls_last=True)


class Profiles:
    """People's profiles, each looked up once. Without their corpus they hold what the study itself has about them."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.known: dict[tuple[str, str], list[str]] = {}

    def of(self, items: Sequence[AnnotationItem]) -> list[str]:
        """The profile of the person these items are about, surest first; it always holds the items' own attributes."""
        first = items[0]
        if (first.corpus, first.cluster) not in self.known:
            self.known[first.corpus, first.cluster] = self.look_up(first)
        rated = [without_details(item.payload["attribute"]) for item in items]
        found = list(dict.fromkeys([*self.known[first.corpus, first.cluster], *rated]))
        others = [text for text in found if text not in rated][: max(0, MOST_ENTRIES - len(set(rated)))]
        kept = {*rated, *others}
        return [text for text in found if text in kept]

    def look_up(self, item: AnnotationItem) -> list[str]:
        if not item.cluster:  # about nobody in particular: other items without a user are about other people
            return []
        row = Attribute.objects.filter(pk=attribute_in(item.source), user__corpus__name=item.corpus).first()
        if row:
            kept = Attribute.objects.filter(user=row.user_id, cluster_size__isnull=False)
            texts = kept.order_by(SUREST, "id").values_list("text", flat=True)
        else:
            rows = AnnotationItem.objects.filter(study=self.study, corpus=item.corpus, cluster=item.cluster)
            texts = rows.order_by("position").values_list("payload__attribute", flat=True)
        return [without_details(text) for text in texts]


def without_details(text: str) -> str:
    """The text with a word in brackets for each personal detail."""
    return remove_personal(text)[0]


def attribute_in(source: str) -> int:
    """The id of an item's attribute; 0 if its source is something else."""
    return int(source) if source.isdecimal() and len(source) < LONGEST_ID else 0
