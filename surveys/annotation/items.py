"""Import of items: checked as a whole, stored once and for good, each with its slots; and the stages of items."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.models import Max

from surveys.models import AnnotationItem, History, Slot, Study
from surveys.models.hashes import fingerprint
from surveys.studies import audit
from surveys.studies.files.kinds import KINDS, SIDES, Kind, LabelQuestion, fields_of
from surveys.studies.files.payloads import PayloadFault, check_storable, count_characters, locate_evidence, read_text
from surveys.studies.files.schema import AnnotationWork
from surveys.studies.files.values import nearest
from surveys.studies.imports.files import Faults, FileColumn, TableReader, batches, refuse, storing
from surveys.studies.lifecycle import annotation_of

BATCH = 200
ANALYZE = "ANALYZE surveys_annotationitem, surveys_slot"
# A history of the longest length with every character escaped as \\uXXXX, and something around it.
LONGEST_LINE = 16_000_000
KEY = 150  # bytes that an item's key takes until all are stored
PURPOSES = ("work", "training", "gold")
LONGEST = {"key": 200, "source": 200, "cluster": 200, "corpus": 100}
OWN_KEYS = (*LONGEST, "purpose", "gold", "explanation", "tags")
HISTORY = "history"
GENERATOR = "generator"  # tag: the model that wrote the text to judge
RELEVANT_BY = "relevant by"  # tag: the model that chose the item's attributes, instead of people
REJECTED_BY = "rejected by"  # tag of items that others rejected: the rule that chose them

Conversations = list[dict[str, Any]]


class ItemFaults(ValueError):
    """All faults of one item, a sentence each."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True)
