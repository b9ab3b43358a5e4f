"""One item as it is handed in, by a file or by analysis: every fault at once, or a tidy item of its kind."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from surveys.models.hashes import fingerprint
from surveys.studies.files.kinds import Kind, LabelQuestion, fields_of
from surveys.studies.files.payloads import PayloadFault, check_storable, locate_evidence, read_text
from surveys.studies.files.values import nearest

PURPOSES = ("work", "training", "gold")
LONGEST = {"key": 200, "source": 200, "cluster": 200, "corpus": 100}
OWN_KEYS = (*LONGEST, "purpose", "gold", "explanation", "tags")
HISTORY = "history"
GENERATOR = "generator"  # the tag that names the model which wrote what is judged
RELEVANT_BY = "relevant by"  # tag of items whose attributes a model chose, not people
REJECTED_BY = "rejected by"  # tag of items that others rejected: the rule that chose them

Conversations = list[dict[str, Any]]


class ItemFaults(ValueError):
    """All that is wrong with one item, a sentence each."""

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
        """Over everything: an item that is handed in again with another content is another item."""
        content = vars(self) | {HISTORY: fingerprint(self.history) if self.history else ""}
        return fingerprint(content)

    @property
    def unlocated(self) -> int:
        """Quotes that stand nowhere in the history."""
        return sum(snippet["turn"] is None for snippet in self.payload.get("evidence", ()))


def read_item(raw: Mapping[str, Any], kind: Kind, before: Conversations | None = None) -> NewItem:
    """The item; `before` is the history that it has when it brings none of its own. Raises ItemFaults."""
    reading = ItemReading(raw, kind, before)
    item = reading.read()
    if reading.faults:
        raise ItemFaults(reading.faults)
    return item


class ItemReading:
    """The faults found on the way through one item."""

    def __init__(self, raw: Mapping[str, Any], kind: Kind, before: Conversations | None) -> None:
        # What a table leaves empty is not there.
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
        gold = {str(name): [str(entry) for entry in as_entries(value)] for name, value in given.items()}
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


def as_entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def gold_faults(gold: Mapping[str, list[str]], fields: Mapping[str, LabelQuestion]) -> Iterator[str]:
    for name, values in gold.items():
        question = fields.get(name)
        if question is None or not question.is_label:
            yield f"gold names {name[:60]!r}, but the item is asked {', '.join(fields) or 'nothing'}"
        elif not values or not set(values) <= set(question.values):
            yield f"gold has no label of {name}; the labels are {', '.join(question.values)}"
