"""Items come in: checked as a whole, stored once and for good, each with the slots that it wants filled."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Max

from surveys.annotation.shapes import Conversations, ItemFaults, NewItem, read_item
from surveys.imports.files import Faults, FileColumn, TableReader, batches, refuse, storing
from surveys.models import AnnotationItem, History, Slot, Study
from surveys.models.hashes import fingerprint
from surveys.studies import audit
from surveys.studies.files.kinds import KINDS, SIDES, Kind
from surveys.studies.files.payloads import count_characters
from surveys.studies.files.schema import AnnotationWork
from surveys.studies.lifecycle import definition_of

BATCH = 200
ANALYZE = "ANALYZE surveys_annotationitem, surveys_slot"
# A history of the longest length with every character escaped as \\uXXXX, and something around it.
LONGEST_LINE = 16_000_000
KEY = 150  # bytes that an item's key takes until all are stored

Numbered = Iterable[tuple[int, Mapping[str, Any]]]


@dataclass
class Pushed:
    """What became of items: new ones, those already there, and quotes that their history does not hold."""

    items: int = 0
    skipped: int = 0
    slots: int = 0
    histories: int = 0
    unlocated: int = 0


def work_of(study: Study) -> tuple[AnnotationWork, Kind]:
    """What annotators of this study do, and its kind. Raises ImportFault where people paste answers instead."""
    work = definition_of(study.current_id).annotation if study.current_id else None
    if work is None or work.kind not in KINDS:
        refuse(f"{study.slug} has no items to annotate: its study file has no [annotation] table with a kind")
    return work, KINDS[work.kind]


def import_items(study: Study, path: Path, actor: str, *, pilot: bool = False) -> Pushed:
    """Store the items of a file, all or none. Raises ImportFault, OSError."""
    work_of(study)  # before a long file is read for a study that has no items
    # Which keys an item has depends on its kind, so that they are checked with the item.
    table = TableReader(other=lambda name: FileColumn(name, lambda cell: cell), longest=LONGEST_LINE)
    items = ((row.line, row.others) for row in table.read(path, json_too=True))
    return _push_numbered(study, items, actor, table.faults, pilot=pilot, subject=path.name)


def push_items(
    study: Study, items: Iterable[Mapping[str, Any]], actor: str, *, pilot: bool = False, subject: str = "analysis"
) -> Pushed:
    """Store items, all or none, each with its slots. What is there already with the same content is left alone.

    Each is a mapping: `key`, the kind's own keys, and optionally source, cluster, corpus, tags, purpose, gold and
    explanation. Raises ImportFault with every fault by the item's number, from 1.
    """
    return _push_numbered(study, enumerate(items, 1), actor, Faults(), pilot=pilot, subject=subject)


def _push_numbered(
    study: Study, items: Numbered, actor: str, faults: Faults, *, pilot: bool = False, subject: str = ""
) -> Pushed:
    """`push_items` of a file's rows: `faults` may have some of the file's own when the last row was read."""
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
    """Characters of its texts, those in lists too, as far as that is cheap to say."""
    return sum(len(str(value)) for value in item[1].values())


class Pushing:
    """One import under way: what it has seen, and what it has done."""

    def __init__(self, study: Study, work: AnnotationWork, kind: Kind, pilot: bool, faults: Faults) -> None:
        self.study, self.work, self.kind, self.pilot, self.faults = study, work, kind, pilot, faults
        last = AnnotationItem.objects.filter(study=study).aggregate(last=Max("position"))["last"]
        self.position = 0 if last is None else last + 1
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
            words = (
                f"{item.key!r} is already in the study with other content; items never change, so give it another key"
            )
            self.faults.add(line, words)
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
        """The stored history's id: one row for all items that are about the same conversations."""
        sha256 = fingerprint(conversations)
        if sha256 not in self.histories:
            given = {"conversations": conversations, "characters": count_characters(conversations)}
            history, created = History.objects.only("pk").get_or_create(study=self.study, sha256=sha256, defaults=given)
            self.histories[sha256] = history.pk
            self.done.histories += created
        return self.histories[sha256]

    def fill_slots(self, rows: list[AnnotationItem]) -> None:
        """Make the slots that are missing, all of a new item's, or those that a raised overlap adds."""
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
        """Which response is to stand on the left: by turns within an item, so that three labels are two to one.

        The odd slot is for either: by it each annotator can have half of each.
        """
        if not self.kind.sided:
            return ""
        wanted = self.work.labels_wanted(self.pilot)
        is_odd_one = wanted % 2 and number == wanted - 1
        return Slot.EITHER if is_odd_one else SIDES[number % 2]