class NewItem:
    key: str
    kind: str
    payload: dict[str, Any]
    history: Conversations | None = None
    purpose: str = "work"
    source: str = ""
    cluster: str = ""
    corpus: str = ""
    gold: dict[str, list[str]] = field(default_factory=dict)
    explanation: str = ""
    tags: dict[str, Any] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of the whole content, by which an import distinguishes repeated items from changed ones."""
        return fingerprint(vars(self) | {HISTORY: fingerprint(self.history) if self.history else ""})

    @property
    def unlocated(self) -> int:
        """How many quotes the history does not contain."""
        return sum(snippet["turn"] is None for snippet in self.payload.get("evidence", ()))


def read_item(raw: Mapping[str, Any], kind: Kind, before: Conversations | None) -> NewItem:
    """Read one item; `before` is its history if it brings none of its own. Raises ItemFaults."""
    reading = ItemReading(raw, kind, before)
    item = reading.read()
    if reading.faults:
        raise ItemFaults(reading.faults)
    return item


class ItemReading:
    """The reading of one item, collecting its faults."""

    def __init__(self, raw: Mapping[str, Any], kind: Kind, before: Conversations | None) -> None:
        # Empty cells of a table count as missing.
        self.raw = {name: value for name, value in raw.items() if value is not None and value != ""}
        self.kind = kind
        self.before = before
        self.faults: list[str] = []

    def read(self) -> NewItem:
        self.check_names()
        payload = self.read_payload()
        history = payload.pop(HISTORY, None)
        if history and "evidence" in payload:
            payload["evidence"] = locate_evidence(payload, history)
        purpose = self.read_purpose()
        return NewItem(
            **{name: self.read_line(name, longest) for name, longest in LONGEST.items()},
            kind=self.kind.name,
            payload=payload,
            history=history,
            purpose=purpose,
            gold=self.read_gold(purpose, payload),
            explanation=self.read_explanation(purpose),
            tags=self.read_tags(),
        )

    def check_names(self) -> None:
        known = (*OWN_KEYS, *self.kind.needs, *self.kind.may)
        for name in self.raw:
            if name not in known:
                near = nearest(name, known) or f"; there are {', '.join(known)}"
                self.faults.append(f"{str(name)[:60]!r} is not a key of a {self.kind.name} item{near}")

    def read_payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = {}
        for name, reader in (*self.kind.needs.items(), *self.kind.may.items()):
            if name == HISTORY and name not in self.raw and self.before:
                payload[name] = self.before
            elif name in self.raw or name == "evidence":
                try:
                    payload[name] = reader(self.raw.get(name))
                except PayloadFault as fault:
                    self.faults.append(f"{name} {fault}")
            elif name in self.kind.needs:
                self.faults.append(f"{name} is missing")
        return payload

    def read_line(self, name: str, longest: int) -> str:
        value = self.raw.get(name, "")
        value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(value, str) or not value.isprintable():
            self.faults.append(f"{name} must be text on one line")
        elif len(value) > longest:
            self.faults.append(f"{name} has {len(value)} characters; the limit is {longest}")
        elif name == "key" and not value.strip():
            self.faults.append("key is missing: it names the item in its study")
        else:
            return value.strip()
        return ""

    def read_purpose(self) -> str:
        purpose = self.raw.get("purpose", "work")
        if purpose not in PURPOSES:
            self.faults.append(f"purpose is {str(purpose)[:40]!r}; it is one of {', '.join(PURPOSES)}")
            return "work"
        return str(purpose)

    def read_gold(self, purpose: str, payload: Mapping[str, Any]) -> dict[str, list[str]]:
        given = self.raw.get("gold")
        if purpose == "work":
            if given:
                self.faults.append("gold is for training and gold items; set purpose to one of these")
            return {}
        if not isinstance(given, dict) or not given:
            self.faults.append(
                f'gold is missing: a {purpose} item names the right labels, such as {{"quality": "yes"}}'
            )
            return {}
        fields = fields_of(self.kind.questions, payload)
        entries = {str(name): value if isinstance(value, list) else [value] for name, value in given.items()}
        gold = {name: [str(entry) for entry in values] for name, values in entries.items()}
        self.faults += gold_faults(gold, fields)
        return gold

    def read_explanation(self, purpose: str) -> str:
        if "explanation" not in self.raw:
            return ""
        if purpose != "training":
            self.faults.append("explanation is for training items, which are explained after the answer")
            return ""
        try:
            return read_text(self.raw["explanation"])
        except PayloadFault as fault:
            self.faults.append(f"explanation {fault}")
            return ""

    def read_tags(self) -> dict[str, Any]:
        tags = self.raw.get("tags", {})
        if not isinstance(tags, dict) or not all(isinstance(v, str | int | float | bool) for v in tags.values()):
            self.faults.append('tags must be a table of single values, such as {"generator": "model-a"}')
            return {}
        try:
            check_storable(json.dumps(tags, ensure_ascii=False, allow_nan=False))
        except (PayloadFault, ValueError):
            self.faults.append("tags hold a value that cannot be stored")
            return {}
        if GENERATOR in tags and not is_name(tags[GENERATOR]):
            self.faults.append(f"tags.{GENERATOR} must be the name of the model that wrote it, text on one line")
        return dict(tags)


def is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def gold_faults(gold: Mapping[str, list[str]], fields: Mapping[str, LabelQuestion]) -> Iterator[str]:
    for name, values in gold.items():
        question = fields.get(name)
        if question is None or not question.is_label:
            yield f"gold names {name[:60]!r}, but the item is asked {', '.join(fields) or 'nothing'}"
        elif not values or not set(values) <= set(question.values):
            yield f"gold has no label of {name}; the labels are {', '.join(question.values)}"


# --- storing ------------------------------------------------------------------

Numbered = Iterable[tuple[int, Mapping[str, Any]]]


@dataclass
class Pushed:
    """Counts of an import: new items, those already there, slots, histories, and quotes that no history contains."""

    items: int = 0
    skipped: int = 0
    slots: int = 0
    histories: int = 0
    unlocated: int = 0


def next_position(study: Study) -> int:
    last = AnnotationItem.objects.filter(study=study).aggregate(last=Max("position"))["last"]
    return 0 if last is None else last + 1


def work_of(study: Study) -> tuple[AnnotationWork, Kind]:
    """The study's annotation work and its kind. Raises ImportFault if it has no work of one of our kinds."""
    work = annotation_of(study)
    if work is None or work.kind not in KINDS:
        refuse(f"{study.slug} has no items to annotate: its study file has no [annotation] table with a kind")
    return work, KINDS[work.kind]


def import_items(study: Study, path: Path, actor: str, *, pilot: bool = False) -> Pushed:
    """Store the items of a file, all or none. Raises ImportFault, OSError."""
    work_of(study)  # before a long file is read for a study that has no items
    # An item's keys depend on its kind, so they are checked with the item.
    table = TableReader(other=lambda name: FileColumn(name, lambda cell: cell), longest=LONGEST_LINE)
    items = ((row.line, row.others) for row in table.read(path, json_too=True))
    return _push_numbered(study, items, actor, table.faults, pilot=pilot, subject=path.name)


def push_items(
    study: Study, items: Iterable[Mapping[str, Any]], actor: str, *, pilot: bool = False, subject: str = "analysis"
) -> Pushed:
    """Store items, all or none, each with its slots. Items already there with the same content only get missing slots.

    Each is a mapping: `key`, the kind's own keys, and optionally source, cluster, corpus, tags, purpose, gold and
    explanation. Raises ImportFault with every fault by the item's number, from 1.
    """
    return _push_numbered(study, enumerate(items, 1), actor, Faults(), pilot=pilot, subject=subject)


def _push_numbered(study: Study, items: Numbered, actor: str, faults: Faults, *, pilot: bool, subject: str) -> Pushed:
    """`push_items` for numbered rows; `faults` may hold faults of the file itself once the last row is read."""
    work, kind = work_of(study)
    with storing(study, ANALYZE):
        pushing = Pushing(study, work, kind, pilot, faults)
        for batch in batches(items, BATCH, size_of):
            pushing.take(batch)
        faults.raise_any()
        done = pushing.done
        audit.record(study, actor, "items added", subject, pilot=pilot, added=done.items, slots=done.slots)
    return done


def size_of(item: tuple[int, Mapping[str, Any]]) -> int:
    """An item's size in characters, roughly."""
    return sum(len(str(value)) for value in item[1].values())


class Pushing:
    """One import under way: the keys and histories it has seen, and its counts."""

    def __init__(self, study: Study, work: AnnotationWork, kind: Kind, pilot: bool, faults: Faults) -> None:
        self.study, self.work, self.kind, self.pilot, self.faults = study, work, kind, pilot, faults
        self.position = next_position(study)
        self.seen: dict[str, int] = {}
        self.histories: dict[str, int] = {}
        self.before: tuple[str, Conversations] | None = None
        self.done = Pushed()

    def take(self, batch: list[tuple[int, Mapping[str, Any]]]) -> None:
        read = [(line, item) for line, raw in batch if (item := self.read(line, raw))]
        keys = [item.key for _, item in read]
        there = {
            row.key: row for row in AnnotationItem.objects.filter(study=self.study, pilot=self.pilot, key__in=keys)
        }
        new = [item for line, item in read if self.is_new(line, item, there)]
        if not self.faults.count:  # after a fault nothing is kept, so the rest is only checked
            self.store(new)
            self.fill_slots([there[item.key] for _, item in read if item.key in there])

    def read(self, line: int, raw: Mapping[str, Any]) -> NewItem | None:
        cluster = str(raw.get("cluster") or "")
        before = self.before[1] if self.before and cluster and self.before[0] == cluster else None
        try:
            item = read_item(raw, self.kind, before)
        except ItemFaults as found:
            for fault in found.faults:
                self.faults.add(line, fault)
            return None
        self.before = (item.cluster, item.history) if item.history else None
        first = self.seen.setdefault(item.key, line)
        self.faults.keep(item.key, more=KEY)
        if first != line:
            self.faults.add(line, f"the key {item.key!r} is already on line {first}")
            return None
        return item

    def is_new(self, line: int, item: NewItem, there: Mapping[str, AnnotationItem]) -> bool:
        known = there.get(item.key)
        if known is None:
            return True
        if known.sha256 == item.sha256:
            self.done.skipped += 1
        else:
            words = "is already in the study with other content; items never change, so give it another key"
            self.faults.add(line, f"{item.key!r} {words}")
        return False

    def store(self, new: list[NewItem]) -> None:
        rows = [self.row(item) for item in new]
        AnnotationItem.objects.bulk_create(rows)
        self.done.items += len(rows)
        self.done.unlocated += sum(item.unlocated for item in new)
        self.fill_slots(rows)

    def row(self, item: NewItem) -> AnnotationItem:
        self.position += 1
        given = {name: value for name, value in vars(item).items() if name != "history"}
        return AnnotationItem(
            study=self.study,
            pilot=self.pilot,
            position=self.position - 1,
            history_id=self.keep_history(item.history) if item.history else None,
            sha256=item.sha256,
            **given,
        )

    def keep_history(self, conversations: Conversations) -> int:
        """Store the history once for all items about the same conversations, and return its id."""
        sha256 = fingerprint(conversations)
        if sha256 not in self.histories:
            given = {"conversations": conversations, "characters": count_characters(conversations)}
            history, created = History.objects.only("pk").get_or_create(study=self.study, sha256=sha256, defaults=given)
            self.histories[sha256] = history.pk
            self.done.histories += created
        return self.histories[sha256]

    def fill_slots(self, rows: list[AnnotationItem]) -> None:
        """Make missing slots: all of a new item's, or those that a raised overlap adds."""
        wanted = self.work.labels_wanted(self.pilot)
        rows = [row for row in rows if row.purpose == AnnotationItem.Purpose.WORK]
        existing = Slot.objects.filter(item__in=rows)
        there = set(existing.values_list("item", "number"))
        existing.filter(wanted__lt=wanted).update(wanted=wanted)
        new = [
            Slot(item=row, number=number, wanted=wanted, side=self.side_of(number))
            for row in rows
            for number in range(wanted)
            if (row.pk, number) not in there
        ]
        Slot.objects.bulk_create(new)
        self.done.slots += len(new)

    def side_of(self, number: int) -> str:
        """The response on the left: alternating within an item, so that three labels are two to one.

        An odd slot is for either, so that each annotator can have half of each.
        """
        if not self.kind.sided:
            return ""
        wanted = self.work.labels_wanted(self.pilot)
        is_odd_one = wanted % 2 and number == wanted - 1
        return Slot.EITHER if is_odd_one else SIDES[number % 2]


def has_items(study: Study, pilot: bool) -> bool:
    """Whether there is work for annotators; the pilot has items of its own."""
    return study.annotation_items.filter(purpose=AnnotationItem.Purpose.WORK, pilot=pilot).exists()


# --- stages: one study after the other


def next_of(study: Study) -> str:
    """The slug of the next stage that the study file names; empty if it names none."""
    work = annotation_of(study)
    return work.next if work else ""


def stages_of(study: Study) -> list[str]:
    """Slugs of all stages in order, this study's among them; the last may not exist yet."""
    before = [study.slug]
    while (earlier := _before(before[0])) and earlier not in before:
        before.insert(0, earlier)
    line, found = before, study
    while (later := next_of(found)) and later not in line:
        line = [*line, later]
        known = Study.objects.filter(slug=later).first()
        if known is None:
            break
        found = known
    return line


def _before(slug: str) -> str:
    named = Study.objects.filter(current__document__annotation__next=slug).order_by("pk")
    return named.values_list("slug", flat=True).first() or ""
